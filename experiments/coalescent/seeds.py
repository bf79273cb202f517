"""Whether errors of particles hold: many seeds on the same languages, and how far apart their probabilities are.

    python experiments/coalescent/seeds.py --data FILE [--particles 60] [--seeds 20] [--proposal race]

FILE has one row per language: id, name, group, then one column per meaning with cognate classes 1, 2, …, empty where
unknown. For every cluster that a seed gives 1/2 or more: how many seeds are within two standard errors of the mean of
all of them, among the seeds whose verdict is "usable"; and how many are not usable.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import common
import numpy as np
from common import Floats

from palmette.coalescent import CoalescentDraws, IndependentSites, rate_by_evidence, smc


def within(found: Sequence[CoalescentDraws]) -> tuple[Floats, Floats]:
    """(z, spread): (value − mean over seeds) / error of each seed (rows) and cluster; and the range over seeds."""
    names = sorted({row.members for draws in found for row in draws.cluster_probabilities(0.5)})
    each = [[draws.cluster_probability(name) for name in names] for draws in found]
    values = np.array([[estimate.value for estimate in row] for row in each])
    errors = np.array([[estimate.standard_error for estimate in row] for row in each])
    return (values - values.mean(axis=0)) / errors, np.ptp(values, axis=0)


def report(found: Sequence[CoalescentDraws]) -> str:
    """The verdicts, and how well the errors of all seeds and of the usable ones cover."""
    z, spread = within(found)
    usable = np.array([draws.verdict.usable for draws in found])
    independent = [draws.n_independent for draws in found]
    there = f"{usable.sum()} of {len(found)} seeds are usable"
    opposite = f"{np.sum(spread > 0.9)} of them are near 0 in one and near 1 in another"
    if not z.size:
        return f"{there}; no cluster has 1/2 in any"
    lines = [
        f"{there}; independent histories {min(independent):.1f} to {max(independent):.1f}",
        f"{z.shape[1]} clusters have 1/2 in some seed; {opposite}",
        f"all seeds: {np.mean(np.abs(z) < 2):.3f} are within two errors of the mean",
    ]
    if usable.any():
        lines.append(f"usable seeds: {np.mean(np.abs(z[usable]) < 2):.3f}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, run, print."""
    command = argparse.ArgumentParser(description="Particles with many seeds, and whether their errors hold.")
    command.add_argument("--data", type=Path, required=True, help="a table of cognate classes")
    command.add_argument("--particles", type=int, default=60)
    command.add_argument("--seeds", type=int, default=20)
    command.add_argument("--proposal", default="race")
    command.add_argument("--rate", type=float, help="by the evidence unless given")
    given = command.parse_args(arguments)
    started = time.perf_counter()
    _, rows = common.read_csv(given.data)
    names, x = [row[1] for row in rows], common.codes([row[3:] for row in rows])
    process = IndependentSites(given.rate or 1.0, "uniform")
    if given.rate is None:
        process = rate_by_evidence(x, process, 50).process
    options = {"proposal": given.proposal, "labels": names, "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that particles collapse is what is counted here
        found = [smc(x, process, given.particles, rng=seed, **options) for seed in range(given.seeds)]
    print(f"{len(x)} languages, {x.shape[1]} characters, rate {float(process.rate):.3g}, {given.particles} particles")
    print(report(found))
    print(f"  {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
