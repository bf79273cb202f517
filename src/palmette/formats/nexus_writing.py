"""Nexus text with trees: a TAXA block and a TREES block with TRANSLATE.

Labels and names stand in quotes unless they consist of letters, digits, dots and underscores: as in Newick, so that a
program reads ``Taxon_1`` from both files in the same way. To most (ape, BEAST, MrBayes, FigTree, Biopython) it is
``Taxon_1``; those that follow the letter of the standard, as DendroPy does unless told otherwise, read ``Taxon 1``.
Where two labels differ in that alone, all are quoted.
"""

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from palmette.array_types import Floats
from palmette.formats.tokens import quoted

__all__ = ["nexus_text"]

_SAFE = re.compile(r"[A-Za-z0-9._]+")
_ROOTED = {1: "[&R] ", 0: "[&U] ", -1: ""}


def nexus_text(
    labels: Sequence[str],
    trees: Sequence[str],
    names: Iterable[str] | None,
    weights: ArrayLike | None,
    rooted: Iterable[int],
) -> str:
    """Nexus text of Newick trees in which leaf i is called i + 1; see `palmette.interop.write_nexus`.

    `rooted` has one number per tree: 1 for ``[&R]``, 0 for ``[&U]``, −1 for neither.
    """
    count = len(trees)
    lines = [*_head(labels), *_tree_lines(trees, _names(names, count), _weights(weights, count), rooted)]
    return "\n".join((*lines, "END;", ""))


def _head(labels: Sequence[str]) -> list[str]:
    is_clear = len({label.replace("_", " ") for label in labels}) == len(labels)
    written = [_as_label(label) if is_clear else quoted(label) for label in labels]
    translation = [f"    {number} {label}" for number, label in enumerate(written, start=1)]
    taxa = ["BEGIN TAXA;", f"  DIMENSIONS NTAX={len(labels)};", f"  TAXLABELS {' '.join(written)};", "END;"]
    return ["#NEXUS", *taxa, "BEGIN TREES;", "  TRANSLATE", ",\n".join(translation) + ";"]


def _tree_lines(trees: Sequence[str], names: list[str], weights: Floats, rooted: Iterable[int]) -> list[str]:
    comments = [f"[&W {weight!r}] " for weight in weights.tolist()] if (weights != 1).any() else [""] * len(trees)
    lines = zip(names, (_ROOTED[said] for said in rooted), comments, trees, strict=True)
    return [f"  TREE {_as_label(name)} = {root}{comment}{newick}" for name, root, comment, newick in lines]


def _names(names: Iterable[str] | None, count: int) -> list[str]:
    found = [f"tree{number}" for number in range(1, count + 1)] if names is None else list(names)
    if len(found) != count or isinstance(names, str) or not all(isinstance(name, str) for name in found):
        raise ValueError(f"names must be {count} strings, one per hierarchy; given were {len(found)} entries")
    return found


def _weights(weights: ArrayLike | None, count: int) -> Floats:
    found = np.ones(count) if weights is None else np.array(weights, dtype=np.float64)
    if found.shape != (count,) or not (np.isfinite(found) & (found >= 0)).all():
        raise ValueError(
            f"weights must be {count} finite numbers of at least 0, one per hierarchy; given was {weights!r}"
        )
    return found


def _as_label(label: str) -> str:
    return label if _SAFE.fullmatch(label) else quoted(label)
