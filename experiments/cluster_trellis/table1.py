"""Table 1 and figure 5: the likeliest histories of 5,000 jets, exact and by search, and what they are of the evidence.

    python experiments/cluster_trellis/table1.py [--jets 5000] [--out DIR]

Jets of 5 to 10 leaves from the QCD preset. The likelihood is "ordered", and beside it "literal", the formula as it is
printed. README.md beside this file has the numbers. Needs pyarrow and matplotlib.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

import common
import numpy as np
from common import INK, Floats, frame

import palmette as pal

PRINTED = {("MAP", "beam"): (0.4, 0.5), ("MAP", "greedy"): (1.5, 1.1), ("beam", "greedy"): (1.1, 1.1)}


def infer(count: int, seed: int, likelihood: str) -> tuple[Any, float]:
    """The table of all jets, and the seconds it took after everything was compiled."""
    jets = pal.simulate.ginkgo(count, min_leaves=5, max_leaves=10, rng=seed)
    law = {**jets.law, "likelihood": likelihood, "searches": ["greedy", "beam"]}
    pal.jets.infer(jets[:10], **law)
    started = time.perf_counter()
    table = pal.jets.infer(pal.jets.Jets(jets.momenta, jets.offsets), **law)
    return table, time.perf_counter() - started


def log_potentials(table: Any) -> dict[str, Floats]:
    """By the names of the paper's table; (jets,) each."""
    columns = {"MAP": "map", "beam": "beam", "greedy": "greedy"}
    return {name: table[f"{column}_log_potential"].to_numpy() for name, column in columns.items()}


def report(values: dict[str, Floats], printed: Mapping[tuple[str, str], tuple[float, float] | None]) -> str:
    """Mean and spread of each difference over the jets that have one, beside what the paper prints."""
    rows = [["difference of log likelihoods", "mean", "spread", "paper", "spread", "error of the mean"]]
    for (one, two), theirs in printed.items():
        gap = values[one] - values[two]
        gap = gap[np.isfinite(gap)]
        numbers = [f"{gap.mean():.3f}", f"{gap.std():.3f}", *(f"{value:.1f}" for value in theirs or ())]
        numbers += [""] * (4 - len(numbers))
        rows.append([f"{one} - {two}", *numbers, f"{gap.std() / np.sqrt(len(gap)):.3f}"])
    return common.columns(rows)


def draw_evidence(best: Floats, log_z: Floats, leaves: Any) -> Any:
    """Figure 5: log Z against the log likelihood of the MAP, coloured by the number of leaves."""
    figure, (ax,) = common.new_figure(6.4, 4.8)
    marks = ax.scatter(best, log_z, c=leaves, s=5, cmap="viridis", vmin=4.5, vmax=10.5, linewidths=0)
    ends = np.array([best.min(), best.max()])
    ax.plot(ends, ends, color=INK, linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
    words = {"ha": "left", "va": "top", "fontsize": 8.5, "color": INK, "textcoords": "offset points"}
    ax.annotate("log Z = log likelihood of the MAP", (ends.mean(), ends.mean()), (8, -4), **words)
    ax.set_xlabel("log likelihood of the most probable history")
    ax.set_ylabel("log Z")
    frame(ax)
    bar = figure.colorbar(marks, ax=ax, ticks=range(5, 11), label="leaves")
    bar.outline.set_linewidth(0.6)
    return figure


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, run, print."""
    command = common.parser("The likeliest histories of many jets (table 1 and figure 5).")
    command.add_argument("--jets", type=int, default=5000, help="number of jets (default: 5000)")
    command.add_argument("--seed", type=int, default=0, help="of the jets (default: 0)")
    given = command.parse_args(arguments)
    if given.jets < 2:
        command.error("--jets must be at least 2")
    table, seconds = infer(given.jets, given.seed, "ordered")
    values = log_potentials(table)
    gap = table["log_partition"].to_numpy() - values["MAP"]
    correlation = np.corrcoef(table["log_partition"].to_numpy(), values["MAP"])[0, 1]
    shown = (table[name].to_numpy() for name in ("map_log_potential", "log_partition", "n_leaves"))
    common.save(draw_evidence(*shown), given.out / "figure5.png")
    parts = [
        f"{given.jets} jets of 5 to 10 leaves, seed {given.seed}",
        report(values, PRINTED),
        f"  log Z - log likelihood of the MAP: {gap.mean():.2f} ± {gap.std():.2f}; correlation {correlation:.3f}",
    ]
    literal = log_potentials(infer(given.jets, given.seed, "literal")[0])
    parts += ['the same with "literal", the formula as it is printed', report(literal, PRINTED)]
    common.tell("\n".join(parts), given.out / "table1.txt")
    print(f"  log Z, MAP, greedy and beam search of all jets took {seconds:.1f} s with the first")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    main()
