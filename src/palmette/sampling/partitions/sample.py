"""Partitions drawn by Markov chains: for any number of leaves, and with errors that are said."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from palmette.checks import check_integer, seed_of
from palmette.defaults import DEFAULTS
from palmette.hierarchy import Hierarchy
from palmette.models.base import require_compiled
from palmette.models.cluster_model import ClusterModel, PartitionModel
from palmette.partition import Partition
from palmette.sampling.partitions.chain import PartitionChains
from palmette.sampling.partitions.moves import PartitionMoves
from palmette.sampling.partitions.reference import reference_of
from palmette.sampling.partitions.sampled import SampledPartitions
from palmette.sampling.run import Run, check_end, fingerprint

__all__ = ["PartitionRun", "sample_partitions"]


class PartitionRun(Run[SampledPartitions]):
    """Chains that can go on: what `sample_partitions` starts, and `SampledPartitions.resume` continues."""

    moves: PartitionMoves

    def __init__(
        self,
        model: ClusterModel,
        reference: Hierarchy,
        *,
        n_chains: int,
        starts: Sequence[Partition],
        seed: int,
        threads: int | None,
        checkpoint: str | os.PathLike[str] | None,
        progress: bool | None,
    ) -> None:
        self.model, self._reference, self._starts = model, reference, starts
        more = [reference.parents.tobytes(), *(start.membership.tobytes() for start in starts)]
        kind = PartitionChains(model, reference, starts, seed, n_chains)
        super().__init__(
            kind,
            fingerprint(model, more, (n_chains, seed)),
            n_chains=n_chains,
            seed=seed,
            threads=threads,
            checkpoint=checkpoint,
            progress=progress,
        )

    def answer(self) -> SampledPartitions:
        """What the chains say now."""
        return SampledPartitions(self, self.model)

    @property
    def arguments(self) -> dict[str, Any]:
        """What it was made with; a copy is no longer tied to a file."""
        chains = {"n_chains": len(self.chains.states), "starts": self._starts, "seed": self.seed}
        how = {"threads": self.threads, "checkpoint": None, "progress": self.progress}
        return {"model": self.model, "reference": self._reference, **chains, **how}


def sample_partitions(
    model: PartitionModel,
    *,
    seconds: float | None = DEFAULTS.seconds,
    sweeps: int | None = None,
    precision: float = DEFAULTS.precision,
    n_chains: int = DEFAULTS.n_chains,
    starts: Iterable[Partition] = (),
    reference: Hierarchy | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    rng: np.random.Generator | int | None = 0,
    threads: int | None = None,
    progress: bool | None = None,
) -> SampledPartitions:
    """The posterior over all partitions of the model's leaves, by Markov chains: every answer has an error.

    Several chains run side by side, each from a partition of its own: those in `starts`, then some far apart.
    They stop when they agree and every probability that is judged has a standard error of at most `precision`, when
    `verdict` can just be told by the time `seconds` are up, or after `sweeps` (by each of which about as many units are
    moved as there are leaves), whatever comes first; Ctrl-C stops them as well. The answer says whether they agree
    (`verdict`), and its `resume` lets them go on.

    A unit is a leaf, or all leaves below a node of `reference`, which then move as one. Any hierarchy over the labels
    gives the same posterior; one whose clusters are parts of likely ones lets the chains mix faster. Without one, the
    leaves are linked by what the model sums over them.

    The same `rng` gives the same chains on any number of threads; how long they are depends on the machine unless
    ``seconds=None``. With a `checkpoint` they are saved in that file on the way, and a run that finds the file goes on
    from there, with the same result as one that was never stopped.

    >>> import numpy as np, palmette as pal
    >>> w = np.random.default_rng(0).normal(size=(30, 30))
    >>> post = pal.sampling.sample_partitions(pal.models.CorrelationClusters(w + w.T), seconds=None, sweeps=200)
    >>> post.n_chains, post.is_exact
    (6, False)
    """
    compiled = require_compiled(model, ClusterModel, "sampled")
    check_end(seconds, sweeps, precision)
    run = PartitionRun(
        compiled,
        reference_of(compiled, reference),
        n_chains=check_integer("n_chains", n_chains, 1),
        starts=[start.aligned_to(model.labels) for start in starts][:n_chains],
        seed=seed_of(rng),
        threads=threads,
        checkpoint=checkpoint,
        progress=progress,
    )
    return run.go_on(seconds, sweeps, precision)
