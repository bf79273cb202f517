"""Figure 2: how well one hidden entry is predicted by sequential Monte Carlo and by a greedy history.

    python experiments/coalescent/figure2.py [--out DIR]

No data: rows are drawn from the model, with rate 1. Panels vary the number of dimensions, of rows, the rate that the
model is given, and the number of particles. All choices are in settings.toml. README.md has the numbers.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from typing import Any

import common
import numpy as np
from common import Floats

import palmette as pal
from palmette.coalescent import Brownian, greedy, log_predictive_entry, smc

PANELS = ("dimensions", "observations", "rates", "particles")
KEY = {"rates": "rate"}  # a panel's name in the middle values
TITLES = {"dimensions": "D", "observations": "n", "rates": "rate of the model", "particles": "particles S"}
STYLE = {"greedy rate1": "s", "prior-prior": "v", "prior-post": "^", "post-post": "o", "race": "D", "true history": ""}


def one_run(point: dict[str, Any], proposals: Sequence[str], seed: Sequence[int]) -> Floats:
    """log p(hidden entry) by each method: greedy, each proposal, and the true history as a mark to compare with."""
    rng = np.random.default_rng(seed)
    drawn = pal.simulate.coalescent(point["observations"], Brownian(), rng, n_columns=point["dimensions"])
    x = np.array(drawn.x)
    hidden = rng.integers(len(x)), rng.integers(x.shape[1])
    seen = x.copy()
    seen[hidden] = np.nan
    process = Brownian(point["rate"])
    histories = [greedy(seen, process).hierarchy]
    options = {"rng": int(rng.integers(2**31)), "threads": 1, "n_runs": 1}
    histories += [smc(seen, process, point["particles"], proposal=each, **options) for each in proposals]
    logs = [log_predictive_entry(seen, history, process, x)[0] for history in histories]
    return np.array([*logs, log_predictive_entry(seen, drawn.hierarchy, Brownian(), x)[0]])


def panel(name: str, chosen: dict[str, Any]) -> Floats:
    """(values, runs, methods). The same rows for every rate and for every number of particles."""
    found = []
    for value in chosen[name]:
        point = chosen["middle"] | {KEY.get(name, name): value}
        seeds = [(chosen["seed"], PANELS.index(name), run) for run in range(chosen["runs"])]
        found.append([one_run(point, chosen["proposals"], seed) for seed in seeds])
    return np.array(found)


def methods(chosen: dict[str, Any]) -> list[str]:
    """Names of the columns."""
    return ["greedy rate1", *chosen["proposals"], "true history"]


def draw(ax: Any, values: Sequence[float], found: Floats, names: Sequence[str]) -> None:
    """Means over runs."""
    for k, name in enumerate(names):
        is_truth = name == "true history"
        pen = (
            {"color": "#888888", "linestyle": ":"} if is_truth else {"color": common.COLOURS[k], "marker": STYLE[name]}
        )
        ax.plot(values, found[:, :, k].mean(axis=1), label=name, linewidth=1.2, markersize=4, **pen)
    ax.set_xticks(values)


def report(name: str, chosen: dict[str, Any], found: Floats) -> str:
    """Means, and the difference of each method to post-post, with its error over runs."""
    names = methods(chosen)
    base = names.index("post-post") if "post-post" in names else 1
    rows = [[TITLES[name], *names]]
    for value, runs in zip(chosen[name], found, strict=True):
        gap = runs - runs[:, [base]]
        error = gap.std(axis=0, ddof=1) / np.sqrt(len(gap))
        differences = [f"({m:+.3f}±{e:.3f})" for m, e in zip(gap.mean(axis=0), error, strict=True)]
        rows.append([f"{value:g}", *(f"{mean:.3f}" for mean in runs.mean(axis=0))])
        rows.append([f"  minus {names[base]}", *differences])
    return common.columns(rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, run, draw, print."""
    given = common.parser("Figure 2: prediction of a hidden entry.").parse_args(arguments)
    chosen, started = common.settings("figure2", given.settings), time.perf_counter()
    warnings.filterwarnings("ignore", message="of .* particles")  # that so few collapse is what the figure is about
    figure, axes = common.new_figure(9.0, 6.4, columns=2, rows=2)
    parts = []
    for ax, name in zip(axes, PANELS, strict=True):
        found = panel(name, chosen)
        draw(ax, chosen[name], found, methods(chosen))
        ax.set_xlabel(TITLES[name])
        ax.set_ylabel("mean log predictive density")
        common.frame(ax)
        parts.append(report(name, chosen, found))
    axes[0].legend(frameon=False, fontsize=8)
    common.save(figure, given.out / "figure2.png")
    common.tell(f"{chosen['runs']} runs\n" + "\n".join(parts), given.out / "figure2.txt")
    print(f"  {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    main()
