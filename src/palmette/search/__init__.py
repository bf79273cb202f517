"""Searches: one good hierarchy, where all of them are too many, and a proof of how good it is where there is one."""

from palmette.search.greedy import greedy
from palmette.search.record import Found

__all__ = ["Found", "greedy"]
