"""Pictures for a terminal: a hierarchy in one row per leaf, and bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from palmette.hierarchy import Hierarchy

__all__ = ["bar", "cluster_text", "dendrogram", "one_line", "percent"]

_STEP = 6  # columns for a support value and a branch


def dendrogram(
    hierarchy: Hierarchy,
    support: Sequence[float] | None = None,
    *,
    classes: Sequence[str | None] | None = None,
    width: int = 100,
    max_rows: int = 40,
) -> str:
    """A hierarchy with the root on the left, and the support of each cluster in front of its branches.

    `support` has one number per node. The smallest clusters are folded up if there are more than `max_rows` leaves, and
    so is what does not fit into `width` columns.

    >>> import palmette as pal
    >>> print(dendrogram(pal.Hierarchy.from_newick("((a,b)0.75,(c,d)1);"), [0, 0, 0, 0, 0.75, 1.0, 1.0]))
    ─┬─0.75─┬─ a
     │      └─ b
     └─1.00─┬─ c
            └─ d
    """
    folded = _folded(hierarchy, max_rows, max((width - 30) // (_STEP + 1), 2))
    lines = []
    stack = [(hierarchy.n_nodes - 1, "─", "")]  # node, what stands before it in its row, and in the rows below
    while stack:
        node, here, below = stack.pop()
        if node < hierarchy.n_leaves or node in folded:
            lines.append(f"{here} {_name(hierarchy, node, classes)}")
            continue
        children = hierarchy.children_of(node)
        number = "" if support is None or node == hierarchy.n_nodes - 1 else f"{support[node]:.2f}─"
        shift = below + " " * (len(here) - len(below) + len(number))
        for i, child in reversed(list(enumerate(children))):
            corner = "┬" if i == 0 else "└" if i == len(children) - 1 else "├"
            start = f"{here}{number}" if i == 0 else shift
            after = shift + (" " if i == len(children) - 1 else "│")
            stack.append((child, f"{start}{corner}─", after))
    return "\n".join(lines)


def _folded(hierarchy: Hierarchy, max_rows: int, max_depth: int) -> set[int]:
    # Inner nodes that are shown as one row. Large clusters are opened first.
    if hierarchy.n_nodes == 1:
        return set()
    closed, depth = {hierarchy.n_nodes - 1}, {hierarchy.n_nodes - 1: 0}
    n_rows = 1
    while closed:
        node = max(closed, key=lambda v: (hierarchy.sizes[v], v))
        children = hierarchy.children_of(node)
        if n_rows + len(children) - 1 > max_rows and node != hierarchy.n_nodes - 1:
            break
        closed.remove(node)
        n_rows += len(children) - 1
        for child in children:
            depth[child] = depth[node] + 1
            if child >= hierarchy.n_leaves and depth[child] < max_depth:
                closed.add(child)
    return {v for v in depth if v >= hierarchy.n_leaves and (v in closed or depth[v] >= max_depth)}


def _name(hierarchy: Hierarchy, node: int, classes: Sequence[str | None] | None) -> str:
    if node < hierarchy.n_leaves:
        own = classes[node] if classes else None
        return one_line(hierarchy.labels[node]) + ("" if own is None else f"  [{one_line(own)}]")
    members = [hierarchy.labels[leaf] for leaf in hierarchy.leaves_below(node)]
    return cluster_text(members, 40) + f" ({len(members)} leaves)"


def one_line(text: str) -> str:
    """Text without control characters, which would draw over the rest."""
    return "".join(letter if letter.isprintable() else "�" for letter in text)


def cluster_text(members: Sequence[str], width: int = 70) -> str:
    """A cluster in braces; only the first of its members if it is long.

    >>> cluster_text(["a", "b"])
    '{a, b}'
    """
    names = [one_line(name) for name in members[:width]]
    for shown in range(len(names), 0, -1):
        more = f" and {len(members) - shown} more" if shown < len(members) else ""
        text = "{" + ", ".join(names[:shown]) + more + "}"
        if len(text) <= width or shown == 1:
            return text
    return "{}"


def bar(share: float, width: int = 20) -> str:
    """A share of 1 as a bar.

    >>> bar(0.5, 4)
    '██··'
    """
    return ("█" * round(width * share)).ljust(width, "·")


def percent(probability: float) -> str:
    """A probability as people read it.

    >>> percent(0.0183), percent(1.0), percent(3e-9)
    ('1.83 %', '100.00 %', '3e-07 %')
    """
    hundred = 100 * probability
    return f"{hundred:.2f} %" if hundred >= 0.01 or hundred == 0 else f"{hundred:.0e} %"
