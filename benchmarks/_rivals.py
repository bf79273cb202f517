"""The rivals by name: all, and those that can be asked about many leaves."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from _linkages import Support, average_of_correlations, bootstrap_proportions, ward
from _posterior_rivals import as_points, contrasts, cost, default, dirichlet_process, one_law
from _resampled_rivals import approximately_unbiased, bagged, calibrated, calibrated_cost, with_bootstraps
from _significance import split_significance
from _split_laws import column_shares, tied_contrasts

Rival = Callable[[np.ndarray, np.random.Generator], Support]

DEFAULT = "default"
BP_WARD, BP_AVERAGE = "BP, Ward", "BP, average of correlations"
EFFECTIVE = "`Contrasts`, effective dimension"

RIVALS: dict[str, Rival] = {
    DEFAULT: default,
    "default, as points only": as_points,
    "law “gradual”": partial(one_law, law="gradual"),
    "law “groups”": partial(one_law, law="groups"),
    "default, bagged": bagged,
    "default and both BP, their mean": with_bootstraps,
    "“gradual”, dimension by halves": calibrated,
    "`Contrasts`, all columns": contrasts,
    EFFECTIVE: partial(contrasts, dimension="effective"),
    "contrasts tied to their own cluster": tied_contrasts,
    "shares column by column": column_shares,
    BP_WARD: partial(bootstrap_proportions, method=ward),
    BP_AVERAGE: partial(bootstrap_proportions, method=average_of_correlations),
    "AU, Ward": partial(approximately_unbiased, method=ward),
    "AU, average of correlations (pvclust)": partial(approximately_unbiased, method=average_of_correlations),
    "significance of Ward's splits": split_significance,
    **{
        f"{title}, perplexity {words}": partial(cost, name=name, perplexity=perplexity)
        for name, title in (("Dasgupta", "Dasgupta's cost"), ("squares", "sums of squares"))
        for perplexity, words in ((10.0, "10"), (100.0, "100"), (1e4, "10⁴"))
    },
    "Dasgupta's cost, perplexity by halves": partial(calibrated_cost, name="Dasgupta"),
    "sums of squares, perplexity by halves": partial(calibrated_cost, name="squares"),
    "Dirichlet process": dirichlet_process,
}

#: For more leaves than a posterior can be summed over again and again.
LARGE = (DEFAULT, EFFECTIVE, BP_WARD, BP_AVERAGE)
