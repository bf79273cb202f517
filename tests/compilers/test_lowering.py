"""What is written for LLVM is little, and means what Python means."""

from __future__ import annotations

import functools

import llvmlite.ir as llvm
import numpy as np
import pytest

from palmette.compilers import lowering
from palmette.compilers.lean import LeanDispatcher

I64 = llvm.IntType(64)
PAIR = llvm.LiteralStructType([I64, llvm.ArrayType(I64, 2)])


def indices(c, f, strided, flags, k, u):
    flags[k] = c[k, -1] > f[-k, 0]
    flags[-1] = flags[u]
    c[0, k] += f[k, 1] * strided[1, -k]
    f[u, 0] = 7
    strided[-1, 0] = c[-1, -1] - c[-2, u]
    one, two = (0, k), (1, -1)
    return c[one] + f[two] + strided[k, u] + c.shape[0] * f.size - len(strided)


def variables(values, k):
    total = 0.0
    if k > 1:
        chosen, sign = values[1:], 1
    else:
        chosen, sign = values[:2], -1
    once = total + 3
    first, second = chosen, values
    for i in range(5):
        first, second = second, first
        latest = first[i % 2] * sign
        if i == 3:
            continue
        total += latest + once
        once = i
    while total > 10:
        total /= 2
        halved = total
        if total < 12:
            break
    else:
        halved = -1.0
    return total + once + halved + latest + i


def ranges(n, step):
    found = []
    numbers = range(n)
    for i in numbers:
        for j in numbers:
            if j > i:
                break
            found.append(i * j)
    for i in range(n, 0, -2):
        found.append(i)
    for i in range(-n, n, step):
        found.append(i)
    for i in range(n, n):
        found.append(i)
    for i in range(n, -n):
        found.append(i)
    for i in range(np.uint64(2), np.uint64(4)):
        found.append(np.int64(i))
    for place, value in enumerate(range(2, n)):
        found.append(place + value)
    for value, other in zip(range(3), numbers):  # noqa: B905 (Numba's has none)
        found.append(value - other)
    found.append(i)
    found.append(len(range(1, n, step)) + len(numbers))
    return found


def arithmetic(x, k, flag):
    total = x**2 + x**-1 + k**2 + 2**k + k // 3 + -k // 3 + k % 3 + -k % 3 + k / 4 + (x // 0.5) + (x % 0.3)
    total += (k << 2) + (k >> 1) + (k & 6) + (k | 8) + (k ^ 3) + (~k)
    total -= flag + (flag & True) + (k > 2) + (2.0 <= x < 3) + (not flag) + (k == 5) + (x != k)
    total *= 1.5
    return total, x > 1 and k, max(k, 3), min(x, 2.5), abs(-k)


compiled = functools.cache(LeanDispatcher)


def check(function, *args):
    given, twin = ([np.copy(one, order="K") if isinstance(one, np.ndarray) else one for one in args] for _ in range(2))
    if function is indices:
        given[2], twin[2] = np.repeat(given[2], 2, axis=1)[:, ::2], np.repeat(twin[2], 2, axis=1)[:, ::2]
    found, expected = compiled(function)(*given), function(*twin)
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    for one, other in zip(given, twin, strict=True):
        np.testing.assert_array_equal(one, other)


def test_items_are_found_from_both_ends_in_every_layout():
    values = np.arange(6.0).reshape(2, 3) ** 2
    check(indices, values, np.asfortranarray(values), values, np.zeros(2, bool), 1, np.uint8(1))


@pytest.mark.parametrize("k", [1, 2])
def test_variables_are_what_was_assigned_last(k):
    check(variables, np.array([3.0, 1.0, 4.0, 1.5]), k)


@pytest.mark.parametrize("step", [1, 2, 3])
def test_ranges_give_their_numbers(step):
    check(ranges, 4, step)


def test_operators_know_every_kind_of_number():
    check(arithmetic, 2.25, 5, True)


def test_a_range_without_a_step_is_an_error():
    with pytest.raises(ValueError, match="must not be zero"):
        compiled(ranges)(3, 0)


def test_generators_are_left_to_numba():
    def count(values, n):
        for i in range(n):
            doubled = 2 * values[i]
            yield doubled
            yield doubled + i

    values = np.array([1.0, 5.0])
    assert list(LeanDispatcher(count)(values, 2)) == list(count(values, 2))


def opcodes(function, *args):
    """The instructions of a function as they are handed to LLVM."""
    found = []
    with pytest.MonkeyPatch.context() as patch:
        sweep = lowering._sweep

        def swept(lowered):
            sweep(lowered)
            found.extend(line.opname for block in lowered.blocks for line in block.instructions)

        patch.setattr(lowering, "_sweep", swept)
        LeanDispatcher(function)(*args)
    return found


def test_a_loop_over_an_array_is_little():
    def add(values, n):
        total = 0.0
        for i in range(n):
            total += values[i]
        return total

    codes = opcodes(add, np.ones(3), 3)
    assert codes.count("alloca") == 3  # the number, how many are left, the sum
    assert "insertvalue" not in codes
    assert "extractvalue" not in codes
    assert len(codes) < 40


@pytest.fixture
def builder():
    function = llvm.Function(llvm.Module(), llvm.FunctionType(I64, [I64, I64, PAIR]), "f")
    return lowering._Builder(function.append_basic_block())


def test_what_was_put_into_a_structure_is_taken_out_of_it(builder):
    x, y, pair = builder.function.args
    made = builder.insert_value(builder.insert_value(pair, x, 0), y, [1, 1])
    assert builder.extract_value(made, 0) is x
    assert builder.extract_value(made, [1, 1]) is y
    rest = builder.extract_value(made, [1, 0])
    assert (rest.opname, rest.aggregate, rest.indices) == ("extractvalue", pair, [1, 0])
    both = builder.extract_value(made, 1)  # one of them is known, the other is not
    assert (both.opname, both.aggregate) == ("extractvalue", made)
    again = builder.insert_value(made, builder.insert_value(both, x, 0), 1)
    assert builder.extract_value(again, (1, 0)) is x


def test_nothing_is_swept_away_that_somebody_looks_at(builder):
    x, y, pair = builder.function.args
    end = builder.function.append_basic_block()
    builder.insert_value(pair, x, 0)
    place = builder.alloca(I64)
    builder.store(x, place)
    unseen, seen = builder.load(place), builder.load(place)
    builder.branch(end)
    start = builder.block
    builder.position_at_end(end)
    either = builder.phi(I64)
    either.add_incoming(seen, start)
    builder.ret(builder.add(either, y))
    lowering._sweep(builder.function)
    left = [line for block in builder.function.blocks for line in block.instructions]
    assert unseen not in left
    assert [line.opname for line in left] == ["alloca", "store", "load", "br", "phi", "add", "ret"]
