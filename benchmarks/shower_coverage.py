"""Do intervals of a shower's parameters hold the truth as often as they say?

    python benchmarks/shower_coverage.py [--sets 200] [--jets 25]

Sets of simulated jets, each fitted by `palmette.jets.fit_shower`. "(selected)": only showers of 4 to 8 particles are
kept, and the fit knows it; "(not told)": the fit does not. A share of 0.95 has an error of 0.015 over 200 sets.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from _tables import lines_of

import palmette as pal

SELECTED = {"min_leaves": 4, "max_leaves": 8}
ONE_IN_THREE = 0.9945  # standard errors: 68 % of a normal law lie within
TRUTH = {"rate": 1.5, "root_rate": 1.5, "t_cut": 16.0}

# What is simulated, and what the fit is told beside.
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "rate": ({"max_leaves": 10}, {"t_cut": 16.0}),
    "rate and t_cut": ({"max_leaves": 10}, {}),
    "rate and root_rate": ({"max_leaves": 10, "root_rate": 3.0}, {"t_cut": 16.0, "root_rate": "fit"}),
    "rate (selected)": (SELECTED, {"t_cut": 16.0}),
    "rate (not told)": (SELECTED, {"t_cut": 16.0, "min_leaves": 1, "max_leaves": 1000}),
}


def covered(case: str, sets: int, jets: int) -> list[list[str]]:
    """A row for each parameter: its mean, and how often it lay in intervals of 68 and of 95 percent."""
    how, told = CASES[case]
    truth = {**TRUTH, **{name: value for name, value in how.items() if name in TRUTH}}
    found: dict[str, list[tuple[float, bool, bool]]] = {}
    for seed in range(sets):
        fit = pal.jets.fit_shower(pal.simulate.ginkgo(jets, rng=seed, **how), **told)
        for name, (low, high) in fit.intervals.items():
            off = abs(np.log(fit.law[name] / truth[name])) / fit.errors.get(name, np.nan)  # t_cut has no such error
            found.setdefault(name, []).append((fit.law[name], off < ONE_IN_THREE, low <= truth[name] <= high))
    rows = []
    for name, each in found.items():
        values, narrow, wide = np.array(each).T
        shares = ["-" if name == "t_cut" else f"{narrow.mean():.3f}", f"{wide.mean():.3f}"]
        rows.append([f"{name}, of {case}", f"{truth[name]:g}", f"{values.mean():.3f} ± {values.std():.3f}", *shares])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--jets", type=int, default=25)
    parser.add_argument("--case", choices=list(CASES), action="append")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    begin = time.perf_counter()
    rows = [row for case in given.case or CASES for row in covered(case, given.sets, given.jets)]
    print(*lines_of(["", "truth", "fits", "68 %", "95 %"], rows), sep="\n")
    print(f"\n{given.sets} sets of {given.jets} jets: {time.perf_counter() - begin:.0f} seconds")


if __name__ == "__main__":
    main()
