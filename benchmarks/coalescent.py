"""Greedy histories of many leaves: how time grows with n, and how much memory 5,000 leaves take.

    python benchmarks/coalescent.py                          # D = 20; 500 to 4,000 leaves, then 5,000
    python benchmarks/coalescent.py --leaves 250 500 1000    # other sizes
    python benchmarks/coalescent.py --process sites          # categorical data, or "missing": real ones with gaps
    python benchmarks/coalescent.py --write                  # and puts the table into docs/performance.md

The rule is "rate1": each pair of lineages is compared once, (n − 1)² times in all. Rows are drawn from the coalescent
itself. 5,000 leaves run in a process of their own, so that its peak memory is theirs. PASS means: 2,000 leaves in less
than 10 s, time growing with an exponent below 2.3 from the smallest to the largest size, and a peak below 2 GB for
5,000 leaves, the interpreter and the compiler included. The last step is steeper: the pairs leave the cache.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

import _tables
import numpy as np
from _measuring import verdict

from palmette import coalescent

D = 20
LARGEST = 5000
MOST_SECONDS, MOST_LEAVES_AT_THAT, STEEPEST, MOST_BYTES = 10.0, 2000, 2.3, 2e9


def rows_of(kind: str, n: int, seed: int) -> tuple[np.ndarray, coalescent.Process]:
    """Rows that wandered along a draw of the n-coalescent, and the process that reads them."""
    rng = np.random.default_rng(seed)
    states, ages = np.zeros((1, D)), np.cumsum([rng.exponential(2 / (m * (m - 1))) for m in range(n, 1, -1)])[::-1]
    for m, age in enumerate(ages, start=2):  # from the root on, a lineage splits at each event
        states = np.concatenate([states, states[[rng.integers(len(states))]]])
        below = ages[m - 1] if m - 1 < len(ages) else 0.0
        states += np.sqrt(age - below) * rng.normal(size=states.shape)
    if kind == "brownian":
        return states, coalescent.Brownian()
    if kind == "missing":
        return np.where(rng.random(states.shape) < 0.2, np.nan, states), coalescent.Brownian()
    return np.digitize(states, [-0.5, 0.5]), coalescent.IndependentSites(0.5)


def measure(kind: str, n: int, seed: int) -> float:
    x, process = rows_of(kind, n, seed)
    begin = time.perf_counter()
    found = coalescent.greedy(x, process)
    took = time.perf_counter() - begin
    assert found.n_evaluations == (n - 1) ** 2
    assert np.isfinite(found.log_joint)
    return took


def measure_memory(kind: str, n: int, seed: int) -> tuple[float, float]:
    """(seconds, bytes at the peak) of one run in a process of its own."""
    command = [sys.executable, __file__, "--alone", str(n), "--process", kind, "--seed", str(seed)]
    seconds, kilobytes = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(seconds), 1024 * float(kilobytes)


def exponent(one: tuple[int, float], two: tuple[int, float]) -> float:
    return float(np.log(two[1] / one[1]) / np.log(two[0] / one[0]))


def table(kind: str, seconds: dict[int, float], peak: float) -> list[str]:
    """One row of seconds, a column for each number of leaves, and the largest memory."""
    header = [f'leaves; "rate1", D = {D}, {kind}', *(f"{n:,}" for n in seconds), f"memory of {max(seconds):,}"]
    row = ["seconds", *(f"{took:.2g}" for took in seconds.values()), f"{peak / 1e6:,.0f} MB"]
    return _tables.lines_of(header, [row])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--leaves", nargs="+", type=int, default=[500, 1000, 2000, 4000])
    parser.add_argument("--process", choices=["brownian", "missing", "sites"], default="brownian")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--alone", type=int, help=argparse.SUPPRESS)
    _tables.add_option(parser)
    arguments = parser.parse_args()
    kind, seed = arguments.process, arguments.seed
    measure(kind, 20, seed)  # compiles
    if arguments.alone:
        print(measure(kind, arguments.alone, seed), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        return
    seconds = {n: min(measure(kind, n, seed) for _ in range(3 if n <= 1000 else 1)) for n in arguments.leaves}
    alone, peak = measure_memory(kind, LARGEST, seed)
    print(f"| leaves | seconds, {kind}, D = {D} | comparisons a second |\n|---|---|---|")
    for n, took in {**seconds, LARGEST: alone}.items():
        print(f"| {n:,} | {took:.2f} | {(n - 1) ** 2 / took:,.0f} |")
    print()
    _tables.write(arguments.write, f"coalescent, {kind}", table(kind, {**seconds, LARGEST: alone}, peak))
    if MOST_LEAVES_AT_THAT in seconds:
        took = seconds[MOST_LEAVES_AT_THAT]
        verdict(took < MOST_SECONDS, f"{MOST_LEAVES_AT_THAT:,} leaves in {took:.2f} s")
    if len(seconds) > 1:
        steps = sorted(seconds.items())
        whole, last = (exponent(steps[first], steps[-1]) for first in (0, -2))
        words = f"from {steps[0][0]:,} to {steps[-1][0]:,} leaves; n^{last:.2f} in the last step"
        verdict(whole < STEEPEST, f"time grows like n^{whole:.2f} {words}")
    verdict(peak < MOST_BYTES, f"{LARGEST:,} leaves take {peak / 1e6:,.0f} MB at the peak")


if __name__ == "__main__":
    main()
