"""A tour in under a minute: ``python -m palmette.cli.tour``, or ``make demo``."""

import io
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from palmette import datasets, evidence, report, search, similarity, simulate
from palmette.array_types import Floats
from palmette.cli.telling.text import bar, cluster_text, dendrogram, percent
from palmette.defaults import DEFAULTS
from palmette.hierarchy import Hierarchy
from palmette.models import CorrelationClusters, Dasgupta, Ginkgo
from palmette.posterior import HierarchyPosterior, PartitionPosterior
from palmette.whole_files import write_whole

__all__ = ["main"]

PICTURE, REPORT = "palmette-demo.svg", "palmette-demo.html"
_BETA = 4.0
_WIDTH = 98


def main(folder: Path | str = ".") -> None:
    """Print the tour, and write a picture and a report to `folder`."""
    begin = time.perf_counter()
    _say("palmette: not one hierarchy, but how probable every cluster and every alternative is.")
    _show_evidence()
    data = datasets.load_numerals()
    post = HierarchyPosterior(Dasgupta(data.similarity, beta=_BETA, labels=data.labels))
    _introduce(data, post)
    _show_map(post, data.classes)
    _show_best(post)
    _show_clusters(post)
    _show_rivals(post)
    _show_consensus(post)
    _compare_linkages(data, post)
    _show_partitions(data)
    _show_jet()
    _head("To look at")
    print(f"The most probable hierarchy: {_draw(post, Path(folder))}")
    page = Path(folder) / REPORT
    title = "The words for one to ten in twelve languages"
    report.write(post, page, title=title, classes=data.classes, data=data.similarity)
    print(f"All of this as a page to click through: {page}")
    print("Open them in a browser. Your own table: palmette hierarchies FILE --report page.html --plot tree.png")
    print(f"\nThat took {time.perf_counter() - begin:.0f} seconds. The first run compiles; the next one is quick.")


def _show_evidence() -> None:
    _head("Which clusters can be trusted, with nothing to choose?")
    tumours = datasets.load_tumours()
    _say(
        f"Twelve tumours by the expression of {len(tumours.variables)} genes. The model is a likelihood, shares of "
        "variance, and what it leaves open is averaged over: noise, degrees or groups."
    )
    _say("The first numbers need compiling, which takes a while …")
    labels = [f"{kind} {name}" for kind, name in zip(tumours.classes, tumours.labels, strict=True)]
    post = evidence.posterior(similarity.standardised(tumours.points), labels=labels)
    _say(f"{evidence.compare(post)} The clusters above one half:")
    print()
    for row in post.cluster_probabilities(0.5):
        print(f"  {row.probability:.3f}  {bar(row.probability)}  {cluster_text(row.members)}")


def _introduce(data: datasets.SimilarityData, post: HierarchyPosterior) -> None:
    _head("The data")
    _say(f"Twelve leaves: {', '.join(data.labels)}.")
    _say(
        "Two languages are similar if their words for one to ten look alike (edit distance). The model is Dasgupta's "
        f"cost with β = {_BETA:g}: similar leaves should part late, in small clusters. How sure a cost is depends on "
        "β, which is a choice."
    )
    _head("All hierarchies at once")
    print(f"  number of hierarchies            {post.count:,}")
    print(f"  log Z (sum over all of them)     {post.log_partition:.4f}")
    print(f"  effective number, exp(entropy)   {np.exp(post.entropy):,.0f}")


def _show_map(post: HierarchyPosterior, classes: tuple[str, ...]) -> None:
    _head("The most probable hierarchy, with the probability of each of its clusters")
    best = post.support(post.map())
    assert best.support is not None
    print(dendrogram(best, best.support.tolist(), classes=classes, width=_WIDTH))


def _show_best(post: HierarchyPosterior) -> None:
    _head("The five most probable ones, exactly")
    for hierarchy, log_prob in post.best(5):
        _say(f"  {percent(np.exp(log_prob))}  {_newick(hierarchy)}", hanging=10)
    _say("Even the best has a small share. One answer alone would hide all the others.")


def _show_clusters(post: HierarchyPosterior) -> None:
    _head("Which clusters can be trusted?")
    for row in post.cluster_probabilities(0.2)[:14]:
        print(f"  {row.probability:.3f}  {bar(row.probability)}  {cluster_text(row.members)}")


def _show_rivals(post: HierarchyPosterior) -> None:
    germanic = ["English", "Dutch", "German", "Danish", "Swedish"]
    _head("Where does English belong?")
    print(f"Given the cluster {cluster_text(germanic)}, its splits compete:\n")
    for row in post.split_probabilities(germanic)[:6]:
        print(f"  {row.probability:.3f}  {bar(row.probability)}  {cluster_text(row.left)} | {cluster_text(row.right)}")


def _show_consensus(post: HierarchyPosterior) -> None:
    _head("What more than half of the probability agrees on")
    agreed = post.consensus()
    _say(_newick(agreed, _rounded_support(post, agreed)))
    _say("The numbers are probabilities. Where the posterior does not decide, the consensus does not either.")


def _compare_linkages(data: datasets.SimilarityData, post: HierarchyPosterior) -> None:
    _head("How good are the usual answers?")
    distances = squareform(1 - data.similarity, checks=False)
    found = {
        f"SciPy, {method} linkage": Hierarchy.from_linkage(linkage(distances, method), data.labels)
        for method in ("single", "average", "complete")
    }
    found["palmette, greedy"] = search.greedy(post.model).hierarchy
    for name, hierarchy in found.items():
        print(f"  {name:24} rank {_rank(post, hierarchy)}   probability {percent(np.exp(post.log_prob(hierarchy)))}")
    _say(f"Rank 1 of {post.count:,} is the best there is, and only an exact method can tell.")


def _show_partitions(data: datasets.SimilarityData) -> None:
    _head("And without a hierarchy? Flat clusterings")
    affinity = data.similarity - data.similarity[np.triu_indices(len(data.labels), 1)].mean()
    post = PartitionPosterior(CorrelationClusters(affinity, beta=20.0, labels=data.labels))
    _say(
        f"{post.count:,} partitions; the model is correlation clustering with the similarities minus their mean, "
        "β = 20. The three best:"
    )
    print()
    for partition, log_prob in post.best(3):
        clusters = " ".join(map(cluster_text, partition.named_clusters()))
        _say(f"  {percent(np.exp(log_prob))}  {clusters}", hanging=11)
    print("\nHow many clusters?\n")
    for k, p in enumerate(post.n_clusters_probabilities()):
        if p >= DEFAULTS.min_probability:
            print(f"  {k}  {p:.3f}  {bar(p)}")
    print("\nWho is in one cluster with English?\n")
    for label, p in zip(data.labels, post.coclustering()[data.labels.index("English")], strict=True):
        if label != "English" and p >= 0.1:
            print(f"  {p:.3f}  {bar(p)}  {label}")


def _show_jet() -> None:
    _head("A jet of particles")
    jets = simulate.ginkgo(1, min_leaves=9, max_leaves=9, rng=39)
    jet = jets[0]
    post = HierarchyPosterior(Ginkgo(jet.momenta, rate=jets.rate, t_cut=jets.t_cut))
    truth, best, greedy = jet.hierarchy, post.map(), search.greedy(post.model).hierarchy
    _say(
        f"A simulated shower ended in {jet.n_leaves} particles. {post.count:,} histories could have made them; the "
        f"evidence, summed over all, is log Z = {post.log_partition:.3f}."
    )
    print()
    for name, hierarchy in {"most probable": best, "greedy": greedy, "the true history": truth}.items():
        print(f"  {name:24} rank {_rank(post, hierarchy)}   log potential {post.log_potential(hierarchy):.3f}")
    _say("Masses alone do not give a history away: the truth is seldom the most probable one.")


def _draw(post: HierarchyPosterior, folder: Path) -> Path:
    best = post.map()
    path = folder / PICTURE
    support = np.where(best.sizes > 1, _rounded_support(post, best), np.nan)
    write_whole(path, best.to_svg(support))
    return path


def _head(title: str) -> None:
    print(f"\n── {title} {'─' * (_WIDTH - 4 - len(title))}")


def _say(text: str, hanging: int = 0) -> None:
    print(textwrap.fill(text, _WIDTH, subsequent_indent=" " * hanging, break_on_hyphens=False))


def _rounded_support(post: HierarchyPosterior, hierarchy: Hierarchy) -> Floats:
    return np.round(np.asarray(post.support(hierarchy).support), 2)


def _newick(hierarchy: Hierarchy, support: Floats | None = None) -> str:
    return hierarchy.to_newick(support).replace(",", ", ")  # so that a line can end there


def _rank(post: HierarchyPosterior, hierarchy: Hierarchy) -> str:
    rank = post.rank(hierarchy)
    return f"{rank.value:7,.0f}" if rank.kind == "exact" else f"≥{rank.value:6,.0f}"


if __name__ == "__main__":
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that cannot draw a bar shows a question mark
    main()
