"""Evidence: parameters of models by the probability of the data."""

from palmette.evidence.maximise import Optimum, maximise
from palmette.evidence.tuned import tuned

__all__ = ["Optimum", "maximise", "tuned"]
