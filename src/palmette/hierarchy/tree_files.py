"""Files of many hierarchies, in Newick or Nexus."""

from collections.abc import Iterable
from typing import Literal

from numpy.typing import ArrayLike

from palmette.formats.newick import NewickTree, newick_text
from palmette.formats.nexus_writing import nexus_text
from palmette.formats.tree_files import read_tree_arrays
from palmette.formats.tree_text import TextSource, deliver_text
from palmette.hierarchy.hierarchy import Hierarchy
from palmette.hierarchy.tree_set import TreeSet
from palmette.labels import align_labels

__all__ = ["read_trees", "write_newick_file", "write_nexus"]


def read_trees(source: TextSource, *, format: Literal["newick", "nexus"] | None = None) -> TreeSet:
    """All trees of a file as a sequence of hierarchies over the same labels.

    `source` is a path, a file, or the text itself: a string with a semicolon or a line break. A path that ends in
    ``.gz`` is decompressed. Text that begins with ``#NEXUS`` is Nexus, any other is Newick, unless `format` says which.

    The labels are in the order of the first tree; in Nexus in that of TAXLABELS, or else of TRANSLATE. What is wrong
    with a file is raised as a ValueError that names the line.

    >>> trees = read_trees("((a:1,b:1):2,c:3); [&W 0.5] (b,c,a);")
    >>> len(trees), trees.labels, trees.weights
    (2, ('a', 'b', 'c'), array([1. , 0.5]))
    >>> trees[0].branch_lengths
    array([ 1.,  1.,  3.,  2., nan])
    >>> read_trees("((a,b),c);" + chr(10) + "((a,b,c);")
    Traceback (most recent call last):
    ValueError: the text, line 2, column 9: expected ',' or ')' but found ';'
    """
    return TreeSet(read_tree_arrays(source, format))


def write_newick_file(hierarchies: Iterable[Hierarchy], path_or_file: TextSource | None = None) -> str | None:
    r"""One line of Newick per hierarchy; returned as text unless there is a path or a file to write to.

    >>> write_newick_file([Hierarchy.from_newick("((a,b),c);"), Hierarchy.from_newick("(a,(b,c));")])
    '((a,b),c);\n(a,(b,c));\n'
    """
    return deliver_text("".join(h.to_newick() + "\n" for h in hierarchies), path_or_file)


def write_nexus(
    hierarchies: Iterable[Hierarchy],
    path_or_file: TextSource | None = None,
    *,
    names: Iterable[str] | None = None,
    weights: ArrayLike | None = None,
) -> str | None:
    """Nexus text that `read_trees` reads back; returned unless there is a path or a file to write to.

    The hierarchies must have the same leaves. `names` are theirs if given, or tree1, tree2, …; `weights` are written as
    comments such as ``[&W 0.25]``. A `TreeSet` brings its own, and what it says of its roots; any other hierarchy is
    rooted, ``[&R]``.

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
    rooted = None
    if isinstance(hierarchies, TreeSet):
        rooted = hierarchies.rooted.tolist()
        names = hierarchies.names if names is None else names
        weights = hierarchies.weights if weights is None else weights
    found = list(hierarchies)
    if not found:
        raise ValueError("there are no hierarchies to write; give at least one")
    trees = [_numbered(place, hierarchy, found[0].labels) for place, hierarchy in enumerate(found)]
    text = nexus_text(found[0].labels, trees, names, weights, [1] * len(found) if rooted is None else rooted)
    return deliver_text(text, path_or_file)


def _numbered(place: int, hierarchy: Hierarchy, labels: tuple[str, ...]) -> str:
    try:
        leaves = align_labels(labels, hierarchy.labels)
    except ValueError as problem:
        raise ValueError(f"hierarchy {place} has other leaves than hierarchy 0: {problem}") from None
    tokens = tuple(str(leaf + 1) for leaf in leaves.tolist())
    return newick_text(NewickTree(tokens, hierarchy.links, hierarchy.branch_lengths, hierarchy.support))
