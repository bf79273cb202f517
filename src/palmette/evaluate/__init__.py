"""Measures: costs of hierarchies, how far two clusterings are apart, known classes, agreement of samples, bootstrap."""

from palmette.evaluate.bootstrap import SCALES, BootstrapRow, approximately_unbiased, bootstrap
from palmette.evaluate.costs import dasgupta_cost
from palmette.evaluate.hierarchy_distances import robinson_foulds, shared_clusters
from palmette.evaluate.partition_distances import adjusted_rand, variation_of_information
from palmette.evaluate.purity import dendrogram_purity
from palmette.evaluate.samples import Agreement, agreement
from palmette.evaluate.scores import leave_one_out_accuracy, subtree_score

__all__ = [
    "SCALES",
    "Agreement",
    "BootstrapRow",
    "adjusted_rand",
    "agreement",
    "approximately_unbiased",
    "bootstrap",
    "dasgupta_cost",
    "dendrogram_purity",
    "leave_one_out_accuracy",
    "robinson_foulds",
    "shared_clusters",
    "subtree_score",
    "variation_of_information",
]
