"""Table 2 and figure 3a: languages by features of their grammar, most of which are not known.

    python experiments/coalescent/wals.py --data DIR [--out DIR] [--only family|known|world]

DIR holds wals_2008.csv: id, name, family, genus, …, n_known, then one column per feature f…, with values 1, 2, …, empty
where unknown. Classes are genera. All choices are in settings.toml. README.md beside this file has the numbers.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import common
import numpy as np
from common import Floats

import palmette as pal
from palmette.coalescent import IndependentSites, fit, greedy

PRINTED = {
    "family": {"average linkage": ".510 .414 .538", "BHC": ".491 .414 .590", "coalescent": ".813 .690 .769"},
    "world": {"average linkage": ".162 .227 .080", "BHC": ".160 .099 .248", "coalescent": ".269 .177 .369"},
}
PRINTED["known"] = PRINTED["world"]


@dataclass(frozen=True)
class Languages:
    """Names, families and genera, and codes (n, D) of their features, NaN where unknown."""

    names: list[str]
    families: list[str]
    genera: list[str]
    features: Floats

    def take(self, rows: Any, columns: Any) -> Languages:
        """Some of them, with some features."""
        chosen = np.arange(len(self.names))[rows]
        words = [[given[i] for i in chosen] for given in (self.names, self.families, self.genera)]
        return Languages(*words, self.features[chosen][:, columns])

    @property
    def known(self) -> Any:
        """(n, D): what is known."""
        return ~np.isnan(self.features)


def read(path: Path) -> Languages:
    """All languages of the file."""
    header, rows = common.read_csv(path)
    first = header.index("n_known") + 1
    words = [[row[header.index(name)] for row in rows] for name in ("name", "family", "genus")]
    return Languages(*words, common.codes([row[first:] for row in rows]))


def one_family(given: Languages, chosen: dict[str, Any]) -> Languages:
    """Languages of the family of which enough is known, with features that are known of enough of them."""
    is_member = np.array([family == chosen["family"] for family in given.families])
    part = given.take(is_member & (given.known.sum(axis=1) >= chosen["min_known"]), slice(None))
    return part.take(slice(None), part.known.sum(axis=0) >= chosen["min_seen"])


def well_known(given: Languages, chosen: dict[str, Any]) -> Languages:
    """Languages of all families of which enough is known."""
    return given.take(given.known.sum(axis=1) >= chosen["min_known"], slice(None))


def baselines(given: Languages, chosen: dict[str, Any]) -> Iterator[tuple[str, pal.Hierarchy]]:
    """Average linkage with an eye for what is missing, and without; BHC, which does not count it."""
    x = given.features
    yield "average linkage, common features", common.average_linkage(common.shared_distances(x))
    coded = np.where(np.isnan(x), -1.0, x)
    yield "average linkage, unknown as a value", common.average_linkage(common.shared_distances(coded))
    for concentration in chosen["bhc_concentrations"]:
        prior = pal.likelihoods.DirichletCategorical(concentration)
        yield f"BHC, Dirichlet({concentration:g})", pal.search.bayesian(x, prior).hierarchy
    for n_rows in chosen["bhc_rows"]:
        prior = pal.likelihoods.DirichletCategorical(n_rows, base=IndependentSites().given(x).equilibrium)
        yield f"BHC, Dirichlet({n_rows:g}q)", pal.search.bayesian(x, prior).hierarchy


def coalescents(given: Languages, chosen: dict[str, Any]) -> Iterator[tuple[str, pal.Hierarchy]]:
    """Every rule at the first rate, rate1 at the others, and with equilibria updated."""
    x = given.features
    for rule in chosen["rules"]:
        yield f"coalescent, {rule}, rate {chosen['rates'][0]:g}", history(x, chosen["rates"][0], rule)
    for rate in chosen["rates"][1:]:
        yield f"coalescent, rate1, rate {rate:g}", history(x, rate)
    yield from with_ties(x, chosen)
    _, found = fit(x, IndependentSites(chosen["rates"][0]), rounds=chosen["rounds"])
    yield f"coalescent, rate1, rate {chosen['rates'][0]:g}, equilibria updated", found.hierarchy


def with_ties(x: Floats, chosen: dict[str, Any]) -> Iterator[tuple[str, pal.Hierarchy]]:
    """Ties broken in other ways than the first."""
    for ties in chosen["ties"][1:]:
        rate = chosen["rates"][0]
        yield f"coalescent, rate1, rate {rate:g}, ties: {ties}", history(x, rate, ties=ties)


def history(x: Floats, rate: float, rule: Any = "rate1", ties: Any = None) -> pal.Hierarchy:
    """One greedy history."""
    return greedy(x, IndependentSites(rate), rule, ties=ties or "log-z").hierarchy


def report(title: str, found: dict[str, Floats], printed: dict[str, str]) -> str:
    """Scores of every method, then what the paper prints."""
    rows = [[title, *common.MEASURES]]
    rows += [[name, *map(common.plain, values)] for name, values in found.items()]
    rows += [[f"paper: {name}", *text.split()] for name, text in printed.items()]
    return common.columns(rows)


def draw(given: Languages, hierarchy: pal.Hierarchy) -> Any:
    """Figure 3a: names in the colours of their genera."""
    n = hierarchy.n_leaves
    figure, (ax,) = common.new_figure(7.5, 1.0 + 0.19 * n)
    genera = sorted(set(given.genera), key=lambda genus: (-given.genera.count(genus), genus))
    colour = {genus: common.COLOURS[k % len(common.COLOURS)] for k, genus in enumerate(genera)}
    names = [f"{genus}: {name}" for genus, name in zip(given.genera, given.names, strict=True)]
    common.draw_history(ax, hierarchy, colours=[colour[genus] for genus in given.genera], names=names)
    ax.set_xlabel("t, in units of the coalescent")
    return figure


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, run, print."""
    command = common.parser("Table 2 and figure 3a: languages.", "folder with wals_2008.csv")
    command.add_argument("--only", choices=list(PRINTED), help="one of the three parts")
    given = command.parse_args(arguments)
    chosen, how = common.settings("wals", given.settings), common.settings("scores", given.settings)
    world = read(given.data / chosen["file"])
    choose = {"family": one_family, "known": well_known, "world": lambda given, _: given}
    for part in PRINTED:
        if given.only in (None, part):
            started = time.perf_counter()
            languages = choose[part](world, chosen)
            found = dict(baselines(languages, chosen))
            if part == "family":
                found |= coalescents(languages, chosen)
                tree = found[f"coalescent, rate1, rate {chosen['rates'][0]:g}"]
                common.save(draw(languages, tree), given.out / "figure3a.png")
            else:
                found[f"coalescent, rate1, rate {chosen['rates'][0]:g}"] = history(
                    languages.features, chosen["rates"][0]
                )
                found |= with_ties(languages.features, chosen)
            scores = {name: common.scores(tree, languages.genera, how) for name, tree in found.items()}
            title = f"{len(languages.names)} languages, {languages.features.shape[1]} features, "
            title += f"{len(set(languages.genera))} genera, {100 * np.mean(~languages.known):.0f} % unknown"
            common.tell(report(title, scores, PRINTED[part]), given.out / f"table2_{part}.txt")
            print(f"  {time.perf_counter() - started:.0f} s\n")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    main()
