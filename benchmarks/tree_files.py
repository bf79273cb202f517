"""Reading files of many trees: our own numbers in compiled code, against letting NumPy or Python convert them.

    python benchmarks/tree_files.py [--trees 10000] [--leaves 100] [--repeat 5]

Binary trees with a length on every branch, as other programs write their draws. `read_trees` reads the file, all of it.
The others are handed the lengths alone, cut out of the text already, and do nothing but convert them. PASS means: every
one of them takes longer than `read_trees` does, so that no reader that leaves the numbers to it could be as fast.
"""

from __future__ import annotations

import argparse
import re

import numpy as np
from _measuring import best_time, seconds, verdict
from _tables import lines_of

import palmette as pal

SHAPES = 20  # that trees have, in turn: lengths differ in all of them


def tree_text(n_trees: int, n_leaves: int) -> str:
    """So many Newick trees, one in a line."""
    rng = np.random.default_rng(0)
    shapes = [shape(n_leaves, rng) for _ in range(SHAPES)]
    lengths = rng.exponential(size=(n_trees, 2 * n_leaves - 2))
    return "\n".join(shapes[t % SHAPES] % tuple(row) for t, row in enumerate(lengths.tolist()))


def shape(n_leaves: int, rng: np.random.Generator) -> str:
    """A binary tree with a place for each length."""
    parts = [f"leaf{i}" for i in range(n_leaves)]
    while len(parts) > 1:
        i, j = sorted(rng.choice(len(parts), 2, replace=False))
        other = parts.pop(j)
        parts[i] = f"({parts[i]}:%.9g,{other}:%.9g)"
    return f"{parts[0]};"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=int, default=10_000)
    parser.add_argument("--leaves", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    text = tree_text(arguments.trees, arguments.leaves)
    pal.interop.read_trees("(a:1,b:2);")  # compiles
    whole, trees = best_time(lambda: pal.interop.read_trees(text), arguments.repeat)

    spans = re.findall(rb"(?<=:)[^,)]+", text.encode())
    joined, table = b" ".join(spans), np.array(spans)
    rivals = {
        "np.fromstring": lambda: np.fromstring(joined, sep=" "),
        "astype from bytes": lambda: table.astype(np.float64),
        "Python's float": lambda: np.array(list(map(float, spans))),
    }
    times = {name: seconds(convert, arguments.repeat) for name, convert in rivals.items()}
    rows = [["read_trees, all of it", f"{whole:.2f}", "1.0 ×"]]
    rows += [[f"{name}, lengths alone", f"{took:.2f}", f"{took / whole:.1f} ×"] for name, took in times.items()]
    print(f"{len(trees):,} trees of {arguments.leaves} leaves, {len(text) / 1e6:.0f} MB, {len(spans):,} lengths\n")
    print("\n".join(lines_of(["", "seconds", "ratio"], rows)), "\n")
    for name, took in times.items():
        verdict(took > whole, f"{name} takes {took / whole:.1f} times as long for the numbers as read_trees for all")


if __name__ == "__main__":
    main()
