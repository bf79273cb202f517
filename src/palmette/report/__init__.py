"""A posterior as a page to read, to send and to keep: one HTML file that needs nothing else.

>>> import tempfile, pathlib
>>> import palmette as pal
>>> from palmette import report
>>> data = pal.datasets.load_numerals()
>>> post = pal.HierarchyPosterior(pal.models.Dasgupta(data.similarity, beta=4.0, labels=data.labels))
>>> with tempfile.TemporaryDirectory() as folder:
...     path = report.write(post, pathlib.Path(folder) / "numerals.html", classes=data.classes, data=data.similarity)
...     path.name, path.read_text(encoding="utf-8").startswith("<!doctype html>")
('numerals.html', True)
"""

from palmette.report.writing import write

__all__ = ["write"]
