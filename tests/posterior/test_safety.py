"""Threads, forks, pickles, interrupts, caches and progress bars: none of them changes a number or is in the way."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from other_processes import answer_to_an_interrupt, in_a_fork, may_fork, needs_fork, needs_signals, run

from palmette import HierarchyPosterior, progress
from palmette import threads as schedule
from palmette.models import Correlation, Dasgupta, Ginkgo, SumOfSquares, Uniform
from palmette.passes.hierarchies.full import FullHierarchyPasses


def weights(n, seed=0):
    w = np.triu(np.random.default_rng(seed).random((n, n)), 1)
    return w + w.T


def jet(n):
    momenta = np.random.default_rng(1).normal(size=(n, 4)) * 10
    momenta[:, 0] = np.sqrt(np.square(momenta[:, 1:]).sum(axis=1) + 1.0)
    return Ginkgo(momenta, rate=1.5, t_cut=9.0)


MODELS = {
    "fast": lambda n: Dasgupta(weights(n), 0.3),
    "with sums done again": lambda n: Dasgupta(weights(n), 1e3),
    "with ties": lambda n: Correlation(np.round(weights(n)) - 0.5, 2.0),
    "general": jet,
}


def answers(post):
    """Everything that a pass over the trellis computes."""
    return {
        "log Z": post._inside,
        "log M": post._maximum,
        "cluster probabilities": post.cluster_probability_array(),
        "sizes": post.expected_lca_size(),
        "entropy": post.entropy,
        "divergence": post.kl(HierarchyPosterior(Uniform(post.n_leaves), threads=1)),
    }


# Threads.


@pytest.mark.parametrize("n", [13, 14])
@pytest.mark.parametrize("name", MODELS)
def test_no_bit_of_an_answer_depends_on_the_number_of_threads(name, n, monkeypatch):
    monkeypatch.setattr(schedule, "_SHORTEST", 1e3)  # many short slices, so that threads do share the work
    model = MODELS[name](n)
    one, *others = (answers(HierarchyPosterior(model, threads=threads)) for threads in (1, 2, 3))
    for other in others:
        for question, answer in one.items():
            np.testing.assert_array_equal(other[question], answer, err_msg=question)


def test_eight_threads_that_ask_at_once_wait_for_one_computation(monkeypatch):
    calls = []
    inside = FullHierarchyPasses.inside

    def counted(self):
        calls.append(self)
        return inside(self)

    monkeypatch.setattr(FullHierarchyPasses, "inside", counted)
    post = HierarchyPosterior(Dasgupta(weights(14), 0.3), threads=2)
    start = threading.Barrier(8)

    def ask(_):
        start.wait()
        return post.log_partition, post.cluster_probability_array(), post.map(), post.entropy

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, range(8)))
    assert len(calls) == 1
    first = found[0]
    for log_z, mu, best, entropy in found:
        assert log_z == first[0]
        assert mu is first[1]
        assert best == first[2]
        assert entropy == first[3]


def test_many_posteriors_in_many_threads_do_not_disturb_each_other():
    def solve(job):
        kind, seed = job
        n = 9 + seed % 5
        w = weights(n, seed)
        points = np.random.default_rng(seed).normal(size=(n, 2))
        model = [Dasgupta(w, 0.5), Correlation(w - 0.5), SumOfSquares(points), Uniform(n)][kind]
        post = HierarchyPosterior(model, threads=1 + seed % 3)
        return post.log_partition, post.entropy, post.sample(20, rng=seed).masks.tolist()

    jobs = [(kind, seed) for seed in range(10) for kind in range(4)]
    alone = [solve(job) for job in jobs]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(solve, jobs))
    assert together == alone


def test_an_error_in_a_worker_reaches_the_caller_and_leaves_the_posterior_usable(monkeypatch):
    post = HierarchyPosterior(Dasgupta(weights(13), 0.3), threads=2)
    with monkeypatch.context() as patch:
        patch.setattr(FullHierarchyPasses, "inside", lambda self: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            _ = post.log_partition
    assert np.isfinite(post.log_partition)


# Forks.


@needs_fork
@may_fork
@pytest.mark.parametrize("used", [False, True], ids=["fresh", "after the parent used threads"])
def test_a_forked_child_computes_the_same(used, monkeypatch):
    monkeypatch.setattr(schedule, "_SHORTEST", 1e3)
    model = Dasgupta(weights(13), 0.3)
    expected = HierarchyPosterior(model, threads=2).log_partition
    post = HierarchyPosterior(model, threads=2)
    if used:
        _ = post.entropy
    assert in_a_fork(lambda: post.log_partition) == expected
    assert in_a_fork(lambda: HierarchyPosterior(model, threads=2).log_partition) == expected


@needs_fork
@may_fork
def test_a_child_forked_while_a_thread_computes_does_not_wait_for_it():
    post = HierarchyPosterior(Dasgupta(weights(13), 0.3), threads=2)
    expected = HierarchyPosterior(post.model).log_partition
    busy, done = threading.Event(), threading.Event()

    def hold():
        with post._lock():
            busy.set()
            done.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        assert busy.wait(10)
        assert in_a_fork(lambda: post.log_partition) == expected
    finally:
        done.set()
        holder.join()


# Pickles.


@pytest.fixture
def conditioned():
    post = HierarchyPosterior(Dasgupta(weights(13), 0.3, labels=list("abcdefghijklm")), threads=2)
    return post.condition(require=[["a", "b"]], forbid=[["c", "d"]])


@pytest.mark.parametrize("duplicate", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy], ids=["pickle", "copy"])
def test_a_copy_has_the_conditions_and_the_options_but_no_tables(conditioned, duplicate):
    expected = conditioned.log_partition, conditioned.count
    again = duplicate(conditioned)
    assert set(again._values) == {"passes"}
    assert repr(again) == repr(conditioned)
    assert again.labels == conditioned.labels
    assert vars(again._resources) == vars(conditioned._resources)
    assert (again.log_partition, again.count) == expected
    assert again.cluster_probability(["a", "b"]) == 1.0
    assert again.cluster_probability(["c", "d"]) == 0.0


def test_a_pickle_is_as_small_as_the_model(conditioned):
    before = len(pickle.dumps(conditioned))
    _ = conditioned.entropy, conditioned.map()
    assert len(pickle.dumps(conditioned)) == before < len(pickle.dumps(conditioned.model)) + 1000


# Memory.


def test_clear_frees_the_tables_and_they_come_back_the_same():
    post = HierarchyPosterior(Dasgupta(weights(10), 0.3))
    before = {name: np.copy(answer) for name, answer in answers(post).items()}
    kept = [weakref.ref(array) for array in (post._inside, post._maximum, post._outside, post.passes.tables.data.table)]
    assert all(reference() is not None for reference in kept)
    post.clear()
    gc.collect()
    assert all(reference() is None for reference in kept)
    for name, answer in answers(post).items():
        np.testing.assert_array_equal(answer, before[name])


def test_clear_frees_the_tables_at_once():
    """Without waiting for the garbage collector, which may not come for a long time."""
    post = HierarchyPosterior(Dasgupta(weights(13), 0.3))
    _ = post.entropy
    table = weakref.ref(post.passes.tables.data.table)
    gc.disable()
    try:
        post.clear()
        assert table() is None
    finally:
        gc.enable()


def test_tables_cannot_be_changed_by_accident():
    post = HierarchyPosterior(Uniform(4))
    with pytest.raises(ValueError, match="read-only"):
        post.cluster_probability_array()[3] = 0.5


# Other posteriors.


@pytest.mark.parametrize("condition", [{"forbid": [[0, 1]]}, {"require": [[0, 1]]}], ids=["forbidden", "required"])
def test_the_divergence_from_a_posterior_that_forbids_what_occurs_is_infinite(condition):
    post = HierarchyPosterior(Uniform(5))
    given = post.condition(**condition)
    assert post.kl(given) == np.inf
    assert given.kl(post) == pytest.approx(post.log_partition - given.log_partition, rel=1e-12)


# Interrupts.


INTERRUPTED = """
    import numpy as np
    from palmette import HierarchyPosterior, progress
    from palmette.models import Dasgupta, Ginkgo

    progress._PATIENCE = 0.05
    rng = np.random.default_rng(0)
    if {general}:
        momenta = rng.normal(size=({n}, 4))
        momenta[:, 0] = 5.0
        model = Ginkgo(momenta, rate=1.5, t_cut=1.0)
    else:
        w = rng.random(({n}, {n}))
        model = Dasgupta(w + w.T, 0.1)
    post = HierarchyPosterior(model, progress=True, threads={threads})
    try:
        print(post.log_partition, flush=True)
    except KeyboardInterrupt:
        print("interrupted", HierarchyPosterior(Dasgupta(np.ones((13, 13)))).count, flush=True)
"""


@needs_signals
@pytest.mark.parametrize(
    ("general", "n", "threads"),
    [
        (True, 20, 2),
        pytest.param(True, 20, 1, marks=pytest.mark.slow),
        pytest.param(False, 22, 2, marks=pytest.mark.slow),
    ],
)
def test_an_interrupt_ends_the_work(general, n, threads):
    line = answer_to_an_interrupt(INTERRUPTED.format(general=general, n=n, threads=threads), "summing hierarchies")
    assert line == "interrupted 316234143225\n"


# The disk cache.

CACHED = """
    import numpy as np
    from palmette import HierarchyPosterior
    from palmette.models import Dasgupta
    from palmette.models import features
    from palmette.recursions.hierarchies import inside

    post = HierarchyPosterior(Dasgupta(np.ones((10, 10))))
    post.log_partition
    for kernel in (inside.solve, features.fill_subset_features):
        print(sum(kernel.stats.cache_hits.values()), sum(kernel.stats.cache_misses.values()))
"""


def test_a_second_process_finds_every_kernel_on_disk():
    _ = HierarchyPosterior(Dasgupta(np.ones((10, 10)))).log_partition
    out, errors = run(CACHED).communicate(timeout=300)
    assert errors == ""
    for line in out.splitlines():
        assert line == "1 0"
    assert len(out.splitlines()) == 2


# The progress bar.


@pytest.fixture
def impatient(monkeypatch):
    """A bar that appears at once and at every step."""
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    monkeypatch.setattr(progress, "_INTERVAL", -1.0)
    monkeypatch.setattr(schedule, "_SHORTEST", 1e3)


def ask_everything(show, threads=2):
    post = HierarchyPosterior(Dasgupta(weights(13), 0.3), progress=show, threads=threads)
    _ = post.log_partition, post.map(), post.entropy
    post.sample(10, rng=0)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_bar_is_drawn_on_stderr_and_wiped(impatient, capsys, threads):
    ask_everything(True, threads)
    out, errors = capsys.readouterr()
    assert out == ""
    assert errors.endswith("\r\x1b[K")
    for title in ("summing hierarchies", "finding the best hierarchy", "cluster probabilities", "drawing hierarchies"):
        assert f"{title}, n = 13" in errors
    assert "100 %" in errors
    shares = [int(text.split("%")[0].split()[-1]) for text in errors.split("\r\x1b[K") if "%" in text]
    assert all(0 <= share <= 100 for share in shares)


def test_nobody_sees_a_bar_who_did_not_ask_for_one(impatient, capsys):
    ask_everything(False)
    ask_everything(None)  # stderr is no terminal here
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_a_bar_unasked(impatient, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    ask_everything(None)
    out, errors = capsys.readouterr()
    assert out == ""
    assert "%" in errors


def test_short_work_draws_no_bar_even_if_asked(capsys):
    _ = HierarchyPosterior(Uniform(8), progress=True).log_partition
    assert capsys.readouterr() == ("", "")
