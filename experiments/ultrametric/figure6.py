"""Figure 6: accuracy on real data, without labels (a) and with some (b), beside the bars of the paper.

    python experiments/ultrametric/figure6.py --data DIR [--only a|b] [--out DIR]

DIR holds heart_statlog.csv, australian.csv, breast_cancer_wisconsin.csv and wine.csv: a header, features, and the class
in the last column. The paper's fifth data set, Digit1, is missing. Needs scikit-learn for (b). All choices are in
settings.toml; README.md beside this file has the numbers.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

import clusterings
import common
import numpy as np
from clusterings import Found, Table, accuracy
from common import COLOURS, INK, Floats, frame

TITLES = {
    "digit1": "Digit1",
    "heart_statlog": "Heart",
    "australian": "Australian",
    "breast_cancer_wisconsin": "Br. cancer",
    "wine": "Wine",
}
# Read off the text of the paper, in this order.
BARS = {
    "Ward": (0.82, 0.73, 0.86, 0.97, 0.98),
    "Dasgupta + size": (0.90, 0.65, 0.84, 0.95, 0.96),
    "Closest + size": (0.94, 0.76, 0.84, 0.96, 0.95),
    "spectral": (0.89, 0.69, 0.67, 0.94, 0.97),
    "SVM": (0.92, 0.76, 0.80, 0.96, 0.98),
    "Closest + triplet": (0.93, 0.73, 0.85, 0.96, 0.96),
}
PRINTED = {method: dict(zip(TITLES, bars, strict=True)) for method, bars in BARS.items()}
PANELS = {"a": ("Ward", "Dasgupta + size", "Closest + size"), "b": ("spectral", "SVM", "Closest + triplet")}
TRIPLETS = {  # name, weights, settings
    "Closest + triplet": ("distances", "fit"),
    "Closest + triplet, to the end": ("distances", "rounds"),
    "Closest + triplet, averaged weights": ("averaged", "fit"),
}
MEASURES = (("mean (u − w)² × 10³", 1000, "error"), ("loss", 1, "loss"), ("mean |lca| / w (eq. 12)", 1, "cost"))
MISSING = "Digit1, the fifth data set of the paper, is missing: no copy with a licence is known to us."


def named(method: str, weights: str) -> str:
    """Methods on the half weights of the published code have a name of their own."""
    return method if weights == "distances" else f"{method}, {weights} weights"


# (a)


def without_labels(table: Table, chosen: dict[str, Any]) -> dict[str, Found]:
    """All clusterings of one data set that see no label, with errors, losses and costs."""
    found = clusterings.by_linkage(table, clusterings.graph_of(table.points, "distances", chosen))
    for weights in chosen["figure6"]["weights"]:
        graph = clusterings.graph_of(table.points, weights, chosen)
        for name, each in clusterings.on_graph(table, graph, chosen).items():
            found[named(name, weights)] = each
    return found


def beside_paper(method: str, data: str, cell: str) -> str:
    """Ours, and the paper's where it has one."""
    printed = PRINTED.get(method.removesuffix(", to the end"))
    return f"{cell} ({common.plain(printed[data])})" if printed else cell


def report_a(found: dict[str, dict[str, Found]]) -> str:
    """Accuracies with the paper's in brackets; then errors, losses and costs."""
    names, header = list(next(iter(found.values()))), [TITLES[data] for data in found]
    rows = [["accuracy (paper)", *header]]
    for name in names:
        cells = [beside_paper(name, data, with_spread(each[name].accuracies)) for data, each in found.items()]
        rows.append([name, *cells])
    tables = [rows]
    for title, factor, value in MEASURES:
        rows = [[title, *header]]
        for name in names:
            values = [factor * getattr(each[name], value) for each in found.values()]
            if not np.isnan(values).any():
                rows.append([name, *(f"{each:.2f}" for each in values)])
        tables.append(rows)
    return "\n\n".join(map(common.markdown, tables))


# (b)


def with_labels(table: Table, chosen: dict[str, Any]) -> dict[str, Floats]:
    """(fractions, folds) accuracies on the points without label, by method."""
    how = chosen["figure6"]
    fold = clusterings.deal(table.classes, how["folds"], np.random.default_rng(how["seed"]))
    graphs = {weights: clusterings.graph_of(table.points, weights, chosen) for weights, _ in TRIPLETS.values()}
    clusters = clusterings.spectral(table, how["seed"])
    found: dict[str, list[list[float]]] = {}
    for fraction in how["fractions"]:
        shares: dict[str, list[float]] = {}
        for told in clusterings.labelled(fold, fraction, how["folds"]):
            shares.setdefault("spectral", []).append(accuracy(clusters[~told], table.classes[~told]))
            shares.setdefault("SVM", []).append(clusterings.support_vectors(table, told, how["svm_cost"]))
            for name, (weights, settings) in TRIPLETS.items():
                share = clusterings.by_triplets(table, graphs[weights], told, chosen, settings)
                shares.setdefault(name, []).append(share)
        for name, values in shares.items():
            found.setdefault(name, []).append(values)
    return {name: np.array(values) for name, values in found.items()}


def with_spread(values: Floats) -> str:
    """Mean ± standard deviation, of several."""
    mean = common.plain(values.mean())
    return mean if values.size == 1 else f"{mean} ± {common.plain(values.std())}"


def report_b(found: dict[str, dict[str, Floats]], fractions: Sequence[float]) -> str:
    """Means and standard deviations over folds, for each fraction and for all together."""
    rows = [["accuracy (paper)", "labelled", *(TITLES[data] for data in found)]]
    for name in next(iter(found.values())):
        for number, fraction in enumerate(fractions):
            cells = [with_spread(each[name][number]) for each in found.values()]
            rows.append([name, f"{100 * fraction:.0f} %", *cells])
        cells = [beside_paper(name, data, with_spread(each[name])) for data, each in found.items()]
        rows.append([name, "all", *cells])
    return common.markdown(rows)


# Pictures.


def draw_bars(ax: Any, methods: Sequence[str], bars: dict[str, dict[str, Floats]], title: str) -> None:
    """One group for each data set; means over runs with their spread, and a line where the paper's bar ends."""
    data = ["digit1", *bars]
    width = 0.8 / len(methods)
    for number, (method, colour) in enumerate(zip(methods, COLOURS, strict=False)):
        places = np.arange(len(data)) + (number - (len(methods) - 1) / 2) * width
        heights = [bars[d][method].mean() if d in bars else 0 for d in data]
        spread = [bars[d][method].std() if d in bars else 0 for d in data]
        ax.bar(places, heights, 0.92 * width, color=colour, label=method, yerr=spread, ecolor="#555555", capsize=0)
        ax.hlines(
            [PRINTED[method][d] for d in data], places - width / 2, places + width / 2, color=INK, linewidth=1.6,
            label="paper" if number == len(methods) - 1 else None,
        )  # fmt: skip
    ax.set_xticks(range(len(data)), [f"{TITLES[d]}\n(missing)" if d == "digit1" else TITLES[d] for d in data])
    ax.set_ylim(0.4, 1.02)
    ax.set_title(title, fontsize=11, color=INK)
    ax.legend(frameon=False, fontsize=9, ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.16))
    frame(ax)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, run, print, draw."""
    command = common.parser("Figure 6: accuracy on real data.", "folder with the four .csv files")
    command.add_argument("--only", choices=["a", "b"], help="one of the two")
    given = command.parse_args(arguments)
    chosen = common.settings(given.settings)
    how, limits = chosen["figure6"], chosen["graph"]["features"]
    tables = {name: clusterings.read_table(given.data / f"{name}.csv", *limits) for name in how["data"]}
    print(MISSING + "\n")
    for part in [given.only] if given.only else ["a", "b"]:
        begin = time.perf_counter()
        if part == "a":
            found = {name: without_labels(table, chosen) for name, table in tables.items()}
            text, title = report_a(found), "(a) accuracy without labels"
            bars = {data: {m: each[m].accuracies for m in PANELS["a"]} for data, each in found.items()}
        else:
            bars = {name: with_labels(table, chosen) for name, table in tables.items()}
            text, title = report_b(bars, how["fractions"]), "(b) accuracy with 10 to 40 % of the labels"
        common.tell(text, given.out / f"figure6{part}.txt")
        print(f"\n  {time.perf_counter() - begin:.0f} s\n", flush=True)
        figure, axes = common.new_figure(7, 4)
        draw_bars(axes[0, 0], PANELS[part], bars, title)
        common.save(figure, given.out / f"figure6{part}.png")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    main()
