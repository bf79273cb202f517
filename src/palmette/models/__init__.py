"""Models: what gives log ψ to a split."""

from palmette.models.base import Model, SeparableModel, SplitModel
from palmette.models.correlation import Correlation
from palmette.models.dasgupta import Dasgupta
from palmette.models.ginkgo import Ginkgo
from palmette.models.split_function import SplitFunction
from palmette.models.sum_of_squares import SumOfSquares
from palmette.models.uniform import Uniform

__all__ = [
    "Correlation",
    "Dasgupta",
    "Ginkgo",
    "Model",
    "SeparableModel",
    "SplitFunction",
    "SplitModel",
    "SumOfSquares",
    "Uniform",
]
