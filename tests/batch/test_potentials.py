"""Log potentials of many given hierarchies against those of one."""

from __future__ import annotations

import numpy as np
import pytest
from cases import alike, cases
from hypothesis import given
from hypothesis import strategies as st

from palmette import batch, simulate
from palmette.jets import Jets, infer
from palmette.models import Ginkgo
from palmette.sampling.anywhere import any_hierarchy


@pytest.mark.parametrize("kind", ["d", pytest.param("c", marks=pytest.mark.slow)])
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_they_are_those_of_each_hierarchy_alone(kind, data, seed):
    models = [case.model for case in data.draw(st.lists(cases(6, kind), min_size=1, max_size=5))]
    rng = np.random.default_rng(seed)
    hierarchies = [any_hierarchy(model.n_leaves, model.labels, rng) for model in models]
    found = batch.log_potentials(models, np.concatenate([h.children for h in hierarchies]))
    for value, model, hierarchy in zip(found, models, hierarchies, strict=True):
        assert value == pytest.approx(model.log_potential(hierarchy), rel=1e-13, abs=1e-11)


def test_the_truth_of_jets_of_any_size_on_any_number_of_threads():
    jets = simulate.ginkgo(200, t_cut=4.0, rng=3)
    assert jets.n_leaves.max() > 20
    law = Ginkgo(jets[0].momenta, 1.5, 4.0)
    problems = batch.Problems.like(law, jets.offsets, additive=jets.momenta)
    found = batch.log_potentials(problems, jets.children, threads=1)
    wanted = [Ginkgo(jet.momenta, 1.5, 4.0).log_potential(jet.hierarchy) for jet in jets]
    assert found == pytest.approx(wanted, rel=1e-13, abs=1e-12)
    assert (found == batch.log_potentials(problems, jets.children, threads=3)).all()


@pytest.mark.parametrize("rows", [[0, 1, 3, 3], [0, 4, 3, 2], [0, -1, 3, 2], [0, 1, 1, 2]])
def test_what_is_no_hierarchy_is_refused_with_its_number(rows):
    children = np.array([0, 1, 0, 1, 3, 2, *rows]).reshape(-1, 2)
    with pytest.raises(ValueError, match=r"the merges of problem 2 are no hierarchy: .*(node|merged)"):
        batch.log_potentials([alike(2), alike(3), alike(3)], children)


def test_the_number_of_rows_must_be_right():
    with pytest.raises(ValueError, match="n − 1 for n leaves"):
        batch.log_potentials([alike(3)], [[0, 1]])
    assert batch.log_potentials([alike(1)], []).tolist() == [0.0]


def test_jets_without_a_hierarchy_do_not_reach_a_table():
    particles = np.tile([5.0, 3.0, 0.0, 0.0], (3, 1))
    with pytest.raises(ValueError, match="the merges of problem 0 are no hierarchy"):
        infer(Jets(particles, [0, 3], children=[[0, 1], [1, 2]]), rate=1.5, t_cut=1.0)
