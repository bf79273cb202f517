"""Graphs of the regions of an image: superpixels by watershed from a grid of seeds, joined where they touch."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from common import Floats, Ints
from scipy import ndimage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from palmette._extras import require
from palmette.ultrametric import Graph, subdominant


class Regions(NamedTuple):
    membership: Ints
    """(H, W): the region of each pixel."""
    graph: Graph
    """One vertex for each region; weights are mean gradients along the frontier of two."""


def read_image(path: Path | None, name: str) -> Floats:
    """(H, W, 3), from 0 to 1: the file, or an image that scikit-learn has by this name."""
    if path is None:
        return np.asarray(require("sklearn.datasets", "sklearn").load_sample_image(name)) / 255
    pixels = require("matplotlib.pyplot", "plot").imread(path)
    pixels = pixels / 255 if pixels.dtype.kind == "u" else np.asarray(pixels, dtype=np.float64)
    return pixels[..., :3] if pixels.ndim == 3 else np.repeat(pixels[..., None], 3, axis=2)


def gradient_of(image: Floats, blur: float) -> Floats:
    """(H, W), from 0 to 1: the largest Gaussian gradient magnitude of the three channels."""
    size = np.max([ndimage.gaussian_gradient_magnitude(channel, blur) for channel in image.transpose(2, 0, 1)], axis=0)
    return np.asarray(size / (size.max() or 1.0))


def seeds_of(gradient: Floats, rows: int, columns: int) -> Ints:
    """The number of one pixel in each cell of a grid: where the gradient is least in the middle quarter of the cell."""
    down, across = (np.linspace(0, size, 4 * k + 1) for size, k in zip(gradient.shape, (rows, columns), strict=True))
    found = []
    for top, bottom in zip(down[1::4].astype(int), np.ceil(down[3::4]).astype(int), strict=True):
        for left, right in zip(across[1::4].astype(int), np.ceil(across[3::4]).astype(int), strict=True):
            i, j = np.unravel_index(gradient[top:bottom, left:right].argmin(), (bottom - top, right - left))
            found.append((top + i) * gradient.shape[1] + left + j)
    return np.array(found, dtype=np.int64)


def watershed(gradient: Floats, seeds: Ints, compactness: float) -> Ints:
    """(H, W): the region of each pixel, one for each seed; regions are connected.

    A region is what a minimum spanning forest rooted at the seeds hangs below its seed: a pixel goes where it gets to
    without climbing higher than it must. Heights are the gradient, and `compactness` times the way to the nearest seed,
    in units of the distance of seeds, which shares out what is flat.
    """
    elsewhere = np.ones(gradient.shape, dtype=bool)
    elsewhere.ravel()[seeds] = False
    away = ndimage.distance_transform_edt(elsewhere) / np.sqrt(gradient.size / len(seeds))
    relief = (gradient + compactness * away).ravel()
    pixels = Graph.from_image(gradient)
    # One more vertex, below all, joins the seeds.
    heights = np.concatenate([np.maximum(relief[pixels.sources], relief[pixels.targets]), np.zeros(len(seeds))])
    edges = np.concatenate([pixels.edges, np.column_stack([seeds, np.full(len(seeds), gradient.size)])])
    forest = subdominant(Graph(edges, heights)).tree_edges
    first, second = edges[forest[forest < pixels.n_edges]].T
    joined = coo_array((np.ones(len(first)), (first, second)), shape=(gradient.size, gradient.size))
    return connected_components(joined, directed=False)[1].astype(np.int64).reshape(gradient.shape)


def frontiers(membership: Ints, values: Floats) -> tuple[Ints, Floats]:
    """(K, 2) regions and (K,) values of all pairs of neighbouring pixels in different regions.

    The value of a pair is the mean of its two pixels'.
    """
    pairs, means = [], []
    for first, second in ((np.s_[1:], np.s_[:-1]), (np.s_[:, 1:], np.s_[:, :-1])):
        apart = membership[first] != membership[second]
        pairs.append(np.sort(np.stack([membership[first][apart], membership[second][apart]], axis=1), axis=1))
        means.append((values[first][apart] + values[second][apart]) / 2)
    return np.concatenate(pairs), np.concatenate(means)


def region_graph(membership: Ints, gradient: Floats) -> Graph:
    """Regions that touch are joined; the weight is the mean gradient along their frontier."""
    pairs, values = frontiers(membership, gradient)
    edges, edge_of = np.unique(pairs, axis=0, return_inverse=True)
    edge_of = edge_of.reshape(-1)
    return Graph(edges, np.bincount(edge_of, values) / np.bincount(edge_of), n_vertices=int(membership.max()) + 1)


def regions_of(gradient: Floats, chosen: dict[str, Any]) -> list[Regions]:
    """One set of regions for each grid of seeds, the coarsest first."""
    found = [watershed(gradient, seeds_of(gradient, *grid), chosen["compactness"]) for grid in chosen["seeds"]]
    return [Regions(membership, region_graph(membership, gradient)) for membership in found]


def contours(regions: Regions, values: Floats) -> Floats:
    """(2H − 1, 2W − 1): the value of their edge between two pixels of different regions, 0 elsewhere.

    Pixels lie at even places; a corner takes the largest value around it.
    """
    membership = regions.membership
    matrix = regions.graph.to_sparse(values)
    drawn = np.zeros((2 * membership.shape[0] - 1, 2 * membership.shape[1] - 1))
    for place, first, second in (
        (np.s_[1::2, ::2], np.s_[1:], np.s_[:-1]),
        (np.s_[::2, 1::2], np.s_[:, 1:], np.s_[:, :-1]),
    ):
        between = np.asarray(matrix[membership[first].ravel(), membership[second].ravel()]).reshape(-1)
        drawn[place] = between.reshape(drawn[place].shape)
    sides = (drawn[:-1:2, 1::2], drawn[2::2, 1::2], drawn[1::2, :-1:2], drawn[1::2, 2::2])
    drawn[1::2, 1::2] = np.max(sides, axis=0)
    return drawn
