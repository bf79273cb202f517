"""What the race counts: clusters of linkages, scores, halves of columns, groups that are known, and its file."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage

import palmette as pal

A, B, C = frozenset([0, 1]), frozenset([2, 3]), frozenset([1, 2])


def test_clusters_of_a_linkage_are_those_of_its_hierarchy(load):
    x = np.random.default_rng(0).normal(size=(9, 3))
    merges = linkage(x, "average")
    clusters = {c for c in pal.Hierarchy.from_linkage(merges).clusters() if 1 < len(c) < 9}
    assert load("_linkages").clusters_of(merges) == clusters


def test_bootstrap_proportions_agree_with_bp_of_the_package(load):
    linkages = load("_linkages")
    x = np.random.default_rng(1).normal(size=(6, 8))
    ours = linkages.bootstrap_proportions(x, np.random.default_rng(0), linkages.ward, times=2000)
    theirs = pal.evaluate.bootstrap(
        x, lambda z: pal.Hierarchy.from_linkage(linkages.ward(z)), scales=(1.0,), n_draws=2000, progress=False
    )
    for row in theirs:
        assert ours[frozenset(map(int, row.members))] == pytest.approx(row.bp, abs=0.06)
    assert sum(ours.values()) == pytest.approx(4)  # n − 2 in each draw


def test_correlations_of_flat_rows_are_none_at_all(load):
    merges = load("_linkages").average_of_correlations(np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]))
    np.testing.assert_array_equal(merges[:, 2], [1.0, 1.0])


def test_scores_of_saying_nothing_of_knowing_and_of_a_half(load):
    scores = load("_scores")
    truth = {A, B}
    assert scores.squared_error({}, truth) == 2.0
    assert scores.squared_error({A: 1.0, B: 1.0}, truth) == 0.0
    assert scores.squared_error({A: 0.5, C: 0.5}, truth) == 1.5
    clusters = scores.asked_about([{A: 0.5, C: 0.5}, {frozenset([0, 3]): 0.001}], truth)
    assert clusters == {A, B, C}
    assert scores.log_score({A: 0.5, C: 0.5}, truth, clusters) == pytest.approx(2 * np.log(2) + np.log(1000))
    assert scores.counts_above({A: 0.8, C: 0.95}, truth) == [(2, 1), (2, 1), (1, 0), (1, 0)]


def test_the_error_of_a_share_is_that_of_a_mean_if_all_draws_name_as_many(load):
    scores = load("_scores")
    right = [1, 2, 0, 2, 1]
    ratio, error = scores.ratio_and_error(right, [2] * 5)
    assert (ratio, error) == pytest.approx(scores.mean_and_error(np.array(right) / 2))
    assert np.isnan(scores.ratio_and_error([0], [0])).all()


def test_halves_share_no_column_and_have_the_same_rows(load):
    halves = load("_halves")
    tags = np.arange(30)[None, :] * 100.0
    table = halves.Expression("tags", tags + np.random.default_rng(0).normal(size=(8, 30)))
    assert [halves.n_columns(table, columns) for columns in ("20", "half", "21")] == [20, 15, None]
    drawn = halves.draw(table, 5, 12, np.random.default_rng(0))
    standardised = {
        tuple(np.round(column, 9))
        for rows in [np.random.default_rng(0).choice(8, 5, replace=False)]
        for column in pal.similarity.standardised(table.x[rows]).T
    }
    parts = [{tuple(np.round(column, 9)) for column in half.T} for half in drawn]
    assert [len(part) for part in parts] == [12, 18]
    assert parts[0] | parts[1] == standardised


def test_a_table_loses_its_columns_with_gaps(load, tmp_path):
    path = tmp_path / "some_2x3.csv"
    path.write_text("name,class,a,b,c\nr,x,1,,3\ns,y,4,5,6\n", encoding="utf-8")
    (table,) = load("_halves").read_all([tmp_path])
    assert table.name == "some"
    assert table.x.tolist() == [[1.0, 3.0], [4.0, 6.0]]


def test_outcomes_come_back_from_their_file_and_are_added_to(load, tmp_path):
    outcomes = load("_outcomes")
    one = outcomes.Outcome(
        "golub", 11, "half", 0, "average, correlations", "BP", 5.25, 12.5, (4, 3, 2, 1), (3, 2, 2, 1)
    )
    path = tmp_path / "folder" / "out.csv"
    assert outcomes.read(path) == []
    for draw in (0, 1):
        outcomes.append(path, [one._replace(draw=draw)])
    assert outcomes.read(path) == [one, one._replace(draw=1)]
    assert outcomes.key_of(one) == ("golub", 11, "half", 0)


def test_findings_tell_groups_from_what_cuts_them_and_from_what_is_within(load):
    known = load("_known_truth")
    groups = frozenset([frozenset([0, 1, 2]), frozenset([3, 4, 5]), frozenset(range(6)), frozenset([7, 8])])
    table = known.Known(np.empty((9, 1)), groups, wrong=frozenset([frozenset([3, 4, 5, 7, 8])]))
    support = {
        frozenset([0, 1, 2]): 0.9,
        frozenset([3, 4]): 0.8,  # within
        frozenset([2, 3]): 1.0,  # cuts
        frozenset([4, 5]): 0.5,  # is not sure
        frozenset([0, 1, 2, 6]): 0.9,  # cuts the largest
        frozenset([3, 4, 5, 7, 8]): 0.9,  # is wrong
        frozenset(range(8)): 0.9,  # cuts the last
        frozenset([6, 7, 8]): 0.9,  # is made of whole groups, and more
    }
    assert known.findings(support, table, 0.8) == (0.25, 4, 1)
    nothing = known.Known(np.empty((9, 1)), frozenset())
    assert known.findings({frozenset([0, 1]): 0.9, frozenset([2, 3]): 0.7}, nothing, 0.8)[1:] == (0, 1)


def test_every_kind_of_table_has_groups_that_are_nested_or_apart(load):
    known = load("_known_truth")
    for name, make in known.TABLES.items():
        table = make(np.random.default_rng(0))
        assert len(table.x) == known.LEAVES
        np.testing.assert_allclose(table.x.mean(axis=0), 0.0, atol=1e-9)
        assert bool(table.groups) != name.startswith("no groups")
        assert all(a <= b or b <= a or not a & b for a in table.groups for b in table.groups)


def test_the_race_gives_each_rival_the_same_draw_whoever_else_is_in_it(load, tmp_path):
    race = load("replication")
    table = load("_halves").Expression("made", np.random.default_rng(0).normal(size=(12, 60)))
    halves = race.draw(table, 6, 30, np.random.default_rng(1))
    alone = race.judged(halves, ["BP, Ward"], [5])
    beside = [
        row for row in race.judged(halves, ["significance of Ward's splits", "BP, Ward"], [5]) if row[1] == "BP, Ward"
    ]
    assert [row[2] for row in alone] == [row[2] for row in beside]
    assert len(alone) == len(load("_linkages").JUDGES)


def three_groups():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(9, 12)) + np.repeat(rng.normal(scale=12.0, size=(3, 12)), 3, axis=0)
    return pal.similarity.standardised(x), {frozenset(range(first, first + 3)) for first in (0, 3, 6)}


def test_halves_choose_the_rule_that_predicts(load):
    x, groups = three_groups()
    right = dict.fromkeys(groups, 1.0)
    rules = [lambda _: {}, lambda _: right, lambda _: {frozenset([0, 8]): 1.0}]
    assert load("_resampled_rivals").chosen_by_halves(x, np.random.default_rng(0), rules) == right


@pytest.mark.parametrize("name", ["squares", "Dasgupta"])
def test_halves_that_agree_choose_a_low_perplexity(load, name):
    x, groups = three_groups()
    support = load("_resampled_rivals").calibrated_cost(x, np.random.default_rng(0), name)
    assert min(support[group] for group in groups) > 0.8
