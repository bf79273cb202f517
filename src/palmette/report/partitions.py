"""The contents of a report on a posterior over partitions."""

import numpy as np

from palmette.array_types import Floats
from palmette.partition import Partition
from palmette.posterior import PartitionPosterior
from palmette.report.classes import Classes
from palmette.report.contents import Contents, alternatives, panel, support_legend
from palmette.report.heat_map import MOST_LEAVES, heat_map
from palmette.report.listing import Leaves, partition_listing
from palmette.report.markup import Html, element, joined
from palmette.report.numbers import amount, percent
from palmette.report.summary import Account, account_of, chip, cluster_name, summary
from palmette.report.trees import level

__all__ = ["partition_contents"]

_MOST_CARDS = 60  # clusters of a partition that are shown
_COUNTED = 20  # leaves up to which the number of clusters is computed on the full trellis, 400 on chosen clusters
_DRAWS, _DRAWN_LEAVES = 4000, 10_000_000  # at most so many draws, and leaves in all of them
_HINT = "Point at the map to compare two leaves; choose a cluster to see how it could be split, or joined with others."


def partition_contents(
    posterior: PartitionPosterior, classes: Classes, n_alternatives: int, min_probability: float
) -> Contents:
    """Summary, co-clustering map, number of clusters, alternatives and data of a posterior over partitions."""
    labels = posterior.labels
    best = [(found.aligned_to(labels), log_prob) for found, log_prob in posterior.best(max(2, n_alternatives))]
    groups = best[0][0].clusters_by_size()
    listing = partition_listing(posterior, groups[:_MOST_CARDS], min_probability)
    account = account_of(posterior, best, listing, _validity(posterior))
    together = posterior.coclustering() if posterior.n_leaves <= MOST_LEAVES else None
    pictures = [_groups(found, account) for found, _ in best]
    order = [leaf for group in groups for leaf in sorted(group)]
    return Contents(
        things=account.things,
        labels=posterior.labels,
        listing=listing,
        summary=summary(account),
        heading="The most probable partition",
        picture=_picture(posterior, account, groups, order, together, classes),
        alternatives=alternatives(account, pictures, n_alternatives),
        data={} if together is None else {"order": order, "together": _upper(together)},
    )


def _picture(
    posterior: PartitionPosterior,
    account: Account,
    groups: list[Leaves],
    order: list[int],
    together: Floats | None,
    classes: Classes,
) -> Html:
    body = [_cards(groups, account)]
    if together is None:
        words = f"There are more than {MOST_LEAVES} leaves, too many for a map of all pairs."
        body.append(element("p", words, class_="aside"))
    else:
        sizes = [len(group) for group in groups]
        body.append(element("h3", "Who is together with whom"))
        body.append(element("div", heat_map(together, account.labels, order, sizes, classes), class_="canvas"))
        words = (
            "The stronger the colour, the more probable that two leaves are together; frames are the clusters above. "
            "With the keyboard: Tab to the map, arrows to move."
        )
        body.append(element("p", words, class_="fine"))
    body += [support_legend(classes), _numbers(posterior)]
    return element("div", element("div", *body), panel(_HINT), class_="stage")


def _cards(groups: list[Leaves], account: Account) -> Html:
    number_of = account.listing.number_of()
    items = []
    for number in (number_of[group] for group in groups[:_MOST_CARDS]):
        row = account.listing.clusters[number]
        items.append(chip(row, number, account.labels, f"chip cluster {level(row.probability)}"))
    if len(groups) > _MOST_CARDS:
        items.append(element("li", f"and {len(groups) - _MOST_CARDS:,} more", class_="aside"))
    return element("ul", joined(items), class_="chips", aria_label="Clusters of the most probable partition")


def _numbers(posterior: PartitionPosterior) -> Html:
    shares, n_draws = _n_clusters(posterior)
    shown = np.flatnonzero(shares >= 0.0005)
    top = float(shares.max())
    rows = [_number_row(int(k), float(shares[k]), top) for k in shown]
    head = element("tr", *(element("th", word, scope="col") for word in ("Clusters", "Probability", "")))
    table = element("table", element("thead", head), element("tbody", joined(rows)), class_="numbers")
    words = f"Shares among {n_draws:,} exact draws: the leaves are too many to compute them."
    note = element("p", words, class_="fine") if n_draws else None
    return joined((element("h3", "How many clusters"), table, note))


def _number_row(k: int, share: float, top: float) -> Html:
    bar = element("rect", x="0", y="2", width=f"{200 * share / top:.1f}", height="10", rx="2")
    picture = element("svg", bar, viewBox="0 0 200 14", class_="bar", aria_hidden="true")
    return element("tr", element("th", str(k), scope="row"), element("td", percent(share)), element("td", picture))


def _n_clusters(posterior: PartitionPosterior) -> tuple[Floats, int]:
    # The probability of each number of clusters, and of how many draws it is a share if it is one.
    if posterior.n_leaves <= (_COUNTED if posterior.is_exact else 20 * _COUNTED):
        return posterior.n_clusters_probabilities(), 0
    n_draws = max(100, min(_DRAWS, _DRAWN_LEAVES // posterior.n_leaves))
    counts = [partition.n_clusters for partition in posterior.sample(n_draws, rng=0)]
    return np.bincount(counts) / n_draws, n_draws


def _groups(partition: Partition, account: Account) -> Html:
    known = account.best[0][0]
    items = [
        element("li", cluster_name(group, account.labels), class_=None if group in known else "new")
        for group in partition.clusters_by_size()[:_MOST_CARDS]
    ]
    return element("ul", joined(items), class_="groups")


def _upper(matrix: Floats) -> list[list[float]]:
    # Row i: the leaves after i. Five digits are more than a map shows.
    return [[round(float(value), 5) for value in matrix[i, i + 1 :]] for i in range(len(matrix) - 1)]


def _validity(posterior: PartitionPosterior) -> str:
    if posterior.is_exact:
        return "These numbers are exact: they are sums over every partition there is, with no sampling and no search."
    return (
        "These numbers are conditional: they are exact given that the partition is one of the "
        f"{amount(posterior.count)} into chosen clusters. Partitions with other clusters are not counted, "
        "so a probability can be too large or too small, and log Z is a lower bound."
    )
