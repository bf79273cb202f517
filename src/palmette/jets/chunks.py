"""The work on one chunk of jets: columns with one entry for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from palmette import search
from palmette._extras import require
from palmette.array_types import Floats, Ints
from palmette.batch.inference import Beyond, infer, work_of
from palmette.batch.potentials import log_potentials
from palmette.batch.problems import Problems, merge_rows
from palmette.checks import check_choice
from palmette.defaults import DEFAULTS
from palmette.hierarchy import Hierarchy
from palmette.jets.jet import Jet, Jets
from palmette.jets.sequential import ALGORITHMS, GEOMETRIES, cluster
from palmette.links import offsets_of
from palmette.models.ginkgo import Ginkgo
from palmette.models.particles import jet_errors

__all__ = ["SEARCHES", "Chunk", "Inference"]

SEARCHES = ("greedy", "beam", *ALGORITHMS)

_LARGEST = 2**14  # particles of a jet: the numbers of its nodes are 16 bits in the table
_OVERHEAD = 2e4  # nanoseconds of one jet, whatever its size
_SEARCH = {"greedy": 3e5, "beam": 1e6}  # about; the others are like greedy


@dataclass(frozen=True, eq=False)
class Chunk:
    """Jets that follow each other, and the number of the first."""

    first: int
    jets: Jets

    def __len__(self) -> int:
        return len(self.jets)

    def content(self) -> bytes:
        """All that the rows depend on."""
        ids = [f"{name}={values.tolist()}" for name, values in self.jets.ids.items()]
        children = np.asarray([] if self.jets.children is None else self.jets.children)
        arrays = (self.jets.momenta, self.jets.offsets, children)
        return b"|".join([str(self.first).encode(), *(a.tobytes() for a in arrays), *(i.encode() for i in ids)])


@dataclass(frozen=True)
class Inference:
    """chunk → columns; travels to other processes."""

    law: tuple[tuple[str, Any], ...]
    searches: tuple[str, ...]
    n_draws: int
    seed: int
    max_leaves: int
    exact_leaves: int
    sweeps: int
    threads: int | None
    geometry: str = "pp"
    beyond: Beyond = DEFAULTS.beyond

    def model(self, momenta: Floats) -> Ginkgo:
        """The model of one jet."""
        return Ginkgo(momenta, **dict(self.law))

    def __post_init__(self) -> None:
        # Refuses wrong parameters before anything is read.
        check_choice("beyond", self.beyond, get_args(Beyond))
        check_choice("geometry", self.geometry, GEOMETRIES)
        self._any_model()

    def _any_model(self) -> Ginkgo:
        # Only its law is used.
        return self.model(np.array([[5.0, 3.0, 0.0, 0.0], [5.0, -3.0, 0.0, 0.0]]))

    def cost(self, sizes: Ints) -> Floats:
        """Nanoseconds of jets of these sizes, about."""
        possible = np.where(sizes <= self.max_leaves, sizes, 0)
        searching = sum(_SEARCH.get(name, _SEARCH["greedy"]) for name in self.searches)
        return work_of(possible, self.n_draws, self.exact_leaves, self.sweeps, self.beyond) + _OVERHEAD + searching

    def __call__(self, chunk: Chunk) -> dict[str, Any]:
        """Columns with an entry for each jet of the chunk."""
        jets = chunk.jets
        errors = jet_errors(jets.momenta, jets.offsets)
        for i in np.flatnonzero(jets.n_leaves > _LARGEST).tolist():
            errors[i] = f"more than {_LARGEST} particles: {jets.n_leaves[i]}"
        sound = np.array([error is None for error in errors], dtype=bool)
        is_large = jets.n_leaves > self.max_leaves
        rows = _Rows(len(jets), self._names(jets.children is not None))
        self._solve(chunk, np.flatnonzero(sound & ~is_large), rows)
        for i in np.flatnonzero(sound & is_large).tolist():
            errors[i] = f"neither log Z nor MAP beyond {self.max_leaves} leaves (max_leaves): {jets.n_leaves[i]}"
        if jets.children is not None:
            self._score_truth(jets, np.flatnonzero(sound), rows)
        if self.searches:
            for i in np.flatnonzero(sound).tolist():
                self._search_one(jets[i], i, rows)
        error = require("pyarrow", "parquet").array(errors, "string")
        return {**jets.ids, "n_leaves": jets.n_leaves.astype(np.int32), **rows.columns(), "error": error}

    def _names(self, has_truth: bool) -> list[str]:
        return ["map", *(["true"] if has_truth else []), *self.searches, *(["drawn"] if self.n_draws else [])]

    def _solve(self, chunk: Chunk, which: Ints, rows: _Rows) -> None:
        jets, streams = chunk.jets[which], chunk.first + which
        problems = Problems.like(self._any_model(), jets.offsets, additive=jets.momenta)
        found = infer(
            problems,
            n_draws=self.n_draws,
            seed=self.seed,
            streams=streams,
            exact_leaves=self.exact_leaves,
            sweeps=self.sweeps,
            beyond=self.beyond,
            threads=self.threads,
            progress=False,
        )
        for k, i in enumerate(which.tolist()):
            merges = merge_rows(found.offsets, k)
            rows.log_partition[i], rows.errors[i] = found.log_partition[k], found.log_partition_errors[k]
            rows.kinds[i] = str(found.kinds[k])
            rows.r_hat[i] = found.r_hat[k] if found.kinds[k] == "sampled" else None
            if found.log_partition[k] > -np.inf:
                rows.put(i, "map", found.map_log_potential[k], found.children[merges])
                if self.n_draws:
                    rows.put(i, "drawn", found.drawn_log_probs[k], found.drawn_children[:, merges])

    def _score_truth(self, jets: Jets, which: Ints, rows: _Rows) -> None:
        known = jets[which]
        assert known.children is not None
        problems = Problems.like(self._any_model(), known.offsets, additive=known.momenta)
        values = log_potentials(problems, known.children, threads=self.threads)
        for k, i in enumerate(which.tolist()):
            rows.put(i, "true", values[k], known.children[merge_rows(known.offsets, k)])

    def _search_one(self, jet: Jet, i: int, rows: _Rows) -> None:
        model = self.model(jet.momenta)
        for name in self.searches:
            hierarchy = self._search(name, model)
            rows.put(i, name, model.log_potential(hierarchy), hierarchy.children)

    def _search(self, name: str, model: Ginkgo) -> Hierarchy:
        if name == "greedy":
            return search.greedy(model).hierarchy
        if name == "beam":
            return search.beam(model, progress=False).hierarchy
        return cluster(model.momenta, name, geometry=self.geometry)


class _Rows:
    """Log potentials and merges of so many jets, by name; null where nothing was put."""

    def __init__(self, count: int, names: list[str]) -> None:
        self.log_partition: list[float | None] = [None] * count
        self.errors: list[float | None] = [None] * count
        self.kinds: list[str | None] = [None] * count
        self.r_hat: list[float | None] = [None] * count
        self._values: dict[str, list[Any]] = {name: [None] * count for name in names}
        self._merges: dict[str, list[npt.NDArray[Any] | None]] = {name: [None] * count for name in names}

    def put(self, i: int, name: str, value: Any, merges: npt.NDArray[Any]) -> None:
        """The log potential of a history, or the log-probabilities of many, and their merges."""
        self._values[name][i], self._merges[name][i] = value, merges

    def columns(self) -> dict[str, Any]:
        """name → `pyarrow.Array`."""
        pyarrow = require("pyarrow", "parquet")
        made = {"log_partition": pyarrow.array(self.log_partition, pyarrow.float64())}
        for name, values in self._values.items():
            if name == "drawn":
                made["draw_log_probs"] = _lists(values, pyarrow.float64())
                made["draws"] = _lists(self._merges[name], pyarrow.int16())
            else:
                made[f"{name}_log_potential"] = pyarrow.array(values, pyarrow.float64())
                made["truth" if name == "true" else name] = _lists(self._merges[name], pyarrow.int16())
        made["kind"] = pyarrow.array(self.kinds, pyarrow.string())
        made["log_partition_error"] = pyarrow.array(self.errors, pyarrow.float64())
        made["r_hat"] = pyarrow.array(self.r_hat, pyarrow.float64())
        return made


def _lists(rows: list[Any], kind: Any) -> Any:
    # A list for each row, from arrays of any shape.
    pyarrow = require("pyarrow", "parquet")
    flat = [np.empty(0) if row is None else np.ravel(row) for row in rows]
    offsets = offsets_of([len(row) for row in flat]).astype(np.int32)
    values = pyarrow.array(np.concatenate([np.empty(0), *flat]).astype(kind.to_pandas_dtype()), kind)
    is_missing = pyarrow.array([row is None for row in rows], pyarrow.bool_())
    return pyarrow.ListArray.from_arrays(offsets, values, mask=is_missing)
