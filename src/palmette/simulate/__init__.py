"""Simulators: data whose hierarchy is known."""

from palmette.simulate.ginkgo import GinkgoJets, Jet, ginkgo

__all__ = ["GinkgoJets", "Jet", "ginkgo"]
