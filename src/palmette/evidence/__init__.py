"""Evidence: parameters of models by the probability of the data."""

from palmette.evidence.maximise import Optimum, maximise

__all__ = ["Optimum", "maximise"]
