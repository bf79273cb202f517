"""Jets too large to be summed over: sparse trellises and chains beside greedy and beam search. Not in the paper.

    python experiments/cluster_trellis/large_jets.py [--leaves 12 16 25 30 40] [--jets 8] [--out DIR]

Jets of the preset "w", heavier for 30 leaves and more. Up to `--exact` leaves the answers are known. All through
`palmette.jets.infer`, whose column `kind` says who answered. README.md has the numbers. Needs pyarrow.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

import common
import numpy as np
from common import Floats

import palmette as pal

HEAVY, MASS = 30, 140.0  # so many leaves are rare below


def simulated(n_leaves: int, count: int, seed: int) -> pal.jets.Jets:
    """So many jets of so many leaves."""
    mass = {"mass": MASS} if n_leaves >= HEAVY else {}
    return pal.simulate.ginkgo(count, preset="w", min_leaves=n_leaves, max_leaves=n_leaves, rng=seed, **mass)


def answers(jets: pal.jets.Jets, is_known: bool) -> dict[str, tuple[Floats, Floats, float]]:
    """(log likelihood of the history, log Z, seconds for each jet) by whoever found them."""
    law: dict[str, Any] = {**jets.law, "max_leaves": 60}
    bare, found = pal.jets.Jets(jets.momenta, jets.offsets), {}
    ways = {"sparse": {"exact_leaves": 3, "beyond": "sparse"}, "sampled": {"exact_leaves": 3}}
    for name, how in (ways | ({"exact": {"exact_leaves": 20}} if is_known else {})).items():
        started = time.perf_counter()
        table = pal.jets.infer(bare, **law, **how)
        assert set(table["kind"].to_pylist()) == {name}
        columns = (table[column].to_numpy() for column in ("map_log_potential", "log_partition"))
        found[name] = (*columns, (time.perf_counter() - started) / len(jets))
    for name in ("greedy", "beam"):
        started = time.perf_counter()
        table = pal.jets.infer(bare, **{**law, "max_leaves": 1}, searches=[name])
        nothing = np.full(len(jets), np.nan)
        found[name] = table[f"{name}_log_potential"].to_numpy(), nothing, (time.perf_counter() - started) / len(jets)
    return found


def report(n_leaves: int, found: dict[str, tuple[Floats, Floats, float]]) -> list[list[str]]:
    """One row for each way: how far below the best that anybody found, how often it is that, log Z, seconds."""
    best = np.max([values for values, _, _ in found.values()], axis=0)
    reference = found["exact" if "exact" in found else "sampled"][1]
    rows = []
    for name, (values, log_z, seconds) in found.items():
        below, apart = best - values, log_z - reference
        hits = np.sum(below <= common.TIED * np.abs(best))
        cells = [
            f"{below.mean():.2f}",
            f"{hits} of {len(best)}",
            "" if np.isnan(apart).any() else f"{apart.mean():+.2f}",
        ]
        rows.append([f"{n_leaves} leaves, {name}", *cells, f"{seconds:.2f}"])
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, run, print."""
    command = common.parser("Jets that are too large to be summed over.")
    command.add_argument("--leaves", type=int, nargs="+", default=[12, 16, 25, 30, 40], help="sizes of the jets")
    command.add_argument("--jets", type=int, default=8, help="of each size (default: 8)")
    command.add_argument("--exact", type=int, default=16, help="largest jets to sum over, too (default: 16)")
    command.add_argument("--seed", type=int, default=0, help="of the jets (default: 0)")
    given = command.parse_args(arguments)
    if given.jets < 1 or min(given.leaves) < 4:
        command.error("--jets must be at least 1, and --leaves at least 4")
    rows = [["jets", "below the best", "is the best", "log Z against exact, or sampled", "seconds"]]
    for n_leaves in given.leaves:
        rows += report(n_leaves, answers(simulated(n_leaves, given.jets, given.seed), n_leaves <= given.exact))
    common.tell(common.columns(rows), given.out / "large_jets.txt")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    main()
