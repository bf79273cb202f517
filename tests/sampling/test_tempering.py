"""Chains of several rungs: the same law at t = 1, and out of places where single chains stay."""

import numpy as np
import pytest
from sampling_cases import EXACT, MODEL, rows_and_columns, z_scores

import palmette as pal
from palmette.sampling import sample_hierarchies
from palmette.sampling.hierarchies.moves import HierarchyMoves
from palmette.sampling.hierarchies.tempering import TemperedChains, _rung_tempers
from palmette.sampling.ladder import pilot


def test_the_last_rung_is_the_posterior():
    post = sample_hierarchies(MODEL, seconds=None, precision=0.01, n_rungs=4, starts=[EXACT.map()] * 6)
    z = z_scores(post, EXACT)
    assert post.verdict.agree
    assert np.abs(z).max() < 4.5
    assert 0.4 < np.sqrt((z**2).mean()) < 1.6


def test_rungs_find_both_of_two_far_apart_answers():
    model = rows_and_columns(1.0)
    answers = [[range(k, k + 4) for k in range(0, 16, 4)], [range(k, 16, 4) for k in range(4)]]
    exact = pal.HierarchyPosterior(model)
    starts = 2 * [exact.condition(require=answer).map() for answer in answers]
    options = {"seconds": None, "sweeps": 200, "precision": 1e-9, "n_chains": 4, "starts": starts}
    frozen = sample_hierarchies(model, **options)
    assert frozen.verdict.r_hat > 2.0
    post = sample_hierarchies(model, n_rungs=8, **options)
    row, column = (post.cluster_probability(parts[0]) for parts in answers)
    assert post.verdict.r_hat < 1.1
    assert abs(float(row) - float(column)) < 5 * np.hypot(row.standard_error, column.standard_error)


def test_rungs_stop_and_go_on(tmp_path):
    place = tmp_path / "rungs.npz"
    options = {"seconds": None, "precision": 1e-9, "n_rungs": 3, "n_chains": 2, "starts": [EXACT.map()] * 2}
    whole = sample_hierarchies(MODEL, sweeps=60, threads=1, **options)
    sample_hierarchies(MODEL, sweeps=25, checkpoint=place, **options)
    again = sample_hierarchies(MODEL, sweeps=35, checkpoint=place, **options)
    assert whole.trees.parents.tobytes() == again.trees.parents.tobytes()


def hierarchies_of(chains, rungs):
    out = np.empty(chains.width, dtype=np.int32)
    found = []
    for state in rungs.states:
        chains.moves.record(state, out)
        found.append(pal.Hierarchy.from_parents(out.tolist(), MODEL.labels))
    return found


def test_all_rungs_begin_at_a_given_start_and_are_warmed_up(monkeypatch):
    start = pal.search.greedy(MODEL).hierarchy.aligned_to(MODEL.labels)
    chains = TemperedChains(MODEL, [start], 3, 4)
    rungs = chains.begin(0)
    *warm, last = hierarchies_of(chains, rungs)
    assert last == start
    assert any(hierarchy != start for hierarchy in warm)
    assert len({state.stream.tobytes() for state in rungs.states}) == 4
    monkeypatch.setattr("palmette.sampling.hierarchies.chain._WARMING", 0)
    assert hierarchies_of(chains, chains.begin(0)) == [start] * 4


def test_rungs_are_of_equal_length():
    found = pilot(HierarchyMoves(MODEL), 1)
    tempers = found.steps(10)
    lengths = np.diff([found.length(0.0, float(t)) for t in tempers])
    assert tempers[0] == 0.0
    assert tempers[-1] == 1.0
    assert lengths.max() < 1.01 * lengths.min()
    few = _rung_tempers(found, 3)
    assert len(few) == 3
    assert few[0] > 0.0
    assert found.length(float(few[0])) == pytest.approx(2.0, rel=0.01)
    assert _rung_tempers(found, 50)[0] == 0.0


def test_neighbours_exchange_their_states():
    chains = TemperedChains(MODEL, [], 5, 4)
    rungs = chains.begin(0)
    orders = set()
    for _ in range(60):
        chains.sweep(rungs)
        orders.add(tuple(rungs.order.tolist()))
        assert sorted(rungs.order.tolist()) == [0, 1, 2, 3]
    assert len(orders) > 10


def test_rungs_begin_at_the_best_of_several():
    chains = TemperedChains(MODEL, [], 5, 4)
    tries = [chains._cooled(1, number)[-1] for number in range(chains._n_tries)]
    values = [chains.moves.restate(state)[0] for state in tries]
    begun = chains.begin(1)
    assert len(set(values)) > 1
    assert chains.moves.restate(begun.states[-1])[0] == max(values)
    assert begun.states[-1].stream.tobytes() == tries[values.index(max(values))].stream.tobytes()


def test_a_number_of_rungs_is_checked():
    with pytest.raises(ValueError, match="n_rungs is 0"):
        sample_hierarchies(MODEL, n_rungs=0)
    tiny = sample_hierarchies(pal.models.SumOfSquares(np.eye(2)), n_rungs=5, seconds=None, sweeps=10)
    assert tiny.n_rungs == 5
    assert tiny.map().n_leaves == 2
