"""Models: what gives log ψ to a split of a hierarchy, or to a cluster of a partition."""

from palmette.models.base import FeatureModel, Model
from palmette.models.c_split_function import CSplitFunction
from palmette.models.cluster_function import ClusterFunction
from palmette.models.cluster_model import ClusterModel, PartitionModel
from palmette.models.compiled_split_function import CompiledSplitFunction
from palmette.models.contrasts import Contrasts
from palmette.models.correlation import Correlation
from palmette.models.correlation_clusters import CorrelationClusters
from palmette.models.dasgupta import Dasgupta
from palmette.models.dirichlet_process import DirichletProcess
from palmette.models.ginkgo import Ginkgo
from palmette.models.normal_pairs import NormalPairs
from palmette.models.poisson_pairs import PoissonPairs
from palmette.models.priors import BetaSplitting
from palmette.models.random_graph import HierarchicalRandomGraph
from palmette.models.share_law import LAWS, GradualShares, GroupShares, ShareLaw
from palmette.models.split_function import SplitFunction
from palmette.models.split_model import HierarchyModel, SeparableModel, SplitModel
from palmette.models.sum_of_squares import SumOfSquares
from palmette.models.tempered import Tempered
from palmette.models.uniform import Uniform
from palmette.models.uniform_partitions import UniformPartitions
from palmette.models.variance_shares import VarianceShares
from palmette.models.with_prior import PriorModel, with_prior

__all__ = [
    "LAWS",
    "BetaSplitting",
    "CSplitFunction",
    "ClusterFunction",
    "ClusterModel",
    "CompiledSplitFunction",
    "Contrasts",
    "Correlation",
    "CorrelationClusters",
    "Dasgupta",
    "DirichletProcess",
    "FeatureModel",
    "Ginkgo",
    "GradualShares",
    "GroupShares",
    "HierarchicalRandomGraph",
    "HierarchyModel",
    "Model",
    "NormalPairs",
    "PartitionModel",
    "PoissonPairs",
    "PriorModel",
    "SeparableModel",
    "ShareLaw",
    "SplitFunction",
    "SplitModel",
    "SumOfSquares",
    "Tempered",
    "Uniform",
    "UniformPartitions",
    "VarianceShares",
    "with_prior",
]
