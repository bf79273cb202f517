"""Simulators: data whose hierarchy is known."""

from palmette.simulate.coalescent import CoalescentDraw, coalescent
from palmette.simulate.ginkgo import GinkgoJets, Jet, ginkgo

__all__ = ["CoalescentDraw", "GinkgoJets", "Jet", "coalescent", "ginkgo"]
