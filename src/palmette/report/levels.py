"""From which probability on a cluster is called certain, likely, probable or contested, in words and in colours."""

__all__ = ["CERTAIN", "CONTESTED", "LEGEND", "PROBABLE", "level"]

CERTAIN, PROBABLE, CONTESTED = 0.95, 0.5, 0.1
_LIKELY = 0.75

#: What each level is called in a legend.
LEGEND = {
    "certain": f"{100 * CERTAIN:g} % and more",
    "likely": f"{100 * _LIKELY:g} % to {100 * CERTAIN:g} %",
    "probable": f"{100 * PROBABLE:g} % to {100 * _LIKELY:g} %",
    "contested": f"below {100 * PROBABLE:g} %",
}


def level(probability: float) -> str:
    """The word for a probability, which is also the name of its colour.

    >>> [level(p) for p in (0.99, 0.8, 0.6, 0.2)]
    ['certain', 'likely', 'probable', 'contested']
    """
    bounds = {"certain": CERTAIN, "likely": _LIKELY, "probable": PROBABLE}
    return next((word for word, bound in bounds.items() if probability >= bound), "contested")
