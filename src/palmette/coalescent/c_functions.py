"""The C functions of a compiled process, and how kernels call them.

    meet(θ, |θ|, left, right, |message|, out, |meeting|)    how many entries both know something about
    log_z(θ, |θ|, meeting, |meeting|, s)
    join(θ, |θ|, left, l_left, right, l_right, out, |message|)
    log_root(θ, |θ|, message, |message|)
    slopes(θ, |θ|, meeting, |meeting|, s, out)              two numbers to `out`
    longest(θ, |θ|, meeting, |meeting|, rate)
    best_length(log_z, slopes, longest, θ, |θ|, meeting, |meeting|, s0, rate)
    log_integral(log_z, θ, |θ|, meeting, |meeting|, s0, rate)
    propose_length(log_z, θ, |θ|, meeting, |meeting|, s0, rate, seed, item, step, out)    s; the log density to `out`
    log_survival(log_z, θ, |θ|, meeting, |meeting|, s0, rate, δ)

What they mean stands at `Process`. The last four are given the addresses of what they may be made from: so those of
`palmette.coalescent.durations` are compiled once, for all processes that have none of their own.

A process is compiled to them when they are asked for (`Prepared.compiled`), and kernels take their addresses. Here, a
kernel points at messages and meetings as rows of a table; an array with one axis is a table with one row, 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import types

from palmette._addresses import NUMBERS, c_function, caller, pointer, room, vector
from palmette._jit import inline
from palmette.array_types import Floats

__all__ = ["CompiledProcess", "address_of", "call_log_z", "call_longest", "call_slopes", "general_address"]
__all__ += ["best_length", "join", "log_integral", "log_root", "log_survival", "log_z", "meet", "propose_length"]

_N, _X = types.int64, types.float64
_AT = (NUMBERS, _N, NUMBERS, _N)  # θ, |θ|, meeting, |meeting|
_SIGNATURES = {
    "meet": _X(NUMBERS, _N, NUMBERS, NUMBERS, _N, NUMBERS, _N),
    "log_z": _X(*_AT, _X),
    "join": types.void(NUMBERS, _N, NUMBERS, _X, NUMBERS, _X, NUMBERS, _N),
    "log_root": _X(*_AT),
    "slopes": types.void(*_AT, _X, NUMBERS),
    "longest": _X(*_AT, _X),
    "best_length": _X(_N, _N, _N, *_AT, _X, _X),
    "log_integral": _X(_N, *_AT, _X, _X),
    "propose_length": _X(_N, *_AT, _X, _X, _N, _N, _N, NUMBERS),
    "log_survival": _X(_N, *_AT, _X, _X, _X),
}

_call_meet = caller(_SIGNATURES["meet"])
call_log_z = caller(_SIGNATURES["log_z"])
_call_join = caller(_SIGNATURES["join"])
_call_log_root = caller(_SIGNATURES["log_root"])
call_slopes = caller(_SIGNATURES["slopes"])
call_longest = caller(_SIGNATURES["longest"])
_call_best_length = caller(_SIGNATURES["best_length"])
_call_log_integral = caller(_SIGNATURES["log_integral"])
_call_propose_length = caller(_SIGNATURES["propose_length"])
_call_log_survival = caller(_SIGNATURES["log_survival"])

_one = room(1)

own: Any = None  # a function of a process, put in by `c_function`


class CompiledProcess(NamedTuple):
    """A process as kernels take it: its parameters and the addresses of its functions, 0 for one not asked for."""

    theta: Floats
    n_meeting: int
    meet: int
    log_z: int
    join: int
    log_root: int
    slopes: int = 0
    longest: int = 0
    best_length: int = 0
    log_integral: int = 0
    propose_length: int = 0
    log_survival: int = 0


# How kernels call them.


@inline
def _at(process, meetings, k):
    where = pointer(meetings, k * process.n_meeting)
    return pointer(process.theta, 0), process.theta.size, where, process.n_meeting


@inline
def meet(process, left, i, right, j, meetings, k):
    """The meeting of two messages, rows of tables, into row k; how many entries both know something about."""
    m = left.shape[-1]
    parts = pointer(left, i * m), pointer(right, j * m), m, pointer(meetings, k * process.n_meeting), process.n_meeting
    return _call_meet(process.meet, (pointer(process.theta, 0), process.theta.size, *parts))


@inline
def log_z(process, meetings, k, s):
    """log Z of a meeting at s."""
    return call_log_z(process.log_z, (*_at(process, meetings, k), s))


@inline
def join(process, left, i, l_left, right, j, l_right, out, k):
    """The message of the lineage that two become, into row k."""
    m = out.shape[-1]
    parts = pointer(left, i * m), l_left, pointer(right, j * m), l_right, pointer(out, k * m), m
    _call_join(process.join, (pointer(process.theta, 0), process.theta.size, *parts))


@inline
def log_root(process, messages, i):
    """What the state of the last lineage adds."""
    m = messages.shape[-1]
    return _call_log_root(
        process.log_root, (pointer(process.theta, 0), process.theta.size, pointer(messages, i * m), m)
    )


@inline
def best_length(process, meetings, k, s0, rate):
    """The s ≥ s0 that maximises −rate (s − s0)/2 + log Z(s)."""
    made_from = process.log_z, process.slopes, process.longest
    return _call_best_length(process.best_length, (*made_from, *_at(process, meetings, k), s0, rate))


@inline
def log_integral(process, meetings, k, s0, rate):
    """log ∫_0^∞ e^(−rate δ) Z(s0 + 2δ) dδ."""
    return _call_log_integral(process.log_integral, (process.log_z, *_at(process, meetings, k), s0, rate))


@inline
def propose_length(process, meetings, k, s0, rate, seed, item, step):
    """(s, log density of δ): a draw."""
    density = _one()
    known = *_at(process, meetings, k), s0, rate, seed, item, step, density
    s = _call_propose_length(process.propose_length, (process.log_z, *known))
    return s, density[0]


@inline
def log_survival(process, meetings, k, s0, rate, delta):
    """The log-probability that such a draw is longer than δ."""
    return _call_log_survival(process.log_survival, (process.log_z, *_at(process, meetings, k), s0, rate, delta))


# What they call.


def _meet(theta, m, left, right, k, out, n):
    return own(vector(theta, 0, m), vector(left, 0, k), vector(right, 0, k), vector(out, 0, n))


def _log_z(theta, m, meeting, n, s):
    return own(vector(theta, 0, m), vector(meeting, 0, n), s)


def _join(theta, m, left, l_left, right, l_right, out, k):
    own(vector(theta, 0, m), vector(left, 0, k), l_left, vector(right, 0, k), l_right, vector(out, 0, k))


def _log_root(theta, m, message, k):
    return own(vector(theta, 0, m), vector(message, 0, k))


def _slopes(theta, m, meeting, n, s, out):
    out[0], out[1] = own(vector(theta, 0, m), vector(meeting, 0, n), s)


def _longest(theta, m, meeting, n, rate):
    return own(vector(theta, 0, m), vector(meeting, 0, n), rate)


def _best_length(log_z, slopes, longest, theta, m, meeting, n, s0, rate):
    return own(vector(theta, 0, m), vector(meeting, 0, n), s0, rate)


def _log_integral(log_z, theta, m, meeting, n, s0, rate):
    return own(vector(theta, 0, m), vector(meeting, 0, n), s0, rate)


def _propose_length(log_z, theta, m, meeting, n, s0, rate, seed, item, step, out):
    s, out[0] = own(vector(theta, 0, m), vector(meeting, 0, n), s0, rate, seed, item, step)
    return s


def _log_survival(log_z, theta, m, meeting, n, s0, rate, delta):
    return own(vector(theta, 0, m), vector(meeting, 0, n), s0, rate, delta)


_TEMPLATES = {
    "meet": _meet,
    "log_z": _log_z,
    "join": _join,
    "log_root": _log_root,
    "slopes": _slopes,
    "longest": _longest,
    "best_length": _best_length,
    "log_integral": _log_integral,
    "propose_length": _propose_length,
    "log_survival": _log_survival,
}


def address_of(name: str, function: Any) -> int:
    """The address of a process's function of this name."""
    return c_function(_TEMPLATES[name], _SIGNATURES[name], own=function).address


def general_address(name: str, function: Any) -> int:
    """The address of one that is written as the C function itself, and knows no process."""
    return c_function(function, _SIGNATURES[name]).address
