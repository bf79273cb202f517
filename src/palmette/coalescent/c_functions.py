"""The C functions of a compiled process, and how kernels call them.

    meet(θ, |θ|, left, right, |message|, out, |meeting|)    how many entries both know something about
    log_z(θ, |θ|, meeting, |meeting|, s)
    agree(θ, |θ|, left, table, |message|, others, count, room, |meeting|, values)
    join(θ, |θ|, left, l_left, right, l_right, out, |message|)
    log_root(θ, |θ|, message, |message|)
    slopes(θ, |θ|, meeting, |meeting|, lengths, count, out)
    longest(θ, |θ|, meeting, |meeting|, rate)
    best_length(log_z, slopes, longest, θ, |θ|, meetings, |meeting|, rows, count, rate, lengths, log_zs)
    log_integral(log_z, θ, |θ|, meeting, |meeting|, s0, rate)
    propose_length(log_z, θ, |θ|, meeting, |meeting|, s0, rate, seed, item, step, out)    s; the log density to `out`
    log_survival(log_z, θ, |θ|, meeting, |meeting|, s0, rate, δ)

What they mean stands at `Process`. `agree` is `meet` and `log_z`, of one lineage with each of those listed, which are
rows of a table: values[j] is s before and log Z after; `room` is for one meeting. `slopes` writes two numbers for each
length. `best_length` is for listed rows of meetings: lengths[j] is s0 before and the best s after, where log Z is
log_zs[j]. The last four are given the addresses of what they may be made from: so those of
`palmette.coalescent.durations` are compiled once, for all processes that have none of their own.

A process is compiled to them when they are asked for (`Prepared.compiled`), and kernels take their addresses. Here, a
kernel points at messages and meetings as rows of a table; an array with one axis is a table with one row, 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import types

from palmette._addresses import INTEGERS, NUMBERS, c_function, caller, pointer, room, vector
from palmette._jit import inline
from palmette.array_types import Floats

__all__ = ["CompiledProcess", "address_of", "call_log_z", "call_longest", "call_slopes", "general_address"]
__all__ += ["agree", "best_lengths", "join", "log_integral", "log_root", "log_survival", "log_z", "meet"]
__all__ += ["propose_length"]

_N, _X = types.int64, types.float64
_AT = (NUMBERS, _N, NUMBERS, _N)  # θ, |θ|, meeting, |meeting|
_SIGNATURES = {
    "meet": _X(NUMBERS, _N, NUMBERS, NUMBERS, _N, NUMBERS, _N),
    "log_z": _X(*_AT, _X),
    "agree": types.void(NUMBERS, _N, NUMBERS, NUMBERS, _N, INTEGERS, _N, NUMBERS, _N, NUMBERS),
    "join": types.void(NUMBERS, _N, NUMBERS, _X, NUMBERS, _X, NUMBERS, _N),
    "log_root": _X(*_AT),
    "slopes": types.void(*_AT, NUMBERS, _N, NUMBERS),
    "longest": _X(*_AT, _X),
    "best_length": types.void(_N, _N, _N, *_AT, INTEGERS, _N, _X, NUMBERS, NUMBERS),
    "log_integral": _X(_N, *_AT, _X, _X),
    "propose_length": _X(_N, *_AT, _X, _X, _N, _N, _N, NUMBERS),
    "log_survival": _X(_N, *_AT, _X, _X, _X),
}

_call_meet = caller(_SIGNATURES["meet"])
call_log_z = caller(_SIGNATURES["log_z"])
_call_agree = caller(_SIGNATURES["agree"])
_call_join = caller(_SIGNATURES["join"])
_call_log_root = caller(_SIGNATURES["log_root"])
call_slopes = caller(_SIGNATURES["slopes"])
call_longest = caller(_SIGNATURES["longest"])
_call_best_length = caller(_SIGNATURES["best_length"])
_call_log_integral = caller(_SIGNATURES["log_integral"])
_call_propose_length = caller(_SIGNATURES["propose_length"])
_call_log_survival = caller(_SIGNATURES["log_survival"])

_one = room(1)

own: Any = None  # a function of a process, put in by `c_function`, as are these
own_meet: Any = None
own_log_z: Any = None


class CompiledProcess(NamedTuple):
    """A process as kernels take it: its parameters and the addresses of its functions, 0 for one not asked for."""

    theta: Floats
    n_meeting: int
    meet: int = 0
    log_z: int = 0
    agree: int = 0
    join: int = 0
    log_root: int = 0
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
def agree(process, left, i, table, others, first, count, meeting, values, at):
    """values[at + j], a length, becomes log Z at it of row i of `left` and row others[first + j] of a table."""
    m = table.shape[-1]
    parts = pointer(left, i * m), pointer(table, 0), m, pointer(others, first), count
    room = pointer(meeting, 0), process.n_meeting, pointer(values, at)
    _call_agree(process.agree, (pointer(process.theta, 0), process.theta.size, *parts, *room))


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
def best_lengths(process, meetings, rows, count, rate, lengths, log_zs):
    """lengths[j], the s0 of a row of meetings, becomes the best s, and log_zs[j] log Z there."""
    made_from = process.log_z, process.slopes, process.longest
    listed = pointer(rows, 0), count, rate, pointer(lengths, 0), pointer(log_zs, 0)
    _call_best_length(process.best_length, (*made_from, *_at(process, meetings, 0), *listed))


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


def _agree(theta, m, left, table, k, others, count, room, n, values):
    parameters, one, meeting = vector(theta, 0, m), vector(left, 0, k), vector(room, 0, n)
    for j in range(count):
        own_meet(parameters, one, vector(table, others[j] * k, k), meeting)
        values[j] = own_log_z(parameters, meeting, values[j])


def _join(theta, m, left, l_left, right, l_right, out, k):
    own(vector(theta, 0, m), vector(left, 0, k), l_left, vector(right, 0, k), l_right, vector(out, 0, k))


def _log_root(theta, m, message, k):
    return own(vector(theta, 0, m), vector(message, 0, k))


def _slopes(theta, m, meeting, n, lengths, count, out):
    parameters, given = vector(theta, 0, m), vector(meeting, 0, n)
    for j in range(count):
        out[2 * j], out[2 * j + 1] = own(parameters, given, lengths[j])


def _longest(theta, m, meeting, n, rate):
    return own(vector(theta, 0, m), vector(meeting, 0, n), rate)


def _best_length(log_z, slopes, longest, theta, m, meetings, n, rows, count, rate, lengths, log_zs):
    parameters = vector(theta, 0, m)
    for j in range(count):
        meeting = vector(meetings, rows[j] * n, n)
        length = own(parameters, meeting, lengths[j], rate)
        lengths[j], log_zs[j] = length, own_log_z(parameters, meeting, length)


def _log_integral(log_z, theta, m, meeting, n, s0, rate):
    return own(vector(theta, 0, m), vector(meeting, 0, n), s0, rate)


def _propose_length(log_z, theta, m, meeting, n, s0, rate, seed, item, step, out):
    s, out[0] = own(vector(theta, 0, m), vector(meeting, 0, n), s0, rate, seed, item, step)
    return s


def _log_survival(log_z, theta, m, meeting, n, s0, rate, delta):
    return own(vector(theta, 0, m), vector(meeting, 0, n), s0, rate, delta)


_TEMPLATES: tuple[Any, ...] = (_meet, _log_z, _agree, _join, _log_root, _slopes, _longest)
_TEMPLATES += (_best_length, _log_integral, _propose_length, _log_survival)
_TEMPLATE_OF = dict(zip(_SIGNATURES, _TEMPLATES, strict=True))
_PARTS = {
    "agree": {"own_meet": "meet", "own_log_z": "log_z"},
    "best_length": {"own": "best_length", "own_log_z": "log_z"},
}


def address_of(name: str, kind: Any) -> int:
    """The address of the function of this name of a process that defines it."""
    parts = _PARTS.get(name, {"own": name})
    functions = {part: getattr(kind, of) for part, of in parts.items()}
    return c_function(_TEMPLATE_OF[name], _SIGNATURES[name], **functions).address


def general_address(name: str, function: Any) -> int:
    """The address of one that is written as the C function itself, and knows no process."""
    return c_function(function, _SIGNATURES[name]).address
