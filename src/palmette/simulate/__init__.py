"""Simulators: data whose hierarchy is known."""

from palmette.simulate.coalescent import CoalescentDraw, coalescent
from palmette.simulate.ginkgo import GinkgoJets, Jet, ginkgo
from palmette.simulate.shares import variance_shares
from palmette.simulate.splits import SplitDraw, contrasts, normal_pairs, poisson_pairs, random_graph, random_hierarchy

__all__ = [
    "CoalescentDraw",
    "GinkgoJets",
    "Jet",
    "SplitDraw",
    "coalescent",
    "contrasts",
    "ginkgo",
    "normal_pairs",
    "poisson_pairs",
    "random_graph",
    "random_hierarchy",
    "variance_shares",
]
