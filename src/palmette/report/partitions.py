"""The contents of a report on a posterior over partitions."""

from typing import Any, NamedTuple

import numpy as np

from palmette.array_types import Floats
from palmette.defaults import DEFAULTS
from palmette.partition import Partition
from palmette.report.classes import Classes
from palmette.report.contents import Contents, alternatives, panel, support_legend
from palmette.report.heat_map import MOST_LEAVES, heat_map
from palmette.report.levels import level
from palmette.report.listing import Leaves, Listing, Partitions, partition_listing
from palmette.report.markup import Html, cluster_name, element, joined
from palmette.report.numbers import amount, percent, plus_minus
from palmette.report.summary import account_of, chip, exactness, summary
from palmette.sampling import SampledPartitions

__all__ = [
    "map_data",
    "number_table",
    "partition_contents",
    "partition_picture",
    "shown_partitions",
]

_MOST_CARDS = 60  # clusters of a partition that are shown
_DRAWS, _DRAWN_LEAVES = 4000, 10_000_000  # at most so many draws, and leaves in all of them
_HINT = "choose a cluster to see how it could be split, or joined with others."


def partition_contents(
    posterior: Partitions, classes: Classes, n_alternatives: int, min_probability: float
) -> Contents:
    """Summary, co-clustering map, number of clusters, alternatives and data of a posterior over partitions."""
    best, listing, pictures = shown_partitions(posterior, max(2, n_alternatives), min_probability)
    first = best[0][0]
    account = account_of(posterior, best, listing, _validity(posterior))
    together = posterior.coclustering() if posterior.n_leaves <= MOST_LEAVES else None
    return Contents(
        things=account.things,
        labels=posterior.labels,
        listing=listing,
        summary=summary(account),
        heading="The most probable partition",
        picture=partition_picture(first, listing, together, _numbers(posterior), classes, _HINT),
        alternatives=alternatives(account, pictures, n_alternatives),
        data=map_data(first, together),
    )


class ShownPartitions(NamedTuple):
    """What a report shows of partitions."""

    best: list[tuple[Partition, float]]
    listing: Listing
    pictures: list[Html]  # small ones of the best


def shown_partitions(posterior: Partitions | SampledPartitions, n_best: int, min_probability: float) -> ShownPartitions:
    """The best ones, and the clusters."""
    best = [(found.aligned_to(posterior.labels), value) for found, value in posterior.best(n_best)]
    first = best[0][0]
    listing = partition_listing(posterior, first.clusters_by_size()[:_MOST_CARDS], min_probability)
    return ShownPartitions(best, listing, [_small_groups(found, frozenset(first.clusters())) for found, _ in best])


def partition_picture(
    best: Partition, listing: Listing, together: Floats | None, numbers: Html, classes: Classes, hint: str
) -> Html:
    """The clusters of the best partition, the map of pairs if there is one, the number of clusters, and a panel.

    The panel says what to point at, the map first if there is one, and then the `hint`.
    """
    groups = best.clusters_by_size()
    body = [_cards(groups, listing, best.labels)]
    if together is None:
        words = f"There are more than {MOST_LEAVES} leaves, too many for a map of all pairs."
        body.append(element("p", words, class_="aside"))
    else:
        sizes = [len(group) for group in groups]
        picture = heat_map(together, best.labels, best.leaf_order.tolist(), sizes, classes)
        body += [element("h3", "Who is together with whom"), element("div", picture, class_="canvas")]
        words = (
            "The stronger the colour, the more probable that two leaves are together; frames are the clusters above. "
            "With the keyboard: Tab to the map, arrows to move."
        )
        body.append(element("p", words, class_="fine"))
    body += [support_legend(classes), numbers]
    hint = hint.capitalize() if together is None else f"Point at the map to compare two leaves; {hint}"
    return element("div", element("div", *body), panel(hint), class_="stage")


def map_data(best: Partition, together: Floats | None, errors: Floats | None = None) -> dict[str, Any]:
    """What the script knows of the map of pairs: the order of leaves, every pair's probability and its error."""
    if together is None:
        return {}
    data: dict[str, Any] = {"order": best.leaf_order.tolist(), "together": _upper(together)}
    return data if errors is None else {**data, "together_errors": _upper(errors)}


def number_table(shares: Floats, errors: Floats | None = None, note: str | None = None) -> Html:
    """How probable each number of clusters is, those of 0.05 % and more, with standard errors where there are any."""
    top = float(shares.max())
    given = [None] * len(shares) if errors is None else errors.tolist()
    rows = [
        _number_row(k, float(shares[k]), given[k], top)
        for k in np.flatnonzero(shares >= DEFAULTS.drawn_probability).tolist()
    ]
    head = element("tr", *(element("th", word, scope="col") for word in ("Clusters", "Probability", "")))
    table = element("table", element("thead", head), element("tbody", joined(rows)), class_="numbers")
    words = None if note is None else element("p", note, class_="fine")
    return joined((element("h3", "How many clusters"), table, words))


def _small_groups(partition: Partition, known: frozenset[Leaves]) -> Html:
    """The clusters of a partition by name, in which those that are not `known` stand out."""
    items = [
        element("li", cluster_name(group, partition.labels), class_=None if group in known else "new")
        for group in partition.clusters_by_size()[:_MOST_CARDS]
    ]
    return element("ul", joined(items), class_="groups")


def _cards(groups: list[Leaves], listing: Listing, labels: tuple[str, ...]) -> Html:
    number_of = listing.number_of()
    items = []
    for number in (number_of[group] for group in groups[:_MOST_CARDS]):
        row = listing.clusters[number]
        items.append(chip(row, number, labels, f"chip cluster {level(row.probability)}"))
    if len(groups) > _MOST_CARDS:
        items.append(element("li", f"and {len(groups) - _MOST_CARDS:,} more", class_="aside"))
    return element("ul", joined(items), class_="chips", aria_label="Clusters of the most probable partition")


def _numbers(posterior: Partitions) -> Html:
    shares, n_draws = _n_clusters(posterior)
    note = f"Shares among {n_draws:,} exact draws: the leaves are too many to compute them."
    return number_table(shares, note=note if n_draws else None)


def _number_row(k: int, share: float, error: float | None, top: float) -> Html:
    bar = element("rect", x="0", y="2", width=f"{200 * share / top:.1f}", height="10", rx="2")
    picture = element("svg", bar, viewBox="0 0 200 14", class_="bar", aria_hidden="true")
    words = percent(share) + plus_minus(error)
    return element("tr", element("th", str(k), scope="row"), element("td", words), element("td", picture))


def _n_clusters(posterior: Partitions) -> tuple[Floats, int]:
    # The probability of each number of clusters, and of how many draws it is a share if it is one.
    if posterior.n_leaves <= (DEFAULTS.counted_leaves if posterior.is_exact else DEFAULTS.counted_chosen_leaves):
        return posterior.n_clusters_probabilities(), 0
    n_draws = max(100, min(_DRAWS, _DRAWN_LEAVES // posterior.n_leaves))
    counts = [partition.n_clusters for partition in posterior.sample(n_draws, rng=0)]
    return np.bincount(counts) / n_draws, n_draws


def _upper(matrix: Floats) -> list[list[float]]:
    # Row i: the leaves after i. Five digits are more than a map shows.
    return [[round(float(value), 5) for value in matrix[i, i + 1 :]] for i in range(len(matrix) - 1)]


def _validity(posterior: Partitions) -> str:
    if posterior.is_exact:
        return exactness(posterior, "partition")
    return (
        "These numbers are conditional: they are exact given that the partition is one of the "
        f"{amount(posterior.count)} into chosen clusters. Partitions with other clusters are not counted, "
        "so a probability can be too large or too small, and log Z is a lower bound."
    )
