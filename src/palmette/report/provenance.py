"""Where the numbers come from: version, model, trellis, command, seed and a digest of the data."""

import dataclasses
import hashlib
import inspect
import os
import textwrap
from pathlib import Path
from typing import Any

import numpy as np

from palmette._version import __version__
from palmette.coalescent import CoalescentDraws
from palmette.likelihoods.base import Likelihood
from palmette.models.base import Model
from palmette.report.listing import AnyPosterior, Hierarchies, Modelled, Partitions
from palmette.report.markup import Html, element, joined
from palmette.trellis.counting import n_splits

__all__ = ["data_digest", "model_parameters", "provenance"]


def provenance(posterior: AnyPosterior, seed: int | None, command: str | None, data: Any) -> Html:
    """What is needed to make the same numbers again, as a list of terms; nothing that changes from run to run."""
    facts: dict[str, str | None] = {
        "Made with": f"palmette {__version__}",
        **(_histories(posterior) if posterior.kind == "particles" else _modelled(posterior)),
        "Command": None if command is None else element("code", command),
        "Seed": None if seed is None else str(seed),
        "Data": None if data is None else _data(data),
    }
    rows = [
        element("div", element("dt", term), element("dd", fact)) for term, fact in facts.items() if fact is not None
    ]
    return element("dl", joined(rows), class_="facts")


def _modelled(posterior: Modelled) -> dict[str, str | None]:
    return {
        "Model": _model(posterior.model),
        "Parameters": _parameters(posterior),
        "Conditions": _conditions(posterior),
        **_computed(posterior),
    }


def _histories(draws: CoalescentDraws) -> dict[str, str | None]:
    return {
        "Model": "Kingman's coalescent",
        "Process": None if draws.process is None else textwrap.shorten(repr(draws.process), 300, placeholder=" …"),
        "Particles": str(draws.verdict),
        "log evidence": f"about {draws.log_evidence:.6g}",
    }


def model_parameters(model: Model) -> dict[str, str]:
    """What the model was made with, as far as it is a number, a word or a likelihood.

    >>> import palmette as pal
    >>> model_parameters(pal.models.Dasgupta([[0, 1], [1, 0.0]], beta=2.5))
    {'β': '2.5'}
    """
    found: dict[str, str] = {}
    for name in inspect.signature(type(model).__init__).parameters:
        value = getattr(model, name, None)
        if isinstance(value, bool | np.bool_) or value is None:
            continue
        if isinstance(value, int | float | np.integer | np.floating):
            found["β" if name == "beta" else name] = f"{value:.10g}"
        elif isinstance(value, str) or (isinstance(value, Likelihood) and dataclasses.is_dataclass(value)):
            found[name] = str(value)
    found.pop("n_leaves", None)
    return found


def data_digest(data: Any) -> tuple[str, str]:
    """SHA-256 of a file (a path), of bytes, or of the numbers of an array in C order; and what it was taken of.

    >>> data_digest(np.zeros((2, 2)))
    ('66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925', '2 × 2 values of type float64')
    """
    if isinstance(data, str | os.PathLike):
        with Path(data).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest(), f"the file {Path(data).name}"
    if isinstance(data, bytes | bytearray | memoryview):
        return hashlib.sha256(data).hexdigest(), f"{memoryview(data).nbytes:,} bytes"
    array = np.asarray(data)
    if array.dtype.hasobject:
        raise TypeError(
            f"data has the type {array.dtype}, whose bytes say nothing about its values; "
            "give an array of numbers or of text, the bytes themselves, or the path of the file"
        )
    shape = " × ".join(map(str, array.shape)) or "1"
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest(), f"{shape} values of type {array.dtype}"


def _data(data: Any) -> Html:
    digest, what = data_digest(data)
    return joined([element("code", digest, class_="digest"), element("span", f"SHA-256 of {what}", class_="aside")])


def _model(model: Model) -> Html:
    formula = (inspect.getdoc(type(model)) or "").partition("\n")[0]
    aside = element("span", formula.rstrip("."), class_="aside") if formula.startswith("log ψ") else None
    return joined((type(model).__name__, aside))


def _parameters(posterior: Modelled) -> str | None:
    if posterior.kind == "averages":
        few = [", ".join(f"{name} = {value:.4g}" for name, value in made.items()) for made in posterior.parameters]
        words = [f"{made} (weight {weight:.3f})" for made, weight in zip(few, posterior.weights, strict=True)]
        return f"averaged over {len(words)} posteriors: " + "; ".join(words)
    return ", ".join(f"{name} = {value}" for name, value in model_parameters(posterior.model).items()) or None


def _conditions(posterior: Modelled) -> str | None:
    return posterior.conditions.phrase().strip(" ,") or None


def _computed(posterior: Modelled) -> dict[str, str | None]:
    if posterior.kind == "chains":
        return {"Chains": str(posterior.verdict), "Sweeps between draws": f"{posterior.sweeps_per_draw:,}"}
    return {
        "Trellis": _trellis(posterior),
        "log Z": f"{posterior.log_partition:.10g}",
        "Entropy": f"{float(posterior.entropy):.6g} nats",
    }


def _trellis(posterior: Hierarchies | Partitions) -> str:
    n = posterior.n_leaves
    if posterior.clusterings == "partitions":
        if (listed := posterior.trellis) is None:
            return f"full: all {2**n - 1:,} clusters"
        return f"chosen clusters: {listed.n_clusters:,} clusters, {listed.n_remainders:,} remainders"
    if (sparse := posterior.trellis) is None:
        return f"full: all {2**n - 1:,} clusters and {n_splits(n):,} splits"
    kind = "all splits into its clusters" if sparse.is_closed else "splits that were seen"
    source = ", of a sample of trees" if posterior.model.is_of_sample else ""
    return f"sparse{source}: {len(sparse.words):,} clusters, {len(sparse.left):,} splits ({kind})"
