"""Figure 3b: features of languages that were hidden, put in again by several methods.

    python experiments/coalescent/restoration.py --data DIR [--out DIR] [--parts 3]

DIR holds wals_2008.csv, see wals.py. Of the densest languages and features, one in twenty known entries is hidden; five
times; once with features as they are, and once with the commonest value of each against the rest, since the paper calls
its features binary. All choices are in settings.toml. README.md has the numbers.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

import common
import numpy as np
from common import Floats, Ints
from wals import read

import palmette as pal
from palmette.coalescent import IndependentSites, greedy, predict


def densest(x: Floats, n_rows: int, n_columns: int) -> Floats:
    """The rows, and the columns, of which most is known."""
    known = ~np.isnan(x)
    rows = np.argsort(-known.sum(axis=1), kind="stable")[:n_rows]
    columns = np.argsort(-known.sum(axis=0), kind="stable")[:n_columns]
    return x[np.sort(rows)][:, np.sort(columns)]


def commonest_or_not(x: Floats) -> Floats:
    """1 where an entry has the most frequent value of its feature, 0 where it has another; NaN stays."""
    modes = np.array([_most(column[~np.isnan(column)]) for column in x.T])
    return np.where(np.isnan(x), np.nan, x == modes)


def hide(x: Floats, share: float, rng: np.random.Generator) -> tuple[Floats, Ints]:
    """x without a share of its known entries, and where these are: (k, 2)."""
    known = np.argwhere(~np.isnan(x))
    entries = known[np.sort(rng.choice(len(known), max(1, round(share * len(known))), replace=False))]
    seen = x.copy()
    seen[tuple(entries.T)] = np.nan
    return seen, entries


# Methods: (k,) codes for the hidden entries; −1 where there is no answer.


def by_mode(seen: Floats, entries: Ints) -> Ints:
    """The most frequent value of the feature."""
    modes = np.array([_most(column[~np.isnan(column)]) for column in seen.T])
    return modes[entries[:, 1]]


def by_neighbour(seen: Floats, entries: Ints, distances: Floats) -> Ints:
    """The value of the nearest language that has one."""
    found = []
    for i, d in entries:
        away = np.where(np.isnan(seen[:, d]), np.inf, distances[i])
        nearest = int(np.argmin(away))
        found.append(int(seen[nearest, d]) if away[nearest] < np.inf else -1)
    return np.array(found)


def by_tree(seen: Floats, entries: Ints, tree: pal.Hierarchy) -> Ints:
    """The most frequent value in the smallest cluster that holds the language and another one with a value."""
    order, found = tree.leaf_order, []
    for i, d in entries:
        node, values = int(i), np.empty(0)
        while not len(values) and node < tree.n_nodes - 1:
            node = int(tree.parents[node])
            start, stop = tree.intervals[node]
            column = seen[order[start:stop], d]
            values = column[~np.isnan(column)]
        found.append(_most(values))
    return np.array(found)


def by_coalescent(seen: Floats, entries: Ints, rate: float) -> Ints:
    """The likeliest value given a greedy history; states are those that were seen."""
    equilibrium = [_frequencies(column) for column in seen.T]
    process = IndependentSites(rate, equilibrium)
    told = predict(seen, greedy(seen, process).hierarchy, process)
    row = {tuple(entry): k for k, entry in enumerate(told.entries.tolist())}
    return np.array([int(np.argmax(told.probabilities[row[tuple(entry)]])) for entry in entries.tolist()])


def by_components(seen: Floats, entries: Ints, dimensions: int, rounds: int, rng: np.random.Generator) -> Ints:
    """Probabilistic PCA of indicators, one for each value of each feature; the value whose indicator is largest."""
    counts = np.array([int(np.nanmax(column, initial=0)) + 1 for column in np.where(np.isnan(seen), 0, seen).T])
    starts = np.concatenate([[0], np.cumsum(counts)])
    indicators = np.hstack(
        [
            np.where(np.isnan(c)[:, None], np.nan, c[:, None] == np.arange(k))
            for c, k in zip(seen.T, counts, strict=True)
        ]
    )
    filled = restore(indicators, dimensions, rounds, rng)
    return np.array([int(np.argmax(filled[i, starts[d] : starts[d + 1]])) for i, d in entries])


def restore(x: Floats, dimensions: int, rounds: int, rng: np.random.Generator) -> Floats:
    """E[x] under x = W z + μ + noise, z ~ N(0, I), by EM over the entries that are known; (n, C).

    Each row of W, and then of μ, is a regression on z over the rows of x in which its column is known.
    """
    known = (~np.isnan(x)).astype(np.float64)
    mean = np.nansum(x, axis=0) / np.maximum(known.sum(axis=0), 1)
    y = np.where(known > 0, x - mean, 0.0)  # without the mean
    k, noise = dimensions, max(float((y**2).sum() / known.sum()), 1e-6)
    w = rng.standard_normal((x.shape[1], k)) * np.sqrt(noise / k)
    for _ in range(rounds):
        z, spread = _latent(y, known, w, noise)
        doubt = (known.T @ spread.reshape(len(z), -1)).reshape(-1, k, k)
        squares = (known.T @ (z[:, :, None] * z[:, None, :]).reshape(len(z), -1)).reshape(-1, k, k)
        w = np.linalg.solve(squares + doubt + 1e-6 * np.eye(k), (y.T @ z)[:, :, None])[:, :, 0]
        shift = (y - known * (z @ w.T)).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        mean, y = mean + shift, y - known * shift
        error = ((y - known * (z @ w.T)) ** 2).sum() + (w * (doubt @ w[:, :, None])[:, :, 0]).sum()
        noise = max(float(error / known.sum()), 1e-6)
    return np.asarray(mean + _latent(y, known, w, noise)[0] @ w.T)


def _latent(y: Floats, known: Floats, w: Floats, noise: float) -> tuple[Floats, Floats]:
    # Mean (n, k) and covariance (n, k, k) of z given the known entries of each row.
    k = w.shape[1]
    outer = (w[:, :, None] * w[:, None, :]).reshape(-1, k * k)
    precision = np.eye(k) + (known @ outer).reshape(-1, k, k) / noise
    spread = np.linalg.inv(precision)
    return (spread @ (y @ w / noise)[:, :, None])[:, :, 0], spread


def _most(values: Floats) -> int:
    return int(np.argmax(np.bincount(values.astype(np.int64)))) if len(values) else -1


def _frequencies(column: Floats) -> Floats:
    # Of the codes up to the largest, half a time more than they occur; codes that do not occur are impossible.
    counts = np.bincount(column[~np.isnan(column)].astype(np.int64), minlength=1).astype(np.float64)
    counts = np.where(counts > 0, counts + 0.5, 0.0) if counts.any() else counts + 1
    return np.asarray(counts / counts.sum())


# All of them.


def one_fold(x: Floats, chosen: dict[str, Any], rng: np.random.Generator) -> dict[str, float]:
    """The share of hidden entries that each method gets right."""
    seen, entries = hide(x, chosen["hidden"], rng)
    truth, distances = x[tuple(entries.T)], common.shared_distances(seen)
    answers = {
        "coalescent": by_coalescent(seen, entries, chosen["rate"]),
        "nearest neighbour": by_neighbour(seen, entries, distances),
        "average linkage": by_tree(seen, entries, common.average_linkage(distances)),
        "mode": by_mode(seen, entries),
    }
    for k in chosen["dimensions"]:
        answers[f"PPCA {k}"] = by_components(seen, entries, k, chosen["ppca_rounds"], rng)
    return {name: float((answer == truth).mean()) for name, answer in answers.items()}


def run(x: Floats, chosen: dict[str, Any], parts: int, binary: bool = False) -> tuple[list[str], dict[str, Floats]]:
    """A word on each part, and (parts, folds) accuracies by method."""
    titles, found = [], {}
    for part in range(parts):
        given = densest(x, chosen["languages"][part], chosen["features"][part])
        given = commonest_or_not(given) if binary else given
        shape = f"{len(given)} × {given.shape[1]}"
        titles.append(f"{shape}, {100 * np.mean(~np.isnan(given)):.0f} %")
        folds = [
            one_fold(given, chosen, np.random.default_rng((chosen["seed"], part, f))) for f in range(chosen["folds"])
        ]
        for name in folds[0]:
            found.setdefault(name, []).append([fold[name] for fold in folds])
    return titles, {name: np.array(values) for name, values in found.items()}


def report(titles: Sequence[str], found: dict[str, Floats]) -> str:
    """Mean ± error over folds."""
    rows = [["languages × features, known", *titles]]
    rows += [[name, *common.with_error(values.T)] for name, values in found.items()]
    return common.columns(rows)


def draw(found: dict[str, Floats], chosen: dict[str, Any]) -> Any:
    """Accuracy against the size of the part; of PPCA the best dimension of each part, as in the paper."""
    figure, (ax,) = common.new_figure(6.4, 4.4)
    best = np.max([values.mean(axis=1) for name, values in found.items() if name.startswith("PPCA")], axis=0)
    lines = {name: values.mean(axis=1) for name, values in found.items() if not name.startswith("PPCA")}
    lines["PPCA, best dimension"] = best
    for k, (name, values) in enumerate(lines.items()):
        ax.plot(
            chosen["languages"][: len(values)], values, label=name, color=common.COLOURS[k], marker="o", markersize=4
        )
    ax.set_xticks(chosen["languages"][: len(best)])
    ax.set_xlabel("densest languages")
    ax.set_ylabel("hidden entries restored")
    ax.legend(frameon=False, fontsize=8)
    common.frame(ax)
    return figure


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, run, draw, print."""
    command = common.parser("Figure 3b: hidden features of languages.", "folder with wals_2008.csv")
    command.add_argument("--parts", type=int, help="only the first so many parts")
    given = command.parse_args(arguments)
    chosen, started = common.settings("restoration", given.settings), time.perf_counter()
    file = given.data / common.settings("wals", given.settings)["file"]
    for binary in chosen["binary"]:
        titles, found = run(read(file).features, chosen, given.parts or len(chosen["languages"]), binary)
        name = "figure3b_binary" if binary else "figure3b"
        common.save(draw(found, chosen), given.out / f"{name}.png")
        common.tell(report(titles, found), given.out / f"{name}.txt")
    print(f"  {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    main()
