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

import reprlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from palmette.array_types import Floats
from palmette.checks import branch_values, optional_node_values
from palmette.formats.tokens import BARE, NewickError, Token, quoted, read_number, split_tokens, unexpected
from palmette.links import Links, links_from_families

__all__ = ["NewickTree", "newick_text", "parse_newick"]


class NewickTree(NamedTuple):
    """What a Newick text says: leaves in the order of the text, inner nodes in that of their closing brackets."""

    labels: tuple[str, ...]  # of the leaves
    links: Links
    lengths: Floats | None  # (n_nodes,): of the branch above each node, NaN for none; None if there are none at all
    support: Floats | None  # (n_nodes,): the number that an inner node is called, NaN for none; None likewise


def parse_newick(text: str) -> NewickTree:
    """The tree that one Newick text describes.

    >>> tree = parse_newick("((a:1,b:1)0.95:2,c:3);")
    >>> tree.labels, tree.links.parents, tree.lengths
    (('a', 'b', 'c'), array([ 3,  3,  4,  4, -1]), array([ 1.,  1.,  3.,  2., nan]))
    >>> parse_newick("((a,b),c;")
    Traceback (most recent call last):
    palmette.formats.tokens.NewickError: not a Newick tree: expected ',' or ')' but found ';' (at character 8)
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

    def read(self, text: str) -> NewickTree:
        tokens = split_tokens(text)
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
            raise unexpected(token, "';'")
        token = next(tokens)
        if token.kind != "end":
            raise unexpected(token, "the end of the text, which may hold one tree,")
        return self.tree()

    def finish(self, node: int, token: Token, tokens: Iterator[Token], opened: list[list[int]]) -> Token:
        """Complete `node` and every node that ends with it; return the token after them."""
        while True:
            token = self.length(node, token, tokens)
            if not opened:
                return token
            opened[-1].append(node)
            if token.kind == ",":
                return token
            if token.kind != ")":
                raise unexpected(token, "',' or ')'")
            node, token = self.close(opened.pop(), next(tokens), tokens)

    def leaf(self, token: Token) -> int:
        if token.kind not in ("label", "quoted"):
            raise unexpected(token, "a leaf's label or '('")
        if token.text in self.positions:
            first = self.positions[token.text]
            raise NewickError(
                f"leaf {reprlib.repr(token.text)} occurs twice, first at character {first}; labels must differ",
                token.position,
            )
        self.positions[token.text] = token.position
        return len(self.positions) - 1

    def close(self, family: list[int], token: Token, tokens: Iterator[Token]) -> tuple[int, Token]:
        skipped = len(family) == 1
        node = family[0] if skipped else ~len(self.families)
        if not skipped:
            self.families.append(family)
        if token.kind in ("label", "quoted"):
            value = read_number(token.text)
            if not skipped and value is not None:
                self.support[node] = value
            token = next(tokens)
        return node, token

    def length(self, node: int, token: Token, tokens: Iterator[Token]) -> Token:
        if token.kind != ":":
            return token
        token = next(tokens)
        value = read_number(token.text) if token.kind == "label" else None
        if value is None:
            raise unexpected(token, "a finite branch length")
        # Added only where there is something to add to: 0.0 + -0.0 would lose the sign.
        self.lengths[node] = self.lengths[node] + value if node in self.lengths else value
        return next(tokens)

    def tree(self) -> NewickTree:
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
        return NewickTree(tuple(self.positions), links_from_families(self.families, n), lengths, support)


def newick_text(tree: NewickTree, digits: int | None = None) -> str:
    """Newick text that `parse_newick` reads back to the same tree, unless numbers are to have so few digits.

    >>> newick_text(parse_newick("(a :1e-5, 'b c'[a comment]:.5);"))
    "(a:1e-05,'b c':0.5);"
    >>> newick_text(parse_newick("(a:0.123,b:10.2);"), digits=2)
    '(a:0.12,b:10);'
    """
    n, n_nodes = len(tree.labels), len(tree.links.parents)
    ends = [_as_label(label) for label in tree.labels] + [")"] * (n_nodes - n)
    _append(ends, tree.support, "", n, digits)
    _append(ends, tree.lengths, ":", 0, digits)
    offsets, nodes = tree.links.child_offsets.tolist(), tree.links.child_nodes.tolist()
    pieces: list[str] = []
    waiting: list[int | str] = [n_nodes - 1]
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


def _append(ends: list[str], values: Floats | None, mark: str, first: int, digits: int | None) -> None:
    if values is not None:
        for node in np.flatnonzero(~np.isnan(values[first:])) + first:
            value = float(values[node])
            ends[node] += mark + (repr(value).removesuffix(".0") if digits is None else f"{value:.{digits}g}")


def _as_label(label: str) -> str:
    plain = BARE.fullmatch(label) and label.isprintable() and '"' not in label
    return label if plain else quoted(label)
