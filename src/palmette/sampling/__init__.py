"""Posteriors of any size by Markov chains whose moves are exact draws, and how far to trust them.

Who calls whom: `hierarchies` and `partitions` make a `run` of `chains`. One over hierarchies begins at one of the
`starts`, chosen by `dispersal`, and mixes the moves of `chain`, that is `patches` and `palmette.regrafts`;
`partition_chain` is one over partitions, with the moves of `partition_moves`. `sampled_hierarchies` and
`sampled_partitions` answer from what was kept; `smoothing` makes the probabilities of clusters sharper, by `tilings`,
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
