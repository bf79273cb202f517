"""Five statements about costs and known classes, checked on every hierarchy of a few leaves.

    python experiments/cluster_trellis/statements.py [--leaves 6]

They are those of section 4.4 of Greenberg, Macaluso, Monath, Lee, Flaherty, Cranmer, McGregor and McCallum, "Cluster
Trellis: Data Structures & Algorithms for Exact Inference in Hierarchical Clustering" (AISTATS 2021), written as claims
that can fail. Needs no data and a few seconds; all arithmetic that decides anything is in integers.

Words: a hierarchy is *perfect* if every class is one of its clusters, *optimal* if no other has a lower cost. Three
measures are compared, over all binary hierarchies:

- dendrogram purity, over pairs ("pair") or over leaves ("leaf"); see `palmette.evaluate.dendrogram_purity`;
- Dasgupta's cost, Σ w_ij |lca(i, j)|;
- the cost of hierarchical correlation clustering, Σ over repelling pairs of |w_ij| · depth of lca(i, j), the root at
  depth 0; what attracting pairs add is the same for all hierarchies. See `palmette.models.Correlation`.
"""

from __future__ import annotations

import argparse
import itertools
import math
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

import palmette as pal
from palmette import evaluate

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
WEIGHTINGS = ("pair", "leaf")


def nested_hierarchies(n: int) -> Iterator[Any]:
    """All (2n − 3)!! of them: the last leaf goes beside every cluster of every smaller one."""
    if n == 1:
        yield 0
    else:
        for smaller in nested_hierarchies(n - 1):
            yield from _beside(smaller, n - 1)


def _beside(tree: Any, leaf: int) -> Iterator[Any]:
    yield (tree, leaf)
    if isinstance(tree, tuple):
        left, right = tree
        yield from ((changed, right) for changed in _beside(left, leaf))
        yield from ((left, changed) for changed in _beside(right, leaf))


def shape_of(tree: Any) -> str:
    """The hierarchy without its labels."""
    return f"({''.join(sorted(map(shape_of, tree)))})" if isinstance(tree, tuple) else "."


class Listing:
    """All hierarchies of n leaves, and for each pair i < j of leaves: |lca|, its depth and its cluster as a mask."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.pairs = np.stack(np.triu_indices(n, 1))
        trees = list(nested_hierarchies(n))
        self.shapes = np.unique([shape_of(tree) for tree in trees], return_inverse=True)[1]
        self.hierarchies = [pal.Hierarchy.from_nested(tree, [str(i) for i in range(n)]) for tree in trees]
        nodes = [h.lca(*self.pairs) for h in self.hierarchies]
        self.masks = np.array([h.cluster_masks()[v] for h, v in zip(self.hierarchies, nodes, strict=True)])
        self.depths = np.array([_depths(h)[v] for h, v in zip(self.hierarchies, nodes, strict=True)])
        self.sizes = np.bitwise_count(self.masks).astype(np.int64)


def _depths(hierarchy: pal.Hierarchy) -> Ints:
    depths = np.zeros(hierarchy.n_nodes, dtype=np.int64)
    for node in range(hierarchy.n_nodes - 2, -1, -1):
        depths[node] = depths[hierarchy.parents[node]] + 1
    return depths


listing = cache(Listing)


@dataclass(frozen=True)
class Case:
    """Classes of n leaves, and what every hierarchy is worth beside them."""

    classes: tuple[int, ...]
    weighting: str = "pair"

    @property
    def all(self) -> Listing:
        return listing(len(self.classes))

    @cached_property
    def same(self) -> Bools:
        """Whether a pair is of one class, (pairs,)."""
        one, two = np.array(self.classes)[self.all.pairs]
        return one == two

    @cached_property
    def perfect(self) -> Bools:
        """Whether every class is a cluster, (hierarchies,)."""
        groups = {self._mask(i) for i, own in enumerate(self.classes) if self.classes.count(own) > 1}
        return np.all([(self.all.masks == group).any(axis=1) for group in groups], axis=0)

    @cached_property
    def purity(self) -> Ints:
        """Dendrogram purity times a whole number, `purest`, (hierarchies,)."""
        own = np.array([self._mask(i) for i in self.all.pairs[0]])
        counts = np.bitwise_count(self.all.masks & own).astype(np.int64)
        return (counts * self._unit // self.all.sizes) @ self._weights

    @property
    def purest(self) -> int:
        """What `purity` would be if every pair met in a pure cluster."""
        return int(self._unit * self._weights.sum())

    @property
    def _unit(self) -> int:
        return math.lcm(*range(1, len(self.classes) + 1))

    @property
    def _weights(self) -> Ints:
        # Of a pair; by leaves, a class of m leaves has m(m − 1)/2 pairs and the weight m.
        sizes = np.array([self.classes.count(self.classes[i]) for i in self.all.pairs[0]])
        by_leaf = self._unit * 2 // np.maximum(sizes - 1, 1)
        return np.where(self.same, 1 if self.weighting == "pair" else by_leaf, 0)

    def _mask(self, leaf: int) -> int:
        return sum(1 << i for i, own in enumerate(self.classes) if own == self.classes[leaf])

    def dasgupta(self, sign: int) -> Ints:
        """Dasgupta's cost of w = sign · (1 within a class, 0 across), (hierarchies,)."""
        return sign * (self.all.sizes @ self.same)

    def correlation(self, sign: int) -> Ints:
        """The correlation cost of w = sign · (1 within a class, −1 across), less a constant, (hierarchies,)."""
        return self.all.depths @ (~self.same if sign > 0 else self.same)


def cases(n: int, weighting: str) -> Iterator[Case]:
    """Every way to divide n leaves into classes, at least one of which has two leaves."""
    for classes in itertools.product(range(n), repeat=n):
        in_order = all(own <= max(classes[:i], default=-1) + 1 for i, own in enumerate(classes))
        if in_order and len(set(classes)) < n:
            yield Case(classes, weighting)


def lowest(values: Ints) -> Bools:
    """Which of the hierarchies have the lowest value."""
    return values == values.min()


# Statements 1, 2, 3 and 5: each function marks the hierarchies that contradict it.


def perfect_is_pure(case: Case) -> Bools:
    """A hierarchy has purity 1 if, and only if, it is perfect; and none is above 1."""
    return (case.perfect != (case.purity == case.purest)) | (case.purity > case.purest)


def perfect_is_cheapest(case: Case) -> Bools:
    """With w = 1 within classes and 0 across, the optimal hierarchies of Dasgupta's cost are the perfect ones.

    Why: a class of m leaves costs (m³ − m)/3 on any hierarchy, and more for each foreign leaf below an ancestor.
    """
    return case.perfect != lowest(case.dasgupta(+1))


def perfect_is_optimal(case: Case) -> Bools:
    """With w = 1 within classes and −1 across, every perfect hierarchy is optimal for correlation clustering.

    Why not: the cost counts how deep leaves of different classes part. So it also says which classes to join first,
    and purity does not: {0,1} with 2 keeps two repelling pairs below the root, 2 with 3 only one.
    """
    return case.perfect & ~lowest(case.correlation(+1))


def optimal_is_perfect(case: Case) -> Bools:
    """With w = 1 within classes and −1 across, every optimal hierarchy of correlation clustering is perfect.

    Why not: leaves 2 and 3 do not repel each other, so each goes where it costs least by itself, and the places
    beside {0,1} and beside {4,5} cost the same.
    """
    return ~case.perfect & lowest(case.correlation(+1))


def some_perfect_is_optimal(case: Case) -> Bools:
    """With w = 1 within classes and −1 across, some perfect hierarchy is optimal; with two classes, all and only these.

    Why: leaves of one class do not repel each other. All of them can move beside the one that has the cheapest place,
    and nothing gets dearer. Of two classes, a perfect hierarchy parts all repelling pairs at the root.
    """
    optimal = lowest(case.correlation(+1))
    if len(set(case.classes)) <= 2:
        return case.perfect != optimal
    return optimal & ~(case.perfect & optimal).any()


def reversed_dasgupta_is_impurest(case: Case) -> Bools:
    """With w = −1 within classes and 0 across, every optimal hierarchy of Dasgupta's cost has the lowest purity.

    Why not: the cost adds sizes of the clusters in which the pairs of a class meet, here 3 + 5 + 5 + 5 = 4 + 5 + 5 + 4.
    Purity adds shares, with the sizes below the line: 2/3 + 3/5 + 3/5 + 2/5 is more than 2/4 + 3/5 + 3/5 + 2/4.
    """
    return lowest(case.dasgupta(-1)) & ~lowest(case.purity)


def reversed_correlation_is_impurest(case: Case) -> Bools:
    """With w = −1 within classes and 1 across, every optimum of correlation clustering has the lowest purity.

    Why not: either of these keeps one pair of the class one level below the root, and the cost asks no more. Purity
    does: {0,1} is pure, and {0,1,3} is not.
    """
    return lowest(case.correlation(-1)) & ~lowest(case.purity)


def correlation_cost(hierarchy: pal.Hierarchy, weights: Ints) -> float:
    return -pal.models.Correlation(weights).log_potential(hierarchy)


@dataclass(frozen=True)
class Statement:
    """A claim about all ways to divide leaves into classes, and how to show a counterexample."""

    number: str
    contradicts: Callable[[Case], Bools]
    weights: tuple[int, int] = (1, 0)  # within classes and across
    cost: Callable[[pal.Hierarchy, Ints], float] = evaluate.dasgupta_cost
    rival: Callable[[Case], Bools] = lambda case: lowest(case.purity)  # what a counterexample is shown beside


def _cheap_and_perfect(case: Case) -> Bools:
    return case.perfect & lowest(case.correlation(+1))


STATEMENTS = [
    Statement("1", perfect_is_pure),
    Statement("2", perfect_is_cheapest),
    Statement("3, from purity to cost", perfect_is_optimal, (1, -1), correlation_cost, _cheap_and_perfect),
    Statement("3, from cost to purity", optimal_is_perfect, (1, -1), correlation_cost, _cheap_and_perfect),
    Statement("3, what is left", some_perfect_is_optimal, (1, -1), correlation_cost),
    Statement("5, Dasgupta's cost", reversed_dasgupta_is_impurest, (-1, 0)),
    Statement("5, correlation clustering", reversed_correlation_is_impurest, (-1, 1), correlation_cost),
]


# Statement 4.


def optimal_after_relabelling(all_of: Listing, weights: Ints, table: Ints) -> Ints:
    """How often each hierarchy is optimal when the leaves of w are relabelled in all n! ways, (hierarchies,).

    `table` is `all_of.sizes` for Dasgupta's cost, `all_of.depths` for the repelling parts of correlation clustering.
    """
    matrix = np.zeros((all_of.n, all_of.n), dtype=np.int64)
    matrix[tuple(all_of.pairs)] = weights
    matrix += matrix.T
    orders = np.array(list(itertools.permutations(range(all_of.n))))
    costs = matrix[orders[:, all_of.pairs[0]], orders[:, all_of.pairs[1]]] @ table.T
    return (costs == costs.min(axis=1, keepdims=True)).sum(axis=0)


def chance_knows_no_classes(all_of: Listing, weights: Ints, table: Ints) -> Bools:
    """If w is relabelled at random, all hierarchies of one shape are optimal with the same probability.

    So weights drawn without regard to the classes give optima that say nothing about them: an optimal hierarchy is on
    average as pure as its own shape with the leaves shuffled.
    """
    counts = optimal_after_relabelling(all_of, weights, table)
    first = np.unique(all_of.shapes, return_index=True)[1]
    return counts != counts[first][all_of.shapes]


def random_weights(n: int) -> Iterator[tuple[str, Ints, Ints]]:
    """(cost, w of the pairs, table): all w of 0 and 1 up to four leaves, else eight of 0 to 9, for either cost.

    For correlation clustering, w is how strongly a pair repels.
    """
    n_pairs = n * (n - 1) // 2
    rows: Any = itertools.product((0, 1), repeat=n_pairs)
    if n > 4:
        rows = np.random.default_rng(n).integers(10, size=(8, n_pairs))
    for row in rows:
        yield "Dasgupta", np.array(row), listing(n).sizes
        yield "correlation", np.array(row), listing(n).depths


def mean_purities(classes: tuple[int, ...]) -> dict[str, float]:
    """The mean purity of optimal hierarchies, all w of 0 and 1 being equally likely, and of all hierarchies."""
    case = Case(classes)
    purity = case.purity / case.purest
    found: dict[str, list[float]] = {"Dasgupta": [], "correlation": []}
    for cost, weights, table in random_weights(len(classes)):
        found[cost].append(float(purity[lowest(table @ weights)].mean()))
    return {cost: float(np.mean(values)) for cost, values in found.items()} | {"all": float(purity.mean())}


# The report.


@dataclass(frozen=True)
class Verdict:
    """In how many cases a statement was contradicted, and one of those with the fewest leaves."""

    statement: Statement
    n_cases: int
    n_contradicted: dict[str, int]  # by weighting
    counterexample: Case | None


def judge(statement: Statement, max_leaves: int = 6) -> Verdict:
    """The statement on every division of 2 … `max_leaves` leaves, and on every hierarchy of them."""
    tried = {w: [c for n in range(2, max_leaves + 1) for c in cases(n, w)] for w in WEIGHTINGS}
    found = {w: [case for case in tried[w] if statement.contradicts(case).any()] for w in WEIGHTINGS}
    first = next(iter(found["pair"]), None)
    return Verdict(statement, len(tried["pair"]), {w: len(some) for w, some in found.items()}, first)


def report(verdict: Verdict) -> str:
    """The statement, the verdict and, if there is one, the counterexample in full."""
    statement, case, counts = verdict.statement, verdict.counterexample, verdict.n_contradicted
    claim, *why = _paragraphs(statement.contradicts)
    head = f"{statement.number}: {claim}"
    if case is None:
        return _wrap(head, f"Holds in all {verdict.n_cases} cases.", *(line for line in why if "Why not" not in line))
    by_leaf = "" if counts["leaf"] == counts["pair"] else f" (purity by leaves: {counts['leaf']})"
    contradicted = f"Not true: contradicted in {counts['pair']} of {verdict.n_cases} cases{by_leaf}. The smallest:"
    return _wrap(head, contradicted, *show(statement, case), *why)


def show(statement: Statement, case: Case) -> list[str]:
    """A counterexample: classes, weights, the hierarchy that contradicts, and one to hold beside it."""
    groups = [[str(i) for i, own in enumerate(case.classes) if own == c] for c in sorted(set(case.classes))]
    weights = weight_matrix(statement, case)
    found = [int(np.argmax(marked(case))) for marked in (statement.contradicts, statement.rival)]
    return [
        f"classes  {' '.join('{' + ','.join(group) + '}' for group in groups)}",
        *(f"{'' if i else 'weights':9}{' '.join(f'{w:2d}' for w in row)}" for i, row in enumerate(weights)),
        *(_line(statement, case, weights, case.all.hierarchies[i]) for i in found),
    ]


def weight_matrix(statement: Statement, case: Case) -> Ints:
    weights = np.where(np.equal.outer(case.classes, case.classes), *statement.weights)
    np.fill_diagonal(weights, 0)
    return weights


def _line(statement: Statement, case: Case, weights: Ints, hierarchy: pal.Hierarchy) -> str:
    by_pair, by_leaf = (evaluate.dendrogram_purity(hierarchy, case.classes, w) for w in WEIGHTINGS)
    cost = statement.cost(hierarchy, weights)
    return f"{hierarchy.to_newick():24} cost {cost:g}, purity {by_pair:.4f} by pairs, {by_leaf:.4f} by leaves"


def report_chance(max_leaves: int = 6) -> str:
    """Statement 4, and what it does not say."""
    tried = [(listing(n), w, table) for n in range(2, min(max_leaves, 6) + 1) for _, w, table in random_weights(n)]
    contradicted = sum(bool(chance_knows_no_classes(*one).any()) for one in tried)
    verdict = f"Not true: contradicted in {contradicted} of" if contradicted else "Holds in all"
    means = mean_purities((0, 0, 1, 1))
    claim, meaning = _paragraphs(chance_knows_no_classes)
    return _wrap(
        f"4: {claim}",
        f"{verdict} {len(tried)} cases.",
        meaning,
        "That is not to be as pure as a hierarchy drawn from all: balanced shapes are favoured, and purer. With "
        "classes {0,1} {2,3} and all graphs equally likely, the mean purity of optima is "
        f"{means['Dasgupta']:.4f} for Dasgupta's cost and {means['correlation']:.4f} for correlation clustering, that "
        f"of all hierarchies {means['all']:.4f}.",
    )


def _paragraphs(function: Callable[..., Any]) -> list[str]:
    return [" ".join(text.split()) for text in (function.__doc__ or "").split("\n\n")]


def _wrap(head: str, *lines: str) -> str:
    # Sentences are wrapped; what is written in columns stays as it is.
    fill = partial(textwrap.fill, width=110, subsequent_indent="   ")
    body = (f"   {line}" if "  " in line else fill(line, initial_indent="   ") for line in lines)
    return "\n".join([fill(head), *body])


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Five statements about costs and classes, on every small hierarchy.")
    parser.add_argument("--leaves", type=int, default=6, help="the largest number of leaves (default 6)")
    max_leaves = parser.parse_args(arguments).leaves
    reports = {statement.number: report(judge(statement, max_leaves)) for statement in STATEMENTS}
    reports["4"] = report_chance(max_leaves)
    print("\n\n".join(reports[number] for number in sorted(reports, key=lambda number: number[0])))


if __name__ == "__main__":
    main()
