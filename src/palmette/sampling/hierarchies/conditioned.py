"""A model under conditions, as a model: log ψ is −inf where the cluster that is split is not possible.

A cluster X is possible if it crosses no required cluster and is no forbidden one. Both can be told from |X| and from
how many leaves X shares with each of these clusters, which are sums over the leaves of X: the conditions become columns
of `additive`, and one more feature. So whatever runs a model of compiled functions honours them.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from palmette._jit import inline_with
from palmette.models.base import recast
from palmette.models.features import all_but_the_last
from palmette.models.split_model import SplitModel
from palmette.passes.hierarchies.conditions import HierarchyConditions

__all__ = ["conditioned"]


def _described(features: Any) -> Any:
    # θ: that of the model, then the size of every required and, negative, of every forbidden cluster; how many of both,
    # and how many sums are the model's own.
    @inline_with(features)
    def with_conditions(theta, n, size, sums, pairs, out):
        c, d = int(theta[-2]), int(theta[-1])
        k = out.size - 1
        features(theta[: theta.size - 2 - c], n, size, sums[:d], pairs, out[:k])
        out[k] = 0.0
        for j in range(c):
            given, shared = theta[theta.size - 2 - c + j], sums[d + j]
            if given > 0.0:
                if 0.0 < shared < given and shared < size:
                    out[k] = 1.0
            elif shared == -given and size == -given:
                out[k] = 1.0

    return with_conditions


def _scored(score: Any) -> Any:
    @inline_with(score)
    def under_conditions(theta, parent, left, right):
        if parent[-1] > 0.0:
            return -np.inf
        own = theta[: theta.size - 2 - int(theta[-2])]
        return score(own, all_but_the_last(parent), all_but_the_last(left), all_but_the_last(right))

    return under_conditions


@functools.cache
def _kind(base: type[SplitModel]) -> type[SplitModel]:
    # The class of a model's kind under conditions, whose kernels are then compiled once.
    class Conditioned(SplitModel):
        """A model under conditions."""

        n_features = base.n_features + 1
        features = staticmethod(_described(base.features))
        score = staticmethod(_scored(base.score))

    return Conditioned


def conditioned(model: SplitModel, conditions: HierarchyConditions) -> SplitModel:
    """The model, with −inf for every hierarchy that breaks a condition."""
    groups = [*sorted(conditions.required, key=sorted), *sorted(conditions.forbidden, key=sorted)]
    if not groups:
        return model
    columns = np.zeros((model.n_leaves, len(groups)))
    for j, leaves in enumerate(groups):
        columns[sorted(leaves), j] = 1.0
    signs = np.repeat([1.0, -1.0], [len(conditions.required), len(conditions.forbidden)])
    theta = [*model.theta, *(signs * columns.sum(axis=0)), len(groups), model.additive.shape[1]]
    additive = np.concatenate([model.additive, columns], axis=1)
    return recast(_kind(type(model)), model, theta=theta, additive=additive)  # type: ignore[arg-type]  # can be hashed
