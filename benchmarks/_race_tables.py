"""Tables of a race: errors, which share of the sure clusters is right, and the default beside the bootstraps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

import numpy as np
from _linkages import JUDGES
from _outcomes import Outcome
from _rivals import BP_AVERAGE, BP_WARD, DEFAULT, EFFECTIVE, RIVALS
from _scores import LEVELS, mean_and_error, ratio_and_error
from _tables import lines_of

PRIMARY = tuple(JUDGES)[:2]
OTHERS = tuple(JUDGES)[2:]
MAIN = (11, "200")  # leaves and columns
Lines = list[str]


def chosen(outcomes: Iterable[Outcome], **wanted: object) -> list[Outcome]:
    """Those with these values; of several values, with one of them."""
    return [o for o in outcomes if all(_is_one(getattr(o, name), values) for name, values in wanted.items())]


def _is_one(value: object, values: object) -> bool:
    return value in values if isinstance(values, tuple) else value == values


def by_draw(outcomes: Iterable[Outcome], value: Callable[[Outcome], float]) -> list[float]:
    """The mean over judges in each draw of each table."""
    rows = sorted(outcomes, key=lambda o: (o.data, o.leaves, o.columns, o.draw))
    groups = groupby(rows, key=lambda o: (o.data, o.leaves, o.columns, o.draw))
    return [float(np.mean([value(o) for o in group])) for _, group in groups]


def squared(outcome: Outcome) -> float:
    return outcome.squared


def names_of(outcomes: Iterable[Outcome]) -> list[str]:
    return sorted({o.data for o in outcomes})


def rivals_of(outcomes: Sequence[Outcome]) -> list[str]:
    """The rivals, the one with the least error in the mean first."""
    present = [rival for rival in RIVALS if any(o.rival == rival for o in outcomes)]
    errors = {r: np.mean([o.squared for o in chosen(outcomes, rival=r, judge=PRIMARY)]) for r in present}
    return sorted(present, key=errors.__getitem__)


def cell(outcomes: Sequence[Outcome], value: Callable[[Outcome], float] = squared, digits: int = 2) -> str:
    return f"{np.mean([value(o) for o in outcomes]):.{digits}f}" if outcomes else ""


def errors(outcomes: Sequence[Outcome]) -> Lines:
    """Every rival before every judge, at the main size."""
    main = [o for o in outcomes if (o.leaves, o.columns) == MAIN]
    data = names_of(main)
    header = ["support", *(f"{name}, {judge}" for name in data for judge in PRIMARY), "mean", "± of the mean"]
    rows = []
    for rival in rivals_of(main):
        own = chosen(main, rival=rival)
        first = chosen(own, judge=PRIMARY)
        row = [rival, *(cell(chosen(own, data=name, judge=judge)) for name in data for judge in PRIMARY)]
        row += [f"**{cell(first)}**", f"{mean_and_error(by_draw(first, squared))[1]:.2f}"]
        row += [cell(chosen(own, judge=judge)) for judge in OTHERS]
        rows.append([*row, cell(first, lambda o: o.log_score, 1)])
    return lines_of([*header, *OTHERS, "log score"], rows)


def share(outcomes: Sequence[Outcome], level: int) -> str:
    """Which share is right of the clusters with so much support, its error, and how many these are in a draw."""
    named, right = by_draw(outcomes, lambda o: o.named[level]), by_draw(outcomes, lambda o: o.right[level])
    if not sum(named):
        return "none"
    ratio, error = ratio_and_error(right, named)
    return f"{ratio:.2f} ± {error:.2f} of {np.mean(named):.1f}"


def shares(outcomes: Sequence[Outcome]) -> Lines:
    """Of clusters that are as good as certain, how many replicate, at the main size."""
    main = [o for o in outcomes if (o.leaves, o.columns) == MAIN and o.judge in PRIMARY]
    rows = [[r, *(share(chosen(main, rival=r), i) for i in range(len(LEVELS)))] for r in rivals_of(main)]
    return lines_of(["support", *(f"at least {level:g}" for level in LEVELS)], rows)


def by_columns(outcomes: Sequence[Outcome]) -> Lines:
    """Every rival at every number of columns, of as many leaves as in the main table."""
    first = chosen(outcomes, leaves=MAIN[0], judge=PRIMARY)
    settings = sorted({(o.data, o.columns) for o in first}, key=lambda s: (s[0], s[1] == "half", s[1].zfill(6)))
    rows = [
        [rival, *(cell(chosen(first, rival=rival, data=data, columns=columns)) for data, columns in settings)]
        for rival in rivals_of(first)
    ]
    return lines_of(["support", *(f"{data}, {columns}" for data, columns in settings)], rows)


def by_leaves(outcomes: Sequence[Outcome]) -> Lines:
    """The rivals of many leaves, and saying nothing."""
    first = [o for o in chosen(outcomes, judge=PRIMARY, columns=MAIN[1]) if o.leaves > MAIN[0]]
    data = names_of(first)
    rows = []
    for leaves in sorted({o.leaves for o in first}):
        here = chosen(first, leaves=leaves)
        for rival in rivals_of(here):
            own = chosen(here, rival=rival)
            row = [f"{leaves}", rival]
            row += [cell(chosen(own, data=name, judge=judge), digits=1) for name in data for judge in PRIMARY]
            rows.append([*row, f"{leaves - 2}", *(share(own, i) for i in range(1, len(LEVELS)))])
    judges = [f"{name}, {judge}" for name in data for judge in PRIMARY]
    return lines_of(["leaves", "support", *judges, "nothing", *(f"at least {x:g}" for x in LEVELS[1:])], rows)


def head_to_head(outcomes: Sequence[Outcome]) -> Lines:
    """The default over whichever bootstrap is better in the mean of both judges, and the paired difference.

    Beside it the bootstrap of the judge's own linkage, which nobody can choose who does not know the judge.
    """
    first = chosen(outcomes, judge=PRIMARY)
    settings = sorted({(o.leaves, o.columns) for o in first}, key=lambda s: (s[0], s[1] == "half", s[1].zfill(6)))
    rows = []
    for leaves, columns in settings:
        here = chosen(first, leaves=leaves, columns=columns)
        names = names_of(here)
        rows += [_duel(name, leaves, columns, chosen(here, data=name)) for name in names]
        if len(names) > 1:
            rows.append(_duel("all", leaves, columns, here))
    rivals = ["default", "`Contrasts`, effective", "BP, Ward", "BP, average", "BP, the judge's own"]
    return lines_of(["data", "leaves", "columns", "draws", *rivals, "default / better BP", "difference"], rows)


def _duel(name: str, leaves: int, columns: str, outcomes: Sequence[Outcome]) -> list[str]:
    values = {r: by_draw(chosen(outcomes, rival=r), squared) for r in (DEFAULT, EFFECTIVE, BP_WARD, BP_AVERAGE)}
    own = dict(zip(PRIMARY, (BP_WARD, BP_AVERAGE), strict=True))
    values["own"] = by_draw([o for o in outcomes if own[o.judge] == o.rival], squared)
    means = {rival: float(np.mean(each)) for rival, each in values.items()}
    better = min((BP_WARD, BP_AVERAGE), key=means.__getitem__)
    gap, error = mean_and_error(np.subtract(values[DEFAULT], values[better]))
    told = [f"{mean:.2f}" for mean in means.values()]
    ratio = f"{means[DEFAULT] / means[better]:.2f}"
    return [name, f"{leaves}", columns, f"{len(values[DEFAULT])}", *told, ratio, f"{gap:+.2f} ± {error:.2f}"]
