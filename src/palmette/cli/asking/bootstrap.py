"""Bootstrap support of the clusters of a posterior: columns are drawn anew, and a hierarchy is found for each draw."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import palmette as pal
from palmette.array_types import Floats
from palmette.cli.notes import note, progress
from palmette.cli.reading.hierarchy_models import ChosenModel, make_model
from palmette.cli.reading.problem import Problem
from palmette.defaults import DEFAULTS

if TYPE_CHECKING:  # the compiler comes with them, and --help should not wait for it
    from palmette.evaluate import BootstrapRow
    from palmette.posterior.tables import Table
    from palmette.report.listing import Hierarchies
    from palmette.sampling import SampledPosterior

__all__ = ["Figures", "Resampled", "resampling"]

_FEW = 10  # columns: with fewer, draws hardly differ


class Figures(NamedTuple):
    """What a bootstrap adds to a row of a table of clusters; errors are standard errors."""

    au: float
    au_error: float
    bp: float
    bp_error: float


@dataclass(frozen=True, eq=False)
class Resampled:
    """AU and BP of clusters, and how they came about."""

    rows: Table[BootstrapRow]
    way: str
    n_draws: int

    @cached_property
    def _figures(self) -> dict[frozenset[str], Figures]:
        return {frozenset(row.members): Figures(row.au, row.au_error, row.bp, row.bp_error) for row in self.rows}

    def of(self, members: Iterable[str]) -> Figures:
        """AU and BP of a cluster that was asked about."""
        return self._figures[frozenset(members)]

    @property
    def facts(self) -> dict[str, Any]:
        """How it was done, for programs."""
        return {"n_draws": self.n_draws, "by": self.way, "scales": list(pal.evaluate.SCALES)}

    def __str__(self) -> str:
        how = {"map": "the most probable hierarchy", "greedy": "a greedy search", "average": "average linkage"}
        scales = len(pal.evaluate.SCALES)
        return (
            f"Bootstrap: {self.n_draws:,} draws of the columns at each of {scales} scales, and {how[self.way]} of "
            "each. BP: how often a cluster comes back; AU: the same without its bias. Neither is a probability."
        )


def resampling(
    problem: Problem, chosen: ChosenModel, posterior: Hierarchies | SampledPosterior, options: dict[str, Any]
) -> Callable[[Iterable[Sequence[str]]], Resampled] | None:
    """What asks for the support of given clusters, with the options of the command; None if it is not wanted."""
    n_draws, n = options["bootstrap"], len(problem.labels)
    if n_draws is None:
        if options["bootstrap_by"] is not None:
            raise click.UsageError("--bootstrap-by says how hierarchies are found for --bootstrap; give that as well")
        return None
    if problem.precomputed is not None:
        raise click.UsageError(
            f"--bootstrap draws columns anew, and a {problem.precomputed} matrix has none of its own"
        )
    way = options["bootstrap_by"] or ("map" if n <= DEFAULTS.resampled_leaves else "greedy")
    most = DEFAULTS.most_resampled_leaves
    if way == "map" and n > most:
        raise click.UsageError(f"--bootstrap-by map is for up to {most} leaves, not {n}; take greedy")
    points = problem.points()
    if points.shape[1] < 2:
        raise click.UsageError("--bootstrap draws columns anew; with one column there is nothing to draw")
    if points.shape[1] < _FEW:
        note(f"{points.shape[1]} columns are few to draw from: BP and AU are coarse.", options["quiet"])
    find = _finder(problem, chosen, posterior, way)

    def resample(clusters: Iterable[Sequence[str]]) -> Resampled:
        shown = progress(options["quiet"])
        rows = pal.evaluate.bootstrap(
            points, find, clusters=clusters, n_draws=n_draws, rng=options["seed"], progress=shown
        )
        return Resampled(rows, way, n_draws)

    return resample


def _finder(
    problem: Problem, chosen: ChosenModel, posterior: Hierarchies | SampledPosterior, way: str
) -> Callable[[Floats], pal.Hierarchy]:
    # The model of drawn columns is made as that of all of them was, with the parameters that were found.
    names = () if chosen.is_cost else tuple(posterior.model.parameter_ranges)
    values = {name: float(getattr(posterior.model, name)) for name in names}
    options = {**problem.options, "standardise": False}  # they were, before they were drawn

    def find(points: Floats) -> pal.Hierarchy:
        again = Problem(replace(problem.leaves, values=points), None, options, problem.model)
        made = make_model(again, chosen.name, 1.0, options)  # no β: it changes neither the best nor a search
        if way == "average":
            return pal.similarity.linkages(made.likeness, problem.labels)[0]
        model = made.model.with_parameters(**values) if values else made.model
        if way == "greedy":
            found: pal.Hierarchy = pal.search.greedy(model).hierarchy
            return found
        return pal.batch.infer([model], threads=1, progress=False).map(0)

    return find
