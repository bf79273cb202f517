"""xarray: draws and chains as one labelled dataset, for statistics, ArviZ and netCDF files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from palmette._extras import require
from palmette.array_types import Ints
from palmette.coalescent.draws import CoalescentDraws
from palmette.labels import describe_cluster, leaf_index, leaf_numbers
from palmette.models.base import is_model
from palmette.posterior.hierarchy_draws import Draws
from palmette.posterior.partition_draws import PartitionDraws
from palmette.sampling.hierarchies.sampled import SampledPosterior

if TYPE_CHECKING:
    import xarray

__all__ = ["to_xarray"]

AnyDraws = Draws | PartitionDraws | CoalescentDraws
Variables = dict[str, tuple[tuple[str, ...], npt.NDArray[Any]]]


def to_xarray(
    draws: AnyDraws | Sequence[AnyDraws] | SampledPosterior,
    *,
    members: bool = False,
    model: object = None,
    seed: int | None = None,
) -> xarray.Dataset:
    """An `xarray.Dataset` with one entry per draw; the labels are the coordinate `leaf`.

    ================== ==================================================================================
    of `Draws`         `children` (draw, merge, child): the two nodes that each merge joins; `size` (draw, merge):
                       how many leaves it holds; `log_prob` (draw)
    `CoalescentDraws`  `children`, `size`; `age` (draw, merge); `weight` (draw); `n_effective` (merge)
    `PartitionDraws`   `membership` (draw, leaf): the cluster of each leaf; `n_clusters`, `log_prob` (draw)
    `SampledPosterior` `log_potential` (chain, draw); `occurs` (chain, draw, cluster): 1 in the draws that have the
                       cluster, of those that its `cluster_diagnostics` lists, in that order
    ================== ==================================================================================

    Merge m makes node n + m, as in a linkage; leaf i is node i. With `members`, `member` (draw, merge, leaf) says which
    leaves each merge holds, S·(n − 1)·n bytes. A sequence of draws, all of one kind, gives a first dimension `chain`,
    as ArviZ has it. `model` and `seed` are noted in the attributes as they are given.

    A `SampledPosterior` is ready for ArviZ. The coordinate `cluster` has the names of the clusters; with `members`, the
    coordinate `member` (cluster, leaf) says what they hold. Its draws merge by merge: `to_xarray(post.draws)`.

    >>> import palmette as pal
    >>> post = pal.HierarchyPosterior(pal.models.SumOfSquares([[0.0], [1.0], [5.0]]))
    >>> data = to_xarray(post.sample(100, rng=0), model=post.model, seed=0)
    >>> dict(data.sizes)
    {'draw': 100, 'merge': 2, 'child': 2, 'leaf': 3}
    """
    if isinstance(draws, SampledPosterior):
        return _sampled(draws, members, model, seed)
    if not isinstance(draws, AnyDraws):
        return _chains(draws, members, model, seed)
    xarray = require("xarray", "xarray")
    coordinates = {"draw": np.arange(len(draws)), "leaf": np.array(draws.labels, dtype=np.str_)}
    return xarray.Dataset(_variables(draws, members), coordinates, _attributes(draws, model, seed))


def _chains(chains: Any, members: bool, model: object, seed: int | None) -> Any:
    xarray = require("xarray", "xarray")
    given = list(chains) if isinstance(chains, Sequence) else []
    if not given or not all(isinstance(draws, AnyDraws) for draws in given):
        raise TypeError(
            "expected Draws, PartitionDraws or CoalescentDraws, a list of one of these, or a SampledPosterior, "
            f"not {type(chains).__name__}"
        )
    found = {(type(draws).__name__, len(draws), draws.labels) for draws in given}
    if len(found) > 1:
        kinds = ", ".join(sorted({f"{size} {kind}" for kind, size, _ in found}))
        raise ValueError(f"chains must be of one kind and length, over the same labels; these are {kinds}")
    sets = [to_xarray(draws, members=members, model=model, seed=seed) for draws in given]
    return xarray.concat(sets, "chain", combine_attrs="drop_conflicts").assign_coords(chain=np.arange(len(sets)))


def _sampled(post: SampledPosterior, members: bool, model: object, seed: int | None) -> Any:
    xarray = require("xarray", "xarray")
    index, labels = leaf_index(post.labels), np.array(post.labels, dtype=np.str_)
    leaves = [sorted(leaf_numbers(row.members, index)) for row in post.cluster_diagnostics()]
    coordinates: dict[str, Any] = {"chain": np.arange(post.n_chains), "draw": np.arange(post.n_draws)}
    coordinates["cluster"] = np.array(_names(leaves, post.labels), dtype=np.str_)
    if members:
        held = np.zeros((len(leaves), post.n_leaves), dtype=np.bool_)
        for row, cluster in zip(held, leaves, strict=True):
            row[cluster] = True
        coordinates |= {"leaf": labels, "member": (("cluster", "leaf"), held)}
    per_draw = ("chain", "draw")
    occurs = post.cluster_indicators().astype(np.int8)  # ArviZ subtracts, which truth values do not allow
    variables = {"log_potential": (per_draw, post.log_potentials), "occurs": ((*per_draw, "cluster"), occurs)}
    told = _attributes(post, post.model if model is None else model, seed)
    return xarray.Dataset(variables, coordinates, told)


def _names(clusters: Sequence[Sequence[int]], labels: tuple[str, ...]) -> list[str]:
    # Long clusters are named by their first leaves; those that are alike then get their numbers.
    names = [describe_cluster(cluster, labels) for cluster in clusters]
    count = Counter(names)
    return [f"{name} ({number})" if count[name] > 1 else name for number, name in enumerate(names)]


def _variables(draws: AnyDraws, members: bool) -> Variables:
    per_draw, per_merge = ("draw",), ("draw", "merge")
    if isinstance(draws, PartitionDraws):
        flat: Variables = {"membership": (("draw", "leaf"), np.asarray(draws.memberships))}
        return flat | {"n_clusters": (per_draw, draws.n_clusters), "log_prob": (per_draw, draws.log_probs)}
    children = draws.children if isinstance(draws, CoalescentDraws) else _children(draws)
    n = draws.n_leaves
    sizes = _over_merges(np.ones(n, dtype=np.int64), children)
    found: Variables = {"children": ((*per_merge, "child"), children), "size": (per_merge, sizes)}
    if members:
        found["member"] = ((*per_merge, "leaf"), _over_merges(np.eye(n, dtype=np.bool_), children))
    if not isinstance(draws, CoalescentDraws):
        return found | {"log_prob": (per_draw, draws.log_probs)}
    own = {"age": (per_merge, draws.ages), "weight": (per_draw, draws.weights)}
    return found | own | {"n_effective": (("merge",), draws.n_effective)}


def _children(draws: Draws) -> Ints:
    made = [hierarchy.children for hierarchy in draws]
    return np.array(made, dtype=np.int64).reshape(len(made), draws.n_leaves - 1, 2)


def _over_merges(leaves: npt.NDArray[Any], children: Ints) -> npt.NDArray[Any]:
    # (S, n − 1, …): the sum over the leaves of each merge, in all draws at once; the sum of truth values is "or".
    n, rows = len(leaves), np.arange(len(children))
    nodes = np.empty((len(children), 2 * n - 1, *leaves.shape[1:]), dtype=leaves.dtype)
    nodes[:, :n] = leaves
    for merge in range(n - 1):
        left, right = children[:, merge].T
        nodes[:, n + merge] = nodes[rows, left] + nodes[rows, right]
    return nodes[:, n:]


def _attributes(draws: AnyDraws | SampledPosterior, model: object, seed: int | None) -> dict[str, Any]:
    # Text and numbers only: that is what netCDF files hold.
    known: dict[str, Any] = {"kind": type(draws).__name__}
    if model is not None:
        known["model"] = model if isinstance(model, str) else repr(model)
    if is_model(model) and model.is_tempered:
        known["beta"] = float(model.beta)
    if seed is not None:
        known["seed"] = seed
    if isinstance(draws, CoalescentDraws):
        known["log_evidence"] = draws.log_evidence
    if isinstance(draws, SampledPosterior):
        known |= {"sweeps_per_draw": draws.sweeps_per_draw, "verdict": str(draws.verdict)}
    return known
