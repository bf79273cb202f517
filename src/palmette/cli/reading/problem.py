"""From a file and options to a model: which columns, which similarity, which temperature."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import click
import numpy as np

from palmette.array_types import Floats
from palmette.cli.notes import note
from palmette.cli.reading.columns import Leaves, as_matrix, choose_columns
from palmette.cli.reading.gaps import Gaps, settle
from palmette.cli.reading.tables import read_table
from palmette.similarity import centred, completed, distances, mean_similarity, of_distances, of_points, standardised

__all__ = ["Problem", "check_temperature", "load"]


@dataclass(frozen=True, eq=False)
class Problem:
    """The leaves of a file, and how their numbers are to be read."""

    leaves: Leaves
    precomputed: str | None
    options: dict[str, Any]
    model: str  #: what messages call whoever needs the numbers
    gaps: Gaps | None = None  #: what is missing, if anything is

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the leaves."""
        return self.leaves.labels

    def points(self) -> Floats:
        """(n, d), standardised if that is asked for; NaN where a value is missing and the model knows gaps."""
        if self.precomputed is not None:
            raise click.UsageError(f"{self.model} needs the points themselves, not a {self.precomputed} matrix")
        values = self.leaves.values
        values = standardised(values) if self.options.get("standardise") else values
        return completed(values, "mean") if self.gaps is not None and self.gaps.way == "mean" else values

    def distances(self) -> Floats:
        """(n, n): Euclidean distances of points, over the columns that both have, or those of the file."""
        if self.precomputed == "similarity":
            raise click.UsageError(f"{self.model} needs distances; --precomputed similarity gives none")
        if self.precomputed:
            return self.leaves.values
        return distances(self.points(), missing="pairwise", labels=self.labels)

    @cached_property
    def similarity(self) -> Floats:
        """(n, n): how alike leaves are."""
        if self.precomputed == "similarity":
            return self.leaves.values
        kind, bandwidth = self.options["similarity"], self.options["bandwidth"]
        if bandwidth is not None and not 0 < bandwidth < np.inf:
            raise click.BadParameter(f"{bandwidth} is not a positive number", param_hint="--bandwidth")
        if self.precomputed == "distance":
            return of_distances(self.leaves.values, kind, bandwidth)
        return of_points(self.points(), kind, bandwidth, missing="pairwise", labels=self.labels)

    def affinity(self) -> tuple[Floats, float]:
        """Similarities minus a centre, and the centre."""
        similarity, centre = self.similarity, _centre(self.options["centre"])
        if centre is None:
            centre = mean_similarity(similarity)
        return centred(similarity, centre), centre

    @property
    def missing(self) -> dict[str, Any] | None:
        """What programs are told of missing values."""
        return None if self.gaps is None else self.gaps.facts

    @property
    def described(self) -> str:
        """What was read, in words."""
        n, words = len(self.labels), []
        if self.precomputed:
            words.append(f"a {self.precomputed} matrix")
        else:
            shown = ", ".join(self.leaves.variables[:6])
            more = f" and {len(self.leaves.variables) - 6} more" if len(self.leaves.variables) > 6 else ""
            words.append(f"{shown}{more}{' (standardised)' if self.options.get('standardise') else ''}")
        if self.gaps is not None and self.gaps.words is not None:
            words.append(self.gaps.words)
        if self.leaves.ages is not None:
            words.append(f"ages of {self.leaves.ages.min():g} to {self.leaves.ages.max():g}")
        if self.leaves.classes:
            words.append(f"{len(set(self.leaves.classes) - {None})} classes")
        return f"{n} {'leaf' if n == 1 else 'leaves'} from {self.leaves.table.source}: {'; '.join(words)}"


def load(file: str, options: dict[str, Any], model: str, *, categories: bool = False, gaps: str = "refuse") -> Problem:
    """Read the file, for `model`; options that are about reading are taken out of `options`, the others kept.

    `gaps` is what is done about missing values unless --missing says otherwise: see `settle`.
    """
    names = ("label", "class_column", "ignored", "delimiter", "header", "transpose")
    label, class_column, ignored, delimiter, header, transpose = (options.pop(name) for name in names)
    precomputed, missing, ages = (options.pop(name, None) for name in ("precomputed", "missing", "ages"))
    if precomputed is not None and missing is not None:
        raise click.UsageError(f"--missing is about tables of points; a {precomputed} matrix has no gaps")
    table = read_table(file, delimiter, header, square=precomputed is not None, transpose=transpose)
    leaves = choose_columns(table, label, class_column, ignored, ages=ages, categories=categories)
    for words in leaves.notes:
        note(words, options["quiet"])
    if precomputed is not None:
        return Problem(as_matrix(leaves, precomputed), precomputed, options, model)
    leaves, found = settle(leaves, missing, gaps, model)
    if found is not None and found.note is not None:
        note(found.note, options["quiet"])
    return Problem(leaves, None, options, model, found)


def check_temperature(beta: float | None, perplexity: float | None) -> float:
    """The β to begin with."""
    if beta is not None and perplexity is not None:
        raise click.UsageError("--beta and --perplexity were given; give one of them")
    return 1.0 if beta is None else beta


def _centre(text: str) -> float | None:
    if text.strip().lower() == "mean":
        return None
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise click.BadParameter(f"{text!r} is neither a number nor mean", param_hint="--centre")
    return value
