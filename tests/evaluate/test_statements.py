"""Which of the five statements about costs and classes hold, and the counterexamples to those that do not."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from oracle import hierarchies_over

import palmette as pal
from palmette.evaluate import dasgupta_cost, dendrogram_purity

SCRIPT = Path(__file__).parents[2] / "experiments" / "cluster_trellis" / "statements.py"


@pytest.fixture(scope="module")
def script():
    specification = importlib.util.spec_from_file_location("cluster_trellis_statements", SCRIPT)
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module  # dataclasses look their module up
    specification.loader.exec_module(module)
    yield module
    del sys.modules[specification.name]


@pytest.fixture(scope="module")
def verdicts(script):
    return {statement.number: script.judge(statement) for statement in script.STATEMENTS}


def test_every_hierarchy_is_listed_once(script):
    for n in range(2, 7):
        found = script.listing(n).hierarchies
        assert len(found) == len(set(found)) == len(hierarchies_over((1 << n) - 1))


def test_every_division_into_classes_is_tried(script):
    bell = [1, 2, 5, 15, 52, 203]
    assert [len(list(script.cases(n, "pair"))) for n in range(1, 7)] == [b - 1 for b in bell]


@pytest.mark.parametrize("weighting", ["pair", "leaf"])
def test_the_tables_of_the_script_are_what_the_package_computes(script, weighting):
    rng = np.random.default_rng(0)
    for classes in ((0, 0, 1), (0, 1, 0, 2), (0, 0, 1, 1, 0), (0, 1, 2, 1, 0, 0), (0, 0, 0, 1, 1, 2)):
        case = script.Case(classes, weighting)
        same = np.equal.outer(classes, classes)
        for sign in (1, -1):
            positive = np.triu(sign * np.where(same, 1, -1) > 0, 1).sum()
            for i in rng.choice(len(case.all.hierarchies), 3):
                h = case.all.hierarchies[i]
                model = pal.models.Correlation(sign * np.where(same, 1, -1))
                assert case.dasgupta(sign)[i] == dasgupta_cost(h, sign * same)
                assert case.correlation(sign)[i] == -model.log_potential(h) - positive
                assert case.purity[i] / case.purest == pytest.approx(dendrogram_purity(h, classes, weighting))


def test_the_optima_of_the_script_are_those_of_the_posterior(script):
    for classes in ((0, 0, 1, 2), (0, 0, 0, 1, 1)):
        case, same = script.Case(classes), np.equal.outer(classes, classes)
        for sign in (1, -1):
            for model, costs in (
                (pal.models.Dasgupta(sign * same), case.dasgupta(sign)),
                (pal.models.Correlation(sign * np.where(same, 1, -1)), case.correlation(sign)),
            ):
                best = pal.HierarchyPosterior(model).best(int(script.lowest(costs).sum()))
                optimal = {case.all.hierarchies[i] for i in np.flatnonzero(script.lowest(costs))}
                assert {h for h, _ in best} == optimal


@pytest.mark.parametrize("number", ["1", "2", "3, what is left"])
def test_these_statements_hold_in_every_case(verdicts, number):
    verdict = verdicts[number]
    assert verdict.n_cases == 272
    assert verdict.n_contradicted == {"pair": 0, "leaf": 0}
    assert verdict.counterexample is None


@pytest.mark.parametrize(
    ("number", "classes", "by_pairs", "by_leaves"),
    [
        ("3, from purity to cost", (0, 0, 1, 2), 196, 196),
        ("3, from cost to purity", (0, 0, 1, 1, 2, 2), 15, 15),
        ("5, Dasgupta's cost", (0, 0, 0, 1, 1), 85, 85),
        ("5, correlation clustering", (0, 0, 0, 1), 155, 130),
    ],
)
def test_these_statements_do_not_hold(verdicts, number, classes, by_pairs, by_leaves):
    verdict = verdicts[number]
    assert verdict.counterexample.classes == classes
    assert verdict.n_contradicted == {"pair": by_pairs, "leaf": by_leaves}


def test_a_perfect_hierarchy_need_not_be_optimal_for_correlation_clustering():
    w = np.array([[0, 1, -1, -1], [1, 0, -1, -1], [-1, -1, 0, -1], [-1, -1, -1, 0]])
    perfect, optimal = map(pal.Hierarchy.from_nested, ((((0, 1), 2), 3), ((0, 1), (2, 3))))
    posterior = pal.HierarchyPosterior(pal.models.Correlation(w))
    assert dendrogram_purity(perfect, [0, 0, 1, 2]) == dendrogram_purity(optimal, [0, 0, 1, 2]) == 1.0
    assert (posterior.log_potential(perfect), posterior.log_potential(optimal)) == (-3.0, -2.0)
    assert posterior.map() == optimal


def test_an_optimum_of_correlation_clustering_need_not_be_perfect():
    classes = np.repeat([0, 1, 2], 2)
    model = pal.models.Correlation(np.where(np.equal.outer(classes, classes), 1, -1))
    mixed = pal.Hierarchy.from_nested((((0, 1), 2), (3, (4, 5))))
    assert model.log_potential(mixed) == model.log_potential(pal.HierarchyPosterior(model).map()) == -7.0
    assert dendrogram_purity(mixed, classes) == pytest.approx(7 / 9)


def test_reversed_weights_need_not_give_the_lowest_purity():
    classes = np.array([0, 0, 0, 1])
    model = pal.models.Correlation(-np.where(np.equal.outer(classes, classes), 1, -1))
    one, other = map(pal.Hierarchy.from_nested, (((0, 1), (2, 3)), (((0, 3), 1), 2)))
    best = pal.HierarchyPosterior(model).map()
    assert model.log_potential(one) == model.log_potential(other) == model.log_potential(best) == -4.0
    assert dendrogram_purity(one, classes) == pytest.approx(5 / 6)
    assert dendrogram_purity(other, classes) == pytest.approx(13 / 18)
    classes = np.array([0, 0, 0, 1, 1])
    w = -np.equal.outer(classes, classes).astype(float)
    one, other = map(pal.Hierarchy.from_nested, ((((0, 3), 1), (2, 4)), (((0, 3), (1, 4)), 2)))
    best = pal.HierarchyPosterior(pal.models.Dasgupta(w)).map()
    assert dasgupta_cost(one, w) == dasgupta_cost(other, w) == dasgupta_cost(best, w) == -18.0
    assert dendrogram_purity(one, classes, "pair") == pytest.approx(17 / 30)
    assert dendrogram_purity(other, classes, "pair") == pytest.approx(11 / 20)
    assert dendrogram_purity(one, classes, "leaf") < dendrogram_purity(other, classes, "leaf")  # also optimal


def test_relabelled_weights_make_all_hierarchies_of_a_shape_optimal_equally_often(script):
    for n in range(2, 6):
        for _, weights, table in script.random_weights(n):
            counts = script.optimal_after_relabelling(script.listing(n), weights, table)
            assert counts.sum() > 0
            assert not script.chance_knows_no_classes(script.listing(n), weights, table).any()


def test_the_check_of_shapes_can_fail(script):
    few = script.listing(4)
    uneven = few.sizes.copy()
    uneven[0] -= 1  # the first hierarchy is treated better than others of its shape
    assert script.chance_knows_no_classes(few, np.ones(6, dtype=np.int64), uneven).any()


def test_optima_of_random_weights_are_purer_than_hierarchies_drawn_from_all(script):
    means = script.mean_purities((0, 0, 1, 1))
    # Of the 15 hierarchies, two given leaves meet in a cluster of 2 leaves in 3, of 3 in 4, of 4 in 8.
    assert means["all"] == pytest.approx((3 * 2 / 2 + 4 * 2 / 3 + 8 * 2 / 4) / 15)
    assert means["correlation"] > means["Dasgupta"] > means["all"]


def test_the_report_names_every_statement_and_shows_counterexamples(script, capsys):
    script.main(["--leaves", "4"])
    printed = capsys.readouterr().out
    heads = [line.split(":")[0] for line in printed.splitlines() if line[:1].isdigit()]
    assert [head[0] for head in heads] == ["1", "2", "3", "3", "3", "4", "5", "5"]
    assert printed.count("Not true") == 2
    assert "(((0,1),2),3);           cost 3, purity 1.0000 by pairs" in printed
    assert "Holds in all 148 cases" in printed
    assert max(map(len, printed.splitlines())) <= 110
