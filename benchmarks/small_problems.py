"""Many small problems, many draws, and how soon the first answer is there.

    python benchmarks/small_problems.py [--write]

Prints jets per second of a processor's time, by the batch kernel on one thread against one `HierarchyPosterior` per jet
in the same run, seconds for 100,000 exact draws against the same draws one at a time, and seconds from a fresh
interpreter to the first `log_partition`, with a warm disk cache.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import time

import _tables
import numpy as np
from _measuring import seconds

import palmette as pal
from palmette.models import SplitModel

FIRST_ANSWER = """
import time
start = time.perf_counter()
import numpy as np
import palmette as pal
w = np.random.default_rng(0).random((10, 10))
pal.HierarchyPosterior(pal.models.Dasgupta(w + w.T)).log_partition
print(time.perf_counter() - start)
"""


class PlainLiteral(SplitModel):
    """Σ over both children of K + log λ − log t_P − λ t/t_P, as a user would write it down: math.log in the score."""

    n_features = 1

    @staticmethod
    def features(theta, n, size, sums, pairs, out):
        out[0] = max(sums[0] ** 2 - sums[1] ** 2 - sums[2] ** 2 - sums[3] ** 2, 1e-9)

    @staticmethod
    def score(theta, parent, left, right):
        log_norm = -math.log(1.0 - math.exp(-theta[0])) + math.log(theta[0])
        return 2.0 * (log_norm - math.log(parent[0])) - theta[0] * (left[0] + right[0]) / parent[0]


def batch(n_jets: int, n_leaves: int, repeat: int) -> list[str]:
    jets = pal.simulate.ginkgo(n_jets, min_leaves=n_leaves, max_leaves=n_leaves, rng=1)
    example = jets[0].momenta
    models = {
        "Ginkgo ordered": pal.models.Ginkgo(example, 1.5, 16.0),
        "Ginkgo symmetric": pal.models.Ginkgo(example, 1.5, 16.0, likelihood="symmetric"),
        "Ginkgo density": pal.models.Ginkgo(example, 1.5, 16.0, likelihood="density"),
        "a user's score": PlainLiteral(n_leaves, theta=[1.5], additive=example),
    }
    lines = [f"| {n_leaves}-leaf jets, log Z + MAP, one thread | jets/s, batch | jets/s, one by one | ratio |"]
    lines.append("|---|---|---|---|")
    print(*lines, sep="\n")
    for name, model in models.items():
        problems = pal.batch.Problems.like(model, jets.offsets, additive=jets.momenta)
        pal.batch.infer(problems, threads=1)
        together = n_jets / seconds(lambda p=problems: pal.batch.infer(p, threads=1), repeat, time.process_time)

        def single(model=model):
            for jet in jets[:50]:
                if isinstance(model, PlainLiteral):
                    own = PlainLiteral(n_leaves, theta=[1.5], additive=jet.momenta)
                else:
                    own = pal.models.Ginkgo(jet.momenta, 1.5, 16.0, likelihood=model.likelihood)
                post = pal.HierarchyPosterior(own, threads=1)
                post.log_partition  # noqa: B018
                post.map()

        single()
        alone = 50 / seconds(single, repeat, time.process_time)
        lines.append(f"| {name} | {together:,.0f} | {alone:,.0f} | {together / alone:.1f} × |")
        print(lines[-1], flush=True)
    return lines


def draws(repeat: int) -> None:
    print("\n| 100,000 exact draws | seconds | one at a time, extrapolated | ratio |\n|---|---|---|---|")
    for n in (5, 15):
        for beta in (0.05, 1.0):
            w = np.random.default_rng(0).random((n, n))
            post = pal.HierarchyPosterior(pal.models.Dasgupta(w + w.T, beta))
            post.sample(10, rng=0)
            together = seconds(lambda p=post: p.sample(100_000, rng=1), repeat)
            alone = seconds(lambda p=post: [p.sample(1, rng=i) for i in range(20)], repeat) * 5000
            name = f"Dasgupta, n = {n}, β = {beta:g}"
            print(f"| {name} | {together:.2f} | {alone:.0f} | {alone / together:.0f} × |", flush=True)


def first_answer(repeat: int) -> None:
    command = [sys.executable, "-c", FIRST_ANSWER]
    subprocess.run(command, check=True, capture_output=True)
    times = [float(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(repeat)]
    print(f"\nimport and first log_partition at n = 10 in a fresh process, warm cache: {min(times):.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jets", type=int, default=2000)
    parser.add_argument("--leaves", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=5)
    _tables.add_option(parser)
    arguments = parser.parse_args()
    lines = batch(arguments.jets, arguments.leaves, arguments.repeat)
    _tables.write(arguments.write, "small problems", lines)
    draws(arguments.repeat)
    first_answer(arguments.repeat)


if __name__ == "__main__":
    main()
