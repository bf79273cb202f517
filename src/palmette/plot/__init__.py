"""Pictures of posteriors over partitions, with matplotlib, which is imported when the first one is drawn.

Every function returns the Axes or the Figure that it drew on; show or save it yourself.

>>> import palmette as pal
>>> from palmette import plot
>>> data = pal.datasets.load_numerals()
>>> model = pal.models.CorrelationClusters(data.similarity - data.similarity.mean(), beta=20, labels=data.labels)
>>> figure = plot.affinities_and_coclustering(model, pal.PartitionPosterior(model))
>>> len(figure.axes)  # two heat maps, each with its scale
4
"""

from palmette.plot.counts import n_clusters
from palmette.plot.heatmaps import affinities_and_coclustering, heatmap
from palmette.plot.scatter import affinity_against_coclustering, approximate_against_exact

__all__ = [
    "affinities_and_coclustering",
    "affinity_against_coclustering",
    "approximate_against_exact",
    "heatmap",
    "n_clusters",
]
