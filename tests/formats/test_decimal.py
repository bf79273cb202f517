import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from palmette.formats.decimal import NONE, number_bits

finite = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)
numbers = st.one_of(
    finite.map(repr),
    st.from_regex(r"\A[+-]?(0|[1-9][0-9]{0,24})(\.[0-9]{0,24})?([eE][+-]?[0-9]{1,2})?\Z"),
    st.sampled_from(
        ["1", "0", "-0", "1.", ".5", "+2", "1E5", "1e-400", "0e999", "9007199254740993", "007", "0" * 30 + ".10"]
    ),
)


@njit
def _numbers(data, stops, out):
    start = 0
    for i in range(len(stops)):
        out[i] = number_bits(data, start, stops[i])
        start = stops[i] + 1


def as_bits(texts):
    data = np.frombuffer((";".join(texts) + ";").encode(), dtype=np.uint8)
    out = np.empty(len(texts), dtype=np.int64)
    _numbers(data, np.flatnonzero(data == ord(";")), out)
    return out


def assert_exact(texts):
    found = as_bits(texts)
    wanted = np.array([float(text) for text in texts])
    left = found > NONE
    assert np.array_equal(found[~left], wanted.view(np.int64)[~left])
    return left


@given(st.lists(numbers, min_size=1, max_size=20))
def test_numbers_are_read_as_float_reads_them_to_the_last_bit(texts):
    assert_exact(texts)


def test_numbers_on_and_beside_the_middle_of_two_floats_are_rounded_to_even():
    rng = np.random.default_rng(1)
    middles = [2 * int(m) + 1 for m in rng.integers(2**52, 2**53, 3000)]
    texts = [str(m + step) for m in middles for step in (-1, 0, 1)]
    texts += [f"{m * 5}e-1" for m in middles] + [f"{m // 2**35 * 2**35}e{k}" for m in middles for k in (5, 22, 23)]
    assert not assert_exact(texts).any()


def test_ordinary_numbers_of_all_magnitudes_need_no_help():
    rng = np.random.default_rng(2)
    values = rng.integers(10**18, 10**19, 5000, dtype=np.uint64)
    assert not assert_exact([f"{v}e{e}" for v, e in zip(values, rng.integers(-300, 261, 5000), strict=True)]).any()
    assert not assert_exact([repr(float(x)) for x in rng.random(5000)]).any()


@pytest.mark.parametrize(
    "text", ["", ".", "-", "e5", "1e", "1e+", "1x", "inf", "nan", "1.2.3", "1_0", "0x1", "--1", "1 "]
)
def test_what_is_not_a_number_is_not_read_as_one(text):
    assert as_bits([text]) == NONE


def test_long_and_extreme_numbers_are_left_to_python():
    texts = ["12345678901234567890", "1e-320", "1e300", "18446744073709551616", "1e99999999999999999999"]
    starts = np.cumsum([0, *(len(text) + 1 for text in texts[:-1])])
    assert np.array_equal(as_bits(texts), NONE + 1 + starts)
