"""`write`: one posterior, one file."""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from palmette.checks import check_integer, check_share
from palmette.defaults import DEFAULTS
from palmette.evaluate import BootstrapRow
from palmette.report.bootstrap import add_bootstrap
from palmette.report.classes import read_classes
from palmette.report.contents import Contents
from palmette.report.hierarchies import hierarchy_contents
from palmette.report.listing import AnyPosterior
from palmette.report.page import page
from palmette.report.particles import particle_contents
from palmette.report.partitions import partition_contents
from palmette.report.provenance import provenance
from palmette.report.sampled import sampled_hierarchy_contents, sampled_partition_contents
from palmette.whole_files import write_whole

__all__ = ["write"]

_CONTENTS: dict[tuple[str, str], Callable[..., Contents]] = {
    ("hierarchies", "sums"): hierarchy_contents,
    ("hierarchies", "averages"): hierarchy_contents,
    ("hierarchies", "chains"): sampled_hierarchy_contents,
    ("hierarchies", "particles"): particle_contents,
    ("partitions", "sums"): partition_contents,
    ("partitions", "averages"): partition_contents,
    ("partitions", "chains"): sampled_partition_contents,
}


def write(
    posterior: AnyPosterior,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    classes: Sequence[object] | None = None,
    seed: int | None = None,
    command: str | None = None,
    data: Any = None,
    n_alternatives: int = 5,
    min_probability: float = DEFAULTS.min_probability,
    bootstrap: Iterable[BootstrapRow] | None = None,
    heights: bool = True,
) -> Path:
    """Write a report on a posterior to `path`: one HTML file that needs no network and no other file.

    A summary in words, the best hierarchy (or partition) with the probability of every cluster, what competes with each
    of them, a table of all clusters of at least `min_probability` (400 at most), the `n_alternatives` best ones side by
    side, and where the numbers come from. The same input gives the same bytes.

    Of a `SampledPosterior`, and of `SampledPartitions`, it opens with whether the chains agree, and shows them. Of
    `CoalescentDraws` it opens with whether the runs agree; the best history is the most credible one, with its times.

    `bootstrap` are rows of `palmette.evaluate.bootstrap`, shown as AU and BP beside the probabilities of hierarchies.
    With ``heights=False`` hierarchies are drawn by their shape alone, and not at the heights that they, or the model,
    have (see `palmette.plot.dendrogram`). `classes`: one per leaf, in the order of the labels; leaves are marked with
    them, no model sees them. `seed` and `command` are written down as given. Of `data`, which is an array, bytes or the
    path of a file, the SHA-256 is. Returns the path; if it cannot be written, an older file stays as it was. Raises
    `ImpossibleData` if everything has probability zero.
    """
    contents_of = _CONTENTS.get((getattr(posterior, "clusterings", ""), getattr(posterior, "kind", "")))
    if contents_of is None:
        raise TypeError(
            "expected a HierarchyPosterior or a PartitionPosterior, a SampledPosterior, SampledPartitions or "
            f"CoalescentDraws, not {posterior!r}"
        )
    marks = read_classes(classes, posterior.labels)
    n_alternatives = check_integer("n_alternatives", n_alternatives, 0)
    least = check_share("min_probability", min_probability)
    origin = provenance(posterior, seed, command, data)
    drawn = {"heights": heights} if posterior.clusterings == "hierarchies" else {}
    contents = contents_of(posterior, marks, n_alternatives, least, **drawn)
    if bootstrap is not None:
        add_bootstrap(contents.listing, posterior.labels, bootstrap)
    text = page(contents, origin, title or f"{contents.things.capitalize()} of {posterior.n_leaves:,} leaves")
    target = Path(path)
    write_whole(target, text)
    return target
