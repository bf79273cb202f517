"""Support where the model is wrong: what is found of groups that are known, and what is certain that is not there.

    python benchmarks/misspecified.py               # some minutes
    python benchmarks/misspecified.py --write       # also put the table into docs/replication.md
    python benchmarks/misspecified.py --promised    # lines, triangles and noise before the default, a minute or two

Tables of twelve points of each kind (`_known_truth.py`), twenty of each. A cell has three numbers: the share of the
groups with support of at least 0.8; how many clusters per table with such support cut through a group; and how many are
a part of a group that has none, or any cluster where there are no groups. Clusters made of whole groups are neither,
but the outer two of three groups on a line, which count as cutting.

With `--promised` it is the default alone, on sixty tables of each kind: in how many of them are all three groups found,
on a line with at least .6 each, in a triangle with .8, and what is the most that the outer two of a line get together;
and in how many tables of noise has any cluster more than one half.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import _tables
import numpy as np
from _known_truth import TABLES, Findings, Known, findings, in_a_plane, noise, on_a_line
from _linkages import Support, average_of_correlations, bootstrap_proportions, ward
from _posterior_rivals import contrasts, cost, default
from _rivals import Rival

PAGE = Path(__file__).parent.parent / "docs" / "replication.md"
LEVEL = 0.8
ASKED: dict[str, Rival] = {
    "default": default,
    "`Contrasts`": contrasts,
    "`Contrasts`, effective": partial(contrasts, dimension="effective"),
    "BP, Ward": partial(bootstrap_proportions, method=ward),
    "BP, average of correlations": partial(bootstrap_proportions, method=average_of_correlations),
    "sums of squares, perplexity 100": partial(cost, name="squares", perplexity=100.0),
}

LINES, TRIANGLES = ((7, 3), (2, 5), (5, 4)), ((5, 8), (5, 10), (20, 8), (2, 10), (2, 14))  # columns, and how far apart
NOISES = (1, 2, 5, 10, 20, 40)


def cell(found: Sequence[Findings]) -> str:
    """The three numbers, or the last alone where there are no groups."""
    share = np.mean([each.found for each in found])
    within = f"{np.mean([each.within for each in found]):.1f}"
    if np.isnan(share):
        return within
    return f"{share:.2f}, {np.mean([each.cutting for each in found]):.1f}, {within}"


def promised(sets: int, seed: int) -> list[list[str]]:
    """Rows of what is promised of lines, triangles and noise."""
    made: dict[str, tuple[Callable[[np.random.Generator], Known], float]] = {
        **{f"a line, {d} columns, {s}σ": (partial(on_a_line, columns=d, apart=s), 0.6) for d, s in LINES},
        **{f"a triangle, {d} columns, {s}σ": (partial(in_a_plane, columns=d, apart=s), 0.8) for d, s in TRIANGLES},
        **{f"noise, {d} {'column' if d == 1 else 'columns'}": (partial(noise, columns=d), 0.5) for d in NOISES},
    }
    rows = []
    for number, (name, (make, level)) in enumerate(made.items()):
        rng = np.random.default_rng([seed, number])
        tables = [make(rng) for _ in range(sets)]
        supports = [default(table.x, rng) for table in tables]
        rows.append([name, *kept(supports, tables, level)])
        print(" | ".join(rows[-1]), flush=True)
    return rows


def kept(supports: Sequence[Support], tables: Sequence[Known], level: float) -> list[str]:
    """How often all groups have so much support, the most of what is wrong, and how often anything in noise has it."""
    pairs = list(zip(supports, tables, strict=True))
    wrong = [support.get(cluster, 0.0) for support, table in pairs for cluster in table.wrong]
    if not tables[0].groups:
        return ["", "", f"{np.mean([max(support.values(), default=0.0) > level for support in supports]):.3f}"]
    least = [min(support.get(group, 0.0) for group in table.groups) for support, table in pairs]
    return [f"{np.mean(np.array(least) >= level):.2f}", f"{max(wrong):.3f}" if wrong else "", ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, help="tables of each kind, instead of 20; of what is promised, of 60")
    parser.add_argument("--promised", action="store_true", help="lines, triangles and noise, the default alone")
    parser.add_argument("--seed", type=int, default=0)
    _tables.add_option(parser, PAGE)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.promised:
        columns = ["twelve points", "all groups found", "the outer two, at most", "any cluster above ½"]
        lines = _tables.lines_of(columns, promised(options.sets or 60, options.seed))
        print("\n" + "\n".join(lines))
        _tables.write(options.write, "promised", lines)
        return
    rows = []
    for name, make in TABLES.items():
        rng = np.random.default_rng(options.seed)
        tables = [make(rng) for _ in range(options.sets or 20)]
        row = [name]
        for rival in ASKED.values():
            supports = [rival(table.x, np.random.default_rng(i)) for i, table in enumerate(tables)]
            row.append(cell([findings(s, t, LEVEL) for s, t in zip(supports, tables, strict=True)]))
        print(" | ".join(row), flush=True)
        rows.append(row)
    lines = _tables.lines_of(["groups of twelve points", *ASKED], rows)
    print("\n" + "\n".join(lines))
    _tables.write(options.write, "misspecified", lines)


if __name__ == "__main__":
    main()
