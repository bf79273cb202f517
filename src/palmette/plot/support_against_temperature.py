"""What is believed at which temperature."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.array_types import Floats
from palmette.clusters import Cluster
from palmette.plot._axes import INK, PLAIN, cluster_name, frame, own_axes, settle
from palmette.plot._classes import LINE_COLOURS
from palmette.temperature import SupportCurve, support_curve
from palmette.trellis import SomeTrellis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["support_against_temperature"]

_DASHES: tuple[Any, ...] = ("solid", (0, (4, 1.5)), (0, (1, 1)), (0, (6, 1.5, 1, 1.5)))
_SIZE = 8.0


def support_against_temperature(
    model: Any,
    *,
    clusters: Iterable[Cluster] | None = None,
    betas: Iterable[float] | None = None,
    most: int = 12,
    trellis: SomeTrellis | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The probability of clusters against β, on a logarithmic scale, with the perplexity at the top.

    `model` is one with a temperature, or a `SupportCurve` that was computed before; the other arguments are those of
    `temperature.support_curve`. By default: the clusters of the most probable hierarchy or partition, and, as thin
    lines, three that compete with them; of these the `most` that are best supported on average. A line at the
    model's own β shows where it stands.

    >>> import matplotlib; matplotlib.use("agg")
    >>> import palmette as pal
    >>> points = pal.models.SumOfSquares([[0.0], [1.0], [5.0]], labels=["a", "b", "c"])
    >>> ax = support_against_temperature(points)
    >>> ax.get_xlabel(), [text.get_text() for text in ax.texts]
    ('inverse temperature β', ['a b', 'b c', 'a c', 'β = 1'])
    """
    known = isinstance(model, SupportCurve)
    found = model if known else support_curve(model, betas, clusters=clusters, trellis=trellis)
    if (found.betas <= 0).any() or len(found.betas) < 2:
        raise ValueError("a picture against β needs two or more betas, all above 0: its scale is logarithmic")
    ax = own_axes(ax, 7.6, 4.6)
    chosen = _chosen(found, most)
    ends = []
    for at, column in enumerate(chosen):
        style = {"color": LINE_COLOURS[at % len(LINE_COLOURS)], "linestyle": _DASHES[at // len(LINE_COLOURS) % 4]}
        style["linewidth"] = 1.9 if found.in_best[column] else 1.0
        ax.plot(found.betas, found.probabilities[:, column], **style)
        ends.append((float(found.probabilities[-1, column]), cluster_name(found.clusters[column]), style))
    _scales(ax, found)
    _label_ends(ax, ends)
    own = 0.0 if known else model.beta
    if found.betas[0] < own < found.betas[-1]:
        ax.axvline(own, color="#999999", linewidth=0.8, linestyle=(0, (2, 2)), zorder=0)
        note: dict[str, Any] = {"fontsize": _SIZE, "color": "#666666", "ha": "right", "va": "top"}
        ax.annotate(f"β = {own:.3g}", (own, 1.0), (-3, 0), textcoords="offset points", **note)
    return ax


def _chosen(found: SupportCurve, most: int) -> list[int]:
    # The best supported ones; of clusters that compete, all.
    mean = found.probabilities.mean(axis=0)
    order = np.argsort(-mean, kind="stable")
    rivals = [int(at) for at in order if not found.in_best[at]]
    best = [int(at) for at in order if found.in_best[at]]
    kept = best[: max(0, most - len(rivals))] + rivals
    return sorted(kept[: max(0, most)], key=lambda at: -mean[at])


def _scales(ax: Axes, found: SupportCurve) -> None:
    ax.set_xscale("log")
    ax.set(xlim=(found.betas[0], found.betas[-1]), ylim=(-0.02, 1.02))
    ax.set(xlabel="inverse temperature β", ylabel="probability of the cluster")
    frame(ax)
    top = ax.secondary_xaxis("top")
    ticks = _perplexity_ticks(found)
    top.set_xticks([beta for beta, _ in ticks], [text for _, text in ticks], fontsize=8.5)
    top.set_xticks([], minor=True)
    top.tick_params(width=0.6, length=3)
    top.spines["top"].set_linewidth(0.6)
    top.set_xlabel("perplexity, the effective number of clusterings", fontsize=9)


def _perplexity_ticks(found: SupportCurve) -> list[tuple[float, str]]:
    # Round numbers, powers of ten first, with the β where the perplexity passes each, as many as can be read.
    logs, betas = np.maximum.accumulate(np.log10(found.perplexities[::-1])), np.log(found.betas[::-1])
    powers = range(int(np.floor(logs[0])), int(np.floor(logs[-1])) + 1)
    ticks: list[tuple[float, str]] = []
    for wanted in [power + np.log10(lead) for lead in (1, 2, 5) for power in powers]:
        at = float(np.interp(wanted, logs, betas))
        near = any(abs(at - other) < 0.085 * float(np.ptp(betas)) for other, _ in ticks)
        if logs[0] < wanted < logs[-1] and not near and (wanted < 5 or wanted == round(wanted)):
            ticks.append((at, _power(wanted)))
    return [(float(np.exp(at)), text) for at, text in ticks]


def _power(power: float) -> str:
    raised = str(round(power)).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{10**power:,.0f}" if power < 5 else f"10{raised}"


def _label_ends(ax: Axes, ends: Sequence[tuple[float, str, dict[str, Any]]]) -> None:
    # Names at the right, beside the ends of their lines where there is room, pushed apart where there is not; each
    # behind a piece of its line.
    settle(ax)
    extent, low_high = ax.get_window_extent(), np.ptp(ax.get_ylim())
    width, height = extent.width / ax.figure.dpi * 72, extent.height / ax.figure.dpi * 72
    order = sorted(range(len(ends)), key=lambda at: (-ends[at][0], at))
    places = _spread(np.array([ends[at][0] for at in order]), 1.3 * _SIZE / height * float(low_high))
    at_edge: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "clip_on": False}
    steps = 1.0 + np.array([0.0, 14.0, 17.0, 33.0, 36.0]) / width
    for at, place in zip(order, places, strict=True):
        value, text, style = ends[at]
        ax.plot(steps[:2], [value, place], color=style["color"], linewidth=0.5, **at_edge)
        ax.plot(steps[2:4], [place, place], **style, **at_edge)
        ax.text(steps[4], place, text, fontsize=_SIZE, color=INK, va="center", **at_edge, **PLAIN)


def _spread(wanted: Floats, gap: float) -> Floats:
    """Falling places at least `gap` apart and as near as that allows to the wanted ones, which fall.

    >>> _spread(np.array([1.0, 1.0, 0.2]), 0.1).round(2).tolist()
    [1.05, 0.95, 0.2]
    """
    # Blocks of names that touch each other; each is centred on what its members want.
    blocks: list[list[float]] = []  # wanted place of the first name, as of all its members on average, and their number
    for at in wanted.tolist():
        blocks.append([at, 1])
        while len(blocks) > 1 and blocks[-2][0] - gap * blocks[-2][1] < blocks[-1][0]:
            top, count = blocks.pop()
            first, many = blocks[-1]
            blocks[-1] = [(first * many + (top + gap * many) * count) / (many + count), many + count]
    return np.array([first - gap * at for first, many in blocks for at in range(int(many))])
