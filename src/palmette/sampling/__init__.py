"""Posteriors of any size by Markov chains whose moves are exact draws, and how far to trust them.

Who calls whom: `hierarchies` and `partitions` make a `run` of `chains`: of `hierarchy_chain`, or of `partition_chain`.
What is said of one family stands in files of the same names for the other: `hierarchy_moves` and `partition_moves` are
how a chain goes on, `*_state` what is known of where it is, `*_clusters` and `*_pairs` what is read off the draws, and
`sampled_hierarchies` and `sampled_partitions` answer. Chains over hierarchies begin at one of the `starts`; both choose
by `dispersal`. Moves of hierarchies are `patches` and those of `palmette.regrafts`; moves of partitions take
`partition_units`, and their `partition_weights`. `smoothing` makes the probabilities of clusters sharper, by `tilings`,
and `verdict` judges, on the figures of `diagnostics`. `tempering` makes a chain of several, on the steps of a `ladder`;
`annealed` goes down such a ladder for log Z, and `perplexity` asks it for a temperature.
"""

from palmette.sampling.annealed import Annealed, anneal_hierarchies, anneal_partitions
from palmette.sampling.estimates import ClusterDiagnosticsRow, Estimates, SampledClusterRow, SampledSplitRow
from palmette.sampling.hierarchies import sample_hierarchies
from palmette.sampling.partitions import sample_partitions
from palmette.sampling.perplexity import at_perplexity
from palmette.sampling.sampled_hierarchies import SampledPosterior
from palmette.sampling.sampled_partitions import SampledPartitions
from palmette.sampling.verdict import Verdict

__all__ = [
    "Annealed",
    "ClusterDiagnosticsRow",
    "Estimates",
    "SampledClusterRow",
    "SampledPartitions",
    "SampledPosterior",
    "SampledSplitRow",
    "Verdict",
    "anneal_hierarchies",
    "anneal_partitions",
    "at_perplexity",
    "sample_hierarchies",
    "sample_partitions",
]
