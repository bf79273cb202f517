"""Many small problems: in one call, or chunk by chunk in other processes, with results on disk."""

from palmette.batch.inference import BatchResult, infer
from palmette.batch.potentials import log_potentials
from palmette.batch.problems import Problems
from palmette.batch.run import Results, run
from palmette.batch.sums import expected, log_partitions

__all__ = ["BatchResult", "Problems", "Results", "expected", "infer", "log_partitions", "log_potentials", "run"]
