"""Posteriors of any size by Markov chains whose moves are exact draws, and how far to trust them.

Who calls whom: `hierarchies` runs `chains`; each begins at one of the `starts` and mixes the moves of `chain`, that is
`patches` and `palmette.regrafts`. `sampled_hierarchies` answers from what was kept, and has it judged by `verdict`, on
the figures of `diagnostics`.
"""

from palmette.sampling.estimates import Estimates, SampledClusterRow, SampledSplitRow
from palmette.sampling.hierarchies import sample_hierarchies
from palmette.sampling.sampled_hierarchies import SampledPosterior
from palmette.sampling.verdict import Verdict

__all__ = ["Estimates", "SampledClusterRow", "SampledPosterior", "SampledSplitRow", "Verdict", "sample_hierarchies"]
