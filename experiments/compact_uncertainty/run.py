"""Draws the figures of "Compact Representation of Uncertainty in Clustering" (Greenberg et al., NeurIPS 2018).

    python experiments/compact_uncertainty/run.py [--data matrix.csv[.gz]] [--out DIR]

README.md beside this file says what goes in and what comes out. Needs matplotlib.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from scipy.stats import pearsonr, spearmanr

import palmette as pal
from palmette import plot
from palmette.plot.affinity_against_coclustering import surprises

Floats = npt.NDArray[np.float64]
MISSING = {"", "na", "nan"}
N_SAMPLES, N_GENES, BETA = 11, 3000, 20.0
N_BEST, N_SURPRISES = 6, 5


@dataclass
class Problem:
    """Leaves, how they attract, and in words how that came about."""

    labels: list[str]
    affinity: Floats
    story: list[tuple[str, str]]


# From a table to affinities.


@dataclass
class Expressions:
    """One row per sample, one column per gene; NaN where nothing was measured."""

    names: list[str]
    classes: list[str] | None
    values: Floats

    def take(self, rows: list[int]) -> Expressions:
        classes = None if self.classes is None else [self.classes[row] for row in rows]
        return Expressions([self.names[row] for row in rows], classes, self.values[rows])


def read_table(path: Path, classes_column: str | None = None) -> Expressions:
    """A CSV file, possibly gzipped: sample name, class (if the second column is not numeric), one column per gene."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
        header, *rows = [row for row in csv.reader(file) if row]
    for number, row in enumerate(rows, 1):
        if len(row) != len(header):
            raise ValueError(f"{path.name}: sample {number} has {len(row)} cells, and there are {len(header)} columns")
    if classes_column is not None:
        if classes_column not in header[1:]:
            raise ValueError(f"{path.name} has no column {classes_column!r}; its columns begin with {header[:5]}")
        where: int | None = header.index(classes_column, 1)
    else:
        where = 1 if len(header) > 1 and not all(_is_number(row[1]) for row in rows) else None
    genes = [column for column in range(1, len(header)) if column != where]
    values = np.array([[_number(row[c], row[0], header[c]) for c in genes] for row in rows]).reshape(-1, len(genes))
    classes = None if where is None else [row[where].strip() for row in rows]
    return Expressions([row[0] for row in rows], classes, values)


def _is_number(cell: str) -> bool:
    try:
        return cell.strip().lower() in MISSING or np.isfinite(float(cell))
    except ValueError:
        return False


def _number(cell: str, sample: str, gene: str) -> float:
    if not _is_number(cell):
        raise ValueError(f"sample {sample!r}, gene {gene!r}: {cell!r} is no number; an empty cell is a missing value")
    return np.nan if cell.strip().lower() in MISSING else float(cell)


def choose_samples(table: Expressions, samples: str | None, seed: int) -> tuple[list[int], str]:
    """The rows to work on, and how they were chosen: by name, or so many, evenly over the classes."""
    if samples is not None and not samples.strip().isdecimal():
        wanted = [name.strip() for name in next(csv.reader([samples]))]
        unknown = [name for name in wanted if name not in table.names]
        if unknown:
            raise ValueError(f"no sample is called {unknown[0]!r}; the names begin with {table.names[:5]}")
        return [table.names.index(name) for name in wanted], "chosen by name"
    classes = table.classes or ["all"] * len(table.names)
    shuffled = np.random.default_rng(seed).permutation(len(classes)).tolist()
    groups = {name: [row for row in shuffled if classes[row] == name] for name in dict.fromkeys(classes) if name}
    possible = sum(map(len, groups.values()))
    number = min(N_SAMPLES, possible) if samples is None else int(samples)
    if not 2 <= number <= possible:
        raise ValueError(f"{number} samples were asked for; at least 2 are needed, and there are {possible}")
    turns = sorted((turn, order, row) for order, g in enumerate(groups.values()) for turn, row in enumerate(g))
    unnamed = len(classes) - possible
    how = f"evenly over {len(groups)} classes, by seed {seed}" if table.classes else f"at random, by seed {seed}"
    return sorted(row for *_, row in turns[:number]), how + (f"; {unnamed} have no class" if unnamed else "")


def distances(values: Floats) -> Floats:
    """(n, n): Euclidean; where values are missing, √(Σ over the m genes that both samples have · d / m)."""
    n, d = values.shape
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            squares = (values[i] - values[j]) ** 2
            observed = np.count_nonzero(~np.isnan(squares))
            if observed == 0:
                raise ValueError(f"chosen samples {j} and {i} have no gene in common that was measured in both")
            out[i, j] = out[j, i] = np.sqrt(np.nansum(squares) * d / observed)
    return out


def centred(similarity: Floats) -> tuple[Floats, float]:
    """Similarities minus their mean over pairs, and that mean."""
    mean = float(similarity[np.triu_indices(len(similarity), 1)].mean())
    return similarity - mean, mean


def problem_from_table(
    path: Path, samples: str | None, classes_column: str | None, seed: int, added: float | None = None
) -> Problem:
    """The recipe of the paper: variable genes, logarithms of values + `added`, exp(−distance), minus the mean."""
    table = read_table(path, classes_column)
    rows, how = choose_samples(table, samples, seed)
    chosen = table.take(rows)
    measured = np.flatnonzero(~np.isnan(chosen.values).all(axis=0))
    variance = np.nanvar(chosen.values[:, measured], axis=0)
    values = chosen.values[:, np.sort(measured[np.argsort(-variance, kind="stable")[:N_GENES]])]
    values, logarithm = logarithms(values, added)
    apart = distances(values)
    scale = float(apart[np.triu_indices(len(apart), 1)].mean())
    if scale == 0:
        raise ValueError("all chosen samples are equal, so there is nothing to cluster")
    affinity, mean = centred(np.exp(-apart / scale))
    gaps = int(np.isnan(values).sum())
    story = [
        ("data", f"{path.name}: {len(table.names)} samples, {table.values.shape[1]} genes"),
        ("samples", f"{len(rows)}, {how}"),
        ("", ", ".join(_with_classes(chosen))),
        ("genes", f"the {values.shape[1]} of largest variance over these samples"),
        ("logarithm", logarithm),
        ("missing", f"{gaps} of {values.size} values" + (", distances rescaled" if gaps else "")),
        ("similarity", f"exp(-distance / {scale:.6g}), the mean distance"),
        ("affinity", f"similarity minus its mean over pairs, {mean:.6g}"),
    ]
    return Problem(chosen.names, affinity, story)


def logarithms(values: Floats, added: float | None) -> tuple[Floats, str]:
    """Logarithms, and in words of what: of values + `added`, as in the paper; else of values that are all positive."""
    known = values[~np.isnan(values)]
    if added is not None:
        if not (known + added > 0).all():
            raise ValueError(f"a value is {known.min():g}, so that logarithms of values + {added:g} cannot be taken")
        return np.log(values + added), f"of values + {added:g}"
    if (known > 0).all():
        return np.log(values), "taken: all values are positive"
    return values, "not taken: not all values are positive"


def _with_classes(table: Expressions) -> list[str]:
    if table.classes is None:
        return [quoted(name) for name in table.names]
    return [f"{quoted(name)} ({group or 'no class'})" for name, group in zip(table.names, table.classes, strict=True)]


def problem_from_numerals() -> Problem:
    """The words for one to ten in twelve languages, which ship with the package."""
    data = pal.datasets.load_numerals()
    affinity, mean = centred(data.similarity)
    story = [
        ("data", "palmette.datasets.load_numerals(): twelve languages by their words for one to ten"),
        ("affinity", f"similarity minus its mean over pairs, {mean:.6g}"),
    ]
    return Problem(list(data.labels), affinity, story)


# From affinities to words and figures.


def quoted(name: str) -> str:
    """A name as it is, in quotes if it could be mistaken for more than one."""
    return name if re.fullmatch(r"[^\s,{}()]([^,{}()\n\r]*[^\s,{}()])?", name) else repr(name)


def written(partition: pal.Partition) -> str:
    """Clusters in braces, large ones first."""
    clusters = sorted(map(sorted, partition.clusters()), key=lambda cluster: (-len(cluster), cluster))
    return " ".join(f"{{{', '.join(quoted(partition.labels[leaf]) for leaf in cluster)}}}" for cluster in clusters)


def table_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns side by side; the first one flush left, numbers flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  " + "  ".join(c.rjust(w) if k else c.ljust(w) for k, (c, w) in enumerate(zip(row, widths, strict=True)))
        for row in rows
    ]


def report_posterior(problem: Problem, model: pal.models.CorrelationClusters, post: pal.PartitionPosterior) -> str:
    """What the data were, and the posterior in numbers."""
    pairs = problem.affinity[np.triu_indices(model.n_leaves, 1)]
    facts = [
        *problem.story,
        ("", f"from {pairs.min():.4f} to {pairs.max():.4f}"),
        ("beta", f"{model.beta:g}: a pair has the log potential beta * affinity"),
        ("", ""),
        ("n", f"{model.n_leaves} leaves"),
        ("partitions", str(post.count)),
        ("log Z", f"{post.log_partition:.6f}"),
        ("entropy", f"{post.entropy:.6f} nats, as of {np.exp(post.entropy):.1f} equally probable partitions"),
    ]
    lines = [f"{name:<12}{text}".rstrip() for name, text in facts]
    lines += ["", "The most probable partition (MAP) and the next ones, with their probabilities"]
    lines += [f"  {np.exp(log_prob):.6f}  {written(partition)}" for partition, log_prob in post.best(N_BEST)]
    return "\n".join(lines)


def report_pairs(labels: Sequence[str], log_potentials: Floats, together: Floats) -> str:
    """Are affinities a stand-in for probabilities? (Figure 2)"""
    i, j = np.triu_indices(len(labels), 1)
    x, y = log_potentials[i, j], together[i, j]
    lines = ["Pairs: affinity against the probability of sharing a cluster (figure 2)"]
    if len(x) > 1 and np.ptp(x) > 0 and np.ptp(y) > 0:
        log_y = np.log(np.maximum(y, 1e-300))
        lines += [f"  correlation {pearsonr(x, y)[0]:.4f}, rank correlation {spearmanr(x, y)[0]:.4f}"]
        lines += [f"  correlation with log P(i ~ j) {pearsonr(x, log_y)[0]:.4f}"]
    else:
        lines += ["  the correlation is not defined: all pairs have the same affinity or probability"]
    surprising = surprises(x, y)
    alone = expit(x)
    likelier = [at for at in surprising if y[at] > alone[at]][:N_SURPRISES]
    less = [at for at in surprising if y[at] < alone[at]][:N_SURPRISES]
    lines += ["", "Surprising pairs: 'alone' is the probability that the pair would have without the other leaves."]
    lines += ["Likelier than alone; 'through' is the leaf that attracts both, by at least this log potential:"]
    header = ["pair", "log potential", "alone", "P(i ~ j)"]
    cells = {
        at: [f"{quoted(labels[i[at]])} - {quoted(labels[j[at]])}", *map("{:.4f}".format, (x[at], alone[at], y[at]))]
        for at in likelier + less
    }
    rows = [[*cells[at], *through(labels, log_potentials, int(i[at]), int(j[at]))] for at in likelier]
    lines += table_lines([[*header, "through", "by"], *rows])
    lines += ["Less likely than alone:", *table_lines([header, *(cells[at] for at in less)])]
    return "\n".join(lines)


def through(labels: Sequence[str], log_potentials: Floats, a: int, b: int) -> list[str]:
    """The third leaf to which both are closest, and the smaller of its two log potentials; nothing if it repels."""
    smaller = np.minimum(log_potentials[a], log_potentials[b])
    smaller[[a, b]] = -np.inf
    third = int(np.argmax(smaller))
    return [quoted(labels[third]), f"{smaller[third]:.4f}"] if smaller[third] > 0 else ["-", "-"]


def report_approximations(shares: dict[str, Floats], together: Floats, size: int) -> str:
    """How far shares of draws are from exact probabilities (Figure 3)."""
    pairs = np.triu_indices(len(together), 1)
    exact = together[pairs]
    error = np.sqrt(np.maximum(exact * (1 - exact), 1 / size) / size)
    rows = [["", "mean |deviation|", "largest", "mean deviation", "too high", "too low"]]
    for name, matrix in shares.items():
        off = matrix[pairs] - exact
        high, low = int((off > 3 * error).sum()), int((off < -3 * error).sum())
        sizes = [f"{np.abs(off).mean():.4f}", f"{np.abs(off).max():.4f}", f"{off.mean():+.4f}"]
        rows.append([name, *sizes, str(high), str(low)])
    off = next(iter(shares.values()))[pairs] - exact
    verdict = "overestimates" if off.mean() > 0 else "underestimates" if off.mean() < 0 else "is right"
    return "\n".join(
        [
            f"Perturb-and-MAP against the exact P(i ~ j) of the {len(exact)} pairs, {size} draws each (figure 3);",
            "'too high' and 'too low' count pairs that are off by more than three standard errors",
            *table_lines(rows),
            f"  on average Perturb-and-MAP with Gumbel noise {verdict} by {abs(off.mean()):.4f}",
        ]
    )


def draw_log_marginals(post: pal.PartitionPosterior) -> Any:
    """Figure 2 as the paper has it: the logarithm of P(i ~ j), which sets pairs apart that are all near 0."""
    ax = plot.affinity_against_coclustering(post.model, post, annotate=0)
    together = post.coclustering()[np.triu_indices(len(post.labels), 1)]
    ax.set(yscale="log", ylim=(together.min() / 2, 1.5))
    return ax.figure


def draw_figures(post: pal.PartitionPosterior, shares: Floats, out: Path) -> None:
    """Figures 2 to 5 of the paper, and the number of clusters."""
    approximate = plot.approximate_against_exact(shares, post)
    approximate.set_ylabel("P(i ~ j), Perturb-and-MAP")
    figures = {
        "figure2": plot.affinity_against_coclustering(post.model, post).figure,
        "figure2_log": draw_log_marginals(post),
        "figure3": approximate.figure,
        "figures_4_and_5": plot.affinities_and_coclustering(post.model, post),
        "number_of_clusters": plot.n_clusters(post).figure,
    }
    import matplotlib.pyplot as plt

    for name, figure in figures.items():
        figure.savefig(out / f"{name}.png", dpi=150)
        plt.close(figure)


def run(problem: Problem, beta: float, seed: int, perturbations: int, out: Path) -> str:
    """Everything; the text that is also in results.txt."""
    model = pal.models.CorrelationClusters(problem.affinity, beta, labels=problem.labels)
    post = pal.PartitionPosterior(model)
    together = post.coclustering()
    noises = {"Gumbel noise on pairs, as in the paper": "gumbel", "logistic noise on pairs": "logistic"}
    shares = {
        name: pal.search.perturb_and_map(model, perturbations, noise=noise, rng=seed).coclustering()
        for name, noise in noises.items()
    }
    shares["exact draws, for comparison"] = post.sample(perturbations, rng=seed).coclustering()
    log_potentials = beta * model.pairwise[0]  # of every pair by itself
    parts = [
        report_posterior(problem, model, post),
        report_pairs(model.labels, log_potentials, together),
        report_approximations(shares, together, perturbations),
    ]
    text = "\n\n".join(parts) + "\n"
    out.mkdir(parents=True, exist_ok=True)
    draw_figures(post, next(iter(shares.values())), out)
    (out / "results.txt").write_text(text, encoding="utf-8")
    return text


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, run, print."""
    parser = argparse.ArgumentParser(description="Figures 2 to 5 of Greenberg et al. (2018).")
    parser.add_argument("--data", type=Path, help="CSV or CSV.gz, one row per sample (default: the shipped numerals)")
    parser.add_argument("--samples", help=f"how many, or their names with commas between (default: {N_SAMPLES})")
    parser.add_argument("--classes-column", help="name of the column of classes (default: the second, if not numeric)")
    parser.add_argument("--add", type=float, help="added to every value before its logarithm is taken (default: none)")
    parser.add_argument("--beta", type=float, default=BETA, help=f"inverse temperature (default: {BETA:g})")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of samples and of the draws (default: 0)")
    parser.add_argument("--perturbations", type=int, default=1000, help="Perturb-and-MAP draws (default: 1000)")
    parser.add_argument("--out", type=Path, default=Path("compact_uncertainty"), help="folder for what is written")
    given = parser.parse_args(arguments)
    if given.data is None and (given.samples or given.classes_column or given.add is not None):
        parser.error("--samples, --classes-column and --add are about a table; give one with --data")
    if given.perturbations < 1:
        parser.error(f"--perturbations is {given.perturbations}; at least one is needed")
    try:
        if given.data is None:
            problem = problem_from_numerals()
        else:
            problem = problem_from_table(given.data, given.samples, given.classes_column, given.seed, given.add)
        print(run(problem, given.beta, given.seed, given.perturbations, given.out), end="")
    except (ValueError, OSError, pal.TrellisTooLarge) as problem_found:
        parser.error(str(problem_found))


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    main()
