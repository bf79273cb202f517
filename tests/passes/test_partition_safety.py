"""The full trellis of partitions as a guest of the machine: memory, threads, forks and interrupts."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from other_processes import answers_to_interrupts, in_a_fork, may_fork, needs_fork, needs_signals
from partition_cases import affinities
from refused_memory import assert_refused_at_once

from palmette import PartitionPosterior, TrellisTooLarge
from palmette import threads as schedule
from palmette.models import ClusterFunction, CorrelationClusters, UniformPartitions
from palmette.passes.partitions.conditions import PartitionConditions
from palmette.passes.partitions.counted import CountedPartitionPasses
from palmette.passes.partitions.full import FullPartitionPasses
from palmette.passes.resources import Resources
from palmette.trellis.counting import bell_number


def passes_of(model, n_clusters=None, together=(), forbid=(), **resources):
    conditions = PartitionConditions(model.labels).and_also((), forbid, together, ())
    if n_clusters is None:
        return FullPartitionPasses(model, conditions, Resources(**resources))
    return CountedPartitionPasses(model, conditions.and_also(n_clusters=n_clusters), Resources(**resources))


# Memory.


def peak_of(answer):
    answer()  # kernels that are loaded on first use take memory of their own
    tracemalloc.start()
    try:
        answer()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("make", "n", "limit"),
    [
        (UniformPartitions, 31, 10**15),
        (UniformPartitions, 40, None),
        (lambda n: CorrelationClusters(np.ones((n, n))), 50, None),
        (lambda n: ClusterFunction(n, np.sqrt), 63, None),
        (UniformPartitions, 20, 10_000_000),
        (UniformPartitions, 3, 1),
    ],
)
@pytest.mark.parametrize("k", [None, 3])
def test_what_is_too_large_is_refused_before_anything_is_allocated(make, n, limit, k):
    model = make(n)
    way_out = "PartitionTrellis of chosen clusters takes any number of leaves"
    assert_refused_at_once(lambda: passes_of(model, k, max_memory=limit), n, way_out)


def test_a_posterior_says_at_once_that_it_is_too_large():
    with pytest.raises(TrellisTooLarge, match=r"n = 20 leaves needs 38.8 MB; 10 MB are allowed.*PartitionTrellis"):
        PartitionPosterior(UniformPartitions(20), max_memory=10_000_000)


@pytest.mark.parametrize("beta", [0.1, 50.0, 1e3])
@pytest.mark.parametrize("k", [None, 5])
def test_the_memory_that_is_announced_is_enough_for_log_partition_and_map(beta, k):
    model = CorrelationClusters(affinities(16), beta)

    def posterior():
        post = PartitionPosterior(model)
        return post if k is None else post.condition(n_clusters=k)

    def answer():
        post = posterior()
        return post.log_partition, post.map()

    needed = posterior().memory_needed
    assert 0.5 * needed < peak_of(answer) <= 1.02 * needed


@pytest.mark.parametrize("beta", [0.1, 1e3])
def test_all_tables_together_stay_within_the_memory_that_is_allowed(beta):
    model = CorrelationClusters(affinities(16), beta)

    def answer(**options):
        post = PartitionPosterior(model, **options)
        return post.log_partition, post.map(), post.cluster_probability_array(), post.n_clusters_probabilities()

    used = peak_of(answer)
    with pytest.raises(TrellisTooLarge):
        answer(max_memory=int(0.97 * used))


# Threads, forks.


def tables_of(passes):
    Z = passes.inside()
    return {
        "log Z": Z,
        "log M": passes.maximum(),
        "by number": passes.log_partitions_by_number(),
        "cluster probabilities": passes.outside(Z),
        "draws": passes.draw(Z, 500, seed=3)[0],
        "log potentials of draws": passes.draw(Z, 500, seed=3)[1],
        "count": np.array(passes.count()),
    }


@pytest.mark.parametrize("k", [None, 6])
@pytest.mark.parametrize("beta", [1.0, 1e3], ids=["safe", "done again"])
def test_no_bit_of_a_table_depends_on_the_number_of_threads(beta, k, monkeypatch):
    monkeypatch.setattr(schedule, "_SHORTEST", 1e3)  # many short slices, so that threads do share the work
    model = CorrelationClusters(np.round(affinities(14), 1), beta)
    given = {"together": [[2, 11]], "forbid": [[5]]}
    one, *others = (tables_of(passes_of(model, k, **given, threads=threads)) for threads in (1, 2, 3))
    for other in others:
        for name, table in one.items():
            np.testing.assert_array_equal(other[name], table, err_msg=name)


@needs_fork
@may_fork
def test_a_child_that_is_forked_after_use_computes_the_same(monkeypatch):
    monkeypatch.setattr(schedule, "_SHORTEST", 1e3)
    model = CorrelationClusters(affinities(13))
    post = PartitionPosterior(model, threads=2)
    expected = post.log_partition, post.map(), post.sample(5, rng=0).memberships.tolist()

    def again(post):
        return post.log_partition, post.map(), post.sample(5, rng=0).memberships.tolist()

    assert in_a_fork(lambda: again(post)) == expected
    assert in_a_fork(lambda: again(PartitionPosterior(model, threads=2))) == expected
    assert in_a_fork(lambda: post.condition(n_clusters=3).log_partition) == post.condition(n_clusters=3).log_partition


# Interrupts.

INTERRUPTED = """
    import numpy as np
    from palmette import PartitionPosterior, progress
    from palmette.models import CorrelationClusters, UniformPartitions

    progress._PATIENCE = 0.05
    for ask, n, beta, threads in [{works}]:
        w = np.random.default_rng(0).normal(size=(n, n))
        post = PartitionPosterior(CorrelationClusters(w + w.T, beta), progress=True, threads=threads)
        try:
            ask(post)
            print("too late", flush=True)
        except KeyboardInterrupt:
            print("interrupted", PartitionPosterior(UniformPartitions(13)).count, flush=True)
"""


@needs_signals
@pytest.mark.parametrize(
    "works",  # one after another in one process: title, verb, leaves, β, threads
    [
        [
            ("summing partitions", "post.log_partition", 22, 1.0, 1),
            ("counting partitions", "post.condition(forbid=[[0]]).count", 22, 1.0, 2),
        ],
        pytest.param([("summing partitions", "post.log_partition", 23, 1.0, 2)], marks=pytest.mark.slow),
        pytest.param([("summing partitions", "post.log_partition", 20, 1e4, 2)], marks=pytest.mark.slow),
        pytest.param([("finding the best partition", "post.map()", 23, 1.0, 1)], marks=pytest.mark.slow),
        pytest.param([("numbers of clusters", "post.n_clusters_probabilities()", 20, 1.0, 1)], marks=pytest.mark.slow),
    ],
    ids=lambda works: ", ".join(title for title, *_ in works),
)
def test_an_interrupt_ends_the_work(works):
    asked = ", ".join(f"(lambda post: {verb}, {n}, {beta}, {threads})" for _, verb, n, beta, threads in works)
    found = answers_to_interrupts(INTERRUPTED.format(works=asked), [title for title, *_ in works])
    assert found == [f"interrupted {bell_number(13)}\n"] * len(works)
