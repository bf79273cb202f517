"""A dataset of draws holds what the draws hold."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import palmette as pal
from palmette import Hierarchy, HierarchyPosterior, PartitionPosterior, SparseTrellis
from palmette.coalescent.draws import CoalescentDraws
from palmette.interop.xarray import _names, to_xarray
from palmette.sampling import sample_hierarchies

LABELS = ["a", "b", "c", "d", "e"]


def model(n: int = 5):
    w = np.random.default_rng(n).normal(size=(n, n))
    return pal.models.Dasgupta(w + w.T, beta=0.5, labels=LABELS[:n])


def hierarchy_draws(n: int = 5, size: int = 20, seed: int = 0):
    return HierarchyPosterior(model(n)).sample(size, rng=seed)


def partition_draws():
    w = np.random.default_rng(1).normal(size=(5, 5))
    return PartitionPosterior(pal.models.CorrelationClusters(w + w.T, labels=LABELS)).sample(20, rng=0)


def coalescent_draws():
    children = np.array([[[0, 1], [3, 2]], [[1, 2], [0, 3]]])
    ages = np.array([[0.5, 2.0], [1.0, 1.5]])
    return CoalescentDraws(children, ages, np.log([0.25, 0.75]), -3.0, np.array([1.6, 1.6]), ("a", "b", "c"))


def chains(n: int = 12, sweeps: int = 60):
    points = np.random.default_rng(2).normal(size=(n, 2))
    return sample_hierarchies(pal.models.SumOfSquares(points, beta=2.0), seconds=None, sweeps=sweeps)


def test_without_xarray_the_message_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    for given in (hierarchy_draws(), chains()):
        with pytest.raises(ImportError, match=r"xarray is needed.*palmette\[xarray\]"):
            to_xarray(given)


class TestWithXarray:
    """What needs the package itself."""

    @pytest.fixture(autouse=True)
    def _xarray(self):
        self.xarray = pytest.importorskip("xarray")

    def hierarchies(self, data):
        return [Hierarchy.from_merges(children, data.leaf.values.tolist()) for children in data.children.values]

    def test_the_docstring_example(self):
        post = HierarchyPosterior(pal.models.SumOfSquares([[0.0], [1.0], [5.0]]))
        data = to_xarray(post.sample(100, rng=0), model=post.model, seed=0)
        assert dict(data.sizes) == {"draw": 100, "merge": 2, "child": 2, "leaf": 3}

    @pytest.mark.parametrize("n", [1, 2, 5])
    def test_hierarchies_are_there_merge_by_merge(self, n):
        draws = hierarchy_draws(n)
        data = to_xarray(draws, members=True)
        assert data.leaf.values.tolist() == LABELS[:n]
        assert data.children.dims == ("draw", "merge", "child")
        np.testing.assert_array_equal(data.log_prob, draws.log_probs)
        if n > 1:
            assert self.hierarchies(data) == list(draws)
        for i, h in enumerate(draws):
            np.testing.assert_array_equal(data["size"][i], h.sizes[n:])
            found = [frozenset(np.flatnonzero(row).tolist()) for row in data.member.values[i]]
            assert found == h.clusters()[n:]

    def test_statistics_are_one_expression(self):
        draws = hierarchy_draws(size=200)
        data = to_xarray(draws, members=True)
        cluster = self.xarray.DataArray(np.isin(LABELS, ["a", "b"]), dims="leaf")
        share = (data.member == cluster).all("leaf").any("merge").mean("draw")
        assert share.item() == pytest.approx(draws.cluster_probability(["a", "b"]))

    def test_draws_from_a_sparse_trellis(self):
        trellis = SparseTrellis.from_hierarchies(list(hierarchy_draws()))
        draws = HierarchyPosterior(model(), trellis=trellis).sample(10, rng=1)
        assert self.hierarchies(to_xarray(draws)) == list(draws)

    def test_partitions_are_memberships(self):
        draws = partition_draws()
        data = to_xarray(draws)
        assert data.membership.dims == ("draw", "leaf")
        np.testing.assert_array_equal(data.membership, draws.memberships)
        np.testing.assert_array_equal(data.n_clusters, draws.n_clusters)
        np.testing.assert_array_equal(data.log_prob, draws.log_probs)
        together = (data.membership.sel(leaf="a") == data.membership.sel(leaf="b")).mean()
        assert together.item() == pytest.approx(draws.together_probability(["a", "b"]))

    def test_histories_have_ages_and_weights(self):
        draws = coalescent_draws()
        data = to_xarray(draws)
        np.testing.assert_array_equal(data.age, draws.ages)
        np.testing.assert_array_equal(data.weight, draws.weights)
        np.testing.assert_array_equal(data.n_effective, draws.n_effective)
        assert data.attrs == {"kind": "CoalescentDraws", "log_evidence": -3.0}
        assert data["size"].values.tolist() == [[2, 3], [2, 3]]
        assert data.age.weighted(data.weight).mean("draw").values.tolist() == pytest.approx([0.875, 1.625])

    def test_attributes_are_what_is_known(self):
        draws = hierarchy_draws()
        assert to_xarray(draws).attrs == {"kind": "Draws"}
        attrs = to_xarray(draws, model=model(), seed=7).attrs
        assert attrs == {"kind": "Draws", "model": "Dasgupta(n_leaves=5)", "beta": 0.5, "seed": 7}
        assert to_xarray(draws, model="mine").attrs["model"] == "mine"

    @pytest.mark.parametrize("make", [hierarchy_draws, partition_draws, coalescent_draws])
    def test_several_chains_come_first(self, make):
        one = make()
        data = to_xarray([one, one], seed=3)
        assert data.attrs["seed"] == 3
        assert data.chain.values.tolist() == [0, 1]
        assert all(variable.dims[0] == "chain" for variable in data.data_vars.values())
        single = to_xarray(one)
        for name in single.data_vars:
            np.testing.assert_array_equal(data[name].sel(chain=1), single[name])

    def test_no_draws_are_an_empty_dataset(self):
        assert dict(to_xarray(hierarchy_draws(size=0)).sizes) == {"draw": 0, "merge": 4, "child": 2, "leaf": 5}

    def test_a_dataset_can_be_written_to_netcdf(self, tmp_path):
        data = to_xarray(hierarchy_draws(), model=model(), seed=0)
        data.to_netcdf(tmp_path / "draws.nc", engine="scipy")  # NetCDF 3, of which SciPy is master
        with self.xarray.open_dataset(tmp_path / "draws.nc", engine="scipy") as again:
            np.testing.assert_array_equal(again.children, data.children)
            assert again.attrs["model"] == "Dasgupta(n_leaves=5)"

    def test_chains_are_there_cluster_by_cluster(self):
        post = chains()
        data = to_xarray(post, members=True, seed=0)
        rows = post.cluster_diagnostics()
        assert dict(data.sizes) == {"chain": 6, "draw": 45, "cluster": len(rows), "leaf": 12}
        assert all(variable.dims[:2] == ("chain", "draw") for variable in data.data_vars.values())
        np.testing.assert_array_equal(data.log_potential, post.log_potentials)
        assert data.occurs.mean(("chain", "draw")).values == pytest.approx(post.cluster_frequencies().mean(axis=0))
        np.testing.assert_allclose(data.occurs.mean("draw"), post.cluster_frequencies())
        for row, held in zip(rows, data.member.values, strict=True):
            assert data.leaf.values[held].tolist() == list(row.members)
        assert data.attrs["kind"] == "SampledPosterior"
        assert (data.attrs["model"], data.attrs["beta"], data.attrs["seed"]) == (repr(post.model), 2.0, 0)
        assert data.attrs["verdict"] == str(post.verdict)
        assert "member" not in to_xarray(post).coords

    def test_clusters_of_chains_have_names_of_their_own(self):
        data = to_xarray(chains(30))
        assert len(set(data.cluster.values.tolist())) == data.sizes["cluster"]
        assert any(name.endswith(" more}") for name in data.cluster.values)
        labels = tuple("abcdefghij")
        names = _names([range(8), [0, 1], [0, 1, 2, 3, 4, 5, 8, 9]], labels)
        long = "{'a', 'b', 'c', 'd', 'e', 'f' and 2 more}"
        assert names == [f"{long} (0)", "{'a', 'b'}", f"{long} (2)"]
        assert data.occurs.sel(cluster=data.cluster.values[0]).dims == ("chain", "draw")
        assert (data.occurs - 0.5).dtype == float  # ArviZ subtracts

    def test_chains_can_be_written_to_netcdf(self, tmp_path):
        data = to_xarray(chains(), members=True)
        data.to_netcdf(tmp_path / "chains.nc", engine="scipy")
        with self.xarray.open_dataset(tmp_path / "chains.nc", engine="scipy") as again:
            np.testing.assert_array_equal(again.occurs, data.occurs)
            assert again.attrs["sweeps_per_draw"] == 1

    def test_what_is_not_draws_is_refused(self):
        with pytest.raises(TypeError, match=r"expected Draws, PartitionDraws or CoalescentDraws.*not int"):
            to_xarray(3)
        with pytest.raises(TypeError, match=r"not list"):
            to_xarray([hierarchy_draws(), 3])
        with pytest.raises(TypeError, match=r"not list"):
            to_xarray([])
        with pytest.raises(ValueError, match=r"one kind and length.*these are 20 Draws, 20 PartitionDraws"):
            to_xarray([hierarchy_draws(), partition_draws()])
        with pytest.raises(ValueError, match=r"these are 20 Draws, 3 Draws"):
            to_xarray([hierarchy_draws(), hierarchy_draws(size=3)])
