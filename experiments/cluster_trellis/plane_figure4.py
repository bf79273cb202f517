"""Figure 4 of the version of 2020: draws of the history of one jet of five particles in a plane.

    python experiments/cluster_trellis/plane_figure4.py [--draws 300000] [--out DIR]

Draws are from the trellis of the best parts, as in the paper, against its own law; and that law against the exact one,
on many jets. Needs matplotlib.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import common
import numpy as np
from figure6 import chi_squared, draw, law_and_draws
from plane_jets import Law, PlaneJet, by_best_parts, exact, log_likelihood, simulate

import palmette as pal


def total_variation(jet: PlaneJet, law: Law) -> float:
    """½ Σ |p − q| over all histories, p the law by the best parts and q the exact one."""
    posterior = pal.HierarchyPosterior(by_best_parts(jet.momenta, law)[1])
    log_z = exact(jet.momenta, law).log_partition
    uniform = pal.HierarchyPosterior(pal.models.Uniform(len(jet.momenta)))
    every = [hierarchy for hierarchy, _ in uniform.best(uniform.count)]
    p = np.exp([posterior.log_prob(hierarchy) for hierarchy in every])
    q = np.exp([log_likelihood(jet.momenta, hierarchy, law) - log_z for hierarchy in every])
    return float(np.abs(p - q).sum() / 2)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, run, print."""
    command = common.parser("Draws of the history of one jet in a plane (figure 4 of 2020).")
    command.add_argument("--draws", type=int, default=300_000, help="(default: 300000)")
    command.add_argument("--bins", type=int, default=60, help="of the histogram (default: 60)")
    command.add_argument("--jets", type=int, default=100, help="that the two laws are compared on (default: 100)")
    command.add_argument("--seed", type=int, default=0, help="of the jets and of the draws (default: 0)")
    given = command.parse_args(arguments)
    if given.draws < 1 or given.bins < 1 or given.jets < 1:
        command.error("--draws, --bins and --jets must be at least 1")
    law = Law()
    jets = simulate(given.jets, law, 5, 5, np.random.default_rng(given.seed))
    posterior = pal.HierarchyPosterior(by_best_parts(jets[0].momenta, law)[1])
    log_potentials, probabilities, drawn = law_and_draws(posterior, given.draws, given.seed)
    truth = posterior.log_potential(jets[0].truth)
    common.save(draw(log_potentials, probabilities, drawn, truth, given.bins), given.out / "plane_figure4.png")
    statistic, freedom = chi_squared(probabilities, drawn)
    away = np.array([total_variation(jet, law) for jet in jets])
    rows = [
        ("possible histories", f"{len(probabilities)} of 105"),
        ("drawn", f"{np.count_nonzero(drawn)} different ones in {given.draws:,} draws"),
        ("chi squared", f"{statistic:.1f} with {freedom} degrees of freedom"),
        ("true history", f"{truth:.3f} by the best parts, {log_likelihood(*jets[0], law):.3f} exactly"),
        (
            "from the exact law",
            f"{away[0]:.3f} of the probability is elsewhere; {away.mean():.3f} on average over {len(jets)} jets",
        ),
    ]
    common.tell(common.facts(rows), given.out / "plane_figure4.txt")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    main()
