"""One Ginkgo shower: a jet splits in two again and again until every piece is light.

A node of mass² t > t_cut splits: t_L = t·u_L and t_R = (√t − √t_L)²·u_R with u from Exponential(rate)
truncated to [0, 0.999); directions are uniform in the parent's rest frame; a boost leads back from there.
"""

from __future__ import annotations

import math

import numpy as np

from palmette._jit import inline, kernel, maker
from palmette.models.shower_laws import TOP
from palmette.numeric import unit_draw

__all__ = ["ATTEMPTS", "CAPACITY", "TOO_MANY_ATTEMPTS", "TOO_MANY_LEAVES", "simulate_showers"]

CAPACITY = 4096  # leaves of one shower: far beyond any physical one
ATTEMPTS = 100_000  # showers thrown away for one jet before the bounds on leaves are called hopeless
TOO_MANY_LEAVES, TOO_MANY_ATTEMPTS = -1, -2


@inline
def _fraction(draw, rate):
    # Exponential(rate) truncated to [0, 0.999), by inversion.
    return -math.log1p(draw * math.expm1(-TOP * rate)) / rate


@inline
def _boosted(energy, q, parent, t, out):
    # (energy, q) in the rest frame of `parent` → `out` in the frame where the parent has its momentum.
    mass = math.sqrt(t)
    momentum = math.sqrt(parent[1] * parent[1] + parent[2] * parent[2] + parent[3] * parent[3])
    gamma, gamma_beta = parent[0] / mass, momentum / mass
    scale = 1.0 / momentum if momentum > 0.0 else 0.0  # at rest there is no axis, and no boost
    along = (q[0] * parent[1] + q[1] * parent[2] + q[2] * parent[3]) * scale
    shift = ((gamma - 1.0) * along + gamma_beta * energy) * scale
    out[0] = gamma * energy + gamma_beta * along
    for i in range(3):
        out[1 + i] = q[i] + shift * parent[1 + i]


@inline
def _decay(parent, t, left_t, right_t, cosine, angle, left, right):
    # Two bodies, back to back in the rest frame of the parent.
    half = math.sqrt(t) / 2.0
    a, b = left_t / t, right_t / t
    # 1 − 2(a + b) + (a − b)², factored: no cancellation where the children are nearly at rest
    root_a, root_b = math.sqrt(a), math.sqrt(b)
    product = (1.0 - root_a - root_b) * (1.0 + root_a + root_b) * (1.0 - root_a + root_b) * (1.0 + root_a - root_b)
    momentum = half * math.sqrt(max(product, 0.0))
    sine = math.sqrt(max(1.0 - cosine * cosine, 0.0))
    x, y, z = momentum * sine * math.cos(angle), momentum * sine * math.sin(angle), momentum * cosine
    _boosted(half * (1.0 + a - b), (x, y, z), parent, t, left)
    _boosted(half * (1.0 - a + b), (-x, -y, -z), parent, t, right)


@inline
def _split(seed, jet, step, rate, node, first, p, t):
    # The children of `node` become the nodes `first` and `first + 1`.
    cosine = 2.0 * unit_draw(seed, jet, step) - 1.0
    angle = 2.0 * math.pi * unit_draw(seed, jet, step + 1)
    swap = 1 if unit_draw(seed, jet, step + 4) < 0.5 else 0
    left, right = first + swap, first + 1 - swap
    t[left] = t[node] * _fraction(unit_draw(seed, jet, step + 2), rate)
    rest = math.sqrt(t[node]) - math.sqrt(t[left])
    t[right] = rest * rest * _fraction(unit_draw(seed, jet, step + 3), rate)
    _decay(p[node], t[node], t[left], t[right], cosine, angle, p[left], p[right])
    return step + 5


@inline
def _shower(seed, jet, step, rates, t_cut, limit, p, t, number, children, stack):
    # One shower from node 0, depth first. number[v] = k for leaf k, −1 − k for inner node k; children[k] is
    # the first of two adjacent nodes. Gives up once more than `limit` leaves are certain.
    # Returns their number and the next step of the stream.
    leaves, inner, waiting, made = 0, 0, 1, 1
    stack[0] = 0
    while waiting > 0 and leaves + waiting <= limit:
        waiting -= 1
        node = stack[waiting]
        if t[node] <= t_cut:
            number[node] = leaves
            leaves += 1
            continue
        number[node] = -1 - inner
        step = _split(seed, jet, step, rates[min(node, 1)], node, made, p, t)
        children[inner] = made
        inner += 1
        stack[waiting] = made + 1
        stack[waiting + 1] = made
        waiting += 2
        made += 2
    return leaves + waiting, step


@inline
def _write(leaves, p, number, children, momenta, merges):
    # Inner nodes, met parents first, are numbered from the end: children before parents, as SciPy has it.
    for node in range(2 * leaves - 1):
        if number[node] >= 0:
            for i in range(4):
                momenta[number[node], i] = p[node, i]
    for k in range(leaves - 1):
        for side in range(2):
            value = number[children[k] + side]
            merges[leaves - 2 - k, side] = value if value >= 0 else 2 * leaves - 1 + value


@maker
def _grown(array, rows):
    if rows <= array.shape[0]:
        return array
    larger = np.empty((2 * rows, array.shape[1]), array.dtype)
    for i in range(array.shape[0]):  # an assignment of one array to another takes seconds to compile
        for j in range(array.shape[1]):
            larger[i, j] = array[i, j]
    return larger


@kernel
def simulate_showers(seed, first, last, start, start_t, rates, t_cut, fewest, most):
    """Jets first … last − 1: their sizes, and momenta and merges one after another; a failure is a size < 0."""
    limit = min(most, CAPACITY)
    p, t = np.empty((2 * limit + 1, 4)), np.empty(2 * limit + 1)
    number, children = np.empty(2 * limit + 2, np.int64), np.empty(2 * limit + 2, np.int64)
    stack = np.empty(2 * limit + 2, np.int64)
    t[0] = start_t
    for k in range(4):
        p[0, k] = start[k]
    sizes, momenta, merges = np.zeros(last - first, np.int64), np.empty((0, 4)), np.empty((0, 2), np.int64)
    used = 0
    for i in range(last - first):
        step, attempts, leaves = 0, 0, 0
        while leaves < fewest or leaves > limit:
            if attempts == ATTEMPTS or (leaves > limit and limit < most):
                sizes[i] = TOO_MANY_ATTEMPTS if attempts == ATTEMPTS else TOO_MANY_LEAVES
                return sizes, momenta, merges
            leaves, step = _shower(seed, first + i, step, rates, t_cut, limit, p, t, number, children, stack)
            attempts += 1
        sizes[i] = leaves
        momenta, merges = _grown(momenta, used + leaves), _grown(merges, used + leaves)
        _write(leaves, p, number, children, momenta[used:], merges[used - i :])
        used += leaves
    return sizes, momenta[:used], merges[: used - (last - first)]
