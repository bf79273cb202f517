"""Newick text, one tree: `((a:1,b:2)0.95:0.5,'a name with spaces');`.

What is read, beyond the bare grammar:

- *Labels* in single quotes may hold anything, '' being one quote. Unquoted labels end at white space or
  one of ``()[]:;,'`` and are kept as they are: an underscore stays an underscore.
- *Leaves* need a label, and no two the same; the empty label must be written ``''``.
- *Inner nodes*: a label that is a number becomes the support of its cluster; any other is dropped.
- *Branch lengths* are finite decimal numbers; a branch without one has NaN. All are optional.
- *Comments* in ``[]``, nested or not, may stand wherever white space may, and are skipped.
- *Nodes with one child* are skipped and their branch lengths added up: ``((a:1):2,b:3);`` is ``(a:3,b:3);``.
- The semicolon at the end is required, so that a truncated file is noticed.

Labels are quoted on writing when they need it; numbers are written so that reading gives the same float.
"""

import math
import re
import reprlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from palmette.checks import branch_values, optional_node_values
from palmette.hierarchy import Hierarchy
from palmette.hierarchy.links import links_from_families
from palmette.hierarchy.support import Support, support_by_node

__all__ = ["NewickError", "read_newick", "write_newick"]

_BLANK = re.compile(r"\s*")
_BARE = re.compile(r"[^\s()\[\]:;,']+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_BRACKET = re.compile(r"[\[\]]")


class NewickError(ValueError):
    """Text that is not a Newick tree; `position` is the number of characters before the fault."""

    def __init__(self, problem: str, position: int) -> None:
        super().__init__(problem, position)
        self.problem = problem
        self.position = position

    def __str__(self) -> str:
        return f"not a Newick tree: {self.problem} (at character {self.position})"


class _Token(NamedTuple):
    kind: str  # one of ( ) , : ; or "label", "quoted", "end"
    text: str
    position: int


def read_newick(text: str) -> Hierarchy:
    """The hierarchy that one Newick text describes; leaves are numbered in the order of the text.

    >>> h = read_newick("((a:1,b:1)0.95:2,c:3);")
    >>> h.labels, h.branch_lengths, h.support
    (('a', 'b', 'c'), array([ 1.,  1.,  3.,  2., nan]), array([ nan,  nan,  nan, 0.95,  nan]))
    >>> read_newick("((a,b),c;")
    Traceback (most recent call last):
    palmette.formats.newick.NewickError: not a Newick tree: expected ',' or ')' but found ';' (at character 8)
    """
    if not isinstance(text, str):
        raise TypeError(f"Newick text must be a string, not a {type(text).__name__}")
    return _Builder().read(text)


class _Builder:
    """The families of a tree in the order in which they close; leaves are 0, 1, …, inner nodes ~0, ~1, …"""

    def __init__(self) -> None:
        self.families: list[list[int]] = []
        self.positions: dict[str, int] = {}  # by label
        self.lengths: dict[int, float] = {}
        self.support: dict[int, float] = {}

    def read(self, text: str) -> Hierarchy:
        tokens = _tokens(text)
        opened: list[list[int]] = []
        token = next(tokens)
        while True:
            while token.kind == "(":
                opened.append([])
                token = next(tokens)
            token = self.finish(self.leaf(token), next(tokens), tokens, opened)
            if not opened:
                break
            token = next(tokens)  # past the comma
        if token.kind != ";":
            raise _unexpected(token, "';'")
        token = next(tokens)
        if token.kind != "end":
            raise _unexpected(token, "the end of the text, which may hold one tree,")
        return self.hierarchy()

    def finish(self, node: int, token: _Token, tokens: Iterator[_Token], opened: list[list[int]]) -> _Token:
        """Complete `node` and every node that ends with it; return the token after them."""
        while True:
            token = self.length(node, token, tokens)
            if not opened:
                return token
            opened[-1].append(node)
            if token.kind == ",":
                return token
            if token.kind != ")":
                raise _unexpected(token, "',' or ')'")
            node, token = self.close(opened.pop(), next(tokens), tokens)

    def leaf(self, token: _Token) -> int:
        if token.kind not in ("label", "quoted"):
            raise _unexpected(token, "a leaf's label or '('")
        if token.text in self.positions:
            first = self.positions[token.text]
            raise NewickError(
                f"leaf {reprlib.repr(token.text)} occurs twice, first at character {first}; labels must differ",
                token.position,
            )
        self.positions[token.text] = token.position
        return len(self.positions) - 1

    def close(self, family: list[int], token: _Token, tokens: Iterator[_Token]) -> tuple[int, _Token]:
        skipped = len(family) == 1
        node = family[0] if skipped else ~len(self.families)
        if not skipped:
            self.families.append(family)
        if token.kind in ("label", "quoted"):
            value = _number(token.text)
            if not skipped and value is not None:
                self.support[node] = value
            token = next(tokens)
        return node, token

    def length(self, node: int, token: _Token, tokens: Iterator[_Token]) -> _Token:
        if token.kind != ":":
            return token
        token = next(tokens)
        value = _number(token.text) if token.kind == "label" else None
        if value is None:
            raise _unexpected(token, "a finite branch length")
        # Added only where there is something to add to: 0.0 + -0.0 would lose the sign.
        self.lengths[node] = self.lengths[node] + value if node in self.lengths else value
        return next(tokens)

    def hierarchy(self) -> Hierarchy:
        n, n_nodes = len(self.positions), len(self.positions) + len(self.families)
        values = np.full((2, n_nodes), np.nan)
        for row, entries in zip(values, (self.lengths, self.support), strict=True):
            for node, value in entries.items():
                row[node if node >= 0 else n + ~node] = value
        try:
            lengths = branch_values(values[0], n_nodes)
        except ValueError as problem:
            raise NewickError(str(problem), 0) from None
        support = optional_node_values(values[1], n_nodes, "support")
        return Hierarchy._make(links_from_families(self.families, n), tuple(self.positions), None, lengths, support)


def _unexpected(token: _Token, wanted: str) -> NewickError:
    found = "the text ends" if token.kind == "end" else f"found {reprlib.repr(token.text)}"
    return NewickError(f"expected {wanted} but {found}", token.position)


def _number(text: str) -> float | None:
    value = float(text) if _NUMBER.fullmatch(text) else math.inf
    return value if math.isfinite(value) else None


def _tokens(text: str) -> Iterator[_Token]:
    at = 1 if text.startswith("\ufeff") else 0  # a byte order mark
    while (at := _after_blanks(text, at)) < len(text):
        if text[at] in "(),:;":
            yield _Token(text[at], text[at], at)
            at += 1
        elif text[at] == "'":
            stop = _closing_quote(text, at)
            yield _Token("quoted", text[at + 1 : stop].replace("''", "'"), at)
            at = stop + 1
        elif found := _BARE.match(text, at):
            yield _Token("label", found[0], at)
            at = found.end()
        else:
            raise NewickError("']' closes no comment; put the label in single quotes", at)
    yield _Token("end", "", at)


def _after_blanks(text: str, at: int) -> int:
    while True:
        at += len(_BLANK.match(text, at)[0])  # type: ignore[index]  # matches the empty text too
        if not text.startswith("[", at):
            return at
        depth = 0
        for bracket in _BRACKET.finditer(text, at):
            depth += 1 if bracket[0] == "[" else -1
            if depth == 0:
                at = bracket.end()
                break
        else:
            raise NewickError("the comment that starts here is never closed; expected ']'", at)


def _closing_quote(text: str, at: int) -> int:
    stop = text.find("'", at + 1)
    while text.startswith("''", stop) and stop >= 0:
        stop = text.find("'", stop + 2)
    if stop < 0:
        raise NewickError("the quote that starts here is never closed; expected a single quote", at)
    return stop


def write_newick(hierarchy: Hierarchy, support: Support | None = None, *, branch_lengths: bool = True) -> str:
    """Newick text that `read_newick` reads back to an equal hierarchy, with the same lengths and support.

    `support`, a mapping from cluster to number or one number per node, names the inner nodes; when it is
    left out, the hierarchy's own support does. `branch_lengths=False` leaves lengths out.

    >>> write_newick(read_newick("(a :1e-5, 'b c'[a comment]:.5);"))
    "(a:1e-05,'b c':0.5);"
    """
    n = hierarchy.n_leaves
    ends = [_quoted(label) for label in hierarchy.labels] + [")"] * (hierarchy.n_nodes - n)
    _append(ends, support_by_node(hierarchy, support), "", first=n)
    _append(ends, hierarchy.branch_lengths if branch_lengths else None, ":", first=0)
    offsets, nodes = hierarchy.child_offsets.tolist(), hierarchy.child_nodes.tolist()
    pieces: list[str] = []
    waiting: list[int | str] = [hierarchy.n_nodes - 1]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str) or item < n:
            pieces.append(item if isinstance(item, str) else ends[item])
            continue
        pieces.append("(")
        waiting.append(ends[item])
        for child in reversed(nodes[offsets[item] : offsets[item + 1]]):
            waiting += (child, ",")
        waiting.pop()  # no comma before the first child
    return "".join(pieces) + ";"


def _append(ends: list[str], values: NDArray[np.float64] | None, mark: str, first: int) -> None:
    if values is not None:
        for node in np.flatnonzero(~np.isnan(values[first:])) + first:
            ends[node] += mark + repr(float(values[node])).removesuffix(".0")


def _quoted(label: str) -> str:
    if _BARE.fullmatch(label) and label.isprintable() and '"' not in label:
        return label
    return "'" + label.replace("'", "''") + "'"
