"""What pictures of chains share: one colour for each chain, a legend, and the verdict in a few words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.plot._axes import INK
from palmette.plot._classes import LINE_COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from palmette.sampling import Verdict

__all__ = ["chain_colours", "legend_and_verdict", "require_chains"]

_SPACING = {"handletextpad": 0.3, "handlelength": 1.3, "columnspacing": 1.0, "borderaxespad": 0.1, "borderpad": 0.2}
_COLUMNS = 6
_MOST_NAMED = 12  # chains up to which there is a legend


def require_chains(post: Any, *needed: str) -> None:
    """Refuse what does not have these attributes: it is not the answer of chains."""
    if not all(hasattr(post, name) for name in needed):
        raise TypeError(f"expected an answer of chains, as sample_hierarchies gives it, not {type(post).__name__}")


def chain_colours(n_chains: int) -> list[str]:
    """A colour for each chain, the same in every picture; from the seventh chain on, once more from the first.

    >>> len(set(chain_colours(6))), chain_colours(7)[6] == chain_colours(7)[0]
    (6, True)
    """
    return [LINE_COLOURS[chain % len(LINE_COLOURS)] for chain in range(n_chains)]


def legend_and_verdict(ax: Axes, handles: Sequence[Any], verdict: Verdict, *more: str) -> None:
    """Above the Axes, at the left, a legend, and over it whether the chains have converged, and `more` lines."""
    word = "converged" if verdict.converged else "chains agree" if verdict.agree else "not converged"
    r_hat = "∞" if np.isinf(verdict.r_hat) else f"{verdict.r_hat:.3f}"
    text = f"{word}: R̂ up to {r_hat}, {verdict.effective_size:,.0f} effective draws or more"
    shown = handles if verdict.n_chains <= _MOST_NAMED else []
    if shown:
        place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": min(len(shown), _COLUMNS)}
        ax.legend(handles=shown, frameon=False, fontsize=8.5, **place, **_SPACING)
    height = 12.5 * -(-len(shown) // _COLUMNS)
    ax.set_title("\n".join([text, *more]), loc="left", fontsize=10, color=INK, pad=6.0 + height)
