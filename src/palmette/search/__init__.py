"""Searches: one good clustering, where all of them are too many, and a proof of how good it is where there is one."""

from palmette.search.coverage import uncovered
from palmette.search.cuts import best_cut
from palmette.search.greedy import greedy
from palmette.search.grow import grow
from palmette.search.perturb import perturb_and_map
from palmette.search.record import Found, FoundPartition

__all__ = ["Found", "FoundPartition", "best_cut", "greedy", "grow", "perturb_and_map", "uncovered"]
