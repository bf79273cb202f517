"""Beyond the paper: how often do algorithms find the true history, and can the exact probabilities be believed?

    python experiments/cluster_trellis/histories.py [--jets 3000] [--out DIR]

Simulated jets of 5 to 10 leaves. One table: kt, Cambridge/Aachen, anti-kt, greedy, beam search and the MAP against the
truth. One picture: among clusters that get a probability near p, which share is true? README.md beside this file has
the numbers. Needs pyarrow, fastjet and matplotlib.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import common
import numpy as np
from common import BLUE, INK, ORANGE, Floats, frame

import palmette as pal

BINS = 10
LIKELIHOODS = {"density": BLUE, "ordered": ORANGE, "symmetric": "#009e73"}


def recovery(jets: pal.simulate.GinkgoJets, likelihood: str) -> str:
    """A row for each algorithm."""
    table = pal.jets.infer(jets, rate=jets.rate, t_cut=jets.t_cut, likelihood=likelihood, searches=pal.jets.SEARCHES)
    rows = [["history", "true clusters", "whole history true", "behind the MAP", "is the MAP", "impossible"]]
    for found in pal.jets.compare(table):
        behind = f"{found.behind_map:.2f} ± {found.spread:.2f}"
        shares = [f"{found.true_clusters:.3f}", f"{found.is_true:.3f}", behind, f"{found.is_map:.3f}"]
        rows.append([found.method, *shares, f"{found.impossible / found.jets:.3f}"])
    return common.columns(rows)


@dataclass(frozen=True)
class Calibration:
    """Clusters of all jets by their probability, ten bins of equal width; leaves and whole jets are left out."""

    likelihood: str
    count: Floats  # (10,): clusters
    expected: Floats  # mean probability
    observed: Floats  # share that is true
    error: Floats  # standard error of `observed` − `expected`
    chi_squared: float


def calibrate(jets: pal.simulate.GinkgoJets, likelihood: str) -> Calibration:
    """The exact probability of every cluster of every jet against whether it is true."""
    count, probable, true = np.zeros(BINS), np.zeros((len(jets), BINS)), np.zeros((len(jets), BINS))
    for j, jet in enumerate(jets):
        model = pal.models.Ginkgo(jet.momenta, jets.rate, jets.t_cut, likelihood=likelihood)
        probabilities = pal.HierarchyPosterior(model, threads=1).cluster_probability_array()
        sizes = np.bitwise_count(np.arange(len(probabilities)))
        inner = np.flatnonzero((sizes > 1) & (sizes < jet.n_leaves) & (probabilities > 0.0))
        bins = np.minimum((BINS * probabilities[inner]).astype(int), BINS - 1)
        is_true = np.isin(inner, jet.hierarchy.cluster_masks())
        count += np.bincount(bins, minlength=BINS)
        probable[j] = np.bincount(bins, probabilities[inner], BINS)
        true[j] = np.bincount(bins, is_true, BINS)
    return summarised(likelihood, count, probable, true)


def summarised(likelihood: str, count: Floats, probable: Floats, true: Floats) -> Calibration:
    """Clusters of one jet depend on each other, so jets are what errors are made of: r_j = true − probable, per bin.

    If probabilities are right, Σ r_j has mean 0 and covariance about Σ r_j r_jᵀ, and (Σ r)ᵀ Cov⁻¹ (Σ r) is χ² with one
    degree of freedom for each bin.
    """
    residuals = true - probable
    total, covariance = residuals.sum(axis=0), residuals.T @ residuals
    filled = np.flatnonzero(np.diag(covariance) > 0)
    statistic = total[filled] @ np.linalg.pinv(covariance[np.ix_(filled, filled)]) @ total[filled]
    safe = np.maximum(count, 1.0)
    shares = (probable.sum(axis=0) / safe, true.sum(axis=0) / safe, np.sqrt(np.diag(covariance)) / safe)
    return Calibration(likelihood, count, *shares, float(statistic))


def report(found: Sequence[Calibration]) -> str:
    """Bin by bin."""
    rows = [["probability", *(word for c in found for word in (f"{c.likelihood}: mean", "true", "clusters"))]]
    for b in range(BINS):
        cells = [(f"{c.expected[b]:.3f}", f"{c.observed[b]:.3f}", f"{c.count[b]:.0f}") for c in found]
        rows.append([f"{b / BINS:.1f} to {(b + 1) / BINS:.1f}", *(cell for triple in cells for cell in triple)])
    words = ", ".join(f"{c.likelihood} {c.chi_squared:.1f}" for c in found)
    return f"{common.columns(rows)}\n  chi squared of the ten bins (18.3 is exceeded by chance once in twenty): {words}"


def draw(found: Sequence[Calibration]) -> Any:
    """The reliability plot, and below it what is left when the diagonal is taken away, in standard errors."""
    figure, axes = common.new_figure(9.6, 4.4, (1, 1))
    axes[0].plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
    axes[1].axhspan(-2, 2, color="#eeeeee", zorder=0)
    axes[1].axhline(0, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
    for c in found:
        seen = c.count > 0
        colour = LIKELIHOODS[c.likelihood]
        line = {"color": colour, "marker": "o", "markersize": 4, "linewidth": 1.3, "label": c.likelihood}
        axes[0].errorbar(c.expected[seen], c.observed[seen], c.error[seen], elinewidth=1.0, **line)
        axes[1].plot(c.expected[seen], ((c.observed - c.expected) / np.maximum(c.error, 1e-12))[seen], **line)
    axes[0].set(xlabel="probability of a cluster", ylabel="share that is true", xlim=(0, 1.03), ylim=(0, 1.03))
    axes[1].set(xlabel="probability of a cluster", ylabel="difference, in standard errors", xlim=(0, 1.03))
    axes[0].legend(frameon=False, fontsize=9, title="likelihood", title_fontsize=9)
    for ax in axes:
        frame(ax)
    return figure


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, run, print."""
    command = common.parser("True histories: who finds them, and are the probabilities right?")
    command.add_argument("--jets", type=int, default=3000, help="number of jets (default: 3000)")
    command.add_argument("--seed", type=int, default=0, help="of the jets (default: 0)")
    given = command.parse_args(arguments)
    if given.jets < BINS + 1:
        command.error(f"--jets must be at least {BINS + 1}")
    jets = pal.simulate.ginkgo(given.jets, min_leaves=5, max_leaves=10, rng=given.seed)
    found = [calibrate(jets, likelihood) for likelihood in LIKELIHOODS]
    common.save(draw(found), given.out / "calibration.png")
    parts = [f"{given.jets} jets of 5 to 10 leaves, seed {given.seed}"]
    parts += [f"Likelihood {name}\n{recovery(jets, name)}" for name in ("ordered", "density")]
    common.tell("\n\n".join([*parts, report(found)]), given.out / "histories.txt")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    main()
