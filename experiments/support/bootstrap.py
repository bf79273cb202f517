"""Support by a posterior beside support by a bootstrap, and palmette's bootstrap beside R's pvclust.

    python experiments/support/bootstrap.py expression.csv.gz [--pvclust pvclust.csv] [--draws 1000] [--seconds 120]

The table is that of run.py. AU and BP are of average linkage on Pearson correlations over the genes that both samples
have, as pvclust computes them; `Rscript pvclust.R expression.csv.gz pvclust.csv` makes the file to compare with.
Posterior support is that of `evidence.posterior`; missing entries are the mean of their gene.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np
from run import cells_of
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

import palmette as pal


def average_linkage(x: np.ndarray, labels: list[str]) -> pal.Hierarchy:
    apart = 1.0 - pal.similarity.of_points(x, "correlation", missing="pairwise")
    return pal.Hierarchy.from_linkage(linkage(squareform(apart, checks=False), "average"), labels)


def of_pvclust(path: Path) -> dict[frozenset[str], tuple[float, float]]:
    with path.open() as file:
        rows = list(csv.DictReader(file))
    return {frozenset(row["members"].split(";")): (float(row["au"]), float(row["bp"])) for row in rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--pvclust", type=Path)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=120.0)
    options = parser.parse_args()
    labels, x = cells_of(options.data)
    found = pal.evaluate.bootstrap(x, lambda x: average_linkage(x, labels), n_draws=options.draws)
    if options.pvclust is not None:
        theirs = of_pvclust(options.pvclust)
        pairs = [(row, theirs[frozenset(row.members)]) for row in found if frozenset(row.members) in theirs]
        for name, gaps in (
            ("AU", [abs(row.au - au) for row, (au, _) in pairs]),
            ("BP", [abs(row.bp - bp) for row, (_, bp) in pairs]),
        ):
            print(
                f"{name}: {len(pairs)} of {len(found)} clusters, mean gap {np.mean(gaps):.4f}, largest {max(gaps):.4f}"
            )
    filled = pal.similarity.completed(x, "mean")
    post = pal.evidence.posterior(pal.similarity.standardised(filled), labels=labels, seconds=options.seconds)
    print(post.verdict if hasattr(post, "verdict") else post)
    print(pal.evidence.compare(post))
    shown = {frozenset(row.members): row for row in found}
    print("| cluster | size | posterior | AU | BP |\n|---|---:|---:|---:|---:|")
    listed = [*shown, *(frozenset(row.members) for row in post.cluster_probabilities(0.5))]
    for members in dict.fromkeys(listed):
        row = shown.get(members)
        told = "not in the tree | " if row is None else f"{row.au:.2f} | {row.bp:.2f}"
        support = float(post.cluster_probability(members))
        print(f"| {', '.join(sorted(members))} | {len(members)} | {support:.2f} | {told} |")


if __name__ == "__main__":
    main()
