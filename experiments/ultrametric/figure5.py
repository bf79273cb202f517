"""Figure 5: how far fits of the closest ultrametric are from the best one, how long they take, and per iteration.

    python experiments/ultrametric/figure5.py [--image FILE] [--bounds] [--out DIR]

(a, b) On small graphs the best ultrametric is known, by dynamic programming (the paper has a cutting-plane method for
planar graphs): parts of the region graphs of figure 4, neighbours of points, and random ones. On whole region graphs it
is not, and fits are compared with average linkage, with the subdominant ultrametric and, with --bounds, with a proved
lower bound by linear programs (lower_bound.py, minutes). (c) is in figure5_time.py.
Times are processor time. All choices are in settings.toml.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import common
import figure5_time
import numpy as np
from common import COLOURS, INK, Floats, frame
from lower_bound import closest_bound
from regions import gradient_of, read_image, regions_of

from palmette.ultrametric import Closest, Graph, average_linkage, closest_exact, subdominant

Rng = np.random.Generator
Method = Callable[[Graph], Floats]


class Run(NamedTuple):
    error: float
    """mean (u − w)²."""
    seconds: float


class Small(NamedTuple):
    kind: str
    graph: Graph
    exact: Run
    lower_bound: float
    runs: dict[str, Run]


# Graphs.


def part_of(graph: Graph, size: int, rng: Rng) -> Graph:
    """So many vertices that hang together, grown from one at random, and all edges between them."""
    matrix = graph.to_sparse()
    inside = [int(rng.integers(graph.n_vertices))]
    while len(inside) < size:
        around = np.setdiff1d(matrix[inside].indices, inside)
        inside.append(int(rng.choice(around)))
    number = np.full(graph.n_vertices, -1)
    number[inside] = np.arange(size)
    ends = number[graph.edges]
    both = (ends >= 0).all(axis=1)
    return Graph(ends[both], graph.weights[both])


def random_graph(size: int, density: float, rng: Rng) -> Graph:
    """A random spanning tree and each other pair with this probability; weights are even in [0, 1]."""
    tree = {(int(rng.integers(vertex)), vertex) for vertex in range(1, size)}
    pairs = [(x, y) for y in range(size) for x in range(y) if (x, y) in tree or rng.random() < density]
    return Graph(pairs, rng.random(len(pairs)))


def small_graphs(whole: Sequence[Graph], chosen: dict[str, Any]) -> list[tuple[str, Graph]]:
    """(kind, graph) of all sizes and kinds."""
    rng, found = np.random.default_rng(chosen["seed"]), []
    for size in chosen["sizes"]:
        for repeat in range(chosen["repeats"]):
            found.append(("regions", part_of(whole[repeat % len(whole)], size, rng)))
            found.append(("points", Graph.from_points(rng.random((size, 2)), 3)))
            found.append(("random", random_graph(size, chosen["density"], rng)))
    return found


# Runs.


def fitting(start: str, how: dict[str, Any]) -> Method:
    """Closest from one start, or the better of both."""
    given = how | {"start": ("weights", "average") if start == "both" else start}
    return lambda graph: common.fit_as(given, graph, Closest()).ultrametric


def methods(chosen: dict[str, Any]) -> dict[str, Method]:
    """All that is compared with the best, by name."""
    found: dict[str, Method] = {
        "subdominant": lambda graph: subdominant(graph).values,
        "average linkage": lambda graph: average_linkage(graph).values,
    }
    for start in chosen["figure5"]["starts"]:
        found[f"fit, start: {start}"] = fitting(start, chosen["rounds"])
    return found | {"Algorithm 1": fitting("weights", chosen["fit"])}


def timed(method: Method, graph: Graph) -> Run:
    """Error and processor time."""
    begin = time.process_time()
    values = method(graph)
    return Run(float(np.mean((values - graph.weights) ** 2)), time.process_time() - begin)


def solve(kind: str, graph: Graph, all_methods: dict[str, Method]) -> Small:
    """The best ultrametric and all others."""
    begin = time.process_time()
    best = closest_exact(graph)
    exact = Run(best.loss, time.process_time() - begin)
    return Small(kind, graph, exact, best.lower_bound, {name: timed(m, graph) for name, m in all_methods.items()})


def told_apart(solved: Sequence[Small]) -> list[Small]:
    """Those whose best error is not 0: a ratio to 0 says nothing."""
    return [each for each in solved if each.exact.error > 1e-9 * np.mean(each.graph.weights**2)]


# Words.


def report_small(solved: Sequence[Small]) -> str:
    """Ratios to the best error by kind of graph, and times."""
    seen = told_apart(solved)
    kinds = list(dict.fromkeys(each.kind for each in seen))
    gap = max(1 - each.lower_bound / each.exact.error for each in seen)
    rows = [["error over the best, mean (worst)", *kinds, "best found", "median ms"]]
    for name in seen[0].runs:
        ratios = np.array([each.runs[name].error / each.exact.error for each in seen])
        by_kind = [ratios[[each.kind == kind for each in seen]] for kind in kinds]
        cells = [f"{values.mean():.3f} ({values.max():.2f})" for values in by_kind]
        rows.append([name, *cells, f"{100 * np.mean(ratios < 1.001):.0f} %", milliseconds(seen, name)])
    rows.append(["dynamic programming", *("1.000 (1.00)" for _ in kinds), "100 %", milliseconds(seen, None)])
    title = f"{len(seen)} graphs of {min(e.graph.n_vertices for e in seen)} to {max(e.graph.n_vertices for e in seen)}"
    title += f" vertices ({len(solved) - len(seen)} more are ultrametric by themselves); "
    return title + f"best errors are known to {100 * gap:.1g} %\n" + common.columns(rows)


def milliseconds(solved: Sequence[Small], name: str | None) -> str:
    """The median time of a method; of dynamic programming if there is no name."""
    return f"{1000 * np.median([(each.runs[name] if name else each.exact).seconds for each in solved]):.3g}"


def report_whole(whole: Sequence[Graph], runs: Sequence[dict[str, Run]], bounds: Sequence[Run]) -> str:
    """Errors and times on the region graphs; lower bounds and what the best fit is above them, if there are any."""
    rows = [["error × 10⁴ (ms)", *(f"{graph.n_edges} edges" for graph in whole)]]
    for name in runs[0]:
        rows.append([name, *(f"{1e4 * run[name].error:.3f} ({1000 * run[name].seconds:.3g})" for run in runs)])
    if bounds:
        rows.append(["lower bound", *(f"{1e4 * each.error:.3f} ({1000 * each.seconds:.3g})" for each in bounds)])
        best = [min(each.error for each in run.values()) for run in runs]
        rows.append(["best over bound", *(f"{b / each.error:.3f}" for b, each in zip(best, bounds, strict=True))])
    return common.columns(rows)


def bound_of(graph: Graph, how: dict[str, Any]) -> Run:
    """The lower bound, and its processor time."""
    begin = time.process_time()
    bound = closest_bound(graph, how["bound_levels"], how["bound_rounds"], how["bound_seconds"])
    return Run(bound, time.process_time() - begin)


# Pictures.


def draw_errors(ax: Any, solved: Sequence[Small], shown: Sequence[str]) -> None:
    """The mean ratio to the best error, by number of vertices."""
    seen = told_apart(solved)
    sizes = sorted({each.graph.n_vertices for each in seen})
    for name, colour in zip(shown, COLOURS, strict=False):
        ratios = [
            np.mean([e.runs[name].error / e.exact.error for e in seen if e.graph.n_vertices == size]) for size in sizes
        ]
        # The fit from average linkage often stays there; rings around dots show both.
        dots = {"markersize": 8, "markerfacecolor": "none"} if name == "average linkage" else {"markersize": 4}
        ax.plot(sizes, ratios, color=colour, marker="o", linewidth=1.3, label=name, **dots)
    ax.axhline(1, color=INK, linewidth=0.6)
    ax.set_xlabel("vertices", color=INK)
    ax.set_title("(a) squared error over the best", fontsize=11, color=INK)
    ax.legend(frameon=False, fontsize=9)
    frame(ax)


def draw_times(ax: Any, solved: Sequence[Small], whole: Sequence[Graph], runs: Sequence[dict[str, Run]]) -> None:
    """Dots for small graphs, crosses for the region graphs."""
    edges = [each.graph.n_edges for each in solved]
    ax.scatter(edges, [each.exact.seconds for each in solved], s=8, color=INK, label="dynamic programming")
    for name, colour in (("fit, start: both", COLOURS[3]), ("average linkage", COLOURS[0])):
        ax.scatter(edges, [max(each.runs[name].seconds, 1e-5) for each in solved], s=8, color=colour, label=name)
        ax.scatter([g.n_edges for g in whole], [run[name].seconds for run in runs], s=36, marker="x", color=colour)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("edges", color=INK)
    ax.set_title("(b) seconds; crosses: whole images", fontsize=11, color=INK)
    ax.legend(frameon=False, fontsize=9)
    frame(ax)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, run, print, draw."""
    command = common.parser("Figure 5: quality and time of fits.")
    command.add_argument("--image", type=Path, help="another image, PNG or JPEG")
    command.add_argument("--bounds", action="store_true", help="lower bounds on whole images, too: minutes")
    given = command.parse_args(arguments)
    chosen = common.settings(given.settings)
    gradient = gradient_of(read_image(given.image, chosen["regions"]["image"]), chosen["regions"]["blur"])
    whole = [each.graph for each in regions_of(gradient, chosen["regions"])]
    compared = methods(chosen)
    graphs = small_graphs(whole, chosen["figure5"])
    solve(*graphs[0], compared)  # compiles
    solved = [solve(kind, graph, compared) for kind, graph in graphs]
    runs = [{name: timed(method, graph) for name, method in compared.items()} for graph in whole]
    times = figure5_time.measure(chosen)
    bounds = [bound_of(graph, chosen["figure5"]) for graph in whole] if given.bounds else []
    text = [report_small(solved), report_whole(whole, runs, bounds), figure5_time.report(times)]
    common.tell("\n\n".join(text), given.out / "figure5.txt")
    figure, axes = common.new_figure(13, 4, 3)
    draw_errors(axes[0, 0], solved, list(compared)[1:5])
    draw_times(axes[0, 1], solved, whole, runs)
    figure5_time.draw(axes[0, 2], times)
    common.save(figure, given.out / "figure5.png")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    main()
