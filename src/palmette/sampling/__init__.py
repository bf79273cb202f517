"""Posteriors of any size by Markov chains whose moves are exact draws, and how far to trust them.

Who calls whom: `hierarchies.sample` and `partitions.sample` make a `run` of `chains`. What is said of one family stands
in files of the same names for the other: `chain` is one of them, `moves` how it goes on, `state` what is known of where
it is, `clusters` and `pairs` what is read off the draws, and `sampled` answers, on what both have in the `sampled` of
this folder. Chains are led down by `cooling`, and begin at places chosen by `dispersal`. Moves of hierarchies are
`patches` and those of `palmette.regrafts`; moves of partitions take `units` of a `reference`, and their `weights`.
`smoothing` makes the probabilities of clusters sharper, by `tilings`, and `verdict` judges, on the figures of
`diagnostics`. `tempering` makes a chain of several, on the steps of a `ladder`; `annealed` goes down such a ladder for
log Z, and `perplexity` asks it for a temperature.
"""

from palmette.sampling.annealed import Annealed, anneal_hierarchies, anneal_partitions
from palmette.sampling.estimates import ClusterDiagnosticsRow, Estimates, SampledClusterRow, SampledSplitRow
from palmette.sampling.hierarchies.sample import sample_hierarchies
from palmette.sampling.hierarchies.sampled import SampledPosterior
from palmette.sampling.partitions.sample import sample_partitions
from palmette.sampling.partitions.sampled import SampledPartitions
from palmette.sampling.perplexity import at_perplexity
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
