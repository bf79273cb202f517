"""Adam on positive edge weights, of which only those with a gradient ever move."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palmette._jit import inline, kernel
from palmette.array_types import Floats

__all__ = ["Adam"]

_FIRST, _SECOND = 0.9, 0.999  # what a step leaves of the mean gradient, and of the mean square
_TINY = 1e-8  # this share of the first gradients is added to what a step is divided by
_LEAST = 1e-6  # weights below this share of the scale set out from it: at 0 nothing could ever move


@dataclass
class Adam:
    """weights = scale · log(1 + exp(variables)), and Adam with AMSGrad (Reddi et al. 2018) on the variables.

    Weights stay positive whatever the steps are. All arrays have one entry per edge.
    """

    variables: Floats
    mean: Floats
    square: Floats
    largest: Floats
    weights: Floats
    scale: float
    n_steps: int = 0
    tiny: float = 0.0

    @classmethod
    def at(cls, weights: Floats, scale: float) -> Adam:
        """An optimiser that stands exactly at these weights, to the last bit."""
        reduced = np.maximum(weights / scale, _LEAST)
        # The inverse of log(1 + exp(x)), without overflow.
        variables = np.where(reduced > 30, reduced, np.log(np.expm1(np.minimum(reduced, 30))))
        mean, square, largest = np.zeros((3, len(variables)))
        return cls(variables, mean, square, largest, weights.copy(), scale)

    def step(self, gradient: Floats, learning_rate: float) -> None:
        """One step against `gradient`, the derivatives by the weights, shape (M,)."""
        self.n_steps += 1
        if self.n_steps == 1:  # relative, so that neither the unit of weights nor the number of edges matters
            self.tiny = _TINY * self.scale * float(np.abs(gradient).max(initial=0.0)) or 1.0
        rate = learning_rate / (1 - _FIRST**self.n_steps)
        _step(
            self.variables, self.mean, self.square, self.largest, self.weights, self.scale,
            gradient, rate, 1 / np.sqrt(1 - _SECOND**self.n_steps), self.tiny,
        )  # fmt: skip


@inline
def _softplus(x):
    return x + np.log1p(np.exp(-x)) if x > 0 else np.log1p(np.exp(x))


@kernel
def _step(variables, mean, square, largest, weights, scale, gradient, rate, correction, tiny):
    for edge in range(len(variables)):
        if gradient[edge] == 0.0 and mean[edge] == 0.0:
            continue
        slope = gradient[edge] * scale / (1.0 + np.exp(-variables[edge]))
        mean[edge] = _FIRST * mean[edge] + (1.0 - _FIRST) * slope
        square[edge] = _SECOND * square[edge] + (1.0 - _SECOND) * slope * slope
        largest[edge] = max(largest[edge], square[edge])
        variables[edge] -= rate * mean[edge] / (np.sqrt(largest[edge]) * correction + tiny)
        weights[edge] = scale * _softplus(variables[edge])
