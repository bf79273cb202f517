"""Histories by sequential recombination: the two nearest become one, until one is left. FastJet does the work.

FastJet: M. Cacciari, G. P. Salam and G. Soyez, Eur. Phys. J. C 72 (2012) 1896. Cite it if you use these.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette._extras import require
from palmette.array_types import Floats
from palmette.checks import check_choice, check_number, check_points
from palmette.hierarchy import Hierarchy
from palmette.jets.jet import Jets
from palmette.models.particles import LARGEST

__all__ = ["ALGORITHMS", "GEOMETRIES", "cluster", "cluster_all"]

#: Name → the power p of pt or E in the distance.
ALGORITHMS = {"kt": 1, "cambridge": 0, "antikt": -1}

_LARGEST_RADIUS = {"pp": 1000.0, "ee": math.pi}  # the first is FastJet's own limit
_NO_RADIUS = {"pp": 1000.0, "ee": 2 * math.pi}  # FastJet: from π on, nothing in e⁺e⁻ is nearer to the beam
GEOMETRIES = tuple(_NO_RADIUS)
_SMALLEST, _HIGHEST = 1e-300, 1e300  # what FastJet takes for 0, and heights that can still be subtracted
_FARTHEST = 1e40  # rapidity of what moves along the beam; FastJet has 1e5 + |pz|, or infinity if E < |pz|


def cluster(momenta: npt.ArrayLike, algorithm: str, *, geometry: str = "pp", radius: float | None = None) -> Hierarchy:
    """d_ij = min(s_i^p, s_j^p) Δ_ij², smallest first; p is 1 for "kt", 0 for "cambridge" (Aachen), −1 for "antikt".

    In the geometry "pp" s is pt² and Δ² = Δy² + Δφ²; in "ee" s is E² and Δ² = 1 − cos θ. `momenta` is (n, 4), rows
    (E, px, py, pz); momenta of merged particles are added. Leaf i is row i.

    Without a `radius` everything ends in one jet. With one, jets are found first, as FastJet finds them, and then
    joined by the same rule: each is a cluster of the hierarchy. Particles along the beam, which FastJet leaves alone,
    are joined likewise.

    Heights are the largest d_ij so far, so that `cut(k)` gives FastJet's k exclusive jets.

    >>> momenta = [[5, 3, 0, 4], [5, 3, 0.1, 4], [5, -3, 0, 4]]
    >>> cluster(momenta, "antikt")
    Hierarchy.from_newick('(2,(0,1));')
    """
    power, radius = _check_options(algorithm, geometry, radius)
    points = _check_momenta(momenta)
    history = _History(points, power, geometry)
    history.run(radius)
    history.join()
    children = np.sort(np.array(history.merges, dtype=np.int64).reshape(-1, 2), axis=1)
    return Hierarchy.from_merges(children, heights=history.heights())


def cluster_all(jets: Jets, algorithm: str, *, geometry: str = "pp", radius: float | None = None) -> list[Hierarchy]:
    """What `cluster` makes of each jet; the message about one that cannot be clustered names it."""
    found = []
    for i, jet in enumerate(jets):
        try:
            found.append(cluster(jet.momenta, algorithm, geometry=geometry, radius=radius))
        except ValueError as error:
            raise ValueError(f"jet {i}: {error}") from None
    return found


class _History:
    """Particles and what they were merged to, as FastJet's objects; row i of `merges` made node n + i."""

    def __init__(self, momenta: Floats, power: int, geometry: str) -> None:
        self.fastjet, self.power, self.geometry = _quiet_fastjet(), power, geometry
        make = self.fastjet.PseudoJet
        self.nodes = [make(px, py, pz, energy) for energy, px, py, pz in momenta.tolist()]
        self.merges: list[tuple[int, int]] = []

    def run(self, radius: float) -> None:
        """Let FastJet merge until only jets are left."""
        fastjet, n = self.fastjet, len(self.nodes)
        kind = fastjet.genkt_algorithm if self.geometry == "pp" else fastjet.ee_genkt_algorithm
        sequence = fastjet.ClusterSequence(self.nodes, fastjet.JetDefinition(kind, radius, float(self.power)))
        self.nodes = list(sequence.jets())
        number = {node.cluster_hist_index(): i for i, node in enumerate(self.nodes)}
        one, two = fastjet.PseudoJet(), fastjet.PseudoJet()
        for node in self.nodes[n:]:
            sequence.has_parents(node, one, two)
            self.merges.append((number[one.cluster_hist_index()], number[two.cluster_hist_index()]))

    def join(self) -> None:
        """Merge the jets that are left, by the same distance but without a beam, until there is one."""
        left = sorted(set(range(len(self.nodes))).difference(*self.merges))
        while len(left) > 1:
            first, second = np.triu_indices(len(left), 1)
            features = self._features([self.nodes[i] for i in left])
            nearest = int(np.argmin(self._distances(features[first], features[second])))
            pair = (left[first[nearest]], left[second[nearest]])
            self.merges.append(pair)
            self.nodes.append(self.nodes[pair[0]] + self.nodes[pair[1]])
            left = [i for i in left if i not in pair] + [len(self.nodes) - 1]

    def heights(self) -> Floats:
        """The largest distance so far, for each merge."""
        pairs = np.array(self.merges, dtype=np.int64).reshape(-1, 2)
        features = self._features(self.nodes)
        return np.maximum.accumulate(self._distances(features[pairs[:, 0]], features[pairs[:, 1]]))

    def _features(self, nodes: list[Any]) -> Floats:
        """(m, 3): pt^2p, rapidity and azimuth; or (m, 4): E^2p and the direction."""
        if self.geometry == "pp":
            table = np.array([(node.perp2(), node.rap(), node.phi()) for node in nodes])
            table[:, 1] = np.clip(table[:, 1], -_FARTHEST, _FARTHEST)
        else:
            table = np.array([(node.E() ** 2, node.px(), node.py(), node.pz()) for node in nodes])
            length = np.sqrt(np.square(table[:, 1:]).sum(axis=1, keepdims=True))
            table[:, 1:] = np.divide(table[:, 1:], length, out=np.zeros_like(table[:, 1:]), where=length > 0)
        if self.power < 1:
            table[:, 0] = np.maximum(table[:, 0], _SMALLEST) ** self.power
        return table

    def _distances(self, one: Floats, two: Floats) -> Floats:
        gap = one[:, 1:] - two[:, 1:]
        if self.geometry == "pp":
            gap[:, 1] = np.pi - np.abs(np.pi - np.abs(gap[:, 1]))  # azimuths lie between 0 and 2π
        squares = np.square(gap).sum(axis=1) * (1.0 if self.geometry == "pp" else 0.5)  # |u − v|²/2 = 1 − cos θ
        with np.errstate(over="ignore"):
            return np.asarray(np.minimum(np.minimum(one[:, 0], two[:, 0]) * squares, _HIGHEST))


@cache
def _quiet_fastjet() -> Any:
    """FastJet's own classes, with the banner that it prints on first use sent nowhere."""
    fastjet = require("fastjet", "hep")._swig
    sequence = fastjet.ClusterSequence
    usual = sequence.fastjet_banner_stream()
    sequence.set_fastjet_banner_stream(None)
    sequence.print_banner()
    sequence.set_fastjet_banner_stream(usual)
    return fastjet


def _check_options(algorithm: str, geometry: str, radius: float | None) -> tuple[int, float]:
    check_choice("algorithm", algorithm, ALGORITHMS)
    check_choice("geometry", geometry, _NO_RADIUS, ": rapidity and azimuth, or angles")
    if radius is None:
        return ALGORITHMS[algorithm], _NO_RADIUS[geometry]
    if not 1e-3 <= check_number("radius", radius) <= _LARGEST_RADIUS[geometry]:
        raise ValueError(
            f"radius is {radius}; expected 0.001 to {_LARGEST_RADIUS[geometry]:.4g}, or None: everything in one jet"
        )
    return ALGORITHMS[algorithm], float(radius)


def _check_momenta(momenta: npt.ArrayLike) -> Floats:
    points = check_points(momenta, "momenta")
    if points.shape[1] != 4:
        raise ValueError(f"momenta has shape {points.shape}; expected (n, 4): one row (E, px, py, pz) per particle")
    if points[:, 0].min() < 0:
        raise ValueError(f"momenta holds a negative energy, {points[:, 0].min():g}; the columns are (E, px, py, pz)")
    if np.abs(points).max() > LARGEST:
        raise ValueError(f"momenta holds numbers beyond {LARGEST:g}; use larger units")
    return points
