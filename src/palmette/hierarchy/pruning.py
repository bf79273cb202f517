"""The cheapest way to cut a tree into k clusters: f_v(1) = cost of v, f_v(k) = min of f_L(i) + f_R(k − i) over i."""

from __future__ import annotations

import numpy as np

from palmette.array_types import Floats, Ints
from palmette.links import Links

__all__ = ["cheapest_nodes"]


def cheapest_nodes(links: Links, costs: Floats, k: int) -> Ints | None:
    """k nodes whose clusters hold every leaf once, with the smallest sum of `costs`; None if no cut has k clusters.

    Each node needs a table of at most k numbers, so it takes O(n k) steps.
    """
    tables: list[Floats] = []
    choices: list[list[Ints]] = []  # for each node, how many clusters all children before the last, the next, … get
    for node, cost in enumerate(costs.tolist()):
        below = links.children_of(node)
        table, chosen = (tables[below[0]] if below else np.empty(0)), []
        for child in below[1:]:
            table, choice = _together(table, tables[child], k)
            chosen.append(choice)
        tables.append(np.concatenate([[cost], table[1:]]))
        choices.append(chosen)
        for child in below:
            tables[child] = np.empty(0)  # no longer needed
    if k > len(tables[-1]) or tables[-1][k - 1] == np.inf:
        return None
    found, waiting = [], [(len(costs) - 1, k)]
    while waiting:
        node, count = waiting.pop()
        if count == 1:
            found.append(node)
            continue
        below = links.children_of(node)
        for child, choice in zip(below[:0:-1], choices[node][::-1], strict=True):
            before = int(choice[count - 1])
            waiting.append((child, count - before))
            count = before
        waiting.append((below[0], count))
    return np.array(found)


def _together(one: Floats, two: Floats, k: int) -> tuple[Floats, Ints]:
    # The cheapest of 1, 2, …, k clusters in two trees side by side, and how many of them are in the first.
    if len(two) < len(one):
        best, second = _together(two, one, k)
        return best, np.arange(1, len(best) + 1) - second
    size = min(k, len(one) + len(two))
    best, first = np.full(size, np.inf), np.zeros(size, dtype=np.int64)
    for i, cost in enumerate(one[: size - 1].tolist(), start=1):
        row = cost + two[: size - i]
        better = row < best[i : i + len(row)]
        best[i : i + len(row)][better] = row[better]
        first[i : i + len(row)][better] = i
    return best, first
