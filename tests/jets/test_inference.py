"""Tables of many jets: every row is what the single posterior says, whoever did the work and however it was cut."""

from __future__ import annotations

import functools
import math
import pickle
from concurrent.futures import Executor, Future

import numpy as np
import pytest

import palmette as pal
from palmette.jets import chunks, inference

pyarrow = pytest.importorskip("pyarrow")

LAW = {"rate": 1.5, "t_cut": 16.0}


@pytest.fixture(scope="module")
def simulated():
    return pal.simulate.ginkgo(60, max_leaves=8, rng=2)


@pytest.fixture(scope="module")
def table(simulated):
    return pal.jets.infer(simulated, **LAW, searches=["greedy", "beam"], n_draws=3, seed=5)


def hierarchy(merges):
    return pal.Hierarchy.from_merges(np.array(merges, dtype=int).reshape(-1, 2))


def test_every_row_is_what_the_single_posterior_says(simulated, table):
    assert table.num_rows == 60
    for jet, row in zip(simulated, table.to_pylist(), strict=True):
        assert row["error"] is None
        assert row["n_leaves"] == jet.n_leaves
        model = pal.models.Ginkgo(jet.momenta, **LAW)
        posterior = pal.HierarchyPosterior(model)
        assert row["log_partition"] == pytest.approx(posterior.log_partition, abs=1e-9)
        assert row["map_log_potential"] == pytest.approx(model.log_potential(posterior.map()), abs=1e-9)
        assert row["true_log_potential"] == pytest.approx(model.log_potential(jet.hierarchy), abs=1e-9)
        assert hierarchy(row["truth"]) == jet.hierarchy
        for name in ("map", "greedy", "beam"):
            assert model.log_potential(hierarchy(row[name])) == pytest.approx(row[f"{name}_log_potential"], abs=1e-9)
        assert row["greedy_log_potential"] == pytest.approx(pal.search.greedy(model).log_potential, abs=1e-9)
        draws = np.array(row["draws"]).reshape(3, -1)
        for draw, log_prob in zip(draws, row["draw_log_probs"], strict=True):
            assert posterior.log_prob(hierarchy(draw)) == pytest.approx(log_prob, abs=1e-9)


class Pickling(Executor):
    """What another process would be given and give back; that takes seconds to start."""

    def submit(self, fn, /, *args, **kwargs):
        fn, args, kwargs = pickle.loads(pickle.dumps((fn, args, kwargs)))
        future = Future()
        future.set_result(pickle.loads(pickle.dumps(fn(*args, **kwargs))))
        return future


def test_chunks_and_engines_change_nothing(simulated, table, tmp_path):
    options = {**LAW, "searches": ["greedy", "beam"], "n_draws": 3, "seed": 5}
    small = pal.jets.infer(simulated, tmp_path / "small", **options, chunk_seconds=1e-3)
    assert len(small.parts) > 5
    assert small.table().equals(table)
    pieces = (simulated[k : k + 7] for k in range(0, 60, 7))
    assert pal.jets.infer(pieces, **options).equals(table)
    pool = pal.jets.infer(simulated, tmp_path / "pool", **options, chunk_seconds=1e-2, engine=Pickling())
    assert pool.table().equals(table)


def test_a_stopped_run_ends_with_the_same_table(simulated, table, tmp_path, monkeypatch):
    options = {**LAW, "searches": ["greedy", "beam"], "n_draws": 3, "seed": 5, "chunk_seconds": 1e-3}
    real, asked = inference.Inference.__call__, []

    def stop_at_four(self, chunk):
        asked.append(chunk.first)
        if len(asked) == 4:
            raise KeyboardInterrupt
        return real(self, chunk)

    monkeypatch.setattr(inference.Inference, "__call__", stop_at_four)
    with pytest.raises(KeyboardInterrupt):
        pal.jets.infer(simulated, tmp_path / "run", **options)
    whole = pal.jets.infer(simulated, tmp_path / "run", **options)
    assert whole.table().equals(table)
    assert len(asked) == len(set(asked)) + 1
    with pytest.raises(ValueError, match="another run"):
        pal.jets.infer(simulated, tmp_path / "run", **{**options, "seed": 6})


@pytest.mark.parametrize("name", ["jets.parquet", "jets.csv"])
def test_files_give_the_same_rows(simulated, table, tmp_path, name):
    pal.jets.write(simulated, tmp_path / name)
    found = pal.jets.infer(tmp_path / name, **LAW, n_draws=3, seed=5)
    for column in ("jet", "n_leaves", "map", "draws"):
        assert found[column].to_pylist() == table[column].to_pylist()
    np.testing.assert_allclose(found["log_partition"], table["log_partition"], rtol=1e-12)


def test_bad_jets_are_rows_with_an_error():
    good = pal.simulate.ginkgo(1, max_leaves=4, min_leaves=4, rng=0).momenta
    nan, negative, spacelike = (good.copy() for _ in range(3))
    nan[1, 2], negative[2, 0], spacelike[0] = np.nan, -5.0, [1.0, 5.0, 0.0, 0.0]
    whole = np.array([[5.0, 4.0, 0, 0], [5.0, 5.000001, 0, 0], [1.0, 1.00001, 0, 0]])
    crowd = pal.simulate.ginkgo(1, preset="w", min_leaves=18, max_leaves=20, rng=1).momenta
    huge = good * 1e40
    jets = pal.jets.Jets.from_list(
        [good, nan, negative, spacelike, np.empty((0, 4)), crowd, good, huge, good[:1], whole]
    )
    rows = pal.jets.infer(jets, **LAW, searches=["greedy"], n_draws=2, max_leaves=17).to_pylist()
    errors = [row["error"] for row in rows]
    assert [error is None for error in errors] == [True, False, False, False, False, False, True, False, True, True]
    words = [
        "is not finite: number 1",
        "has negative energy: number 2",
        "has E² < |p|²",
        "no particles",
        "neither log Z nor MAP beyond 17 leaves (max_leaves): ",
    ]
    assert all(word in error for error, word in zip(errors[1:6], words, strict=True))
    for row in rows:
        if row["error"] is not None:
            assert all(row[name] is None for name in ("log_partition", "kind", "map", "map_log_potential", "draws"))
            assert (row["greedy"] is None) != ("max_leaves" in row["error"])
    assert rows[0]["log_partition"] == rows[6]["log_partition"]
    assert rows[8]["log_partition"] == 0.0
    assert rows[8]["map"] == []


def test_a_jet_whose_nodes_have_no_numbers_in_the_table_is_a_row_with_an_error(monkeypatch):
    jets = pal.simulate.ginkgo(20, max_leaves=6, rng=1)
    monkeypatch.setattr(chunks, "_LARGEST", 4)
    rows = pal.jets.infer(jets, **LAW, searches=["greedy"]).to_pylist()
    for row in rows:
        assert (row["error"] == f"more than 4 particles: {row['n_leaves']}") is (row["n_leaves"] > 4)
        assert (row["greedy"] is None) is (row["truth"] is None) is (row["map"] is None) is (row["n_leaves"] > 4)
    assert {row["n_leaves"] > 4 for row in rows} == {True, False}
    monkeypatch.undo()
    assert np.iinfo(np.int16).max >= 2 * chunks._LARGEST - 2


def test_numbers_may_be_those_of_numpy(tmp_path):
    jets = pal.simulate.ginkgo(3, max_leaves=4, rng=1)
    given = {name: np.int64(value) for name, value in {"n_draws": 1, "seed": 2, "sweeps": 20, "max_leaves": 30}.items()}
    assert pal.jets.infer(jets, tmp_path / "run", **LAW, **given).is_complete
    pal.jets.write(jets, tmp_path / "jets.parquet")
    assert [len(part) for part in pal.jets.stream(tmp_path / "jets.parquet", np.int64(2))] == [2, 1]


def test_what_needs_no_trellis_is_there_for_jets_of_any_size(monkeypatch):
    monkeypatch.setattr("palmette.search.beam", functools.partial(pal.search.beam, width=20))
    jets = pal.simulate.ginkgo(1, preset="w", t_cut=0.25, min_leaves=65, max_leaves=72, rng=1)
    table = pal.jets.infer(jets, rate=1.5, t_cut=0.25, searches=["greedy", "beam"])
    for jet, row in zip(jets, table.to_pylist(), strict=True):
        model = pal.models.Ginkgo(jet.momenta, rate=1.5, t_cut=0.25)
        assert "beyond 64 leaves" in row["error"]
        assert row["log_partition"] is None
        assert row["greedy_log_potential"] == pytest.approx(pal.search.greedy(model).log_potential, abs=1e-9)
        assert row["beam_log_potential"] >= row["greedy_log_potential"]
        assert row["true_log_potential"] == pytest.approx(model.log_potential(jet.hierarchy), abs=1e-9)
        assert hierarchy(row["truth"]) == jet.hierarchy


def test_clusters_of_more_than_64_leaves_are_compared_as_well():
    jet = pal.simulate.ginkgo(1, preset="w", t_cut=0.25, min_leaves=70, max_leaves=110, rng=1)[0]
    model = pal.models.Ginkgo(jet.momenta, rate=1.5, t_cut=0.25)
    found = pal.search.greedy(model).hierarchy
    columns = {"map": found, "greedy": found, "truth": jet.hierarchy}
    lists = {name: [each.children.ravel().tolist()] for name, each in columns.items()}
    values = {f"{name}_log_potential": [-1.0] for name in ("map", "greedy", "true")}
    rows = {row.method: row for row in pal.jets.compare(pyarrow.table({**lists, **values}))}
    ours, true = (clusters(lists[name][0], jet.n_leaves) for name in ("greedy", "truth"))
    assert rows["greedy"].true_clusters == pytest.approx(len(ours & true) / len(true))
    assert rows["true"].is_true == 1.0


def test_jets_without_a_possible_history_say_so():
    # Two light particles, whose parent would be below t_cut.
    table = pal.jets.infer(pal.jets.Jets.from_list([[[1.0, 0, 0, 0.9], [1.0, 0, 0.1, 0.9]]]), **LAW, n_draws=1)
    assert table["log_partition"].to_pylist() == [-math.inf]
    assert table["map"].to_pylist() == [None]
    assert table["error"].to_pylist() == [None]


def test_larger_jets_go_through_a_posterior_of_their_own(monkeypatch):
    monkeypatch.setattr("palmette.batch.inference.KERNEL_LEAVES", 8)
    jets = pal.simulate.ginkgo(2, preset="w", min_leaves=9, max_leaves=9, rng=0)
    model = pal.models.Ginkgo(jets[0].momenta, **LAW)
    found = pal.jets.infer(jets[:1], **LAW, n_draws=2, seed=1).to_pylist()[0]
    posterior = pal.HierarchyPosterior(model)
    assert found["kind"] == "exact"
    assert found["log_partition"] == pytest.approx(posterior.log_partition, abs=1e-9)
    assert hierarchy(found["map"]) == posterior.map()
    assert len(found["draws"]) == 2 * 2 * 8
    rng = np.random.default_rng([1, 0])  # not that of a batch
    assert found["draw_log_probs"] == posterior.sample(2, rng=rng).log_probs.tolist()


SAMPLED = {**LAW, "searches": ["greedy"], "n_draws": 2, "seed": 5, "exact_leaves": 7, "sweeps": 20}


@pytest.fixture(scope="module")
def crowded():
    small = pal.simulate.ginkgo(6, max_leaves=7, rng=2)
    law = {"preset": "w", "rate": 1.5, "root_rate": 1.5}
    middle = pal.simulate.ginkgo(1, **law, min_leaves=8, max_leaves=10, rng=0)
    large = pal.simulate.ginkgo(1, **law, min_leaves=21, max_leaves=22, rng=0)
    return pal.jets.Jets.concatenate([small[:3], middle, small[3:], large])


@pytest.fixture(scope="module")
def mixed(crowded):
    return pal.jets.infer(crowded, **SAMPLED)


def test_a_mixed_table_says_what_was_sampled(crowded, mixed):
    assert crowded.n_leaves.max() > 20
    for jet, row in zip(crowded, mixed.to_pylist(), strict=True):
        model = pal.models.Ginkgo(jet.momenta, **LAW)
        is_large = jet.n_leaves > 7
        assert row["kind"] == ("sampled" if is_large else "exact")
        assert (row["log_partition_error"] > 0.0) == is_large
        assert (row["r_hat"] is None) != is_large
        assert model.log_potential(hierarchy(row["map"])) == pytest.approx(row["map_log_potential"], abs=1e-9)
        assert row["map_log_potential"] >= row["greedy_log_potential"] - 1e-9
        assert row["true_log_potential"] == pytest.approx(model.log_potential(jet.hierarchy), abs=1e-9)
        draws = np.array(row["draws"]).reshape(2, -1)
        logs = [min(0.0, model.log_potential(hierarchy(draw)) - row["log_partition"]) for draw in draws]
        assert row["draw_log_probs"] == pytest.approx(logs, abs=1e-9)
    assert {found.method for found in pal.jets.compare(mixed)} == {"map", "greedy", "true"}


def test_sampled_jets_depend_on_their_number_alone(crowded, mixed, tmp_path, monkeypatch):
    pieces = (crowded[k : k + 2] for k in range(0, len(crowded), 2))
    assert pal.jets.infer(pieces, **SAMPLED, chunk_seconds=1e-3).equals(mixed)
    real, asked = inference.Inference.__call__, []

    def stop_at_two(self, chunk):
        asked.append(chunk.first)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return real(self, chunk)

    monkeypatch.setattr(inference.Inference, "__call__", stop_at_two)
    with pytest.raises(KeyboardInterrupt):
        pal.jets.infer(crowded, tmp_path / "run", **SAMPLED, chunk_seconds=1e-3)
    whole = pal.jets.infer(crowded, tmp_path / "run", **SAMPLED, chunk_seconds=1e-3)
    assert whole.table().equals(mixed)
    assert len(asked) == len(set(asked)) + 1


@pytest.mark.slow
def test_sampled_jets_are_the_same_in_a_pool(crowded, mixed, tmp_path):
    pool = pal.jets.infer(crowded, tmp_path / "pool", **SAMPLED, chunk_seconds=1e-3, engine=2)
    assert pool.table().equals(mixed)


def test_no_jets_are_an_empty_table(tmp_path):
    jets = pal.simulate.ginkgo(0)
    assert pal.jets.infer(jets, **LAW).num_rows == 0
    results = pal.jets.infer(jets, tmp_path / "run", **LAW)
    assert results.is_complete
    assert len(results) == 0
    assert results.table().num_rows == 0


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"searches": ["best"]}, ValueError, "a search is 'best'; give one of 'greedy'"),
        ({"max_leaves": 4000}, ValueError, "max_leaves is 4000"),
        ({"exact_leaves": 23}, ValueError, "exact_leaves is 23"),
        ({"sweeps": 1}, ValueError, "sweeps"),
        ({"n_draws": -1}, ValueError, "n_draws is -1"),
        ({"rate": -1.0}, ValueError, "rate is -1"),
        ({"likelihood": "x"}, ValueError, "likelihood is 'x'"),
        ({"t_cut": None}, ValueError, "needs t_cut"),
        ({"beyond": "sparce"}, ValueError, "beyond is 'sparce'; give one of"),
        ({"geometry": "eee"}, ValueError, "geometry is 'eee'; give one of 'pp', 'ee'"),
        ({"chunk_seconds": 0.0}, ValueError, "chunk_seconds is 0"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_read(options, error, message):
    with pytest.raises(error, match=message):
        pal.jets.infer("nowhere.parquet", **{**LAW, **options})


# Comparisons.


def clusters(merges, n):
    return {frozenset(c) for c in hierarchy(merges).clusters() if 1 < len(c) < n}


def test_comparisons_match_their_slow_twin(table):
    rows = [row for row in table.to_pylist() if row["error"] is None]
    for found in pal.jets.compare(table):
        name = "truth" if found.method == "true" else found.method
        behind = [row["map_log_potential"] - row[f"{found.method}_log_potential"] for row in rows]
        assert found.jets == len(rows)
        assert found.behind_map == pytest.approx(np.mean(behind))
        assert found.spread == pytest.approx(np.std(behind))
        pairs = [(clusters(row["truth"], row["n_leaves"]), clusters(row[name], row["n_leaves"])) for row in rows]
        pairs = [(true, own) for true, own in pairs if true]
        assert found.true_clusters == pytest.approx(
            sum(len(true & own) for true, own in pairs) / sum(len(true) for true, _ in pairs)
        )
        assert found.is_true == pytest.approx(np.mean([true == own for true, own in pairs]))
        assert found.is_map == pytest.approx(np.mean(np.array(behind) < 1e-8))


def test_impossible_histories_are_counted_apart():
    pytest.importorskip("fastjet")
    jets = pal.simulate.ginkgo(40, max_leaves=7, rng=1)
    table = pal.jets.infer(jets, **LAW, searches=["kt", "cambridge", "antikt"])
    for row in pal.jets.compare(table):
        assert 0 <= row.impossible <= row.jets
        assert math.isfinite(row.behind_map)
        assert row.behind_map >= 0.0
        assert 0.0 <= row.is_map <= 1.0 - row.impossible / row.jets
    by_name = {row.method: row for row in pal.jets.compare(table)}
    assert by_name["kt"].impossible > 0


def test_without_truth_nothing_is_said_of_it(simulated, tmp_path):
    jets = pal.jets.Jets(simulated.momenta, simulated.offsets)
    results = pal.jets.infer(jets, tmp_path / "run", **LAW, searches=["greedy"], chunk_seconds=1e-3)
    whole = pal.jets.compare(results)
    assert [row.method for row in whole] == ["map", "greedy"]
    assert all(math.isnan(row.true_clusters) for row in whole)
    for one, two in zip(whole, pal.jets.compare(results.table()), strict=True):
        assert one[:-2] == pytest.approx(two[:-2])
    with pytest.raises(ValueError, match=r"a table that jets\.infer made"):
        pal.jets.compare(pyarrow.table({"x": [1]}))
