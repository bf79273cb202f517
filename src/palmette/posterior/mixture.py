"""Posteriors that are weighted: one distribution, in which no single model is chosen."""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.special import entr, logsumexp

from palmette._immutable import read_only
from palmette.array_types import Floats
from palmette.checks import check_integer
from palmette.drawing.cards import card, html_table, named
from palmette.errors import ImpossibleData
from palmette.models.base import Model
from palmette.passes.conditions import Conditions
from palmette.posterior.base import AnyTrellis, Posterior
from palmette.posterior.cache import cached
from palmette.posterior.distribution import Clustering, Distribution
from palmette.posterior.estimate import Estimate
from palmette.progress import Progress

__all__ = ["Mixture"]

AnyPosterior = TypeVar("AnyPosterior", bound=Posterior[Any, Any, Any, Any, Any])
Answer = TypeVar("Answer")

_TABLES = 4  # of one part that may be there at once, in terms of what log Z and the MAP take
_FIRST = 8  # of the best of each part that are listed to begin with
_SHOWN = 6  # parts in a notebook
_DRAWS = 2000  # for the entropy


class _Listed(NamedTuple, Generic[Clustering]):
    # The best of all parts, and what any other one has at most.
    found: list[Clustering]
    values: Floats  # log potentials, falling
    bound: float


class Mixture(Distribution[Clustering], Generic[Clustering, AnyPosterior, AnyTrellis]):
    """p(x) = Σ w_k p_k(x), posteriors over the same clusterings with weights w_k ∝ exp(log_weights[k]).

    What is linear in the posterior is the weighted mean of what the parts say, exactly. `log_weights` are log p(data,
    k): the log evidence of a part and the log of how probable it was beforehand, so that `log_partition` is the log
    evidence of all. Parts are put in order, the heaviest first, and `parameters`, what each was made with, likewise.
    `without_structure` is the log evidence of the opponent, if there is one, averaged in the same way. If that is one
    of the parts, `log_evidence` is that of the others alone. `progress` None draws a bar on a terminal when all parts
    are asked and that takes a while.
    """

    kind = "averages"

    _part: ClassVar[type[Posterior[Any, Any, Any, Any, Any]]]

    def __init__(
        self,
        parts: Iterable[AnyPosterior],
        log_weights: npt.ArrayLike,
        parameters: Sequence[Mapping[str, float]] | None = None,
        without_structure: float | None = None,
        *,
        log_evidence: float | None = None,
        progress: bool | None = None,
    ) -> None:
        super().__init__()
        self._without_structure = without_structure
        self._log_evidence = log_evidence
        self._progress = progress
        given, logs = list(parts), np.array(log_weights, dtype=np.float64)
        told = [{} for _ in given] if parameters is None else [dict(values) for values in parameters]
        self._check(given, logs, told)
        order = [k for k in np.argsort(-logs, kind="stable").tolist() if logs[k] > -np.inf]
        self._parts = tuple(given[k] for k in order)
        self._log_weights = read_only(logs[order])
        self._parameters = tuple(told[k] for k in order)

    def _check(self, parts: list[AnyPosterior], logs: Floats, told: list[dict[str, float]]) -> None:
        wanted = self._part.__name__
        if not parts or not all(isinstance(part, self._part) for part in parts):
            raise TypeError(f"expected at least one {wanted}, and nothing else, not {parts!r}")
        if logs.shape != (len(parts),) or len(told) != len(parts):
            raise ValueError(
                f"there are {len(parts)} posteriors, log weights of shape {logs.shape} and parameters of {len(told)}; "
                "give one of each"
            )
        if np.isnan(logs).any() or not -np.inf < logs.max() < np.inf:
            raise ValueError(f"log weights are {logs.tolist()}; give logarithms of weights that are finite, not all 0")
        first = parts[0]
        for part in parts[1:]:
            if part.labels != first.labels:
                raise ValueError("the posteriors have different leaves; make all with the same labels, in one order")
            if part.trellis is not first.trellis or part.conditions != first.conditions:
                raise ValueError("the posteriors are on different trellises, or under different conditions")

    # What it is made of.

    @property
    def parts(self) -> tuple[AnyPosterior, ...]:
        """The posteriors, the heaviest first."""
        return self._parts

    @cached
    def weights(self) -> Floats:
        """(k,): w, falling; they add up to one."""
        return read_only(np.exp(self._log_weights - logsumexp(self._log_weights)))

    @property
    def parameters(self) -> tuple[Mapping[str, float], ...]:
        """What each part was made with, if that was said."""
        return self._parameters

    @property
    def model(self) -> Model:
        """That of the heaviest part. The others see the same leaves in another way."""
        return self._frame.model  # type: ignore[no-any-return]

    @property
    def trellis(self) -> AnyTrellis | None:
        """The chosen clusters that the sums are over, None if they are over all."""
        return self._frame.trellis

    @property
    def conditions(self) -> Conditions:
        """What is required, and what is forbidden."""
        return self._frame.conditions  # type: ignore[no-any-return]

    @property
    def is_exact(self) -> bool:
        """Whether the sums are over everything: on the full trellis they are."""
        return self._frame.is_exact

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the leaves."""
        return self._frame.labels

    @property
    def _frame(self) -> AnyPosterior:
        first: AnyPosterior = self._parts[0]
        return first

    # One number each.

    @cached
    def log_partition(self) -> float:
        """log Σ exp(log_weights)."""
        return float(logsumexp(self._log_weights))

    @property
    def log_evidence(self) -> float:
        """log p(data) = log Σ p(data | k) p(k), if the log weights are log p(data | k) + log p(k)."""
        return self.log_partition if self._log_evidence is None else self._log_evidence

    @property
    def log_evidence_without_structure(self) -> float:
        """log p(data) if there were nothing to find, averaged over the same parameters; see `evidence.compare`."""
        if self._without_structure is None:
            raise TypeError("nobody said how probable data without structure are; `evidence.average` does if it can")
        return self._without_structure

    @cached
    def count(self) -> int:
        """How many there are of non-zero potential in the part that has most, as an exact integer."""
        return max(self._each(lambda part: part.count))

    @property
    def _counts_all(self) -> bool:
        return len(self._parts) == 1 or not any(part.model.may_forbid for part in self._parts)

    @cached
    def entropy(self) -> Estimate:
        """−Σ p(x) log p(x), in nats: Σ w_k H_k, exactly, and how much x tells of k, estimated from exact draws.

        The second part, E[log p_k(x) − log p(x)], lies between 0 and the entropy of the weights.
        """
        within = float(self.weights @ self._each(lambda part: part.entropy))
        if len(self._parts) == 1:
            return Estimate(within, "exact")
        which, rows = self._chosen(_DRAWS, seed=0)
        log_probs = self._row_log_probs(rows)
        told = log_probs[which, np.arange(len(which))] - self._mixed(log_probs)
        between = min(max(0.0, float(told.mean())), float(entr(self.weights).sum()))
        return Estimate(within + between, "estimate", float(told.std() / math.sqrt(len(told))))

    # The best ones.

    def map(self) -> Clustering:
        """The most probable one, as far as `best` can tell."""
        return self._shown(self._best)

    @cached
    def _best(self) -> Clustering:
        return self.best(1)[0][0]

    def best(self, k: int, limit: int = 10_000) -> list[tuple[Clustering, float]]:
        """The k most probable ones with their log-probabilities, best first; fewer if there are fewer.

        The best of each part are listed, until no other one can be better: what is on nobody's list has at most Σ w_k ·
        (the last on the list of k). If that takes more than `limit` in all, the best on any list are returned;
        ``rank(x).kind == "exact"`` says whether the place of one is proved.
        """
        check_integer("k", k, 1)

        def is_enough(values: Floats, bound: float) -> bool:
            return len(values) >= k and bool(values[k - 1] >= bound - self._tolerance(bound))

        listed = self._listed(is_enough, max(limit, k * len(self._parts)))
        pairs = zip(listed.found[:k], listed.values.tolist(), strict=False)
        return [(self._shown(x), self._log_prob(value)) for x, value in pairs]

    def _above(self, threshold: float, limit: int) -> tuple[list[float], bool]:
        listed = self._listed(lambda values, bound: bound <= threshold, limit)
        return listed.values[listed.values > threshold].tolist(), listed.bound <= threshold

    def _listed(self, is_enough: Callable[[Floats, float], bool], limit: int) -> _Listed[Clustering]:
        # Fagin's threshold algorithm, a few more of each list at a time.
        known: dict[Clustering, float] = {}
        deepest = max(1, check_integer("limit", limit, 1) // len(self._parts))
        depth = min(_FIRST, deepest)
        while True:
            lists = self._each(functools.partial(_ranked, depth=depth))
            ends = np.array([ranked[-1][0] if len(ranked) == depth else -np.inf for ranked in lists])
            met = dict.fromkeys(self._frame._make(clusters) for ranked in lists for _, clusters in ranked)
            new = [x for x in met if x not in known]
            known |= dict(zip(new, self._log_potentials(new), strict=True))
            values = np.array(list(known.values()))
            order = np.argsort(-values, kind="stable")
            bound = float(self._mixed(ends - self._log_partitions)) + self.log_partition
            if depth == deepest or bound == -np.inf or is_enough(values[order], bound):
                found = list(known)
                return _Listed([found[i] for i in order], values[order], bound)
            depth = min(4 * depth, deepest)

    # Log-probabilities and draws.

    def log_potential(self, x: Clustering, /) -> float:
        """log p(x) + log_partition."""
        log_probs = np.array(self._each(lambda part: part.log_potential(x))) - self._log_partitions
        return float(self._mixed(log_probs)) + self.log_partition

    def _log_potentials(self, found: list[Clustering]) -> list[float]:
        # Of possible ones.
        if not found:
            return []
        return (self._mixed(self._log_probs(found)) + self.log_partition).tolist()  # type: ignore[no-any-return]

    def _mixed(self, log_probs: Floats) -> Floats:
        # log Σ w_k p_k, of the logarithms of p_k along the first axis.
        return np.asarray(logsumexp(log_probs.T + (self._log_weights - self.log_partition), axis=-1))

    def _chosen(self, size: int, seed: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[Any]]:
        # From which part each draw is, and its row. More draws leave the first ones as they were.
        self._require_possible()
        rng = np.random.default_rng(seed)
        seeds = rng.integers(2**63, size=len(self._parts)).tolist()
        edges = np.cumsum(self.weights)
        which = np.minimum(np.searchsorted(edges, rng.random(size), side="right"), len(edges) - 1)
        rows: npt.NDArray[Any] | None = None
        for k, part in enumerate(self._in_turn()):
            here = np.flatnonzero(which == k)
            if len(here) or (k == 0):
                own = part._draw(len(here), seeds[k])[0]
                rows = np.empty((size, *own.shape[1:]), dtype=own.dtype) if rows is None else rows
                rows[here] = own
        assert rows is not None
        return which, rows

    def _draw(self, size: int, seed: int) -> tuple[npt.NDArray[Any], Floats]:
        rows = self._chosen(size, seed)[1]
        return rows, self._mixed(self._row_log_probs(rows)) + self.log_partition

    @abstractmethod
    def _log_probs(self, found: list[Clustering]) -> Floats:
        """(k, m): the log-probability of each of m possible ones in every part."""

    @abstractmethod
    def _row_log_probs(self, rows: npt.NDArray[Any]) -> Floats:
        """(k, m): the log-probability of each of m rows of draws in every part."""

    # Answers of all parts.

    @cached
    def _log_partitions(self) -> Floats:
        found = np.array(self._each(lambda part: part.log_partition))
        self._parts[int(np.argmin(found))]._require_possible()
        return found

    @cached
    def _keeps(self) -> bool:
        # Whether the tables of all parts fit into memory.
        room = self._frame._resources.room_beside(0)
        return len(self._parts) * _TABLES * self._frame.memory_needed <= room

    def _leave(self, part: AnyPosterior) -> None:
        if not self._keeps and part is not self._frame:
            part.clear()

    def _in_turn(self) -> Iterator[AnyPosterior]:
        with closing(Progress(f"{len(self._parts)} posteriors", len(self._parts), self._progress)) as bar:
            for part in self._parts:
                yield part
                self._leave(part)
                bar.advance(1)

    def _each(self, ask: Callable[[AnyPosterior], Answer]) -> list[Answer]:
        return [ask(part) for part in self._in_turn()]

    def _mean(self, ask: Callable[[AnyPosterior], Floats], weights: Floats | None = None) -> Floats:
        # Σ w_k times what each part answers.
        total: Floats | None = None
        for weight, part in zip(self.weights if weights is None else weights, self._in_turn(), strict=True):
            share = weight * ask(part)
            total = share if total is None else total.__iadd__(share)
        assert total is not None
        return total

    def _given(self, parts: list[AnyPosterior]) -> Self:
        # Conditioned parts: whichever part had expected what is now known weighs more.
        gained = np.array([part.log_partition for part in parts]) - self._log_partitions
        logs = self._log_weights + gained
        if not logs.max() > -np.inf:
            raise parts[0]._impossible()
        evidence = self._log_evidence
        if evidence is not None:
            evidence += float(logsumexp(logs)) - self.log_partition
        more: dict[str, Any] = {"log_evidence": evidence, "progress": self._progress}
        return type(self)(parts, logs, self._parameters, self._without_structure, **more)

    def clear(self) -> None:
        """Free all tables; they are computed anew when needed."""
        super().clear()
        for part in self._parts:
            part.clear()

    def _impossible(self) -> ImpossibleData:
        return self._frame._impossible()

    def __getstate__(self) -> dict[str, Any]:
        names = ("parts", "log_weights", "parameters", "without_structure", "log_evidence", "progress")
        return {name: getattr(self, f"_{name}") for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def _facts(self) -> Iterator[tuple[str, object]]:
        # What is known without work.
        things = self.model.clusterings
        yield "leaves", f"{self.n_leaves:,}: {named(self.labels)}"
        yield "posteriors", f"{len(self._parts)}, of {type(self.model).__name__}"
        yield "over", f"all {things}" if self.trellis is None else repr(self.trellis)
        yield "conditions", self.conditions.phrase().strip() or None
        yield "log evidence", self.log_evidence
        if self._known("entropy"):
            yield f"effective number of {things}", float(np.exp(float(self.entropy)))

    def _repr_html_(self) -> str:
        names = list(self._parameters[0])
        rows = [
            [f"{weight:.3f}", *(f"{told[name]:.4g}" for name in names)]
            for weight, told in zip(self.weights[:_SHOWN].tolist(), self._parameters, strict=False)
        ]
        more = len(self._parts) - _SHOWN
        parts = html_table(["weight", *names], rows, f"… and {more} lighter ones" if more > 0 else "")
        best: Any = self._pictured(self._best) if self._known("_best") else None
        return card(type(self).__name__, self._facts(), parts, best)

    def __repr__(self) -> str:
        some = len(self._parts)
        ranges = {name: sorted(values[name] for values in self._parameters) for name in self._parameters[0]}
        made = "".join(f", {name} = {ends[0]:.3g} to {ends[-1]:.3g}" for name, ends in ranges.items())
        return f"{type(self).__name__}({some} posterior{'s' if some > 1 else ''} of {type(self.model).__name__}{made})"


def _ranked(part: Posterior[Any, Any, Any, Any, Any], depth: int) -> list[tuple[float, Any]]:
    return list(part._ranked(depth))
