"""Flat clusters out of the box: palmette's clusterers beside scikit-learn's, with default settings.

    python benchmarks/clusterers.py [--quick] [--write]

The adjusted Rand index with the known classes; nothing is standardised, and only the number of clusters is told, to
those that ask for it. HDBSCAN and Dirichlet processes find their own; noise of HDBSCAN counts as a cluster. It is the
mean over three seeds, of data that are made up too; of thousands of rows, one seed.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import _tables
import numpy as np
from sklearn import datasets
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from palmette.sklearn import (
    CoalescentClustering,
    PartitionTrellisClustering,
    TrellisClustering,
    UltrametricClustering,
)

SEEDS = range(3)
LARGE = ("moons, 5,000", "blobs, 5,000", "digits, 1,797")  # one seed
CLUSTERERS: dict[str, Callable[[int, int], Any]] = {
    "Ward": lambda k, seed: AgglomerativeClustering(k),
    "k-means": lambda k, seed: KMeans(k, n_init=10, random_state=seed),
    "Gaussian mixture": lambda k, seed: GaussianMixture(k, random_state=seed),
    "HDBSCAN": lambda k, seed: HDBSCAN(copy=True),
    "Trellis": lambda k, seed: TrellisClustering(k, random_state=seed),
    "PartitionTrellis": lambda k, seed: PartitionTrellisClustering(random_state=seed),
    "Coalescent": lambda k, seed: CoalescentClustering(k),
    "Ultrametric": lambda k, seed: UltrametricClustering(k),
}


def problems(quick: bool) -> Iterator[tuple[str, Callable[[int], tuple[np.ndarray, np.ndarray]]]]:
    yield "iris, 150", lambda seed: datasets.load_iris(return_X_y=True)
    yield "wine, 178", lambda seed: datasets.load_wine(return_X_y=True)
    for n in (200, 1000) if quick else (200, 1000, 5000):
        yield f"moons, {n:,}", lambda seed, n=n: datasets.make_moons(n, noise=0.06, random_state=seed)
        yield f"blobs, {n:,}", lambda seed, n=n: datasets.make_blobs(n, centers=5, random_state=seed)
    if not quick:
        yield "digits, 1,797", lambda seed: datasets.load_digits(return_X_y=True)


def score(make: Callable[[int, int], Any], load: Callable[[int], Any], seeds: range) -> tuple[float, float]:
    """The mean index, and the seconds that the slowest fit took."""
    found, longest = [], 0.0
    for seed in seeds:
        x, classes = load(seed)
        begin = time.perf_counter()
        labels = make(len(np.unique(classes)), seed).fit_predict(x)
        longest = max(longest, time.perf_counter() - begin)
        found.append(adjusted_rand_score(classes, labels))
    return float(np.mean(found)), longest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    _tables.add_option(parser)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows, slowest = [], dict.fromkeys(CLUSTERERS, 0.0)
    for name, load in problems(options.quick):
        cells = [name]
        for called, make in CLUSTERERS.items():
            value, seconds = score(make, load, SEEDS[:1] if name in LARGE else SEEDS)
            slowest[called] = max(slowest[called], seconds)
            cells.append(f"{value:.2f}")
        rows.append(cells)
        print(" | ".join(cells), flush=True)
    rows.append(["slowest fit", *(f"{seconds:.1f} s" for seconds in slowest.values())])
    table = _tables.lines_of(("adjusted Rand index", *CLUSTERERS), rows)
    print("\n" + "\n".join(table))
    _tables.write(options.write, "clusterers", table)


if __name__ == "__main__":
    main()
