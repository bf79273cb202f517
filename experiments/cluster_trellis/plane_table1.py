"""Table 1 and figure 3 of the version of 2020: the likeliest histories of 1,965 jets in a plane.

    python experiments/cluster_trellis/plane_table1.py [--jets 1965] [--out DIR]

What the paper calls the trellis is `by_best_parts` of plane_jets.py; `exact` is what it stands in for. README.md beside
this file has the numbers. Needs matplotlib.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

import common
import numpy as np
from common import Floats
from plane_jets import Answer, Law, PlaneJet, beam, by_best_parts, exact, log_likelihood, simulate
from table1 import draw_evidence, report

PRINTED = {("trellis", "beam"): (2.7, 1.9), ("trellis", "greedy"): (5.9, 4.3), ("beam", "greedy"): (3.2, 3.4)}
OURS = dict.fromkeys([("exact", "trellis"), ("exact", "truth"), ("trellis", "truth")])


def answers(jets: Sequence[PlaneJet], law: Law) -> tuple[list[Answer], list[Answer]]:
    """By the best parts, and exactly."""
    return [by_best_parts(jet.momenta, law)[0] for jet in jets], [exact(jet.momenta, law) for jet in jets]


def searched(jets: Sequence[PlaneJet], law: Law) -> dict[str, Floats]:
    """Log likelihoods of beam search of width n(n − 1)/2, greedy, and the truth."""
    wide = [len(jet.momenta) * (len(jet.momenta) - 1) // 2 for jet in jets]
    return {
        "beam": np.array([beam(jet.momenta, law, width) for jet, width in zip(jets, wide, strict=True)]),
        "greedy": np.array([beam(jet.momenta, law, 1) for jet in jets]),
        "truth": np.array([log_likelihood(jet.momenta, jet.truth, law) for jet in jets]),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, run, print."""
    command = common.parser("The likeliest histories of jets in a plane (table 1 and figure 3 of 2020).")
    command.add_argument("--jets", type=int, default=1965, help="number of jets (default: 1965)")
    command.add_argument("--seed", type=int, default=0, help="of the jets (default: 0)")
    given = command.parse_args(arguments)
    if given.jets < 2:
        command.error("--jets must be at least 2")
    law = Law()
    jets = simulate(given.jets, law, 5, 10, np.random.default_rng(given.seed))
    started = time.perf_counter()
    paper, true = answers(jets, law)
    values = {"trellis": np.array([each.best for each in paper]), "exact": np.array([each.best for each in true])}
    values |= searched(jets, law)
    log_z = np.array([each.log_partition for each in paper])
    missed = np.array([each.log_partition for each in true]) - log_z
    leaves = np.array([len(jet.momenta) for jet in jets])
    common.save(draw_evidence(values["trellis"], log_z, leaves), given.out / "plane_figure3.png")
    same = np.mean(values["exact"] - values["trellis"] <= common.TIED * np.abs(values["exact"]))
    parts = [
        f"{given.jets} jets of 5 to 10 leaves in a plane, seed {given.seed}",
        report(values, PRINTED | OURS),
        f"  greedy ends in a split that is impossible on {np.isinf(values['greedy']).sum()} jets, which are left out",
        f"  the trellis has the exact MAP on {same:.1%} of the jets",
        f"  log Z, exact - trellis: {missed.mean():.3f} ± {missed.std():.3f}, {missed.min():.2f} to {missed.max():.2f}",
        f"  correlation of log Z and the MAP: {np.corrcoef(log_z, values['trellis'])[0, 1]:.3f}",
    ]
    common.tell("\n".join(parts), given.out / "plane_table1.txt")
    print(f"  took {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    main()
