"""What a notebook shows: every answer has a card that reads as XML, escapes labels, and computes nothing."""

from __future__ import annotations

import functools
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import palmette as pal
from palmette.posterior.cache import Cached

LABELS = ["<b>", "a&b", "c\x00", "d" * 500, "e"]
SIMILARITY = pal.similarity.of_points(np.array([[0.0], [0.3], [2.0], [2.1], [5.0]]))
POINTS = np.array([[0.0, 1.0], [0.3, 1.0], [2.0, 0.0], [2.1, 0.1], [5.0, 5.0]])


def hierarchies():
    return pal.HierarchyPosterior(pal.models.Dasgupta(SIMILARITY, labels=LABELS), progress=False)


def partitions():
    model = pal.models.CorrelationClusters(pal.similarity.centred(SIMILARITY), labels=LABELS)
    return pal.PartitionPosterior(model, progress=False)


def chains(asked):
    model = pal.models.Dasgupta(SIMILARITY, labels=LABELS)
    post = pal.sampling.sample_hierarchies(model, seconds=None, sweeps=16, progress=False)
    return (post.verdict, post.map(), post)[-1] if asked else post


def partition_chains():
    model = pal.models.CorrelationClusters(pal.similarity.centred(SIMILARITY), labels=LABELS)
    return pal.sampling.sample_partitions(model, seconds=None, sweeps=16, progress=False)


def mixture():
    parts = [pal.HierarchyPosterior(pal.models.Dasgupta(SIMILARITY, beta, labels=LABELS)) for beta in np.arange(1, 9)]
    return pal.posterior.HierarchyMixture(parts, np.zeros(8), [{"<beta>": float(beta)} for beta in range(8)])


def asked(post):
    post.map()
    _ = post.entropy
    return post


def optimum():
    contrasts = functools.partial(pal.models.Contrasts, POINTS)
    return pal.evidence.maximise(contrasts, a=0.5, b=0.1, most=3)


def fit():
    graph = pal.ultrametric.Graph([[0, 1], [1, 2], [0, 2]], [4, 3, 6])
    return pal.ultrametric.fit(graph, pal.ultrametric.Closest(), iterations=3)


ANSWERS = {
    "hierarchies": hierarchies,
    "hierarchies, asked": lambda: asked(hierarchies()),
    "hierarchies, given": lambda: asked(hierarchies().condition(require=[[0, 1]])),
    "hierarchies, sparse": lambda: asked(hierarchies().on(pal.SparseTrellis.from_hierarchies([hierarchies().map()]))),
    "partitions": partitions,
    "partitions, asked": lambda: asked(partitions()),
    "chains": lambda: chains(False),
    "chains, asked": lambda: chains(True),
    "chains of partitions": partition_chains,
    "mixture": mixture,
    "mixture, asked": lambda: asked(mixture()),
    "partition": lambda: partitions().map(),
    "many clusters": lambda: pal.Partition(np.arange(100)),
    "draws": lambda: hierarchies().sample(10, rng=0),
    "no draws": lambda: hierarchies().sample(0, rng=0),
    "draws of partitions": lambda: partitions().sample(10, rng=0),
    "draws of chains": lambda: chains(False).draws,
    "histories": lambda: pal.coalescent.smc(POINTS, pal.coalescent.Brownian(), 8, labels=LABELS, rng=0, progress=False),
    "trees": lambda: chains(False).trees,
    "greedy": lambda: pal.search.greedy(hierarchies().model),
    "proved": lambda: pal.search.a_star(hierarchies().model, progress=False),
    "greedy partition": lambda: pal.search.greedy(partitions().model),
    "bayesian": lambda: pal.search.bayesian(POINTS, pal.likelihoods.NormalGamma(), labels=LABELS, progress=False),
    "history": lambda: pal.coalescent.greedy(POINTS, pal.coalescent.Brownian(), labels=LABELS, progress=False),
    "fit": fit,
    "exact fit": lambda: pal.ultrametric.closest_exact(pal.ultrametric.Graph([[0, 1], [1, 2], [0, 2]], [4, 3, 6])),
    "optimum": optimum,
    "comparison": lambda: pal.evidence.Comparison(-55.87, -53.47),
    "annealed": lambda: pal.sampling.anneal_hierarchies(hierarchies().model, n_runs=4, steps=50, progress=False),
    "batch": lambda: pal.batch.infer([hierarchies().model] * 12, n_draws=2, progress=False),
    "table": lambda: hierarchies().cluster_probabilities(),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ANSWERS)
def test_every_answer_is_a_card_that_escapes_and_a_name_on_one_line(name):
    answer = ANSWERS[name]()
    known = set(answer._values) if isinstance(answer, Cached) else None
    shown, line = answer._repr_html_(), repr(answer)
    if known is not None:
        assert set(answer._values) - {"passes", "weights", "log_partition"} <= known  # the last two of mixtures
    found = ET.fromstring(shown)
    assert "".join(found.itertext()).strip()
    assert not {element.tag for element in found.iter()} & {"b", "script"}
    assert len(shown) < 40_000
    if name != "table":
        assert "\n" not in line
        assert len(line) < 1500


def test_a_card_has_what_is_known_and_the_picture_once_it_was_asked_for():
    post = hierarchies()
    before = post._repr_html_()
    assert "not computed yet" in before
    assert "<svg" not in before
    post.map()
    after = post._repr_html_()
    assert f"{post.log_partition:.6g}" in after
    assert 'class="support"' in after
    assert "effective number" not in after
    assert f"{np.exp(post.entropy):.6g}" in post._repr_html_()
    post.clear()
    assert post._repr_html_() == before


@pytest.mark.parametrize("make", [hierarchies, lambda: chains(True), mixture], ids=["exact", "chains", "mixture"])
def test_the_picture_of_a_card_is_at_the_heights_of_the_model(make):
    post = make()
    best = post.map()
    assert post.model.with_heights(post.support(best)).in_card() in post._repr_html_()


def test_a_partition_is_a_table_of_its_clusters_large_ones_first():
    shown = pal.Partition([0, 1, 1, 2], labels=["a", "b", "c", "d"])._repr_html_()
    cells = [cell.text for cell in ET.fromstring(shown).iter("td")]
    assert cells == ["2", "b, c", "1", "a", "1", "d"]
    assert "4 leaves in 3 clusters" in shown
    assert "… and 80 more" in pal.Partition(np.arange(100))._repr_html_()


def test_a_sampled_posterior_says_its_verdict_once_somebody_asked():
    post = chains(False)
    assert "verdict says whether they agree" in repr(post)
    assert str(post.verdict) in repr(post)
