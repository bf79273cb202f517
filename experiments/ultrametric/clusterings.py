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
    clusters: Ints
    """(N,): as many clusters as there are classes."""
    error: float
    """mean (u − w)² over the edges of the graph; NaN for hierarchies of the complete data."""


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


def by_linkage(table: Table) -> dict[str, Found]:
    """Ward and average linkage of all pairs."""
    names = {"Ward": "ward", "average linkage, all pairs": "average"}
    return {
        name: Found(common.cut(linkage(table.points, method)[:, :2], table.n_classes), np.nan)
        for name, method in names.items()
    }


def on_graph(table: Table, graph: Graph, chosen: dict[str, Any]) -> dict[str, Found]:
    """Single and average linkage on the graph, and fits."""
    lowest, joined, k = subdominant(graph), average_linkage(graph), table.n_classes
    found = {
        "single linkage": Found(lowest.membership(k), error_of(lowest.values, graph)),
        "average linkage, graph": Found(common.cut(joined.children, k), error_of(joined.values, graph)),
    }
    for name in ("Closest", "Closest + size", "Dasgupta + size"):
        fitted = common.fit_named(name, graph, chosen)
        # Dasgupta was shown other weights, and its altitudes are no distances.
        error = error_of(fitted.ultrametric, graph) if name.startswith("Closest") else np.nan
        found[name] = Found(fitted.membership(k), error)
    return found


def shaken(table: Table, graph: Graph, name: str, chosen: dict[str, Any]) -> Floats:
    """(repeats,): accuracies of a fit when the weights change by a tiny random share of themselves."""
    how = chosen["shaken"]
    rng, shares = np.random.default_rng(how["seed"]), []
    for _ in range(how["repeats"]):
        moved = graph.with_weights(graph.weights * (1 + how["share"] * rng.normal(size=graph.n_edges)))
        shares.append(accuracy(common.fit_named(name, moved, chosen).membership(table.n_classes), table.classes))
    return np.array(shares)


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


def by_triplets(table: Table, graph: Graph, told: npt.NDArray[np.bool_], chosen: dict[str, Any]) -> float:
    """Accuracy, on points whose class was not told, of Closest + triplet."""
    known = np.where(told, table.classes, -1)
    clusters = common.fit_named("Closest + triplet", graph, chosen, known).membership(table.n_classes)
    return accuracy(clusters[~told], table.classes[~told])
