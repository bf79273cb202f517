"""What reports on sampled posteriors say in the same way: whether chains agree comes first, and no whole is certain."""

from collections.abc import Sequence

import numpy as np

from palmette.array_types import Floats
from palmette.report.contents import cards
from palmette.report.lines import COLOURS, line
from palmette.report.listing import Leaves, Listing
from palmette.report.markup import Html, element, joined
from palmette.report.summary import exchange, kinds, tiles
from palmette.sampling import SampledPartitions, SampledPosterior, Verdict

__all__ = ["sampled_alternatives", "sampled_summary"]

_WIDTH, _HEIGHT, _POINTS = 860, 150, 240  # of the picture of chains
_COLOURS = COLOURS[:6]


def sampled_summary(posterior: SampledPosterior | SampledPartitions, listing: Listing, things: str) -> Html:
    """Whether the chains agree, the chains, four figures, the clusters by how often they are drawn, and what it is."""
    words = ("In nearly all draws", "In most draws", "Contested")
    choice = ", of which β is a choice" if posterior.model.is_tempered else ""
    fine = (
        f"These numbers are estimates from {things} drawn by Markov chains, each with a standard error, which is to be "
        f"believed if the chains agree. They are given the model and its parameters{choice}."
    )
    chains = _traces(posterior.log_potentials, posterior.sweeps_per_draw)
    parts = (_trust(posterior.verdict), chains, _figures(posterior.verdict, posterior.n_leaves))
    return joined((*parts, kinds(words, listing, posterior.labels), element("p", fine, class_="fine")))


def sampled_alternatives(
    best: Sequence[tuple[frozenset[Leaves], float]],
    pictures: Sequence[Html | None],
    n_shown: int,
    labels: tuple[str, ...],
    first: str,
    thing: str,
) -> Html:
    """One card for each of the best, clusters and log potentials; `first` is what the first of them is said to be."""
    items = []
    for number, (clusters, value) in enumerate(best[:n_shown]):
        words = Html(first)
        if number:
            gap = best[0][1] - value
            words = joined((f"log φ is lower by {gap:.3g}: ", exchange(best[0][0], clusters, labels), "."))
        head = element("h3", element("span", f"{number + 1}", class_="rank"))
        items.append(element("li", head, pictures[number], element("p", words), class_="card"))
    note = f"Of a sampled posterior it is not known how probable a whole {thing} is; look at single clusters."
    return cards(items, note)


def _figures(verdict: Verdict, n_leaves: int) -> Html:
    return tiles(
        {
            "leaves": f"{n_leaves:,}",
            f"draws of {verdict.n_chains} chains": f"{verdict.n_chains * verdict.n_draws:,}",
            "largest R̂": f"{verdict.r_hat:.3f}" if np.isfinite(verdict.r_hat) else "∞",
            "largest standard error": f"{100 * verdict.standard_error:.1f} %",
        }
    )


def _trust(verdict: Verdict) -> Html:
    if verdict.agree:
        head = "The chains agree."
        words = (
            f"{verdict.n_chains} chains that began far apart say the same, with {verdict.effective_size:,.0f} "
            "effective draws or more of everything that matters."
        )
        if not verdict.converged:
            words += " Errors are still large: run longer for more digits."
    else:
        head = "The chains do not agree: do not rely on these numbers."
        about = f" They differ most on {'; '.join(verdict.disagreements)}." if verdict.disagreements else ""
        words = f"They have not run long enough, or each is stuck in a place of its own.{about} Run longer."
    return element("p", element("strong", head), f" {words}")


def _traces(values: Floats, every: int) -> Html:
    # log φ of each chain, one line each.
    low, high = float(values.min()), float(values.max())
    scale = (_HEIGHT - 20) / max(high - low, 1e-12)
    count = values.shape[1]
    chosen = np.unique(np.linspace(0, count - 1, min(count, _POINTS)).astype(int))
    x = 10 + (_WIDTH - 20) * chosen / max(1, count - 1)
    lines = []
    for i, chain in enumerate(values):
        y = _HEIGHT - 10 - (chain[chosen] - low) * scale
        lines.append(line(x, y, _COLOURS[i % len(_COLOURS)], "1", stroke_opacity="0.75"))
    ends = " to ".join(f"{end:,.1f}".replace("-", "−") for end in (low, high))
    words = f"log φ of {len(values)} chains over {count * every:,} sweeps, from {ends}"
    picture = element("svg", joined(lines), viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", aria_label=words)
    caption = f"{words}. Chains that agree cannot be told apart."
    return joined((element("div", picture, class_="canvas"), element("p", caption, class_="fine")))
