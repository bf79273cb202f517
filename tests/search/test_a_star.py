"""A hierarchy with a proof, against the full trellis; and what is proved when time or memory runs out."""

from __future__ import annotations

import functools
import importlib
import itertools
import types

import numpy as np
import pytest
from cases import Tilted, as_function
from random_hierarchies import caterpillar

from palmette.models import Correlation, Dasgupta, Ginkgo, SplitFunction, SumOfSquares, Uniform
from palmette.models.base import Model
from palmette.models.bounds import dasgupta_bound
from palmette.passes.hierarchies.full import FullHierarchyPasses
from palmette.search import Found, a_star

module = importlib.import_module("palmette.search.a_star")  # its name in the package is that of the function


def symmetric(entries, n):
    w = np.zeros((n, n))
    w[np.triu_indices(n, 1)] = entries(n * (n - 1) // 2)
    return w + w.T


def particles(rng, n):
    p = rng.standard_normal((n, 3))
    return np.column_stack([np.sqrt((p**2).sum(axis=1) + rng.random(n)), p])


def jet(likelihood):
    return lambda rng, n: Ginkgo(
        particles(rng, n), rng.choice([0.3, 1.5]), rng.choice([0.1, 1.0, 4.0]), likelihood=likelihood
    )


def table_model(rng, n):
    """Any function of a split; some splits, or most, are forbidden."""
    table = rng.standard_normal((1 << n, 1 << n))
    table[rng.random(table.shape) < rng.choice([0.0, 0.3, 0.9])] = -np.inf
    return SplitFunction(n, lambda left, right: table[left, right])


def tilted(rng, n):
    """A user's model, without a bound, that forbids some splits."""
    x, w = 3 * rng.random((n, 1)), symmetric(rng.random, n)
    return Tilted(n, theta=[1.0, rng.choice([0.0, 0.1, 0.5])], additive=x, pairwise=[w])


MODELS = {
    "uniform": lambda rng, n: Uniform(n),
    "dasgupta": lambda rng, n: Dasgupta(symmetric(rng.random, n)),
    "dasgupta, any sign": lambda rng, n: Dasgupta(symmetric(rng.standard_normal, n)),
    "dasgupta, ties": lambda rng, n: Dasgupta(symmetric(lambda m: rng.integers(-1, 3, m), n)),
    "correlation": lambda rng, n: Correlation(symmetric(rng.standard_normal, n)),
    "correlation, ties": lambda rng, n: Correlation(symmetric(lambda m: rng.integers(-2, 2, m), n)),
    "sums of squares": lambda rng, n: SumOfSquares(rng.standard_normal((n, 2))),
    "ordered": jet("ordered"),
    "symmetric": jet("symmetric"),
    "literal": jet("literal"),
    "split function": table_model,
    "user's": tilted,
}


# All models run in the same kernels, and these do in every run: a separable model, jets, which forbid splits, and
# a user's.
TELLING = {"dasgupta", "dasgupta, any sign", "dasgupta, ties", "ordered", "split function", "user's"}


def kinds(*names):
    return [pytest.param(name, marks=[] if name in TELLING else pytest.mark.slow) for name in names]


def best_log_potential(model):
    return FullHierarchyPasses(as_function(model) if isinstance(model, Tilted) else model).maximum()[-1]


def is_same(one, two):
    return one == two or abs(one - two) <= 1e-10 * (1 + abs(one))


def start_from_caterpillar(monkeypatch):
    """The search begins with a bad hierarchy, so that nothing but the search itself finds the best one."""

    def known(model):
        hierarchy = caterpillar(model.n_leaves, model.labels)
        return Found(hierarchy, model.log_potential(hierarchy))

    monkeypatch.setattr(module, "_known", known)


def start_small(monkeypatch):
    """The tables of the search are full and crowded at once."""
    first_state = module.walk.first_state

    def small(n):
        state = first_state(n)
        walk = module.walk
        small = dict.fromkeys(walk.OF_CLUSTERS | walk.OF_SPLITS, 4) | dict.fromkeys(walk.OF_HASHING, 8)
        return state._replace(**{name: getattr(state, name)[:size].copy() for name, size in small.items()})

    monkeypatch.setattr(module.walk, "first_state", small)


def assert_proved(found, model):
    assert is_same(found.log_potential, best_log_potential(model))
    assert found.log_potential == found.bound == model.log_potential(found.hierarchy)
    assert found.gap == 0.0
    assert found.n_expanded <= found.n_clusters == 2**model.n_leaves - 1


@pytest.mark.parametrize("kind", kinds(*MODELS))
def test_the_best_hierarchy_is_that_of_the_full_trellis(kind, monkeypatch):
    for seed in range(112):
        if seed == (0 if kind == "user's" else 28):
            start_from_caterpillar(monkeypatch)
        if seed == 84:
            start_small(monkeypatch)
        model = MODELS[kind](np.random.default_rng(seed), 2 + seed % 7)
        assert_proved(a_star(model), model)


class TooLow(Correlation):
    """The bound of another model, which does not hold for this one."""

    bound = staticmethod(dasgupta_bound)


def test_a_bound_that_is_too_low_gives_worse_hierarchies(monkeypatch):
    start_from_caterpillar(monkeypatch)
    worse = 0
    for seed in range(30):
        w = symmetric(np.random.default_rng(seed).random, 6) - 0.3
        found, best = a_star(TooLow(w)), best_log_potential(Correlation(w))
        assert found.log_potential <= best + 1e-9
        worse += not is_same(found.log_potential, best)
    assert worse > 10


def groups(n, rng):
    """Three clear groups: similar within, hardly between."""
    group = np.arange(n) % 3
    return np.where(group[:, None] == group, 1.0, 0.05) * symmetric(lambda m: 0.8 + 0.2 * rng.random(m), n)


def test_twenty_leaves_in_clear_groups_are_proved_by_a_few_clusters():
    rng = np.random.default_rng(4)
    found = a_star(Dasgupta(groups(20, rng)))
    assert found.gap == 0.0
    assert found.n_expanded < 200  # of a million
    assert found.n_clusters == 2**20 - 1
    assert {frozenset(range(i, 20, 3)) for i in range(3)} <= set(map(frozenset, found.hierarchy.clusters()))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dasgupta", "correlation", "sums of squares", "ordered", "split function"])
def test_twelve_leaves_match_the_full_trellis_from_a_bad_start(kind, monkeypatch):
    start_from_caterpillar(monkeypatch)
    model = MODELS[kind](np.random.default_rng(2), 12)
    assert_proved(a_star(model), model)


@pytest.mark.parametrize("kind", ["dasgupta, any sign", "ordered", "split function"])
def test_splits_of_settled_clusters_make_room_at_any_time(kind, monkeypatch):
    start_from_caterpillar(monkeypatch)
    start_small(monkeypatch)
    make_room, dropped = module._Search._make_room_for_splits, []

    def compact_first(self, more):
        before = int(self.state.numbers[module.walk.SPLITS])
        module.walk.compact(self.state)
        dropped.append(before - self.state.numbers[module.walk.SPLITS])
        make_room(self, more)

    monkeypatch.setattr(module._Search, "_make_room_for_splits", compact_first)
    for seed in range(10):
        model = MODELS[kind](np.random.default_rng(seed), 8)
        assert_proved(a_star(model), model)
    assert any(dropped)


def test_memory_of_settled_clusters_is_used_again(monkeypatch):
    compact, called = module.walk.compact, []
    monkeypatch.setattr(module.walk, "compact", lambda state: called.append(compact(state)))
    a_star(MODELS["split function"](np.random.default_rng(0), 11))
    assert called


def clock(monkeypatch, ticks):
    """Time runs out when it has been asked for so often."""
    counter = itertools.count(-ticks)
    monkeypatch.setattr(module, "time", types.SimpleNamespace(monotonic=lambda: float(next(counter) > 0)))


@pytest.mark.parametrize(
    "kind", kinds("dasgupta", "correlation", "sums of squares", "ordered", "literal", "split function")
)
def test_whenever_time_runs_out_the_bound_holds(kind, monkeypatch):
    start_from_caterpillar(monkeypatch)
    monkeypatch.setattr(module, "_BUDGET", 40)
    model = MODELS[kind](np.random.default_rng(11), 9)
    best, bounds = best_log_potential(model), []
    for ticks in [0, 1, 2, 5, 10, 20, 50, 100, 1000, 100_000]:
        clock(monkeypatch, ticks)
        found = a_star(model, seconds=1.0)
        bounds.append(found.bound)
        assert model.log_potential(found.hierarchy) == found.log_potential <= best + 1e-9
        assert found.bound >= best - 1e-9 * abs(best)
        assert found.gap == max(found.bound - found.log_potential, 0.0)
    assert all(later <= earlier + 1e-9 for earlier, later in itertools.pairwise(bounds))
    assert bounds[0] > bounds[-1]
    assert is_same(bounds[-1], best)


def test_no_time_gives_what_is_known_and_a_bound():
    model = MODELS["dasgupta"](np.random.default_rng(1), 63)
    found = a_star(model, seconds=0)
    assert found.hierarchy.n_leaves == 63
    assert found.n_expanded == 0
    assert found.log_potential <= found.bound < 0.0


def test_a_model_without_a_bound_proves_nothing_without_time():
    found = a_star(table_model(np.random.default_rng(1), 5), seconds=0)
    assert found.bound == found.gap == np.inf


@functools.cache
def best_of_eleven_leaves(kind):
    return best_log_potential(MODELS[kind](np.random.default_rng(6), 11))


@pytest.mark.parametrize("kind", ["dasgupta, any sign", "split function"])
@pytest.mark.parametrize("max_memory", [1, 100_000, 1_000_000])
def test_whenever_memory_runs_out_the_bound_holds(kind, max_memory, monkeypatch):
    start_from_caterpillar(monkeypatch)
    model = MODELS[kind](np.random.default_rng(6), 11)
    found, best = a_star(model, max_memory=max_memory), best_of_eleven_leaves(kind)
    assert model.log_potential(found.hierarchy) == found.log_potential <= best + 1e-9
    assert found.bound >= best
    assert found.gap > 0.0 or max_memory == 1_000_000


def test_a_function_of_too_many_leaves_is_not_even_begun():
    asked = []

    def log_psi(left, right):
        asked.append(len(left))
        return np.zeros(len(left))

    found = a_star(SplitFunction(50, log_psi))
    assert found.bound == np.inf
    assert max(asked) < 50 * 50


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        SplitFunction(5, lambda left, right: np.full(len(left), -np.inf)),
        Ginkgo(particles(np.random.default_rng(0), 5), 1.5, 1e6),
        Ginkgo(particles(np.random.default_rng(0), 5), 1.5, 1e6, likelihood="symmetric"),
        Ginkgo([[2.0, 2.0, 0.0, 0.0]] * 5, 1.5, likelihood="literal"),
    ],
    ids=["split function", "ordered", "symmetric", "literal"],
)
def test_impossible_data_is_proved_to_be_impossible(model):
    found = a_star(model)
    assert found.log_potential == found.bound == -np.inf
    assert found.gap == 0.0
    assert found.hierarchy.n_leaves == 5


@pytest.mark.parametrize("kind", kinds(*(name for name in MODELS if name != "user's")))
@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_leaves(kind, n):
    model = MODELS[kind](np.random.default_rng(n), n)
    found = a_star(model)
    assert found.gap == 0.0
    assert found.n_clusters == 2**n - 1
    assert is_same(found.log_potential, best_log_potential(model))


def test_sixty_three_leaves_are_the_most():
    found = a_star(Dasgupta(np.zeros((63, 63))))
    assert (found.log_potential, found.gap, found.n_clusters) == (0.0, 0.0, 2**63 - 1)
    for model in (Uniform(64), SplitFunction(64, lambda left, right: np.zeros(len(left)))):
        with pytest.raises(ValueError, match=r"at most 63 leaves, not 64; .*beam"):
            a_star(model)


def test_what_is_no_model_of_hierarchies_is_refused():
    with pytest.raises(TypeError, match=r"expected a model of hierarchies.*Dasgupta"):
        a_star(Model(3))


@pytest.mark.parametrize("seconds", [-1, "1", float("nan"), True])
def test_a_time_limit_is_a_number(seconds):
    with pytest.raises(ValueError, match=r"seconds is .*; expected how long to search"):
        a_star(Uniform(3), seconds=seconds)


@pytest.mark.parametrize("max_memory", [0, -5, "all"])
def test_a_memory_limit_is_a_number_of_bytes(max_memory):
    with pytest.raises(ValueError, match=r"max_memory is .*; expected a positive number of bytes"):
        a_star(Uniform(3), max_memory=max_memory)


@pytest.mark.parametrize("kind", kinds("dasgupta, ties", "correlation, ties", "split function"))
def test_the_same_input_gives_the_same_hierarchy(kind):
    for seed in range(10):
        one, two = (a_star(MODELS[kind](np.random.default_rng(seed), 7)) for _ in range(2))
        assert one == two


def test_labels_of_the_model_are_kept():
    w = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0.0]])
    assert a_star(Dasgupta(w, labels=["x", "y", "z"])).hierarchy.to_newick() == "((x,z),y);"
