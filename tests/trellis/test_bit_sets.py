"""Sets of leaves as words of 64 bits, and tables of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from oracle import members

from palmette.recursions.hierarchies import sparse as kernels
from palmette.trellis.bit_sets import BitSets, as_words, from_words
from palmette.trellis.hierarchies.closing import lowest_leaves
from palmette.trellis.hierarchies.observed import by_size


def lowest(mask):
    return mask & -mask


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.just(n), st.lists(st.integers(1, 2**n - 1), max_size=30))))
def test_masks_and_words_are_the_same(given_masks):
    n, masks = given_masks
    words = as_words(masks, n)
    assert words.shape == (len(masks), -(-n // 64))
    assert from_words(words) == masks
    assert [masks[i] for i in by_size(words)] == sorted(masks, key=lambda m: (m.bit_count(), m))
    np.testing.assert_array_equal(lowest_leaves(words), [lowest(m).bit_length() - 1 for m in masks])
    room = np.empty(n, np.int64)
    for mask, row in zip(masks, words, strict=True):
        count = kernels.member_list(row, room)
        assert tuple(room[:count]) == members(mask)


@given(
    width=st.integers(1, 4), seed=st.integers(0, 999), rounds=st.integers(1, 5), spread=st.sampled_from([3, 50, 2**62])
)
def test_bit_sets_are_numbered_as_they_come(width, seed, rounds, spread):
    rng = np.random.default_rng(seed)
    sets, known = BitSets(width), {}
    for _ in range(rounds):
        rows = rng.integers(0, spread, (700, width), dtype=np.uint64)
        expected = [known.setdefault(tuple(row), len(known)) for row in rows.tolist()]
        assert sets.insert(rows).tolist() == expected
        assert len(sets) == len(known)
        assert [tuple(row) for row in sets.words.tolist()] == list(known)
        wanted = np.concatenate([rows[:50], rng.integers(0, spread, (50, width), dtype=np.uint64)])
        assert sets.find(wanted).tolist() == [known.get(tuple(row), -1) for row in wanted.tolist()]
    assert sets.insert(np.empty((0, width), np.uint64)).tolist() == []
