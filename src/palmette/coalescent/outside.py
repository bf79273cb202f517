"""What the rest of a history says to each of its lineages.

Seen from a lineage b, the rest of the history is a lineage as well. Its message, the *outside message* of b, is

    outside(b) = join(outside(parent of b), sibling of b)

because a reversible process does not mind where the root is. So the state at any point of any branch is the join of two
messages, and how likely a new row is there is one more meeting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette._jit import specialise
from palmette.array_types import Floats
from palmette.coalescent.joint import ages_of, evaluate_events
from palmette.coalescent.process import Prepared
from palmette.hierarchy import Hierarchy

__all__ = ["BothSides", "both_sides"]

join: Any = None  # a process's, put in by `specialise`


@dataclass(frozen=True, eq=False)
class BothSides:
    """Both sides of every branch: ``messages`` (2n − 1, n_message) from below, ``outside`` from above.

    The outside message of node b lies ``reach[b]`` away from b; inf for a root above which nothing is known.
    """

    ages: Floats
    messages: Floats
    outside: Floats
    reach: Floats


def both_sides(prepared: Prepared, hierarchy: Hierarchy) -> BothSides:
    """One pass up and one down."""
    messages = evaluate_events(prepared, hierarchy).messages
    ages, root = ages_of(hierarchy), prepared.kind.root_message(prepared.theta)
    outside, reach = np.zeros_like(messages), np.full(len(ages), np.inf)
    if root is not None:
        outside[-1], reach[-1] = root, 0.0
    children = np.ascontiguousarray(hierarchy.children)
    specialise(_down, join=prepared.kind.join)(prepared.theta, children, ages, messages, outside, reach)
    return BothSides(ages, messages, outside, reach)


def _down(theta, children, ages, messages, outside, reach):
    n = children.shape[0] + 1
    for i in range(n - 2, -1, -1):
        node = n + i
        for side in range(2):
            b, sibling = children[i, side], children[i, 1 - side]
            up, down = ages[node] - ages[b], ages[node] - ages[sibling]
            if reach[node] == np.inf:
                outside[b] = messages[sibling]
                reach[b] = up + down
            else:
                join(theta, outside[node], reach[node], messages[sibling], down, outside[b])
                reach[b] = up
