"""Octets against NumPy, eight numbers at a time."""

import numpy as np
import pytest

from palmette import octets
from palmette._jit import kernel

X = np.array([3.0, -1.0, 0.5, 7.0, -np.inf, 2.0, 1e300, -8.0])
Y = np.array([2.0, 4.0, -0.25, 7.0, 1.0, np.nan, 10.0, -9.0])


@kernel
def everything(x, y, z, out):
    """Row by row what the functions of `octets` make of the eight numbers from the second on."""
    a, b, c = octets.load(x, 1), octets.load(y, 1), octets.load(z, 1)
    octets.store(octets.add(a, b), out, 0)
    octets.store(octets.subtract(a, b), out, 8)
    octets.store(octets.larger(a, b), out, 16)
    octets.store(octets.multiply_add(a, b, c), out, 24)
    octets.store(octets.pick(a, "7654-123"), out, 32)
    octets.store(octets.pick_logs(a, "7654-123"), out, 40)
    octets.store(octets.repeat(octets.lane(a, 3)), out, 48)


@kernel
def is_above(x, y):
    """Whether any of the first eight is."""
    return octets.above(octets.load(x, 0), octets.load(y, 0))


def test_every_function_does_to_eight_numbers_what_numpy_does():
    padded = [np.concatenate([[99.0], values, [99.0]]) for values in (X, Y, X)]
    out = np.full(56, 99.0)
    everything(*padded, out)
    order = [7, 6, 5, 4, 0, 1, 2, 3]
    with np.errstate(over="ignore", invalid="ignore"):
        expected = [X + Y, X - Y, np.where(Y > X, Y, X), X * Y + X]
    expected += [np.where(np.arange(8) == 4, other, X[order]) for other in (0.0, -np.inf)] + [np.full(8, X[3])]
    np.testing.assert_array_equal(out.reshape(7, 8), expected)


@pytest.mark.parametrize(
    ("change", "answer"), [({}, False), ({5: 0.1}, True), ({0: np.nan}, False), ({7: np.inf}, True)]
)
def test_above_is_about_any_of_them(change, answer):
    x = np.full(8, -1.0)
    for place, value in change.items():
        x[place] = value
    assert is_above(x, np.zeros(8)) is answer
