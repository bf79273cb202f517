"""Which support predicts what replicates? Some columns of real tables give support, all others judge.

    python benchmarks/replication.py --data FOLDER                      # 11 leaves, 200 columns: some minutes
    python benchmarks/replication.py --data FOLDER --columns 50 half    # other numbers of columns
    python benchmarks/replication.py --data FOLDER --leaves 20 40 73    # few rivals, few draws
    python benchmarks/replication.py --write                            # tables of all that was raced, into the page
    python benchmarks/replication.py --write --tables errors shares     # some of them

Of a table, n rows and d columns are drawn. The judge is the tree of the same rows by all *other* columns, standardised
on their own: Ward's linkage, average linkage of 1 − correlation (these two make the means), average linkage, complete
linkage. A rival sees the d columns and gives clusters a support. It costs

    Σ (support − is it in the judge's tree)²

over all clusters but single leaves and the root: n − 2 for naming none, 0 for knowing the tree. The log score is
−Σ log of what was given to what is the case, with supports of at least 0.001 and at most 0.999, over the clusters that
the judge has or any rival gives more than 0.01. And of the clusters with support of at least .5, .8, .9, .95, the share
that the judge has. Errors are standard errors over draws.

A folder's files are tables: a header, then the name of a row, its class, and numbers; columns with gaps are left out.
Outcomes go to a file (`--out`), which is added to: draws that it holds are not made again. The same seed gives the same
draws, and each rival has a generator of its own, so it does not matter who else is in the race, but for the log score.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

import _outcomes
import _race_tables
import _tables
import numpy as np
from _halves import Expression, Halves, draw, n_columns, read_all
from _linkages import JUDGES, clusters_of
from _outcomes import Outcome
from _rivals import LARGE, RIVALS
from _scores import asked_about, counts_above, log_score, squared_error

PAGE = Path(__file__).parent.parent / "docs" / "replication.md"
OUT = Path(__file__).parent / "out" / "replication.csv"
DRAWS = {20: 10, 40: 5, 73: 3}  # by leaves; 30 otherwise
FEW = 16  # leaves that all rivals are asked about
TABLES = {
    "errors": _race_tables.errors,
    "shares": _race_tables.shares,
    "columns": _race_tables.by_columns,
    "leaves": _race_tables.by_leaves,
    "duels": _race_tables.head_to_head,
}


def judged(halves: Halves, names: Iterable[str], seed: Sequence[int]) -> list[tuple[object, ...]]:
    """Judge, rival and scores, of every rival before every judge."""
    supports = {name: RIVALS[name](halves.seen, np.random.default_rng(seed)) for name in names}
    found: list[tuple[object, ...]] = []
    for judge, method in JUDGES.items():
        truth = clusters_of(method(halves.judging))
        clusters = asked_about(supports.values(), truth)
        for rival, support in supports.items():
            named, right = zip(*counts_above(support, truth), strict=True)
            scores = squared_error(support, truth), log_score(support, truth, clusters)
            found.append((judge, rival, *scores, named, right))
    return found


def race(table: Expression, leaves: int, columns: str, number: int, seed: int) -> list[Outcome]:
    """The outcomes of one draw; none if there are too few rows or columns for it."""
    d = n_columns(table, columns)
    if d is None or leaves > len(table.x):
        return []
    rng = np.random.default_rng([seed, number])
    halves = draw(table, leaves, d, rng)
    names = RIVALS if leaves <= FEW else LARGE
    scores = judged(halves, names, [seed, number, 1])
    return [Outcome(table.name, leaves, columns, number, *score) for score in scores]  # type: ignore[arg-type]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="+", default=[], help="files, or folders of files")
    parser.add_argument("--leaves", type=int, nargs="+", default=[11])
    parser.add_argument("--columns", nargs="+", default=["200"], help='numbers, or "half"')
    parser.add_argument("--draws", type=int, help="of each table, instead of 30, and fewer of more leaves")
    parser.add_argument("--out", type=Path, default=OUT, help="the file of outcomes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES), help="to print and to write")
    _tables.add_option(parser, PAGE)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of chains that ran too short: the race says what comes of it
    done = {_outcomes.key_of(outcome) for outcome in _outcomes.read(options.out)}
    for table in read_all(options.data):
        for leaves in options.leaves:
            for columns in options.columns:
                for number in range(options.draws or DRAWS.get(leaves, 30)):
                    if (table.name, leaves, columns, number) not in done:
                        _outcomes.append(options.out, race(table, leaves, columns, number, options.seed))
                print(f"{table.name}, {leaves} leaves, {columns} columns: done", flush=True)
    outcomes = _outcomes.read(options.out)
    report(outcomes, options.tables, options.write)


def report(outcomes: list[Outcome], kinds: Iterable[str], page: Path | None) -> None:
    """Print tables, and write them into the page."""
    for kind in kinds:
        lines = TABLES[kind](outcomes)
        print("\n" + "\n".join(lines), flush=True)
        _tables.write(page, f"replication {kind}", lines)


if __name__ == "__main__":
    main()
