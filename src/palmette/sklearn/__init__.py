"""Clusterers with the interface of scikit-learn: for pipelines, grid searches and data frames.

`TrellisClustering`
    the posterior over hierarchies, and the most probable one
`PartitionTrellisClustering`
    the posterior over partitions, and the most probable one
`CoalescentClustering`
    a hierarchy with times, or weighted draws of such; entries may be missing
`UltrametricClustering`
    a hierarchy of any number of points by gradient descent

No algorithm lives here: what is fitted comes from the rest of palmette, and is there as an attribute.
"""

from palmette._extras import require

require("sklearn", "sklearn")

from palmette.sklearn.coalescent import CoalescentClustering  # noqa: E402
from palmette.sklearn.hierarchies import TrellisClustering  # noqa: E402
from palmette.sklearn.partitions import PartitionTrellisClustering  # noqa: E402
from palmette.sklearn.ultrametric import UltrametricClustering  # noqa: E402

__all__ = ["CoalescentClustering", "PartitionTrellisClustering", "TrellisClustering", "UltrametricClustering"]
