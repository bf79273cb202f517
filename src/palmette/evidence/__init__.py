"""Evidence: parameters of models by the probability of the data."""

from palmette.evidence.average import average
from palmette.evidence.compare import Comparison, compare
from palmette.evidence.maximise import Optimum, maximise
from palmette.evidence.partition_posterior import partition_posterior
from palmette.evidence.posterior import posterior
from palmette.evidence.shares import weights_of_readings
from palmette.evidence.tuned import tuned

__all__ = [
    "Comparison",
    "Optimum",
    "average",
    "compare",
    "maximise",
    "partition_posterior",
    "posterior",
    "tuned",
    "weights_of_readings",
]
