"""How far local search gets below every linkage: Dasgupta's cost on three data sets.

    python benchmarks/refine.py                     # 60 s each for iris and wine, 600 s for digits
    python benchmarks/refine.py --seconds 5         # at most so long for each
    python benchmarks/refine.py --data iris wine
    python benchmarks/refine.py --write             # and puts the table into docs/performance.md

The data are scikit-learn's (``pip install palmette[sklearn]``). Columns are standardised, constant ones dropped; the
similarity of two rows is the cosine of the angle between them. Costs are Σ w_ij · |lca(i, j)|, lower is better; since
cosines have both signs, so have costs. Linkages are SciPy's seven methods on Euclidean distances between the same
rows, and `search.greedy` merges by average similarity. Refining starts from the best linkage. PASS means that what it
found costs strictly less than every linkage.
"""

from __future__ import annotations

import argparse
import time

import _tables
import numpy as np
from scipy.cluster.hierarchy import linkage

import palmette as pal
from palmette import Hierarchy
from palmette.evaluate import dasgupta_cost

METHODS = ("single", "complete", "average", "weighted", "centroid", "median", "ward")
SECONDS = {"iris": 60.0, "wine": 60.0, "digits": 600.0}
MOST_GREEDY = 3000  # leaves


def rows_of(name: str) -> np.ndarray:
    from sklearn import datasets

    x = getattr(datasets, f"load_{name}")().data
    x = x[:, x.std(axis=0) > 0]
    return (x - x.mean(axis=0)) / x.std(axis=0)


def cosines(x: np.ndarray) -> np.ndarray:
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    w = unit @ unit.T
    return (w + w.T) / 2


def measure(name: str, seconds: float, seed: int) -> dict:
    x = rows_of(name)
    w = cosines(x)
    model = pal.models.Dasgupta(w)
    hierarchies = {method: Hierarchy.from_linkage(linkage(x, method)) for method in METHODS}
    costs = {method: dasgupta_cost(h, w) for method, h in hierarchies.items()}
    best = min(costs, key=costs.__getitem__)
    greedy = dasgupta_cost(pal.search.greedy(model).hierarchy, w) if len(x) <= MOST_GREEDY else None
    pal.search.refine(model, hierarchies[best], seconds=0)  # compiles
    begin = time.perf_counter()
    found = pal.search.refine(model, hierarchies[best], seconds=seconds, rng=seed)
    took = time.perf_counter() - begin
    cost = dasgupta_cost(found.hierarchy, w)  # counted anew, by code that refine does not use
    assert np.isclose(cost, -found.log_potential, rtol=1e-9), (cost, found.log_potential)
    return {"n": len(x), "costs": costs, "best": best, "greedy": greedy, "refined": cost, "seconds": took}


def table(found: dict[str, dict]) -> str:
    names = list(found)
    lines: list[str] = []
    row = lambda title, cells: lines.append(f"| {title} | {' | '.join(cells)} |")  # noqa: E731
    row("Dasgupta's cost", [f"{name}, n = {found[name]['n']:,}" for name in names])
    row("---", ["---:"] * len(names))
    for method in METHODS:
        row(method, [f"{found[name]['costs'][method]:,.0f}" for name in names])
    row("`greedy`", ["–" if (cost := found[name]["greedy"]) is None else f"{cost:,.0f}" for name in names])
    row("`refine` of the best linkage", [f"**{found[name]['refined']:,.0f}**" for name in names])
    row("seconds that it had", [f"{found[name]['seconds']:.0f}" for name in names])
    return "\n".join(lines)


def verdict(name: str, row: dict) -> str:
    lowest = row["costs"][row["best"]]
    is_lower = all(row["refined"] < cost for cost in row["costs"].values())
    difference = f"{lowest - row['refined']:,.1f} ({100 * (lowest - row['refined']) / abs(lowest):.2f} %)"
    return f"{'PASS' if is_lower else 'FAIL'} {name}: {difference} below the best linkage, {row['best']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=SECONDS, default=list(SECONDS))
    parser.add_argument("--seconds", type=float, help="at most so long for each data set")
    parser.add_argument("--seed", type=int, default=0)
    _tables.add_option(parser)
    arguments = parser.parse_args()
    longest = float("inf") if arguments.seconds is None else arguments.seconds
    found = {name: measure(name, min(SECONDS[name], longest), arguments.seed) for name in arguments.data}
    print(table(found) + "\n")
    _tables.write(arguments.write, "refine", [table(found)])
    for name, row in found.items():
        print(verdict(name, row))


if __name__ == "__main__":
    main()
