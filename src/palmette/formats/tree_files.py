"""Files of many trees, in Newick or Nexus.

*Newick*: trees as `palmette.formats.newick` describes them, each with its semicolon; line breaks, blank lines and
comments may stand between and within them. For *Nexus* see `palmette.formats.nexus`.

A comment before a tree, such as ``[&W 1/3]`` or ``[&W 0.25]``, is its weight. ``[&R]`` and ``[&U]`` are accepted and
change nothing: a hierarchy has the root that is written, so a tree that is marked as unrooted and has three branches at
the root becomes a hierarchy whose root has three children.

All trees must have the same leaves. The text is held in memory and read by compiled code. How a tree is written makes
no difference to the result; some unusual forms take longer.
"""

import re
from collections.abc import Iterable
from typing import Literal

from palmette.formats.newick import NewickError, _after_blanks, _tokens, read_newick, write_newick
from palmette.formats.nexus_commands import nexus_statements, tree_weight
from palmette.formats.tree_reader import Statements, newick_fault, read_statements, split_statements
from palmette.formats.tree_text import TextSource, TreeText, deliver_text, load_text
from palmette.hierarchy import Hierarchy
from palmette.hierarchy.tree_set import TreeSet

__all__ = ["read_trees", "write_newick_file"]

_NEXUS = re.compile(rb"\s*#nexus", re.IGNORECASE)
_ANY_WEIGHT = re.compile(rb"\[\s*&w\s", re.IGNORECASE)


def read_trees(source: TextSource, *, format: Literal["newick", "nexus"] | None = None) -> TreeSet:
    """All trees of a file as a sequence of hierarchies over the same labels.

    `source` is a path, a file, or the text itself: a string with a semicolon or a line break. A path that ends in
    ``.gz`` is decompressed. Text that begins with ``#NEXUS`` is Nexus, any other is Newick, unless `format` says which.

    The labels are in the order of the first tree; in Nexus in that of TAXLABELS, or else of TRANSLATE. What is wrong
    with a file is raised as a ValueError that names the line.

    >>> trees = read_trees("((a:1,b:1):2,c:3); [&W 0.5] (b,c,a);")
    >>> len(trees), trees.labels, trees.weights
    (2, ('a', 'b', 'c'), array([1. , 0.5]))
    >>> trees[0].branch_lengths
    array([ 1.,  1.,  3.,  2., nan])
    >>> read_trees("((a,b),c);" + chr(10) + "((a,b,c);")
    Traceback (most recent call last):
    ValueError: the text, line 2, column 9: expected ',' or ')' but found ';'
    """
    if format not in (None, "newick", "nexus"):
        raise ValueError(f"format must be 'newick', 'nexus' or None, not {format!r}")
    text = load_text(source)
    if format is None:
        format = "nexus" if _NEXUS.match(text.data) else "newick"
    return read_statements(text, nexus_statements(text) if format == "nexus" else _newick_statements(text))


def _newick_statements(text: TreeText) -> Statements:
    starts, stops, n_open = split_statements(text)
    weights = [1.0] * len(starts)
    if _ANY_WEIGHT.search(text.data):
        weights = [_weight(text, start, stop) for start, stop in zip(starts, stops, strict=True)]
    problem = _unfinished(text, stops[-1] + 1 if stops else 0)
    return Statements(starts, stops, n_open, weights, None, {0: None}, problem)


def _unfinished(text: TreeText, start: int) -> ValueError | None:
    """What is wrong with what comes after the last semicolon, unless it is nothing."""
    rest = text.part(start, len(text.data))
    try:
        if next(_tokens(rest)).kind != "end":
            read_newick(rest)
    except NewickError as problem:
        return newick_fault(text, start, problem)
    return None


def _weight(text: TreeText, start: int, stop: int) -> float:
    statement = text.part(start, stop + 1)
    try:
        return tree_weight(statement, 0, _after_blanks(statement, 0))
    except NewickError as problem:
        raise newick_fault(text, start, problem) from None


def write_newick_file(hierarchies: Iterable[Hierarchy], path_or_file: TextSource | None = None) -> str | None:
    r"""One line of Newick per hierarchy; returned as text unless there is a path or a file to write to.

    >>> write_newick_file([Hierarchy.from_newick("((a,b),c);"), Hierarchy.from_newick("(a,(b,c));")])
    '((a,b),c);\n(a,(b,c));\n'
    """
    return deliver_text("".join(write_newick(h) + "\n" for h in hierarchies), path_or_file)
