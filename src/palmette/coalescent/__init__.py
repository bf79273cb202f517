"""Coalescents: histories of lineages that meet, as a prior on hierarchies with heights, and processes along them."""

from palmette.coalescent.brownian import Brownian, Gaussian
from palmette.coalescent.clusters import flat_clusters, log_ratios
from palmette.coalescent.draws import CoalescentDraws
from palmette.coalescent.estimate_brownian import estimate_rate, estimate_scale, sample_covariance
from palmette.coalescent.estimate_sites import estimate_sites
from palmette.coalescent.evidence_rate import RateByEvidence, rate_by_evidence
from palmette.coalescent.fit import fit
from palmette.coalescent.greedy import FoundHistory, greedy
from palmette.coalescent.joint import log_joint, log_likelihood, log_prior
from palmette.coalescent.place import Placement, place
from palmette.coalescent.predict import Imputation, impute, log_predictive_entry, predict
from palmette.coalescent.prediction import Prediction
from palmette.coalescent.priors import Gamma, InverseGamma, InverseWishart
from palmette.coalescent.process import Prepared, Process
from palmette.coalescent.sites import IndependentSites
from palmette.coalescent.smc import smc
from palmette.coalescent.verdict import ParticleVerdict

__all__ = [
    "Brownian",
    "CoalescentDraws",
    "FoundHistory",
    "Gamma",
    "Gaussian",
    "Imputation",
    "IndependentSites",
    "InverseGamma",
    "InverseWishart",
    "ParticleVerdict",
    "Placement",
    "Prediction",
    "Prepared",
    "Process",
    "RateByEvidence",
    "estimate_rate",
    "estimate_scale",
    "estimate_sites",
    "fit",
    "flat_clusters",
    "greedy",
    "impute",
    "log_joint",
    "log_likelihood",
    "log_predictive_entry",
    "log_prior",
    "log_ratios",
    "place",
    "predict",
    "rate_by_evidence",
    "sample_covariance",
    "smc",
]
