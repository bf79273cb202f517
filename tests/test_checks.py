"""What a model refuses, and that it says which entry is at fault; which labels it takes: all of them."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from cases import OfSizes

import palmette as pal
from palmette import Hierarchy, HierarchyPosterior
from palmette.interop import hierarchy_to_svg
from palmette.models import Correlation, Dasgupta, Ginkgo, SplitFunction, SumOfSquares, Uniform
from palmette.passes.hierarchies import full

MATRIX_MODELS = [Dasgupta, Correlation]
COST_MODELS = [Dasgupta, Correlation, SumOfSquares]
NAMES = {Dasgupta: "similarity", Correlation: "affinity", SumOfSquares: "points", Ginkgo: "momenta"}


def jet(momenta, **options):
    return Ginkgo(momenta, rate=1.5, t_cut=16.0, **options)


def zero_split_function(n, **options):
    return SplitFunction(n, lambda left, right: np.zeros(len(left)), **options)


#: Every model that is made from an array.
MAKERS = {
    "Dasgupta": lambda data, **options: Dasgupta(data, **options),
    "Correlation": lambda data, **options: Correlation(data, **options),
    "SumOfSquares": lambda data, **options: SumOfSquares(data, **options),
    "Ginkgo": lambda data, **options: jet(data, **options),
}
every_array_model = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
every_matrix_model = pytest.mark.parametrize("model", MATRIX_MODELS)
every_cost_model = pytest.mark.parametrize("model", COST_MODELS)


def good():
    """A symmetric matrix that is also a list of points and one of four-momenta."""
    data = np.ones((4, 4))
    data[0, :] = data[:, 0] = 5.0
    data[0, 0] = 10.0
    return data


@every_array_model
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_an_entry_that_is_not_finite_is_named_by_row_and_column(make, bad):
    data = good()
    data[1, 3] = data[3, 1] = bad
    with pytest.raises(ValueError, match=rf"holds {bad} at row 1, column 3 \(and 1 more\); entries must be finite"):
        make(data)


@every_matrix_model
def test_the_diagonal_is_not_used_so_it_may_hold_anything(model):
    w = good()
    tree = Hierarchy.from_nested(((0, 1), (2, 3)))
    expected = model(w).log_potential(tree)
    for diagonal in (np.nan, np.inf, -7.0, 0.0):
        np.fill_diagonal(w, diagonal)
        assert model(w).log_potential(tree) == expected


@every_matrix_model
@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (4,), (), (2, 2, 2), (0,), (1, 0)])
def test_a_matrix_that_is_not_square_is_refused_with_its_shape(model, shape):
    with pytest.raises(ValueError, match=re.escape(f"{NAMES[model]} has shape {shape}; expected a square matrix")):
        model(np.ones(shape))


@every_matrix_model
def test_an_asymmetric_matrix_is_refused_with_the_worst_pair(model):
    w = good()
    w[0, 1] += 0.01
    w[3, 2] += 0.5
    with pytest.raises(ValueError, match=r"not symmetric: entry \(2, 3\) is 1 but \(3, 2\) is 1.5; symmetrise it"):
        model(w)


@every_matrix_model
def test_asymmetry_of_the_size_of_rounding_is_averaged_out(model):
    w = good()
    w[3, 2] += 1e-10
    np.testing.assert_array_equal(model(w).pairwise[0], model(w.T).pairwise[0])
    np.testing.assert_allclose(model(w).pairwise[0][3, 2], 1.0, rtol=1e-9)


@every_array_model
@pytest.mark.parametrize("data", [[], np.empty((0, 0)), np.empty((0, 4))])
def test_empty_data_are_refused(make, data):
    with pytest.raises(ValueError, match=r"is empty|has shape"):
        make(data)


@every_array_model
def test_one_dimensional_data_are_refused_with_their_shape(make):
    with pytest.raises(ValueError, match=r"has shape \(4,\); expected"):
        make(np.arange(4.0))


@every_array_model
@pytest.mark.parametrize(
    "data",
    [
        good() * 1j,
        [["a", "b"], ["c", "d"]],
        [["0", "1"], ["1", "0"]],
        np.zeros((4, 4), dtype="datetime64[s]"),
        [[0.0, 1.0], [1.0]],
        [[{}, {}], [{}, {}]],
    ],
    ids=["complex", "words", "numerals", "dates", "ragged", "objects"],
)
def test_data_that_are_not_real_numbers_are_refused(make, data):
    with pytest.raises(TypeError, match="must be an array of real numbers"):
        make(data)


@every_array_model
def test_whole_numbers_lists_and_single_precision_are_taken(make):
    w = good()
    for data in (w.astype(int), w.tolist(), w.astype(np.float32), np.asfortranarray(w), w.astype(object)):
        np.testing.assert_array_equal(make(data).pairwise, make(w).pairwise)
        np.testing.assert_array_equal(make(data).additive, make(w).additive)


@every_array_model
def test_the_data_are_copied(make):
    data = good()
    model = make(data)
    kept = (model.pairwise.copy(), model.additive.copy())
    data[:] = 0.0
    np.testing.assert_array_equal(model.pairwise, kept[0])
    np.testing.assert_array_equal(model.additive, kept[1])
    with pytest.raises(ValueError, match="read-only"):
        model.theta[:] = 0.0


@every_cost_model
@pytest.mark.parametrize("beta", [-1.0, -1e-300, np.nan, np.inf, -np.inf])
def test_a_beta_that_is_negative_or_not_finite_is_refused(model, beta):
    with pytest.raises(ValueError, match=r"beta is .*; the inverse temperature must be finite and at least 0"):
        model(good(), beta)


@every_cost_model
@pytest.mark.parametrize("beta", [True, np.True_, "1", None, 1j, [1.0], np.ones(1)])
def test_a_beta_that_is_no_number_is_refused(model, beta):
    with pytest.raises(TypeError, match="beta must be a number, not"):
        model(good(), beta)


@every_cost_model
def test_beta_may_be_any_kind_of_real_number(model):
    assert all(model(good(), beta).beta == 2.0 for beta in (2, 2.0, np.float32(2), np.int8(2)))


@every_cost_model
@pytest.mark.parametrize("beta", [0.0, 1e-300, 1.0, 1e300])
def test_data_whose_costs_overflow_are_refused(model, beta):
    signs = np.where(np.arange(4)[:, None] == np.arange(4), 1.0, -1.0)
    for data in (np.full((4, 4), 1e308), 1e308 * signs):
        if model is SumOfSquares:
            data = data * (np.arange(4)[:, None] / 4)
        with pytest.raises(ValueError, match=rf"{NAMES[model]} .*overflow; divide"):
            model(data, beta)


@every_cost_model
def test_a_beta_for_which_costs_overflow_is_refused(model):
    with pytest.raises(
        ValueError, match=f"{NAMES[model]} is too large: costs overflow; divide {NAMES[model]}, or beta"
    ):
        model(good(), 1e300)


@every_cost_model
def test_the_largest_data_that_are_taken_give_finite_answers(model):
    post = HierarchyPosterior(model(good() * (1e146 if model is SumOfSquares else 1e293)))
    assert np.isfinite(post.log_partition)
    assert np.isfinite(post.log_potential(post.map()))


@pytest.mark.parametrize(("n", "error"), [(0, ValueError), (-3, ValueError), (True, TypeError), (2.0, TypeError)])
@pytest.mark.parametrize("make", [Uniform, zero_split_function], ids=["Uniform", "SplitFunction"])
def test_a_number_of_leaves_that_is_none_is_refused(make, n, error):
    with pytest.raises(error, match=r"at least one leaf|must be an integer"):
        make(n)


ALL_MAKERS = {
    **{name: lambda labels, make=make: make(good(), labels=labels) for name, make in MAKERS.items()},
    "Uniform": lambda labels: Uniform(4, labels=labels),
    "SplitFunction": lambda labels: zero_split_function(4, labels=labels),
}


@pytest.mark.parametrize("make", ALL_MAKERS.values(), ids=ALL_MAKERS)
@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        (["a", "b", "c"], ValueError, "3 labels were given for 4 leaves"),
        (list("abcde"), ValueError, "5 labels were given for 4 leaves"),
        ([], ValueError, "0 labels were given for 4 leaves"),
        (["a", "b", "c", "b"], ValueError, "'b' names both leaf 1 and leaf 3"),
        (["a", "b", "c", 3], TypeError, "label 3 is 3 of type int"),
        (["a", None, "c", "d"], TypeError, "label 1 is None of type NoneType"),
        ("abcd", TypeError, "labels must be a sequence of strings"),
        ({"a", "b", "c", "d"}, TypeError, "labels must be a sequence of strings"),
        (7, TypeError, "labels must be a sequence of strings"),
    ],
)
def test_labels_that_do_not_name_the_leaves_are_refused(make, labels, error, message):
    with pytest.raises(error, match=re.escape(message)):
        make(labels)


AWKWARD = [
    "it's",
    'say "hi"',
    "two\nlines",
    "<script>alert(1)</script>",
    "Größe 漢字 🌳",
    "a,b;(c):d[e]_f",
    "",
    " x\t& ",
]


@pytest.fixture(scope="module")
def awkward():
    points = np.array([[0.0], [0.1], [1.0], [1.2], [5.0], [5.1], [9.0], [9.3]])
    return HierarchyPosterior(SumOfSquares(points, labels=AWKWARD))


def test_any_text_is_a_label_and_survives_newick(awkward):
    best = awkward.map()
    assert set(best.labels) == set(AWKWARD)
    assert Hierarchy.from_newick(best.to_newick()) == best
    assert awkward.log_prob(Hierarchy.from_newick(best.to_newick())) == awkward.log_prob(best)
    assert awkward.cluster_probability(["it's", 'say "hi"']) == awkward.cluster_probability([0, 1]) > 0


def test_labels_are_escaped_in_the_html_of_a_table(awkward):
    for table in (awkward.cluster_probabilities(0.001), awkward.split_probabilities(AWKWARD)):
        page = table._repr_html_()
        assert "<script" not in page
        assert "&lt;script&gt;" in page
        root = ElementTree.fromstring(page)
        shown = " ".join(cell.text or "" for cell in root.iter("td"))
        assert all(label in shown for label in AWKWARD if label.isprintable())


def test_a_table_prints_one_line_per_row_whatever_the_labels(awkward):
    table = awkward.cluster_probabilities(0.01)
    lines = repr(table).splitlines()
    assert len(lines) == 1 + min(len(table), 20) + (len(table) > 20)


def test_labels_are_escaped_in_a_picture(awkward):
    picture = hierarchy_to_svg(awkward.map())
    root = ElementTree.fromstring(picture)
    assert not [element for element in root.iter() if element.tag.endswith("script")]
    assert {element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}title")} == set(AWKWARD)


# A black box.


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda left, right: 0.0, r"returned an array of shape \(\) for 3 splits; expected \(3,\)"),
        (lambda left, right: np.zeros((len(left), 1)), r"returned an array of shape \(3, 1\) for 3 splits"),
        (lambda left, right: np.zeros(7), r"returned an array of shape \(7,\) for 3 splits"),
        (lambda left, right: np.full(len(left), np.nan), r"returned nan for the split 0b1 \| 0b10"),
        (lambda left, right: np.full(len(left), np.inf), r"returned inf for the split 0b1 \| 0b10"),
        (lambda left, right: np.where(right == 0b110, np.nan, 0.0), r"returned nan for the split 0b1 \| 0b110"),
    ],
)
def test_a_split_function_that_returns_nonsense_is_told_what_and_where(function, message):
    with pytest.raises(ValueError, match=message):
        _ = HierarchyPosterior(SplitFunction(3, function)).log_partition


def test_a_split_function_is_told_when_it_scores_a_hierarchy_as_well():
    model = SplitFunction(3, lambda left, right: np.full(len(left), np.nan))
    with pytest.raises(ValueError, match="returned nan for the split"):
        model.log_potential(Hierarchy.from_nested(((0, 1), 2)))


def test_a_split_function_must_be_a_function():
    with pytest.raises(TypeError, match="expected a function of two mask arrays, not 3"):
        SplitFunction(4, 3)


def test_the_error_of_a_split_function_is_passed_on():
    def broken(left, right):
        raise KeyError("no such table")

    with pytest.raises(KeyError, match="no such table"):
        _ = HierarchyPosterior(SplitFunction(3, broken)).log_partition


# A user's own model.


class Careless(OfSizes):
    """log ψ = 0, but NaN, +inf or −inf (by the sign of θ₀) for clusters of θ₁ leaves."""

    @staticmethod
    def score(theta, parent, left, right):
        if parent[0] != theta[1]:
            return 0.0
        if theta[0] == 0.0:
            return np.nan
        return np.inf if theta[0] > 0 else -np.inf


NAN, PLUS_INFINITY, MINUS_INFINITY = 0.0, 1.0, -1.0


@pytest.mark.parametrize("way", ["serial", "by blocks"])
@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("value", [NAN, PLUS_INFINITY], ids=["nan", "inf"])
def test_a_score_that_is_nan_or_plus_infinity_is_reported(monkeypatch, way, size, value):
    if way == "by blocks":
        monkeypatch.setattr(full, "SERIAL", 0)
    with pytest.raises(ValueError, match=r"Careless\.score returned .*finite or -inf"):
        _ = HierarchyPosterior(Careless(5, theta=[value, size])).log_partition


@pytest.mark.parametrize("value", [NAN, PLUS_INFINITY], ids=["nan", "inf"])
def test_a_score_that_is_nan_or_plus_infinity_is_reported_for_a_single_hierarchy(value):
    with pytest.raises(ValueError, match="finite or -inf"):
        Careless(3, theta=[value, 2]).log_potential(Hierarchy.from_nested(((0, 1), 2)))


def test_a_score_of_minus_infinity_is_legal():
    post = HierarchyPosterior(Careless(4, theta=[MINUS_INFINITY, 3]))
    assert post.count == 3  # only the balanced ones have no cluster of three
    assert post.log_partition == pytest.approx(np.log(3))


@pytest.mark.parametrize("n_features", [0, 2.5, -1])
def test_a_number_of_features_that_no_model_has_is_refused(n_features):
    class Wrong(Careless):
        pass

    Wrong.n_features = n_features
    with pytest.raises(ValueError, match=f"n_features is {n_features}; a model has a whole number of features"):
        Wrong(3, theta=[1.0, 9.0])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"additive": np.ones(3)}, r"additive has shape \(3,\); expected \(3, d\): one row per leaf"),
        ({"additive": np.ones((2, 3))}, r"additive has shape \(2, 3\); expected \(3, d\)"),
        ({"additive": np.ones((3, 1, 1))}, r"additive has shape \(3, 1, 1\)"),
        ({"pairwise": [np.ones((2, 2))]}, r"pairwise has shape \(1, 2, 2\); expected matrices of shape \(3, 3\)"),
        ({"pairwise": [np.ones((3, 2))]}, r"pairwise has shape \(1, 3, 2\); expected matrices of shape \(3, 3\)"),
        ({"pairwise": np.ones((3, 3))}, r"pairwise has shape \(3, 3\); expected matrices"),
        ({"pairwise": [np.ones((3, 3)), np.ones((2, 2))]}, "shape"),
        ({"theta": [1.0, np.nan]}, "theta of Careless holds NaN or infinite values"),
        ({"theta": [np.inf]}, "theta of Careless holds NaN or infinite values"),
        ({"additive": np.full((3, 1), np.nan)}, "additive of Careless holds NaN or infinite values"),
        ({"pairwise": [np.full((3, 3), np.inf)]}, "pairwise of Careless holds NaN or infinite values"),
    ],
)
def test_the_arrays_of_a_users_model_are_checked(arrays, message):
    with pytest.raises(ValueError, match=message):
        Careless(3, **arrays)


def test_an_asymmetric_matrix_of_a_users_model_is_refused():
    """A pair sum over unordered pairs would hang on which of two entries happens to be read."""
    with pytest.raises(ValueError, match="symmetric"):
        Careless(3, pairwise=[np.triu(np.ones((3, 3)), 1)])


def test_a_model_that_scores_nothing_says_so():
    with pytest.raises(TypeError, match="does not say how to score a split"):
        _ = HierarchyPosterior(pal.models.HierarchyModel(3)).log_partition
    with pytest.raises(TypeError, match="does not say how to score a split"):
        pal.models.HierarchyModel(2).log_potential(Hierarchy.from_nested((0, 1)))
    with pytest.raises(TypeError, match="does not say how to score a cluster"):
        _ = pal.PartitionPosterior(pal.models.PartitionModel(3)).log_partition
    with pytest.raises(TypeError, match="does not say how to score a cluster"):
        pal.models.PartitionModel(2).log_potential(pal.Partition([0, 1]))
