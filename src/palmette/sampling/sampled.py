"""What posteriors made of draws have in common, whatever is drawn: the chains, the verdict, shares with errors."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Generic, Literal, Protocol, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats
from palmette.budget import Budget
from palmette.checks import check_integer, check_seconds
from palmette.defaults import DEFAULTS
from palmette.drawing.cards import named
from palmette.models.base import Clusterings, FeatureModel, evidence_offset, evidence_without_structure
from palmette.passes.conditions import Conditions
from palmette.posterior.base import Posterior
from palmette.posterior.cache import Cached, cached
from palmette.posterior.estimate import Estimate
from palmette.sampling.annealed import anneal, anneal_within
from palmette.sampling.chance import QUENCHES
from palmette.sampling.cooling import quench
from palmette.sampling.diagnostics import standard_error
from palmette.sampling.run import Run
from palmette.sampling.verdict import Verdict

__all__ = ["Sampled"]

_BURNT = 0.25  # share of each chain that is not used
_CLEAR = 3.0  # standard errors from 0 of a probability whose logarithm is taken

AnyModel = TypeVar("AnyModel", bound=FeatureModel)
Clustering = TypeVar("Clustering")
AnyTrellis = TypeVar("AnyTrellis")


class _Judged(Protocol):
    @property
    def verdict(self) -> Verdict: ...


class Sampled(Cached, Generic[AnyModel, Clustering, AnyTrellis]):
    """Draws of several chains; a subclass says what they are of, and answers from them."""

    is_exact = False
    clusterings: ClassVar[Clusterings]
    kind: ClassVar[Literal["chains"]] = "chains"
    _exact: ClassVar[type[Posterior[Any, Any, Any, Any, Any]]]  # what answers the same questions without errors

    def __init__(self, run: Run[Any], model: AnyModel, conditions: Conditions) -> None:
        super().__init__()
        self._run, self._model = run, model
        self.conditions = conditions
        """What is required, and what is forbidden."""
        chains = run.chains
        self.n_kept = chains.n_kept
        self.sweeps_per_draw = chains.every
        """Sweeps between two draws; the chains keep fewer when they go on, and this answer stays as it is."""
        first = int(_BURNT * self.n_kept)
        self._rows: npt.NDArray[np.int32] = chains.kept_states[:, first:].copy()
        self.log_potentials: Floats = chains.log_potentials[:, first:].copy()
        """(chains, draws): log φ of every draw."""

    @property
    def model(self) -> AnyModel:
        """What gives log ψ."""
        return self._model

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the leaves."""
        return self._model.labels

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return self._model.n_leaves

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return len(self._rows)

    @property
    def n_draws(self) -> int:
        """Draws of each chain that are used."""
        return int(self._rows.shape[1])

    @property
    def verdict(self) -> Verdict:
        """Whether the chains agree and are long enough, in figures and, as a string, in words."""
        return self._judged.verdict

    @cached
    def log_partition(self) -> Estimate:
        """log Z = log Σ φ, by annealed importance sampling, in half a minute at most."""
        return anneal(self._run.moves, threads=self._run.threads, progress=self._run.progress).log_partition

    def anneal(self, *, seconds: float | None = DEFAULTS.annealing_seconds) -> Estimate | None:
        """`log_partition` in so many seconds, which is known from then on; None if that is too little for any estimate.

        With fewer seconds its error is larger. If it is known already, that is what it is.
        """
        check_seconds(seconds)
        with self._lock():
            if not self._known("log_partition"):
                run = self._run
                found = anneal_within(run.moves, Budget(seconds), threads=run.threads, progress=run.progress)
                if found is None:
                    return None
                self._values["log_partition"] = found.log_partition
            return self.log_partition

    @property
    def log_evidence(self) -> Estimate:
        """log p(data): log Z and what the model says is to be added. Under conditions, that of meeting them as well."""
        offset, found = evidence_offset(self._model), self.log_partition
        return Estimate(found.value + offset, "estimate", found.standard_error)

    @property
    def log_evidence_error(self) -> float:
        """The standard error of log p(data)."""
        return self.log_evidence.standard_error

    @property
    def log_evidence_without_structure(self) -> float:
        """log p(data) if there were nothing to find, with the same parameters; see `palmette.evidence.compare`."""
        return evidence_without_structure(self._model)

    @property
    @abstractmethod
    def _judged(self) -> _Judged:
        """The verdict, and what it is made of."""

    @abstractmethod
    def share_in(self, trellis: AnyTrellis) -> Estimate:
        """The probability that a draw is in `trellis`."""

    @abstractmethod
    def log_potential(self, clustering: Clustering, /) -> float:
        """Σ log ψ of one of the things that are drawn."""

    @cached
    def entropy(self) -> Estimate:
        """−Σ p log p = log Z − E[log φ], in nats; exp of it is the effective number of hierarchies, or partitions."""
        log_z, mean = self.log_partition, self._mean(self.log_potentials)
        error = math.hypot(log_z.standard_error, mean.standard_error)
        return Estimate(max(0.0, log_z.value - mean.value), "estimate", error)

    def kl(self, other: Self, most: int = 1000) -> Estimate:
        """KL(self ‖ other) = E[log φ − log φ′] + log Z′ − log Z over the draws of this one, in nats.

        For two models of the same leaves; `most` is the number of draws, evenly spaced, that log φ′ is computed for.
        """
        if not isinstance(other, type(self)):
            raise TypeError(f"expected another {type(self).__name__}, not {other!r}")
        if other.labels != self.labels:
            raise ValueError(
                "the two posteriors have different leaves; make both models with the same labels, in the same order"
            )
        step = self.n_chains * self.n_draws // check_integer("most", most, 8)
        step = max(1, min(step, self.n_draws // 4))  # of four draws of each chain an error can be told
        chosen = np.arange(self.n_chains * self.n_draws).reshape(self.n_chains, -1)[:, ::step]
        theirs = np.array([[other.log_potential(self._drawn(int(i))) for i in chain] for chain in chosen])
        gaps = self.log_potentials[:, ::step] - theirs
        if np.isinf(gaps).any():
            return Estimate(np.inf, "estimate")
        mean, log_z, their_log_z = self._mean(gaps), self.log_partition, other.log_partition
        error = math.hypot(*(part.standard_error for part in (mean, log_z, their_log_z)))
        return Estimate(max(0.0, mean.value + their_log_z.value - log_z.value), "estimate", error)

    def log_partition_by(self, sparse: Posterior[Any, Any, Any, Any, Any]) -> Estimate:
        """log Z over everything = log Z′ − log P, with log Z′ on the trellis of `sparse` and P the probability of it.

        `sparse` has the same model and conditions. If its trellis holds some percent of the posterior, this is far more
        precise than `log_partition`; if it holds too little to be told from nothing, a ValueError says so.
        """
        if not isinstance(sparse, self._exact):
            raise TypeError(f"expected a {self._exact.__name__}, not {sparse!r}")
        if sparse.conditions != self.conditions:
            raise ValueError("the two posteriors have different leaves or conditions; make both with the same")
        best, value = self._drawn(int(np.argmax(self.log_potentials))), float(self.log_potentials.max())
        other = sparse.model.log_potential(best) if sparse.model.knows_all else -math.inf
        if not math.isclose(other, value, rel_tol=1e-9, abs_tol=1e-6):
            raise ValueError(f"the chains are of {self.model!r}, the trellis of {sparse.model!r}; take the same model")
        if sparse.trellis is None:
            return Estimate(sparse.log_partition, "exact")
        return _over_all(sparse.log_partition, self.share_in(sparse.trellis))

    def progress_note(self) -> str:
        """A few words on how far it is."""
        return f"R̂ {self.verdict.r_hat:.2f}, errors up to {self.verdict.standard_error:.2g}"

    def resume(
        self,
        *,
        seconds: float | None = DEFAULTS.seconds,
        sweeps: int | None = None,
        precision: float = DEFAULTS.precision,
    ) -> Self:
        """The same chains, longer: as if they had never stopped. The arguments are those that the run began with."""
        return self._run.go_on(seconds, sweeps, precision)  # type: ignore[no-any-return]

    def _drawn(self, draw: int) -> Clustering:
        # All draws being numbered chain after chain.
        return cast(Clustering, self._run.moves.read(self._rows[divmod(draw, self.n_draws)]))

    def _cooled_further(self, best: Clustering) -> tuple[Clustering, float]:
        # The best of all that moves come upon from there on the way down, and its log φ.
        moves, row = self._run.moves, np.empty(self._rows.shape[2], dtype=np.int32)
        state = moves.start(best, self._run.seed, QUENCHES)
        value = moves.restate(state)[0]
        for value in quench(moves, state):  # noqa: B007
            moves.record(state, row)
            best = moves.read(row)
        return best, value

    def _share_of(self, events: npt.NDArray[np.bool_]) -> Estimate:
        # Of the draws in which something happened, which are given chain after chain.
        happened = events.reshape(self.n_chains, self.n_draws)
        error = standard_error(happened, least_size=min(self.verdict.effective_size, happened.size))
        return Estimate(float(happened.mean()), "estimate", float(error))

    def _share_inside(self, events: npt.NDArray[np.bool_]) -> Estimate:
        # Like `_share_of`, with an error as wide as chains that disagree: whoever is told this share, or the log Z made
        # of it, may never see the verdict.
        share = self._share_of(events)
        if self.verdict.agree or self.n_chains < 2:
            return share
        spread = float(events.reshape(self.n_chains, self.n_draws).mean(axis=1).std(ddof=1))
        return Estimate(share.value, "estimate", max(share.standard_error, spread))

    def _mean(self, values: Floats) -> Estimate:
        return Estimate(float(values.mean()), "estimate", float(standard_error(values)))

    def _judgement(self) -> str:
        # To judge takes seconds, so it is not done for a name.
        if self._known("_judged"):
            return str(self.verdict)
        return f"{self.n_chains} chains of {self.n_draws:,} draws; verdict says whether they agree"

    def _facts(self) -> Iterator[tuple[str, object]]:
        # What is known without work.
        yield "leaves", f"{self.n_leaves:,}: {named(self.labels)}"
        yield "model", repr(self.model)
        yield "sampled", self._judgement()
        yield "log Z", f"{self.log_partition:.6g}" if self._known("log_partition") else None

    def __getstate__(self) -> dict[str, Any]:
        # Without what is computed when first needed, and without the lock for it.
        return {name: value for name, value in vars(self).items() if name not in vars(Cached())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Cached.__init__(self)
        vars(self).update(state)


def _over_all(log_z: float, inside: Estimate) -> Estimate:
    # log Z − log P from its exact part; the error is error(P) / P.
    if inside.value < _CLEAR * inside.standard_error:
        raise ValueError(
            f"{inside.value:.2g} ± {inside.standard_error:.2g} of the posterior is in the trellis, too little to tell "
            "log Z by; take a larger trellis (search.grow with a smaller min_share), longer chains, or log_partition"
        )
    return Estimate(log_z - math.log(inside.value), "estimate", inside.standard_error / inside.value)
