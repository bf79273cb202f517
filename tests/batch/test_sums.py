"""log Z alone: the same numbers as those of `infer`, for small problems and large ones."""

from __future__ import annotations

import numpy as np
import pytest
from cases import alike, draw_batch
from hypothesis import given
from hypothesis import strategies as st

from palmette import HierarchyPosterior, TrellisTooLarge, batch
from palmette.batch import sums
from palmette.models import Dasgupta, Ginkgo, Uniform


# A separable model and one that is not; kernels of all models are the same.
@pytest.mark.parametrize("kinds", ["dt", pytest.param("usc", marks=pytest.mark.slow)])
@given(data=st.data())
def test_every_sum_is_that_of_enumeration_and_of_infer(kinds, data):
    problems = draw_batch(data, kinds)
    models = [case.model for case in problems]
    found = batch.log_partitions(models, threads=1)
    for value, case in zip(found, problems, strict=True):
        assert value == pytest.approx(case.oracle.log_z, abs=case.tolerance)
    np.testing.assert_array_equal(found, batch.infer(models, threads=1).log_partition)


def test_large_problems_are_summed_by_passes_of_their_own(monkeypatch):
    rng = np.random.default_rng(1)
    models = [Dasgupta(w + w.T) for w in (rng.random((n, n)) for n in (3, 7, 1, 6))]
    whole = batch.log_partitions(models)
    monkeypatch.setattr(sums, "KERNEL_LEAVES", 4)
    np.testing.assert_allclose(batch.log_partitions(models), whole, atol=1e-12)
    with pytest.raises(TrellisTooLarge):
        batch.log_partitions([alike(3), alike(60)])


def test_no_problems_are_an_empty_array():
    assert batch.log_partitions(batch.Problems.like(alike(2), [0])).tolist() == []


def matrices(seed, sizes):
    rng = np.random.default_rng(seed)
    return [w + w.T for w in (rng.random((n, n)) for n in sizes)]


def test_expected_values_are_those_of_single_posteriors(monkeypatch):
    sizes = [5, 1, 2, 7]
    models = [Dasgupta(w, beta=0.3) for w in matrices(1, sizes)]
    values = [Dasgupta(w) for w in matrices(2, sizes)]
    known = [HierarchyPosterior(model).expected(value) for model, value in zip(models, values, strict=True)]
    np.testing.assert_allclose(batch.expected(models, values, threads=1), known, rtol=1e-11)
    monkeypatch.setattr(sums, "KERNEL_LEAVES", 4)
    np.testing.assert_allclose(batch.expected(models, values), known, rtol=1e-11)
    with pytest.raises(ValueError, match="both need the same leaves"):
        batch.expected(models, values[1:])


@pytest.mark.parametrize("most", [17, 1])
def test_nothing_is_expected_of_what_is_impossible(monkeypatch, most):
    monkeypatch.setattr(sums, "KERNEL_LEAVES", most)
    cold = Ginkgo([[5.0, 0.0, 0.0, 5.0], [7.0, 0.0, 0.0, 7.0]], 1.5, 16.0)
    assert np.isnan(batch.expected([cold], [Uniform(2)])).all()
