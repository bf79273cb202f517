"""Jets: many at a time, from and to files and awkward arrays, inferred, and by sequential recombination.

Modules whose names begin with an underscore are used in this folder only.
"""

from palmette.jets.chunks import SEARCHES
from palmette.jets.comparison import ComparisonRow, compare
from palmette.jets.files import count, read, stream, write
from palmette.jets.fitting import ShowerFit, fit_shower
from palmette.jets.inference import infer
from palmette.jets.jet import Jet, Jets
from palmette.jets.sequential import cluster, cluster_all
from palmette.jets.writer import Writer

__all__ = [
    "SEARCHES",
    "ComparisonRow",
    "Jet",
    "Jets",
    "ShowerFit",
    "Writer",
    "cluster",
    "cluster_all",
    "compare",
    "count",
    "fit_shower",
    "infer",
    "read",
    "stream",
    "write",
]
