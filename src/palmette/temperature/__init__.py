"""Temperature a person can set: by the effective number of hierarchies, in place of β.

    perplexity = exp(entropy of the posterior),    d entropy / dβ = −β · Var(cost) ≤ 0

From all hierarchies at β = 0 the perplexity falls to the number of those that are equally good and best. Every value in
between belongs to one β, unless all hierarchies are equally good. Entropies are exact, so β is only solved for. The
same holds for partitions.
"""

from palmette.temperature.perplexity import at_perplexity, curve
from palmette.temperature.scan import TemperatureRow
from palmette.temperature.support import SupportCurve, support_curve

__all__ = ["SupportCurve", "TemperatureRow", "at_perplexity", "curve", "support_curve"]
