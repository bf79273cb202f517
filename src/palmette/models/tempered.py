"""Models with an inverse temperature: a cost of the user's choosing, times β."""

from __future__ import annotations

from typing import Self

import numpy as np

from palmette.checks import check_beta, check_finite_total
from palmette.models.base import FeatureModel, Model

__all__ = ["Tempered", "require_tempered"]


class Tempered(FeatureModel):
    """log ψ = β · (something that does not depend on β), β = θ₀ ≥ 0.

    A model of your own that derives from this one too, and hands β over as ``theta[0]``, can be set to a perplexity
    by `palmette.temperature`.
    """

    is_tempered = True

    @property
    def beta(self) -> float:  # type: ignore[override]
        """The inverse temperature."""
        return float(self.theta[0])

    def with_beta(self, beta: float) -> Self:
        """The same model of the same data at another inverse temperature.

        >>> import palmette as pal
        >>> pal.models.Dasgupta([[0, 3, 1], [3, 0, 1], [1, 1, 0]], beta=2.0).with_beta(0.5).beta
        0.5
        """
        beta = check_beta(beta)
        check_finite_total(beta * self.n_leaves, float(np.abs(self.pairwise).sum()), "the data")
        return self.with_theta(np.concatenate([[beta], self.theta[1:]]))

    def beta_ratio(self, other: Model) -> float | None:
        """β of the other model over one's own, if it is the same one but for β; else None."""
        if type(other) is not type(self) or not isinstance(other, Tempered) or self.beta == 0.0:
            return None
        pairs = [(getattr(self, name), getattr(other, name)) for name in ("additive", "pairwise")]
        pairs.append((self.theta[1:], other.theta[1:]))
        return other.beta / self.beta if all(x is y or np.array_equal(x, y) for x, y in pairs) else None


def require_tempered(model: Model) -> None:
    """Refuse a model whose temperature cannot be set."""
    if not model.is_tempered:
        raise TypeError(
            f"{type(model).__name__} has no temperature to set. Those that have one are Dasgupta, SumOfSquares, "
            "Correlation, CorrelationClusters, and models of your own that derive from models.Tempered"
        )
