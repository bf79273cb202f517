"""Passes for log ψ(L, R) = a(P) + b(|P|)·(u(L) + u(R)), several times faster than the general ones.

With G(S) = exp(b u(S) + log Z(S) − α|S|), tabulated for the b of one size |P|, the sum over the splits of P is

    Z(P) = exp(a(P) + α|P|) · F(P),      F(P) = Σ G(L) G(R),

one multiply-add per split (the reference α|S| is linear in the size, so it cancels). Where F would underflow, which is
where β is large, the sum is one of exponentials, and nearly none of them matters: the same walk then adds logarithms
and compares, and takes the exponential of those few that can change the last bit.

The walk. A mask is (top, middle, low): the three lowest leaves, then six, then the rest. For one pair of disjoint
tops {A, B} everything needed lies in two *segments* of the table, 4 KB each, which stay in the first-level cache while
all their middle parts are combined. The eight low parts are one octet, of which the splits of low parts of 1, 2 and 3
leaves are picked: 6, 12 and 8 at a time. They are separate walks, because one pass serves one size |P| only.
"""
