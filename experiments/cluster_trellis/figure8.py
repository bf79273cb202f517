"""Figure 8: a few samples with known subtypes, the greedy hierarchy beside the best one, and a larger study.

    python experiments/cluster_trellis/figure8.py [--data expression.csv] [--out DIR]

Hierarchical correlation clustering of 2 samples of each class on the full trellis, and of 5 of each on a grown one.
README.md beside this file says what goes in and what comes out. Needs matplotlib.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import common
import figure8_grown
import numpy as np
from common import INK
from figure8_grown import Step, cost
from samples import NO_CLASS, Samples, positive_seed, samples_from

import palmette as pal

BETA, BETA_WORDS, FEW, MANY = 2.0, 20.0, 2, 5
SHARES = (1e-3, 1e-4, 1e-5)
LISTED = 1000  # of the best hierarchies, to see ties


# Words.


def report_exact(samples: Samples, posterior: pal.HierarchyPosterior) -> str:
    """The posterior over all hierarchies in numbers."""
    pairs = samples.similarity[~np.eye(len(samples.names), dtype=bool)]
    entropy, tied = posterior.entropy, common.n_tied(posterior, LISTED)
    every = figure8_grown.n_best(posterior.model, None)
    words = [
        ("data", samples.story),
        ("leaves", f"{len(samples.names)}; similarities from {pairs.min():.3f} to {pairs.max():.3f}"),
        ("beta", f"{posterior.model.beta:g}"),
        ("log Z", f"{posterior.log_partition:.4f}"),
        ("entropy", f"{entropy:.3f} nats, as of {np.exp(entropy):,.0f} equally probable hierarchies"),
        ("ties", f"{tied} of the {LISTED} best are as good as the best; {every:,.0f} of all {posterior.count:,} are"),
    ]
    clusters = posterior.cluster_probabilities(0.5)
    sure = [f"  {row.probability:.3f}  {', '.join(row.members)}" for row in clusters]
    parts = [common.facts(words), _compared(samples, posterior), "Clusters of probability at least 1/2:", *sure]
    return "\n".join(parts)


def _compared(samples: Samples, posterior: pal.HierarchyPosterior) -> str:
    # Searches beside the MAP.
    model, best = posterior.model, posterior.map()
    rows = [["", "cost", "above the best", "log probability"]]
    for name, h in (figure8_grown.starts(samples, model) | {"MAP, full trellis": best}).items():
        above = max(0.0, cost(model, h) - cost(model, best))
        rows.append([name, f"{cost(model, h):.4f}", f"{above:.4f}", f"{posterior.log_prob(h):.3f}"])
    return common.columns(rows)


def report_choices(path: Path, beta: float, choices: int) -> str:
    """How often searches miss the lowest cost, over many choices of so few samples."""
    missed, positive = {"greedy": 0, "beam": 0}, 0
    for seed in range(choices):
        samples = samples_from(path, FEW, seed)
        model = pal.models.Correlation(samples.affinity, beta, labels=samples.names)
        lowest = cost(model, pal.HierarchyPosterior(model).map())
        for name in missed:
            found = getattr(pal.search, name)(model).hierarchy
            missed[name] += cost(model, found) > lowest * (1 + common.TIED)
        positive += samples.similarity.min() > 0
    misses = f"greedy misses the lowest cost in {missed['greedy']}, beam search in {missed['beam']}"
    return f"Of the choices with seeds 0 to {choices - 1}, {misses}; all similarities are positive in {positive}"


# Pictures.


def draw_pair(samples: Samples, posterior: pal.HierarchyPosterior, greedy: pal.Hierarchy) -> Any:
    """Greedy and MAP side by side, support at the nodes."""
    figure, axes = common.new_figure(10.5, 0.3 * len(samples.names) + 1.3, (1, 1))
    titles = [("greedy", greedy), ("MAP, full trellis", posterior.map())]
    for ax, (title, hierarchy) in zip(axes, titles, strict=True):
        _draw(ax, samples, hierarchy, posterior)
        ax.set_title(f"{title}: cost {cost(posterior.model, hierarchy):.2f}", fontsize=10, color=INK)
    _legend(figure, samples, "numbers: probability of the cluster")
    return figure


def draw_one(samples: Samples, step: Step) -> Any:
    """The MAP of a grown trellis."""
    figure, (ax,) = common.new_figure(8.5, 0.27 * len(samples.names) + 1.3)
    _draw(ax, samples, step.best, step.posterior)
    size = f"grown trellis of {step.trellis.n_clusters:,} clusters and {step.trellis.n_splits:,} splits"
    ax.set_title(f"MAP on a {size}: cost {cost(step.posterior.model, step.best):.2f}", fontsize=10, color=INK)
    _legend(figure, samples, "numbers: probability on this trellis")
    return figure


def _draw(ax: Any, samples: Samples, hierarchy: pal.Hierarchy, posterior: pal.HierarchyPosterior) -> None:
    aligned = hierarchy.aligned_to(posterior.labels)
    sure = common.support(posterior, aligned)
    notes = {node: common.share(p) for node, p in sure.items()}
    common.draw_hierarchy(ax, aligned, colours=samples.colours, notes=notes, sure=sure, names=samples.names)


def _legend(figure: Any, samples: Samples, numbers: str) -> None:
    from matplotlib.lines import Line2D

    colours = dict(sorted(zip(samples.classes, samples.colours, strict=True), key=lambda pair: pair[0] == NO_CLASS))
    style = {"marker": "o", "linestyle": "", "markersize": 6}
    handles = [Line2D([], [], color=colour, label=name, **style) for name, colour in colours.items()]
    handles.append(Line2D([], [], linestyle="", label=numbers))
    spacing = {"handletextpad": 0.1, "columnspacing": 1.2, "frameon": False, "fontsize": 9}
    legend = figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), **spacing)
    legend.get_texts()[-1].set_color(common.NOTE)


# Everything.


def run_few(given: Any) -> str:
    """On the full trellis."""
    seed = positive_seed(given.data, FEW, given.seed) if given.data and not given.any_sign else given.seed
    samples = samples_from(given.data, FEW, seed)
    model = pal.models.Correlation(samples.affinity, given.beta, labels=samples.names)
    posterior = pal.HierarchyPosterior(model)
    common.save(draw_pair(samples, posterior, pal.search.greedy(model).hierarchy), given.out / "figure8.png")
    text = f"Full trellis (figure 8)\n{report_exact(samples, posterior)}"
    return f"{text}\n{report_choices(given.data, given.beta, given.choices)}" if given.data and given.choices else text


def run_many(given: Any) -> str:
    """On a grown one."""
    samples = samples_from(given.data, given.each, given.seed)
    model = pal.models.Correlation(samples.affinity, given.beta, labels=samples.names)
    steps = figure8_grown.grow(model, list(figure8_grown.starts(samples, model).values()), given.shares)
    common.save(draw_one(samples, steps[-1]), given.out / "figure8_grown.png")
    return f"Grown sparse trellis\n{figure8_grown.report(samples, model, steps, given.sweeps, given.seed)}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, run, print."""
    command = common.parser("Subtypes: greedy, MAP and support (figure 8).")
    add = command.add_argument
    add("--data", type=Path, help="CSV or CSV.gz: sample, class, genes (default: the shipped numerals)")
    add("--beta", type=float, help=f"inverse temperature (default: {BETA:g}; for the numerals {BETA_WORDS:g})")
    add("--each", type=int, default=MANY, help=f"samples of a group, larger study (default: {MANY})")
    add("--shares", type=float, nargs="+", default=SHARES, help="min_share of growing, one after another")
    add("--choices", type=int, default=100, help="choices of the few samples to compare searches on; 0: none")
    add("--sweeps", type=int, default=6400, help="of the chains that tell what is not covered (default: 6400); 0: none")
    add("--seed", type=int, default=0, help="of the choice of samples and of the chains (default: 0)")
    add(
        "--any-sign",
        action="store_true",
        help="few samples of this very seed (default: the next one that, as in the "
        "paper, has positive correlations only)",
    )
    given = command.parse_args(arguments)
    if given.beta is None:
        given.beta = BETA_WORDS if given.data is None else BETA
    try:
        common.tell(f"{run_few(given)}\n\n{run_many(given)}", given.out / "figure8.txt")
    except (ValueError, OSError, pal.TrellisTooLarge) as problem:
        command.error(str(problem))


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    main()
