"""Nineteen varieties of Ainu: a history, and the share of the posterior of each of its clusters. Not in the paper.

    python experiments/coalescent/ainu.py --data DIR [--out DIR]

DIR holds ainu_cognates.csv: id, name, group, then one column per meaning with cognate classes 1, 2, …, empty where
unknown (Lee and Hasegawa, PLOS ONE 8(4), 2013). All choices are in settings.toml. README.md has the numbers.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import common
import numpy as np
from common import Floats

import palmette as pal
from palmette.coalescent import CoalescentDraws, IndependentSites, smc


def read(path: Path) -> tuple[list[str], list[str], Floats]:
    """Names, groups, and codes of the cognate classes."""
    _, rows = common.read_csv(path)
    return [row[1] for row in rows], [row[2] for row in rows], common.codes([row[3:] for row in rows])


def log_evidences(x: Floats, chosen: dict[str, Any]) -> dict[float, float]:
    """An estimate of log p(x) for each rate."""
    options = {"proposal": chosen["rate_proposal"], "rng": chosen["seed"], "n_runs": 1}
    return {
        rate: smc(x, IndependentSites(rate), chosen["rate_particles"], **options).log_evidence
        for rate in chosen["rates"]
    }


def mean_ages(draws: CoalescentDraws, hierarchy: pal.Hierarchy) -> Floats:
    """(n_nodes,): the mean age of each cluster where it occurs; no cluster is older than one that holds it."""
    clusters = [frozenset(cluster) for cluster in hierarchy.clusters()]
    total, share = np.zeros(len(clusters)), np.zeros(len(clusters))
    for index, weight in enumerate(draws.weights):
        if weight > 0:
            ages = draws[index]
            own = dict(zip(map(frozenset, ages.clusters()), ages.heights, strict=True))
            for k, cluster in enumerate(clusters):
                if cluster in own:
                    total[k] += weight * own[cluster]
                    share[k] += weight
    found = total / share
    for child, parent in enumerate(hierarchy.parents[:-1]):
        found[parent] = max(found[parent], found[child])
    return found


def supports(tree: pal.Hierarchy, draws: CoalescentDraws) -> dict[int, tuple[list[int], Floats]]:
    """The leaves of each inner node but the root, and its share of the posterior in each run."""
    found, runs = {}, draws.by_run()
    for node in range(tree.n_leaves, tree.n_nodes - 1):
        start, stop = tree.intervals[node]
        members = sorted(tree.leaf_order[start:stop].tolist())
        found[node] = members, np.array([float(run.cluster_probability(members)) for run in runs])
    return found


def note(share: float, each: Floats) -> str:
    """Per cent; with a question mark if runs are more than ten points apart."""
    return f"{100 * share:.0f}" + ("?" if np.ptp(each) > 0.1 else "")


def _root(t: Floats) -> Floats:
    return np.asarray(np.sign(t) * np.sqrt(np.abs(t)))


def _square(t: Floats) -> Floats:
    return np.asarray(np.sign(t) * t**2)


def draw(tree: pal.Hierarchy, ages: Floats, groups: Sequence[str], draws: CoalescentDraws) -> Any:
    """Varieties in the colours of their groups, and the probability of each cluster in per cent."""
    dated = pal.Hierarchy.from_parents(tree.parents, tree.labels, ages)
    figure, (ax,) = common.new_figure(8.0, 6.6)
    kinds = sorted(set(groups))
    colour = {kind: common.COLOURS[k % len(common.COLOURS)] for k, kind in enumerate(kinds)}
    notes = {node: note(tree.support[node], each) for node, (_, each) in supports(tree, draws).items()}
    common.draw_history(ax, dated, colours=[colour[group] for group in groups], notes=notes, fontsize=9)
    for kind in kinds:
        ax.plot([], [], color=colour[kind], label=kind)
    ax.legend(frameon=False, loc="upper left", fontsize=9)
    ax.set_xscale("function", functions=(_root, _square))  # young clusters are close together
    ax.set_xticks([-t for t in (4, 3, 2, 1, 0.5, 0.2, 0.05, 0) if t <= ages.max()])
    ax.set_xlabel("t, on a scale of square roots\n% of the posterior; ?: runs are more than ten points apart")
    return figure


def report(chosen: dict[str, Any], evidences: dict[float, float], draws: CoalescentDraws, tree: pal.Hierarchy) -> str:
    """Evidences, whether the runs agree, and each cluster of the consensus with its error and in every run."""
    names = np.array(tree.labels)
    best = max(evidences, key=lambda rate: evidences[rate])
    runs = draws.by_run()
    rows = [["cluster", "probability", "error", "lowest", "highest run"]]
    for members, each in supports(tree, draws).values():
        found = draws.cluster_probability(members)
        numbers = (float(found), float(found.standard_error), each.min(), each.max())
        rows.append([" ".join(names[members]), *(f"{p:.2f}" for p in numbers)])
    lines = [
        f"log evidence by rate ({chosen['rate_proposal']}, {chosen['rate_particles']} particles): "
        + ", ".join(f"{rate:g}: {value:.1f}" for rate, value in evidences.items()),
        f"{len(runs)} runs of {len(runs[0])} particles ({chosen['proposal']}) at rate {best:g}: "
        f"log evidence {draws.log_evidence:.1f}, of single runs "
        + ", ".join(f"{run.log_evidence:.1f}" for run in runs),
        f"verdict: {draws.verdict}",
        "clusters with more than half of the posterior",
        common.columns(rows),
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, run, print."""
    command = common.parser("Varieties of Ainu and how sure their clusters are.", "folder with ainu_cognates.csv")
    given = command.parse_args(arguments)
    chosen, started = common.settings("ainu", given.settings), time.perf_counter()
    names, groups, x = read(given.data / "ainu_cognates.csv")
    warnings.filterwarnings("ignore", message="of .* particles")  # the verdict is in the report
    evidences = log_evidences(x, chosen)
    process = IndependentSites(max(evidences, key=lambda rate: evidences[rate]))
    options = {"proposal": chosen["proposal"], "labels": names, "n_runs": chosen["runs"], "rng": chosen["seed"]}
    draws = smc(x, process, chosen["runs"] * chosen["particles"], **options)
    tree = draws.consensus()
    common.save(draw(tree, mean_ages(draws, tree), groups, draws), given.out / "ainu.png")
    common.tell(report(chosen, evidences, draws, tree), given.out / "ainu.txt")
    print(f"  {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    main()
