"""Roots: one tree without a root, written in any way, has the same clusters once it is rooted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import palmette as pal
from palmette.interop import read_trees


def random_branches(n, rng):
    """The branches of a random tree without a root: (one end, other end, length), leaves being 0 … n − 1."""
    branches = [(0, n, rng.random()), (1, n, rng.random()), (2, n, rng.random())]
    for leaf in range(3, n):
        i = int(rng.integers(len(branches)))
        one, other, length = branches.pop(i)
        node = n + leaf - 2
        branches += [(one, node, length * 0.3), (node, other, length * 0.7), (leaf, node, rng.random())]
    return branches


def written(branches, n, start, rng, on_branch):
    """Newick from one inner node, which has three branches there, or from a point on a branch."""
    near = {}
    for one, other, length in branches:
        near.setdefault(one, []).append((other, length))
        near.setdefault(other, []).append((one, length))

    def text(node, came_from):
        below = [(near_node, length) for near_node, length in near[node] if near_node != came_from]
        if not below:
            return f"t{node}"
        rng.shuffle(below)
        return "(" + ",".join(f"{text(int(child), node)}:{float(length)!r}" for child, length in below) + ")"

    if not on_branch:
        return f"[&U] {text(n + start % (n - 2), None)};"
    one, other, length = branches[start % len(branches)]
    return f"[&U] ({text(one, other)}:{length * 0.25!r},{text(other, one)}:{length * 0.75!r});"


def clusters(tree):
    return {frozenset(tree.labels[leaf] for leaf in cluster) for cluster in tree.clusters()}


@given(st.integers(3, 9), st.integers(0, 10_000), st.integers(0, 50), st.integers(0, 50), st.booleans(), st.booleans())
def test_however_it_is_written_a_tree_has_one_rooting(n, seed, start, other, first_on, second_on):
    rng = np.random.default_rng(seed)
    branches = random_branches(n, rng)
    trees = [read_trees(written(branches, n, at, rng, on)) for at, on in ((start, first_on), (other, second_on))]
    out = [trees[0].labels[0]]
    for rooted in (lambda t: t.rooted_by(out), lambda t: t.midpoint_rooted()):
        one, two = (rooted(tree)[0] for tree in trees)
        assert one.is_binary
        assert clusters(one) == clusters(two)
        two = two.aligned_to(one.labels)
        np.testing.assert_allclose(one.cophenetic(), two.cophenetic(), atol=1e-12)
        assert not rooted(trees[0]).is_unrooted.any()
    # Distances between leaves along the branches are what they were.
    total = sum(length for *_, length in branches)
    for tree in (trees[0].rooted_by(out)[0], trees[0].midpoint_rooted()[0]):
        assert np.nansum(tree.branch_lengths) == pytest.approx(total)
    middle = trees[0].midpoint_rooted()[0]
    depth = np.zeros(middle.n_nodes)
    for node in range(middle.n_nodes - 2, -1, -1):
        depth[node] = depth[middle.parents[node]] + middle.branch_lengths[node]
    root = middle.children_of(middle.n_nodes - 1)
    sides = [max(depth[leaf] for leaf in range(n) if _is_below(middle, leaf, child)) for child in root]
    assert sides[0] == pytest.approx(sides[1])  # the longest path has its middle at the root


def _is_below(tree, node, top):
    while node != -1 and node != top:
        node = int(tree.parents[node])
    return node == top


def test_support_stays_with_its_branch():
    tree = read_trees("[&U] (a:1,b:1,((c:1,d:1)0.9:1,e:1)0.6:1);").rooted_by(["c", "d"])[0]
    share = {
        frozenset(tree.labels[i] for i in c): s for c, s in zip(tree.clusters(), tree.support.tolist(), strict=True)
    }
    assert share[frozenset("ab")] == 0.6
    assert share[frozenset("cd")] == share[frozenset("abe")] == 0.9


def test_both_sides_of_the_root_have_the_length_and_the_support_of_its_branch():
    trees = read_trees("((a:1,b:1)0.9,(c:1,d:1):2);")  # one of the two halves has no length
    for outgroup in ("ab", "cd"):
        assert trees.rooted_by(list(outgroup))[0].to_newick() == "((a:1,b:1)0.9:1,(c:1,d:1)0.9:1);"
    assert trees.rooted_by("a")[0].to_newick() == "(a:0.5,(b:1,(c:1,d:1)0.9:2):0.5);"


def test_two_leaves_have_a_midpoint():
    assert read_trees("(a:1,b:3);").midpoint_rooted()[0].to_newick() == "(a:2,b:2);"
    assert read_trees("a;").midpoint_rooted()[0].to_newick() == "a;"


def test_trees_without_a_root_are_refused():
    marked = read_trees("[&U] ((a,b),(c,d)); [&R] ((a,b),(c,d));")
    assert marked.rooted.tolist() == [0, 1]
    assert marked.is_unrooted.tolist() == [True, False]
    with pytest.raises(ValueError, match=r"tree 1 has no root \(is marked \[&U\]\)"):
        pal.posterior.from_trees(marked)
    basal = read_trees("#NEXUS begin trees; tree a = (a,b,(c,d)); utree b = ((a,b),(c,d)); end;")
    assert basal.is_unrooted.tolist() == [True, True]
    with pytest.raises(ValueError, match="three branches or more at its root"):
        pal.posterior.from_trees(basal)
    assert pal.posterior.from_trees(basal.rooted_by("a")).count == 1
    assert read_trees("[&R] (a,b,(c,d));").is_unrooted.tolist() == [False]
    assert basal[1:].rooted.tolist() == [0]
    assert not basal.with_roots().is_unrooted.any()


def test_what_cannot_be_rooted_says_why():
    trees = read_trees("((a,b),(c,d)); ((a,c),(b,d));")
    with pytest.raises(ValueError, match=r"tree 2 has no branch that parts {'a', 'b'} from the others"):
        trees.rooted_by(["a", "b"])
    with pytest.raises(ValueError, match="no leaf is called 'x'; the labels are 'a', 'b'"):
        trees.rooted_by(["x"])
    with pytest.raises(ValueError, match="4 of 4 leaves"):
        trees.rooted_by(list("abcd"))
    with pytest.raises(ValueError, match="tree 1 has a branch without length"):
        trees.midpoint_rooted()
