"""The tokens of Newick and Nexus texts: marks, labels, numbers, and the comments between them."""

import math
import re
import reprlib
from collections.abc import Iterator
from typing import NamedTuple

__all__ = [
    "BARE",
    "NUMBER",
    "NewickError",
    "Token",
    "after_blanks",
    "quoted",
    "quoted_at",
    "read_number",
    "split_tokens",
    "tree_rooted",
    "tree_weight",
    "unexpected",
]

BARE = re.compile(r"[^\s()\[\]:;,']+")  # a label outside quotes
NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_BLANK = re.compile(r"\s*")
_BRACKET = re.compile(r"[\[\]]")
_WEIGHT = re.compile(r"\[\s*&w\s([^\[\]]*)\]", re.IGNORECASE)
_ROOTED = re.compile(r"\[\s*&([ru])\s*\]", re.IGNORECASE)


class NewickError(ValueError):
    """Text that is not a Newick tree; `position` is the number of characters before the fault."""

    def __init__(self, problem: str, position: int) -> None:
        super().__init__(problem, position)
        self.problem = problem
        self.position = position

    def __str__(self) -> str:
        return f"not a Newick tree: {self.problem} (at character {self.position})"


class Token(NamedTuple):
    """A piece of a text, and how many characters come before it."""

    kind: str  # one of ( ) , : ; or "label", "quoted", "end"
    text: str
    position: int


def unexpected(token: Token, wanted: str) -> NewickError:
    """What to raise where another token was wanted."""
    found = "the text ends" if token.kind == "end" else f"found {reprlib.repr(token.text)}"
    return NewickError(f"expected {wanted} but {found}", token.position)


def read_number(text: str) -> float | None:
    """The finite decimal number that the text is, or None."""
    value = float(text) if NUMBER.fullmatch(text) else math.inf
    return value if math.isfinite(value) else None


def split_tokens(text: str) -> Iterator[Token]:
    """All tokens of a text, "end" the last."""
    at = 1 if text.startswith("\ufeff") else 0  # a byte order mark
    while (at := after_blanks(text, at)) < len(text):
        if text[at] in "(),:;":
            yield Token(text[at], text[at], at)
            at += 1
        elif text[at] == "'":
            content, end = quoted_at(text, at)
            yield Token("quoted", content, at)
            at = end
        elif found := BARE.match(text, at):
            yield Token("label", found[0], at)
            at = found.end()
        else:
            raise NewickError("']' closes no comment; put the label in single quotes", at)
    yield Token("end", "", at)


def after_blanks(text: str, at: int) -> int:
    """Where the text goes on after the white space and the comments that begin at `at`."""
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


def quoted_at(text: str, at: int) -> tuple[str, int]:
    """What stands in the single quotes that open at `at`, and where the text goes on after them.

    >>> quoted_at("'it''s',b", 0)
    ("it's", 7)
    """
    stop = text.find("'", at + 1)
    while text.startswith("''", stop) and stop >= 0:
        stop = text.find("'", stop + 2)
    if stop < 0:
        raise NewickError("the quote that starts here is never closed; expected a single quote", at)
    return text[at + 1 : stop].replace("''", "'"), stop + 1


def quoted(label: str) -> str:
    """The label in single quotes.

    >>> quoted("it's")
    "'it''s'"
    """
    return "'" + label.replace("'", "''") + "'"


def tree_weight(statement: str, start: int, stop: int) -> float:
    """The weight that a comment within these characters gives, or 1.

    >>> tree_weight("[&R] [&W 1/4] (a,b);", 0, 14)
    0.25
    """
    found = _WEIGHT.search(statement, start, stop)
    if found is None:
        return 1.0
    above, slash, below = found[1].partition("/")
    one, other = read_number(above.strip()), read_number(below.strip()) if slash else 1.0
    weight = one / other if one is not None and other else -1.0
    if not 0 <= weight < math.inf:
        problem = f"{reprlib.repr(found[0])} is no weight; expected a number of at least 0, such as 1/3 or 0.25"
        raise NewickError(problem, found.start())
    return weight


def tree_rooted(statement: str, start: int, stop: int) -> int:
    """Whether a comment within these characters calls the tree rooted: 1 for [&R], 0 for [&U], −1 for none.

    >>> tree_rooted("[&U] (a,b);", 0, 5)
    0
    """
    found = _ROOTED.search(statement, start, stop)
    return -1 if found is None else int(found[1].upper() == "R")
