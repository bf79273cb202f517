"""Priors of the parameters of a process, and where the posterior is largest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.array_types import Floats
from palmette.coalescent.motion import check_positive_definite

__all__ = ["Gamma", "InverseGamma", "InverseWishart", "Prior"]


@dataclass(frozen=True, eq=False)
class InverseWishart:
    """p(Λ) ∝ |Λ|^(−(ν + D + 1)/2) e^(−tr(Ψ Λ⁻¹)/2): Ψ = `scale`, a (D, D) matrix or a number times the identity."""

    scale: Any
    degrees: float

    def __post_init__(self) -> None:
        scale = np.asarray(self.scale, dtype=np.float64)
        if scale.ndim not in (0, 2) or scale.shape != scale.T.shape or not scale.size:
            raise ValueError(f"scale has shape {scale.shape}; give a positive number or a (D, D) matrix")
        if not np.isfinite(scale).all() or (scale.ndim == 0 and not scale > 0):
            raise ValueError(f"scale is {self.scale!r}; give a positive number or a (D, D) matrix")
        if scale.ndim:
            check_positive_definite(scale, "scale")
        if not self.degrees > 0:
            raise ValueError(f"degrees is {self.degrees}; it must be positive")

    def maximum(self, scatter: Floats, count: Floats) -> Floats:
        """(Ψ + S)/(ν + N + D + 1) for N contrasts of scatter S."""
        n, own = len(scatter), np.asarray(self.scale, dtype=np.float64)
        if own.ndim == 2 and own.shape != scatter.shape:
            raise ValueError(f"the scale of the prior has shape {own.shape} but x has {n} columns")
        return np.asarray((scatter + (own if own.ndim else own * np.eye(n))) / (self.degrees + count + n + 1))


@dataclass(frozen=True)
class InverseGamma:
    """p(λ) ∝ λ^(−a − 1) e^(−b/λ): a = `shape`, b = `scale`, of each variance."""

    shape: float
    scale: float

    def __post_init__(self) -> None:
        if not (self.shape > 0 and self.scale > 0):
            raise ValueError(f"InverseGamma({self.shape}, {self.scale}): both must be positive")

    def maximum(self, scatter: Floats, count: Floats) -> Floats:
        """(b + S_dd/2)/(a + N_d/2 + 1) for N_d contrasts of scatter S_dd."""
        return np.asarray((self.scale + scatter / 2) / (self.shape + count / 2 + 1))


@dataclass(frozen=True)
class Gamma:
    """p(λ) ∝ λ^(a − 1) e^(−bλ): a = `shape` ≥ 1, b = `rate`, of each rate of change."""

    shape: float
    rate: float

    def __post_init__(self) -> None:
        if not (self.shape >= 1 and self.rate >= 0):
            raise ValueError(f"Gamma({self.shape}, {self.rate}): the shape must be at least 1, the rate at least 0")


Prior = InverseWishart | InverseGamma | Gamma
