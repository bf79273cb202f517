"""Two more ways in which a hierarchy can agree with classes: classes as clusters, and classes of nearest leaves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from palmette.array_types import Ints
from palmette.checks import check_choice
from palmette.evaluate._inputs import Annotation, Classes, read_classes, require_pairs
from palmette.hierarchy import Hierarchy

__all__ = ["leave_one_out_accuracy", "subtree_score"]


def _row(hierarchy: Hierarchy, annotation: Annotation) -> tuple[Ints, Ints, Ints]:
    # Of the m leaves that have a class, in leaf order, (m,) their classes, and (m − 1,) the lowest common ancestor of
    # each and the next one; (n_nodes, 2): where those below node v begin and end in this row.
    order = hierarchy.leaf_order
    has_class = annotation.numbers[order] >= 0
    leaves = order[has_class]
    before = np.concatenate(([0], np.cumsum(has_class)))
    return annotation.numbers[leaves], hierarchy.lca(leaves[:-1], leaves[1:]), before[hierarchy.intervals]


def subtree_score(hierarchy: Hierarchy, classes: Classes, *, labels: Iterable[str] | None = None) -> float:
    """The number of merges inside one class, over n − K: so many turn n leaves of K classes into K pure clusters.

    A cluster whose leaves are all of one class is one merge if it is binary, and m − 1 merges if it has m parts. The
    result lies in [0, 1], and is 1 if and only if every class is a cluster.

    `classes` and `labels` are those of `dendrogram_purity`, and leaves without a class are left out as they are there.

    >>> h = Hierarchy.from_newick("(((a,b),c),(d,(e,f)));")
    >>> subtree_score(h, ["x", "x", "y", "y", "y", "y"])  # {a, b}, {e, f} and {d, e, f}, of 6 − 2
    0.75
    """
    annotation = read_classes(hierarchy, classes, labels)
    require_pairs(annotation)
    numbers, meeting, spans = _row(hierarchy, annotation)
    changes = np.concatenate(([0], np.cumsum(np.diff(numbers) != 0)))
    first, stop = spans[meeting].T
    n_pure = int(np.count_nonzero(changes[first] == changes[stop - 1]))
    return n_pure / (len(numbers) - len(annotation.sizes))


def leave_one_out_accuracy(
    hierarchy: Hierarchy,
    classes: Classes,
    rule: Literal["majority", "fraction"] = "majority",
    *,
    labels: Iterable[str] | None = None,
) -> float:
    """The mean, over leaves, of how well the nearest other leaves foretell the leaf's class.

    The nearest leaves of i are all others in the smallest cluster that holds i and another leaf with a class; in a
    binary hierarchy, those below its sibling.

    - `rule="majority"` foretells the class that most of them have; if t classes tie and the right one is among them,
      that counts 1/t;
    - `rule="fraction"` draws one of them: the share of the right class.

    A leaf that is alone in its class counts, and is never foretold. `classes` and `labels` are those of
    `dendrogram_purity`, and leaves without a class are left out as they are there. Takes O(n · K) time for K classes.

    >>> h = Hierarchy.from_newick("(((a,b),c),(d,(e,f)));")
    >>> leave_one_out_accuracy(h, ["x", "x", "y", "y", "y", "y"])  # all but c
    0.8333333333333334
    """
    check_choice("rule", rule, ("majority", "fraction"))
    annotation = read_classes(hierarchy, classes, labels)
    if annotation.sizes.sum() < 2:
        raise ValueError("fewer than two leaves have a class, so none can be foretold; give a class to two or more")
    right, most, n_most, n_near = _votes(hierarchy, annotation)
    credit = right / n_near if rule == "fraction" else (right == most) / n_most
    return float(credit.mean())


def _votes(hierarchy: Hierarchy, annotation: Annotation) -> tuple[Ints, Ints, Ints, Ints]:
    # For each leaf, among the leaves nearest to it: how many are of its class, how many of the most frequent class,
    # how many classes are as frequent as that, and how many leaves there are.
    numbers, meeting, spans = _row(hierarchy, annotation)
    beside = np.concatenate(([hierarchy.n_nodes], meeting, [hierarchy.n_nodes]))
    first, stop = spans[np.minimum(beside[:-1], beside[1:])].T  # of two ancestors the lower has the lower number
    right, most, n_most = (np.zeros(len(numbers), dtype=np.int64) for _ in range(3))
    for number in range(len(annotation.sizes)):
        own = numbers == number
        before = np.concatenate(([0], np.cumsum(own)))
        votes = before[stop] - before[first] - own
        right[own] = votes[own]
        n_most = np.where(votes > most, 1, n_most + (votes == most))
        most = np.maximum(most, votes)
    return right, most, n_most, stop - first - 1
