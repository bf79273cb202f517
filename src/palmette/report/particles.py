"""The contents of a report on weighted histories: whether the runs agree comes first, and nothing is called certain."""

import numpy as np

from palmette.coalescent import CoalescentDraws
from palmette.coalescent.verdict import ParticleVerdict
from palmette.models.heights import drawn_at
from palmette.report.classes import Classes
from palmette.report.contents import Contents, cards
from palmette.report.hierarchies import SMALL, hierarchy_picture, with_consensus
from palmette.report.listing import Listing
from palmette.report.markup import Html, element, joined
from palmette.report.summary import clusters_of, exchange, kinds, tiles
from palmette.report.trees import small_tree

__all__ = ["particle_contents"]

_WORDS = ("In nearly all histories", "In most histories", "Contested")
_HINT = "Point at a cluster to see its members and its probability."


def particle_contents(
    draws: CoalescentDraws, classes: Classes, n_alternatives: int, least: float, heights: bool
) -> Contents:
    """The verdict, the most credible history with its times, what each run holds most credible, and data."""
    best = drawn_at(draws.most_credible().aligned_to(draws.labels), draws, heights)
    drawn, listing = with_consensus(draws, "Most credible", best, least, heights)
    return Contents(
        things="histories",
        labels=draws.labels,
        listing=listing,
        summary=_summary(draws, listing),
        heading="The most credible history",
        picture=hierarchy_picture(drawn, listing, classes, _HINT),
        alternatives=_runs(draws, n_alternatives),
        data={},
    )


def _summary(draws: CoalescentDraws, listing: Listing) -> Html:
    verdict = draws.verdict
    fine = (
        "These numbers are estimates from weighted particles (sequential Monte Carlo), each with a standard error, "
        "which is to be believed if the runs agree. They are given the process and its parameters. The history that is "
        "shown has the largest product of cluster probabilities among the particles, and its own times."
    )
    sorted_by = kinds(_WORDS, listing, draws.labels) if verdict.usable else None
    return joined((_trust(verdict), _figures(draws), sorted_by, element("p", fine, class_="fine")))


def _trust(verdict: ParticleVerdict) -> Html:
    if verdict.usable:
        head = "The runs agree."
        words = (
            f"{verdict.n_runs} independent runs hold {verdict.n_independent:,.0f} independent histories, effectively, "
            "so that errors can be believed."
        )
    else:
        head = "The particles have collapsed: do not rely on these numbers."
        about = f" Runs differ most on {'; '.join(verdict.disagreements)}." if verdict.disagreements else ""
        words = (
            f"Of {verdict.n_particles:,} particles {verdict.n_independent:.1f} are independent: nearly all are copies "
            f"of a few.{about} Take more particles, or another proposal. No cluster is said to be sure here."
        )
    return element("p", element("strong", head), f" {words}")


def _figures(draws: CoalescentDraws) -> Html:
    verdict = draws.verdict
    return tiles(
        {
            "leaves": f"{draws.n_leaves:,}",
            f"particles in {verdict.n_runs} runs": f"{verdict.n_particles:,}",
            "independent histories, effectively": f"{verdict.n_independent:,.1f}",
            "largest standard error": f"{100 * verdict.standard_error:.1f} %",
        }
    )


def _runs(draws: CoalescentDraws, n_shown: int) -> Html:
    # What each run by itself holds most credible.
    best = clusters_of([(draws.most_credible().aligned_to(draws.labels), 0.0)])[0][0]
    items = []
    for number, run in enumerate(draws.by_run()[:n_shown], start=1):
        own = run.most_credible().aligned_to(draws.labels)
        clusters = clusters_of([(own, 0.0)])[0][0]
        same = "the history above." if clusters == best else joined((exchange(best, clusters, draws.labels), "."))
        evidence = f"{run.log_evidence:,.1f}".replace("-", "−") if np.isfinite(run.log_evidence) else "−∞"
        head = element("h3", element("span", f"run {number}", class_="rank"))
        picture = small_tree(own, best, f"Run {number}") if own.n_leaves <= SMALL else None
        words = joined((f"log evidence about {evidence}; ", same))
        items.append(element("li", head, picture, element("p", words), class_="card"))
    note = "Independent runs, each with the history that it holds most credible. They differ where little is known."
    return cards(items, note)
