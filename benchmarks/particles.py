"""Sequential Monte Carlo over coalescent histories: how long it takes, and what each proposal finds.

    python benchmarks/particles.py [--write]

Prints whether the mean evidence of 200 runs is the exact one, seconds of "post-post" on 100 leaves, how much faster
"race" is on 200, and the mean log evidence of four proposals on data from the model. PASS means: within 3 standard
errors, below 60 s, at least 5 times, and post-post ≥ prior-post ≥ prior-prior.
"""

from __future__ import annotations

import argparse
import math
import time

import _tables
import numpy as np
from _measuring import verdict

import palmette as pal
from palmette import coalescent

PROCESS = coalescent.Brownian()
PROPOSALS = ("prior-prior", "prior-post", "post-post", "race")

# Log evidence: three and four leaves by quadrature over all histories, right to 1e-9; one site in closed form.
THREE = ([[0.124, -0.276], [-0.815, -0.345], [-0.098, -0.357]], coalescent.Brownian([0.6, 1.3]), -4.081350923392134)
FOUR = ([[0.652], [0.349], [-1.422], [0.059]], coalescent.Brownian(), -5.06074775865231)
STATES, RATE, LAW = [0, 0, 1, 0, 2, 0, 1, 0], 1.7, [0.5, 0.3, 0.2]


def one_site():
    """Dirichlet and multinomial with α = 2 λ."""
    counts = np.bincount(STATES, minlength=len(LAW))
    terms = [math.lgamma(2 * RATE * q + n) - math.lgamma(2 * RATE * q) for q, n in zip(LAW, counts, strict=True)]
    exact = math.lgamma(2 * RATE) - math.lgamma(2 * RATE + len(STATES)) + sum(terms)
    return [[state] for state in STATES], coalescent.IndependentSites(RATE, [LAW]), exact


def bias(runs):
    for name, (x, process, exact) in {"n = 3": THREE, "n = 4": FOUR, "one site, n = 8": one_site()}.items():
        for proposal in PROPOSALS:
            found = [
                coalescent.smc(x, process, 50, proposal=proposal, rng=k, threads=1, n_runs=1).log_evidence
                for k in range(runs)
            ]
            ratio = np.exp(np.array(found) - exact)
            error = ratio.std(ddof=1) / np.sqrt(runs)
            off = abs(ratio.mean() - 1.0) / error
            verdict(off < 3.0, f"{name}, {proposal}: {ratio.mean():.4f} ± {error:.4f} of the exact evidence")


def rows(n, d, seed):
    return pal.simulate.coalescent(n, PROCESS, n_columns=d, rng=seed).x


def seconds(x, particles, proposal):
    coalescent.smc(x[:5], PROCESS, 4, proposal=proposal, rng=0, n_runs=1)
    start = time.perf_counter()
    found = coalescent.smc(x, PROCESS, particles, proposal=proposal, rng=0, n_runs=1, progress=False)
    return time.perf_counter() - start, found


def speed(particles, page):
    taken, found = seconds(rows(100, 10, 0), 100, "post-post")
    verdict(taken < 60.0, f"post-post, 100 particles, n = 100, D = 10: {taken:.1f} s, {found!r}")
    x = rows(200, 10, 1)
    times = {proposal: seconds(x, particles, proposal)[0] for proposal in ("race", "post-post")}
    ratio = times["post-post"] / times["race"]
    words = f"{times['race']:.1f} s against {times['post-post']:.1f} s with {particles} particles"
    verdict(ratio >= 5.0, f"race is {ratio:.1f} times as fast as post-post at n = 200: {words}")
    table = [["post-post", "100", "100", f"{taken:.2g}"]]
    table += [[proposal, "200", str(particles), f"{took:.2g}"] for proposal, took in times.items()]
    _tables.write(page, "particles", _tables.lines_of(["proposal, D = 10", "n", "particles", "seconds"], table))


def evidence(sets, particles, page):
    data = [rows(30, 10, 100 + k) for k in range(sets)]
    found = {
        proposal: np.array(
            [coalescent.smc(x, PROCESS, particles, proposal=proposal, rng=7, n_runs=1).log_evidence for x in data]
        )
        for proposal in ("post-post", "prior-post", "prior-prior", "race")
    }
    print(f"\n| n = 30, D = 10, {particles} particles, {sets} data sets | log evidence, mean | below post-post |")
    print("|---|---|---|")
    for proposal, values in found.items():
        gap = found["post-post"] - values
        error = gap.std(ddof=1) / np.sqrt(sets)
        print(f"| {proposal} | {values.mean():.2f} | {gap.mean():.2f} ± {error:.2f} |")
    header = [f"n = 30, D = 10, {particles} particles, {sets} data sets from the model", "mean log evidence"]
    table = [[proposal, f"{values.mean():.2f}"] for proposal, values in found.items()]
    _tables.write(page, "evidence", _tables.lines_of(header, table))
    means = [found[proposal].mean() for proposal in ("post-post", "prior-post", "prior-prior")]
    verdict(means == sorted(means, reverse=True), "post-post ≥ prior-post ≥ prior-prior")


def main():
    parser = argparse.ArgumentParser(description="Particles over coalescent histories.")
    parser.add_argument("--particles", type=int, default=20, help="at n = 200 (default: 20)")
    parser.add_argument("--sets", type=int, default=30, help="data sets (default: 30)")
    parser.add_argument("--runs", type=int, default=200, help="for the mean evidence (default: 200)")
    _tables.add_option(parser)
    given = parser.parse_args()
    bias(given.runs)
    speed(given.particles, given.write)
    evidence(given.sets, 50, given.write)


if __name__ == "__main__":
    main()
