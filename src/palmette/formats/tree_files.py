"""Files of many trees, in Newick or Nexus.

*Newick*: trees as `palmette.formats.newick` describes them, each with its semicolon; line breaks, blank lines and
comments may stand between and within them. For *Nexus* see `palmette.formats.nexus_reading`.

A comment before a tree, such as ``[&W 1/3]`` or ``[&W 0.25]``, is its weight. ``[&R]`` says that the root is meant,
``[&U]`` that it is not: `palmette.hierarchy.TreeSet` keeps which. What is read is the root that is written, so a tree
that has three branches there becomes a hierarchy whose root has three children.

All trees must have the same leaves. The text is held in memory and read by compiled code. How a tree is written makes
no difference to the result; some unusual forms take longer.
"""

import re

from palmette.checks import check_choice
from palmette.formats.newick import parse_newick
from palmette.formats.nexus_reading import nexus_statements
from palmette.formats.tokens import NewickError, after_blanks, split_tokens, tree_rooted, tree_weight
from palmette.formats.tree_arrays import TreeArrays
from palmette.formats.tree_reader import Statements, newick_fault, read_statements, split_statements
from palmette.formats.tree_text import TextSource, TreeText, load_text

__all__ = ["read_tree_arrays"]

_NEXUS = re.compile(rb"\s*#nexus", re.IGNORECASE)
_ANY_MARK = re.compile(rb"\[\s*&[wru][\s\]]", re.IGNORECASE)


def read_tree_arrays(source: TextSource, format: str | None = None) -> TreeArrays:
    """All trees of a path, a file or a text; see `palmette.interop.read_trees`.

    >>> read_tree_arrays("((a,b),c); [&W 0.5] (b,c,a);").parents
    array([ 3,  3,  4,  4, -1,  3,  3,  3, -1], dtype=int32)
    """
    if format is not None:
        check_choice("format", format, ("newick", "nexus"), ", or None")
    text = load_text(source)
    if format is None:
        format = "nexus" if _NEXUS.match(text.data) else "newick"
    return read_statements(text, nexus_statements(text) if format == "nexus" else _newick_statements(text))


def _newick_statements(text: TreeText) -> Statements:
    starts, stops, n_open = split_statements(text)
    weights, rooted = [1.0] * len(starts), [-1] * len(starts)
    if _ANY_MARK.search(text.data):
        marks = [_marks(text, start, stop) for start, stop in zip(starts, stops, strict=True)]
        weights, rooted = [weight for weight, _ in marks], [known for _, known in marks]
    problem = _unfinished(text, stops[-1] + 1 if stops else 0)
    return Statements(starts, stops, n_open, weights, None, {0: None}, problem, rooted)


def _unfinished(text: TreeText, start: int) -> ValueError | None:
    """What is wrong with what comes after the last semicolon, unless it is nothing."""
    rest = text.part(start, len(text.data))
    try:
        if next(split_tokens(rest)).kind != "end":
            parse_newick(rest)
    except NewickError as problem:
        return newick_fault(text, start, problem)
    return None


def _marks(text: TreeText, start: int, stop: int) -> tuple[float, int]:
    statement = text.part(start, stop + 1)
    try:
        end = after_blanks(statement, 0)
        return tree_weight(statement, 0, end), tree_rooted(statement, 0, end)
    except NewickError as problem:
        raise newick_fault(text, start, problem) from None
