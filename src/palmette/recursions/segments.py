"""A table over clusters by mask in segments of 512 that share all but the nine lowest leaves: for both fast paths.

A mask is (top, middle, low): the three lowest leaves, whose subsets are one octet, then six, then the rest.
"""

from __future__ import annotations

__all__ = ["LOW", "MIDDLE", "SEGMENT", "SEGMENT_LEAVES"]

LOW = 3
MIDDLE = 6
SEGMENT_LEAVES = LOW + MIDDLE
SEGMENT = 1 << SEGMENT_LEAVES
