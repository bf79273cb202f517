"""log Z from a sparse trellis and the share of draws in it: right within its error, refused where it says nothing."""

import numpy as np
import pytest
from random_hierarchies import random_merges
from sampling_cases import EXACT, MODEL

import palmette as pal
from palmette.sampling import sample_hierarchies


@pytest.fixture(scope="module")
def post():
    return sample_hierarchies(MODEL, seconds=None, precision=0.01)


def grown(posterior, min_share):
    start = pal.SparseTrellis.from_hierarchies([pal.search.greedy(posterior.model).hierarchy])
    return posterior.on(pal.search.grow(posterior.model, start, min_share=min_share))


@pytest.mark.parametrize("min_share", [1e-2, 1e-3, 1e-4])
def test_log_z_over_all_hierarchies_is_right_within_its_error(post, min_share):
    sparse = grown(EXACT, min_share)
    assert sparse.log_partition < EXACT.log_partition
    found = post.log_partition_by(sparse)
    assert found.kind == "estimate"
    assert found.standard_error < 0.2
    assert abs(found.value - EXACT.log_partition) < 4 * found.standard_error


def test_of_twelve_leaves_too():
    model = pal.models.Dasgupta(pal.similarity.of_points(np.random.default_rng(0).random((12, 2))), beta=1.0)
    sampled, exact = sample_hierarchies(model, seconds=None, sweeps=400), pal.HierarchyPosterior(model)
    found = sampled.log_partition_by(grown(exact, 1e-4))
    assert abs(found.value - exact.log_partition) < 4 * found.standard_error < 1.0


def test_conditions_have_to_be_the_same(post):
    conditions = {"forbid": [[0, 1]]}
    given = EXACT.condition(**conditions)
    found = sample_hierarchies(MODEL, seconds=None, precision=0.01, **conditions).log_partition_by(grown(given, 1e-3))
    assert abs(found.value - given.log_partition) < 4 * found.standard_error
    with pytest.raises(ValueError, match="different leaves or conditions"):
        post.log_partition_by(given)


def test_the_full_trellis_is_exact(post):
    found = post.log_partition_by(EXACT)
    assert (found.value, found.kind) == (EXACT.log_partition, "exact")


def test_a_trellis_that_holds_next_to_nothing_is_refused(post):
    worst = pal.Hierarchy.from_merges(random_merges(10, np.random.default_rng(0)))
    with pytest.raises(ValueError, match=r"^0 ± .* too little to tell log Z by; take a larger trellis"):
        post.log_partition_by(EXACT.on(pal.SparseTrellis.from_hierarchies([worst])))


def test_another_model_is_refused(post):
    for other in (pal.HierarchyPosterior(MODEL.with_beta(1.1)), pal.posterior.from_trees(EXACT.sample(50, rng=0))):
        with pytest.raises(ValueError, match="take the same model"):
            post.log_partition_by(other)
    with pytest.raises(TypeError, match="expected a HierarchyPosterior"):
        post.log_partition_by(post)
