"""The contents of a report on a sampled posterior over hierarchies: whether its chains agree comes first."""

from collections.abc import Sequence

import numpy as np

from palmette.array_types import Floats
from palmette.hierarchy import Hierarchy
from palmette.report.classes import Classes
from palmette.report.contents import Contents
from palmette.report.hierarchies import hierarchy_picture
from palmette.report.listing import Leaves, Listing, hierarchy_listing
from palmette.report.markup import Html, element, joined
from palmette.report.summary import exchange, kinds, tiles
from palmette.report.trees import drawn_clusters, small_tree
from palmette.sampling import SampledPosterior

__all__ = ["sampled_contents"]

_SMALL = 60  # leaves up to which alternatives are drawn
_WIDTH, _HEIGHT, _POINTS = 860, 150, 240  # of the picture of chains
_COLOURS = ("#2f78b7", "#d1701f", "#2f7f5f", "#8a4fa3", "#a04e0c", "#5a6b7a")


def sampled_contents(
    posterior: SampledPosterior, classes: Classes, n_alternatives: int, min_probability: float
) -> Contents:
    """The verdict, the chains, the dendrogram with support, what else was drawn, and data."""
    labels = posterior.labels
    best = [(found.aligned_to(labels), value) for found, value in posterior.best(max(1, n_alternatives))]
    drawn = {"Best that was drawn": best[0][0]}
    if posterior.n_leaves > 2:
        drawn["Consensus"] = posterior.consensus().aligned_to(labels)
    shown = [drawn_clusters(hierarchy) for hierarchy in drawn.values()]
    listing = hierarchy_listing(posterior, shown[0], shown[-1], min_probability)
    for cluster in listing.clusters[: listing.n_rows]:
        cluster.error = posterior.cluster_probability(cluster.leaves).standard_error
    return Contents(
        things="hierarchies",
        labels=labels,
        listing=listing,
        summary=_summary(posterior, listing),
        heading="The most probable hierarchy that was drawn",
        picture=hierarchy_picture(drawn, listing, classes),
        alternatives=_alternatives(best, n_alternatives, labels),
        data={},
    )


def _summary(posterior: SampledPosterior, listing: Listing) -> Html:
    verdict = posterior.verdict
    figures = {
        "leaves": f"{posterior.n_leaves:,}",
        f"draws of {verdict.n_chains} chains": f"{verdict.n_chains * verdict.n_draws:,}",
        "largest R̂": f"{verdict.r_hat:.3f}",
        "largest standard error": f"{100 * verdict.standard_error:.1f} %",
    }
    words = ("In nearly all draws", "In most draws", "Contested")
    fine = (
        "These numbers are estimates: shares of hierarchies drawn by Markov chains, each with a standard error, which "
        "is to be believed if the chains agree. They are given the model and its parameters, of which β is a choice."
    )
    parts = (tiles(figures), _trust(posterior), _traces(posterior.log_potentials, posterior.sweeps_per_draw))
    return joined((*parts, kinds(words, listing, posterior.labels), element("p", fine, class_="fine")))


def _trust(posterior: SampledPosterior) -> Html:
    verdict = posterior.verdict
    if verdict.converged:
        head = "The chains agree."
        words = (
            f"{verdict.n_chains} chains that began far apart say the same, with {verdict.effective_size:,.0f} "
            "effective draws or more of everything that matters."
        )
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
        path = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))
        colour = _COLOURS[i % len(_COLOURS)]
        lines.append(element("path", d=path, fill="none", stroke=colour, stroke_width="1", stroke_opacity="0.75"))
    words = f"log φ of {len(values)} chains over {count * every:,} sweeps, from {low:,.1f} to {high:,.1f}"
    picture = element("svg", joined(lines), viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", aria_label=words)
    caption = f"{words}. Chains that agree cannot be told apart."
    return joined((element("div", picture, class_="canvas"), element("p", caption, class_="fine")))


def _alternatives(best: Sequence[tuple[Hierarchy, float]], n_shown: int, labels: tuple[str, ...]) -> Html:
    if n_shown < 1:
        return element("p", "None were asked for.", class_="aside")
    clusters: list[frozenset[Leaves]] = [frozenset(c for c in found.clusters() if len(c) > 1) for found, _ in best]
    cards = []
    for number, (found, value) in enumerate(best[:n_shown]):
        words = Html("The best that was drawn.")
        if number:
            gap = best[0][1] - value
            words = joined((f"log φ is lower by {gap:.3g}: ", exchange(clusters[0], clusters[number], labels), "."))
        picture = small_tree(found, clusters[0], f"Hierarchy {number + 1}") if len(labels) <= _SMALL else None
        head = element("h3", element("span", f"{number + 1}", class_="rank"))
        cards.append(element("li", head, picture, element("p", words), class_="card"))
    note = "Of a sampled posterior it is not known how probable a whole hierarchy is; look at single clusters."
    return joined([element("ol", joined(cards), class_="cards"), element("p", note, class_="fine")])
