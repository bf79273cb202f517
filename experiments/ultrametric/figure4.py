"""Figure 4: an image, its gradient, and the graphs of its regions at three scales, drawn by their frontiers.

    python experiments/ultrametric/figure4.py [--image FILE] [--out DIR]

The darkness of a frontier is the weight of its edge, the mean gradient along it; in the sixth picture, which the paper
does not have, it is the closest ultrametric that was fitted to the finest of the three. Without --image, scikit-learn
is needed, for one of its images. All choices are in settings.toml.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import common
import numpy as np
from common import INK, Floats
from regions import Regions, contours, gradient_of, read_image, regions_of
from scipy import ndimage


def show(ax: Any, title: str, pixels: Floats, **how: Any) -> None:
    """An image without axes."""
    ax.imshow(pixels, interpolation="antialiased", **how)
    ax.set_title(title, fontsize=11, color=INK)
    ax.set_axis_off()


def show_contours(ax: Any, title: str, regions: Regions, values: Floats, largest: float) -> None:
    """Frontiers, the higher the darker, on white."""
    drawn = ndimage.maximum_filter(contours(regions, values), size=3)
    show(ax, title, np.sqrt(np.minimum(drawn / largest, 1)), cmap="gray_r", vmin=0, vmax=1)


def draw(image: Floats, gradient: Floats, scales: Sequence[Regions], fitted: Floats, path: Path) -> None:
    """The image, its gradient, the fitted ultrametric above; the scales below."""
    height = 2 * (4 * image.shape[0] / image.shape[1] + 0.27)
    figure, axes = common.new_figure(4 * len(scales), height, len(scales), 2)
    largest = float(np.quantile(scales[-1].graph.weights, 0.98)) or 1.0
    show(axes[0, 0], "image", image)
    show(axes[0, 1], "gradient", np.sqrt(gradient), cmap="gray_r")
    for ax, each in zip(axes[1], scales, strict=True):
        title = f"{each.graph.n_vertices} regions, {each.graph.n_edges} edges"
        show_contours(ax, title, each, each.graph.weights, largest)
    show_contours(axes[0, 2], "closest ultrametric, finest regions", scales[-1], fitted, largest)
    for ax in axes[0, 3:]:
        ax.set_axis_off()
    common.save(figure, path)


def report(scales: Sequence[Regions], wanted: Sequence[int]) -> str:
    """How large the graphs are, and how their weights lie."""
    rows = [["regions", "edges", "paper", "mean weight", "largest"]]
    for (_, graph), edges in zip(scales, wanted, strict=True):
        numbers = [f"{graph.weights.mean():.3f}", f"{graph.weights.max():.3f}"]
        rows.append([str(graph.n_vertices), str(graph.n_edges), str(edges), *numbers])
    return common.columns(rows, left=0)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, draw, print."""
    command = common.parser("Figure 4: region graphs of an image.")
    command.add_argument("--image", type=Path, help="another image, PNG or JPEG")
    given = command.parse_args(arguments)
    chosen = common.settings(given.settings)
    image = read_image(given.image, chosen["regions"]["image"])
    gradient = gradient_of(image, chosen["regions"]["blur"])
    scales = regions_of(gradient, chosen["regions"])
    fitted = common.fit_named("Closest", scales[-1].graph, chosen).ultrametric
    draw(image, gradient, scales, fitted, given.out / "figure4.png")
    common.tell(report(scales, chosen["regions"]["edges"]), given.out / "figure4.txt")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    main()
