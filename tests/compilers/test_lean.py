"""Functions that own no array count no references, and nothing is freed too early or never."""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit
from numba.core import compiler
from numba.core.runtime import _nrt_python, rtsys

from palmette._jit import called, inline, kernel
from palmette.compilers import lean


class Two(NamedTuple):
    values: np.ndarray
    others: np.ndarray


@inline
def add_row(rows, i):
    total = 0.0
    for x in rows[i]:
        total += x
    return total


@called
def half_of(values):
    return values[: values.size // 2]


@called
def both(two):
    return two.values, two.others.T


@called
def made(n):
    return np.full(n, 2.0)


@njit
def theirs(values):
    return values[1:], values[:1]


@kernel
def borrows(two):
    total = 0.0
    for i in range(len(two.others)):
        total += add_row(two.others, i) * two.values[i]
    return total


@kernel
def takes_halves(two):
    total = 0.0
    for _ in range(5):
        part = half_of(two.values)
        total += part[0]
    return total


@kernel
def takes_pairs(two):
    first, second = both(two)
    return first[0] + second[0, 0]


@kernel
def makes(two):
    room = made(two.values.size)
    room += two.values
    return room.sum()


@kernel
def copies(two):
    two.values[:] = two.others[0]
    return two.values[0]


@kernel
def keeps(two):
    kept = [two.values]
    kept.append(two.others[0])
    return kept[0][0] + kept[1][0]


@kernel
def returns(two):
    return two.others[0]


@kernel
def goes_through(two):
    total = 0.0
    for row in two.others:
        total += row[0]
    return total


@kernel
def asks_others(two):
    rest, first = theirs(two.values)
    return rest[0] + first[0]


KERNELS = [borrows, takes_halves, takes_pairs, makes, copies, keeps, returns, goes_through, asks_others]


def example():
    return Two(np.array([1.0, 2.0, 3.0]), np.arange(9.0).reshape(3, 3))


@pytest.fixture
def counted():
    """Numba counts what is allocated and freed."""
    _nrt_python.memsys_enable_stats()
    yield
    _nrt_python.memsys_disable_stats()


@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize("compiled", KERNELS, ids=lambda compiled: compiled.py_func.__name__)
def test_nothing_is_freed_too_early_or_never(compiled):
    two, twin = example(), example()
    expected = compiled.py_func(twin) if compiled is not borrows else 0 + 3 * 1 + 12 * 2 + 21 * 3
    compiled(two)
    before = [sys.getrefcount(array) for array in two]
    stats = rtsys.get_allocation_stats()
    for _ in range(20):
        two.values[:] = [1.0, 2.0, 3.0]
        found = compiled(two)
        np.testing.assert_array_equal(found, expected)
        del found
    after = rtsys.get_allocation_stats()
    assert [sys.getrefcount(array) for array in two] == before
    assert after.alloc - stats.alloc == after.free - stats.free
    assert after.mi_alloc - stats.mi_alloc == after.mi_free - stats.mi_free


def counts(function):
    compiled = lean.LeanDispatcher(function.py_func)  # not on disk, where its code could not be read
    compiled(example())
    code = "".join(compiled.inspect_llvm().values())
    return "call void @NRT_incref" in code or "call void @NRT_decref" in code


def test_who_only_borrows_does_not_count():
    assert not counts(borrows)
    assert not counts(goes_through)
    assert counts(makes)


def test_what_turns_out_to_need_an_array_on_its_way_counts(monkeypatch):
    def copy(two):
        two.values[:] = two.others[1]
        return two.values[0]

    compiled = kernel(copy)
    monkeypatch.setattr(lean, "_may_own", lambda state: False)
    assert compiled(example()) == 3.0


def test_what_is_called_sees_the_same_flags_whoever_calls():
    def shown(**options):
        flags = compiler.Flags()
        flags.nrt = True
        for name, value in options.items():
            setattr(flags, name, value)
        return lean._LeanFlags(flags).copy()

    alike = [shown(), shown(forceinline=True), shown(no_cpython_wrapper=True, no_cfunc_wrapper=True)]
    assert len(set(map(id, alike))) == 1
    assert not alike[0].forceinline
    assert shown(fastmath={"contract"}) != shown()
    assert shown(fastmath={"contract"}) is shown(fastmath={"contract"}, forceinline=True)
