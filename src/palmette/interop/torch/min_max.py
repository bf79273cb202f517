"""The min-max layer for PyTorch: edge weights in, the subdominant ultrametric out, gradients to the weights.

Only the order of the weights decides which edge's weight each edge gets, its *pass edge*. That is found outside of
autograd; the layer itself is a look-up, whose gradient is a sum over all edges that share a pass edge.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette._extras import require
from palmette.ultrametric.graph import Graph
from palmette.ultrametric.subdominant import subdominant as _subdominant

if TYPE_CHECKING:
    import torch

__all__ = ["subdominant"]


def subdominant(weights: torch.Tensor, graph: Graph) -> torch.Tensor:
    """u(e) = w(pass edge of e): the largest ultrametric on the edges that is nowhere above the weights.

    `weights` has shape (M,), or (…, M) for a batch, with one weight for each edge of `graph` in its order; the result
    has the same shape, dtype and device. Weights are any finite numbers; those of `graph` itself are not looked at.
    Among equal weights the first edge goes first, which gives one of the sub-gradients. Derivatives of any order
    work.

    >>> import torch  # doctest: +SKIP
    >>> triangle = Graph([(0, 1), (1, 2), (0, 2)], [1, 1, 1])  # doctest: +SKIP
    >>> subdominant(torch.tensor([1.0, 2.0, 4.0]), triangle)  # doctest: +SKIP
    tensor([1., 2., 2.])
    """
    torch = require("torch", "torch")
    _check(torch, weights, graph)
    rows = weights.detach().cpu().double().reshape(math.prod(weights.shape[:-1]), graph.n_edges).numpy()
    passes = np.empty(rows.shape, dtype=np.int64)
    for row, edges in zip(rows, passes, strict=True):
        edges[:] = _subdominant(graph, row).pass_edges
    return weights.gather(-1, torch.from_numpy(passes).to(weights.device).reshape(weights.shape))


def _check(torch: Any, weights: Any, graph: Any) -> None:
    if not isinstance(weights, torch.Tensor) or not isinstance(graph, Graph):
        kinds = f"{type(weights).__name__} and {type(graph).__name__}"
        raise TypeError(f"expected subdominant(weights, graph) with a torch.Tensor and a Graph, not {kinds}")
    if not weights.is_floating_point():
        raise TypeError(f"weights has dtype {weights.dtype}; give real floating-point numbers, such as torch.float32")
    if weights.ndim == 0 or weights.shape[-1] != graph.n_edges:
        shape = tuple(weights.shape)
        raise ValueError(f"weights has shape {shape}; the last axis must have one weight per edge ({graph.n_edges})")
    wrong = ~weights.detach().isfinite()
    if wrong.any():
        at = tuple(wrong.nonzero()[0].tolist())
        where = ", ".join(map(str, at))
        raise ValueError(
            f"weights[{where}] is {weights[at].item()}, and {int(wrong.sum())} of {weights.numel()} weights are not "
            "finite; look for what made them so, such as too high a learning rate"
        )
