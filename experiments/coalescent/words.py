"""The kind of table 3: flat clusters of mails by likelihood ratio, with the words that tell them from the others.

    python experiments/coalescent/words.py --data DIR [--out DIR]

DIR holds spambase.csv.gz: 57 attributes, then column spam. The paper has abstracts of a conference, for which we know
of no file with a licence. All choices are in settings.toml. README.md has the numbers.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

import common
import numpy as np
from common import Floats, Ints
from table1 import read_mails

import palmette as pal
from palmette.coalescent import IndependentSites, fit, flat_clusters, log_ratios


def characteristic(x: Floats, members: Ints, names: Sequence[str], count: int) -> list[str]:
    """The attributes with the largest log ratio of their smoothed shares within and outside, largest first."""
    is_member = np.zeros(len(x), dtype=bool)
    is_member[members] = True
    inside, outside = x[is_member], x[~is_member]
    share = (inside.sum(axis=0) + 0.5) / (len(inside) + 1)
    other = (outside.sum(axis=0) + 0.5) / (len(outside) + 1)
    # By what an attribute contributes to telling the two apart, and only what is more frequent inside.
    weight = share * np.log(share / other)
    return [names[k] for k in np.argsort(-weight, kind="stable")[:count] if share[k] > other[k]]


def nodes_of(tree: pal.Hierarchy, clusters: Sequence[Ints]) -> list[int]:
    """The node of each cluster."""
    by_members = {frozenset(map(int, cluster)): node for node, cluster in enumerate(tree.clusters())}
    return [by_members[frozenset(cluster.tolist())] for cluster in clusters]


def report(
    x: Floats, spam: Ints, names: Sequence[str], chosen: dict[str, Any], tree: pal.Hierarchy, process: Any
) -> str:
    """The largest clusters, with log ratio, time, words and the share of spam."""
    membership = flat_clusters(x, tree, process, chosen["threshold"]).membership
    clusters = [np.flatnonzero(membership == number) for number in np.unique(membership)]
    clusters.sort(key=len, reverse=True)
    ratios, n = log_ratios(x, tree, process), tree.n_leaves
    rows = [["LLR (t)", "mails", "spam", "characteristic attributes"]]
    shown = [cluster for cluster in clusters if len(cluster) > 1][: chosen["shown_clusters"]]
    for cluster, node in zip(shown, nodes_of(tree, shown), strict=True):
        told = f"{ratios[node - n]:.3g} ({-tree.heights[node]:.2f})"
        words = " ".join(characteristic(x, cluster, names, chosen["shown_words"]))
        rows.append([told, str(len(cluster)), f"{100 * spam[cluster].mean():.0f} %", words])
    single = sum(len(cluster) == 1 for cluster in clusters)
    title = f"{n} mails: {len(clusters)} clusters, {single} of them single mails; the largest:"
    return title + "\n" + common.columns(rows, left=4)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, run, print."""
    given = common.parser("Flat clusters of mails and their words.", "folder with spambase.csv.gz").parse_args(
        arguments
    )
    chosen, started = common.settings("words", given.settings), time.perf_counter()
    x, classes, header = read_mails(given.data)
    names = [name.removeprefix("word_freq_").removeprefix("char_freq_") for name in header]
    rows = np.sort(np.random.default_rng(chosen["seed"]).choice(len(x), min(chosen["mails"], len(x)), replace=False))
    process, found = fit(x[rows], IndependentSites(chosen["rate"]), rounds=chosen["rounds"])
    spam = np.array([int(each) for each in classes])[rows]
    text = report(x[rows], spam, names, chosen, found.hierarchy, process)
    common.tell(text, given.out / "words.txt")
    print(f"  {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    main()
