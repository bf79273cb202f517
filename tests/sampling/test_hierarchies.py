"""Chains of hierarchies: right within their errors, the same however they are run, and honest when they are not."""

import functools
import pickle

import numpy as np
import pytest
from sampling_cases import EXACT, MODEL, rows_and_columns, z_scores

import palmette as pal
from palmette.errors import ImpossibleData
from palmette.sampling import sample_hierarchies
from palmette.sampling.chains import Chains
from palmette.sampling.hierarchies.chain import HierarchyChains


@functools.cache
def starts():
    """For those that do not ask how two chains begin: to make good starts takes longest."""
    return [EXACT.map()] * 2


@pytest.fixture(scope="module")
def post():
    return sample_hierarchies(MODEL, seconds=None, precision=0.006)


def test_every_probability_is_right_within_its_error(post):
    assert post.verdict.converged
    assert str(post.verdict).startswith("converged; 6 chains")
    assert post.verdict.standard_error <= 0.006
    z = z_scores(post, EXACT)
    assert len(z) > 20
    assert np.abs(z).max() < 4.5
    assert 0.4 < np.sqrt((z**2).mean()) < 1.6


def test_conditions_are_honoured():
    conditions = {"require": [[0, 1, 5]], "forbid": [[0, 1], [7, 8, 9]]}
    sampled = sample_hierarchies(MODEL, seconds=None, precision=0.01, **conditions)
    exact = EXACT.condition(**conditions)
    z = z_scores(sampled, exact)
    assert np.abs(z).max() < 4.5
    assert float(sampled.cluster_probability([0, 1, 5])) == 1.0
    assert float(sampled.cluster_probability([0, 1])) == 0.0
    assert sampled.log_potential(EXACT.map()) == -np.inf


def test_verbs_answer_as_the_exact_posterior_does(post):
    exact_splits = {(row.left, row.right): row.probability for row in EXACT.split_probabilities(range(10))}
    for row in post.split_probabilities(range(10), most=5):
        assert abs(row.probability - exact_splits[row.left, row.right]) < 5 * row.standard_error + 1e-3
    assert list(post.split_probabilities([3])) == list(EXACT.split_probabilities([3])) == []
    with pytest.raises(ValueError, match="never drawn"):
        post.split_probabilities([0, 4, 7])
    is_pair = lambda left, right: np.bitwise_count(left | right) == 2  # noqa: E731
    pairs = post.expected(is_pair)
    assert abs(pairs.value - EXACT.expected(is_pair)) < 4 * pairs.standard_error
    assert 0.0 < pairs.standard_error < 0.1
    for verb in ("expected_lca_size", "expected_lca_depth"):
        got = getattr(post, verb)()
        assert (np.abs(got.values - getattr(EXACT, verb)()) <= 6 * got.standard_errors + 2e-3).all()
    best = EXACT.map()
    assert post.map() == best
    assert post.best(3)[0][1] == pytest.approx(MODEL.log_potential(best), rel=1e-12)
    subtree = pal.Hierarchy.from_newick("((0,2),3);")
    estimate = post.subtree_probability(subtree)
    assert abs(float(estimate) - EXACT.subtree_probability(subtree)) < 5 * estimate.standard_error
    level = post.credible_level(best)
    assert abs(float(level) - float(EXACT.credible_level(best))) < 5 * level.standard_error
    assert post.consensus().clusters() == post.draws.consensus().clusters()
    errors = post.support_errors(best)
    assert errors.shape == (19,)
    assert errors.max() < 0.007
    assert np.abs(post.support(best).support - EXACT.support(best).support).max() < 0.03
    counted = post.draws.support(best).support
    assert post.conditional_clusters().support(best).support == pytest.approx(counted, abs=1e-9)


def test_what_was_never_seen_is_not_certain(post):
    unseen = post.cluster_probability([0, 4, 7])
    assert unseen.kind == "estimate"
    assert float(unseen) < 0.001
    assert unseen.standard_error > 0.0


def test_the_number_of_threads_does_not_matter():
    one, two = (sample_hierarchies(MODEL, seconds=None, sweeps=20, threads=threads) for threads in (1, 2))
    assert (one.trees.parents == two.trees.parents).all()
    assert (one.log_potentials == two.log_potentials).all()
    other = sample_hierarchies(MODEL, seconds=None, sweeps=20, rng=1)
    assert not (one.trees.parents == other.trees.parents).all()


def test_a_resumed_run_is_the_run_that_never_stopped(tmp_path):
    options = {"seconds": None, "precision": 1e-9, "n_chains": 2, "starts": starts()}
    whole = sample_hierarchies(MODEL, sweeps=250, **options)
    parts = sample_hierarchies(MODEL, sweeps=60, **options)
    parts = parts.resume(seconds=None, sweeps=190, precision=1e-9)
    assert whole.trees.parents.tobytes() == parts.trees.parents.tobytes()
    place = tmp_path / "chains.npz"
    sample_hierarchies(MODEL, sweeps=115, checkpoint=place, **options)
    again = sample_hierarchies(MODEL, sweeps=135, checkpoint=place, **options)
    assert whole.trees.parents.tobytes() == again.trees.parents.tobytes()
    assert whole.log_potentials.tobytes() == again.log_potentials.tobytes()
    with pytest.raises(ValueError, match="another model, seed or number of chains"):
        sample_hierarchies(MODEL.with_beta(2.0), sweeps=20, checkpoint=place, **options)


def test_a_checkpoint_of_a_score_that_was_edited_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "palmette.sampling.hierarchies.sample.fingerprint", lambda *_: "only the body of a function differs"
    )
    options = {"seconds": None, "sweeps": 20, "n_chains": 2, "starts": starts(), "checkpoint": tmp_path / "chains.npz"}
    sample_hierarchies(MODEL, **options)
    with pytest.raises(ValueError, match="another model, seed or number of chains"):
        sample_hierarchies(MODEL.with_beta(1.1), **options)


def test_no_start_is_made_for_nobody(monkeypatch):
    options = {"seconds": None, "sweeps": 8, "n_chains": 2, "starts": starts()}
    found = sample_hierarchies(MODEL, **options)
    monkeypatch.setattr(HierarchyChains, "cooled", None)
    again = sample_hierarchies(MODEL, **options)
    assert found.trees.parents.tobytes() == again.trees.parents.tobytes()


def test_starts_and_a_few_sweeps_are_made_whatever_the_clock_says(monkeypatch):
    rungs = {"n_rungs": 3, "n_chains": 2, "starts": starts()}
    for options in ({}, rungs):
        post = sample_hierarchies(MODEL, seconds=0.0, **options)
        assert post.n_kept == 8
        assert not post.verdict.agree
    whole = sample_hierarchies(MODEL, seconds=None, sweeps=20, **rungs)
    assert post.resume(seconds=None, sweeps=12).trees.parents.tobytes() == whole.trees.parents.tobytes()

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Chains, "begin", interrupted)
    with pytest.raises(ValueError, match="too early"):
        sample_hierarchies(MODEL)


def test_an_interrupt_gives_what_is_there(monkeypatch):
    advance = Chains.advance

    def interrupted(self, target, *rest):
        advance(self, min(target, 60), *rest)
        if target > 60:
            raise KeyboardInterrupt
        return True

    options = {"seconds": None, "sweeps": 100, "n_chains": 2, "starts": starts()}
    whole = sample_hierarchies(MODEL, **options)
    monkeypatch.setattr(Chains, "advance", interrupted)
    some = sample_hierarchies(MODEL, **options)
    assert some.n_kept == 60
    monkeypatch.undo()
    again = some.resume(seconds=None, sweeps=40)
    assert whole.trees.parents.tobytes() == again.trees.parents.tobytes()


def test_a_pickled_posterior_goes_on_where_it_was():
    whole, part = (sample_hierarchies(MODEL, seconds=None, sweeps=n, n_chains=2, starts=starts()) for n in (100, 40))
    copied = pickle.loads(pickle.dumps(part))
    assert copied.map() == part.map()
    assert str(copied.verdict) == str(part.verdict)
    again = copied.resume(seconds=None, sweeps=60)
    assert whole.trees.parents.tobytes() == again.trees.parents.tobytes()


def test_old_draws_are_thinned_out_when_there_is_no_more_room(monkeypatch):
    options = {"seconds": None, "sweeps": 100, "n_chains": 2, "starts": starts()}
    whole = sample_hierarchies(MODEL, **options)
    monkeypatch.setattr("palmette.sampling.chains._ROOM", 32)
    few = sample_hierarchies(MODEL, **options)
    assert few._run.chains.every == 4
    every_fourth = whole._run.chains.kept_states[:, 3::4]
    assert (few._run.chains.kept_states == every_fourth).all()


@pytest.mark.parametrize(("beta", "sweeps"), [(0.1, 6400), (5.0, 100)])
def test_of_two_far_apart_answers_both_are_found_or_chains_are_said_to_disagree(beta, sweeps):
    post = sample_hierarchies(rows_and_columns(beta), seconds=None, sweeps=sweeps, precision=0.01)
    row, column = (float(post.cluster_probability(part)) for part in (range(4), range(0, 16, 4)))
    assert not post.verdict.agree or abs(row - column) < 0.1
    if not post.verdict.agree:
        assert "disagree on {" in str(post.verdict)
    assert post.verdict.agree == (beta < 1.0)


@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 40), marks=pytest.mark.slow)], ids=["few", "many"])
def test_chains_begin_at_both_of_two_answers_whatever_the_seed(seeds):
    for seed in seeds:
        post = sample_hierarchies(rows_and_columns(2.0), seconds=None, sweeps=8, rng=seed)
        rows = post._seen_clusters.occurs(0b1111).any(axis=1)
        assert not rows.all()
        assert post._seen_clusters.occurs(0b0001_0001_0001_0001).any(axis=1).any()
        assert not post.verdict.agree


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_leaves(n):
    model = pal.models.SumOfSquares(np.arange(float(n))[:, None])
    post = sample_hierarchies(model, seconds=None, sweeps=400)
    exact = pal.HierarchyPosterior(model, progress=False)
    assert post.map().n_leaves == n
    assert np.abs(post.expected_lca_size().values - exact.expected_lca_size()).max() < 0.1
    assert len(post.cluster_probabilities()) == len(exact.cluster_probabilities())


def test_bad_input_is_refused(post):
    with pytest.raises(TypeError, match="SplitModel"):
        sample_hierarchies(pal.models.SplitFunction(4, lambda left, right: 0.0))
    with pytest.raises(ValueError, match="seconds is -1"):
        sample_hierarchies(MODEL, seconds=-1)
    with pytest.raises(ValueError, match="sweeps is 2"):
        sample_hierarchies(MODEL, sweeps=2)
    with pytest.raises(ValueError, match="needs an end"):
        sample_hierarchies(MODEL, seconds=None, precision=0.0)
    with pytest.raises(ValueError, match="needs an end"):
        post.resume(seconds=None, precision=0.0)
    with pytest.raises(ValueError, match="seconds is nan"):
        post.resume(seconds=np.nan)
    with pytest.raises(ImpossibleData, match="no possible hierarchy"):
        sample_hierarchies(pal.models.SumOfSquares(np.eye(3)), forbid=[[0, 1], [0, 2], [1, 2]])
