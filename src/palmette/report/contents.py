"""The parts of a report, and what reports on hierarchies and on partitions say in the same way."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from palmette.report.classes import Classes
from palmette.report.levels import LEGEND
from palmette.report.listing import Listing
from palmette.report.markup import Html, element, joined
from palmette.report.numbers import percent_of_log
from palmette.report.summary import Account, exchange, ratio_to_best

__all__ = ["Contents", "alternatives", "cards", "panel", "support_legend"]


@dataclass(frozen=True)
class Contents:
    """What is put into the page: pieces of HTML, and what the script needs to know."""

    things: str  # "hierarchies" or "partitions"
    labels: tuple[str, ...]
    listing: Listing
    summary: Html
    heading: str  # of the picture
    picture: Html
    alternatives: Html
    data: dict[str, Any]

    def as_data(self) -> dict[str, Any]:
        """The page's data block: labels, clusters with their rivals, and what the picture adds."""
        return {
            "kind": self.things,
            "labels": list(self.labels),
            "n_rows": self.listing.n_rows,
            "clusters": [cluster.as_data() for cluster in self.listing.clusters],
            **self.data,
        }


def panel(hint: str) -> Html:
    """Where the script shows the cluster that was chosen."""
    words = element("p", hint, class_="aside")
    return element("aside", words, id="panel", class_="panel", aria_live="polite", aria_label="Details")


def support_legend(classes: Classes) -> Html:
    """What the colours of clusters mean, and those of classes."""
    mark = element("svg", element("circle", cx="7", cy="7", r="5"), viewBox="0 0 14 14", aria_hidden="true")
    items = [element("li", mark, words, class_=f"cluster {word}") for word, words in LEGEND.items()]
    return joined((element("ul", joined(items), class_="legend", aria_label="Probability"), classes.legend()))


def alternatives(account: Account, pictures: Sequence[Html | None], n_shown: int) -> Html:
    """One card for each of the best, with its probability, what is different, and a picture."""
    items = [_card(account, number, pictures[number]) for number in range(min(n_shown, len(account.best)))]
    seen = sum(math.exp(log_prob) for _, log_prob in account.best[:n_shown])
    left = max(0.0, 1.0 - seen)
    rest = percent_of_log(math.log(left)) if left > 1e-12 else "nothing to speak of"
    words = f"What is not shown here has {rest} of the probability."
    return cards(items, words)


def cards(items: list[Html], note: str) -> Html:
    """Alternatives side by side, and what is to be said of them."""
    if not items:
        return element("p", "None were asked for.", class_="aside")
    return joined([element("ol", joined(items), class_="cards"), element("p", note, class_="fine")])


def _card(account: Account, number: int, picture: Html | None) -> Html:
    ours, best = account.best[0]
    theirs, log_prob = account.best[number]
    head = element("h3", element("span", f"{number + 1}", class_="rank"), percent_of_log(log_prob))
    words = Html("The most probable one.")
    if number > 0:
        n = len(theirs - ours)
        differ = f"{n} {'cluster differs' if n == 1 else 'clusters differ'}: "
        words = joined((differ, exchange(ours, theirs, account.labels), f". {ratio_to_best(best - log_prob)}."))
    return element("li", head, picture, element("p", words), class_="card")
