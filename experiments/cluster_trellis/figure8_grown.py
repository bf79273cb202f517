"""Too many samples for the full trellis: a sparse one is grown, and what it misses is stated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import common
import numpy as np
from samples import Samples
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

import palmette as pal

LINKAGES = ("average", "complete", "ward")
MOST = 20  # leaves of a part that is summed over on the full trellis
COLD = 1e6  # a β at which nothing but the best counts


def starts(samples: Samples, model: pal.models.Correlation) -> dict[str, pal.Hierarchy]:
    """What growing starts from, by name: greedy, beam search, linkages of 1 − similarity."""
    apart = 1.0 - samples.similarity
    np.fill_diagonal(apart, 0.0)
    condensed = squareform(apart, checks=False)
    found = {"greedy": pal.search.greedy(model).hierarchy, "beam search": pal.search.beam(model).hierarchy}
    return found | {
        f"{method} linkage": pal.Hierarchy.from_linkage(linkage(condensed, method), model.labels) for method in LINKAGES
    }


def cost(model: pal.models.Correlation, hierarchy: pal.Hierarchy) -> float:
    """What hierarchical correlation clustering minimises."""
    return float(-model.log_potential(hierarchy) / model.beta)


def n_best(model: pal.models.Correlation, trellis: pal.SparseTrellis | None) -> float:
    """How many hierarchies of the trellis have the lowest cost: Z over its largest term, as β → ∞."""
    cold = pal.models.Correlation(model.pairwise[0], COLD, labels=model.labels)
    posterior = pal.HierarchyPosterior(cold, trellis=trellis)
    return float(np.exp(posterior.log_partition - cold.log_potential(posterior.map())))


@dataclass(frozen=True)
class Step:
    """A grown trellis and the posterior on it."""

    min_share: float
    trellis: pal.SparseTrellis
    posterior: pal.HierarchyPosterior
    best: pal.Hierarchy


def grow(model: pal.models.Correlation, given: Sequence[pal.Hierarchy], shares: Sequence[float]) -> list[Step]:
    """One trellis for each share, each grown from the one before it."""
    trellis, steps = pal.SparseTrellis.from_hierarchies(given), []
    for share in shares:
        trellis = pal.search.grow(model, trellis, min_share=share)
        posterior = pal.HierarchyPosterior(model, trellis=trellis)
        steps.append(Step(share, trellis, posterior, posterior.map()))
    return steps


# What is known exactly: everything below one first split.


@dataclass(frozen=True)
class Halves:
    """The posterior over all hierarchies that begin with one split: each part on the full trellis of its own.

    A sum over some of all hierarchies, so Z is a lower bound; a cluster's probability is that given the split.
    """

    model: pal.models.Correlation
    parts: tuple[pal.HierarchyPosterior, pal.HierarchyPosterior]

    @cached_property
    def best(self) -> pal.Hierarchy:
        """The best hierarchy that begins with the split."""
        below = [[p.labels[leaf] for leaf in cluster] for p in self.parts for cluster in p.map().clusters()]
        return pal.Hierarchy.from_clusters(below, self.model.labels)

    @cached_property
    def log_partition(self) -> float:
        """log ψ of the split + log Z of both parts."""
        below = sum(p.log_partition - p.model.log_potential(p.map()) for p in self.parts)
        return float(self.model.log_potential(self.best) + below)

    def probability(self, cluster: Sequence[str]) -> float:
        """Of a cluster within one of the parts, given the split; 0 for one that crosses it, 1 for all leaves."""
        if len(cluster) == len(self.model.labels):
            return 1.0
        own = [p for p in self.parts if set(cluster) <= set(p.labels)]
        return own[0].cluster_probability(cluster) if own else 0.0


def halves(samples: Samples, model: pal.models.Correlation, hierarchy: pal.Hierarchy) -> Halves | None:
    """For the first split of a hierarchy; None if a part is too large."""
    first = [sorted(part) for part in hierarchy.aligned_to(model.labels).splits()[-1]]
    if max(map(len, first)) > MOST:
        return None
    weights = samples.affinity
    left, right = (
        pal.models.Correlation(weights[np.ix_(part, part)], model.beta, labels=[samples.names[leaf] for leaf in part])
        for part in first
    )
    return Halves(model, (pal.HierarchyPosterior(left), pal.HierarchyPosterior(right)))


# Words.


def report(samples: Samples, model: pal.models.Correlation, steps: Sequence[Step], sweeps: int, seed: int) -> str:
    """What growing found, and what is known of what it has not found."""
    known = halves(samples, model, steps[-1].best)
    begin = [["start", "cost"], *([name, f"{cost(model, h):.4f}"] for name, h in starts(samples, model).items())]
    words = [
        ("data", samples.story),
        ("leaves", str(len(samples.names))),
        ("beta", f"{model.beta:g}"),
        ("ties", f"{common.n_tied(steps[-1].posterior)} of the 1000 best have the log potential of the best"),
        ("uncovered", report_uncovered(steps[-1], sweeps, seed)),
        ("first split", report_halves(known, steps[-1])),
    ]
    tables = [common.columns(begin), report_steps(model, steps, known), report_support(steps, known)]
    return "\n".join([common.facts(words), *tables])


def report_uncovered(step: Step, sweeps: int, seed: int) -> str:
    """`pal.search.uncovered` of a trellis, with its standard error."""
    if sweeps < 1:
        return "not asked for"
    found = pal.search.uncovered(step.posterior, sweeps=sweeps, rng=seed)
    error = "" if found.kind == "exact" else f", standard error {found.standard_error:.2g}"
    where = f"the trellis of min_share {step.min_share:g}"
    return f"{found.value:.6f} of the posterior over all hierarchies is not in {where} ({found.kind}{error})"


def report_halves(known: Halves | None, step: Step) -> str:
    """The exact sum over everything that shares the first split of the MAP."""
    if known is None:
        return f"a part has more than {MOST} leaves, too many to sum over"
    sizes = " + ".join(str(len(p.labels)) for p in known.parts)
    gap = (known.model.log_potential(known.best) - known.model.log_potential(step.best)) / known.model.beta
    optimal = "there is none of lower cost" if gap < common.TIED * 1e3 else f"there is one of a cost lower by {gap:.4f}"
    return (
        f"{sizes} leaves as in the MAP; over all hierarchies that begin so, log Z {known.log_partition:.4f}; {optimal}"
    )


def report_steps(model: pal.models.Correlation, steps: Sequence[Step], known: Halves | None) -> str:
    """A row for each trellis; what it misses, compared with the largest sum that there is."""
    most = max([steps[-1].posterior.log_partition, *([known.log_partition] if known else [])])
    rows = [["min_share", "clusters", "splits", "log Z", "misses at least", "cost of the MAP", "as good as the MAP"]]
    for step in steps:
        log_z = step.posterior.log_partition
        sizes = [f"{step.trellis.n_clusters:,}", f"{step.trellis.n_splits:,}", f"{log_z:.4f}"]
        ties = f"{n_best(model, step.trellis):.3g}"
        least = f"{max(0.0, -np.expm1(log_z - most)):.4f}"
        rows.append([f"{step.min_share:g}", *sizes, least, f"{cost(model, step.best):.4f}", ties])
    return common.columns(rows)


def report_support(steps: Sequence[Step], known: Halves | None) -> str:
    """Clusters of probability 1/2 and more somewhere: on each trellis, and given the first split."""
    every = [*(step.posterior for step in steps), *(known.parts if known else ())]
    found = {tuple(sorted(row.members)) for posterior in every for row in posterior.cluster_probabilities(0.5)}
    several = sorted((c for c in found if 1 < len(c) < len(steps[0].best.labels)), key=lambda c: (-len(c), c))
    rows = [
        ["cluster", *(f"{step.min_share:g}" for step in steps), *(["exact, given the first split"] if known else [])]
    ]
    for c in several:
        values = [step.posterior.cluster_probability(c) for step in steps]
        rows.append([f"{c[0]} and {len(c) - 1} more", *map(common.share, values)])
        rows[-1] += [common.share(known.probability(c))] if known else []
    return f"Clusters of probability 1/2 or more in some column\n{common.columns(rows)}"
