"""Exact passes at the temperatures people use, against β = 1 in the same run.

    python benchmarks/temperatures.py [--n 20] [--repeat 5] [--write]
    python benchmarks/temperatures.py --large 24 25 26

Four groups of points, and what each model makes of them. Nanoseconds per split of log Z, the MAP and all probabilities
at β = 1 and at the β of three perplexities; then what it takes to find a temperature, and an entropy. With --large: log
Z of so many leaves, once.
"""

from __future__ import annotations

import argparse
import resource
import time

import _tables
import numpy as np
from _measuring import seconds

import palmette as pal
from palmette.passes.hierarchies.full import FullHierarchyPasses
from palmette.passes.hierarchies.separable import SeparablePasses
from palmette.passes.resources import Resources
from palmette.temperature.scan import Scan
from palmette.threads import default_threads
from palmette.trellis.counting import n_splits

PERPLEXITIES = (10_000, 100, 10)
HEADER = (
    "model",
    "at",
    "β",
    "log Z",
    "MAP",
    "all μ",
    "log Z / β = 1",
    "all μ / β = 1",
    "in logarithms",
    "entropy, then",
)
SEARCH = ("perplexity 100", "posteriors", "in passes of log Z at β = 1", "off by")


def points(n: int, columns: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = 2.0 * rng.normal(size=(4, columns))
    return centres[rng.integers(4, size=n)] + rng.normal(size=(n, columns))


def models(n: int) -> dict[str, pal.models.SplitModel]:
    correlation = np.corrcoef(points(n, 40))
    return {
        "Dasgupta": pal.models.Dasgupta((1 + correlation) / 2),
        "SumOfSquares": pal.models.SumOfSquares(points(n, 5)),
        # Positive affinities never matter to this one, and ties are common; these have none.
        "Correlation": pal.models.Correlation(correlation - 1.0),
    }


def times_of(model: pal.models.SplitModel, repeat: int) -> tuple[float, float, float, float, float]:
    """Seconds of log Z, the MAP, all probabilities and then the entropy; the share of sums done in logarithms."""
    passes = FullHierarchyPasses(model, resources=Resources(progress=False))
    Z = passes.inside()
    mu, entropy = passes.outside(Z)
    walk = 0.0 if entropy is not None else seconds(lambda: passes.entropy(Z, mu), repeat)
    found = [seconds(call, repeat) for call in (passes.inside, passes.maximum, lambda: passes.outside(Z))]
    return *found, walk, SeparablePasses(passes.tables).sums()[1] / 2**passes.n  # type: ignore[return-value]


def row(name: str, at: str, model: pal.models.SplitModel, cold: tuple[float, ...] | None, repeat: int):
    found = times_of(model, repeat)
    log_z, best, mu, walk, sought = found
    unit = 1e9 / n_splits(model.n_leaves)
    base = cold or found
    cells = [name, at, f"{model.beta:.4g}", *(f"{x * unit:.2f}" for x in (log_z, best, mu))]
    cells += [
        f"{log_z / base[0]:.2f} ×",
        f"{mu / base[2]:.2f} ×",
        f"{100 * sought:.0f} %",
        f"{100 * walk / log_z:.2f} %",
    ]
    return cells, found


def search(name: str, model: pal.models.SplitModel, cold: float) -> list[str]:
    scan = Scan(model, None, False)
    begin = time.perf_counter()
    beta = scan.beta_at(scan.check(100.0))
    seconds = time.perf_counter() - begin
    perplexity = np.exp(pal.HierarchyPosterior(model.with_beta(beta), progress=False).entropy)
    return [name, f"{scan.n_posteriors} + 1", f"{seconds / cold:.1f}", f"{abs(perplexity / 100 - 1):.0e}"]


def large(n: int) -> None:
    weights = np.triu(np.random.default_rng(0).random((n, n)), 1)
    passes = FullHierarchyPasses(pal.models.Dasgupta(weights + weights.T))
    passes.tables  # noqa: B018
    begin = time.perf_counter(), time.process_time()
    passes.inside()
    seconds, used = time.perf_counter() - begin[0], time.process_time() - begin[1]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"n = {n}: {seconds:.0f} s, {used:.0f} s of processors, peak {peak:.1f} GB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--large", type=int, nargs="+", default=())
    _tables.add_option(parser)
    arguments = parser.parse_args()
    if arguments.large:
        for n in (13, *arguments.large):  # the first compiles
            large(n)
        return
    for model in models(13).values():  # compiles
        for beta in (1.0, 300.0):
            times_of(model.with_beta(beta), 1)
        Scan(model, None, False).beta_at(np.log(100))
    rows, searches = [], []
    for name, model in models(arguments.n).items():
        cells, cold = row(name, "β = 1", model.with_beta(1.0), None, arguments.repeat)
        rows.append(cells)
        for perplexity in PERPLEXITIES:
            found = pal.temperature.at_perplexity(model, perplexity, progress=False)
            rows.append(row(name, f"perplexity {perplexity:,}", found, cold, arguments.repeat)[0])
        searches.append(search(name, model, cold[0]))
    tables = [_tables.lines_of(HEADER, rows), _tables.lines_of(SEARCH, searches)]
    print(f"n = {arguments.n}, {default_threads()} threads, best of {arguments.repeat}; ns per split\n")
    print("\n\n".join("\n".join(table) for table in tables))
    _tables.write(arguments.write, "temperatures", tables[0])
    _tables.write(arguments.write, "finding temperatures", tables[1])


if __name__ == "__main__":
    main()
