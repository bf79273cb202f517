"""Posteriors: a model times a trellis, normalised, and the questions they answer."""

from palmette.posterior.draws import Draws
from palmette.posterior.estimate import Estimate
from palmette.posterior.hierarchies import HierarchyPosterior

__all__ = ["Draws", "Estimate", "HierarchyPosterior"]
