"""Figure 1b and c: Brownian motion down a coalescent, as paths in one dimension and as points in two.

    python experiments/coalescent/figure1.py [--out DIR]

No data. All choices are in settings.toml.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import common
import numpy as np
from common import INK, Floats, frame

import palmette as pal


def bridge(times: Floats, start: float, stop: float, rng: np.random.Generator) -> Floats:
    """Brownian motion at increasing times, given where it begins and where it ends."""
    steps = rng.standard_normal(len(times) - 1) * np.sqrt(np.diff(times))
    free = np.concatenate([[0.0], np.cumsum(steps)])
    along = (times - times[0]) / max(times[-1] - times[0], 1e-300)
    return np.asarray(start + free + along * (stop - start - free[-1]))


def draw_paths(ax: Any, chosen: dict[str, Any]) -> None:
    """1b: every branch is a path from one event to the next."""
    draw = pal.simulate.coalescent(chosen["path_leaves"], pal.coalescent.Brownian(), rng=chosen["seed"])
    tree, rng = draw.hierarchy, np.random.default_rng(chosen["seed"])
    states = np.concatenate([draw.x, draw.inner])[:, 0]
    step = tree.heights[-1] / chosen["path_steps"]
    for child, parent in enumerate(tree.parents[:-1].tolist()):
        begin, end = -tree.heights[parent], -tree.heights[child]
        times = np.linspace(begin, end, max(2, int(np.ceil((end - begin) / step)) + 1))
        ax.plot(times, bridge(times, states[parent], states[child], rng), color=common.LINE, linewidth=0.7)
    n = tree.n_leaves
    ax.scatter(-tree.heights[n:], states[n:], s=26, facecolors="white", edgecolors=INK, linewidths=0.9, zorder=3)
    ax.scatter(np.zeros(n), states[:n], s=10, color=INK, zorder=3)
    ax.set_xlabel("t")
    ax.set_ylabel("y")
    frame(ax)


def draw_points(ax: Any, chosen: dict[str, Any]) -> None:
    """1c: what is seen at the leaves."""
    draw = pal.simulate.coalescent(chosen["points"], pal.coalescent.Brownian(), rng=chosen["seed"], n_columns=2)
    ax.scatter(*draw.x.T, s=5, color=common.LINE, linewidths=0)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xlabel("first dimension")
    ax.set_ylabel("second dimension")
    frame(ax)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, draw."""
    given = common.parser("Figure 1b and c: draws of the model.").parse_args(arguments)
    chosen = common.settings("figure1", given.settings)
    figure, axes = common.new_figure(9.0, 4.0, columns=2)
    draw_paths(axes[0], chosen)
    draw_points(axes[1], chosen)
    common.save(figure, given.out / "figure1.png")
    print(f"  {given.out / 'figure1.png'}")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    main()
