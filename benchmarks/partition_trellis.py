"""How long partitions take, per term, against a naive compiled walk and against subset convolution in the same run.

    python benchmarks/partition_trellis.py                # all tables
    python benchmarks/partition_trellis.py --sizes 14 16  # quicker
    python benchmarks/partition_trellis.py --write        # and puts the tables into docs/performance.md

Every row of the first table is a process of its own, so that its peak memory is its own. Times are the best of
`--repeat` runs after a warm-up, divided by the (3^n − 1)/2 terms of all sets. The naive walk is what one would write
first: for every set `sub = (sub − 1) & set` over the clusters that hold its lowest element, with a streaming
log-sum-exp (or a maximum), compiled, on as many threads. Subset convolution is the ranked zeta transform, O(2^n n²).
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import time

import _tables
import numpy as np
from _measuring import best_time
from numba import njit

import palmette as pal
from palmette.passes.partitions.conditions import PartitionConditions
from palmette.passes.partitions.full import FullPartitionPasses
from palmette.threads import default_threads


def make_model(name: str, n: int, beta: float):
    rng = np.random.default_rng(0)
    if name == "UniformPartitions":
        return pal.models.UniformPartitions(n)
    if name == "DirichletProcess":
        points = rng.normal(size=(n, 5)) + 3.0 * rng.integers(0, 3, n)[:, None]
        return pal.models.DirichletProcess(points, 1.0, pal.likelihoods.NormalGamma())
    weights = np.triu(rng.random((n, n)) - 0.5, 1)
    return pal.models.CorrelationClusters(weights + weights.T, beta)


def passes_of(model) -> FullPartitionPasses:
    return FullPartitionPasses(model, PartitionConditions(model.labels))


@njit(nogil=True)
def naive_sum(log_psi, sets, Z):
    for i in range(sets.size):
        S = sets[i]
        rest = S ^ (S & -S)
        top, total = -np.inf, 0.0
        sub = rest
        while True:
            C = S ^ sub
            x = log_psi[C] + Z[sub]
            if x > top:
                total = total * math.exp(top - x) + 1.0
                top = x
            elif x > -np.inf:
                total += math.exp(x - top)
            if sub == 0:
                break
            sub = (sub - 1) & rest
        Z[S] = top + math.log(total) if total > 0.0 else -np.inf


@njit(nogil=True)
def naive_max(log_psi, sets, M):
    for i in range(sets.size):
        S = sets[i]
        rest = S ^ (S & -S)
        top = -np.inf
        sub = rest
        while True:
            top = max(top, log_psi[S ^ sub] + M[sub])
            if sub == 0:
                break
            sub = (sub - 1) & rest
        M[S] = top


def naive_pass(passes: FullPartitionPasses, kernel) -> np.ndarray:
    table = np.full(1 << passes.n, -np.inf)
    table[0] = 0.0
    with passes.clusters.workers("naive", 0.5 * 3.0**passes.n) as workers:
        for k in range(1, passes.n + 1):
            sets = passes.clusters.of_size(k).astype(np.int64)
            workers.run(
                lambda i, j, sets=sets: kernel(passes.log_psi, sets[i:j], table), np.full(len(sets), 2.0 ** (k - 1))
            )
    return table


def subset_convolution(psi: np.ndarray, n: int) -> np.ndarray:
    """Z_k of all leaves by the ranked zeta transform, in linear space: exp of a set power series."""
    sizes = np.bitwise_count(np.arange(1 << n))
    ranked = np.zeros((n + 1, 1 << n))
    ranked[sizes, np.arange(1 << n)] = psi
    ranked[0] = 0.0
    for i in range(n):
        pairs = ranked.reshape(n + 1, -1, 2, 1 << i)
        pairs[:, :, 1] += pairs[:, :, 0]
    signs = np.where((n - sizes) % 2, -1.0, 1.0)
    power = np.zeros_like(ranked)
    power[0] = 1.0
    out = np.zeros(n + 1)
    for k in range(1, n + 1):
        product = np.zeros_like(power)
        for a in range(1, n + 1):
            product[a:] += ranked[a] * power[: n + 1 - a]
        power = product / k
        out[k] = (signs * power[n]).sum()  # Möbius inversion at the set of all leaves
    return out


def measure(name: str, n: int, beta: float, repeat: int) -> dict:
    warm = pal.PartitionPosterior(make_model(name, 13, beta))  # compiles every kernel that the large one will use
    warm.coclustering(), warm.map(), warm.n_clusters_probabilities(), warm.sample(10, 0)
    small = passes_of(make_model(name, 13, beta))
    naive_pass(small, naive_sum), naive_pass(small, naive_max)

    model = make_model(name, n, beta)
    passes = passes_of(model)
    unit = 2e9 / (3**n - 1)
    row = {"model": name, "beta": beta, "n": n}
    row["tabulate"], _ = best_time(lambda: passes.log_psi, 1)
    row["log_z"], Z = best_time(passes.inside, repeat)
    row["fell_back"] = passes.segments.sums()[1] / 2**n
    row["map"], M = best_time(passes.maximum, repeat)
    best = passes.choices(passes.start, M)[2].max()

    post = pal.PartitionPosterior(model)
    post.log_partition  # noqa: B018 – Z is given

    def probabilities():
        post._values.pop("_outside", None), post._values.pop("_together", None)
        return post.coclustering()

    row["probabilities"], _ = best_time(probabilities, repeat)
    row["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    row["n_clusters"], _ = best_time(passes.log_partitions_by_number, 1) if n <= 20 else (math.nan, None)
    row["naive_log_z"], naive_Z = best_time(lambda: naive_pass(passes, naive_sum), 1) if n <= 20 else (math.nan, Z)
    row["naive_map"], naive_M = best_time(lambda: naive_pass(passes, naive_max), 1) if n <= 20 else (math.nan, [best])
    assert np.isclose(Z[-1], naive_Z[-1], rtol=1e-12), (Z[-1], naive_Z[-1])
    assert np.isclose(best, naive_M[-1], rtol=1e-12), (best, naive_M[-1])
    for key in ("tabulate", "log_z", "map", "n_clusters", "naive_log_z", "naive_map"):
        row[key] *= unit
    row["probabilities"] *= unit
    return row


HEADER = (
    "| model | β | n | log ψ | log Z | MAP | all P and co-clustering | that / log Z | P(K) | naive log Z | naive MAP "
    "| speed-up log Z | speed-up MAP | fell back | peak MB |\n" + "|---" * 15 + "|"
)


def line(r: dict) -> str:
    beta = f"{r['beta']:g}" if r["model"] == "CorrelationClusters" else "–"
    return (
        f"| {r['model']} | {beta} | {r['n']} | {r['tabulate']:.2f} | {r['log_z']:.2f} | {r['map']:.2f} "
        f"| {r['probabilities']:.2f} | {r['probabilities'] / r['log_z']:.2f} | {_some(r['n_clusters'], '.1f')} "
        f"| {_some(r['naive_log_z'], '.1f')} | {_some(r['naive_map'], '.1f')} "
        f"| {_some(r['naive_log_z'] / r['log_z'], '.1f')} × | {_some(r['naive_map'] / r['map'], '.1f')} × "
        f"| {100 * r['fell_back']:.2g} % | {r['peak_mb']:.0f} |"
    )


def _some(value: float, form: str) -> str:
    return "–" if math.isnan(value) else format(value, form)


def compare_with_convolution(n: int) -> list[str]:
    """The number of clusters: one pass for each number, against O(2^n n²) with numbers of both signs."""
    print(f"\nP(K = k), n = {n}, CorrelationClusters, weights uniform in (−½, ½)\n")
    lines = ["| β | layers, s | convolution, s | largest error of convolution in P(K) |\n|---|---|---|---|"]
    print(lines[0])
    for beta in (0.01, 0.3, 1.0, 3.0, 10.0):
        passes = passes_of(make_model("CorrelationClusters", n, beta))
        passes.log_partitions_by_number()
        ours, log_z = best_time(passes.log_partitions_by_number, 2)
        exact = np.exp(log_z - np.logaddexp.reduce(log_z))
        steepest = (passes.log_psi[1:] / passes.sizes[1:]).max()  # so that nothing overflows
        psi = np.exp(passes.log_psi - steepest * passes.sizes)
        theirs, Z = best_time(lambda psi=psi: subset_convolution(psi, n), 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            error = np.abs(Z / Z.sum() - exact).max()
        lines.append(f"| {beta:g} | {ours:.3f} | {theirs:.3f} | {error:.1g} |")
        print(lines[-1], flush=True)
    return lines


def tree(n: int) -> list[str]:
    """All partitions consistent with one hierarchy of n leaves."""
    print(f"\nOne hierarchy, {n:,} leaves, DirichletProcess with NormalGamma, seconds after compilation\n")
    lines = ["| shape | build | log Z | MAP | probabilities | 10 draws | all |\n|---|---|---|---|---|---|---|"]
    print(lines[0])
    for shape in ("balanced", "caterpillar"):
        for size in (1000, n):
            row = _tree_row(size, shape)
        lines.append(f"| {shape} | " + " | ".join(f"{seconds:.2f}" for seconds in [*row, sum(row)]) + " |")
        print(lines[-1], flush=True)
    return lines


def _tree_row(n: int, shape: str) -> list[float]:
    x = np.sort(np.random.default_rng(0).normal(size=(n, 1)), axis=0)
    model = pal.models.DirichletProcess(x, 1.0, pal.likelihoods.NormalGamma(rate=0.1))
    hierarchy = pal.Hierarchy.from_merges(_balanced(n) if shape == "balanced" else _caterpillar(n))
    times = [time.perf_counter()]
    post = pal.PartitionPosterior(model, trellis=pal.PartitionTrellis.from_hierarchy(hierarchy))
    times.append(time.perf_counter())
    steps = (
        lambda: post.log_partition,
        post.map,
        lambda: (post.cluster_probability([0, 1]), post.together_probability([0, n - 1])),
        lambda: post.sample(10, rng=0),
    )
    for step in steps:
        step()
        times.append(time.perf_counter())
    return np.diff(times).tolist()


def _balanced(n: int) -> np.ndarray:
    merges, level, node = [], list(range(n)), n
    while len(level) > 1:
        pairs = list(zip(level[::2], level[1::2], strict=False))
        merges += pairs
        level = [*range(node, node + len(pairs)), *level[2 * len(pairs) :]]
        node += len(pairs)
    return np.array(merges)


def _caterpillar(n: int) -> np.ndarray:
    return np.column_stack([[0, *range(n, 2 * n - 2)], np.arange(1, n)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[14, 18, 20, 22])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--row", nargs=3, help=argparse.SUPPRESS)
    _tables.add_option(parser)
    arguments = parser.parse_args()
    if arguments.row:
        name, n, beta = arguments.row
        print(json.dumps(measure(name, int(n), float(beta), arguments.repeat)))
        return
    print(f"ns per term; {default_threads()} threads; best of {arguments.repeat}\n\n{HEADER}", flush=True)
    lines = [HEADER]
    kinds = [("UniformPartitions", 1.0), ("DirichletProcess", 1.0)]
    kinds += [("CorrelationClusters", beta) for beta in (1.0, 10.0, 100.0)]
    for n in arguments.sizes:
        for name, beta in kinds if n <= 20 else kinds[1:3]:
            command = [sys.executable, __file__, "--repeat", str(arguments.repeat), "--row", name, str(n), str(beta)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            lines.append(line(json.loads(done.stdout.splitlines()[-1])))
            print(lines[-1], flush=True)
    _tables.write(arguments.write, "partitions", lines)
    _tables.write(arguments.write, "number of clusters", compare_with_convolution(16))
    _tables.write(arguments.write, "one hierarchy", tree(100_000))


if __name__ == "__main__":
    main()
