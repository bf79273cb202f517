"""A network trained end to end through the min-max layer: it learns where to look, and single linkage does the rest.

    python experiments/ultrametric/train_network.py [--seed N] [--out DIR]

Two rings, one inside the other, lie in a plane that is hidden in eight dimensions: the other six are noise, and all are
rotated. Single linkage of the points as they are finds nothing. A linear layer is trained on 400 points of known class,
100 at a time, with a triplet loss: a point shall be nearer to those of its class than to others, by a margin. Asked of
plain distances that cannot be had, since no linear map brings a ring together; the plane is found all the same, but not
always the gap between the rings. Min-max distances follow a ring around: `palmette.interop.torch.subdominant` leads
gradients to the few pairs that decide how clusters merge. Dendrogram purities are those of 400 other points. Needs the
extras torch and plot; takes 10 to 20 seconds on one core.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
import torch
from common import BLUE, INK, ORANGE, frame
from matplotlib.collections import LineCollection

import palmette as pal
from palmette.interop.torch import subdominant as min_max
from palmette.ultrametric.graph import Graph
from palmette.ultrametric.subdominant import Subdominant, subdominant

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

RADII, WIDTH, N_NOISE = (1.0, 2.0), 0.08, 6
N_TRAIN, N_TEST, BATCH = 400, 400, 100
STEPS, RATE, MARGIN, N_TRIPLETS = 500, 0.02, 0.5, 5000
MIXED = "#b0b0b0"


class Sample(NamedTuple):
    points: Floats
    classes: Ints


def rings(n: int, rng: np.random.Generator) -> Sample:
    """n points of two rings, half of them on each, and noise of unit variance in further dimensions."""
    classes = np.arange(n) % 2
    angles = rng.uniform(0, 2 * np.pi, n)
    plane = np.take(RADII, classes)[:, None] * np.column_stack((np.cos(angles), np.sin(angles)))
    return Sample(np.hstack((plane + WIDTH * rng.normal(size=(n, 2)), rng.normal(size=(n, N_NOISE)))), classes)


def samples(rng: np.random.Generator) -> tuple[Sample, Sample]:
    """Points to learn from and points to be judged by, rotated alike."""
    rotation = np.linalg.qr(rng.normal(size=(2 + N_NOISE, 2 + N_NOISE)))[0]
    train, test = (rings(n, rng) for n in (N_TRAIN, N_TEST))
    return train._replace(points=train.points @ rotation), test._replace(points=test.points @ rotation)


def draw_batch(classes: Ints, rng: np.random.Generator) -> Ints:
    """(BATCH,): points of the two classes in turn."""
    halves = [rng.choice(np.flatnonzero(classes == each), BATCH // 2, replace=False) for each in (0, 1)]
    return np.column_stack(halves).ravel()


def draw_triplets(rng: np.random.Generator) -> Ints:
    """(3, N_TRIPLETS), within a batch: a point, another one of its class, and one of the other class."""
    half = BATCH // 2
    own, one, step, other = (
        rng.integers(low, high, N_TRIPLETS) for low, high in ((0, 2), (0, half), (1, half), (0, half))
    )
    return np.stack((2 * one + own, 2 * ((one + step) % half) + own, 2 * other + 1 - own))


def train(sample: Sample, rng: np.random.Generator, *, layer: bool) -> torch.nn.Module:
    """A linear map of the points, with or without the min-max layer between the distances and the loss."""
    points, width = torch.tensor(sample.points), sample.points.shape[1]
    network = torch.nn.Linear(width, width, bias=False, dtype=torch.float64)
    torch.nn.init.eye_(network.weight)
    optimiser = torch.optim.Adam(network.parameters(), lr=RATE)
    all_pairs = Graph(np.column_stack(np.triu_indices(BATCH, 1)), np.ones(BATCH * (BATCH - 1) // 2))
    first, second = torch.tensor(all_pairs.edges.T)
    number = all_pairs.to_sparse(np.arange(all_pairs.n_edges)).toarray()
    for _ in range(STEPS):
        found = network(points[draw_batch(sample.classes, rng)])
        distances = (found[first] - found[second]).norm(dim=1)
        loss = triplet_loss(min_max(distances, all_pairs) if layer else distances, number, rng)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return network


def triplet_loss(distances: torch.Tensor, number: Ints, rng: np.random.Generator) -> torch.Tensor:
    """mean max(0, margin + d(point, same class) − d(point, other class)); `number[x, y]` is the number of a pair."""
    point, same, other = draw_triplets(rng)
    return torch.relu(MARGIN + distances[number[point, same]] - distances[number[point, other]]).mean()


def embed(network: torch.nn.Module, points: Floats) -> Floats:
    """What the network makes of the points."""
    with torch.no_grad():
        return np.asarray(network(torch.tensor(points)).numpy())


def purity(fitted: Subdominant, classes: Ints) -> float:
    """1 if each ring is a cluster."""
    return pal.evaluate.dendrogram_purity(fitted.hierarchy, classes.tolist())


# The picture.


def draw_points(ax: Any, points: Floats, fitted: Subdominant, colours: Sequence[str]) -> None:
    """Along the two directions in which they vary most, with the edges of the spanning tree."""
    centred = points - points.mean(axis=0)
    flat = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T
    ends = fitted.graph.edges[fitted.tree_edges]
    ax.add_collection(LineCollection(flat[ends], colors=MIXED, linewidths=0.5, zorder=1))
    ax.scatter(*flat.T, s=7, c=colours, linewidths=0, zorder=2)
    ax.set_aspect("equal", "datalim")
    ax.set_xticks([])
    ax.set_yticks([])
    frame(ax, sides=())


def draw_hierarchy(ax: Any, hierarchy: pal.Hierarchy, classes: Ints) -> None:
    """Branches have the colour of the ring that all their leaves lie on."""
    n, parents, heights = hierarchy.n_leaves, hierarchy.parents[:-1], hierarchy.heights
    across, outer = np.zeros((2, hierarchy.n_nodes))
    across[hierarchy.leaf_order], outer[:n] = np.arange(n), classes
    for node, children in enumerate(hierarchy.children, start=n):
        across[node], outer[node] = across[children].mean(), outer[children].sum()
    inks = np.where(outer == 0, BLUE, np.where(outer == hierarchy.sizes, ORANGE, MIXED))[:-1]
    turns = [(across[:-1], heights[:-1]), (across[:-1], heights[parents]), (across[parents], heights[parents])]
    ax.add_collection(LineCollection(np.array(turns).transpose(2, 0, 1), colors=inks.tolist(), linewidths=0.6))
    ax.set_xlim(-2, len(classes) + 1)
    ax.set_ylim(0, 1.05 * hierarchy.heights.max())
    ax.set_xticks([])
    frame(ax, sides=("left",))


def picture(shown: dict[str, Floats], classes: Ints, path: Path) -> None:
    """One column for each way to see the points: where they lie, and their single linkage."""
    figure, axes = plt.subplots(2, len(shown), figsize=(3.6 * len(shown), 6), layout="constrained")
    colours = np.where(classes == 0, BLUE, ORANGE).tolist()
    for (above, below), (name, points) in zip(axes.T, shown.items(), strict=True):
        fitted = subdominant(Graph.from_points(points))
        draw_points(above, points, fitted, colours)
        draw_hierarchy(below, fitted.hierarchy, classes)
        above.set_title(f"{name}\npurity {purity(fitted, classes):.3f}", color=INK, fontsize=11)
    axes[1, 0].set_ylabel("altitude", color=INK)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main(arguments: Sequence[str] | None = None) -> dict[str, float]:
    """Train both ways; print and return the purities of single linkage on the points kept back."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("ultrametric"), help="folder for the picture")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    rng = np.random.default_rng(given.seed)
    known, others = samples(rng)
    shown = {"points as they are": others.points}
    for name, layer in (("trained on plain distances", False), ("trained through the layer", True)):
        shown[name] = embed(train(known, rng, layer=layer), others.points)
    found = {name: purity(subdominant(Graph.from_points(x)), others.classes) for name, x in shown.items()}
    print(f"dendrogram purity of single linkage, {N_TEST} points that were not trained on")
    for name, value in found.items():
        print(f"  {name:<28} {value:.3f}")
    picture(shown, others.classes, given.out / "train_network.png")
    return found


if __name__ == "__main__":
    plt.switch_backend("agg")
    main()
