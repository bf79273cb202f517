"""Figures 7, 11, 12 and 13: sparse trellises that were built beforehand, on jets that they have not seen.

    python experiments/cluster_trellis/sparse_jets.py [--out DIR]

A trellis is made of the hierarchies of training jets, whose leaves are named by their rank in some order. Test jets
are put into the same order, and the trellis says which of their hierarchies are summed over. README.md beside this
file has the details and the numbers. Needs matplotlib.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import common
import numpy as np
import sparse_jets_figures
import sparse_jets_runs as runs
from common import Floats
from sparse_jets_runs import Curves, Gaps, Grown, Point, Reference

COUNTS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
MIN_SHARE = 0.0015
FOUND, SPLITS = 0.95, 1 / 3  # what growing is expected to find, of the jets, with fewer than so many of the splits


def report_reference(exact: Reference) -> str:
    """What searches miss."""
    rows = [["log likelihood minus that of the exact MAP", "mean", "sd", "exact MAP found"]]
    for name, values in exact.others.items():
        found = int((values > -common.TIED * np.abs(exact.best)).sum())
        rows.append([name, *_spread(values), f"{found} of {len(values)}"])
    return common.columns(rows)


def _spread(values: Floats) -> list[str]:
    return [f"{values.mean():.3f}", f"{values.std():.3f}" if np.isfinite(values).all() else "-"]


def report_table1(gaps: Gaps, preset: str) -> str:
    """Beside the numbers of the paper."""
    header = [f"{len(gaps.trellis_beam)} jets of 5 to 10 leaves (preset {preset}), table 1", "mean", "sd", "paper"]
    trellis, beam = [*_spread(gaps.trellis_beam), "0.4 +- 0.5"], [*_spread(gaps.beam_greedy), "1.1 +- 1.1"]
    greedy = [*_spread(gaps.trellis_greedy), "1.5 +- 1.1"]
    names = ("trellis - beam search", "trellis - greedy", "beam search - greedy")
    rows = [[name, *cells] for name, cells in zip(names, (trellis, greedy, beam), strict=True)]
    return common.columns([header, *rows])


def report_points(points: Sequence[Point]) -> str:
    """A row for each trellis."""
    header = ["hierarchies of", "order", "number", "clusters", "splits", "sparsity"]
    rows = [[*header, "MAP - exact", "sd", "log Z - exact", "sd", "impossible"]]
    for p in points:
        numbers = [str(p.count), str(p.trellis.n_clusters), str(p.trellis.n_splits), f"{p.sparsity:.2e}"]
        rows.append([p.source, p.order, *numbers, *_spread(p.best), *_spread(p.log_partition), str(p.n_impossible)])
    return common.columns(rows)


def report_grown(grown: Grown, every: int, min_share: float) -> str:
    """What growing needs and finds; `every` is the number of splits of the full trellis."""
    splits, log_z = grown.n_splits, grown.log_partition
    shares = f"{100 * splits.mean() / every:.1f} % and {100 * splits.max() / every:.1f} %"
    lines = [
        f"Grown for each test jet from its greedy hierarchy, min_share={min_share:g}",
        f"  the exact MAP is found on {grown.n_found} of {len(grown.best)}; MAP - exact: mean {grown.best.mean():.4f}",
        f"  splits: mean {splits.mean():.0f}, largest {splits.max()}, of {every} ({shares})",
        f"  sparsity: mean {grown.sparsity.mean():.2e}",
        f"  log Z - exact: mean {log_z.mean():.4f}, worst {log_z.min():.4f}",
    ]
    return "\n".join(lines)


# What must hold.


def report_claims(targets: Sequence[Point], exact: Reference, grown: Grown, every: int) -> str:
    """Whether pre-built trellises of 2 % beat beam search, and whether growing finds the MAP."""
    lines = [_claim_sparse(p, exact) for p in targets if p.order == "momentum"]
    enough = grown.n_found >= FOUND * len(grown.best) and grown.n_splits.max() < SPLITS * every
    found = f"finds the exact MAP on {grown.n_found} of {len(grown.best)} jets"
    size = f"with at most {100 * grown.n_splits.max() / every:.1f} % of the splits"
    return "\n".join(["Claims", *lines, f"  {_verdict(enough)}a grown trellis {found}, {size}"])


def _claim_sparse(point: Point, exact: Reference) -> str:
    # Both were run on the same jets, so the error is that of the difference.
    gain = point.best - exact.others["beam search"]
    error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 and np.isfinite(gain).all() else np.inf
    reached = point.sparsity >= runs.TARGET
    what = f"a trellis of {point.source} hierarchies, leaves by |p|, sparsity {100 * point.sparsity:.1f} %,"
    return f"  {_verdict(reached and gain.mean() > 0)}{what} beats beam search: by {gain.mean():.3f} +- {error:.3f}"


def _verdict(is_true: bool) -> str:
    return f"{'holds' if is_true else 'DOES NOT HOLD':<15}"


# Everything.


def report(given: Any, exact: Reference, found: Curves, grown: Grown) -> str:
    """The text that is also in sparse_jets.txt."""
    every = runs.all_splits(given.leaves)
    jets = f"{given.test} test jets of {given.leaves} leaves (preset {given.preset})"
    target = f"The fewest hierarchies that reach a sparsity of {100 * runs.TARGET:g} %, or all"
    parts = [
        f"{jets}, up to {given.train} training jets, seed {given.seed}",
        report_reference(exact),
        report_points(found.points),
        f"{target}\n{report_points(found.targets)}",
        f"The fewest hierarchies that beat beam search on average, or all\n{report_points(found.crossings)}",
        report_grown(grown, every, given.min_share),
        report_claims(found.targets, exact, grown, every),
        report_table1(runs.table1(given.table1, given.preset, given.seed), given.preset),
    ]
    return "\n\n".join(parts)


def report_times(points: Sequence[Point], exact: Reference) -> str:
    """Milliseconds, which differ from run to run."""
    rows = [["milliseconds for the MAP of one jet, median", "order", "splits", "time"]]
    rows += [[name, "", "", f"{1e3 * seconds:.2f}"] for name, seconds in exact.seconds.items()]
    rows += [[p.source, p.order, str(p.trellis.n_splits), f"{1e3 * p.seconds:.2f}"] for p in points]
    return common.columns(rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, run, print."""
    command = common.parser("Sparse trellises for jets (figures 7, 11, 12 and 13).")
    command.add_argument("--leaves", type=int, default=9, help="particles in each jet (default: 9)")
    command.add_argument("--preset", choices=("qcd", "w"), default="qcd", help="kind of jets (default: qcd)")
    command.add_argument("--test", type=int, default=100, help="number of test jets (default: 100)")
    command.add_argument("--train", type=int, default=COUNTS[-1], help=f"training jets (default: {COUNTS[-1]})")
    command.add_argument("--table1", type=int, default=1000, help="jets of 5 to 10 leaves for table 1 (default: 1000)")
    command.add_argument("--min-share", type=float, default=MIN_SHARE, help=f"of growing (default: {MIN_SHARE:g})")
    command.add_argument("--seed", type=int, default=0, help="of the jets and of the random order (default: 0)")
    given = command.parse_args(arguments)
    if not 3 <= given.leaves <= 12 or min(given.test, given.train, given.table1) < 1:
        command.error("--leaves goes from 3 to 12, and there is at least one jet to test and one to train on")
    run(given)


def run(given: Any) -> None:
    """Simulate, build, draw, tell."""
    jets = runs.simulate(given.test, given.train, given.leaves, given.preset, given.seed)
    exact = runs.reference(jets)
    found = runs.curves(jets, exact, [*(count for count in COUNTS if count < given.train), given.train])
    grown = runs.grow(jets, exact, given.min_share)
    sparse_jets_figures.draw_all(found.points, exact, grown, given.leaves, given.out)
    common.tell(report(given, exact, found, grown), given.out / "sparse_jets.txt")
    (given.out / "times.txt").write_text(report_times(found.points, exact) + "\n", encoding="utf-8")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    main()
