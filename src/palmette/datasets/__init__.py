"""Small data that ship with the package: real, labelled, and light enough for every verb.

>>> from palmette import datasets
>>> data = datasets.load_numerals()
>>> data.similarity.shape, data.labels[:3], data.classes[:3]
((12, 12), ('English', 'Dutch', 'German'), ('Germanic', 'Germanic', 'Germanic'))
"""

from palmette.datasets.tables import (
    Dataset,
    PointData,
    SimilarityData,
    WordData,
    load_numerals,
    load_tumours,
    load_worlds,
)

__all__ = ["Dataset", "PointData", "SimilarityData", "WordData", "load_numerals", "load_tumours", "load_worlds"]
