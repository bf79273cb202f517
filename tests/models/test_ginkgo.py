import itertools
import math
import pickle
from fractions import Fraction

import golden
import numpy as np
import pytest
from ginkgo_formulas import FORMULAS
from hypothesis import given
from hypothesis import strategies as st

from palmette import HierarchyPosterior, simulate
from palmette.hierarchy import Hierarchy
from palmette.models import Ginkgo
from palmette.models.particles import check_particles, check_totals
from palmette.models.split_model import SplitModel

LIKELIHOODS = ["ordered", "symmetric", "density", "literal"]
PAIR = [[5.0, 3.0, 0.0, 0.0], [5.0, -3.0, 0.0, 0.0]]


def exact_mass_squared(particles):
    sums = [sum(Fraction(float(x)) for x in column) for column in np.transpose(particles)]
    return sums[0] ** 2 - sum(x**2 for x in sums[1:])


def cluster_features(model, members):
    out = np.full(model.n_features, np.nan)
    sums = model.additive[list(members)].sum(axis=0)
    model.features(model.theta, model.n_leaves, len(members), sums, np.empty(0), out)
    return tuple(out)


def mass_squared(momenta, members):
    # As the model itself has it: "literal" has t as its first feature.
    return cluster_features(Ginkgo(momenta, 1.0, likelihood="literal"), members)[0]


def masks_of(n):
    return {m: [i for i in range(n) if m >> i & 1] for m in range(1, 1 << n)}


def splits_of(mask):
    lowest = mask & -mask
    sub = (mask - 1) & mask
    while sub:
        if sub & lowest:
            yield sub, mask ^ sub
        sub = (sub - 1) & mask


def slow_posterior(model):
    """log Z, MAP log potential, number of hierarchies, cluster probabilities: the recursions as written."""
    members = masks_of(model.n_leaves)
    features = {m: cluster_features(model, who) for m, who in members.items()}
    Z, M, count, psi = {}, {}, {}, {}
    for m, who in members.items():
        if len(who) == 1:
            Z[m], M[m], count[m] = 0.0, 0.0, 1
            continue
        psi[m] = {(L, R): model.score(model.theta, features[m], features[L], features[R]) for L, R in splits_of(m)}
        Z[m] = np.logaddexp.reduce([x + Z[L] + Z[R] for (L, R), x in psi[m].items()])
        M[m] = max(x + M[L] + M[R] for (L, R), x in psi[m].items())
        count[m] = sum(count[L] * count[R] for (L, R), x in psi[m].items() if x > -math.inf)
    root = (1 << model.n_leaves) - 1
    probability = dict.fromkeys(members, 0.0) | {root: 1.0}
    for m in sorted(psi, reverse=True):
        for (L, R), x in psi[m].items():
            if Z[m] > -math.inf:
                p = probability[m] * math.exp(x + Z[L] + Z[R] - Z[m])
                probability[L] += p
                probability[R] += p
    return Z[root], M[root], count[root], {tuple(members[m]): p for m, p in probability.items()}


@st.composite
def jets(draw, max_leaves=5):
    """Particles of any mass, some massless, some parallel, some twice."""
    axes = draw(st.lists(st.tuples(*[st.floats(-1, 1)] * 3), min_size=1, max_size=3))
    rows = []
    for _ in range(draw(st.integers(2, max_leaves))):
        x, y, z = draw(st.sampled_from(axes))
        scale = draw(st.sampled_from([0.0, 1.0, 30.0, 400.0]))
        mass = draw(st.one_of(st.just(0.0), st.floats(1e-3, 40.0)))
        p = np.array([x, y, z]) * scale
        rows.append([math.sqrt(mass**2 + p @ p), *p])
        if draw(st.booleans()) and len(rows) < max_leaves:
            rows.append(rows[-1])
    return np.array(rows)


@given(jets())
def test_mass_squared_is_exact_to_rounding(momenta):
    everyone = range(len(momenta))
    for size in range(1, len(momenta) + 1):
        for members in itertools.combinations(everyone, size):
            exact = exact_mass_squared(momenta[list(members)])
            energy = momenta[list(members), 0].sum()
            assert mass_squared(momenta, members) >= 0
            assert abs(mass_squared(momenta, members) - max(exact, 0)) <= 1e-14 * energy**2 + 1e-60


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@given(momenta=jets(), rate=st.floats(0.1, 20.0), t_cut=st.floats(1e-6, 300.0))
def test_score_matches_the_formula_on_every_split(likelihood, momenta, rate, t_cut):
    root_rate = 2 * rate
    model = Ginkgo(momenta, rate, t_cut, root_rate=root_rate, likelihood=likelihood)
    members = masks_of(model.n_leaves)
    features = {m: cluster_features(model, who) for m, who in members.items()}
    t = {m: mass_squared(momenta, who) for m, who in members.items()}
    for P in members:
        for L, R in splits_of(P):
            got = model.score(model.theta, features[P], features[L], features[R])
            left, right = ((t[side], len(members[side]) == 1) for side in (L, R))
            is_root = len(members[P]) == model.n_leaves
            wanted = FORMULAS[likelihood](t[P], left, right, rate, root_rate, t_cut, is_root)
            # √t_P − √t_L loses digits where the two are close: rounding of √t, over what remains.
            roots = math.sqrt(t[P]), math.sqrt(max(t[L], t[R]))
            remains = abs(roots[0] - roots[1])
            slack = 1e-12 + (1e-14 * (1 + rate) * roots[0] / remains * max(1, t[P] / remains**2) if remains else 1)
            assert math.isclose(got, wanted, rel_tol=1e-11, abs_tol=slack)
            assert got == model.score(model.theta, features[P], features[R], features[L])


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_score_is_impossible_but_never_nan_at_the_edges(likelihood):
    photon = [100.0, 100.0, 0.0, 0.0]
    lone = [5.0, 0.0, 0.0, 0.0]
    for particles in itertools.product([photon, lone, [0.0] * 4, [1e30, 1e30, 0, 0], [1e-30] * 4], repeat=3):
        if any(row[0] == 1e-30 for row in particles):
            particles = [[2e-30, 1e-30, 0, 0] if row[0] == 1e-30 else row for row in particles]
        for rate in (1e-30, 1.0, 1e30):
            for t_cut in (1e-30, 1.0, 1e30):
                model = Ginkgo(list(particles), rate, t_cut, likelihood=likelihood)
                members = masks_of(3)
                features = {m: cluster_features(model, who) for m, who in members.items()}
                for P in members:
                    for L, R in splits_of(P):
                        score = model.score(model.theta, features[P], features[L], features[R])
                        assert score < math.inf  # and so neither NaN nor +inf


def test_ordered_forbids_a_remainder_of_zero():
    model = Ginkgo(PAIR, 1.5, 16.0)
    parent, child = (5.0, -3.0, 0.06, 0.0), (5.0, -math.inf, 0.0, 0.0)
    assert model.score(model.theta, parent, child, (2.0, -math.inf, 0.0, 0.0)) == -math.inf
    assert math.isfinite(model.score(model.theta, parent, child, (0.0, -math.inf, 0.0, 0.0)))


def test_two_leaves_by_hand():
    t, K = 100.0, -math.log(1 - math.exp(-1.5))
    both = 2 * (K + math.log(1 - math.exp(-1.5 * 16 / t))) - math.log(4 * math.pi)
    h = Hierarchy.from_nested((0, 1))
    assert Ginkgo(PAIR, 1.5, 16.0).log_potential(h) == pytest.approx(both, abs=1e-13)
    # t = 100 splits into 16 and 16: (K + log 1.5 − log 100 − 1.5 · 16/100) twice
    one = K + math.log(1.5) - math.log(t) - 1.5 * 0.16
    assert Ginkgo(PAIR, 1.5, likelihood="literal").log_potential(h) == pytest.approx(2 * one, abs=1e-13)


def test_parallel_particles_may_merge_under_symmetric_whatever_the_rounding():
    row = np.array([0.1 * math.sqrt(1 + 49), 0.3, 0.2, 0.6]) * 11
    assert row[0] ** 2 > row[1:] @ row[1:]
    model = Ginkgo([row] * 7, 1.0, 1e-3, likelihood="symmetric")
    chain = 0
    for leaf in range(1, 7):
        chain = (chain, leaf)
    assert math.isfinite(model.log_potential(Hierarchy.from_nested(chain)))


def test_one_leaf_has_an_empty_product():
    model = Ginkgo([[5.0, 3.0, 0.0, 0.0]], 1.5, 16.0)
    assert model.n_leaves == 1
    assert not any(map(math.isnan, cluster_features(model, [0])))


@pytest.mark.parametrize("likelihood", [name for name in LIKELIHOODS if name != "density"])
@pytest.mark.parametrize("jet", golden.JETS, ids=lambda jet: f"{len(jet.momenta)} leaves")
def test_golden_jets(jet, likelihood):
    model = Ginkgo(jet.momenta, golden.RATE, golden.T_CUT, likelihood=likelihood)
    wanted = getattr(jet, likelihood)
    log_partition, map_log_potential, count, probabilities = slow_posterior(model)
    assert log_partition == pytest.approx(wanted.log_partition, abs=1e-8)
    assert map_log_potential == pytest.approx(wanted.map_log_potential, abs=1e-8)
    assert count == wanted.n_hierarchies
    best = model.log_potential(Hierarchy.from_nested(wanted.map_tree))
    assert best == pytest.approx(wanted.map_log_potential, abs=1e-8)
    for cluster, probability in wanted.marginals.items():
        assert probabilities[cluster] == pytest.approx(probability, abs=1e-8)


@pytest.mark.parametrize("jet", golden.JETS, ids=lambda jet: f"{len(jet.momenta)} leaves")
def test_golden_truth(jet):
    model = Ginkgo(jet.momenta, golden.RATE, golden.T_CUT)
    assert model.log_potential(Hierarchy.from_nested(jet.truth)) == pytest.approx(jet.truth_log_potential, abs=1e-8)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_root_rate_changes_the_root_split_only(likelihood):
    momenta = golden.JETS[0].momenta
    plain, other = (Ginkgo(momenta, 1.5, 16.0, root_rate=r, likelihood=likelihood) for r in (None, 3.0))
    for members in ([0, 1], [2, 3, 4], [1, 2, 3, 4]):
        assert cluster_features(plain, members) == cluster_features(other, members)
    assert cluster_features(plain, range(5)) != cluster_features(other, range(5))
    assert (plain.root_rate, other.root_rate) == (1.5, 3.0)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_is_one_class_to_the_outside(likelihood):
    model = Ginkgo(PAIR, 1.5, 16.0, likelihood=likelihood, labels=["a", "b"])
    assert isinstance(model, Ginkgo)
    assert isinstance(model, SplitModel)
    copy = pickle.loads(pickle.dumps(model))
    assert type(copy) is type(model)
    assert repr(copy) == repr(model)
    assert repr(model).startswith(f"Ginkgo(n_leaves=2, likelihood={likelihood!r}, rate=1.5")
    assert (copy.likelihood, copy.labels, copy.rate, copy.t_cut) == (likelihood, ("a", "b"), 1.5, 16.0)
    assert np.array_equal(copy.momenta, PAIR)
    assert copy.score is model.score


@pytest.mark.parametrize(
    ("momenta", "message"),
    [
        ([], "shape"),
        (np.empty((0, 4)), "empty"),
        ([1.0, 2.0, 3.0, 4.0], "shape"),
        ([[1.0, 2.0, 3.0]], r"shape \(1, 3\); expected \(n, 4\)"),
        ([[5.0, math.nan, 0, 0]], "nan at row 0, column 1"),
        ([[math.inf, 0, 0, 0]], "inf at row 0, column 0"),
        ([[5.0, 0, 0, 0], [-5.0, 0, 0, 0]], "row 1 of momenta.*negative energy"),
        ([[1e31, 0, 0, 0]], "row 0 of momenta.*larger units"),
    ],
)
def test_bad_momenta_are_refused(momenta, message):
    with pytest.raises(ValueError, match=message):
        Ginkgo(momenta, 1.5, 16.0)


def test_momenta_that_are_no_numbers_are_refused():
    with pytest.raises(TypeError, match="momenta must be an array of real numbers"):
        Ginkgo([["a", "b", "c", "d"]], 1.5, 16.0)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, 1e31])
@pytest.mark.parametrize("name", ["rate", "t_cut", "root_rate"])
def test_parameters_must_be_positive(name, value):
    arguments = {"rate": 1.5, "t_cut": 16.0, name: value}
    with pytest.raises(ValueError, match=f"{name} is .*; it must be positive"):
        Ginkgo(PAIR, **arguments, likelihood="symmetric")


@pytest.mark.parametrize("value", ["1.5", True, [1.5], 1j])
def test_parameters_must_be_numbers(value):
    with pytest.raises(TypeError, match="rate must be a number"):
        Ginkgo(PAIR, value, 16.0)


@pytest.mark.parametrize("likelihood", ["ordered", "symmetric"])
def test_t_cut_is_needed_where_it_enters(likelihood):
    with pytest.raises(ValueError, match=f"{likelihood}.*needs t_cut"):
        Ginkgo(PAIR, 1.5, likelihood=likelihood)


@pytest.mark.parametrize("likelihood", ["Ordered", None, ["ordered"]])
def test_unknown_likelihoods_are_refused_with_the_choices(likelihood):
    with pytest.raises(ValueError, match="choose one of 'ordered', 'symmetric', 'density', 'literal'"):
        Ginkgo(PAIR, 1.5, 16.0, likelihood=likelihood)


def test_a_spacelike_particle_counts_as_massless_with_a_warning():
    with pytest.warns(UserWarning, match="1 of 2 particles have E² < .p.².*row 1.*count as massless") as caught:
        model = Ginkgo([[5.0, 3.0, 0, 0], [3.0, -3.1, 0, 0]], 1.5, 16.0, likelihood="symmetric")
    assert caught[0].filename == __file__
    assert cluster_features(model, [1])[0] == 0.0


def test_rounding_below_zero_is_silent():
    momenta = np.float32([[0.7, 0.1, 0.3], [0.2, 0.9, 0.4]])
    rows = np.column_stack([np.float32(np.linalg.norm(momenta, axis=1)), momenta])
    below = [[1.0, 1.0 + 1e-13, 0, 0], *rows.tolist()]
    assert cluster_features(Ginkgo(below, 1.5, likelihood="literal"), [0])[0] == 0.0


def test_a_spacelike_total_is_refused():
    with (
        pytest.warns(match="2 of 2 particles"),
        pytest.raises(ValueError, match=r"total momentum of jet 0.*E² < \|p\|²"),
    ):
        Ginkgo([[1.0, 3.0, 0, 0], [1.0, 3.0, 0, 0]], 1.5, 16.0)


def test_many_jets_are_checked_at_once():
    rows = np.array([[5.0, 3.0, 0, 0], [5.0, -3.0, 0, 0], [1.0, 2.0, 0, 0]])
    with pytest.warns(UserWarning, match="1 of 3 particles"):
        assert np.array_equal(check_particles(rows), rows)
    check_totals(rows, np.array([0, 1, 3]))
    with pytest.raises(ValueError, match="jet 1"):
        check_totals(rows, np.array([0, 2, 3]))


def test_the_density_of_momenta_integrates_to_the_probability_of_the_split():
    # All ways to share the momentum of a parent at rest, points spread evenly over the box that holds them; against how
    # often the simulator lets it split just once.
    mass, t_cut, rate = 10.0, 25.0, 1.5
    rng = np.random.default_rng(0)
    count = 60_000
    energy, (x, y, z) = rng.uniform(0, mass, count), rng.uniform(-mass / 2, mass / 2, (3, count))
    t_left = energy**2 - x**2 - y**2 - z**2
    t_right = (mass - energy) ** 2 - x**2 - y**2 - z**2
    values = [
        math.exp(FORMULAS["density"](mass**2, (left, True), (right, True), rate, rate, t_cut, True))
        if left >= 0.0 and right >= 0.0 and energy[i] <= mass
        else 0.0
        for i, (left, right) in enumerate(zip(t_left.tolist(), t_right.tolist(), strict=True))
    ]
    volume = mass * mass**3
    integral, error = volume * np.mean(values), volume * np.std(values) / math.sqrt(count)
    jets = simulate.ginkgo(20_000, preset=None, momentum=0.0, mass=mass, rate=rate, t_cut=t_cut, rng=1)
    share = float((jets.n_leaves == 2).mean())
    assert abs(integral - share) < 4.0 * math.hypot(error, math.sqrt(share * (1 - share) / 20_000))
    assert error < 0.02


def test_single_particles_are_light_and_other_clusters_heavy_in_the_density():
    light, heavy = [[5.0, 3.0, 0, 0], [5.0, -3.0, 0, 0]], [[9.0, 3.0, 0, 0], [5.0, -3.0, 0, 0]]
    for momenta, t_cut, possible in [(light, 16.0, True), (heavy, 16.0, False), (light, 100.0, False)]:
        posterior = HierarchyPosterior(Ginkgo(momenta, 1.5, t_cut, likelihood="density"))
        assert (posterior.log_partition > -math.inf) == possible
