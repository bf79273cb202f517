"""How long the full trellis takes, per split, against a naive compiled walk in the same run.

    python benchmarks/full_trellis.py                 # the table, and a plot beside this file
    python benchmarks/full_trellis.py --sizes 10 14   # quicker
    python benchmarks/full_trellis.py --write         # and puts the table into docs/performance.md
    python benchmarks/full_trellis.py --limits        # seconds of a default call, for palmette/defaults.py

Every row is a process of its own, so that its peak memory is its own. Times are the best of `--repeat` runs after a
warm-up, divided by the (3^n − 2^(n+1) + 1)/2 splits. The naive walk is what one would write first: for every cluster
`sub = (sub − 1) & mask` over its splits with a streaming log-sum-exp (or a maximum), compiled, on as many threads.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from pathlib import Path

import _tables
import numpy as np
from _measuring import best_time
from numba import njit

import palmette as pal
from palmette._addresses import pointer
from palmette.models import SplitModel
from palmette.models.full_tables import Potentials
from palmette.passes.hierarchies.full import SERIAL, FullHierarchyPasses
from palmette.passes.hierarchies.separable import SeparablePasses
from palmette.threads import default_threads
from palmette.trellis.counting import double_factorial, n_splits

PAPER_SECONDS = {5: 0.05, 9: 1.6, 10: 6.1}  # Z and MAP of one jet, as the AISTATS paper reports them


class UserScore(SplitModel):
    """A user's own model, in plain functions: log ψ = −θ (spread of L + spread of R) / (1 + spread of P)."""

    n_features = 1

    @staticmethod
    def features(theta, n, size, sums, pairs, out):
        out[0] = sums[1] - sums[0] * sums[0] / size

    @staticmethod
    def score(theta, parent, left, right):
        return -theta[0] * (left[0] + right[0]) / (1.0 + parent[0])


def make_model(name: str, n: int, beta: float):
    rng = np.random.default_rng(0)
    weights = np.triu(rng.random((n, n)), 1)
    weights += weights.T
    if name == "Uniform":
        return pal.models.Uniform(n)
    if name == "Dasgupta":
        return pal.models.Dasgupta(weights, beta)
    if name == "Correlation":
        return pal.models.Correlation(weights - 0.5, beta)
    if name == "SumOfSquares":
        return pal.models.SumOfSquares(rng.random((n, 3)), beta)
    if name == "CorrelationClusters":
        return pal.models.CorrelationClusters(weights - 0.5, beta)
    if name == "DirichletProcess":
        return pal.models.DirichletProcess(rng.random((n, 3)), 1.0, pal.likelihoods.NormalGamma())
    if name == "SplitFunction":
        return pal.models.SplitFunction(n, lambda left, right: -1.0 * np.bitwise_count(left) * np.bitwise_count(right))
    if name == "user's score":
        x = rng.random(n)
        return UserScore(n, theta=[beta], additive=np.column_stack([x, x * x]))
    jet = pal.simulate.ginkgo(1, preset="w", min_leaves=n, max_leaves=n, rng=0)[0]
    return pal.models.Ginkgo(jet.momenta, 1.5, 16.0, likelihood=name.split()[-1])


def naive_kernels(potentials: Potentials):
    """The textbook walk for one model, its log ψ put in: (log-sum-exp, maximum)."""
    score, load = potentials.score, potentials.load

    @njit(forceinline=True)
    def log_psi(data, P, L, R):
        table, stride = pointer(data.table, 0), data.table.shape[1]
        return score(data.theta, load(table, P, stride), load(table, L, stride), load(table, R, stride))

    @njit(nogil=True)
    def inside(data, masks, Z):
        for i in range(masks.size):
            mask = masks[i]
            lowest = mask & -mask
            rest = mask ^ lowest
            sub = (rest - 1) & rest
            top, total = -np.inf, 0.0
            while True:
                L = lowest | sub
                R = mask ^ L
                x = log_psi(data, np.uint64(mask), np.uint64(L), np.uint64(R)) + Z[L] + Z[R]
                if x > top:
                    total = total * math.exp(top - x) + 1.0
                    top = x
                elif x > -np.inf:
                    total += math.exp(x - top)
                if sub == 0:
                    break
                sub = (sub - 1) & rest
            Z[mask] = top + math.log(total) if total > 0.0 else -np.inf

    @njit(nogil=True)
    def maximum(data, masks, M):
        for i in range(masks.size):
            mask = masks[i]
            lowest = mask & -mask
            rest = mask ^ lowest
            sub = (rest - 1) & rest
            top = -np.inf
            while True:
                L = lowest | sub
                R = mask ^ L
                top = max(top, log_psi(data, np.uint64(mask), np.uint64(L), np.uint64(R)) + M[L] + M[R])
                if sub == 0:
                    break
                sub = (sub - 1) & rest
            M[mask] = top

    return inside, maximum


def naive_pass(passes: FullHierarchyPasses, kernel) -> np.ndarray:
    table = np.full(1 << passes.n, -np.inf)
    table[1 << np.arange(passes.n)] = 0.0
    with passes.clusters.workers("naive", n_splits(passes.n)) as workers:
        for k in range(2, passes.n + 1):
            masks = passes.clusters.of_size(k).astype(np.int64)

            def call(first, last, masks=masks):
                kernel(passes.tables.data, masks[first:last], table)

            workers.run(call, np.full(len(masks), 2.0 ** (k - 1)))
    return table


def measure(name: str, n: int, beta: float, repeat: int) -> dict:
    model = make_model(name, n, beta)
    small = FullHierarchyPasses(make_model(name, 13, beta))  # compiles every kernel that the large one will use
    small_Z = small.inside()
    small.maximum()
    small.outside(small_Z)
    naive = naive_kernels(small.tables.potentials)
    for kernel in naive:
        naive_pass(small, kernel)

    passes = FullHierarchyPasses(model)
    small.tables.solve(10)
    row = {"model": name, "beta": beta, "n": n, "threads": default_threads()}
    unit = 1e9 / n_splits(n)
    setup, _ = best_time(lambda: passes.tables, 1)
    row["tabulate"] = setup * unit
    if n <= SERIAL:  # one call gives both
        row["seconds"], (Z, M) = best_time(lambda: passes.tables.solve(n), repeat)
        row["log_z"], row["map"], row["in_logs"] = row["seconds"] * unit, None, None
    else:
        seconds, Z = best_time(passes.inside, repeat)
        row["log_z"] = seconds * unit
        separable = SeparablePasses(passes.tables) if passes.tables.potentials.separable else None
        row["in_logs"] = None if separable is None else separable.sums()[1] / 2**n
        row["seconds"], M = best_time(passes.maximum, repeat)
        row["map"] = row["seconds"] * unit
        row["seconds"] += seconds
    seconds, _ = best_time(lambda: passes.outside(Z), max(1, repeat - 1))
    row["probabilities"] = seconds * unit
    row["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds, naive_Z = best_time(lambda: naive_pass(passes, naive[0]), 1)
    row["naive_log_z"] = seconds * unit
    seconds, naive_M = best_time(lambda: naive_pass(passes, naive[1]), 1)
    row["naive_map"] = seconds * unit
    assert np.isclose(Z[-1], naive_Z[-1], rtol=1e-12), (Z[-1], naive_Z[-1])
    assert np.isclose(M[-1], naive_M[-1], rtol=1e-12), (M[-1], naive_M[-1])
    return row


LIMITS = {  # leaves at which a default call is timed, by what kind of model it is
    "Dasgupta": range(18, 23),
    "SumOfSquares": range(18, 23),
    "CorrelationClusters": range(18, 23),
    "DirichletProcess": range(18, 23),
    "user's score": range(18, 22),
    "Ginkgo ordered": range(18, 22),
    "SplitFunction": range(14, 19),
}


def seconds_of_a_call(name: str, n: int) -> float:
    """log Z, the MAP and all probabilities of one problem, as `search.posterior` computes them."""
    pal.search.posterior(make_model(name, 13, 1.0), progress=False)  # compiles
    begin = time.perf_counter()
    pal.search.posterior(make_model(name, n, 1.0), exact_leaves=n, progress=False)
    return time.perf_counter() - begin


def limits() -> None:
    print(f"seconds of log Z, MAP and probabilities by number of leaves; {default_threads()} threads", flush=True)
    for name, sizes in LIMITS.items():
        times = (f"{n}: {seconds_of_a_call(name, n):.2f}" for n in sizes)
        print(f"{name:20} {'   '.join(times)}", flush=True)


def rows(sizes: list[int]):
    for n in sizes:
        yield from (("Uniform", n, 1.0), ("Dasgupta", n, 0.05), ("Dasgupta", n, 1.0), ("Dasgupta", n, 10.0))
        yield from (("Correlation", n, 1.0), ("SumOfSquares", n, 1.0), ("user's score", n, 1.0))
        yield from (("Ginkgo literal", n, 1.0), ("Ginkgo ordered", n, 1.0))


HEADER = (
    "| model | β | n | log Z | MAP | all μ | μ / log Z | naive log Z | naive MAP | speed-up log Z | speed-up MAP "
    "| in logs | peak MB |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|"
)


def line(r: dict) -> str:
    share = "–" if r["in_logs"] is None else f"{100 * r['in_logs']:.2g} %"
    beta = "–" if r["model"] in ("Uniform", "Ginkgo literal", "Ginkgo ordered") else f"{r['beta']:g}"
    if r["map"] is None:
        best, gain = "with log Z", f"{(r['naive_log_z'] + r['naive_map']) / r['log_z']:.1f} × | both"
    else:
        best = f"{r['map']:.2f}"
        gain = f"{r['naive_log_z'] / r['log_z']:.1f} × | {r['naive_map'] / r['map']:.1f} ×"
    return (
        f"| {r['model']} | {beta} | {r['n']} | {r['log_z']:.2f} | {best} | {r['probabilities']:.2f} "
        f"| {r['probabilities'] / r['log_z']:.1f} | {r['naive_log_z']:.1f} | {r['naive_map']:.1f} "
        f"| {gain} | {share} | {r['peak_mb']:.0f} |"
    )


def plot(found: list[dict], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    n = np.arange(3, 26)
    left.semilogy(n, [double_factorial(2 * int(k) - 3) for k in n], label="hierarchies, (2n − 3)!!")
    left.semilogy(n, 3.0**n, label="$3^n$")
    left.semilogy(n, [n_splits(int(k)) for k in n], label="splits that we visit")
    left.set(xlabel="leaves n", title="What there is, and what we visit")
    left.legend(frameon=False)
    for model, beta in {(r["model"], r["beta"]) for r in found}:
        if (model, beta) in {("Dasgupta", 1.0), ("Ginkgo ordered", 1.0)}:
            ours = sorted((r["n"], r["seconds"]) for r in found if (r["model"], r["beta"]) == (model, beta))
            right.semilogy(*zip(*ours, strict=True), "o-", label=f"palmette, {model}")
    right.semilogy(list(PAPER_SECONDS), list(PAPER_SECONDS.values()), "s--", color="0.4", label="AISTATS paper, jets")
    right.set(xlabel="leaves n", ylabel="seconds", title="Z and MAP of one problem")
    right.legend(frameon=False)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[5, 9, 10, 14, 18, 20])
    parser.add_argument("--models", nargs="+", help="only these, e.g. Dasgupta Uniform")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "full_trellis.png")
    parser.add_argument("--limits", action="store_true", help="only time default calls near the limits of defaults.py")
    parser.add_argument("--row", nargs=3, help=argparse.SUPPRESS)
    _tables.add_option(parser)
    arguments = parser.parse_args()
    if arguments.limits:
        limits()
        return
    if arguments.row:
        name, n, beta = arguments.row
        print(json.dumps(measure(name, int(n), float(beta), arguments.repeat)))
        return
    print(f"ns per split; {default_threads()} threads; best of {arguments.repeat}\n\n{HEADER}", flush=True)
    found = []
    for name, n, beta in rows(arguments.sizes):
        if arguments.models and name not in arguments.models:
            continue
        command = [sys.executable, __file__, "--repeat", str(arguments.repeat), "--row", name, str(n), str(beta)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found.append(json.loads(done.stdout.splitlines()[-1]))
        if n >= 10:
            print(line(found[-1]), flush=True)
    _tables.write(arguments.write, "full trellis", [HEADER, *(line(row) for row in found if row["n"] >= 10)])
    plot(found, arguments.output)
    print(f"\nplot: {arguments.output}")


if __name__ == "__main__":
    main()
