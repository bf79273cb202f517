"""What Scanpy reads from AnnData is what the hierarchy says."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.cluster import hierarchy as sch

import palmette as pal
from palmette import Hierarchy, HierarchyPosterior
from palmette.interop.anndata import to_anndata

PAGE = Path(__file__).parents[2] / "docs" / "interop.md"
CELLS = ["T", "B", "NK", "Mono", "T", "B"]  # categories: B, Mono, NK, T
LABELS = ["T", "NK", "B", "Mono"]
SIMILARITY = np.array([[1, 0.9, 0.4, 0.1], [0.9, 1, 0.3, 0.2], [0.4, 0.3, 1, 0.1], [0.1, 0.2, 0.1, 1]])
# What scanpy.tl.dendrogram 1.9 to 1.11 writes.
SCANPY = {
    "linkage", "groupby", "use_rep", "cor_method", "linkage_method", "categories_ordered", "categories_idx_ordered",
    "dendrogram_info", "correlation_matrix",
}  # fmt: skip


def cells(values=CELLS):
    return SimpleNamespace(obs=pd.DataFrame({"kind": pd.Categorical(values), "depth": 1.0}), uns={})


def posterior():
    return HierarchyPosterior(pal.models.Dasgupta(SIMILARITY, beta=2.0, labels=LABELS))


def test_a_posterior_becomes_scanpys_dendrogram_with_support():
    adata, post = cells(), posterior()
    assert to_anndata(adata, post, "kind") is None
    found = adata.uns["dendrogram_kind"]
    categories = adata.obs["kind"].cat.categories
    assert set(found) == SCANPY | {"support"}
    assert found["groupby"] == ["kind"]
    assert sch.is_valid_linkage(found["linkage"])
    assert Hierarchy.from_linkage(found["linkage"], categories) == post.map()
    assert found["categories_ordered"] == [categories[i] for i in found["categories_idx_ordered"]]
    assert found["dendrogram_info"]["ivl"] == found["categories_ordered"]
    clusters = Hierarchy.from_linkage(found["linkage"], categories).clusters()[4:]
    expected = [post.cluster_probability([categories[i] for i in cluster]) for cluster in clusters]
    np.testing.assert_array_equal(found["support"], expected)
    assert found["support"][-1] == 1.0


def test_without_a_correlation_it_is_how_soon_categories_meet():
    adata, post = cells(), posterior()
    to_anndata(adata, post, "kind")
    found = adata.uns["dendrogram_kind"]["correlation_matrix"]
    order = [LABELS.index(label) for label in adata.obs["kind"].cat.categories]
    np.testing.assert_allclose(found, (4 - post.expected_lca_size()[np.ix_(order, order)]) / 3)
    np.testing.assert_array_equal(np.diag(found), 1.0)
    to_anndata(adata, Hierarchy.from_newick("((T,NK),(B,Mono));"), "kind", key="mine")
    np.testing.assert_allclose(adata.uns["mine"]["correlation_matrix"][0], [1, 2 / 3, 0, 0])


def test_a_given_correlation_is_put_into_the_order_of_the_categories_and_stays():
    adata = cells()
    to_anndata(adata, posterior(), "kind", correlation=SIMILARITY)
    categories = adata.obs["kind"].cat.categories
    expected = pd.DataFrame(SIMILARITY, LABELS, LABELS).loc[categories, categories]
    np.testing.assert_array_equal(adata.uns["dendrogram_kind"]["correlation_matrix"], expected)
    assert adata.uns["dendrogram_kind"]["cor_method"] == "given"
    adata.uns["dendrogram_kind"]["cor_method"] = "pearson"  # as scanpy.tl.dendrogram leaves it
    to_anndata(adata, posterior(), "kind")
    np.testing.assert_array_equal(adata.uns["dendrogram_kind"]["correlation_matrix"], expected)
    assert adata.uns["dendrogram_kind"]["cor_method"] == "pearson"


def test_a_hierarchy_brings_its_own_support_and_heights():
    adata = cells()
    to_anndata(adata, Hierarchy.from_newick("(((T:1,NK:1)0.9:1,B:2)0.6:2,Mono:4);"), "kind")
    found = adata.uns["dendrogram_kind"]
    np.testing.assert_array_equal(found["support"], [0.9, 0.6, np.nan])
    assert found["linkage"][:, 2].tolist() == [1, 2, 4]
    to_anndata(adata, Hierarchy.from_newick("(((T,NK),B),Mono);"), "kind")
    assert np.isnan(adata.uns["dendrogram_kind"]["support"]).all()


def test_draws_have_a_dendrogram_too():
    adata = cells()
    draws = posterior().sample(50, rng=0)
    to_anndata(adata, draws, "kind")
    assert Hierarchy.from_linkage(adata.uns["dendrogram_kind"]["linkage"], ["B", "Mono", "NK", "T"]) == draws.map()


def test_the_matrix_of_draws_and_of_chains_is_an_expectation_and_follows_the_last_of_them():
    adata, post = cells(), posterior()
    draws, chains = post.sample(50, rng=0), pal.sampling.sample_hierarchies(post.model, seconds=None, sweeps=40)
    order = np.ix_(*[[LABELS.index(label) for label in adata.obs["kind"].cat.categories]] * 2)
    for given, sizes in ((draws, draws.expected_lca_size()), (chains, chains.expected_lca_size().values)):
        to_anndata(adata, given, "kind")
        np.testing.assert_allclose(adata.uns["dendrogram_kind"]["correlation_matrix"], (4 - sizes[order]) / 3)


def test_two_categories_and_categories_that_are_numbers():
    adata = cells([1, 0, 1])
    to_anndata(adata, Hierarchy.from_newick("(1,0);"), "kind")
    found = adata.uns["dendrogram_kind"]
    assert found["linkage"].tolist() == [[1, 0, 1, 2]]
    np.testing.assert_array_equal(found["correlation_matrix"], np.eye(2))


def test_several_columns_are_the_combinations_that_occur():
    adata = cells()
    adata.obs["tissue"] = pd.Categorical(["lung", "blood", "blood", "lung", "blood", "blood"])
    labels = ["T_lung", "T_blood", "NK_blood", "B_blood", "Mono_lung"]  # and no B_lung
    h = Hierarchy.from_newick("((((T_lung,T_blood)0.9,NK_blood)0.8,B_blood)0.7,Mono_lung);")
    to_anndata(adata, h, ["kind", "tissue"])
    found = adata.uns["dendrogram_kind_tissue"]
    assert found["groupby"] == ["kind", "tissue"]
    assert Hierarchy.from_linkage(found["linkage"], sorted(labels)) == h
    assert sorted(found["categories_ordered"]) == sorted(labels)
    np.testing.assert_array_equal(found["support"], [0.9, 0.8, 0.7, np.nan])
    to_anndata(adata, Hierarchy.from_newick("(((T,NK),B),Mono);"), ["kind"])
    assert adata.uns["dendrogram_kind"]["groupby"] == ["kind"]
    with pytest.raises(ValueError, match=r"categories of 'kind_tissue'; without a leaf: \['Mono_lung'\]"):
        to_anndata(adata, h.restricted(labels[:4]), ["kind", "tissue"])


def test_what_does_not_fit_is_refused():
    h = Hierarchy.from_newick("(((T,NK),B),Mono);")
    with pytest.raises(ValueError, match=r"no column 'type'; its columns are 'kind', 'depth'"):
        to_anndata(cells(), h, "type")
    with pytest.raises(ValueError, match=r"'depth' is not categorical; make it so"):
        to_anndata(cells(), h, "depth")
    with pytest.raises(TypeError, match=r"a column of adata\.obs, or a list of names, not 3"):
        to_anndata(cells(), h, [3])
    with pytest.raises(ValueError, match=r"groupby is \['kind', 'kind'\]; give the name"):
        to_anndata(cells(), h, ["kind", "kind"])
    with pytest.raises(ValueError, match="give the name of a column"):
        to_anndata(cells(), h, [])
    with pytest.raises(ValueError, match=r"categories of 'kind'; without a leaf: \['Mono'\]; unknown: \['X'\]"):
        to_anndata(cells(), Hierarchy.from_newick("(((T,NK),B),X);"), "kind")
    with pytest.raises(ValueError, match="needs a binary hierarchy"):
        to_anndata(cells(), Hierarchy.from_newick("((T,NK),B,Mono);"), "kind")
    with pytest.raises(ValueError, match="has one category, 'T'"):
        to_anndata(cells(["T"]), Hierarchy.from_newick("T;"), "kind")
    partitions = pal.PartitionPosterior(pal.models.CorrelationClusters(SIMILARITY, labels=LABELS))
    with pytest.raises(TypeError, match="not PartitionPosterior; a dendrogram needs a hierarchy"):
        to_anndata(cells(), partitions, "kind")
    with pytest.raises(TypeError, match="not int"):
        to_anndata(cells(), 3, "kind")
    with pytest.raises(ValueError, match=r"correlation has shape \(2, 2\); expected \(4, 4\)"):
        to_anndata(cells(), h, "kind", correlation=np.eye(2))


def test_an_anndata_object_keeps_it_through_a_file(tmp_path):
    anndata = pytest.importorskip("anndata")
    adata = anndata.AnnData(np.zeros((6, 2)), obs=cells().obs.set_axis(list("abcdef")))
    to_anndata(adata, posterior(), "kind")
    adata.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad").uns["dendrogram_kind"]
    for name in ("linkage", "correlation_matrix", "support"):
        np.testing.assert_array_equal(again[name], adata.uns["dendrogram_kind"][name])


@pytest.mark.filterwarnings("ignore")  # of Scanpy's, about its own packages
def test_scanpy_draws_it(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    scanpy, anndata = pytest.importorskip("scanpy"), pytest.importorskip("anndata")
    x = np.random.default_rng(0).random((6, 2))
    adata = anndata.AnnData(x, obs=cells().obs.set_axis(list("abcdef")), var=pd.DataFrame(index=["g", "h"]))
    to_anndata(adata, posterior(), "kind")
    axes = scanpy.pl.dendrogram(adata, "kind", show=False)
    shown = [text.get_text() for text in axes.get_xticklabels()]
    assert shown == adata.uns["dendrogram_kind"]["categories_ordered"]
    scanpy.pl.correlation_matrix(adata, "kind", show=False)
    scanpy.pl.matrixplot(adata, ["g", "h"], groupby="kind", dendrogram=True, show=False)


@pytest.mark.filterwarnings("ignore")
def test_the_page_prints_what_happens(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("scanpy")
    pytest.importorskip("seaborn")
    page = PAGE.read_text(encoding="utf-8").split("## xarray")[0]
    blocks = re.findall(r"^```(?:py|python)\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?", page, re.M | re.S)
    assert sum("sc.pl" in source for source, _ in blocks) == 3
    namespace: dict[str, object] = {}
    for source, expected in blocks:
        exec(source, namespace)
        assert capsys.readouterr().out == expected
