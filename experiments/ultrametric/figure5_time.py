"""Figure 5c: processor time of one iteration against the number of edges. Run by figure5.py."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import common
import numpy as np
from common import COLOURS, INK, frame

from palmette.ultrametric import Graph, fit

LOSSES = ("Closest", "Closest + size", "Closest + triplet", "Dasgupta")
EDGES_PER_POINT = 3.06  # of five neighbours in the plane
FIRST, MOST = 3, 100  # iterations

Times = dict[str, list[tuple[int, float]]]
"""(edges, seconds) by loss."""


def neighbour_graph(n_edges: int, neighbours: int, seed: int) -> Graph:
    """About so many edges, of nearest neighbours of even points in the plane; weights up to 1."""
    points = np.random.default_rng(seed).random((max(round(n_edges / EDGES_PER_POINT), 8), 2))
    return common.scaled(Graph.from_points(points, neighbours))


def seconds_per_iteration(graph: Graph, name: str, chosen: dict[str, Any]) -> float:
    """Forward, backward and step, the mean over the first iterations: as many as the budget allows."""
    how = chosen["iterations"]
    known = np.full(graph.n_vertices, -1)
    told = np.random.default_rng(how["seed"]).permutation(graph.n_vertices)[: how["labelled"]]
    known[told] = np.arange(len(told)) % 4
    loss = common.loss_of(name, chosen["losses"], known)
    begin = time.process_time()
    run = fit(graph, loss, iterations=FIRST, tolerance=None, progress=False)
    spent = time.process_time() - begin
    more = int(min(MOST - FIRST, (how["budget"] - spent) / max(spent / FIRST, 1e-9)))
    if more > 0:
        run.resume(more)
    return (time.process_time() - begin) / (FIRST + max(more, 0))


def measure(chosen: dict[str, Any]) -> Times:
    """Every loss on every size; Dasgupta only as far as is sensible."""
    how, neighbours = chosen["iterations"], chosen["graph"]["neighbours"]
    small = neighbour_graph(100, neighbours, how["seed"])
    found: Times = {name: [] for name in LOSSES}
    for name in LOSSES:
        seconds_per_iteration(small, name, chosen)  # compiles
    for n_edges in how["edges"]:
        graph = neighbour_graph(n_edges, neighbours, how["seed"])
        for name in LOSSES:
            if name != "Dasgupta" or n_edges <= how["dasgupta_most"]:
                found[name].append((graph.n_edges, seconds_per_iteration(graph, name, chosen)))
    return found


def report(found: Times) -> str:
    """Milliseconds, one column for each size."""
    sizes = [edges for edges, _ in found["Closest"]]
    rows = [["ms per iteration", *(f"{edges:,} edges" for edges in sizes)]]
    for name, times in found.items():
        known = dict(times)
        rows.append([name, *(f"{1000 * known[edges]:.3g}" if edges in known else "" for edges in sizes)])
    return common.columns(rows)


def draw(ax: Any, found: Times, colours: Sequence[str] = COLOURS) -> None:
    """Lines on logarithmic axes."""
    for (name, times), colour in zip(found.items(), colours, strict=False):
        ax.plot(*zip(*times, strict=True), color=colour, marker="o", markersize=4, linewidth=1.3, label=name)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("edges", color=INK)
    ax.set_title("(c) seconds per iteration", fontsize=11, color=INK)
    ax.legend(frameon=False, fontsize=9)
    frame(ax)
