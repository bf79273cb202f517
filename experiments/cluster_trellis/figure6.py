"""Figure 6: exact draws of the history of one jet of five leaves against the exact law.

    python experiments/cluster_trellis/figure6.py [--draws 100000] [--out DIR]

Needs matplotlib.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import common
import numpy as np
from common import INK, ORANGE, Floats, frame

import palmette as pal


def law_and_draws(posterior: pal.HierarchyPosterior, size: int, seed: int) -> tuple[Floats, Floats, Floats]:
    """Log likelihoods of all possible histories, their probabilities, and how often each of them was drawn."""
    every = posterior.best(posterior.count)
    counts = dict(posterior.sample(size, rng=seed).counts())
    log_potentials = np.array([posterior.log_potential(hierarchy) for hierarchy, _ in every])
    drawn = np.array([counts.get(hierarchy, 0) for hierarchy, _ in every], dtype=float)
    assert drawn.sum() == size
    return log_potentials, np.exp([log_prob for _, log_prob in every]), drawn


def chi_squared(probabilities: Floats, drawn: Floats) -> tuple[float, int]:
    """Σ (drawn − expected)² / expected, histories with fewer than five expected draws together; degrees of freedom."""
    expected = probabilities * drawn.sum()
    rare = expected < 5.0
    pairs = [*zip(expected[~rare], drawn[~rare], strict=True)]
    if rare.any():
        pairs.append((expected[rare].sum(), drawn[rare].sum()))
    return float(sum((d - e) ** 2 / e for e, d in pairs)), len(pairs) - 1


def draw(log_potentials: Floats, probabilities: Floats, drawn: Floats, truth: float, bins: int) -> Any:
    """Both as densities of the log likelihood, the truth as a line."""
    figure, (ax,) = common.new_figure(7.2, 4.2)
    edges = np.linspace(log_potentials.min(), log_potentials.max() + 1e-9, bins + 1)
    width, middle = np.diff(edges), (edges[1:] + edges[:-1]) / 2
    exact = np.histogram(log_potentials, edges, weights=probabilities)[0]
    share = np.histogram(log_potentials, edges, weights=drawn)[0] / drawn.sum()
    error = np.sqrt(share * (1 - share) / drawn.sum())
    ax.bar(middle, exact / width, width, color="#8fc7a8", label="exact")
    seen = share > 0
    dots = {"fmt": "o", "color": INK, "markersize": 3.2, "elinewidth": 0.9, "label": f"{drawn.sum():,.0f} draws"}
    ax.errorbar(middle[seen], (share / width)[seen], (error / width)[seen], **dots)
    ax.axvline(truth, color=ORANGE, linestyle=(0, (4, 2)), linewidth=1.4, label="true history")
    ax.set_xlabel("log likelihood of a history")
    ax.set_ylabel("posterior density")
    frame(ax)
    ax.legend(frameon=False, fontsize=9, loc="upper left")
    return figure


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, run, print."""
    command = common.parser("Draws of the history of one jet against the exact law (figure 6).")
    command.add_argument("--draws", type=int, default=100_000, help="(default: 100000)")
    command.add_argument("--bins", type=int, default=60, help="of the histogram (default: 60)")
    command.add_argument("--seed", type=int, default=0, help="of the jet and of the draws (default: 0)")
    given = command.parse_args(arguments)
    if given.draws < 1 or given.bins < 1:
        command.error("--draws and --bins must be at least 1")
    jets = pal.simulate.ginkgo(1, min_leaves=5, max_leaves=5, rng=given.seed)
    posterior = pal.HierarchyPosterior(pal.models.Ginkgo(jets[0].momenta, jets.rate, jets.t_cut))
    log_potentials, probabilities, drawn = law_and_draws(posterior, given.draws, given.seed)
    truth = posterior.log_potential(jets[0].hierarchy)
    common.save(draw(log_potentials, probabilities, drawn, truth, given.bins), given.out / "figure6.png")
    statistic, freedom = chi_squared(probabilities, drawn)
    likelier = probabilities[log_potentials > truth + common.TIED].sum()
    rows = [
        ("possible histories", f"{len(probabilities)} of 105"),
        ("drawn", f"{np.count_nonzero(drawn)} different ones in {given.draws:,} draws"),
        ("chi squared", f"{statistic:.1f} with {freedom} degrees of freedom"),
        ("true history", f"log likelihood {truth:.3f}; likelier ones have {likelier:.3f} of the probability"),
    ]
    common.tell(common.facts(rows), given.out / "figure6.txt")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    main()
