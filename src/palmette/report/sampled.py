"""The contents of reports on sampled posteriors, over hierarchies and over partitions."""

from palmette.report.chains import sampled_alternatives, sampled_summary
from palmette.report.classes import Classes
from palmette.report.contents import Contents
from palmette.report.heat_map import MOST_LEAVES
from palmette.report.hierarchies import hierarchy_picture, small_trees
from palmette.report.listing import hierarchy_listing, partition_listing
from palmette.report.partitions import MOST_CARDS, map_data, number_table, partition_picture, small_groups
from palmette.report.trees import drawn_clusters
from palmette.sampling import SampledPartitions, SampledPosterior

__all__ = ["sampled_hierarchy_contents", "sampled_partition_contents"]

_HINT = "Point at the map to compare two leaves; choose a cluster to see what it could be joined with."


def sampled_hierarchy_contents(
    posterior: SampledPosterior, classes: Classes, n_alternatives: int, min_probability: float
) -> Contents:
    """The verdict, the chains, the dendrogram with support, what else was drawn, and data."""
    labels = posterior.labels
    best = [(found.aligned_to(labels), value) for found, value in posterior.best(max(1, n_alternatives))]
    drawn = {"Best that was found": best[0][0]}
    if posterior.n_leaves > 2:
        drawn["Consensus"] = posterior.consensus().aligned_to(labels)
    shown = [drawn_clusters(hierarchy) for hierarchy in drawn.values()]
    listing = hierarchy_listing(posterior, shown[0], shown[-1], min_probability)
    clusters = [(frozenset(c for c in found.clusters() if len(c) > 1), value) for found, value in best]
    pictures = small_trees([found for found, _ in best], clusters[0][0])
    first = "The best that was found."
    return Contents(
        things="hierarchies",
        labels=labels,
        listing=listing,
        summary=sampled_summary(posterior, listing, "hierarchies"),
        heading="The most probable hierarchy that was found",
        picture=hierarchy_picture(drawn, listing, classes),
        alternatives=sampled_alternatives(clusters, pictures, n_alternatives, labels, first, "hierarchy"),
        data={},
    )


def sampled_partition_contents(
    posterior: SampledPartitions, classes: Classes, n_alternatives: int, min_probability: float
) -> Contents:
    """The verdict, the chains, the clusters with support, who is together with whom, what else was drawn, and data."""
    labels = posterior.labels
    best = [(found.aligned_to(labels), value) for found, value in posterior.best(max(1, n_alternatives))]
    drawn = best[0][0]
    listing = partition_listing(posterior, drawn.clusters_by_size()[:MOST_CARDS], min_probability)
    together, errors = posterior.coclustering() if posterior.n_leaves <= MOST_LEAVES else (None, None)
    clusters = [(frozenset(found.clusters()), value) for found, value in best]
    pictures = [small_groups(found, clusters[0][0]) for found, _ in best]
    numbers = number_table(*posterior.n_clusters_probabilities())
    first = "The best that was drawn."
    return Contents(
        things="partitions",
        labels=labels,
        listing=listing,
        summary=sampled_summary(posterior, listing, "partitions"),
        heading="The most probable partition that was drawn",
        picture=partition_picture(drawn, listing, together, numbers, classes, _HINT),
        alternatives=sampled_alternatives(clusters, pictures, n_alternatives, labels, first, "partition"),
        data=map_data(drawn, together, errors),
    )
