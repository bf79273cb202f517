"""How alike leaves are: similarities made of points or of distances, and what models and linkages make of them.

Four kinds have a name; d is the Euclidean distance of two rows.

- rbf: exp(−d² / (2 h²)), with h the median distance of two rows that differ unless it is given
- linear: 1 − d / (largest d)
- cosine: x·y / (‖x‖ ‖y‖)
- correlation: that of Pearson, between rows

Points may have gaps, NaN where an entry is missing, if `missing` says what to do about them:

- pairwise: two rows are compared over the columns that both have, and d² is scaled up to all columns
- mean: the mean of its column stands in for what is missing
- drop-columns: columns with gaps are left out
- refuse: gaps are an error
"""

from palmette.similarity.measures import (
    KINDS,
    centred,
    distances,
    likeness,
    linkages,
    mean_similarity,
    median_distance,
    of_distances,
    of_points,
    standardised,
    to_distances,
)
from palmette.similarity.missing import WAYS, completed
from palmette.similarity.shared_columns import overlaps

__all__ = [
    "KINDS",
    "WAYS",
    "centred",
    "completed",
    "distances",
    "likeness",
    "linkages",
    "mean_similarity",
    "median_distance",
    "of_distances",
    "of_points",
    "overlaps",
    "standardised",
    "to_distances",
]
