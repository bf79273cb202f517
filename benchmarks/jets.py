"""Jets at volume: the simulator, whole tables, large jets, two Dask workers against one, and the memory of a long run.

    python benchmarks/jets.py [--long] [--write]

The first part takes about a minute. With --long, a million simulated jets are written, inferred and compared by the
command line in processes of their own, and the largest memory of each is printed beside that of a run of a tenth.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import _tables
from _measuring import seconds

import palmette as pal

LAW = {"rate": 1.5, "t_cut": 16.0}


def simulator():
    pal.simulate.ginkgo(10, rng=0)
    rows = []
    for preset in ("qcd", "w"):
        taken = seconds(lambda preset=preset: pal.simulate.ginkgo(10_000, preset=preset, rng=1))
        print(f"simulate 10,000 {preset} jets, one thread: {taken:.2f} s")
        rows.append([f"simulate 10,000 jets, preset {preset}, one thread", f"{taken:.2f} s"])
    return rows


def tables(count):
    jets = pal.simulate.ginkgo(count, min_leaves=5, max_leaves=10, rng=0)
    plain = pal.jets.Jets(jets.momenta, jets.offsets)
    searches = ["greedy", "beam"]
    pal.jets.infer(jets[:20], **LAW, searches=searches)
    found = taken = seconds(lambda: pal.jets.infer(plain, **LAW))
    print(f"{count:,} jets of 5 to 10 leaves, log Z and MAP: {taken:.2f} s, {count / taken:,.0f} a second")
    with_truth = seconds(lambda: pal.jets.infer(jets, **LAW))
    print(f"  the same, true histories scored as well: {with_truth:.2f} s")
    pal.HierarchyPosterior(pal.models.Ginkgo(jets[0].momenta, **LAW)).map()
    one = seconds(lambda: [pal.HierarchyPosterior(pal.models.Ginkgo(jet.momenta, **LAW)).map() for jet in jets[:500]])
    print(f"  one posterior for each jet, MAP only: {one * count / 500:.2f} s ({one * count / 500 / taken:.1f} x)")
    taken = seconds(lambda: pal.jets.infer(plain, **LAW, searches=searches))
    print(f"{count:,} jets, log Z, MAP, greedy and beam search: {taken:.2f} s")
    return [
        [f"{count:,} jets of 5 to 10 leaves, log Z and MAP, as a table", f"{found:.2f} s"],
        ["the same, true histories scored as well", f"{with_truth:.2f} s"],
        ["the same, one `HierarchyPosterior` for each, MAP only", f"{one * count / 500:.2f} s"],
        ["log Z, MAP, greedy and beam search", f"{taken:.2f} s"],
    ]


def scores(count):
    jets = pal.simulate.ginkgo(count, rng=0)
    problems = pal.batch.Problems.like(pal.models.Ginkgo(jets[0].momenta, **LAW), jets.offsets, additive=jets.momenta)
    pal.batch.log_potentials(problems, jets.children, threads=1)
    taken = seconds(lambda: pal.batch.log_potentials(problems, jets.children, threads=1))
    print(f"true histories of {count:,} jets scored, one thread: {taken:.2f} s")
    return [[f"true histories of {count:,} jets scored, one thread", f"{taken:.2f} s"]]


def sampled(count):
    rows = []
    for leaves, mass in ((21, 80.0), (40, 160.0), (60, 240.0)):
        shape = {"min_leaves": leaves, "max_leaves": leaves, "mass": mass, "momentum": 800.0, "root_rate": 1.5}
        jets = pal.simulate.ginkgo(count, preset="w", **shape, rng=1)
        pal.jets.infer(jets[:1], **LAW, sweeps=8)
        start = time.process_time()
        errors = pal.jets.infer(jets, **LAW)["log_partition_error"].to_pylist()
        taken = (time.process_time() - start) / count
        words = f"{taken:.1f} s; log Z ± {sum(errors) / count:.2f}"
        print(f"a jet of {leaves} leaves, sampled, 200 sweeps, processor time: {words}")
        rows.append([f"a jet of {leaves} leaves, sampled, 200 sweeps, processor time", words])
    return rows


def workers(count):
    import dask
    from distributed import Client, LocalCluster

    jets = pal.simulate.ginkgo(count, min_leaves=5, max_leaves=10, rng=0)
    taken = {}
    options = {"threads_per_worker": 1, "dashboard_address": None}
    with dask.config.set({"distributed.worker.profile.enabled": False}):
        for n_workers in (1, 2):
            with LocalCluster(n_workers=n_workers, **options) as cluster, Client(cluster) as client:
                with tempfile.TemporaryDirectory() as folder:
                    first = jets[:400]
                    pal.jets.infer(first, folder, **LAW, searches=["greedy"], engine=client, chunk_seconds=0.05)
                with tempfile.TemporaryDirectory() as folder:
                    run = lambda: pal.jets.infer(jets, folder, **LAW, searches=["greedy"], engine=client)  # noqa: E731
                    taken[n_workers] = seconds(run)
    print(f"{count:,} jets with greedy search on Dask: one worker {taken[1]:.1f} s, two {taken[2]:.1f} s")
    print(f"  two workers are {taken[1] / taken[2]:.2f} x as fast as one ({os.cpu_count()} processors)")
    words = f"{taken[1]:.1f} / {taken[2]:.1f} s: {taken[1] / taken[2]:.2f} ×"
    return [[f"{count:,} jets with greedy search on Dask, one worker / two", words]]


def command(*arguments):
    """Seconds and the largest memory in MB of a command of its own."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "palmette", *map(str, arguments)], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    scale = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes there
    return time.perf_counter() - start, usage.ru_maxrss * scale / 2**20


def memory(counts):
    peaks = {}
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            path, run = Path(folder) / "jets.parquet", Path(folder) / "run"
            steps = {
                "simulate": ("jets", "simulate", count, path, "--max-leaves", 12, "--quiet"),
                "infer, 2 draws": ("jets", "infer", path, run, "--draws", 2, "--quiet"),
                "compare": ("jets", "compare", run, "--quiet"),
            }
            for name, arguments in steps.items():
                taken, peak = command(*arguments)
                print(f"{count:>9,} jets, {name}: {taken:.0f} s, {peak:.0f} MB at most")
                peaks.setdefault(name, []).append(f"{peak:.0f} MB")
    header = ["`palmette jets`, largest memory", *(f"{count:,} jets" for count in counts)]
    return _tables.lines_of(header, [[name, *cells] for name, cells in peaks.items()])


def main():
    parser = argparse.ArgumentParser(description="Jets at volume.")
    parser.add_argument("--long", action="store_true", help="also the memory of a run of a million jets")
    parser.add_argument("--jets", type=int, default=5000, help="jets of a table (default: 5000)")
    parser.add_argument("--dask", type=int, default=20_000, help="jets on Dask, 0 for none (default: 20000)")
    _tables.add_option(parser)
    given = parser.parse_args()
    rows = simulator() + scores(100_000) + tables(given.jets) + sampled(4)
    if given.dask:
        rows += workers(given.dask)
    _tables.write(given.write, "jets", _tables.lines_of([f"{os.cpu_count()} processors", ""], rows))
    if given.long:
        _tables.write(given.write, "jets, memory", memory([100_000, 1_000_000]))


if __name__ == "__main__":
    main()
