"""Figure 4: a graph on which greedy agglomeration misses the hierarchy of lowest Dasgupta cost.

    python experiments/cluster_trellis/figure4.py [--out DIR]

A ladder of eight vertices: four rungs of weight 1.01, six rails of weight 1. Needs matplotlib.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

import common
import numpy as np
import numpy.typing as npt
from common import BLUE, INK, ORANGE, Floats
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

import palmette as pal

RUNG, RAIL, LENGTH = 1.01, 1.0, 4
METHODS = ("single", "complete", "average")


def ladder(length: int = LENGTH) -> Floats:
    """(2·length, 2·length): vertex i is opposite vertex i + length."""
    w = np.zeros((2 * length, 2 * length))
    for i in range(length):
        w[i, i + length] = RUNG
    for i in range(length - 1):
        w[i, i + 1] = w[i + length, i + length + 1] = RAIL
    return w + w.T


def linked(w: Floats, method: str, labels: Sequence[str] | None = None) -> pal.Hierarchy:
    """SciPy's linkage of the distances max w − w."""
    apart = w.max() - w
    np.fill_diagonal(apart, 0.0)
    return pal.Hierarchy.from_linkage(linkage(squareform(apart), method), labels)


def cost(w: Floats, hierarchy: pal.Hierarchy) -> float:
    """Σ |L ∪ R| · w(L, R) over the splits."""
    return -pal.models.Dasgupta(w).log_potential(hierarchy)


def split_costs(w: Floats, hierarchy: pal.Hierarchy) -> dict[int, str]:
    """What each split adds to the cost, by inner node."""
    parts = [(sorted(left), sorted(right)) for left, right in hierarchy.splits()]
    values = [(len(left) + len(right)) * w[np.ix_(left, right)].sum() for left, right in parts]
    return {hierarchy.n_leaves + k: f"{value:.2f}" for k, value in enumerate(values)}


def by_numbering(w: Floats, trials: int, seed: int) -> dict[str, Counter[str]]:
    """The costs that each method ends at when the vertices are numbered at random: ties are broken by number."""
    rng = np.random.default_rng(seed)
    found: dict[str, Counter[str]] = {method: Counter() for method in METHODS}
    for _ in range(trials):
        order = rng.permutation(len(w))
        renumbered = w[np.ix_(order, order)]
        for method in METHODS:
            found[method][f"{cost(renumbered, linked(renumbered, method)):.2f}"] += 1
    return found


def draw_graph(ax: Any, w: Floats, halves: Sequence[tuple[npt.NDArray[np.int64], str, str]]) -> None:
    """Vertices and weights, and where each hierarchy makes its first cut: after so many rungs."""
    length = len(w) // 2
    places = np.column_stack([np.tile(np.arange(length), 2), np.repeat([1.0, 0.0], length)])
    for i, j in zip(*np.nonzero(np.triu(w)), strict=True):
        thick = w[i, j] > RAIL
        ax.plot(*places[[i, j]].T, color=INK, linewidth=3.0 if thick else 1.2, zorder=1)
        along = 0.5 if thick else 0.3  # beside the cuts
        offset = (7, -3) if thick else (0, 4 if i < length else -11)
        where = places[i] + along * (places[j] - places[i])
        ax.annotate(f"{w[i, j]:g}", where, offset, textcoords="offset points", fontsize=8.5, color=INK)
    ax.scatter(*places.T, s=230, color="white", edgecolors=INK, linewidths=1.2, zorder=2)
    for vertex, (x, y) in enumerate(places):
        ax.text(x, y, str(vertex + 1), ha="center", va="center", fontsize=9.5, color=INK, zorder=3)
    for first, colour, text in halves:
        at = places[first, 0].max() + 0.5 if 0 in first else places[first, 0].min() - 0.5
        ax.plot([at, at], [-0.42, 1.42], color=colour, linewidth=1.6, linestyle=(0, (4, 3)), zorder=0)
        ax.text(at, -0.5, text, ha="center", va="top", fontsize=8.5, color=colour)
    ax.set_xlim(-0.35, length - 0.65)
    ax.set_ylim(-0.8, 1.5)
    ax.set_aspect("equal")
    ax.set_axis_off()


def draw(w: Floats, greedy: pal.Hierarchy, best: pal.Hierarchy) -> Any:
    """The graph, and both hierarchies beside it, with what each split costs."""
    figure, axes = common.new_figure(11.5, 3.6, (1.25, 1, 1))
    cuts = [
        (_first_part(greedy), ORANGE, "first cut\nof linkage"),
        (_first_part(best), BLUE, "first cut\nof the optimum"),
    ]
    draw_graph(axes[0], w, cuts)
    axes[0].set_title("at each split: size of the cluster × weights across", fontsize=9, color=common.NOTE)
    titles = [("single or complete linkage", greedy, ORANGE), ("optimum, full trellis", best, BLUE)]
    names = [str(vertex + 1) for vertex in range(len(w))]
    places = np.tile(np.arange(len(w) // 2), 2) + np.repeat([0.0, 0.1], len(w) // 2)
    for ax, (title, hierarchy, colour) in zip(axes[1:], titles, strict=True):
        common.draw_hierarchy(ax, hierarchy, places=places, notes=split_costs(w, hierarchy), names=names)
        ax.set_title(f"{title}: cost {cost(w, hierarchy):.2f}", fontsize=10, color=colour)
    return figure


def _first_part(hierarchy: pal.Hierarchy) -> npt.NDArray[np.int64]:
    return np.array(sorted(hierarchy.splits()[-1][0]))


def report(w: Floats, greedy: pal.Hierarchy, best: pal.Hierarchy, trials: int, seed: int) -> str:
    """Costs, and how much of them is luck."""
    posterior = pal.HierarchyPosterior(pal.models.Dasgupta(w))
    second = next(cost(w, h) for h, _ in posterior.best(100) if cost(w, h) > cost(w, best) + 1e-9)
    searches = {
        "scipy single linkage": linked(w, "single"),
        "scipy complete linkage": greedy,
        "scipy average linkage": linked(w, "average"),
        "palmette.search.greedy": pal.search.greedy(pal.models.Dasgupta(w)).hierarchy,
        "optimum, full trellis": best,
    }
    rows = [["", "cost", "hierarchy"], *([name, f"{cost(w, h):.2f}", _text(h)] for name, h in searches.items())]
    optima = common.n_tied(posterior)
    lowest = "is one hierarchy" if optima == 1 else f"are {optima} hierarchies"
    lines = [
        "Dasgupta's cost on the ladder of four rungs (1.01) and six rails (1)",
        common.columns(rows),
        f"There {lowest} of the lowest cost; the next cost is {second:.2f}.",
        "",
        f"The linkages break ties by number. Over {trials} random numberings of the vertices they end at",
    ]
    for method, counts in by_numbering(w, trials, seed).items():
        shares = ", ".join(f"{value} in {100 * counts[value] / trials:.0f} %" for value in sorted(counts))
        lines.append(f"  {method + ' linkage':<18}{shares}")
    return "\n".join(lines)


def _text(hierarchy: pal.Hierarchy) -> str:
    shifted = pal.Hierarchy.from_parents(hierarchy.parents, [str(v + 1) for v in range(hierarchy.n_leaves)])
    return shifted.to_newick()


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, run, print."""
    command = common.parser("Dasgupta's cost on a ladder: greedy against the optimum (figure 4).")
    command.add_argument("--numberings", type=int, default=1000, help="random numberings of the vertices to try")
    command.add_argument("--seed", type=int, default=0, help="of the numberings")
    given = command.parse_args(arguments)
    w = ladder()
    greedy = linked(w, "complete")
    best = pal.HierarchyPosterior(pal.models.Dasgupta(w)).map()
    common.save(draw(w, greedy, best), given.out / "figure4.png")
    common.tell(report(w, greedy, best, given.numberings, given.seed), given.out / "figure4.txt")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    main()
