"""The contents of reports on sampled posteriors, over hierarchies and over partitions."""

from palmette.report.chains import sampled_alternatives, sampled_summary
from palmette.report.classes import Classes
from palmette.report.contents import Contents
from palmette.report.heat_map import MOST_LEAVES
from palmette.report.hierarchies import hierarchy_picture, shown_hierarchies
from palmette.report.partitions import map_data, number_table, partition_picture, shown_partitions
from palmette.report.summary import clusters_of
from palmette.sampling import SampledPartitions, SampledPosterior

__all__ = ["sampled_hierarchy_contents", "sampled_partition_contents"]

_HINT = "choose a cluster to see what it could be joined with."


def sampled_hierarchy_contents(
    posterior: SampledPosterior, classes: Classes, n_alternatives: int, min_probability: float, heights: bool
) -> Contents:
    """The verdict, the chains, the dendrogram with support, what else was drawn, and data."""
    best, drawn, listing, pictures = shown_hierarchies(
        posterior, max(1, n_alternatives), min_probability, "Best that was found", heights
    )
    labels, first = posterior.labels, "The best that was found."
    return Contents(
        things="hierarchies",
        labels=labels,
        listing=listing,
        summary=sampled_summary(posterior, listing, "hierarchies"),
        heading="The most probable hierarchy that was found",
        picture=hierarchy_picture(drawn, listing, classes),
        alternatives=sampled_alternatives(clusters_of(best), pictures, n_alternatives, labels, first, "hierarchy"),
        data={},
    )


def sampled_partition_contents(
    posterior: SampledPartitions, classes: Classes, n_alternatives: int, min_probability: float
) -> Contents:
    """The verdict, the chains, the clusters with support, who is together with whom, what else was drawn, and data."""
    best, listing, pictures = shown_partitions(posterior, max(1, n_alternatives), min_probability)
    drawn = best[0][0]
    together, errors = posterior.coclustering() if posterior.n_leaves <= MOST_LEAVES else (None, None)
    numbers = number_table(*posterior.n_clusters_probabilities())
    labels, first = posterior.labels, "The best that was drawn."
    return Contents(
        things="partitions",
        labels=labels,
        listing=listing,
        summary=sampled_summary(posterior, listing, "partitions"),
        heading="The most probable partition that was drawn",
        picture=partition_picture(drawn, listing, together, numbers, classes, _HINT),
        alternatives=sampled_alternatives(clusters_of(best), pictures, n_alternatives, labels, first, "partition"),
        data=map_data(drawn, together, errors),
    )
