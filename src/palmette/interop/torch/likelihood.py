"""log Z and log p(x) for PyTorch: differentiable in the similarity matrix and in β, with exact derivatives.

Nothing is traced through the recursions: the forward pass is an exact posterior, and the derivatives of its log Z are
expectations that it answers, at the price of one more pass. See `palmette.interop.torch.statistics`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from palmette._extras import require
from palmette.array_types import Floats
from palmette.checks import check_beta, check_choice
from palmette.hierarchy import Hierarchy
from palmette.interop.torch.statistics import LINEAR_MODELS, LinearModel
from palmette.models.split_model import require_binary
from palmette.partition import Partition

if TYPE_CHECKING:
    import torch

__all__ = ["log_partition", "log_prob"]


def log_partition(
    similarity: torch.Tensor,
    *,
    model: str = "dasgupta",
    beta: float | torch.Tensor = 1.0,
    labels: Sequence[str] | None = None,
    **options: Any,
) -> torch.Tensor:
    """log Z of all hierarchies or partitions, with its exact gradient: ∂ log Z / ∂ w_ij = β · E[t_ij].

    `model` is "dasgupta" (t = −|lca(i, j)|), "correlation" (t = depth of the lca where w < 0, −1 where w > 0), or
    "correlation-clusters" (of partitions; t = 1 where i and j are together): those of `palmette.models`, see there.

    `similarity` has shape (n, n), or (…, n, n) for a batch, and the result (), or (…); dtype and device are kept, the
    arithmetic is float64 on the CPU. The model sees w = (s + sᵀ)/2: entries (i, j) and (j, i) get half of the gradient
    each, and the diagonal, which is not used, gets 0. `beta` is a number or a tensor with one, which gets its gradient
    too. `labels` name the rows; left out, they are those of `trellis`, or else "0", "1", …. `options` (`trellis`,
    `max_memory`, `threads`, `progress`) are handed to the posterior. There are first derivatives only.

    >>> import torch  # doctest: +SKIP
    >>> w = torch.tensor([[0.0, 3.0, 1.0], [3.0, 0.0, 1.0], [1.0, 1.0, 0.0]], requires_grad=True)  # doctest: +SKIP
    >>> log_partition(w).backward()  # doctest: +SKIP
    >>> -2 * w.grad[0, 1]  # E|lca(0, 1)|  # doctest: +SKIP
    tensor(2.2130)
    """
    problem = _Problem.of(similarity, beta, model, labels, options)
    return problem.log_partitions().to(similarity)


def log_prob(
    clustering: Hierarchy | Partition,
    similarity: torch.Tensor,
    *,
    model: str = "dasgupta",
    beta: float | torch.Tensor = 1.0,
    labels: Sequence[str] | None = None,
    **options: Any,
) -> torch.Tensor:
    """log p(x) = log φ(x) − log Z ≤ 0 of a given hierarchy or partition; −inf if it is not in the `trellis`.

    ∂ log p(x) / ∂ w_ij = β · (t_ij(x) − E[t_ij]): what x has, minus what is expected. Its negative is a loss that makes
    a similarity agree with a known clustering. The leaves are matched with the rows by label; all other arguments, and
    batches, are as for `log_partition`.

    >>> import torch  # doctest: +SKIP
    >>> w = torch.tensor([[0.0, 3.0, 1.0], [3.0, 0.0, 1.0], [1.0, 1.0, 0.0]])  # doctest: +SKIP
    >>> log_prob(Hierarchy.from_nested(((0, 1), 2)), w).exp()  # doctest: +SKIP
    tensor(0.7870)
    """
    problem = _Problem.of(similarity, beta, model, labels, options)
    log_probs = problem.log_potentials(clustering) - problem.log_partitions()
    return log_probs.clamp(max=0.0).to(similarity)


class _Problem(NamedTuple):
    """What was asked for: matrices (…, n, n) and β as float64 on the CPU, still part of the graph."""

    similarity: Any
    beta: Any
    model: LinearModel
    labels: Sequence[str] | None
    options: dict[str, Any]

    @classmethod
    def of(
        cls, similarity: Any, beta: Any, model: str, labels: Sequence[str] | None, options: dict[str, Any]
    ) -> _Problem:
        torch = require("torch", "torch")
        _check(torch, similarity, beta, model)
        trellis = options.get("trellis")
        names = trellis.labels if labels is None and trellis is not None else labels
        double = {"dtype": torch.float64, "device": "cpu"}
        scale = beta if isinstance(beta, torch.Tensor) else torch.tensor(check_beta(beta), dtype=torch.float64)
        return cls(similarity.to(**double), scale.to(**double).reshape(()), LINEAR_MODELS[model], names, options)

    def log_partitions(self) -> Any:
        torch = require("torch", "torch")
        shape = self.similarity.shape
        found = [_log_partition().apply(s, self.beta, self) for s in self.similarity.reshape(-1, *shape[-2:])]
        return torch.stack(found).reshape(shape[:-2]) if found else self.similarity.new_zeros(shape[:-2])

    def log_potentials(self, clustering: Any) -> Any:
        torch = require("torch", "torch")
        w = _symmetric(self.similarity.detach().numpy())
        x = self._aligned(clustering, w.shape[-1])
        t = torch.from_numpy(self.model.observed(x, w))
        hollow = self.similarity.masked_fill(torch.eye(w.shape[-1], dtype=torch.bool), 0.0)
        values = self.beta * (hollow * t).sum((-2, -1)) / 2  # t is symmetric, so this symmetrises too
        trellis = self.options.get("trellis")
        return values if trellis is None or trellis.holds(x) else values - torch.inf

    def _aligned(self, clustering: Any, n: int) -> Hierarchy | Partition:
        kind = self.model.clustering
        if not isinstance(clustering, kind):
            accepted = {name for name, model in LINEAR_MODELS.items() if isinstance(clustering, model.clustering)}
            hint = f"; for a {type(clustering).__name__} model is {' or '.join(sorted(accepted))}" if accepted else ""
            raise TypeError(f"expected a {kind.__name__} for this model, not {type(clustering).__name__}{hint}")
        names = map(str, range(n)) if self.labels is None else self.labels
        x = require_binary(clustering) if kind is Hierarchy else clustering
        return x.aligned_to(names)


@functools.cache
def _log_partition() -> Any:
    torch = require("torch", "torch")

    def forward(ctx: Any, similarity: Any, beta: Any, problem: _Problem) -> Any:
        w = _symmetric(similarity.detach().numpy())
        posterior = problem.model.posterior(w, problem.beta.item(), problem.labels, problem.options)
        if any(ctx.needs_input_grad):
            ctx.save_for_backward(similarity, beta)
            ctx.kept = (problem.model, posterior, w)
        return similarity.new_tensor(posterior.log_partition)

    def backward(ctx: Any, outer: Any) -> tuple[Any, ...]:
        model, posterior, w = ctx.kept
        t = model.expected(posterior, w)
        slopes = (torch.from_numpy(t * (posterior.model.beta / 2)), float((w * t).sum() / 2))
        return *_gradient().apply(*ctx.saved_tensors, outer, slopes), None

    return _function(torch, "LogPartition", forward, backward)


@functools.cache
def _gradient() -> Any:
    # A function of similarity and β too, so that autograd finds out when it is differentiated once more.
    torch = require("torch", "torch")

    def forward(ctx: Any, similarity: Any, beta: Any, outer: Any, slopes: tuple[Any, float]) -> tuple[Any, ...]:
        return outer * slopes[0], outer * slopes[1]

    def backward(ctx: Any, *outer: Any) -> None:
        raise RuntimeError(
            "log_partition and log_prob have first derivatives only; leave out create_graph=True, or detach gradients"
        )

    return _function(torch, "LogPartitionGradient", forward, backward)


def _function(torch: Any, name: str, forward: Any, backward: Any) -> Any:
    passes = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(name, (torch.autograd.Function,), passes)


def _symmetric(s: Floats) -> Floats:
    w = (s + np.swapaxes(s, -2, -1)) / 2
    w[..., np.arange(s.shape[-1]), np.arange(s.shape[-1])] = 0.0
    return w


def _check(torch: Any, similarity: Any, beta: Any, model: Any) -> None:
    check_choice("model", model, LINEAR_MODELS)
    if not isinstance(similarity, torch.Tensor):
        raise TypeError(f"similarity must be a torch.Tensor, not {type(similarity).__name__}")
    if not similarity.is_floating_point():
        raise TypeError(f"similarity has dtype {similarity.dtype}; give real floating-point numbers")
    if similarity.ndim < 2 or similarity.shape[-1] != similarity.shape[-2]:
        raise ValueError(f"similarity has shape {tuple(similarity.shape)}; expected (n, n), or (…, n, n) for a batch")
    if isinstance(beta, torch.Tensor) and beta.numel() != 1:
        raise ValueError(f"beta has shape {tuple(beta.shape)}; expected one number")
