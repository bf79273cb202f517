"""Models of partitions of every kind beside their plain formulas, made by Hypothesis, awkward ones included."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from cases import BETAS, WEIGHTS, symmetric
from hypothesis import assume
from hypothesis import strategies as st
from partition_oracle import (
    Clusters,
    PartitionOracle,
    beta_bernoulli,
    correlation,
    dirichlet_process,
    mask_of,
    members,
    normal_gamma,
    pair_sum,
    uniform,
)

from palmette import Partition, PartitionPosterior
from palmette.likelihoods import BetaBernoulli, NormalGamma
from palmette.models import ClusterFunction, ClusterModel, CorrelationClusters, DirichletProcess, UniformPartitions


class Case(NamedTuple):
    model: Any
    oracle: PartitionOracle

    @property
    def scale(self) -> float:
        """How large the numbers are that an answer is the difference of."""
        values = np.array([self.oracle.value(mask) for mask in range(1, 1 << self.oracle.n)])
        return float(np.abs(values[np.isfinite(values)]).max(initial=1.0)) * self.oracle.n

    @property
    def tolerance(self) -> float:
        return 1e-10 + 1e-14 * self.scale


def possible(case: Case) -> tuple[PartitionPosterior, PartitionOracle]:
    assume(case.oracle.log_z > -np.inf)
    return PartitionPosterior(case.model), case.oracle


def as_clusters(partition: Partition) -> Clusters:
    return frozenset(map(mask_of, partition.clusters()))


def as_partition(clusters: Clusters, labels: tuple[str, ...]) -> Partition:
    return Partition.from_clusters([members(mask) for mask in clusters], labels)


def as_mask(names: tuple[str, ...], labels: tuple[str, ...]) -> int:
    return mask_of(labels.index(name) for name in names)


class Charged(ClusterModel):
    """A user's model: log ψ = −θ₀·|mean − 1| + 0.1·(pair sum), forbidden if the charges add up to more than θ₁."""

    n_features = 3

    @staticmethod
    def features(theta, n, size, sums, pairs, out):
        out[0] = abs(sums[0] / size - 1.0)
        out[1] = sums[1]
        out[2] = 0.1 * pairs[0]

    @staticmethod
    def score(theta, cluster):
        if cluster[1] > theta[1]:
            return -np.inf
        return cluster[2] - theta[0] * cluster[0]


class Restaurant(ClusterModel):
    """A Dirichlet process without data: log ψ(C) = log α + log (|C| − 1)!."""

    n_features = 1

    @staticmethod
    def features(theta, n, size, sums, pairs, out):
        out[0] = theta[0]
        for k in range(1, size):
            out[0] += np.log(k)

    @staticmethod
    def score(theta, cluster):
        return cluster[0]

    def __init__(self, n_leaves: int, concentration: float) -> None:
        super().__init__(n_leaves, theta=[np.log(concentration)])


def affinities(n: int, seed: int = 0) -> np.ndarray:
    """A fixed symmetric matrix of standard normal numbers, zero on the diagonal."""
    w = np.triu(np.random.default_rng(seed).normal(size=(n, n)), 1)
    return w + w.T


def table_model(table: np.ndarray, labels: list[str] | None = None) -> ClusterFunction:
    """The model whose log ψ is an array by mask."""
    return ClusterFunction(len(table).bit_length() - 1, table.__getitem__, labels=labels)


def nothing_possible(n: int = 3) -> ClusterFunction:
    """A model that forbids every cluster."""
    return table_model(np.full(1 << n, -np.inf))


@st.composite
def partition_cases(draw: Any, max_leaves: int = 6, kinds: str = "ucfdt", n: int | None = None) -> Case:
    """kinds: u uniform, c correlation, f cluster function, d Dirichlet process, t a user's model."""
    n = draw(st.integers(1, max_leaves)) if n is None else n
    kind = draw(st.sampled_from(kinds))
    if kind == "u":
        return Case(UniformPartitions(n), PartitionOracle(n, uniform()))
    if kind == "c":
        w, beta = symmetric(draw, n, WEIGHTS.map(lambda x: x - 1.0)), draw(BETAS)
        return Case(CorrelationClusters(w, beta), PartitionOracle(n, correlation(w, beta)))
    if kind == "f":
        return _function_case(draw, n)
    return _dirichlet_case(draw, n) if kind == "d" else _charged_case(draw, n)


def _function_case(draw: Any, n: int) -> Case:
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    table = draw(BETAS) * rng.normal(size=1 << n)
    table[rng.random(table.shape) < draw(st.sampled_from([0.0, 0.3, 0.7]))] = -np.inf
    return Case(table_model(table), PartitionOracle(n, lambda cluster: float(table[mask_of(cluster)])))


def _dirichlet_case(draw: Any, n: int) -> Case:
    concentration = draw(st.sampled_from([0.01, 1.0, 40.0]))
    is_normal = draw(st.booleans())
    entries = st.sampled_from([0.0, 1.0, -3.0]) | st.floats(-5, 5) if is_normal else st.sampled_from([0.0, 1.0])
    columns = draw(st.integers(1, 3))
    row = st.lists(entries, min_size=columns, max_size=columns)
    points = np.array(draw(st.lists(row, min_size=n, max_size=n)))
    if is_normal:
        names, choices = ("mean", "pseudo_count", "shape", "rate"), ([0.0, 2.5], [1.0, 0.05], [1.0, 0.5], [1.0, 0.1])
    else:
        names, choices = ("a", "b"), ([1.0, 0.2, 5.0], [1.0, 0.5])
    parameters = {name: draw(st.sampled_from(values)) for name, values in zip(names, choices, strict=True)}
    likelihood, marginal = (NormalGamma, normal_gamma) if is_normal else (BetaBernoulli, beta_bernoulli)
    model = DirichletProcess(points, concentration, likelihood(**parameters))
    return Case(model, PartitionOracle(n, dirichlet_process(points, concentration, partial(marginal, **parameters))))


def _charged_case(draw: Any, n: int) -> Case:
    x = np.array(draw(st.lists(st.floats(0, 3) | st.just(1.0), min_size=n, max_size=n)))
    # Whole numbers add up exactly in any order: what is forbidden must not hang on rounding.
    charges = np.array(draw(st.lists(st.integers(-2, 2), min_size=n, max_size=n)), dtype=float)
    w = symmetric(draw, n, WEIGHTS)
    theta = [draw(st.sampled_from([0.0, 1.0, 50.0])), draw(st.sampled_from([0.0, 1.0, 2.0, 100.0]))]

    def log_psi(cluster: tuple[int, ...]) -> float:
        if charges[list(cluster)].sum() > theta[1]:
            return -np.inf
        return 0.1 * pair_sum(w, cluster) - theta[0] * abs(float(x[list(cluster)].mean()) - 1.0)

    model = Charged(n, theta=theta, additive=np.stack([x, charges], axis=1), pairwise=[w])
    return Case(model, PartitionOracle(n, log_psi))


def large_tables(n: int = 13) -> dict[str, np.ndarray]:
    """Tables of log ψ over enough leaves that they are solved in segments, moderate and extreme."""
    w = affinities(n)
    pairs = np.array([pair_sum(w, members(mask)) for mask in range(1 << n)])
    sizes = np.bitwise_count(np.arange(1 << n)).astype(float)
    rng = np.random.default_rng(8)
    tables = {
        "moderate": pairs,
        "extreme": 1e3 * pairs,
        "random and extreme": 300.0 * rng.normal(size=1 << n),
        "forbidden clusters": np.where(rng.random(1 << n) < 0.6, -np.inf, pairs),
        "mostly forbidden": np.where((sizes != 2) & (rng.random(1 << n) < 0.95), -np.inf, 50.0 * pairs),
        "one large cluster": 40.0 * sizes**2,
        "all alone": -40.0 * sizes**2,
    }
    for table in tables.values():
        table[0] = -np.inf
    return tables
