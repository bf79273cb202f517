"""The five toy sets of the published notebook: circles, moons, blobs, blobs of varied width, and slanted ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from common import Floats, Ints

from palmette._extras import require


class Toy(NamedTuple):
    points: Floats
    classes: Ints
    known: Ints
    """The class of the points that the notebook tells, −1 elsewhere."""


def toys(points: int = 200, told: int = 20, shift: int = 0) -> dict[str, Toy]:
    """By name, in the notebook's order, which matters: what is told is drawn from one stream.

    With a `shift` of the seeds they are other sets of the same kinds.
    """
    data = require("sklearn.datasets", "sklearn")
    stream = np.random.RandomState(2 + shift)
    moons, halves = data.make_moons(points, noise=0.05, random_state=42 + shift)
    slanted, groups = data.make_blobs(points, random_state=170 + shift)
    made = {
        "circles": data.make_circles(points, factor=0.5, noise=0.05, random_state=10 + shift),
        "moons": (np.concatenate((moons, moons + np.array([2.5, 0.0]))), np.concatenate((halves, halves + 2))),
        "blobs": data.make_blobs(points, random_state=42 + shift),
        "varied": data.make_blobs(points, cluster_std=[1.0, 2.5, 0.5], random_state=170 + shift),
        "slanted": (slanted @ np.array([[0.6, -0.6], [-0.4, 0.8]]), groups),
    }
    found = {}
    for name, (where, classes) in made.items():
        order = np.arange(len(where))
        stream.shuffle(order)
        shown = order[: told * len(where) // points]
        known = np.full(len(where), -1)
        known[shown] = classes[shown]
        found[name] = Toy(where, classes, known)
    return found
