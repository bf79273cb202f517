"""Clusterings of figure 6: the data, the methods by name, folds of labelled points, accuracy by best matching."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import common
import numpy as np
import numpy.typing as npt
from common import Floats, Ints
from scipy.cluster.hierarchy import linkage
from scipy.optimize import linear_sum_assignment

from palmette._extras import require
from palmette.evaluate import dasgupta_cost
from palmette.hierarchy import Hierarchy
from palmette.ultrametric import Graph, average_linkage, subdominant


class Table(NamedTuple):
    points: Floats
    """(N, d)."""
    classes: Ints
    """(N,), 0 … k − 1."""

    @property
    def n_classes(self) -> int:
        return int(self.classes.max()) + 1


class Found(NamedTuple):
    accuracies: Floats
    """(repeats,): of as many clusters as there are classes; one for each time that the weights were shaken."""
    error: float
    """mean (u − w)² over the edges, and over repeats; NaN for hierarchies of the complete data."""
    loss: float
    """The mean of what a fit made small; NaN where nothing was fitted."""
    cost: float
    """mean over edges of |lca| / w, Dasgupta's exact cost over the number of edges (eq. 12), mean over repeats."""


def read_table(path: Path, low: float, high: float) -> Table:
    """A header, then rows of features and a class; every feature is stretched to [low, high]."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.reader(file) if row][1:]
    points = stretched(np.array([row[:-1] for row in rows], dtype=np.float64), low, high)
    return Table(points, np.unique([row[-1] for row in rows], return_inverse=True)[1].reshape(-1))


def stretched(raw: Floats, low: float, high: float) -> Floats:
    """Every column from `low` to `high`; a constant one is `low`."""
    span = np.ptp(raw, axis=0)
    return np.asarray(low + (high - low) * (raw - raw.min(axis=0)) / np.where(span > 0, span, 1))


def graph_of(points: Floats, weights: str, chosen: dict[str, Any]) -> Graph:
    """Nearest neighbours and a spanning tree, with distances or with the half weights of the published code."""
    return Graph.from_points(points, chosen["graph"]["neighbours"], averaged=weights == "averaged")


# Accuracy.


def matched(clusters: Ints, classes: Ints) -> Ints:
    """(N,): the class that the cluster of each point is given to, such that most points are right; one cluster each."""
    n = max(int(clusters.max()), int(classes.max())) + 1
    counts = np.zeros((n, n), dtype=np.int64)
    np.add.at(counts, (clusters, classes), 1)
    return np.asarray(linear_sum_assignment(counts, maximize=True)[1][clusters])


def accuracy(clusters: Ints, classes: Ints) -> float:
    """The share of points that are right under the best one-to-one matching of clusters to classes."""
    return float(np.mean(matched(clusters, classes) == classes))


# Without labels.


def by_linkage(table: Table, graph: Graph) -> dict[str, Found]:
    """Ward and average linkage of all pairs; the graph says what they cost."""
    names = {"Ward": "ward", "average linkage, all pairs": "average"}
    found = {}
    for name, method in names.items():
        merges = linkage(table.points, method)
        share = accuracy(common.cut(merges[:, :2], table.n_classes), table.classes)
        found[name] = Found(np.array([share]), np.nan, np.nan, cost_of(Hierarchy.from_linkage(merges), graph))
    return found


FITS = {  # name, loss, settings
    "Closest": ("Closest", "fit"),
    "Closest + size": ("Closest + size", "fit"),
    "Closest + size, to the end": ("Closest + size", "rounds"),
    "Closest + size over all edges": ("Closest + size over all edges", "fit"),
    "Dasgupta + size": ("Dasgupta + size", "fit"),
    "Dasgupta + size, to the end": ("Dasgupta + size", "rounds"),
}


def on_graph(table: Table, graph: Graph, chosen: dict[str, Any]) -> dict[str, Found]:
    """Single and average linkage on the graph, and fits, each as often as weights are shaken."""
    runs: dict[str, list[tuple[float, float, float, float]]] = {}
    for moved in shaken(graph, chosen["shaken"]):
        for name, each in once(table, moved, chosen).items():
            runs.setdefault(name, []).append(each)
    found = {}
    for name, rows in runs.items():
        shares, *others = np.array(rows).T
        found[name] = Found(shares, *(float(values.mean()) for values in others))
    return found


def once(table: Table, graph: Graph, chosen: dict[str, Any]) -> dict[str, tuple[float, float, float, float]]:
    """Accuracy, error, loss and cost of each."""
    k, lowest, joined = table.n_classes, subdominant(graph), average_linkage(graph)
    trees = {
        "single linkage": (lowest.membership(k), lowest.values, np.nan, lowest.hierarchy),
        "average linkage, graph": (
            common.cut(joined.children, k),
            joined.values,
            np.nan,
            Hierarchy.from_merges(joined.children),
        ),
    }
    for name, (loss, how) in FITS.items():
        fitted = common.fit_named(loss, graph, chosen, how=how)
        # Dasgupta was shown other weights, and its altitudes are no distances.
        values = fitted.ultrametric if name.startswith("Closest") else np.full(graph.n_edges, np.nan)
        trees[name] = (fitted.membership(k), values, fitted.best_loss, fitted.hierarchy)
    return {
        name: (accuracy(clusters, table.classes), error_of(values, graph), loss, cost_of(hierarchy, graph))
        for name, (clusters, values, loss, hierarchy) in trees.items()
    }


def shaken(graph: Graph, how: dict[str, Any]) -> Iterator[Graph]:
    """The graph, as often as `repeats`, each time with weights that are off by a small random share of themselves."""
    rng = np.random.default_rng(how["seed"])
    for _ in range(how["repeats"]):
        yield graph.with_weights(graph.weights * (1 + how["share"] * rng.normal(size=graph.n_edges)))


def cost_of(hierarchy: Hierarchy, graph: Graph) -> float:
    """mean over edges of |lca| / w (eq. 12), with weights as Dasgupta's loss sees them."""
    seen = common.scaled(graph)
    return dasgupta_cost(hierarchy, seen.to_sparse(1 / seen.weights)) / graph.n_edges


def error_of(values: Floats, graph: Graph) -> float:
    """mean (u − w)² over the edges."""
    return float(np.mean((values - graph.weights) ** 2))


# With some labels.


def deal(classes: Ints, folds: int, rng: np.random.Generator) -> Ints:
    """(N,): a fold for each point; those of one class are shared out evenly."""
    fold = np.empty(len(classes), dtype=np.int64)
    offset = 0
    for each in np.unique(classes):
        members = rng.permutation(np.flatnonzero(classes == each))
        fold[members] = (np.arange(len(members)) + offset) % folds
        offset += len(members)
    return fold


def labelled(fold: Ints, fraction: float, folds: int) -> Iterator[npt.NDArray[np.bool_]]:
    """One mask for each fold i: the points of folds i, i + 1, … that make up this fraction."""
    width = round(fraction * folds)
    for first in range(folds):
        yield (fold - first) % folds < width


def spectral(table: Table, seed: int) -> Ints:
    """Spectral clustering of the Gaussian kernel matrix."""
    method = require("sklearn.cluster", "sklearn").SpectralClustering
    gamma = 1 / table.points.shape[1]
    return np.asarray(method(table.n_classes, gamma=gamma, random_state=seed).fit_predict(table.points))


def support_vectors(table: Table, told: npt.NDArray[np.bool_], cost: float) -> float:
    """Accuracy on points whose class was not told of a machine that was trained on the others."""
    machine = require("sklearn.svm", "sklearn").SVC(C=cost, gamma=1 / table.points.shape[1])
    machine.fit(table.points[told], table.classes[told])
    return float(machine.score(table.points[~told], table.classes[~told]))


def by_triplets(table: Table, graph: Graph, told: npt.NDArray[np.bool_], chosen: dict[str, Any], how: str) -> float:
    """Accuracy, on points whose class was not told, of Closest + triplet with the settings of this name."""
    known = np.where(told, table.classes, -1)
    clusters = common.fit_named("Closest + triplet", graph, chosen, known, how).membership(table.n_classes)
    return accuracy(clusters[~told], table.classes[~told])
