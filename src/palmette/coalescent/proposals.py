"""How a particle goes on: which two lineages meet next, and when; one function for each proposal.

Lineages of all particles lie in one pool and never change: particles that come from one share what they have in
common. A particle with m lineages points at them from the slots 0 … m − 1. An event joins slots i < j: the new lineage
goes into slot i, and the last slot moves to j. Random numbers depend on (seed, event, particle) only.

Leaves that are older than the youngest arrive one by one: a particle whose time comes to the age of the next leaf has
one lineage more from there on. Of m lineages that are left, `pending` have not arrived, and the others have the slots.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from palmette._jit import called, inline, kernel
from palmette.array_types import Floats, Ints
from palmette.coalescent.c_functions import (
    CompiledProcess,
    agree,
    join,
    log_integral,
    log_root,
    log_survival,
    log_z,
    meet,
    propose_length,
)
from palmette.coalescent.process import Prepared
from palmette.numeric import unit_draw

__all__ = ["PROPOSALS", "Pool", "Swarm", "advance", "compiled_for", "start", "work_of"]

_PAIR, _DURATION, _LENGTH = 0, 1, 2  # steps of a particle's stream; candidates of a race begin at the last one
_TURN = 3  # steps that a choice between two arrivals takes


class Pool(NamedTuple):
    """Every lineage that came up: the n leaves, then S for each event."""

    message: Floats  #: (n + (n − 1) S, k)
    age: Floats
    parts: Ints  #: (…, 2): the two lineages that it was made of
    arrivals: Ints  #: (n,): the leaves, the youngest first


class Swarm(NamedTuple):
    """All particles; the first axis is the particle."""

    slot: Ints  #: (S, n): lineages in the pool
    now: Floats  #: (S,): age of the last event or arrival
    pending: Ints  #: (S,): leaves that have not arrived yet
    due: Floats  #: (S, n, n): in a race, the age at which slots i < j would meet, had they been alone
    worth: Floats  #: (S, n, n): in a race, log of e^(−δ) Z over the density of that draw


@inline
def _rate(m):
    return 0.5 * m * (m - 1)


@inline
def _separation(pool, swarm, p, now, i, j):
    # Length of both branches if the two met now. By numbers: a view of a particle's slots would count references.
    return (now - pool.age[swarm.slot[p, i]]) + (now - pool.age[swarm.slot[p, j]])


@inline
def _next_arrival(pool, swarm, p):
    # The age of the leaf that arrives next; inf if all have.
    n, pending = swarm.slot.shape[1], swarm.pending[p]
    return pool.age[pool.arrivals[n - pending]] if pending > 0 else np.inf


@inline
def _arrive(pool, swarm, p, m):
    # The next leaf takes the first slot that is free; returns that.
    n, pending = swarm.slot.shape[1], swarm.pending[p]
    leaf, free = pool.arrivals[n - pending], m - pending
    swarm.slot[p, free] = leaf
    swarm.now[p] = pool.age[leaf]
    swarm.pending[p] = pending - 1
    return free


@inline
def _wait(pool, swarm, p, m, hazard):
    # The time until ∫ rate reaches the hazard, since the last arrival on the way; and the lineages that are there then.
    while swarm.pending[p] > 0:
        spent = _rate(m - swarm.pending[p]) * (_next_arrival(pool, swarm, p) - swarm.now[p])
        if hazard < spent:
            break
        hazard -= spent
        _arrive(pool, swarm, p, m)
    present = m - swarm.pending[p]
    return hazard / _rate(present), present


@inline
def _pick(values, count, u):
    # A number with probability proportional to exp(values); and the log of their sum.
    top = -np.inf
    for k in range(count):
        top = max(top, values[k])
    if top == -np.inf or top == np.inf:
        for k in range(count):
            if values[k] == top:
                return k, top
    total = 0.0
    for k in range(count):
        total += math.exp(values[k] - top)
    left, last = u * total, 0
    for k in range(count):
        share = math.exp(values[k] - top)
        if share > 0.0:
            last = k
            left -= share
            if left < 0.0:
                return k, top + math.log(total)
    return last, top + math.log(total)


@inline
def _pair_number(k, m):
    # Slots i < j of pair k in the order (0, 1), (0, 2), …, (1, 2), …
    i = 0
    while k >= m - 1 - i:
        k -= m - 1 - i
        i += 1
    return i, i + 1 + k


@inline
def _meet(process, pool, swarm, p, i, j, meeting):
    meet(process, pool.message, swarm.slot[p, i], pool.message, swarm.slot[p, j], meeting, 0)


@inline
def _agree(process, pool, swarm, p, i, first, count, meeting, values, at):
    # log Z of slot i with so many slots from the first one on.
    slots, one = p * swarm.slot.shape[1], swarm.slot[p, i]
    agree(process, pool.message, one, pool.message, swarm.slot, slots + first, count, meeting, values, at)


@inline
def _prior_prior(process, pool, swarm, p, m, seed, item, values, meeting):
    # (i, j, age of the event, log weight)
    delta, m = _wait(pool, swarm, p, m, -math.log1p(-unit_draw(seed, item, _DURATION)))
    now = swarm.now[p]
    i, j = _pair_number(int(unit_draw(seed, item, _PAIR) * _rate(m)), m)
    values[0] = _separation(pool, swarm, p, now, i, j) + 2.0 * delta
    _agree(process, pool, swarm, p, i, j, 1, meeting, values, 0)
    return i, j, now + delta, values[0]


@inline
def _prior_post(process, pool, swarm, p, m, seed, item, values, meeting):
    delta, m = _wait(pool, swarm, p, m, -math.log1p(-unit_draw(seed, item, _DURATION)))
    now = swarm.now[p]
    k = 0
    for i in range(m):
        for j in range(i + 1, m):
            values[k + j - i - 1] = _separation(pool, swarm, p, now, i, j) + 2.0 * delta
        _agree(process, pool, swarm, p, i, i + 1, m - i - 1, meeting, values, k)
        k += m - i - 1
    chosen, total = _pick(values, k, unit_draw(seed, item, _PAIR))
    i, j = _pair_number(chosen, m)
    return i, j, now + delta, total - math.log(_rate(m))


@inline
def _post_post(process, pool, swarm, p, left, seed, item, values, meeting):
    # A duration that goes beyond the next arrival says no more than that nobody meets before it. That has the
    # probability e^(−rate · time) in the prior and Σ share · survival here; then all is drawn anew, one lineage more.
    gain, turn = 0.0, 0
    while True:
        m, now = left - swarm.pending[p], swarm.now[p]
        if m == 1:
            _arrive(pool, swarm, p, left)
            continue
        rate, until = _rate(m), _next_arrival(pool, swarm, p)
        k = 0
        for i in range(m):
            for j in range(i + 1, m):
                _meet(process, pool, swarm, p, i, j, meeting)
                values[k] = log_integral(process, meeting, 0, _separation(pool, swarm, p, now, i, j), rate)
                k += 1
        chosen, total = _pick(values, k, unit_draw(seed, item, _PAIR + turn))
        if total > -np.inf or until == np.inf:
            i, j = _pair_number(chosen, m)
            _meet(process, pool, swarm, p, i, j, meeting)
            s0 = _separation(pool, swarm, p, now, i, j)
            s, log_density = propose_length(process, meeting, 0, s0, rate, seed, item, _LENGTH + turn)
            delta = 0.5 * (s - s0)
            if total == np.inf or total == -np.inf:
                return i, j, now + delta, total
            if now + delta < until:
                worth = total - values[chosen] - rate * delta + log_z(process, meeting, 0, s) - log_density
                return i, j, now + delta, gain + worth
            k = 0
            for i in range(m):
                for j in range(i + 1, m):
                    _meet(process, pool, swarm, p, i, j, meeting)
                    s0 = _separation(pool, swarm, p, now, i, j)
                    values[k] += log_survival(process, meeting, 0, s0, rate, until - now) - total
                    k += 1
            gain -= _pick(values, k, 0.0)[1]
        gain -= rate * (until - now)
        _arrive(pool, swarm, p, left)
        turn += _TURN


@called
def _enter(process, pool, swarm, p, i, j, seed, item, step, meeting):
    # A pair that has come to be: when it would meet, and what that would be worth.
    now = swarm.now[p]
    low, high = min(i, j), max(i, j)
    _meet(process, pool, swarm, p, low, high, meeting)
    s0 = _separation(pool, swarm, p, now, low, high)
    s, log_density = propose_length(process, meeting, 0, s0, 1.0, seed, item, step)
    delta = 0.5 * (s - s0)
    swarm.due[p, low, high] = now + delta
    swarm.worth[p, low, high] = np.inf if log_density == np.inf else log_z(process, meeting, 0, s) - delta - log_density


@inline
def _race(process, pool, swarm, p, left, seed, item, meeting):
    # A pair came to be when the later one of its lineages did. Those that end unmet have had e^(−δ) to survive δ, and
    # did so with another probability here.
    n = swarm.slot.shape[1]
    m = left - swarm.pending[p]
    if left == n:
        for i in range(m):
            for j in range(i + 1, m):
                _enter(process, pool, swarm, p, i, j, seed, item, _LENGTH + i * m + j, meeting)
    while True:
        first, second, event = 0, 1, np.inf
        for i in range(m):
            for j in range(i + 1, m):
                if swarm.due[p, i, j] < event:
                    first, second, event = i, j, swarm.due[p, i, j]
        if swarm.pending[p] == 0 or event < _next_arrival(pool, swarm, p):
            break
        last = _arrive(pool, swarm, p, left)
        for other in range(last):
            step = _LENGTH + (n + 1 + swarm.slot[p, last]) * n + other
            _enter(process, pool, swarm, p, other, last, seed, item, step, meeting)
        m += 1
    gain = swarm.worth[p, first, second]
    for k in range(m):
        for one in (first, second):
            if k != first and k != second:
                low, high = min(k, one), max(k, one)
                born = max(pool.age[swarm.slot[p, low]], pool.age[swarm.slot[p, high]])
                _meet(process, pool, swarm, p, low, high, meeting)
                s0 = _separation(pool, swarm, p, born, low, high)
                gain -= (event - born) + log_survival(process, meeting, 0, s0, 1.0, event - born)
    return first, second, event, gain


@inline
def _race_on(process, pool, swarm, p, m, i, j, seed, item, meeting):
    # Slots i and j have been joined in slot i; m lineages were there.
    _move_slot(swarm.due[p], j, m)
    _move_slot(swarm.worth[p], j, m)
    n = swarm.slot.shape[1]
    for other in range(m - 1):
        if other != i:
            _enter(process, pool, swarm, p, i, other, seed, item, _LENGTH + n * n + other, meeting)


@inline
def _move_slot(table, j, m):
    # What is known of pairs with the last slot goes to slot j.
    for other in range(m - 1):
        if other != j:
            table[min(other, j), max(other, j)] = table[other, m - 1]


@inline
def _go_on(process, pool, swarm, p, left, item, found):
    # Two lineages meet as found: (i, j, age of the event, log weight). What the last one adds.
    i, j, at, _ = found
    made, m = swarm.slot.shape[1] + item, left - swarm.pending[p]
    one, two = swarm.slot[p, i], swarm.slot[p, j]
    join(process, pool.message, one, at - pool.age[one], pool.message, two, at - pool.age[two], pool.message, made)
    pool.age[made], pool.parts[made, 0], pool.parts[made, 1] = at, one, two
    swarm.slot[p, i] = made
    swarm.slot[p, j] = swarm.slot[p, m - 1]
    swarm.now[p] = at
    return log_root(process, pool.message, made) if left == 2 else 0.0


# One event for the particles first … last − 1.


@kernel
def _by_prior_prior(process, pool, swarm, left, seed, event, first, last, gain):
    values, meeting = np.empty(left * (left - 1) // 2), np.empty(process.n_meeting)
    for p in range(first, last):
        item = event * swarm.now.size + p
        found = _prior_prior(process, pool, swarm, p, left, seed, item, values, meeting)
        gain[p] = found[3] + _go_on(process, pool, swarm, p, left, item, found)


@kernel
def _by_prior_post(process, pool, swarm, left, seed, event, first, last, gain):
    values, meeting = np.empty(left * (left - 1) // 2), np.empty(process.n_meeting)
    for p in range(first, last):
        item = event * swarm.now.size + p
        found = _prior_post(process, pool, swarm, p, left, seed, item, values, meeting)
        gain[p] = found[3] + _go_on(process, pool, swarm, p, left, item, found)


@kernel
def _by_post_post(process, pool, swarm, left, seed, event, first, last, gain):
    values, meeting = np.empty(left * (left - 1) // 2), np.empty(process.n_meeting)
    for p in range(first, last):
        item = event * swarm.now.size + p
        found = _post_post(process, pool, swarm, p, left, seed, item, values, meeting)
        gain[p] = found[3] + _go_on(process, pool, swarm, p, left, item, found)


@kernel
def _by_race(process, pool, swarm, left, seed, event, first, last, gain):
    meeting = np.empty(process.n_meeting)
    for p in range(first, last):
        item = event * swarm.now.size + p
        found = _race(process, pool, swarm, p, left, seed, item, meeting)
        m = left - swarm.pending[p]
        gain[p] = found[3] + _go_on(process, pool, swarm, p, left, item, found)
        _race_on(process, pool, swarm, p, m, found[0], found[1], seed, item, meeting)


class _Proposal(NamedTuple):
    """What there is to know of one: its kernel, the functions of a process that it asks for, and what it costs."""

    advance: Any
    functions: tuple[str, ...]  #: besides `join` and `log_root`
    pairs: Callable[[int, int], float]  #: that a particle with m lineages of n leaves looks at
    nanoseconds: float  #: for each of them, besides those for its messages


_INTEGRALS = ("meet", "log_z", "log_integral", "propose_length")
_RACING = ("meet", "log_z", "propose_length", "log_survival")
_TABLE = {
    "prior-prior": _Proposal(_by_prior_prior, ("agree",), lambda m, n: 1.0, 20.0),
    "prior-post": _Proposal(_by_prior_post, ("agree",), lambda m, n: 0.5 * m * m, 20.0),
    "post-post": _Proposal(_by_post_post, _INTEGRALS, lambda m, n: 0.5 * m * m, 1500.0),
    "race": _Proposal(_by_race, _RACING, lambda m, n: float(m * m) if m == n else 4.0 * m, 1500.0),
}
PROPOSALS = tuple(_TABLE)


def advance(name: str, *args: Any) -> None:
    """One event for the particles first … last − 1: (process, pool, swarm, left, seed, event, first, last, gain)."""
    _TABLE[name].advance(*args)


def compiled_for(prepared: Prepared, name: str, has_arrivals: bool) -> CompiledProcess:
    """The process as a proposal takes it; `has_arrivals`: whether leaves differ in age."""
    more = ("log_survival",) if has_arrivals and name == "post-post" else ()
    return prepared.compiled("join", "log_root", *_TABLE[name].functions, *more)


def start(prepared: Prepared, leaf_ages: Floats, size: int, name: str) -> tuple[Pool, Swarm]:
    """All particles before the first event; the youngest leaf has age 0."""
    n = prepared.n_leaves
    total = n + (n - 1) * size
    arrivals = np.argsort(leaf_ages, kind="stable")
    pool = Pool(np.empty((total, prepared.n_message)), np.zeros(total), np.zeros((total, 2), dtype=np.int64), arrivals)
    pool.message[:n], pool.age[:n] = prepared.leaves, leaf_ages
    table = (size, n, n) if name == "race" else (size, 0, 0)
    pending = np.full(size, np.count_nonzero(leaf_ages))
    return pool, Swarm(np.tile(arrivals, (size, 1)), np.zeros(size), pending, np.full(table, np.inf), np.zeros(table))


def work_of(prepared: Prepared, name: str, m: int) -> float:
    """Nanoseconds for one particle with m lineages, about."""
    pairs = _TABLE[name].pairs(m, prepared.n_leaves)
    return pairs * (2.0 * prepared.n_message + _TABLE[name].nanoseconds)
