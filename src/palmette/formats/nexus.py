"""Nexus files: the trees of their TREES blocks.

What is read:

- TAXLABELS of TAXA blocks, TRANSLATE and TREE or UTREE of TREES blocks, in any number and in any case. Other commands
  and other blocks are skipped.
- *Leaves* are written as tokens of TRANSLATE or as labels; without TRANSLATE, as labels or numbers of TAXLABELS;
  without either, any token is a label. Capital and small letters differ.
- *Underscores* stay underscores, as in `palmette.formats.newick`. Only where TAXLABELS or TRANSLATE know
  ``'Homo sapiens'`` and no ``Homo_sapiens``, or the other way round, one stands for the other, as the standard has it.
- *Comments* in ``[]``, nested or not, may stand wherever white space may. ``[&W 1/3]`` before a tree is its weight;
  ``[&R]``, ``[&U]`` and the annotations of BEAST and MrBayes, such as ``[&rate=0.1]``, are skipped.
- *Inner nodes* that are called by a number have it as support, also if it was meant as the number of the node.
- END may be missing: a file that a program is still writing can be read, if its last tree is complete.

What is written is a TAXA block and a TREES block with TRANSLATE. Labels and names stand in quotes unless they consist
of letters, digits and dots: outside quotes an underscore is a blank to many programs.
"""

import re
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from palmette.array_types import Floats
from palmette.formats.newick import write_newick
from palmette.formats.tree_text import TextSource, deliver_text
from palmette.hierarchy import Hierarchy
from palmette.hierarchy.tree_set import TreeSet
from palmette.labels import align_labels, leaf_index

__all__ = ["write_nexus"]

_SAFE = re.compile(r"[A-Za-z0-9.]+")


def write_nexus(
    hierarchies: Iterable[Hierarchy],
    path_or_file: TextSource | None = None,
    *,
    names: Iterable[str] | None = None,
    weights: ArrayLike | None = None,
) -> str | None:
    """Nexus text that `read_trees` reads back; returned unless there is a path or a file to write to.

    The hierarchies must have the same leaves. `names` are theirs if given, or tree1, tree2, …; `weights` are written as
    comments such as ``[&W 0.25]``. A `TreeSet` brings its own.

    >>> print(write_nexus([Hierarchy.from_newick("((a:1,'b c':1):2,d:3);")], weights=[0.25]))
    #NEXUS
    BEGIN TAXA;
      DIMENSIONS NTAX=3;
      TAXLABELS a 'b c' d;
    END;
    BEGIN TREES;
      TRANSLATE
        1 a,
        2 'b c',
        3 d;
      TREE tree1 = [&R] [&W 0.25] ((1:1,2:1):2,3:3);
    END;
    <BLANKLINE>
    """
    if isinstance(hierarchies, TreeSet):
        names = hierarchies.names if names is None else names
        weights = hierarchies.weights if weights is None else weights
    trees = list(hierarchies)
    if not trees:
        raise ValueError("there are no hierarchies to write; give at least one")
    lines = [*_head(trees[0].labels), *_tree_lines(trees, _names(names, len(trees)), _weights(weights, len(trees)))]
    return deliver_text("\n".join((*lines, "END;", "")), path_or_file)


def _head(labels: tuple[str, ...]) -> list[str]:
    quoted = [_quoted(label) for label in labels]
    translation = [f"    {number} {label}" for number, label in enumerate(quoted, start=1)]
    taxa = ["BEGIN TAXA;", f"  DIMENSIONS NTAX={len(labels)};", f"  TAXLABELS {' '.join(quoted)};", "END;"]
    return ["#NEXUS", *taxa, "BEGIN TREES;", "  TRANSLATE", ",\n".join(translation) + ";"]


def _tree_lines(trees: list[Hierarchy], names: list[str], weights: Floats) -> list[str]:
    weighted = (weights != 1).any()
    numbers = {label: str(leaf + 1) for label, leaf in leaf_index(trees[0].labels).items()}
    lines = []
    for place, (h, name, weight) in enumerate(zip(trees, names, weights.tolist(), strict=True)):
        try:
            align_labels(trees[0].labels, h.labels)
        except ValueError as problem:
            raise ValueError(f"hierarchy {place} has other leaves than hierarchy 0: {problem}") from None
        tokens = tuple(numbers[label] for label in h.labels)
        newick = write_newick(Hierarchy._make(h._links, tokens, h._heights, h._lengths, h.support))
        comment = f"[&W {weight!r}] " if weighted else ""
        lines.append(f"  TREE {_quoted(name)} = [&R] {comment}{newick}")
    return lines


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


def _quoted(label: str) -> str:
    return label if _SAFE.fullmatch(label) else "'" + label.replace("'", "''") + "'"
