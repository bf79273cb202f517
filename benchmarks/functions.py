"""Black boxes on the full trellis: a compiled function of two masks and a Python function of arrays, against a score.

    python benchmarks/functions.py [--sizes 16 20] [--write]

Every row is a process of its own, so that its peak memory is its own. Nanoseconds per split of log Z, of the MAP and of
all probabilities, after a warm-up; ratios are to the user's `score` of `full_trellis.py`, of the same run. All are
written to cost little themselves, so that what is measured is how they are called.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import _tables
import numpy as np
from full_trellis import UserScore

import palmette as pal
from palmette.clusters import size_of
from palmette.passes.hierarchies import HierarchyConditions, hierarchy_passes
from palmette.trellis.counting import n_splits

FORMS = {"a user's score": 20, "compiled, masks": 20, "compiled, members": 16, "Python, arrays": 18}  # and most leaves
PASSES = ("log Z", "MAP", "all μ")
HEADER = ("form", "n", *PASSES, *(f"ratio {name}" for name in PASSES), "peak MB")


def uneven(left, right, beta):
    return -beta * abs(size_of(left) - size_of(right))


def uneven_members(left, right, beta):
    return -beta * abs(len(left) - len(right))


def uneven_arrays(left, right):
    return -0.3 * np.abs(np.bitwise_count(left).astype(float) - np.bitwise_count(right))


def make_model(form: str, n: int):
    if form == "compiled, masks":
        return pal.models.CompiledSplitFunction(n, uneven, args=[0.3])
    if form == "compiled, members":
        return pal.models.CompiledSplitFunction(n, uneven_members, args=[0.3], members=True)
    if form == "Python, arrays":
        return pal.models.SplitFunction(n, uneven_arrays)
    x = np.random.default_rng(0).random(n)
    return UserScore(n, theta=[1.0], additive=np.column_stack([x, x * x]))


def timed_passes(model) -> list[float]:
    passes = hierarchy_passes(model, None, HierarchyConditions(model.labels))
    times = [time.perf_counter()]
    Z = passes.inside()
    times.append(time.perf_counter())
    passes.maximum()
    times.append(time.perf_counter())
    passes.outside(Z)
    times.append(time.perf_counter())
    return np.diff(times).tolist()


def measure(form: str, n: int) -> dict:
    timed_passes(make_model(form, 13))  # compiles
    times = timed_passes(make_model(form, n))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"times": [1e9 * seconds / n_splits(n) for seconds in times], "peak": peak}


def rows(sizes: list[int]):
    for n in sizes:
        score = None
        for form, most in FORMS.items():
            if n > most:
                continue
            command = [sys.executable, __file__, "--row", form, str(n)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found = json.loads(done.stdout.splitlines()[-1])
            score = score or found["times"]
            ratios = (f"{a / b:.1f} ×" for a, b in zip(found["times"], score, strict=True))
            yield [form, str(n), *(f"{x:.1f}" for x in found["times"]), *ratios, f"{found['peak']:.0f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[16, 20])
    parser.add_argument("--row", nargs=2, help=argparse.SUPPRESS)
    _tables.add_option(parser)
    arguments = parser.parse_args()
    if arguments.row:
        print(json.dumps(measure(arguments.row[0], int(arguments.row[1]))))
        return
    found = []
    for row in rows(arguments.sizes):
        print(" | ".join(row), flush=True)
        found.append(row)
    lines = _tables.lines_of(HEADER, found)
    print("", *lines, sep="\n")
    _tables.write(arguments.write, "functions", lines)


if __name__ == "__main__":
    main()
