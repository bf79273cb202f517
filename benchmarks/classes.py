"""Do posteriors find the classes of labelled data? The mean probability that a class is a cluster.

    python benchmarks/classes.py                # some minutes
    python benchmarks/classes.py --write        # also put the table into docs/replication.md

Of iris, wine, breast cancer and digits (three of the ten, another three each time), as scikit-learn has them, twelve
rows are drawn, as many of each class, and the columns standardised. Support of the clusters that are classes, in the
mean over classes and draws, with its standard error over draws; and how many clusters per draw with support of at least
0.8 cut through a class.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import _tables
import numpy as np
from _known_truth import Known, findings
from _scores import mean_and_error
from misspecified import ASKED, LEVEL
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

import palmette as pal

PAGE = Path(__file__).parent.parent / "docs" / "replication.md"
ROWS, CLASSES = 12, 3
SETS = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}


def draws(name: str, times: int, rng: np.random.Generator) -> Iterator[Known]:
    """Twelve rows, as many of each class, of three classes at most."""
    x, y = SETS[name](return_X_y=True)
    for _ in range(times):
        chosen = rng.permutation(np.unique(y))[:CLASSES]
        size = ROWS // len(chosen)
        rows = np.concatenate([rng.choice(np.flatnonzero(y == label), size, replace=False) for label in chosen])
        groups = frozenset(frozenset(range(k * size, (k + 1) * size)) for k in range(len(chosen)))
        part = x[rows]
        yield Known(pal.similarity.standardised(part[:, np.ptp(part, axis=0) > 0.0]), groups)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=120)
    parser.add_argument("--seed", type=int, default=0)
    _tables.add_option(parser, PAGE)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name in SETS:
        tables = list(draws(name, options.draws, np.random.default_rng(options.seed)))
        row = [name]
        for rival in ASKED.values():
            supports = [rival(table.x, np.random.default_rng(i)) for i, table in enumerate(tables)]
            pairs = list(zip(supports, tables, strict=True))
            mean, error = mean_and_error(np.mean([s.get(g, 0.0) for g in sorted(t.groups, key=min)]) for s, t in pairs)
            cutting = np.mean([findings(support, table, LEVEL).cutting for support, table in pairs])
            row.append(f"{mean:.2f} ± {error:.2f}, {cutting:.1f}")
        rows.append(row)
        print(" | ".join(row), flush=True)
    lines = _tables.lines_of(["classes of", *ASKED], rows)
    print("\n" + "\n".join(lines))
    _tables.write(options.write, "classes", lines)


if __name__ == "__main__":
    main()
