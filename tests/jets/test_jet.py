import functools
import pickle
import sys

import numpy as np
import pytest

from palmette import jets as package
from palmette.hierarchy import Hierarchy
from palmette.jets import Jet, Jets
from palmette.simulate import GinkgoJets, ginkgo


def random_jets(sizes, seed=0, **arguments):
    momenta = np.random.default_rng(seed).normal(size=(sum(sizes), 4))
    return Jets(momenta, np.cumsum([0, *sizes]), **arguments)


def same(one, two):
    assert type(one) is type(two)
    for name in ("momenta", "offsets"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert list(one.ids) == list(two.ids)
    for name, column in one.ids.items():
        np.testing.assert_array_equal(column, two.ids[name])
    assert one.has_truth == two.has_truth
    if one.has_truth:
        np.testing.assert_array_equal(one.children, two.children)
    assert one.law == two.law
    return True


def one_by_one(jets, which):
    """A choice of jets, by a plain loop."""
    chosen = [jets[int(i)] for i in which]
    ids = {name: np.array([jet.ids[name] for jet in chosen], dtype=jets.ids[name].dtype) for name in jets.ids}
    children = np.concatenate([np.empty((0, 2), int), *(jet.children for jet in chosen)]) if jets.has_truth else None
    momenta = np.concatenate([np.empty((0, 4)), *(jet.momenta for jet in chosen)])
    offsets = np.cumsum([0, *(jet.n_leaves for jet in chosen)])
    if jets.law is None:
        return Jets(momenta, offsets, ids, children)
    return GinkgoJets(momenta, offsets, children, **jets.law, ids=ids)


COLLECTIONS = {
    "plain": lambda: random_jets([3, 0, 1, 5, 0, 0, 2, 4]),
    "named": lambda: random_jets([2, 1, 3, 0], ids={"event": [7, 7, 8, 9], "kind": ["q", "g", "g", "quark"]}),
    "simulated": lambda: ginkgo(12, rng=3),  # compiled: not for those who only ask which tests there are
    "empty": lambda: Jets.from_list([]),
    "true": lambda: Jets(np.ones((4, 4)), [0, 0, 3, 4], children=[[0, 1], [2, 3]]),
}
SLICES = [slice(None), slice(1, 3), slice(3, 1), slice(-2, None), slice(None, None, -1), slice(0, 100, 2), slice(5, 5)]


@functools.cache
def collection(name):
    return COLLECTIONS[name]()


@pytest.mark.parametrize("name", COLLECTIONS)
@pytest.mark.parametrize("where", SLICES, ids=str)
def test_slices_match_a_loop_over_jets(name, where):
    jets = collection(name)
    assert same(jets[where], one_by_one(jets, np.arange(len(jets))[where]))


@pytest.mark.parametrize("name", COLLECTIONS)
def test_masks_and_numbers_choose_jets(name):
    jets = collection(name)
    mask = jets.n_leaves > 1
    assert same(jets[mask], one_by_one(jets, np.flatnonzero(mask)))
    numbers = np.random.default_rng(1).integers(0, max(len(jets), 1), 2 * len(jets))
    assert same(jets[numbers], one_by_one(jets, numbers))
    assert same(jets[np.array([])], one_by_one(jets, []))


@pytest.mark.parametrize("name", COLLECTIONS)
def test_parts_put_together_again_are_the_whole(name):
    jets = collection(name)
    assert same(Jets.concatenate([jets[:2], jets[2:3], jets[3:]]), jets)


@pytest.mark.parametrize("name", COLLECTIONS)
def test_jets_can_be_sent_to_another_process(name):
    copy = pickle.loads(pickle.dumps(collection(name)))
    assert same(copy, collection(name))
    assert not copy.momenta.flags.writeable


def test_slices_without_steps_share_memory():
    jets = random_jets([3] * 10)
    assert np.shares_memory(jets[2:7].momenta, jets.momenta)
    assert np.shares_memory(jets[4].momenta, jets.momenta)


def test_jets_are_a_sequence():
    jets = collection("named")
    assert [jet.n_leaves for jet in jets] == jets.n_leaves.tolist() == [2, 1, 3, 0]
    assert isinstance(jets[-1], Jet)
    assert dict(jets[1].ids) == {"event": 7, "kind": "g"}
    assert repr(jets) == "Jets(n_jets=4, n_particles=6)"
    with pytest.raises(IndexError):
        jets[4]
    with pytest.raises(IndexError):
        jets[np.array([4])]


def test_ids_are_numbers_unless_given_and_stay_with_their_jet():
    jets = random_jets([1, 2, 3, 4])
    assert jets.ids["jet"].tolist() == [0, 1, 2, 3]
    assert jets[::-2].ids["jet"].tolist() == [3, 1]


def test_jets_never_change():
    momenta, event = np.ones((2, 4)), np.array([1, 2])
    jets = Jets(momenta, [0, 1, 2], {"event": event})
    momenta[0], event[0] = 7.0, 7
    assert jets.momenta[0, 0] == 1
    assert jets.ids["event"][0] == 1
    with pytest.raises(AttributeError, match="never changes"):
        jets.momenta = momenta
    with pytest.raises(ValueError, match="read-only"):
        jets.momenta[0] = 0
    with pytest.raises(TypeError):
        jets.ids["jet"] = event


def test_bad_jets_are_represented():
    jets = Jets.from_list([[[np.nan, 0, 0, 0]], [], [[-1.0, np.inf, 0, 0]]])
    assert jets.n_leaves.tolist() == [1, 0, 1]
    assert np.isnan(jets[0].momenta[0, 0])
    assert jets[1].momenta.shape == (0, 4)


def test_truth_is_there_or_said_to_be_missing():
    jets = collection("true")
    assert jets[1].hierarchy == Hierarchy.from_nested(((0, 1), 2))
    assert jets[2].hierarchy.n_leaves == 1
    assert jets[0].children.shape == (0, 2)
    with pytest.raises(ValueError, match="not known"):
        _ = random_jets([2])[0].hierarchy
    mixed = Jets.concatenate([ginkgo(2, rng=1), Jets.from_list([np.ones((3, 4))])])
    assert not mixed.has_truth
    assert mixed.law is None


def test_simulations_of_two_laws_keep_the_truth_and_no_law():
    both = Jets.concatenate([ginkgo(2, rng=1), ginkgo(2, rate=2.0, rng=1)])
    assert type(both) is Jets
    assert both.has_truth
    assert both.law is None


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ((np.ones((3, 3)), [0, 3]), ValueError, r"shape \(3, 3\); expected \(n, 4\)"),
        ((np.ones(4), [0, 1]), ValueError, r"shape \(4,\)"),
        (([[1, 2, 3, 4], [1, 2]], [0, 2]), ValueError, "rows of different length"),
        (([["a", "b", "c", "d"]], [0, 1]), TypeError, "must be an array of numbers"),
        ((np.ones((3, 4)), [0, 2]), ValueError, r"ends with the number of particles, 3; it is \[0 2\]"),
        ((np.ones((3, 4)), [1, 3]), ValueError, "begins with 0"),
        ((np.ones((3, 4)), []), ValueError, "begins with 0"),
        ((np.ones((3, 4)), [0, 2, 1, 3]), ValueError, "fall from 2 to 1 at jet 1"),
        ((np.ones((3, 4)), [0.0, 3.0]), TypeError, "offsets must hold integers"),
        ((np.ones((3, 4)), [0, 3], {"event": [1, 2]}), ValueError, r"ids\['event'\] has shape \(2,\)"),
        ((np.ones((3, 4)), [0, 3], None, [[0, 1]]), ValueError, r"children has shape \(1, 2\)"),
        ((np.ones((2, 4)), [0, 2], None, [[0.0, 1.0]]), TypeError, "children must hold integers"),
    ],
)
def test_bad_arrays_are_refused(arguments, kind, message):
    with pytest.raises(kind, match=message):
        Jets(*arguments)


def test_a_bad_jet_of_a_list_is_named():
    with pytest.raises(ValueError, match=r"jet 1 has shape \(2, 3\)"):
        Jets.from_list([np.ones((2, 4)), np.ones((2, 3))])
    with pytest.raises(ValueError, match="named by event, those before by jet"):
        Jets.concatenate([Jets.from_list([[]]), Jets.from_list([[]], {"event": [1]})])


# Awkward arrays.


@pytest.mark.parametrize("name", ["plain", "simulated", "empty"])
def test_awkward_arrays_hold_the_same_numbers(name):
    ak = pytest.importorskip("awkward")
    vector = pytest.importorskip("vector")
    jets = collection(name)
    array = jets.to_awkward()
    assert isinstance(array, vector.backends.awkward.MomentumArray4D)
    assert ak.num(array, axis=1).tolist() == jets.n_leaves.tolist()
    again = Jets.from_awkward(array)
    np.testing.assert_array_equal(again.momenta, jets.momenta)
    np.testing.assert_array_equal(again.offsets, jets.offsets)
    if len(jets.momenta):
        np.testing.assert_array_equal(ak.flatten(array.px), jets.momenta[:, 1])
        np.testing.assert_allclose(ak.flatten(array.pt), np.hypot(jets.momenta[:, 1], jets.momenta[:, 2]))


@pytest.mark.parametrize(
    "fields",
    [
        {"E": "E", "px": "px", "py": "py", "pz": "pz"},
        {"energy": "E", "px": "px", "py": "py", "pz": "pz"},
        {"t": "E", "x": "px", "y": "py", "z": "pz"},
        {"pt": "pt", "eta": "eta", "phi": "phi", "mass": "mass"},
        {"pt": "pt", "theta": "theta", "phi": "phi", "e": "E"},
        {"rho": "pt", "z": "pz", "phi": "phi", "tau": "mass"},
    ],
    ids=",".join,
)
def test_coordinates_of_any_kind_are_understood(fields):
    ak = pytest.importorskip("awkward")
    pytest.importorskip("vector")
    jets = ginkgo(20, rng=1)
    array = jets.to_awkward()
    plain = ak.zip({name: getattr(array, meaning) for name, meaning in fields.items()} | {"pdgId": array.E * 0})
    found = Jets.from_awkward(plain, {"event": np.arange(20) + 5})
    np.testing.assert_allclose(found.momenta, jets.momenta, rtol=1e-9, atol=1e-9)
    assert found.ids["event"][0] == 5
    named = Jets.from_awkward(ak.with_name(plain, "Momentum4D"))
    np.testing.assert_array_equal(named.momenta, found.momenta)


def test_single_precision_is_widened_before_it_is_used():
    ak = pytest.importorskip("awkward")
    pytest.importorskip("vector")
    numbers = np.float32([[30.1, 4.5, 0.1, 0.14]])
    array = ak.Array([[dict(zip(("pt", "eta", "phi", "mass"), row, strict=True)) for row in numbers]])
    found = Jets.from_awkward(ak.values_astype(array, np.float32)).momenta[0]
    pt, eta, phi, mass = numbers[0].astype(float)
    expected = [np.hypot(pt * np.cosh(eta), mass), pt * np.cos(phi), pt * np.sin(phi), pt * np.sinh(eta)]
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_regular_and_missing_entries_of_awkward_arrays():
    ak = pytest.importorskip("awkward")
    pytest.importorskip("vector")
    regular = ak.to_regular(random_jets([2, 2, 2]).to_awkward(), axis=1)
    assert Jets.from_awkward(regular).n_leaves.tolist() == [2, 2, 2]
    record = {"E": 1.0, "px": 0.0, "py": None, "pz": 0.0}
    assert np.isnan(Jets.from_awkward(ak.Array([[record], []])).momenta[0, 2])
    with pytest.raises(ValueError, match="jet 1 is None"):
        Jets.from_awkward(ak.Array([[record], None]))


def test_awkward_arrays_that_are_no_jets_are_refused():
    ak = pytest.importorskip("awkward")
    pytest.importorskip("vector")
    with pytest.raises(TypeError, match="expected an awkward array"):
        Jets.from_awkward([[1, 2]])
    with pytest.raises(TypeError, match=r"not 1 \* var \* int64"):
        Jets.from_awkward(ak.Array([[1, 2]]))
    with pytest.raises(ValueError, match="fields E, px; expected px, py or pt, phi"):
        Jets.from_awkward(ak.Array([[{"E": 1.0, "px": 1.0}]]))
    with pytest.raises(TypeError, match="field E must hold one number"):
        Jets.from_awkward(ak.Array([[{"E": "x", "px": 1.0, "py": 1.0, "pz": 1.0}]]))


# Packages that may be missing.


@pytest.mark.parametrize(
    ("missing", "extra", "call"),
    [
        ("awkward", "hep", lambda path: random_jets([2]).to_awkward()),
        ("vector", "hep", lambda path: random_jets([2]).to_awkward()),
        ("pyarrow", "parquet", lambda path: package.write(random_jets([2]), path / "x.parquet")),
        ("pyarrow", "parquet", lambda path: package.stream(path)),
    ],
)
def test_a_missing_package_is_named_with_its_extra(monkeypatch, tmp_path, missing, extra, call):
    if missing == "vector":
        pytest.importorskip("awkward")
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=rf"^{missing} is needed.*pip install 'palmette\[{extra}\]'$"):
        call(tmp_path)
