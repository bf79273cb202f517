"""Passes that ask a model for log ψ by blocks are those with a table of all splits, whatever is kept of the blocks."""

from __future__ import annotations

import numpy as np
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

from palmette import HierarchyPosterior
from palmette.errors import TrellisTooLarge
from palmette.models import SplitFunction, Uniform
from palmette.passes.hierarchies import HierarchyConditions, blocks
from palmette.passes.hierarchies.full import FullHierarchyPasses
from palmette.passes.hierarchies.listed import ListedHierarchyPasses
from palmette.passes.resources import Resources
from palmette.trellis.counting import n_splits


class Counted:
    """A function that knows how many splits it was asked about, and the most at a time."""

    def __init__(self):
        self.asked = self.most = 0

    def __call__(self, left, right):
        self.asked += len(left)
        self.most = max(self.most, len(left))
        return np.sin(1.0 * left) * np.cos(2.0 * right) - 0.1 * np.bitwise_count(right)


def some_conditions(n, seed):
    require = [[0, n - 1]] if n > 2 and seed % 2 else []
    forbid = [[1, 2]] if n > 3 and seed % 3 else []
    return HierarchyConditions(Uniform(n).labels).and_also(require, forbid)


@given(
    cases(max_leaves=7, kinds="f"),
    st.integers(0, 5),
    st.sampled_from([3, 10, 1 << 18]),
    st.sampled_from([0, 200, 10**9]),
)
def test_blocks_of_any_size_and_any_room_give_what_a_table_gives(case, seed, block, room):
    model, n = case.model, case.model.n_leaves
    conditions = some_conditions(n, seed)
    table = FullHierarchyPasses(model, conditions)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK", block)
        listed = ListedHierarchyPasses(model, conditions)
        listed._blocks._room = room
        Z = listed.inside()
        np.testing.assert_allclose(Z, table.inside(), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(listed.maximum(), table.maximum(), rtol=1e-12, atol=1e-12)
        assert listed.count() == table.count()
        if Z[-1] == -np.inf:
            return
        mu, entropy = listed.outside(Z)
        tolerance = 1e-12 + 1e-14 * case.scale
        np.testing.assert_allclose(mu, table.outside(Z).mu, atol=tolerance)
        np.testing.assert_allclose(listed.parent_sizes(Z, mu), table.parent_sizes(Z, mu), atol=n * tolerance)
        assert listed.entropy(Z, mu) == pytest.approx(entropy, rel=1e-12)
        assert entropy == pytest.approx(table.entropy(Z, mu), abs=case.tolerance)
        for one, two in zip(listed.draw(Z, 20, 3), table.draw(Z, 20, 3), strict=True):
            np.testing.assert_allclose(one, two)
        for cluster in range(1, 1 << n):
            for one, two in zip(listed.splits(cluster, Z), table.splits(cluster, Z), strict=True):
                np.testing.assert_allclose(one, two)


@pytest.mark.parametrize("n", [1, 2, 13])
def test_a_model_is_asked_once_for_what_is_kept(n):
    function = Counted()
    model = SplitFunction(n, function)
    listed = ListedHierarchyPasses(model)
    Z = listed.inside()
    M = listed.maximum()
    mu, entropy = listed.outside(Z)
    assert listed.entropy_alone(Z) == entropy
    listed.parent_sizes(Z, mu)
    listed.splits(listed.root, M)
    listed.draw(Z, 10, 0)
    listed.count()
    listed.with_sums(mu).maximum()
    assert function.asked == n_splits(n)
    assert function.most <= blocks.BLOCK
    table = FullHierarchyPasses(model)
    np.testing.assert_allclose(Z, table.inside(), rtol=1e-12)
    np.testing.assert_allclose(M, table.maximum(), rtol=1e-12)


def test_without_room_it_is_asked_in_every_pass_and_never_about_too_much_at_a_time(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", 100)
    n, function = 10, Counted()
    listed = ListedHierarchyPasses(SplitFunction(n, function))
    listed._blocks._room = 0
    Z = listed.inside()
    listed.maximum()
    assert function.asked == 2 * n_splits(n)
    listed.outside(Z)
    assert function.asked == 3 * n_splits(n)
    assert function.most == 100


def test_what_is_kept_leaves_room_for_the_tables():
    n, function = 15, Counted()
    few = ListedHierarchyPasses(SplitFunction(n, function), resources=Resources(9_000_000))
    few.inside()
    few.maximum()
    kept = sum(values.nbytes for values in few._blocks._kept.values())
    assert 0 < kept <= 9_000_000 - few.memory_needed
    assert function.asked == 2 * n_splits(n) - kept // 8
    with pytest.raises(TrellisTooLarge, match=r"the full trellis over n = 15 leaves needs .* 9 MB are allowed"):
        few.parted(np.zeros(1 << n), np.zeros(1 << n), Uniform(n))


def test_a_divergence_between_a_compiled_model_and_a_black_box_is_known_both_ways():
    n = 6
    zero = HierarchyPosterior(SplitFunction(n, lambda left, right: np.zeros(len(left))))
    other, uniform = HierarchyPosterior(SplitFunction(n, Counted())), HierarchyPosterior(Uniform(n))
    assert uniform.kl(other) == pytest.approx(zero.kl(other), rel=1e-10)
    assert other.kl(uniform) == pytest.approx(other.kl(zero), rel=1e-10)
    assert abs(uniform.kl(zero)) + abs(zero.kl(uniform)) < 1e-12


def test_a_divergence_from_a_black_box_needs_no_table_of_all_splits():
    zero = SplitFunction(14, lambda left, right: np.zeros(len(left)))  # its table would take 19 MB
    one, two = (HierarchyPosterior(model, max_memory=8_000_000) for model in (Uniform(14), zero))
    assert one.kl(two) == pytest.approx(0.0, abs=1e-9)


def test_a_black_box_that_forbids_what_another_does_not_is_infinitely_far():
    zero, none = (SplitFunction(4, lambda left, right, x=x: np.where(left == 3, x, 0.0)) for x in (0.0, -np.inf))
    assert HierarchyPosterior(zero).kl(HierarchyPosterior(none)) == np.inf
    assert HierarchyPosterior(none).kl(HierarchyPosterior(zero)) < np.inf
