"""Statements, one tree each, into a few flat arrays: by the compiled scanner, or else by `parse_newick`."""

import re
import reprlib
from collections.abc import Iterable, Mapping
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from palmette.array_types import Floats, Indices, Ints
from palmette.formats.newick import NewickTree, parse_newick
from palmette.formats.scanner import NONE, find_statements, index_tokens, scan_trees
from palmette.formats.tokens import BARE, NUMBER, NewickError, quoted, split_tokens
from palmette.formats.tree_arrays import TreeArrays
from palmette.formats.tree_text import TreeText
from palmette.labels import leaf_index

_AT_ONCE = 1024  # statements per call of the scanner, so that Ctrl-C is heard
_LARGE = 1e279  # lengths below it add up to a float, however many there are
_NUMBER_BYTES = re.compile(NUMBER.pattern.encode())
_FIRST_SEEN = re.compile(r"first at character (\d+)(?=; labels must differ$)")


class Naming(NamedTuple):
    """Which label the token of a leaf stands for, in some of the trees."""

    labels: Mapping[str, str]  # by token
    order: Mapping[str, int]  # of the labels
    accepted: str  # what a token can be, in words


class Statements(NamedTuple):
    """Where the trees of a text are; lists have one entry per tree."""

    starts: list[int]
    stops: list[int]  # where the semicolons are
    n_open: list[int]  # how many '(' there are, at least
    weights: list[float]
    names: list[str] | None
    namings: dict[int, Naming | None]  # by the first tree of those that share it; None: tokens are labels
    problem: ValueError | None  # what is wrong after the last of them
    rooted: list[int]  # 1 for [&R], 0 for [&U], −1 if nothing is said


def split_statements(text: TreeText) -> tuple[list[int], list[int], list[int]]:
    """Where each statement begins and ends, and how many '(' it has.

    >>> split_statements(TreeText("", b"(a,b); [a;b] 'a;b'; "))
    ([0, 6], [5, 18], [1, 0])
    """
    data = np.frombuffer(text.data, dtype=np.uint8)
    ends, n_open = np.empty((2, text.data.count(b";")), dtype=np.int64)
    count = find_statements(data, ends, n_open)
    stops = ends[:count].tolist()
    return [0, *(stop + 1 for stop in stops[:-1])][:count], stops, n_open[:count].tolist()


def read_statements(text: TreeText, statements: Statements) -> TreeArrays:
    """All trees, which must have the same leaves; the first error in the order of the text is raised."""
    if not statements.starts:
        raise statements.problem or ValueError(
            f"{text.name} holds no tree; expected Newick trees, each with ';' at its end, or a Nexus TREES block"
        )
    reader = _Reader(text, statements)
    bounds = [*statements.namings, len(statements.starts)]
    for (first, naming), last in zip(statements.namings.items(), bounds[1:], strict=True):
        reader.read(first, last, naming)
    if statements.problem is not None:
        raise statements.problem
    return reader.trees()


class _Reader:
    """The arrays of all trees, filled tree by tree; see `scan_trees` for what they are."""

    def __init__(self, text: TreeText, statements: Statements) -> None:
        self.text, self.statements = text, statements
        self.data = np.frombuffer(text.data, dtype=np.uint8)
        self.starts, self.stops, n_open = (np.array(x, dtype=np.int64) for x in statements[:3])
        naming = statements.namings[0]
        self.labels = self._labels(0, self._parse(0).labels, naming)
        if naming is not None:
            self.labels.sort(key=naming.order.__getitem__)
        self.index = leaf_index(self.labels)
        n, n_trees = len(self.labels), len(self.starts)
        capacity = int((n + np.minimum(n_open, n - 1)).sum())
        self.offsets = np.zeros(n_trees + 1, dtype=np.int64)
        self.parents = np.empty(capacity, dtype=np.int32)
        self.lengths, self.support = np.empty(capacity), np.empty(capacity)
        self.orders = np.empty((n_trees, n), dtype=np.int32)
        self.room = (np.zeros(n, dtype=np.int64), np.empty(n_open.max() + 1, dtype=np.int64), np.empty(n + 1, np.int64))

    def trees(self) -> TreeArrays:
        end = self.offsets[-1]
        names = self.statements.names
        return TreeArrays(
            tuple(self.labels),
            self.offsets,
            self.parents[:end],
            self.orders,
            _unless_none(self.lengths[:end]),
            _unless_none(self.support[:end]),
            np.array(self.statements.weights, dtype=np.float64),
            None if names is None else tuple(names),
            np.array(self.statements.rooted, dtype=np.int8),
        )

    def read(self, first: int, last: int, naming: Naming | None) -> None:
        """Trees `first` to `last` − 1, whose leaves are named in one way."""
        leaves = self.index
        if naming is not None:
            leaves = {token: leaves[label] for token, label in naming.labels.items() if label in leaves}
        index = token_index(leaves)
        numbers = self.lengths.view(np.int64), self.support.view(np.int64)
        arrays = (self.offsets, self.parents, *numbers, self.orders)
        while first < last:
            stop = min(first + _AT_ONCE, last)
            done = scan_trees(self.data, self.starts, self.stops, first, stop, index, self.room, arrays)
            self._finish_numbers(first, done)
            if done < stop:
                self._read_slowly(done, naming)
                done += 1
            first = done

    def _finish_numbers(self, first: int, last: int) -> None:
        """Read the numbers that the scanner left to Python."""
        start, stop = self.offsets[[first, last]]
        for values, needed in ((self.lengths[start:stop], True), (self.support[start:stop], False)):
            bits = values.view(np.int64)
            for node in np.flatnonzero(bits > NONE):
                found = _NUMBER_BYTES.match(self.text.data, int(bits[node]) - NONE - 1)
                value = float(found[0]) if found else np.nan
                if needed and not abs(value) < _LARGE:
                    self._parse(int(np.searchsorted(self.offsets[: last + 1], start + node, side="right")) - 1)
                values[node] = value if np.isfinite(value) else np.nan

    def _read_slowly(self, tree: int, naming: Naming | None) -> None:
        """One tree by `parse_newick`, which says what is wrong if something is."""
        labels, links, lengths, support = self._parse(tree)
        leaves = self._leaves(tree, labels, naming)
        start, n_nodes = self.offsets[tree], len(links.parents)
        stop = self.offsets[tree + 1] = start + n_nodes
        nodes = np.concatenate((leaves, np.arange(len(leaves), n_nodes))) + start
        self.parents[nodes] = links.parents
        self.lengths[nodes] = np.nan if lengths is None else lengths
        self.support[start:stop] = np.nan if support is None else support  # leaves have none
        self.orders[tree] = leaves

    def _parse(self, tree: int) -> NewickTree:
        try:
            return parse_newick(self._source(tree))
        except NewickError as problem:
            raise newick_fault(self.text, self.statements.starts[tree], problem) from None

    def _leaves(self, tree: int, tokens: tuple[str, ...], naming: Naming | None) -> Ints:
        labels = self._labels(tree, tokens, naming)
        for token, label in zip(tokens, labels, strict=True):
            if label not in self.index:
                self._refuse(tree, token, f"leaf {reprlib.repr(label)} does not occur in {self._first_tree()}")
        missing = self.index.keys() - set(labels)
        if missing:
            label = min(missing, key=self.index.__getitem__)
            more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
            self._refuse(tree, None, f"leaf {reprlib.repr(label)}{more} is missing, but occurs in {self._first_tree()}")
        return np.array([self.index[label] for label in labels], dtype=np.int64)

    def _labels(self, tree: int, tokens: tuple[str, ...], naming: Naming | None) -> list[str]:
        if naming is None:
            return list(tokens)
        found: dict[str, str] = {}
        for token in tokens:
            if token not in naming.labels:
                self._refuse(tree, token, f"{reprlib.repr(token)} is not {naming.accepted}")
            label = naming.labels[token]
            if label in found:
                both = f"as {reprlib.repr(found[label])} and as {reprlib.repr(token)}"
                self._refuse(tree, token, f"leaf {reprlib.repr(label)} occurs twice, {both}")
            found[label] = token
        return list(found)

    def _first_tree(self) -> str:
        line = self.text.line(self.statements.starts[0], self._place(0, None))
        return f"the first tree (line {line}); all trees must have the same leaves"

    def _refuse(self, tree: int, token: str | None, problem: str) -> NoReturn:
        raise self.text.error(problem, self.statements.starts[tree], self._place(tree, token))

    def _place(self, tree: int, token: str | None) -> int:
        """How many characters come before the token, or before the tree itself."""
        tokens = split_tokens(self._source(tree))
        return next(found.position for found in tokens if token is None or found.text == token)

    def _source(self, tree: int) -> str:
        return self.text.part(self.statements.starts[tree], self.statements.stops[tree] + 1)


def newick_fault(text: TreeText, start: int, problem: NewickError) -> ValueError:
    """The same problem, with its place in the text in which the tree begins at byte `start`."""
    message = problem.problem
    if first := _FIRST_SEEN.search(message):
        message = message.replace(first[0], f"first on line {text.line(start, int(first[1]))}")
    return text.error(message, start, problem.position)


def token_index(leaves: Mapping[str, int]) -> tuple[NDArray[np.uint8], Ints, Indices, Ints]:
    """Every token as it can stand in a text, bare and quoted, hashed: the `index` of `scan_trees`."""
    forms = [(form, leaf) for token, leaf in leaves.items() for form in _forms(token)]
    written = [form.encode("utf-8", "surrogatepass") for form, _ in forms]
    tokens = np.frombuffer(b"".join((*written, b";")), dtype=np.uint8)
    ends = np.cumsum(list(map(len, written)), dtype=np.int64)
    slots = np.full(4 << len(written).bit_length(), -1, dtype=np.int32)
    index_tokens(tokens, ends, slots)
    return tokens, ends, slots, np.array([leaf for _, leaf in forms], dtype=np.int64)


def _forms(token: str) -> Iterable[str]:
    if BARE.fullmatch(token) and not token.startswith("\ufeff"):  # which could be a byte order mark
        yield token
    yield quoted(token)


def _unless_none(values: Floats) -> Floats | None:
    return None if np.isnan(values).all() else values
