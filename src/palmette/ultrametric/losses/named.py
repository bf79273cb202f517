"""Losses by name, in the unit of a graph: what the command line and the clusterer offer."""

from collections.abc import Callable

from palmette.ultrametric.graph import Graph
from palmette.ultrametric.losses.base import Loss
from palmette.ultrametric.losses.dasgupta import Dasgupta
from palmette.ultrametric.losses.edge_means import Closest, ClusterSize

__all__ = ["NAMED", "mean_weight", "named_loss"]

_SIZE_WEIGHT = 10.0  # that of the paper, from 500 vertices on; with fewer, sizes say less
_TOP = 10  # merges whose clusters should not be small
_SLOPE = 50.0  # of Dasgupta's soft sizes, for weights of the order of 1

NAMED: dict[str, Callable[[Graph], Loss]] = {
    "closest": lambda graph: Closest(),
    "closest+size": lambda graph: Closest() + min(_SIZE_WEIGHT, graph.n_vertices / 50.0) * ClusterSize(top=_TOP),
    "dasgupta": lambda graph: Dasgupta(slope=_SLOPE / mean_weight(graph)),
}


def named_loss(name: str, graph: Graph) -> Loss:
    """The loss of that name, one of `NAMED`, with parameters that suit the weights and the size of the graph.

    >>> named_loss("dasgupta", Graph([[0, 1], [1, 2]], [1.0, 3.0]))
    Dasgupta(slope=25.0)
    """
    return NAMED[name](graph)


def mean_weight(graph: Graph) -> float:
    """The unit of a graph: the mean weight of its edges, and 1 where all are 0 or there is none."""
    return float(graph.weights.sum()) / max(graph.n_edges, 1) or 1.0
