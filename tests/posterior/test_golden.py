"""Values from an independent implementation; logs to 1e-8."""

from __future__ import annotations

import numpy as np
import pytest
from golden import JETS, RATE, T_CUT, read

import palmette as pal
from palmette import Hierarchy, HierarchyPosterior
from palmette.passes.hierarchies import full

PUBLISHED = read("cluster_trellis")
LIKELIHOODS = ("ordered", "symmetric", "literal")


def jet_model(jet, likelihood):
    return pal.models.Ginkgo(jet.momenta, RATE, T_CUT, likelihood=likelihood)


@pytest.mark.parametrize("serial_up_to", [full.SERIAL, 0], ids=["serial", "by level"])
@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("jet", JETS, ids=lambda jet: f"{len(jet.momenta)} leaves")
def test_jets(jet, likelihood, serial_up_to, monkeypatch):
    monkeypatch.setattr(full, "SERIAL", serial_up_to)
    golden = getattr(jet, likelihood)
    post = HierarchyPosterior(jet_model(jet, likelihood))
    assert post.log_partition == pytest.approx(golden.log_partition, abs=1e-8)
    assert post.count == golden.n_hierarchies
    assert post.log_potential(post.map()) == pytest.approx(golden.map_log_potential, abs=1e-8)
    assert post.map() == Hierarchy.from_nested(golden.map_tree)
    for cluster, probability in golden.marginals.items():
        assert post.cluster_probability(cluster) == pytest.approx(probability, abs=1e-8)


@pytest.mark.parametrize("jet", JETS, ids=lambda jet: f"{len(jet.momenta)} leaves")
def test_truth_and_greedy(jet):
    model = jet_model(jet, "ordered")
    assert model.log_potential(Hierarchy.from_nested(jet.truth)) == pytest.approx(jet.truth_log_potential, abs=1e-8)
    assert pal.search.greedy(model).log_potential == pytest.approx(jet.ordered.greedy_log_potential, abs=1e-8)


@pytest.mark.parametrize("jet", PUBLISHED.jets, ids=lambda jet: str(jet["n_hierarchies"]))
def test_the_jets_of_the_paper_and_what_its_own_code_found(jet):
    model = pal.models.Ginkgo(jet["momenta"], PUBLISHED.rate, PUBLISHED.t_cut, likelihood="ordered")
    post = HierarchyPosterior(model)
    assert post.log_partition == pytest.approx(jet["log_partition"], abs=1e-9)
    assert post.count == jet["n_hierarchies"]
    assert post.log_potential(post.map()) == pytest.approx(jet["map_log_potential"], abs=1e-9)
    assert pal.search.greedy(model).log_potential == pytest.approx(jet["greedy_log_potential"], abs=1e-9)
    # Its beam takes hierarchies of the same log likelihood for one, and drops all but one of them.
    assert pal.search.beam(model).log_potential >= jet["beam_log_potential"] - 1e-9
    truth = Hierarchy.from_nested(jet["truth"])
    assert model.log_potential(truth) == pytest.approx(jet["truth_log_potential"], abs=1e-5)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_batches_of_jets(likelihood):
    golden = [getattr(jet, likelihood) for jet in JETS]
    result = pal.batch.infer([jet_model(jet, likelihood) for jet in JETS])
    np.testing.assert_allclose(result.log_partition, [g.log_partition for g in golden], atol=1e-8)
    np.testing.assert_allclose(result.map_log_potential, [g.map_log_potential for g in golden], atol=1e-8)
    for i, g in enumerate(golden):
        assert result.map(i) == Hierarchy.from_nested(g.map_tree)
