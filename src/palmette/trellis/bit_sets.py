"""Clusters of any number of leaves as rows of 64-bit words, found again through a hash table."""

from __future__ import annotations

import numpy as np

from palmette._jit import kernel
from palmette.array_types import Ints, Words
from palmette.hashing import empty_table, fill_table, slot_of

__all__ = ["BitSets", "as_words", "from_words", "n_words"]


def n_words(n: int) -> int:
    """How many words n bits need."""
    return (n + 63) // 64


def as_words(masks: list[int], n: int) -> Words:
    """(m, w): bit masks of n leaves as rows of words, the lowest leaves first.

    >>> as_words([5, 1 << 64], 65)
    array([[5, 0],
           [0, 1]], dtype=uint64)
    """
    size = 8 * n_words(n)
    text = b"".join(int(mask).to_bytes(size, "little") for mask in masks)
    return np.frombuffer(text, dtype="<u8").astype(np.uint64).reshape(len(masks), n_words(n))


def from_words(words: Words) -> list[int]:
    """The bit masks of rows of words, as integers of any length.

    >>> from_words(as_words([5, 1 << 64], 65))
    [5, 18446744073709551616]
    """
    if words.shape[1] == 1:
        return words[:, 0].tolist()  # type: ignore[no-any-return]
    rows = np.ascontiguousarray(words.astype("<u8"))
    return [int.from_bytes(row.tobytes(), "little") for row in rows]


@kernel
def _look_up(rows: Words, table: Ints, wanted: Words, out: Ints) -> None:
    for i in range(wanted.shape[0]):
        out[i] = table[slot_of(rows, wanted[i], table)]


@kernel
def _insert(rows: Words, table: Ints, given: Words, count: int, out: Ints) -> int:
    # Numbers for the given rows; a new one is put behind the first `count`. There must be room.
    for i in range(given.shape[0]):
        slot = slot_of(rows, given[i], table)
        if table[slot] < 0:
            for w in range(rows.shape[1]):
                rows[count, w] = given[i, w]
            table[slot] = count
            count += 1
        out[i] = table[slot]
    return count


class BitSets:
    """Different bit sets, numbered as they come."""

    def __init__(self, width: int) -> None:
        self._rows: Words = np.zeros((1024, width), dtype=np.uint64)
        self._table = empty_table(len(self._rows))
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def words(self) -> Words:
        """(m, w): all of them, by number."""
        return self._rows[: self._count]

    def insert(self, given: Words) -> Ints:
        """The number of each given row, which is a new one if it has not come before."""
        self._make_room(self._count + len(given))
        numbers = np.empty(len(given), dtype=np.int64)
        self._count = int(_insert(self._rows, self._table, np.ascontiguousarray(given), self._count, numbers))
        return numbers

    def find(self, wanted: Words) -> Ints:
        """The number of each row, −1 if it is not there."""
        numbers = np.empty(len(wanted), dtype=np.int64)
        _look_up(self._rows, self._table, np.ascontiguousarray(wanted), numbers)
        return numbers

    def _make_room(self, size: int) -> None:
        if size > len(self._rows):
            rows = np.zeros((max(size, 2 * len(self._rows)), self._rows.shape[1]), dtype=np.uint64)
            rows[: self._count] = self.words
            self._rows, self._table = rows, empty_table(len(rows))
            fill_table(self._rows, self._count, self._table)
