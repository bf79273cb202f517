"""What a posterior says, in plain words: how concentrated it is, what is probable, whether one answer stands out."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from palmette.hierarchy import Hierarchy
from palmette.partition import Partition
from palmette.report.belief import Belief, belief_in
from palmette.report.levels import CERTAIN, CONTESTED, PROBABLE
from palmette.report.listing import Hierarchies, Leaves, ListedCluster, Listing, Partitions
from palmette.report.markup import Html, cluster_name, element, joined
from palmette.report.numbers import amount, amount_of_log, percent, percent_of_log, plus_minus

__all__ = [
    "Account",
    "account_of",
    "chip",
    "clusters_of",
    "exactness",
    "exchange",
    "kinds",
    "ratio_to_best",
    "summary",
    "tiles",
]

_SHOWN = 8  # clusters that are listed of each kind


@dataclass(frozen=True)
class Account:
    """What a summary is made of. `thing` is "hierarchy" or "partition"; `best` are clusters and log-probabilities."""

    thing: str
    things: str
    labels: tuple[str, ...]
    count: int
    is_full: bool  # whether every one there is was counted
    entropy: float
    best: Sequence[tuple[frozenset[Leaves], float]]
    listing: Listing
    belief: Belief
    validity: str  # what the numbers are exact for


def account_of(
    posterior: Hierarchies | Partitions,
    best: Sequence[tuple[Hierarchy | Partition, float]],
    listing: Listing,
    validity: str,
) -> Account:
    """The account of a posterior, of which these are the most probable hierarchies or partitions."""
    return Account(
        thing="hierarchy" if posterior.clusterings == "hierarchies" else "partition",
        things=posterior.clusterings,
        labels=posterior.labels,
        count=posterior.count,
        is_full=posterior.is_exact,
        entropy=float(posterior.entropy),
        best=clusters_of(best),
        listing=listing,
        belief=belief_in(posterior, listing),
        validity=validity,
    )


def exactness(posterior: Hierarchies | Partitions, thing: str) -> str:
    """What is said of numbers that are sums over everything, and averages over parameters if they are."""
    words = f"These numbers are exact: they are sums over every {thing} there is, with no sampling and no search."
    if posterior.kind != "averages":
        return words
    return f"{words} They are averaged over {len(posterior.parts)} posteriors, by weight, so that no model is chosen."


def clusters_of(best: Iterable[tuple[Hierarchy | Partition, float]]) -> list[tuple[frozenset[Leaves], float]]:
    """The clusters of each, and what comes with it; without the leaves themselves, which are in every hierarchy."""
    return [
        (frozenset(c for c in found.clusters() if len(c) > 1 or isinstance(found, Partition)), value)
        for found, value in best
    ]


def summary(account: Account) -> Html:
    """Whether there is structure, figures, whether one answer stands out, the clusters, and what it all rests on."""
    belief = account.belief
    words = (element("p", _trust(account)), _spread(account), _rival(account))
    clusters = kinds(belief.kinds, account.listing, account.labels)
    fine = element("p", account.validity, class_="fine")
    return joined((belief.opening, _tiles(account), *words, clusters, belief.choice, fine))


def exchange(ours: frozenset[Leaves], theirs: frozenset[Leaves], labels: tuple[str, ...]) -> Html:
    """Which clusters `theirs` has in place of which of `ours`, as the end of a sentence."""
    new, gone = _listed(theirs - ours, labels), _listed(ours - theirs, labels)
    return joined(("it has ", new, " in place of ", gone))


def _listed(clusters: frozenset[Leaves], labels: tuple[str, ...]) -> Html:
    few = sorted(clusters, key=lambda leaves: (len(leaves), sorted(leaves)))
    shown = [joined(("{", cluster_name(leaves, labels), "}")) for leaves in few[:2]]
    more = len(few) - len(shown)
    return joined((joined(shown, " and " if more <= 0 else ", "), f" and {more} more" if more > 0 else None))


def tiles(figures: dict[str, str]) -> Html:
    """Figures in a row, each over what it is."""
    each = [element("div", element("dt", term), element("dd", figure)) for term, figure in figures.items()]
    return element("dl", joined(each), class_="tiles")


def _tiles(account: Account) -> Html:
    figures = {
        "leaves": f"{len(account.labels):,}",
        account.things if account.count != 1 else account.thing: amount(account.count),
        f"{account.things}, effectively": amount_of_log(account.entropy),
        "probability of the best": percent_of_log(account.best[0][1]),
    }
    return tiles(figures)


def _trust(account: Account) -> Html:
    thing, log_prob, given = account.thing, account.best[0][1], account.belief.given
    share = percent_of_log(log_prob)
    if account.count == 1:
        head, words = f"There is only one {thing}.", "Nothing else is possible, so there is nothing to weigh."
    elif log_prob >= math.log(CERTAIN):
        head, words = f"One {thing} can be trusted.", f"The most probable one has {share} of the probability."
        head = f"One {thing} has nearly all of the probability{given}." if given else head
    elif log_prob >= math.log(PROBABLE):
        head = f"One {thing} stands out{given}."
        words = f"It has {share} of the probability, more than all others together, but not all of it."
    else:
        head = f"No single {thing} can be trusted{given}."
        words = (
            f"Even the most probable one has only {share} of the probability. "
            "Trust single clusters, each with its own probability, rather than the whole."
        )
    return joined((element("strong", head), f" {words}"))


def _spread(account: Account) -> Html | None:
    if account.count == 1:
        return None
    leaves, count = f"{len(account.labels):,} leaves", f"{amount(account.count)} {account.things}"
    there_are = (
        f"{leaves} have {count}." if account.is_full else f"Of all {account.things} of {leaves}, {count} are weighed."
    )
    words = (
        f"{there_are} The posterior is as undecided between them as a fair choice among "
        f"{amount_of_log(account.entropy)} would be (the perplexity, or exponential of the entropy)."
    )
    return element("p", words)


def _rival(account: Account) -> Html | None:
    if len(account.best) < 2:
        return None
    (ours, best), (theirs, second) = account.best[:2]
    head = f"The runner-up has {percent_of_log(second)}: "
    return element("p", head, exchange(ours, theirs, account.labels), f". {ratio_to_best(best - second)}.")


def ratio_to_best(gap: float) -> str:
    """How many times as probable the best is, from the difference of two log-probabilities.

    >>> ratio_to_best(0.0), ratio_to_best(0.5), ratio_to_best(7.0)
    ('The best is no more probable', 'The best is 1.65 times as probable', 'The best is 1,097 times as probable')
    """
    if gap < 0.005:
        return "The best is no more probable"
    return f"The best is {f'{math.exp(gap):.2f}' if gap < math.log(9.95) else amount_of_log(gap)} times as probable"


def kinds(words: tuple[str, str, str], listing: Listing, labels: tuple[str, ...]) -> Html:
    """The listed clusters in three kinds, by their probability, each under its word."""
    rows = listing.clusters[: listing.n_rows]
    certain = [row for row in rows if row.probability >= CERTAIN]
    probable = [row for row in rows if PROBABLE <= row.probability < CERTAIN]
    contested = [row for row in rows if CONTESTED <= row.probability < PROBABLE]
    three = [
        ("certain", f"at least {100 * CERTAIN:g} %", certain, listing.n_certain),
        ("probable", f"{100 * PROBABLE:g} % to {100 * CERTAIN:g} %", probable, listing.n_probable),
        ("contested", f"{100 * CONTESTED:g} % to {100 * PROBABLE:g} %", contested, len(contested)),
    ]
    return joined([_kind(word, *kind, listing, labels) for word, kind in zip(words, three, strict=True)])


def _kind(
    word: str,
    style: str,
    bounds: str,
    rows: list[ListedCluster],
    total: int,
    listing: Listing,
    labels: tuple[str, ...],
) -> Html:
    number = listing.number_of()
    chips = [chip(row, number[row.leaves], labels, "chip") for row in rows[:_SHOWN]]
    more = total - len(chips)
    if more > 0:
        chips.append(element("li", f"and {more:,} more", class_="aside"))
    body = element("ul", joined(chips), class_="chips") if chips else element("p", "none", class_="aside")
    head = element("h3", f"{word} ", element("span", f"{total:,} · {bounds}", class_="aside"))
    return element("section", head, body, class_=f"kind {style}")


def chip(row: ListedCluster, number: int, labels: tuple[str, ...], kind: str) -> Html:
    """A listed cluster by name and probability, as a button in a list."""
    share = element("b", percent(row.probability) + plus_minus(row.error))
    content = (cluster_name(row.leaves, labels), " ", share)
    return element("li", element("button", *content, type="button", class_=kind, data_cluster=str(number)))
