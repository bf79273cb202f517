"""The contents of a report on a posterior over hierarchies."""

from typing import NamedTuple

from palmette.coalescent import CoalescentDraws
from palmette.hierarchy import Hierarchy
from palmette.models.heights import drawn_at
from palmette.report.classes import Classes
from palmette.report.contents import Contents, alternatives, panel, support_legend
from palmette.report.listing import Hierarchies, Listing, hierarchy_listing
from palmette.report.markup import Html, element, joined
from palmette.report.numbers import amount
from palmette.report.summary import account_of, clusters_of, exactness, summary
from palmette.report.trees import MAX_ROWS, drawn_clusters, small_tree, tree
from palmette.sampling import SampledPosterior

__all__ = ["SMALL", "hierarchy_contents", "hierarchy_picture", "shown_hierarchies", "with_consensus"]

SMALL = 60  # leaves up to which alternatives are drawn
_AGREED = 1000  # leaves up to which there is a consensus beside the best
_HINT = "Point at a cluster to see its members; choose it to see how else it could be split."


def hierarchy_contents(
    posterior: Hierarchies, classes: Classes, n_alternatives: int, min_probability: float, heights: bool
) -> Contents:
    """Summary, dendrogram, alternatives and data of a posterior over hierarchies."""
    best, drawn, listing, pictures = shown_hierarchies(
        posterior, max(2, n_alternatives), min_probability, "Most probable", heights
    )
    account = account_of(posterior, best, listing, _validity(posterior))
    return Contents(
        things=account.things,
        labels=posterior.labels,
        listing=listing,
        summary=summary(account),
        heading="The most probable hierarchy",
        picture=hierarchy_picture(drawn, listing, classes),
        alternatives=alternatives(account, pictures, n_alternatives),
        data={},
    )


class ShownHierarchies(NamedTuple):
    """What a report shows of hierarchies."""

    best: list[tuple[Hierarchy, float]]
    drawn: dict[str, Hierarchy]  # by the word that chooses it
    listing: Listing
    pictures: list[Html | None]  # small ones of the best; None if there are too many leaves


def shown_hierarchies(
    posterior: Hierarchies | SampledPosterior, n_best: int, min_probability: float, title: str, heights: bool
) -> ShownHierarchies:
    """The best ones, the first of them, which is called `title`, and a consensus to be drawn, and the clusters."""
    found = [(hierarchy.aligned_to(posterior.labels), value) for hierarchy, value in posterior.best(n_best)]
    best = [(drawn_at(hierarchy, posterior, heights), value) for hierarchy, value in found]
    drawn, listing = with_consensus(posterior, title, best[0][0], min_probability, heights)
    known = clusters_of(best[:1])[0][0]
    pictures = [
        small_tree(one, known, f"Hierarchy {number}") if one.n_leaves <= SMALL else None
        for number, (one, _) in enumerate(best, start=1)
    ]
    return ShownHierarchies(best, drawn, listing, pictures)


def with_consensus(
    posterior: Hierarchies | SampledPosterior | CoalescentDraws,
    title: str,
    best: Hierarchy,
    min_probability: float,
    heights: bool,
) -> tuple[dict[str, Hierarchy], Listing]:
    """The best, which is called `title`, and a consensus to be drawn, and the clusters."""
    drawn = {title: best}
    if 2 < posterior.n_leaves <= _AGREED:
        drawn["Consensus"] = drawn_at(posterior.consensus().aligned_to(posterior.labels), posterior, heights)
    shown = [drawn_clusters(hierarchy) for hierarchy in drawn.values()]
    return drawn, hierarchy_listing(posterior, shown[0], shown[-1], min_probability)


def hierarchy_picture(drawn: dict[str, Hierarchy], listing: Listing, classes: Classes, hint: str = _HINT) -> Html:
    """Dendrograms of which one is shown, a panel for the cluster that is chosen, and what the colours mean."""
    n = next(iter(drawn.values())).n_leaves
    if n == 1:
        return element("p", "There is one leaf, so there is nothing to draw.", class_="aside")
    pictures = [
        element("div", tree(found, listing, classes, f"tree-{i}"), class_="canvas", hidden=i > 0)
        for i, found in enumerate(drawn.values())
    ]
    left = element("div", _switch(list(drawn)), *pictures, support_legend(classes), _note(drawn))
    return element("div", left, panel(hint), class_="stage")


def _switch(names: list[str]) -> Html | None:
    if len(names) < 2:
        return None
    buttons = [
        element("button", name, type="button", data_tree=f"tree-{i}", aria_pressed="false" if i else "true")
        for i, name in enumerate(names)
    ]
    return element("div", joined(buttons), class_="switch", role="group", aria_label="Which hierarchy is shown")


def _note(drawn: dict[str, Hierarchy]) -> Html:
    first = next(iter(drawn.values()))
    words = (
        "Numbers are per cent: how probable it is that these leaves form a cluster, in whatever hierarchy. "
        "The consensus has every cluster above 50 % and leaves the rest open. "
        "With the keyboard: Tab to the picture, arrows to move, Enter to choose."
    )
    if first.branch_lengths is not None:
        words += " Branches are to scale: leaves that meet further left are further apart."
    if first.n_leaves > MAX_ROWS:
        words += " Triangles stand for clusters with too many leaves to draw."
    return element("p", words, class_="fine")


def _validity(posterior: Hierarchies) -> str:
    if posterior.model.is_of_sample and posterior.trellis is not None:
        pieces = "clusters" if posterior.trellis.is_closed else "splits"
        return (
            "These numbers come from a sample of trees, as a conditional cluster distribution: every hierarchy that "
            f"can be put together from {pieces} of the sample counts, {amount(posterior.count)} of them. "
            "They are computed exactly, and are as good an estimate as the sample is."
        )
    if posterior.is_exact:
        return exactness(posterior, "hierarchy")
    return (
        "These numbers are conditional: they are exact given that the hierarchy is one of the "
        f"{amount(posterior.count)} in a sparse trellis. Hierarchies outside of it are not counted, "
        "so a probability can be too large or too small, and log Z is a lower bound."
    )
