"""How a particle goes on: which two lineages meet next, and when; one template for each proposal.

Lineages of all particles lie in one pool and never change: particles that come from one share what they have in
common. A particle with m lineages points at them from the slots 0 … m − 1. An event joins slots i < j: the new lineage
goes into slot i, and the last slot moves to j. Random numbers depend on (seed, event, particle) only.

Leaves that are older than the youngest arrive one by one: a particle whose time comes to the age of the next leaf has
one lineage more from there on. Of m lineages that are left, `pending` have not arrived, and the others have the slots.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np

from palmette._jit import inline, specialise, specialise_called, specialise_inline
from palmette.array_types import Floats, Ints
from palmette.coalescent.process import Prepared, Process
from palmette.numeric import unit_draw

__all__ = ["PROPOSALS", "Pool", "Swarm", "compile_proposal", "start", "work_of"]

_PAIR, _DURATION, _LENGTH = 0, 1, 2  # steps of a particle's stream; candidates of a race begin at the last one
_TURN = 3  # steps that a choice between two arrivals takes

# A process's functions, and ours for it, put in by `specialise`.
meet = log_z = join = log_root = log_integral = propose_length = log_survival = cast(Any, None)
choose = enter = follow = cast(Any, None)


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
def _separation(pool, slot, now, i, j):
    # Length of both branches if the two met now.
    return (now - pool.age[slot[i]]) + (now - pool.age[slot[j]])


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


def _prior_prior(theta, pool, swarm, p, m, seed, item, values, meeting):
    # (i, j, age of the event, log weight)
    delta, m = _wait(pool, swarm, p, m, -math.log1p(-unit_draw(seed, item, _DURATION)))
    slot, now = swarm.slot[p], swarm.now[p]
    i, j = _pair_number(int(unit_draw(seed, item, _PAIR) * _rate(m)), m)
    meet(theta, pool.message[slot[i]], pool.message[slot[j]], meeting)
    return i, j, now + delta, log_z(theta, meeting, _separation(pool, slot, now, i, j) + 2.0 * delta)


def _prior_post(theta, pool, swarm, p, m, seed, item, values, meeting):
    delta, m = _wait(pool, swarm, p, m, -math.log1p(-unit_draw(seed, item, _DURATION)))
    slot, now = swarm.slot[p], swarm.now[p]
    k = 0
    for i in range(m):
        for j in range(i + 1, m):
            meet(theta, pool.message[slot[i]], pool.message[slot[j]], meeting)
            values[k] = log_z(theta, meeting, _separation(pool, slot, now, i, j) + 2.0 * delta)
            k += 1
    chosen, total = _pick(values, k, unit_draw(seed, item, _PAIR))
    i, j = _pair_number(chosen, m)
    return i, j, now + delta, total - math.log(_rate(m))


def _post_post(theta, pool, swarm, p, left, seed, item, values, meeting):
    # A duration that goes beyond the next arrival says no more than that nobody meets before it. That has the
    # probability e^(−rate · time) in the prior and Σ share · survival here; then all is drawn anew, one lineage more.
    gain, turn = 0.0, 0
    while True:
        m, slot, now = left - swarm.pending[p], swarm.slot[p], swarm.now[p]
        if m == 1:
            _arrive(pool, swarm, p, left)
            continue
        rate, until = _rate(m), _next_arrival(pool, swarm, p)
        k = 0
        for i in range(m):
            for j in range(i + 1, m):
                meet(theta, pool.message[slot[i]], pool.message[slot[j]], meeting)
                values[k] = log_integral(theta, meeting, _separation(pool, slot, now, i, j), rate)
                k += 1
        chosen, total = _pick(values, k, unit_draw(seed, item, _PAIR + turn))
        if total > -np.inf or until == np.inf:
            i, j = _pair_number(chosen, m)
            meet(theta, pool.message[slot[i]], pool.message[slot[j]], meeting)
            s0 = _separation(pool, slot, now, i, j)
            s, log_density = propose_length(theta, meeting, s0, rate, seed, item, _LENGTH + turn)
            delta = 0.5 * (s - s0)
            if total == np.inf or total == -np.inf:
                return i, j, now + delta, total
            if now + delta < until:
                worth = total - values[chosen] - rate * delta + log_z(theta, meeting, s) - log_density
                return i, j, now + delta, gain + worth
            k = 0
            for i in range(m):
                for j in range(i + 1, m):
                    meet(theta, pool.message[slot[i]], pool.message[slot[j]], meeting)
                    s0 = _separation(pool, slot, now, i, j)
                    values[k] += log_survival(theta, meeting, s0, rate, until - now) - total
                    k += 1
            gain -= _pick(values, k, 0.0)[1]
        gain -= rate * (until - now)
        _arrive(pool, swarm, p, left)
        turn += _TURN


def _enter(theta, pool, swarm, p, i, j, seed, item, step, meeting):
    # A pair that has come to be: when it would meet, and what that would be worth.
    slot, now = swarm.slot[p], swarm.now[p]
    low, high = min(i, j), max(i, j)
    meet(theta, pool.message[slot[low]], pool.message[slot[high]], meeting)
    s0 = _separation(pool, slot, now, low, high)
    s, log_density = propose_length(theta, meeting, s0, 1.0, seed, item, step)
    delta = 0.5 * (s - s0)
    swarm.due[p, low, high] = now + delta
    swarm.worth[p, low, high] = np.inf if log_density == np.inf else log_z(theta, meeting, s) - delta - log_density


def _race(theta, pool, swarm, p, left, seed, item, values, meeting):
    # A pair came to be when the later one of its lineages did. Those that end unmet have had e^(−δ) to survive δ, and
    # did so with another probability here.
    slot, due, n = swarm.slot[p], swarm.due[p], swarm.slot.shape[1]
    m = left - swarm.pending[p]
    if left == n:
        for i in range(m):
            for j in range(i + 1, m):
                enter(theta, pool, swarm, p, i, j, seed, item, _LENGTH + i * m + j, meeting)
    while True:
        first, second, event = 0, 1, np.inf
        for i in range(m):
            for j in range(i + 1, m):
                if due[i, j] < event:
                    first, second, event = i, j, due[i, j]
        if swarm.pending[p] == 0 or event < _next_arrival(pool, swarm, p):
            break
        last = _arrive(pool, swarm, p, left)
        for other in range(last):
            enter(theta, pool, swarm, p, other, last, seed, item, _LENGTH + (n + 1 + slot[last]) * n + other, meeting)
        m += 1
    gain = swarm.worth[p, first, second]
    for k in range(m):
        for one in (first, second):
            if k != first and k != second:
                low, high = min(k, one), max(k, one)
                born = max(pool.age[slot[low]], pool.age[slot[high]])
                meet(theta, pool.message[slot[low]], pool.message[slot[high]], meeting)
                survival = log_survival(theta, meeting, _separation(pool, slot, born, low, high), 1.0, event - born)
                gain -= (event - born) + survival
    return first, second, event, gain


def _race_on(theta, pool, swarm, p, m, i, j, seed, item, meeting):
    # Slots i and j have been joined in slot i; m lineages were there.
    _move_slot(swarm.due[p], j, m)
    _move_slot(swarm.worth[p], j, m)
    n = swarm.slot.shape[1]
    for other in range(m - 1):
        if other != i:
            enter(theta, pool, swarm, p, i, other, seed, item, _LENGTH + n * n + other, meeting)


@inline
def _nothing(theta, pool, swarm, p, m, i, j, seed, item, meeting):
    return None


@inline
def _for_ever(theta, meeting, s0, rate, delta):
    return 0.0


def _advance(theta, pool, swarm, left, seed, event, first, last, gain, k):
    n, size = swarm.slot.shape[1], swarm.now.size
    values, meeting = np.empty(left * (left - 1) // 2), np.empty(k)
    for p in range(first, last):
        item = event * size + p
        slot, made = swarm.slot[p], n + item
        i, j, at, gain[p] = choose(theta, pool, swarm, p, left, seed, item, values, meeting)
        m = left - swarm.pending[p]
        one, two = slot[i], slot[j]
        lengths = at - pool.age[one], at - pool.age[two]
        join(theta, pool.message[one], lengths[0], pool.message[two], lengths[1], pool.message[made])
        pool.age[made], pool.parts[made, 0], pool.parts[made, 1] = at, one, two
        slot[i], slot[j] = made, slot[m - 1]
        swarm.now[p] = at
        follow(theta, pool, swarm, p, m, i, j, seed, item, meeting)
        if left == 2:
            gain[p] += log_root(theta, pool.message[made])


@inline
def _move_slot(table, j, m):
    # What is known of pairs with the last slot goes to slot j.
    for other in range(m - 1):
        if other != j:
            table[min(other, j), max(other, j)] = table[other, m - 1]


class _Proposal(NamedTuple):
    """What there is to know of one: its functions for a process, what it costs, and whether pairs have a time each."""

    make: Callable[[type[Process], bool], tuple[Any, Any]]  #: (kind, has_arrivals) → `choose` and `follow`
    pairs: Callable[[int, int], float]  #: that a particle with m lineages of n leaves looks at
    nanoseconds: float  #: for each of them, besides those for its messages
    is_race: bool = False


def _by_pairs(template: Any, *integrals: str) -> Callable[[type[Process], bool], tuple[Any, Any]]:
    def make(kind: type[Process], has_arrivals: bool) -> tuple[Any, Any]:
        functions = {name: getattr(kind, name) for name in ("meet", "log_z", *integrals)}
        if "log_survival" in functions and not has_arrivals:  # compiling it takes long, and nobody would ask
            functions["log_survival"] = _for_ever
        return specialise_inline(template, **functions), _nothing

    return make


def _make_race(kind: type[Process], has_arrivals: bool) -> tuple[Any, Any]:
    enter = specialise_called(_enter, meet=kind.meet, log_z=kind.log_z, propose_length=kind.propose_length)
    choose = specialise_inline(_race, meet=kind.meet, enter=enter, log_survival=kind.log_survival)
    return choose, specialise_inline(_race_on, enter=enter)


_POST_POST = _by_pairs(_post_post, "log_integral", "propose_length", "log_survival")
_TABLE = {
    "prior-prior": _Proposal(_by_pairs(_prior_prior), lambda m, n: 1.0, 20.0),
    "prior-post": _Proposal(_by_pairs(_prior_post), lambda m, n: 0.5 * m * m, 20.0),
    "post-post": _Proposal(_POST_POST, lambda m, n: 0.5 * m * m, 1500.0),
    "race": _Proposal(_make_race, lambda m, n: float(m * m) if m == n else 4.0 * m, 1500.0, is_race=True),
}
PROPOSALS = tuple(_TABLE)


def compile_proposal(kind: type[Process], name: str, has_arrivals: bool = False) -> Any:
    """advance(θ, pool, swarm, left, seed, event, first, last, gain, n_meeting) for the particles first … last − 1.

    `has_arrivals`: whether leaves differ in age.
    """
    choose, follow = _TABLE[name].make(kind, has_arrivals)
    return specialise(_advance, choose=choose, follow=follow, join=kind.join, log_root=kind.log_root)


def start(prepared: Prepared, leaf_ages: Floats, size: int, name: str) -> tuple[Pool, Swarm]:
    """All particles before the first event; the youngest leaf has age 0."""
    n = prepared.n_leaves
    total = n + (n - 1) * size
    arrivals = np.argsort(leaf_ages, kind="stable")
    pool = Pool(np.empty((total, prepared.n_message)), np.zeros(total), np.zeros((total, 2), dtype=np.int64), arrivals)
    pool.message[:n], pool.age[:n] = prepared.leaves, leaf_ages
    table = (size, n, n) if _TABLE[name].is_race else (size, 0, 0)
    pending = np.full(size, np.count_nonzero(leaf_ages))
    return pool, Swarm(np.tile(arrivals, (size, 1)), np.zeros(size), pending, np.full(table, np.inf), np.zeros(table))


def work_of(prepared: Prepared, name: str, m: int) -> float:
    """Nanoseconds for one particle with m lineages, about."""
    pairs = _TABLE[name].pairs(m, prepared.n_leaves)
    return pairs * (2.0 * prepared.n_message + _TABLE[name].nanoseconds)
