"""Likelihoods: what the rows of a cluster have to say, with the parameters they share integrated out."""

from palmette.likelihoods.base import Likelihood
from palmette.likelihoods.beta_bernoulli import BetaBernoulli
from palmette.likelihoods.dirichlet_categorical import DirichletCategorical
from palmette.likelihoods.normal_gamma import NormalGamma
from palmette.likelihoods.normal_inverse_wishart import NormalInverseWishart

__all__ = ["BetaBernoulli", "DirichletCategorical", "Likelihood", "NormalGamma", "NormalInverseWishart"]
