"""Pictures of posteriors, with matplotlib, which is imported when the first one is drawn.

Hierarchies
    `dendrogram`: one of them, with the support of its clusters; `cloud`: many at once; `alternatives`: the best few;
    `heatmap_with_dendrogram`: how near any two leaves are, or a table of them, beside one of them; `support_on`: the
    support of clusters on a dendrogram that SciPy, seaborn or Scanpy has drawn.
Partitions
    `affinities_and_coclustering`, `affinity_against_coclustering`, `n_clusters`; `alternatives` and
    `heatmap_with_dendrogram` as above.
Both
    `support_against_temperature`; `heatmap` of any matrix; `approximate_against_exact`.
Chains, of `palmette.sampling`
    `traces`: how they went; `convergence`: whether they agree, cluster by cluster.

Every function returns the Axes or the Figure that it drew on; show or save it yourself. Functions with `ax=` draw on
Axes that are there already. Names of leaves are shown letter by letter: `$` and `_` mean themselves. Colours are told
apart by any eye (Okabe and Ito), and the same call gives the same picture.

>>> import palmette as pal
>>> from palmette import plot
>>> data = pal.datasets.load_numerals()
>>> model = pal.models.CorrelationClusters(data.similarity - data.similarity.mean(), beta=20, labels=data.labels)
>>> figure = plot.affinities_and_coclustering(model, pal.PartitionPosterior(model))
>>> len(figure.axes)  # two heat maps, each with its scale
4
"""

from palmette.plot.affinities_and_coclustering import affinities_and_coclustering
from palmette.plot.affinity_against_coclustering import affinity_against_coclustering
from palmette.plot.alternatives import alternatives
from palmette.plot.approximate_against_exact import approximate_against_exact
from palmette.plot.cloud import cloud
from palmette.plot.convergence import convergence
from palmette.plot.dendrogram import dendrogram
from palmette.plot.heatmap import heatmap
from palmette.plot.heatmap_with_dendrogram import heatmap_with_dendrogram
from palmette.plot.n_clusters import n_clusters
from palmette.plot.support_against_temperature import support_against_temperature
from palmette.plot.support_on import support_on
from palmette.plot.traces import traces

__all__ = [
    "affinities_and_coclustering",
    "affinity_against_coclustering",
    "alternatives",
    "approximate_against_exact",
    "cloud",
    "convergence",
    "dendrogram",
    "heatmap",
    "heatmap_with_dendrogram",
    "n_clusters",
    "support_against_temperature",
    "support_on",
    "traces",
]
