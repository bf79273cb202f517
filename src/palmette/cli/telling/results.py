"""Results for programs: the JSON of ``--json``, described in docs/command_line.md."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import click

import palmette as pal
from palmette._version import __version__
from palmette.cli.reading.columns import Leaves

__all__ = ["clustering", "clusters_of", "echo", "finite", "heading", "judged", "numbers", "ranked", "with_errors"]


def heading(command: str, source: str, leaves: Leaves) -> dict[str, Any]:
    """Where the result comes from."""
    return {
        "palmette": __version__,
        "command": command,
        "input": source,
        "sha256": hashlib.sha256(leaves.table.raw).hexdigest(),
        "n_leaves": len(leaves.labels),
        "labels": list(leaves.labels),
        "classes": None if leaves.classes is None else list(leaves.classes),
    }


def numbers(posterior: Any) -> dict[str, Any]:
    """The posterior in a few numbers; `exact` says whether the sums are over everything."""
    chosen = None if posterior.is_exact else posterior.trellis
    entropy = float(posterior.entropy)  # of a mixture, an estimate
    return {
        "exact": posterior.is_exact,
        "trellis": {"kind": "full"} if chosen is None else {"kind": "sparse", "n_clusters": chosen.n_clusters},
        "log_partition": posterior.log_partition,
        "entropy": entropy,
        "perplexity": math.exp(entropy) if entropy < 700 else None,
    }


def clustering(found: pal.Hierarchy | pal.Partition, log_prob: float | None = None) -> dict[str, Any]:
    """One hierarchy, as Newick with its support, or one partition: `membership` has one number per leaf."""
    if isinstance(found, pal.Hierarchy):
        known: dict[str, Any] = {"newick": found.to_newick()}
    else:
        known = {"membership": found.membership.tolist(), "clusters": list(map(list, found.named_clusters()))}
    return known if log_prob is None else {**known, "log_prob": log_prob, "probability": math.exp(log_prob)}


def ranked(best: Iterable[tuple[Any, float | None]]) -> list[dict[str, Any]]:
    """Several clusterings, best first."""
    return [clustering(found, log_prob) for found, log_prob in best]


def clusters_of(rows: Iterable[Any]) -> list[dict[str, Any]]:
    """Rows of a table of clusters."""
    return [{"members": list(row.members), "size": row.size, "probability": row.probability} for row in rows]


def with_errors(rows: Iterable[Any]) -> list[dict[str, Any]]:
    """Rows of a table of clusters whose probabilities have standard errors."""
    return [{**listed, "standard_error": row.standard_error} for row in rows for listed in clusters_of([row])]


def judged(verdict: Any) -> dict[str, Any]:
    """A verdict on draws: in words, and its figures."""
    return {"words": str(verdict), **asdict(verdict), "disagreements": list(verdict.disagreements)}


def echo(result: dict[str, Any]) -> None:
    """Write a result to stdout; what is not finite becomes null, so that every reader takes it."""
    click.echo(json.dumps(finite(result), ensure_ascii=False, allow_nan=False))


def finite(value: Any) -> Any:
    """The same with None for every number that is not finite: JSON has no other word for it."""
    if isinstance(value, dict):
        return {name: finite(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
