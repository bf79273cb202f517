"""The evidence of a sampled posterior in the time that is left for it, or what is said if that is too little."""

from __future__ import annotations

from typing import TYPE_CHECKING

import palmette as pal
from palmette.progress import purpose

if TYPE_CHECKING:  # the compiler comes with them, and --help should not wait for it
    from palmette.budget import Budget
    from palmette.sampling import SampledPosterior

__all__ = ["estimated_evidence"]

_CLEAR = 1.0  # nats: an error that is smaller leaves a Bayes factor in its class, or in the next
_SMALL = 0.25  # of the Bayes factor: with such an error there is no doubt about its sign
_MORE = "give it more seconds (--seconds)"


def estimated_evidence(posterior: SampledPosterior, budget: Budget) -> tuple[pal.evidence.Comparison | None, str]:
    """The data with and without a hierarchy, if that can be told by the time the budget is spent; and in words."""
    with purpose("evidence"):
        found = posterior.anneal(seconds=budget.seconds)
    if found is None:
        return None, f"Evidence not computed: {_MORE}."
    compared = pal.evidence.compare(posterior, at_best=None)
    error = compared.standard_error
    if error > max(_CLEAR, _SMALL * abs(compared.log_bayes_factor)):
        return None, f"Evidence not told, as its error is {error:.2g} nats: {_MORE}."
    return compared, str(compared)
