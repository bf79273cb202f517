"""How long the steps of a descent are, where it begins anew, and when it is over."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import cos, inf, pi

__all__ = ["Rounds"]

_FIRST, _GROWTH = 30, 1.5  # iterations of the first round, and how much longer each is than the one before
_HEIGHTS = (1.0, 3.0, 0.3)  # of the steps with which rounds begin, in turn
_LEAST = 0.001  # the share that is left of a step at the end of a round
_NOTHING = 1e-9  # losses below this share of the highest that was seen are as good as 0


@dataclass
class Rounds:
    """Rounds of 30, 45, 67, … iterations; steps fall in each by ½ (1 + cos), from a height that takes turns.

    Long steps change which clusters merge, short ones settle their heights, and which of them helps is not known
    beforehand. Unless `falling`, all steps have one length, and rounds only say when to look whether it is over.
    """

    falling: bool
    length: int = _FIRST
    """Iterations of this round."""
    n_done: int = 0
    """How many of them are over."""
    lows: list[float] = field(default_factory=list)
    """The best loss so far at the end of each round."""

    @property
    def factor(self) -> float:
        """What the next step is multiplied by."""
        if not self.falling:
            return 1.0
        part = 0.5 * (1.0 + cos(pi * self.n_done / self.length))
        return _HEIGHTS[len(self.lows) % len(_HEIGHTS)] * (_LEAST + (1.0 - _LEAST) * part)

    def count(self, best: float) -> bool:
        """Count one iteration, after which the best loss is `best`; whether its round is over."""
        self.n_done += 1
        if self.n_done < self.length:
            return False
        self.lows.append(best)
        self.length, self.n_done = int(_GROWTH * self.length), 0
        return True

    def fall(self, highest: float) -> float:
        """By which share the best loss fell in the last three rounds, which are 70 % of all iterations; ∞ before that.

        A loss that is about to fall has thus as long to show it as the whole descent took before, and more.
        """
        if len(self.lows) <= len(_HEIGHTS):
            return inf
        before, now = self.lows[-1 - len(_HEIGHTS)], self.lows[-1]
        unit = max(abs(now), _NOTHING * abs(highest))
        return (before - now) / unit if unit > 0 else 0.0
