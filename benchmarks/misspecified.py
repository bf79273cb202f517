"""Support where the model is wrong: what is found of groups that are known, and what is certain that is not there.

    python benchmarks/misspecified.py               # some minutes
    python benchmarks/misspecified.py --write       # also put the table into docs/replication.md

Tables of twelve points of each kind (`_known_truth.py`), twenty of each. A cell has three numbers: the share of the
groups with support of at least 0.8; how many clusters per table with such support cut through a group; and how many are
a part of a group that has none, or any cluster where there are no groups. Clusters made of whole groups are neither,
but the outer two of three groups on a line, which count as cutting.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import _tables
import numpy as np
from _known_truth import TABLES, Findings, findings
from _linkages import average_of_correlations, bootstrap_proportions, ward
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


def cell(found: Sequence[Findings]) -> str:
    """The three numbers, or the last alone where there are no groups."""
    share = np.mean([each.found for each in found])
    within = f"{np.mean([each.within for each in found]):.1f}"
    if np.isnan(share):
        return within
    return f"{share:.2f}, {np.mean([each.cutting for each in found]):.1f}, {within}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=20, help="tables of each kind")
    parser.add_argument("--seed", type=int, default=0)
    _tables.add_option(parser, PAGE)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name, make in TABLES.items():
        rng = np.random.default_rng(options.seed)
        tables = [make(rng) for _ in range(options.sets)]
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
