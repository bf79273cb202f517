"""Searches: one good clustering, where all of them are too many, and a proof of how good it is where there is one.

`posterior` searches as well where it has to: for the clusters that are summed over.

Who calls whom: `greedy` and `bayesian` find the next pair by `partners`; `beam` keeps `forests`; `a_star` walks, and
where the walk stops, has a cluster opened; `refine` makes `refine_moves`, which survey `palmette.regrafts`.
`posteriors` holds `posterior`, which takes `greedy` and `refine` to start from, and `grow` or what `sampled_posteriors`
makes of `palmette.sampling`.
"""

from palmette.search.a_star import Proved, a_star
from palmette.search.bayesian import BayesianFound, bayesian
from palmette.search.beam import beam
from palmette.search.coverage import uncovered
from palmette.search.cuts import best_cut
from palmette.search.found import Found, FoundPartition
from palmette.search.greedy import greedy
from palmette.search.grow import grow
from palmette.search.perturb import perturb_and_map
from palmette.search.posteriors import posterior
from palmette.search.refine import refine

__all__ = [
    "BayesianFound",
    "Found",
    "FoundPartition",
    "Proved",
    "a_star",
    "bayesian",
    "beam",
    "best_cut",
    "greedy",
    "grow",
    "perturb_and_map",
    "posterior",
    "refine",
    "uncovered",
]
