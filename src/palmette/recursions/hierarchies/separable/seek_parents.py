"""The outside pass over parents whose sums are too small for `gather_level`, in logarithms.

Where β is large most parents are as good as impossible, and of the others most shares are less than any number that a
double can hold. These are passed over: by segments, by walks, and an octet at a time.
"""

from __future__ import annotations

import numpy as np

from palmette._jit import inline, kernel
from palmette.clusters import size_of
from palmette.numeric import exponential
from palmette.octets import above, add, larger, load, pick, pick_logs, repeat, store
from palmette.recursions.hierarchies.separable.segments import SEGMENT, middle_range
from palmette.recursions.subsets import ZERO, next_subset

__all__ = ["seek_parents"]

_NEGLIGIBLE = -708.0  # what is below is no normal number, and `exponential` calls it 0

_ONE, _EIGHT, _SEGMENT = np.uint64(1), np.uint64(8), np.uint64(SEGMENT)
_P1, _P2, _P3, _P4, _P5, _P6, _P7 = (np.uint64(i) for i in range(1, 8))


@inline
def _send(octet, S, c, tile):
    # S[c : c + 8] += exp(octet).
    store(octet, tile, 0)
    for j in range(8):
        S[c + np.uint64(j)] += exponential(tile[j])


@inline
def _seek0(W, G, own, S, least, within, size):
    first, last = middle_range(within, size)
    for i in range(first, last):
        h = within.middles[i]
        w = W[h * _EIGHT]
        if w > least:
            s = ZERO
            while True:
                x = w + G[(h ^ s) * _EIGHT] + own[s * _EIGHT]
                if x > _NEGLIGIBLE:
                    S[s * _EIGHT] += exponential(x)
                if s == h:
                    break
                s = next_subset(s, h)


@inline
def _seek1(W, G, own, S, least, within, size, tile):
    first, last = middle_range(within, size)
    for i in range(first, last):
        h = within.middles[i]
        o = h * _EIGHT
        if max(W[o + _P1], max(W[o + _P2], W[o + _P4])) > least:
            w1, w2, w4 = repeat(W[o + _P1]), repeat(W[o + _P2]), repeat(W[o + _P4])
            s = ZERO
            while True:
                c = s * _EIGHT
                g, mine = load(G, (h ^ s) * _EIGHT), load(own, c)
                x = add(add(pick_logs(g, "10------"), w1), mine)
                y = add(add(pick_logs(g, "2-0-----"), w2), mine)
                z = add(add(pick_logs(g, "4---0---"), w4), mine)
                if above(larger(larger(x, y), z), repeat(_NEGLIGIBLE)):
                    _send(x, S, c, tile)
                    _send(y, S, c, tile)
                    _send(z, S, c, tile)
                if s == h:
                    break
                s = next_subset(s, h)


@inline
def _seek2(W, G, own, S, least, within, size, tile):
    first, last = middle_range(within, size)
    for i in range(first, last):
        h = within.middles[i]
        o = h * _EIGHT
        if max(W[o + _P3], max(W[o + _P5], W[o + _P6])) > least:
            w3, w5, w6 = repeat(W[o + _P3]), repeat(W[o + _P5]), repeat(W[o + _P6])
            s = ZERO
            while True:
                c = s * _EIGHT
                g, mine = load(G, (h ^ s) * _EIGHT), load(own, c)
                x = add(add(pick_logs(g, "3210----"), w3), mine)
                y = add(add(pick_logs(g, "54--10--"), w5), mine)
                z = add(add(pick_logs(g, "6-4-2-0-"), w6), mine)
                if above(larger(larger(x, y), z), repeat(_NEGLIGIBLE)):
                    _send(x, S, c, tile)
                    _send(y, S, c, tile)
                    _send(z, S, c, tile)
                if s == h:
                    break
                s = next_subset(s, h)


@inline
def _seek3(W, G, own, S, least, within, size, tile):
    first, last = middle_range(within, size)
    for i in range(first, last):
        h = within.middles[i]
        if W[h * _EIGHT + _P7] > least:
            w7 = repeat(W[h * _EIGHT + _P7])
            s = ZERO
            while True:
                c = s * _EIGHT
                x = add(add(pick(load(G, (h ^ s) * _EIGHT), "76543210"), w7), load(own, c))
                if above(x, repeat(_NEGLIGIBLE)):
                    _send(x, S, c, tile)
                if s == h:
                    break
                s = next_subset(s, h)


@kernel
def seek_parents(outer, alive, logs, tallest, k, tops, first, last, within, out):
    """out[C] = Σ_R exp(outer[C ∪ R] + logs[R] + logs[C]), R as in `gather_level`, but what no double can hold.

    alive[T] is the largest of outer for the P of k leaves and top T, tallest[S] that of the logs in segment S.
    """
    tile = np.empty(8)
    full = np.uint64(out.size // SEGMENT - 1)
    for t in range(first, last):
        C = np.uint64(tops[t])
        S, own = out[C * _SEGMENT : (C + _ONE) * _SEGMENT], logs[C * _SEGMENT : (C + _ONE) * _SEGMENT]
        for i in range(SEGMENT):
            S[i] = 0.0
        others = full ^ C
        R = ZERO
        while True:
            T = C | R
            least = _NEGLIGIBLE - (tallest[C] + tallest[R])
            if alive[T] > least:
                rest = k - size_of(T)
                W, G = outer[T * _SEGMENT : (T + _ONE) * _SEGMENT], logs[R * _SEGMENT : (R + _ONE) * _SEGMENT]
                _seek0(W, G, own, S, least, within, rest)
                _seek1(W, G, own, S, least, within, rest - 1, tile)
                _seek2(W, G, own, S, least, within, rest - 2, tile)
                _seek3(W, G, own, S, least, within, rest - 3, tile)
            if others == R:
                break
            R = next_subset(R, others)
