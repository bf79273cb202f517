"""Golden numbers: values from independent implementations, read from golden_numbers/*.json.

``jets``: logs to 1e-8; trees are nested leaf numbers. ``ladder``: Dasgupta's cost on a ladder of 2 × 4 vertices, four
rungs of weight 1.01, six rails of weight 1, β = 1; greedy is single and complete linkage.

``cluster_trellis``: five of the ten jets of nine particles that SebastianMacaluso/ClusterTrellis publishes in
data/truth_9.pkl (λ = λ_root = 1.5, root mass 30, t_cut 16), and what its own code found for them: log Z, the MAP and
the number of hierarchies of experiments/TrellisExactTruth_9_10_jets.pkl, logs to 1e-9; the greedy and the beam search
of data/TruthBSGD_9.pkl; the truth's own log likelihood, from a simulator in single precision.

``coalescent``: logs to 1e-9, best durations to 1e-7. Merge k (from the most recent event to the oldest) makes node
n + k: [left, right, t] at time t ≤ 0. Missing entries are null (Brownian motion) or −1 (sites).

``ultrametric``: subdominant ultrametrics and losses, from Higra, PyTorch and the code published with the paper. Two
small graphs at two points each; of the third, iris with its 5-NN and spanning-tree edges, the values of the losses and
the best losses of the published optimiser in 500 iterations: with softplus and with relu, early stop and none.
"""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple


class Golden(NamedTuple):
    """What one likelihood says of one jet; marginals and the greedy log-likelihood where they are known."""

    log_partition: float
    map_log_potential: float
    map_tree: Any
    n_hierarchies: int
    greedy_log_potential: float | None = None
    marginals: dict[tuple[int, ...], float] = {}  # noqa: RUF012


class GoldenJet(NamedTuple):
    """A simulated jet: E, px, py, pz of its particles, and what the three likelihoods of Ginkgo say of it."""

    momenta: list[list[float]]
    truth: Any
    truth_log_potential: float  # under "ordered"
    ordered: Golden
    symmetric: Golden
    literal: Golden


def read(name: str) -> Any:
    """The numbers of golden_numbers/<name>.json as attributes; trees are tuples, and marginals are keyed by cluster."""
    text = (Path(__file__).parent / "golden_numbers" / f"{name}.json").read_text(encoding="utf-8")
    return SimpleNamespace(**json.loads(text, object_pairs_hook=_entries))


def _entries(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = {key: _nested(value) if key.endswith(("tree", "truth")) else value for key, value in pairs}
    if "marginals" in entries:
        entries["marginals"] = {tuple(cluster): probability for cluster, probability in entries["marginals"]}
    return entries


def _nested(tree: Any) -> Any:
    return tuple(map(_nested, tree)) if isinstance(tree, list) else tree


def _jet(entries: dict[str, Any]) -> GoldenJet:
    laws = {law: Golden(**entries[law]) for law in ("ordered", "symmetric", "literal")}
    return GoldenJet(**{**entries, **laws})


LADDER = read("ladder")
RATE, T_CUT = read("jets").rate, read("jets").t_cut
JETS = [_jet(entries) for entries in read("jets").jets]  #: of 5, 6, … 10 particles
