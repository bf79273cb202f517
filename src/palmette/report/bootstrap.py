"""Bootstrap support in a report: two columns of the table of clusters, and what they mean."""

from collections.abc import Iterable, Sequence

from palmette.evaluate import BootstrapRow
from palmette.report.listing import Listing
from palmette.report.markup import Html, element, joined

__all__ = ["add_bootstrap", "bootstrap_headers", "bootstrap_note"]

_NOTE = (
    "AU and BP are bootstrap support. BP is how often a cluster comes back when columns of the data are drawn anew, "
    "with replacement, and AU the same without its bias: a p-value. Neither is the probability of a cluster, which is "
    "given these columns and this model."
)


def add_bootstrap(listing: Listing, labels: Sequence[str], rows: Iterable[BootstrapRow]) -> None:
    """Put AU and BP to the clusters that have them."""
    known = {frozenset(row.members): row for row in rows}
    for cluster in listing.clusters:
        row = known.get(frozenset(labels[leaf] for leaf in cluster.leaves))
        if row is not None:
            cluster.au, cluster.bp = row.au, row.bp


def bootstrap_headers(listing: Listing) -> Html | None:
    """The names of the two columns, if any cluster has something to put into them."""
    if all(cluster.au is None for cluster in listing.clusters):
        return None
    names = {"au": "AU", "bp": "BP"}
    return joined(
        [
            element("th", element("button", name, type="button"), scope="col", data_key=key)
            for key, name in names.items()
        ]
    )


def bootstrap_note(listing: Listing) -> Html | None:
    """What the two mean."""
    return None if bootstrap_headers(listing) is None else element("p", _NOTE, class_="fine")
