"""One answer to "how far, and which way, unless I say otherwise?": what functions, commands and clusterers share.

Every limit is a time: a call without options should be over in some ten seconds on two cores. Seconds of
``search.posterior`` (log Z, the MAP and the probabilities of all clusters) on two cores that others used as well, by
``benchmarks/full_trellis.py --limits``; idle ones need a third to a half, as docs/performance.md has it:

===========================  =====  =====  =====  =====  =====
leaves                       18     19     20     21     22
===========================  =====  =====  =====  =====  =====
sums of squares (separable)  1.3    1.4    4.0    13     58
a `SplitModel` of one's own  3.2    9.7    31
Ginkgo, the dearest score    12     28     81
partitions, correlation      0.1    0.3    0.9    2.7    8.9
===========================  =====  =====  =====  =====  =====

A `SplitFunction` that multiplies two sizes takes 1.0, 3.2, 13 and 46 seconds at 16 to 19 leaves, nearly all in NumPy.
All its values would take 4·3^n bytes: 0.5 GB at 17 leaves, 14 GB at 20.

A sparse trellis grown to shares of 1e-2, 1e-3 and 1e-4 took 0.1, 0.2 and 0.9 seconds for 45 leaves and 0.3, 0.9 and 10
for 100 (Dasgupta, β = 1); log Z rose by 9 and 5, and by 23 and 14, from each to the next: the first two miss
nearly everything.

A clusterer of scikit-learn is fitted again and again: that library's own checks fit `TrellisClustering` some hundred
times, to 10 to 50 rows. They take 3 seconds of a processor with 16 leaves and 1e-2, 16 with 16 and 1e-4, and three
times that with 20.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["DEFAULTS", "Defaults"]


@dataclass(frozen=True)
class Defaults:
    """What holds unless something else is given."""

    #: Leaves up to which everything is summed over, on the full trellis, for a compiled model of hierarchies.
    exact_leaves: int = 20
    #: The same for a separable one, as all costs are, and for partitions.
    separable_leaves: int = 22
    #: The same for a black box such as `SplitFunction`, which is asked about every split in Python.
    function_leaves: int = 18
    #: Bytes of log ψ that are kept for such a model; what is beyond is asked for anew in each pass.
    function_bytes: int = 600_000_000
    #: Splits up to which the probabilities of clusters come unasked with a hierarchy: all of 12 leaves, 2 to 6 ms.
    support_splits: int = 300_000
    #: What takes over beyond: chains see all clusterings, and say how far to trust them; chosen clusters are a bound.
    beyond: Literal["sampled", "sparse"] = "sampled"
    #: Leaves of each problem of a batch up to which everything is summed over; larger ones are sampled.
    batch_leaves: int = 20
    #: What that may be set to for jets: minutes for each, and half a gigabyte.
    most_batch_leaves: int = 22
    #: Chains of a problem that is sampled, and annealed runs for its log Z: some seconds, since there may be thousands.
    batch_chains: int = 4
    batch_runs: int = 16
    #: Sweeps of each of these chains, and steps of each run.
    batch_sweeps: int = 200
    #: Leaves up to which jets are sampled: ten seconds of a processor.
    jet_leaves: int = 64
    #: Leaves of a jet that a shower is fitted to, which sums over all jets again and again, in minutes.
    refitted_leaves: int = 20
    #: Leaves of a clusterer's full trellis: searches over parameters fit it a hundred times.
    fitted_leaves: int = 16
    #: Leaves up to which parameters are averaged over, which takes some forty posteriors; beyond, the best are taken.
    averaged_leaves: int = 16
    #: Leaves up to which a report draws support against β, which takes nine posteriors.
    pictured_leaves: int = 20
    #: Leaves up to which a report computes how many clusters there are, on the full trellis; beyond, it counts draws.
    counted_leaves: int = 20
    #: The same on chosen clusters.
    counted_chosen_leaves: int = 400
    #: Leaves up to which a bootstrap finds the MAP of each draw of columns: milliseconds.
    resampled_leaves: int = 12
    #: The same where the MAP was asked for: seconds for each of thousands of draws are hours.
    most_resampled_leaves: int = 16
    #: Seconds of an answer by chains, with all that comes before them: as long as a person waits for one to trust.
    seconds: float = 60.0
    #: Standard error of every cluster's probability at which they stop before: two of them are a percent.
    precision: float = 0.005
    #: Chains side by side: six from chosen starts missed neither of two answers in silence (docs/sampling.md).
    n_chains: int = 6
    #: Seconds that annealing takes at most for log Z: half of what the chains had, if it comes on top.
    annealing_seconds: float = 30.0
    #: Independent runs of annealing, whose spread is the error: of 32 it is known within an eighth.
    annealing_runs: int = 32
    #: Seconds that `search.refine` takes, as any call without options.
    refining_seconds: float = 10.0
    #: Seconds that chains run at most for `search.uncovered`: a third of what a posterior has, since it comes on top.
    covering_seconds: float = 20.0
    #: Sweeps of each chain of a clusterer, for the same reason as `fitted_leaves`.
    fitted_sweeps: int = 100
    #: Probability from which on a cluster is listed: there are up to 2^n, and most are next to impossible.
    min_probability: float = 0.01
    #: Probability from which on a number of clusters is drawn, in a picture or a report: a lower bar is not seen.
    drawn_probability: float = 5e-4
    #: Probability above which a cluster is in the consensus: of those above a half no two contradict each other.
    consensus: float = 0.5
    #: Share of the posterior from which on a cluster is added to a sparse trellis.
    min_share: float = 1e-4
    #: The same for a clusterer, for the same reason as `fitted_leaves`.
    fitted_share: float = 1e-2
    #: Clusters of a sparse trellis that is grown on the way to an answer: some ten seconds.
    max_clusters: int = 20_000
    #: The same where growing is all that was asked for, with `search.grow`: as much as memory holds with ease.
    grown_clusters: int = 200_000
    #: Variance within clusters of standardised columns at which a Dirichlet process begins, before the evidence: half
    #: of their spread.
    within: float = 0.25
    #: The same for a clusterer, as a share of each column's: as all its defaults, by the sets of docs/scikit_learn.md.
    fitted_within: float = 0.1
    #: Rows that the mean of all counts for in each cluster where the variance within is given, and not found: below 1
    #: clusters may lie further apart than they are wide.
    pseudo_count: float = 0.1
    #: Nats within which parameters are at their best: far below the 1 from which on evidence begins to tell.
    evidence_tolerance: float = 0.02
    #: Particles of a sample of histories: half a minute for 100 leaves by "post-post" (docs/performance.md).
    n_particles: int = 100
    #: The same of a command at most, which takes as many as ten seconds hold: of small tables that would be millions.
    most_particles: int = 10_000
    #: The same for each rate that is tried by the evidence: errors are far below how much it changes with the rate.
    rate_particles: int = 200
    #: Independent runs that particles are shared out to: their spread is part of every error.
    particle_runs: int = 4
    #: How the next event of a particle is drawn: of so many particles these leave most that are independent.
    proposal: str = "post-post"
    #: The same where time is what is given, in a command and for rates by the evidence: a particle costs least.
    quick_proposal: str = "prior-post"
    #: The same for a clusterer, which may have hundreds of rows: n² integrals in place of n³.
    fitted_proposal: str = "race"
    #: Variance of rows about their leaves, in units of the rate: none, so that equal rows are refused and not hidden.
    leaf_variance: float = 0.0
    #: The same for a clusterer, which has to take equal rows.
    fitted_leaf_variance: float = 0.1
    #: What an ultrametric is fitted by: squared differences to the distances, and nothing else.
    loss: str = "closest"
    #: The same for a clusterer, whose cut would split off outliers: and no small clusters at large heights.
    fitted_loss: str = "closest+size"
    #: Where a descent begins: at what is to be fitted.
    start: str = "weights"
    #: The same for a command, which is run once: from both, and the better is kept, in twice the time.
    starts: tuple[str, ...] = ("weights", "average")
    #: Nearest neighbours of each vertex of a graph that an ultrametric is fitted on.
    neighbours: int = 5
    #: Evaluations of a loss at most; nearly all descents settle before.
    iterations: int = 4000
    #: The length of a step of a descent, in units of its scale.
    learning_rate: float = 0.1
    #: A descent is over when the loss falls by less than this share of itself.
    tolerance: float = 0.01
    #: The same for a clusterer: flat clusters do not need more.
    fitted_tolerance: float = 0.1

    def most_leaves(self, *, asked: bool, separable: bool) -> int:
        """Leaves up to which everything is summed over, by a model that is asked about every split, or is separable."""
        if separable:
            return self.separable_leaves
        return self.function_leaves if asked else self.exact_leaves


DEFAULTS = Defaults()
