"""Passes over a sparse trellis of hierarchies, against slow twins over Python integers and dictionaries."""

from __future__ import annotations

import math

import numpy as np
import oracle as formulas
import pytest
from oracle import members
from sparse_cases import WORD_EDGES, listed_splits, some_hierarchies

from palmette import SparseTrellis
from palmette.models import Dasgupta, SumOfSquares
from palmette.models.evaluate import _trellis_statistics
from palmette.passes.hierarchies.conditions import HierarchyConditions
from palmette.passes.hierarchies.sparse import SparseHierarchyPasses
from palmette.recursions.hierarchies import sparse as kernels


class Twin:
    """The recursions as they are written, over Python integers and dictionaries."""

    def __init__(self, n, splits):
        self.root = (1 << n) - 1
        self.splits: dict[int, list[tuple[int, int, float]]] = {}
        for (P, L, R), value in splits.items():
            self.splits.setdefault(P, []).append((L, R, value))
        self.parents = sorted(self.splits, key=int.bit_count)
        self.Z = {1 << leaf: 0.0 for leaf in range(n)}
        self.M = dict(self.Z)
        self.count = dict.fromkeys(self.Z, 1)
        for P in self.parents:
            self.Z[P] = self._log_sum([value + self.Z[L] + self.Z[R] for L, R, value in self.splits[P]])
            self.M[P] = max(value + self.M[L] + self.M[R] for L, R, value in self.splits[P])
            self.count[P] = sum(self.count[L] * self.count[R] for L, R, value in self.splits[P] if value > -np.inf)
        self.mu = dict.fromkeys(self.Z, 0.0) | {self.root: 1.0}
        self.share = {}
        for P in reversed(self.parents):
            for L, R, value in self.splits[P]:
                share = math.exp(value + self.Z[L] + self.Z[R] - self.Z[P]) if self.Z[P] > -np.inf else 0.0
                self.share[P, L, R] = share
                self.mu[L] += self.mu[P] * share
                self.mu[R] += self.mu[P] * share

    @staticmethod
    def _log_sum(values):
        top = max(values)
        return top if top == -np.inf else top + math.log(math.fsum(math.exp(value - top) for value in values))

    @property
    def entropy(self):
        return -math.fsum(self.mu[s[0]] * p * math.log(p) for s, p in self.share.items() if p > 0.0)

    def lca_sizes(self, n):
        out = np.eye(n)
        for (P, L, R), share in self.share.items():
            out[np.ix_(members(L), members(R))] += self.mu[P] * share * P.bit_count()
            out[np.ix_(members(R), members(L))] += self.mu[P] * share * P.bit_count()
        return out


def random_potentials(trellis, seed, forbidden):
    rng = np.random.default_rng(seed)
    values = 3.0 * rng.normal(size=trellis.n_splits)
    values[rng.random(len(values)) < forbidden] = -np.inf
    return values


@pytest.mark.parametrize("forbidden", [0.0, 0.1, 0.95])
@pytest.mark.parametrize("n", [2, 5, 9, 40, *WORD_EDGES])
def test_passes_match_their_slow_twins(n, forbidden):
    trellis = SparseTrellis.from_hierarchies(some_hierarchies(n, 8, seed=n), closed=n % 2 == 0)
    log_psi = random_potentials(trellis, n, forbidden)
    if forbidden < 0.5:  # one hierarchy is left whole
        log_psi[trellis.find_hierarchy(some_hierarchies(n, 1, seed=n)[0])] = -1.5
    splits = (n, trellis.offsets, trellis.left, trellis.right, log_psi)
    Z, M, mu = (np.full(trellis.n_clusters, np.nan) for _ in range(3))
    share = np.full(trellis.n_splits, np.nan)
    kernels.inside(*splits, Z)
    kernels.maximum(*splits, M)
    twin = Twin(n, dict(zip(listed_splits(trellis), log_psi.tolist(), strict=True)))
    np.testing.assert_allclose(Z, [twin.Z[m] for m in trellis.masks], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(M, [twin.M[m] for m in trellis.masks], rtol=1e-12, atol=1e-12)
    assert trellis.count_possible(log_psi > -np.inf) == twin.count[twin.root]
    kernels.shares(*splits, Z, share)
    kernels.outside(*splits[:-1], share, mu)
    if Z[-1] == -np.inf:
        return
    np.testing.assert_allclose(mu, [twin.mu[m] for m in trellis.masks], rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(share, [twin.share[s] for s in listed_splits(trellis)], rtol=1e-10, atol=1e-14)
    assert mu.max() <= 1.0
    assert (mu[:n] == 1.0).all()
    separated = np.zeros((n, n))
    kernels.add_separated(
        n, trellis.words, trellis.left, trellis.right, (mu * trellis.sizes)[trellis.parent] * share, separated
    )
    np.testing.assert_allclose(separated + separated.T + np.eye(n), twin.lca_sizes(n), rtol=1e-10)


@pytest.mark.parametrize("n", [5, 70])
def test_draws_follow_the_shares_of_the_splits(n):
    trellis = SparseTrellis.from_hierarchies(some_hierarchies(n, 6, seed=2))
    log_psi = random_potentials(trellis, 1, 0.0)
    Z = np.empty(trellis.n_clusters)
    kernels.inside(n, trellis.offsets, trellis.left, trellis.right, log_psi, Z)
    size = 4000
    out, log_potential = np.empty((size, n - 1), np.int64), np.empty(size)
    fixed = (n, trellis.offsets, trellis.left, trellis.right, log_psi, Z, np.uint64(5), out, log_potential)
    for first in range(0, size, 1000):
        kernels.draw(*fixed, first, first + 1000)
    np.testing.assert_allclose(log_potential, log_psi[out].sum(axis=1), rtol=1e-12)
    assert (np.diff(out, axis=1) > 0).all()
    for row in out[:20]:  # each is a hierarchy: every cluster but the root is a part once
        parts = np.concatenate([trellis.left[row], trellis.right[row]])
        assert sorted([*parts, trellis.n_clusters - 1]) == sorted([*trellis.parent[row], *range(n)])
    twin = Twin(n, dict(zip(listed_splits(trellis), log_psi.tolist(), strict=True)))
    expected = np.array([twin.mu[s[0]] * twin.share[s] for s in listed_splits(trellis)])
    found = np.bincount(out.ravel(), minlength=trellis.n_splits) / size
    assert (np.abs(found - expected) <= 5 * np.sqrt(expected * (1 - expected) / size) + 1e-12).all()


@pytest.mark.parametrize("n", [3, 8, 64, 65, 130])
def test_statistics_are_sums_over_members_and_pairs(n):
    rng = np.random.default_rng(n)
    trellis = SparseTrellis.from_hierarchies(some_hierarchies(n, 5, seed=n))
    additive, pairwise = rng.normal(size=(n, 3)), rng.normal(size=(2, n, n))
    pairwise += pairwise.transpose(0, 2, 1)
    sums, pairs = np.zeros((trellis.n_clusters, 3)), np.zeros((trellis.n_clusters, 2))
    splits = (trellis.offsets, trellis.left, trellis.right)
    _trellis_statistics(n, trellis.words, trellis.sizes, *splits, additive, pairwise, sums, pairs)
    for i in range(trellis.n_clusters):
        leaves = list(trellis.members(i))
        np.testing.assert_allclose(sums[i], additive[leaves].sum(axis=0), atol=1e-10)
        block = pairwise[:, leaves][:, :, leaves]
        np.testing.assert_allclose(pairs[i], np.triu(block, 1).sum(axis=(1, 2)), atol=1e-9)


@pytest.mark.parametrize("n", [6, *WORD_EDGES])
@pytest.mark.parametrize("kind", ["sum of squares", "Dasgupta"])
def test_a_model_on_many_leaves_matches_the_slow_twin(n, kind):
    rng = np.random.default_rng(n)
    sample = [h.aligned_to([str(i) for i in rng.permutation(n)]) for h in some_hierarchies(n, 6, seed=n)]
    w = np.triu(rng.random((n, n)), 1)
    x, w = rng.normal(size=(n, 2)), w + w.T
    model = SumOfSquares(x, 0.3) if kind == "sum of squares" else Dasgupta(w, 0.01)
    log_psi = formulas.sum_of_squares(x, 0.3) if kind == "sum of squares" else formulas.dasgupta(w, 0.01)
    passes = SparseHierarchyPasses(model, SparseTrellis.from_hierarchies(sample), HierarchyConditions(model.labels))
    trellis = passes.trellis
    assert trellis.labels == model.labels
    values = {(P, L, R): log_psi(members(L), members(R)) for P, L, R in listed_splits(trellis)}
    np.testing.assert_allclose(passes.log_psi, list(values.values()), rtol=1e-9, atol=1e-9)
    twin, Z = Twin(n, values), passes.inside()
    assert Z[-1] == pytest.approx(twin.Z[twin.root], rel=1e-12)
    assert passes.maximum()[-1] == pytest.approx(twin.M[twin.root], rel=1e-12)
    mu = passes.outside(Z).mu
    np.testing.assert_allclose(mu, [twin.mu[m] for m in trellis.masks], rtol=1e-8, atol=1e-12)
    assert passes.entropy(Z, mu) == pytest.approx(twin.entropy, rel=1e-8, abs=1e-10)
    assert passes.count() == twin.count[twin.root]
    np.testing.assert_allclose(passes.expected_lca_sizes(Z, mu), twin.lca_sizes(n), rtol=1e-8)
