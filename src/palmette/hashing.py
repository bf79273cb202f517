"""Hash tables for kernels: slots that hold the number of an entry, −1 where they are free.

The entries themselves are compared, so nothing hangs on a hash being unique.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette._jit import inline, kernel
from palmette.array_types import Ints, Words

__all__ = ["empty_table", "fill_table", "mix", "slot_of"]


def empty_table(n_rows: int) -> Ints:
    """A hash table for so many rows, all slots free: −1."""
    return np.full(1 << (2 * n_rows + 1).bit_length(), -1)


@inline
def mix(x: Any, value: Any) -> Any:
    """The next hash of a sequence, after `value`."""
    x = (x ^ np.uint64(value)) * np.uint64(0x9E3779B97F4A7C15)
    return x ^ (x >> np.uint64(29))


@inline
def slot_of(rows: Words, row: Words, table: Ints) -> Any:
    """Where this row stands in the hash table, or where it would stand."""
    last = np.uint64(table.size - 1)
    slot = np.uint64(0)
    for w in range(row.size):
        slot = mix(slot, row[w])
    slot &= last
    while table[slot] >= 0:
        same = True
        for w in range(row.size):
            same = same and rows[table[slot], w] == row[w]
        if same:
            break
        slot = (slot + np.uint64(1)) & last
    return slot


@kernel
def fill_table(rows: Words, count: int, table: Ints) -> None:
    """Put the first `count` rows, which are all different, into an empty hash table."""
    for i in range(count):
        table[slot_of(rows, rows[i], table)] = i
