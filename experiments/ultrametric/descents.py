"""Our descent beside the published one: toy sets of the published notebook, iris and, with --data, those of figure 6.

    python experiments/ultrametric/descents.py [--data DIR] [--out DIR]

The notebook's graph (5 neighbours and a spanning tree), its weights (half the distance where only one end is a
neighbour), its four losses, its settings. Ours is `fit` as it comes: one start, its own stop. Theirs is published.py.
Writes a table of best losses, the toy figure of the notebook with accuracies beside those that the notebook prints, and
convergence curves. Needs scikit-learn. All choices are in settings.toml.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import clusterings
import common
import numpy as np
from clusterings import accuracy, matched
from common import COLOURS, INK, Floats, Ints, frame
from published import published, stop_of
from toys import toys

from palmette._extras import require
from palmette.ultrametric import Closest, ClusterSize, Dasgupta, Fit, Graph, Loss, Triplet, average_linkage

LOSSES = ("Closest", "Closest + size", "Closest + triplet", "Dasgupta")
# Accuracies that the notebook prints.
PRINTED = {
    "average linkage": (0.505, 0.75, 1.0, 0.34, 0.34),
    "Closest": (0.505, 0.75, 1.0, 0.34, 0.34),
    "Closest + size": (0.75, 1.0, 1.0, 0.935, 0.995),
    "Closest + triplet": (1.0, 0.9925, 1.0, 0.99, 0.995),
    "Dasgupta": (1.0, 0.8925, 1.0, 0.99, 0.995),
}


class Problem(NamedTuple):
    points: Floats
    classes: Ints
    known: list[Ints]
    """Draws of labels: the class where it is told, −1 elsewhere."""
    graph: Graph


class Descent(NamedTuple):
    ours: Fit
    theirs: dict[str, Floats]
    """The history of each projection, all 500 iterations."""

    @property
    def ratio(self) -> float:
        """Our best loss over theirs, with softplus and their stop: what the notebook runs."""
        history = self.theirs["softplus"]
        return float(self.ours.best_loss / history[: stop_of(history)].min())

    @property
    def hardest(self) -> float:
        """Our best loss over the best of theirs in 500 iterations, with either projection."""
        return float(self.ours.best_loss / min(history.min() for history in self.theirs.values()))


def problems(data: Path | None, chosen: dict[str, Any]) -> dict[str, Problem]:
    """All sets by name. What is told of the toys is the notebook's; of the others, several draws of a tenth."""
    how = chosen["descents"]
    found = {name: (toy.points, toy.classes, [toy.known]) for name, toy in toys().items()}
    iris = require("sklearn.datasets", "sklearn").load_iris()
    others = {"iris": clusterings.Table(iris.data, iris.target)}
    for name in chosen["figure6"]["data"] if data else ():
        others[name] = clusterings.read_table(data / f"{name}.csv", *chosen["graph"]["features"])
    for name, table in others.items():
        rng = np.random.default_rng(how["seed"])
        draws = [drawn(table.classes, how["labelled"], rng) for _ in range(how["draws"])]
        found[name] = (table.points, table.classes, draws)
    return {name: Problem(*each, clusterings.graph_of(each[0], "averaged", chosen)) for name, each in found.items()}


def fresh(chosen: dict[str, Any]) -> dict[str, Problem]:
    """Toy sets of other seeds, which no choice of ours has seen."""
    found = {}
    for shift in chosen["descents"]["fresh"]:
        for name, toy in toys(shift=shift).items():
            graph = clusterings.graph_of(toy.points, "averaged", chosen)
            found[f"{name}, {shift}"] = Problem(toy.points, toy.classes, [toy.known], graph)
    return found


def drawn(classes: Ints, share: float, rng: np.random.Generator) -> Ints:
    """The classes of this share of the points, at random, at least 20; −1 elsewhere."""
    told = rng.permutation(len(classes))[: max(20, round(share * len(classes)))]
    known = np.full(len(classes), -1)
    known[told] = classes[told]
    return known


def settings_of(problem: Problem, slope: float) -> Iterator[tuple[str, Graph, Loss]]:
    """The notebook's four losses, the third once for each draw of labels, and the graph that each sees."""
    yield "Closest", problem.graph, Closest()
    yield "Closest + size", problem.graph, Closest() + ClusterSize(top=10)
    for known in problem.known:
        yield "Closest + triplet", problem.graph, Closest() + Triplet(known, margin=1.0)
    yield "Dasgupta", common.scaled(problem.graph), Dasgupta(slope)


def descend(problem: Problem, chosen: dict[str, Any]) -> dict[str, list[Descent]]:
    """Ours and theirs, by the name of the loss."""
    found: dict[str, list[Descent]] = {}
    for name, graph, loss in settings_of(problem, chosen["losses"]["dasgupta_slope"]):
        ours = common.fit_as(chosen["rounds"], graph, loss)
        theirs = {projection: published(graph, loss, projection) for projection in ("softplus", "relu")}
        found.setdefault(name, []).append(Descent(ours, theirs))
    return found


# Words.


def report(runs: dict[str, dict[str, list[Descent]]]) -> str:
    """Ratios of best losses, with the ratio to the hardest bar in brackets, and how ours ended."""
    rows = [["our best loss / theirs (/ the best of theirs)", *LOSSES]]
    for data, by_loss in runs.items():
        rows.append([data, *(ratios_of(by_loss[name]) for name in LOSSES)])
    return common.markdown(rows) + "\n\n" + counts_of(runs)


def counts_of(runs: dict[str, dict[str, list[Descent]]]) -> str:
    """How many of all descents are not above theirs, and how they ended."""
    everything = [run for by_loss in runs.values() for each in by_loss.values() for run in each]
    below = sum(run.ratio <= 1 for run in everything)
    hardest = sum(run.hardest <= 1 for run in everything)
    settled = sum(run.ours.converged for run in everything)
    steps = np.median([run.ours.iterations for run in everything])
    return (
        f"at most theirs: {below} of {len(everything)}; at most the best of theirs: {hardest}; "
        f"settled: {settled}, after {steps:.0f} iterations in the median; "
        f"largest ratio: {max(run.ratio for run in everything):.3f}"
    )


def ratios_of(runs: Sequence[Descent]) -> str:
    """One ratio, or the mean and the largest of several draws."""
    if len(runs) == 1:
        return f"{runs[0].ratio:.2f} ({runs[0].hardest:.2f})"
    means = np.mean([[run.ratio, run.hardest] for run in runs], axis=0)
    return f"{means[0]:.2f} ({means[1]:.2f}), at most {max(run.ratio for run in runs):.2f}"


def clusters_of(problem: Problem, runs: dict[str, list[Descent]]) -> dict[str, Ints]:
    """As many clusters as classes, by average linkage and by each loss."""
    k = len(np.unique(problem.classes))
    found = {"average linkage": common.cut(average_linkage(problem.graph).children, k)}
    return found | {name: runs[name][0].ours.membership(k) for name in LOSSES}


def report_toys(clusters: dict[str, dict[str, Ints]], given: dict[str, Problem]) -> str:
    """Accuracies, those of the notebook in brackets."""
    rows = [["accuracy (notebook)", *clusters]]
    for method, printed in PRINTED.items():
        shares = [accuracy(found[method], given[name].classes) for name, found in clusters.items()]
        pairs = zip(shares, printed, strict=True)
        rows.append([method, *(f"{common.plain(ours)} ({common.plain(theirs)})" for ours, theirs in pairs)])
    return common.markdown(rows)


# Pictures.


def draw_toys(path: Path, clusters: dict[str, dict[str, Ints]], given: dict[str, Problem]) -> None:
    """One column for each set, one row for each method."""
    figure, axes = common.new_figure(11, 11, len(clusters), len(PRINTED))
    for column, (name, found) in enumerate(clusters.items()):
        for row, method in enumerate(PRINTED):
            ax, problem = axes[row, column], given[name]
            kinds = matched(found[method], problem.classes)
            ax.scatter(*problem.points.T, s=6, c=[COLOURS[kind % len(COLOURS)] for kind in kinds])
            ax.set_title(f"{name}: {accuracy(found[method], problem.classes):.2f}", fontsize=9, color=INK)
            if column == 0:
                ax.set_ylabel(method, fontsize=9, color=INK)
            ax.set_xticks([])
            ax.set_yticks([])
            frame(ax, sides=())
    common.save(figure, path)


def draw_curves(path: Path, runs: dict[str, dict[str, list[Descent]]]) -> None:
    """The best loss so far over the best of all, against the number of iterations."""
    figure, axes = common.new_figure(3.2 * len(LOSSES), 2.4 * len(runs), len(LOSSES), len(runs))
    for row, (data, by_loss) in enumerate(runs.items()):
        for column, name in enumerate(LOSSES):
            ax, run = axes[row, column], by_loss[name][0]
            curves = {"ours": run.ours.history} | {f"published, {key}": each for key, each in run.theirs.items()}
            best = min(curve.min() for curve in curves.values())
            for (label, curve), colour in zip(curves.items(), COLOURS, strict=False):
                ax.plot(np.minimum.accumulate(curve) / best, color=colour, linewidth=1.2, label=label)
            ax.set_xscale("log")
            ax.set_yscale("log")
            ax.set_title(f"{data}: {name}", fontsize=9, color=INK)
            frame(ax)
    axes[0, 0].legend(frameon=False, fontsize=8)
    common.save(figure, path)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, run, print, draw."""
    command = common.parser("Our descent beside the published one.")
    command.add_argument("--data", type=Path, help="folder with the four .csv files of figure 6")
    given = command.parse_args(arguments)
    chosen = common.settings(given.settings)
    sets = problems(given.data, chosen)
    runs = {name: descend(problem, chosen) for name, problem in sets.items()}
    clusters = {name: clusters_of(sets[name], runs[name]) for name in toys()}
    others = {name: descend(each, chosen) for name, each in fresh(chosen).items()}
    text = [report(runs), "fresh sets: " + counts_of(others), report_toys(clusters, sets)]
    common.tell("\n\n".join(text), given.out / "descents.txt")
    draw_toys(given.out / "toys.png", clusters, sets)
    draw_curves(given.out / "convergence.png", runs)


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    main()
