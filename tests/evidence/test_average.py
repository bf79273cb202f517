"""Averages over parameters: cells against integrals that are known, mixtures against a dense grid."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

from palmette import HierarchyPosterior, PartitionPosterior, SparseTrellis
from palmette.evidence import average
from palmette.evidence.cells import cells_around
from palmette.likelihoods import NormalGamma
from palmette.models import Contrasts, Dasgupta, DirichletProcess
from palmette.posterior import HierarchyMixture, PartitionMixture

RNG = np.random.default_rng(1)
POINTS = np.concatenate([RNG.normal(c, 0.3, (2, 4)) for c in (0, 4, 8)])
NOISE = RNG.normal(size=(6, 3))


def total(cells):
    return sum(math.exp(cell.value + cell.log_volume) for cell in cells)


@pytest.mark.parametrize("angle", [0.0, 0.5])
@pytest.mark.parametrize("edge", [9.0, 1.0, 0.0])
def test_cells_add_up_to_the_integral_of_a_hill_in_a_box(angle, edge):
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    precision = turn @ np.diag([4.0, 0.5]) @ turn.T
    low, high = np.array([-9.0, -9.0]), np.array([edge, 9.0])
    hill = lambda x: -0.5 * x @ precision @ x  # noqa: E731
    cells = cells_around(hill, np.zeros(2), -precision, low, high, most=60)
    assert all(((cell.x >= low) & (cell.x <= high)).all() for cell in cells)
    whole = 2 * math.pi / math.sqrt(np.linalg.det(precision))
    share = norm.cdf(edge / math.sqrt(np.linalg.inv(precision)[0, 0]))
    assert total(cells) == pytest.approx(whole * share, rel=0.03)
    assert len(cells) <= 30


def test_a_flat_function_takes_the_whole_box():
    low, high = np.array([-1.0, 0.0]), np.array([2.0, 5.0])
    cells = cells_around(lambda x: 0.0, np.array([0.3, 1.0]), np.zeros((2, 2)), low, high, most=60)
    assert total(cells) == pytest.approx(15.0, rel=0.05)
    ridge = cells_around(lambda x: -8.0 * x[0] ** 2, np.zeros(2), -np.diag([16.0, 0.0]), -high, high, most=60)
    assert total(ridge) == pytest.approx(10.0 * math.sqrt(math.pi / 8), rel=0.05)


def test_too_many_cells_are_made_wider():
    asked = []
    cells = cells_around(
        lambda x: asked.append(x) or 0.0, np.zeros(2), -100.0 * np.eye(2), -np.ones(2), np.ones(2), most=40
    )
    assert len(cells) <= 40
    assert total(cells) == pytest.approx(4.0, rel=0.1)


def dense(family, names, low, high, size=30):
    """Every cluster's probability and the log evidence, on a grid of the whole box, flat in logarithms."""
    grid = [low[i] + (high[i] - low[i]) * (np.arange(size) + 0.5) / size for i in range(len(names))]
    posts = [
        HierarchyPosterior(family(**dict(zip(names, np.exp(x), strict=True))), progress=False)
        for x in np.stack(np.meshgrid(*grid), axis=-1).reshape(-1, len(names))
    ]
    logs = np.array([post.log_evidence for post in posts])
    keep = np.flatnonzero(logs > logs.max() - 9.0)
    weights = np.exp(logs[keep] - logsumexp(logs[keep]))
    mu = sum(w * posts[i].cluster_probability_array() for w, i in zip(weights, keep, strict=True))
    return mu, logsumexp(logs) - math.log(len(logs))


@pytest.mark.parametrize("x", [POINTS, NOISE], ids=["groups", "noise"])
def test_an_average_is_that_of_a_dense_grid(x):
    family = functools.partial(Contrasts, x)
    within = {"a": (0.05, 20.0), "b": (0.005, 20.0)}
    mixture = average(family, a=0.5, b=0.5, within=within)
    mu, log_evidence = dense(family, ["a", "b"], *np.log(list(within.values())).T)
    np.testing.assert_allclose(mixture.cluster_probability_array(), mu, atol=0.02)
    assert mixture.log_evidence == pytest.approx(log_evidence, abs=0.1)
    assert isinstance(mixture, HierarchyMixture)
    assert len(mixture.parts) <= 40
    for part, values in zip(mixture.parts, mixture.parameters, strict=True):
        assert (part.model.a, part.model.b) == tuple(values.values())


@pytest.mark.parametrize("d", [2, 10])
def test_noise_has_no_clusters_and_groups_have(d):
    """Where the parameters are left open; Contrasts at fixed ones call up to 5 % of these clusters probable."""
    above = 0
    for seed in range(4):
        noise = np.random.default_rng(seed).normal(size=(7, d))
        above += len(average(functools.partial(Contrasts, noise)).cluster_probabilities(0.5))
    assert above <= 0.02 * 4 * 5
    rng = np.random.default_rng(0)
    groups = np.concatenate([rng.normal(c, 0.5, (3, d)) for c in (0, 5, 16)])
    mixture = average(functools.partial(Contrasts, groups))
    assert min(mixture.cluster_probability(range(k, k + 3)) for k in (0, 3, 6)) > 0.7


def test_a_prior_is_a_density_of_logarithms():
    family = functools.partial(Contrasts, NOISE, b=1.0)
    log_prior = lambda a: norm.logpdf(math.log(a), math.log(0.3), 0.1)  # noqa: E731
    mixture = average(family, a=0.5, prior=log_prior)
    assert all(0.2 < values["a"] < 0.45 for values in mixture.parameters)
    grid = np.linspace(math.log(0.1), math.log(1.0), 400)
    logs = [HierarchyPosterior(family(math.exp(x))).log_evidence + log_prior(math.exp(x)) for x in grid]
    assert mixture.log_evidence == pytest.approx(logsumexp(logs) + math.log(grid[1] - grid[0]), abs=0.03)
    flat = average(family, a=0.5)
    assert max(values["a"] for values in flat.parameters) > 1.0


def test_partitions_and_trellises_are_averaged_too():
    mixture = average(lambda alpha: DirichletProcess(POINTS, alpha, NormalGamma(pseudo_count=0.1)), alpha=1.0)
    assert isinstance(mixture, PartitionMixture)
    logs = np.linspace(math.log(0.01), math.log(100), 200)
    posts = [
        PartitionPosterior(DirichletProcess(POINTS, math.exp(x), NormalGamma(pseudo_count=0.1)), progress=False)
        for x in logs
    ]
    evidence = np.array([post.log_evidence for post in posts])
    mean = np.exp(evidence - logsumexp(evidence)) @ [post.together_probability([0, 1]) for post in posts]
    assert mixture.together_probability([0, 1]) == pytest.approx(mean, abs=0.01)
    trellis = SparseTrellis.from_hierarchies(HierarchyPosterior(Contrasts(POINTS)).sample(5, rng=0))
    on = average(functools.partial(Contrasts, POINTS), a=0.5, b=0.5, trellis=trellis)
    assert on.trellis is trellis
    assert not on.is_exact


def test_bad_input_is_named():
    family = functools.partial(Contrasts, POINTS)
    with pytest.raises(ValueError, match="no parameter"):
        average(lambda a: family(a))
    with pytest.raises(ValueError, match="most is 0"):
        average(family, a=1.0, most=0)
    with pytest.raises(TypeError, match="gives no probability of data"):
        average(lambda beta: Dasgupta(np.ones((3, 3)), beta), beta=1.0)


def test_it_says_how_far_it_is(monkeypatch, capsys):
    monkeypatch.setattr("palmette.progress._PATIENCE", -1.0)
    monkeypatch.setattr("palmette.progress._INTERVAL", -1.0)
    family = functools.partial(Contrasts, POINTS)
    post = average(family, a=0.5, b=0.1, progress=True)
    assert "averaging over parameters  1 posteriors" in capsys.readouterr().err
    post.cluster_probability([0, 1])
    assert f"{len(post.parts)} posteriors  100 %" in capsys.readouterr().err
    average(family, a=0.5, b=0.1, progress=False).cluster_probability([0, 1])
    assert capsys.readouterr().err == ""
