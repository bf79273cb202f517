"""What probabilities rest on, and the words that go with it: "certain" is for models with evidence alone.

A cost is as sharp as its β, which somebody chose, so what it says is shown against β.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from palmette.defaults import DEFAULTS
from palmette.evidence import compare
from palmette.report.listing import Hierarchies, Listing, Partitions
from palmette.report.markup import Html, element, joined
from palmette.report.support_picture import support_picture

__all__ = ["Belief", "belief_in"]


@dataclass(frozen=True)
class Belief:
    """What a summary says of where its probabilities come from."""

    kinds: tuple[str, str, str]  # what clusters above 95 %, above 50 % and above 10 % are called
    given: str = ""  # what a sentence about trust ends with
    opening: Html | None = None  # what comes first
    choice: Html | None = None  # what was chosen, and what would be if something else had been


def belief_in(posterior: Hierarchies | Partitions, listing: Listing) -> Belief:
    """The belief that a posterior over hierarchies or partitions deserves."""
    model = posterior.model
    if model.is_of_sample:
        return Belief(("In nearly all trees", "In most trees", "Contested"), " in this sample")
    if model.log_evidence_offset is not None:
        return Belief(("Certain", "Probable", "Contested"), opening=_compared(posterior))
    if model.is_tempered:
        given = f" at β = {model.beta:.4g}"
        kinds = (f"Nearly always{given}", f"Mostly{given}", f"Contested{given}")
        return Belief(kinds, given, choice=_choice(posterior, listing))
    return Belief(("Nearly always by this model", "Mostly by this model", "Contested"), " by this model")


def _compared(posterior: Hierarchies | Partitions) -> Html | None:
    if posterior.model.log_evidence_without_structure is None or posterior.n_leaves < 3:
        return None
    found = compare(posterior, at_best=None)
    words = (
        " That is how much more probable the data are with structure than without, as a logarithm; from 1, 3 and 5 on, "
        "either way, it is called positive, strong and very strong."
    )
    return element("p", element("strong", str(found)), words)


def _choice(posterior: Hierarchies | Partitions, listing: Listing) -> Html:
    beta = posterior.model.beta
    words = (
        "This model is a cost, and how sure it is depends on the inverse temperature β, which is a choice: at β = 0 "
        f"all are equally probable, and as β grows one answer becomes certain, whatever the data. Here β = {beta:.4g}."
    )
    said = element("p", element("strong", "These probabilities are given β."), f" {words}")
    picture = None
    if posterior.trellis is None and 2 < posterior.n_leaves <= DEFAULTS.pictured_leaves and 0 < beta < math.inf:
        picture = support_picture(posterior, listing)
    return joined((said, picture))
