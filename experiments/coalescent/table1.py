"""Table 1: coalescents, average linkage and Bayesian hierarchical clustering (BHC) on digits and on mails.

    python experiments/coalescent/table1.py --data DIR [--out DIR]

DIR holds mnist_100_per_class.csv.gz (column label, then pixels) and spambase.csv.gz (57 attributes, then column spam).
All choices are in settings.toml. README.md beside this file has the numbers.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import common
import numpy as np
from common import Floats
from scipy.spatial.distance import pdist, squareform

import palmette as pal
from palmette.coalescent import Brownian, Gamma, IndependentSites, InverseWishart, fit, greedy, sample_covariance

PRINTED = {
    "mnist": {"average linkage": ".363 .581 .755", "BHC": ".392 .579 .763", "coalescent": ".412 .610 .773"},
    "spambase": {"average linkage": ".616 .607 .846", "BHC": ".711 .549 .832", "coalescent": ".689 .661 .861"},
}
Named = Iterator[tuple[str, pal.Hierarchy]]


# Digits.


def principal_scores(images: Floats, dimensions: int) -> Floats:
    """(n, dimensions): the images on their first principal components."""
    centred = images - images.mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    return np.asarray((u * s)[:, :dimensions])


def brownian(x: Floats, update: str, chosen: dict[str, Any]) -> Brownian:
    """One rate by moments; or rates, or a matrix, from histories in turns with it."""
    n_columns, variance = x.shape[1], sample_covariance(x, "scalar")
    if update == "none":
        return Brownian(variance)
    if update == "diagonal":
        return fit(x, Brownian(np.ones(n_columns)), rounds=chosen["rounds"])[0]
    prior = InverseWishart(variance, n_columns + chosen["wishart_extra"])
    return fit(x, Brownian(np.eye(n_columns)), rounds=chosen["rounds"], prior=prior)[0]


def digits(images: Floats, chosen: dict[str, Any], repeat: int) -> Named:
    """All hierarchies of one subset of images."""
    plain = principal_scores(images, chosen["dimensions"])
    for kind in chosen["scores"]:
        x = plain / plain.std(axis=0, ddof=1) if kind == "whitened" else plain
        yield f"average linkage, {kind}", common.average_linkage(squareform(pdist(x)))
        for update in chosen["updates"]:
            process = brownian(x, update, chosen)
            for rule in rules(chosen, repeat):
                yield f"coalescent, {kind}, {rule}, update: {update}", greedy(x, process, rule).hierarchy
    for factor in chosen["bhc_scales"]:
        spread = factor * sample_covariance(plain, "full")
        prior = pal.likelihoods.NormalInverseWishart(pseudo_count=chosen["bhc_pseudo_count"], scale=spread)
        found = pal.search.bayesian(plain, prior, chosen["bhc_concentration"])
        yield f"BHC, scale {factor:g}", found.hierarchy


# Mails.


def binary(attributes: Floats) -> Floats:
    """Words and signs that occur; runs of capitals that are longer than the median."""
    return np.hstack([attributes[:, :-3] > 0, attributes[:, -3:] > np.median(attributes[:, -3:], axis=0)]).astype(float)


def sites(x: Floats, update: str, chosen: dict[str, Any]) -> IndependentSites:
    """One rate and the frequencies; or equilibria, or also rates, from histories in turns with them."""
    rate = chosen["rate"]
    if update == "none":
        return IndependentSites(rate)
    if update == "equilibrium":
        return fit(x, IndependentSites(rate), rounds=chosen["rounds"])[0]
    prior = Gamma(chosen["gamma_shape"], (chosen["gamma_shape"] - 1) / rate)
    return fit(x, IndependentSites(np.full(x.shape[1], rate)), rounds=chosen["rounds"], prior=prior)[0]


def beta_bernoulli(x: Floats, prior: str) -> Any:
    """Beta(1, 1), or Beta(2f, 2 − 2f)."""
    if prior == "one":
        return pal.likelihoods.BetaBernoulli()
    f = (x.sum(axis=0) + 0.5) / (len(x) + 1)
    return pal.likelihoods.BetaBernoulli(tuple(2 * f), tuple(2 - 2 * f))


def mails(x: Floats, chosen: dict[str, Any], repeat: int) -> Named:
    """All hierarchies of one subset of mails."""
    yield "average linkage", common.average_linkage(common.shared_distances(x))
    for update in chosen["updates"]:
        process = sites(x, update, chosen)
        for rule in rules(chosen, repeat) if update != "rates" else ["rate1"]:
            # Two maxima of a duration are possible with unequal rates, which makes the slow rules slower still.
            yield f"coalescent, {rule}, update: {update}", greedy(x, process, rule).hierarchy
    for prior in chosen["bhc_priors"]:
        found = pal.search.bayesian(x, beta_bernoulli(x, prior), chosen["bhc_concentration"])
        yield f"BHC, prior: {prior}", found.hierarchy


# Both.


def rules(chosen: dict[str, Any], repeat: int) -> list[Any]:
    """The greedy rules that this subset is given to."""
    return list(chosen["rules"]) if repeat < chosen["rules_repeats"] else ["rate1"]


def run(
    x: Floats, classes: Sequence[str], chosen: dict[str, Any], how: dict[str, Any], build: Callable[..., Named]
) -> dict[str, Floats]:
    """(repeats, 3) scores by method."""
    rng, found = np.random.default_rng(chosen["seed"]), {}
    given = np.asarray(classes)
    for repeat in range(chosen["repeats"]):
        rows = common.draw_subset(given, chosen["per_class"], rng)
        for name, hierarchy in build(x[rows], chosen, repeat):
            found.setdefault(name, []).append(common.scores(hierarchy, given[rows].tolist(), how))
    return {name: np.array(values) for name, values in found.items()}


def compared_with(method: str, found: dict[str, Floats]) -> str:
    """Rules: rate1 with the same update; everything else: rate1 without updates, the first coalescent that was run."""
    same = method.replace("max-prob", "rate1").replace("min-duration", "rate1")
    return same if same != method else next(name for name in found if name.startswith("coalescent"))


def report(name: str, found: dict[str, Floats]) -> str:
    """Every method, then what the paper prints; then differences on the subsets that both methods have."""
    rows = [[name, *common.MEASURES, "subsets"]]
    rows += [[method, *common.with_error(values), str(len(values))] for method, values in found.items()]
    rows += [[f"paper: {method}", *text.split(), ""] for method, text in PRINTED[name].items()]
    gaps = [["difference, subset by subset", *common.MEASURES, "to"]]
    for method, values in found.items():
        base = compared_with(method, found)
        if base != method:
            gap = values - found[base][: len(values)]
            error = gap.std(axis=0, ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else 0 * gap[0]
            cells = [f"{m:+.3f}±{e:.3f}" for m, e in zip(gap.mean(axis=0), error, strict=True)]
            gaps.append([method, *cells, base])
    return common.columns(rows) + "\n\n" + common.columns(gaps)


def read_digits(folder: Path) -> tuple[Floats, list[str]]:
    """Pixels from 0 to 1, and digits."""
    _, rows = common.read_csv(folder / "mnist_100_per_class.csv.gz")
    return common.numbers([row[1:] for row in rows]) / 255, [row[0] for row in rows]


def read_mails(folder: Path) -> tuple[Floats, list[str], list[str]]:
    """Binary attributes, 0 or 1 for spam, names of the attributes."""
    header, rows = common.read_csv(folder / "spambase.csv.gz")
    return binary(common.numbers([row[:-1] for row in rows])), [row[-1] for row in rows], header[:-1]


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, run, print."""
    command = common.parser("Table 1: digits and mails.", "folder with mnist_100_per_class.csv.gz and spambase.csv.gz")
    command.add_argument("--only", choices=["mnist", "spambase"], help="one of the two data sets")
    given = command.parse_args(arguments)
    how = common.settings("scores", given.settings)
    for name, read, build in (("mnist", read_digits, digits), ("spambase", read_mails, mails)):
        if given.only in (None, name):
            started = time.perf_counter()
            x, classes, *_ = read(given.data)
            found = run(x, classes, common.settings(name, given.settings), how, build)
            common.tell(report(name, found), given.out / f"table1_{name}.txt")
            print(f"  {time.perf_counter() - started:.0f} s\n")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    main()
