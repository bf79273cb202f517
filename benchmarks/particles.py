"""Sequential Monte Carlo over coalescent histories: how long it takes, and what each proposal finds.

    python benchmarks/particles.py

Prints seconds of "post-post" on 100 leaves, how much faster "race" is on 200, and the mean log evidence of four
proposals on data from the model. PASS means: below 60 s, at least 5 times, and post-post ≥ prior-post ≥ prior-prior.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import palmette as pal
from palmette import coalescent

PROCESS = coalescent.Brownian()


def rows(n, d, seed):
    return pal.simulate.coalescent(n, PROCESS, n_columns=d, rng=seed).x


def seconds(x, particles, proposal):
    coalescent.smc(x[:5], PROCESS, 4, proposal=proposal, rng=0)
    start = time.perf_counter()
    found = coalescent.smc(x, PROCESS, particles, proposal=proposal, rng=0, progress=False)
    return time.perf_counter() - start, found


def verdict(passed, claim):
    print(f"{'PASS' if passed else 'FAIL'} {claim}")


def speed(particles):
    taken, found = seconds(rows(100, 10, 0), 100, "post-post")
    verdict(taken < 60.0, f"post-post, 100 particles, n = 100, D = 10: {taken:.1f} s, {found!r}")
    x = rows(200, 10, 1)
    times = {proposal: seconds(x, particles, proposal)[0] for proposal in ("race", "post-post")}
    ratio = times["post-post"] / times["race"]
    words = f"{times['race']:.1f} s against {times['post-post']:.1f} s with {particles} particles"
    verdict(ratio >= 5.0, f"race is {ratio:.1f} times as fast as post-post at n = 200: {words}")


def evidence(sets, particles):
    data = [rows(30, 10, 100 + k) for k in range(sets)]
    found = {
        proposal: np.array([coalescent.smc(x, PROCESS, particles, proposal=proposal, rng=7).log_evidence for x in data])
        for proposal in ("post-post", "prior-post", "prior-prior", "race")
    }
    print(f"\n| n = 30, D = 10, {particles} particles, {sets} data sets | log evidence, mean | below post-post |")
    print("|---|---|---|")
    for proposal, values in found.items():
        gap = found["post-post"] - values
        error = gap.std(ddof=1) / np.sqrt(sets)
        print(f"| {proposal} | {values.mean():.2f} | {gap.mean():.2f} ± {error:.2f} |")
    means = [found[proposal].mean() for proposal in ("post-post", "prior-post", "prior-prior")]
    verdict(means == sorted(means, reverse=True), "post-post ≥ prior-post ≥ prior-prior")


def main():
    parser = argparse.ArgumentParser(description="Particles over coalescent histories.")
    parser.add_argument("--particles", type=int, default=20, help="at n = 200 (default: 20)")
    parser.add_argument("--sets", type=int, default=30, help="data sets (default: 30)")
    given = parser.parse_args()
    speed(given.particles)
    evidence(given.sets, 50)


if __name__ == "__main__":
    main()
