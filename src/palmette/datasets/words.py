"""How alike two words are."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["edit_distance", "plain", "word_similarity"]


def plain(word: str) -> str:
    """The word without its accents.

    >>> plain("șapte"), plain("fünf")
    ('sapte', 'funf')
    """
    return "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))


def edit_distance(one: str, two: str) -> int:
    """The fewest letters to insert, delete or replace that turn one word into the other (Levenshtein).

    >>> edit_distance("seven", "zeven"), edit_distance("two", "deux")
    (1, 4)
    """
    above = list(range(len(two) + 1))
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(two, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (a != b)))
        above = row
    return above[-1]


def word_similarity(lists: Sequence[Sequence[str]]) -> npt.NDArray[np.float64]:
    """(n, n): 1 − edit distance / length of the longer word, averaged over the words of two lists; accents dropped.

    >>> word_similarity([["one", "two"], ["en", "to"]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    words = [[plain(word) for word in row] for row in lists]
    out = np.eye(len(words))
    for i, row in enumerate(words):
        for j in range(i):
            shares = [1 - edit_distance(a, b) / max(len(a), len(b)) for a, b in zip(row, words[j], strict=True)]
            out[i, j] = out[j, i] = sum(shares) / len(shares)
    return out
