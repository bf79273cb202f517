import itertools
import math
import subprocess
import sys

import numpy as np
import pytest

from palmette.hierarchy import Hierarchy
from palmette.jets import Jets, cluster, cluster_all
from palmette.jets.sequential import ALGORITHMS
from palmette.simulate import ginkgo

fastjet = pytest.importorskip("fastjet")

GEOMETRIES = ("pp", "ee")
POWERS = {"kt": 1, "cambridge": 0, "antikt": -1}


def distance(p, q, power, geometry):
    """d_ij as it is written in papers; a momentum is (E, px, py, pz)."""
    if geometry == "ee":
        cosine = p[1:] @ q[1:] / (np.linalg.norm(p[1:]) * np.linalg.norm(q[1:]))
        return min(p[0] ** (2 * power), q[0] ** (2 * power)) * (1 - cosine)
    y, z = (0.5 * math.log((v[0] + v[3]) / (v[0] - v[3])) for v in (p, q))
    angle = abs(math.atan2(p[2], p[1]) - math.atan2(q[2], q[1]))
    angle = min(angle, 2 * math.pi - angle)
    return min(math.hypot(*v[1:3]) ** (2 * power) for v in (p, q)) * ((y - z) ** 2 + angle**2)


def beam_distance(p, power, geometry):
    return (p[0] if geometry == "ee" else math.hypot(p[1], p[2])) ** (2 * power)


def slow_jets(momenta, power, geometry, radius):
    """Generalised kt with a beam: nested leaf numbers and momentum of each jet."""
    left = [(i, np.array(p)) for i, p in enumerate(momenta)]
    unit = radius**2 if geometry == "pp" else 1 - math.cos(radius)
    jets = []
    while left:
        pairs = list(itertools.combinations(left, 2))
        beams = [beam_distance(one[1], power, geometry) for one in left]
        between = [distance(one[1], two[1], power, geometry) / unit for one, two in pairs]
        if min(beams) < min(between, default=math.inf):
            jets.append(left.pop(int(np.argmin(beams))))
        else:
            one, two = pairs[int(np.argmin(between))]
            left = [item for item in left if item is not one and item is not two]
            left.append(((one[0], two[0]), one[1] + two[1]))
    return jets


def slow_history(items, power, geometry):
    """Generalised kt without a beam: nested leaf numbers, and the distances in the order of merges."""
    left, distances = list(items), []
    while len(left) > 1:
        pairs = list(itertools.combinations(left, 2))
        between = [distance(one[1], two[1], power, geometry) for one, two in pairs]
        one, two = pairs[int(np.argmin(between))]
        distances.append(min(between))
        left = [item for item in left if item is not one and item is not two]
        left.append(((one[0], two[0]), one[1] + two[1]))
    return left[0][0], distances


def random_momenta(n, seed, *, massless=False):
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n, 3)) * rng.exponential(10, (n, 1))
    mass = np.zeros(n) if massless else rng.exponential(1, n)
    return np.column_stack([np.sqrt(np.square(vectors).sum(axis=1) + mass**2), vectors])


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("n", [1, 2, 3, 10, 25])
def test_histories_match_the_plain_algorithm(n, algorithm, geometry):
    for seed in range(5):
        momenta = random_momenta(n, seed, massless=seed % 2 == 1)
        nested, distances = slow_history(enumerate(momenta), POWERS[algorithm], geometry)
        found = cluster(momenta, algorithm, geometry=geometry)
        assert found == Hierarchy.from_nested(nested)
        assert found.labels == tuple(map(str, range(n)))
        np.testing.assert_allclose(found.heights[n:], np.maximum.accumulate([0, *distances])[1:], rtol=1e-6)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("geometry", "radius"), [("pp", 0.4), ("pp", 1.0), ("ee", 0.5), ("ee", 1.5)])
def test_jets_of_a_radius_match_the_plain_algorithm_and_are_joined(algorithm, geometry, radius):
    power = POWERS[algorithm]
    for seed in range(4):
        momenta = random_momenta(14, seed)
        jets = slow_jets(momenta, power, geometry, radius)
        found = cluster(momenta, algorithm, geometry=geometry, radius=radius)
        assert len(jets) > 1
        assert found == Hierarchy.from_nested(slow_history(jets, power, geometry)[0])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_cuts_are_the_exclusive_jets_of_fastjet(algorithm, geometry):
    momenta = random_momenta(20, 3)
    found = cluster(momenta, algorithm, geometry=geometry)
    kind, radius = {"pp": (fastjet.genkt_algorithm, 1000.0), "ee": (fastjet.ee_genkt_algorithm, 2 * math.pi)}[geometry]
    particles = [fastjet.PseudoJet(*p[1:], p[0]) for p in momenta.tolist()]
    for i, particle in enumerate(particles):
        particle.set_user_index(i)
    definition = fastjet.JetDefinition(kind, radius, float(POWERS[algorithm]))
    sequence = fastjet._swig.ClusterSequence(particles, definition)
    for k in range(1, 21):
        expected = {frozenset(p.user_index() for p in jet.constituents()) for jet in sequence.exclusive_jets(k)}
        assert set(map(frozenset, found.cut(k).clusters())) == expected


ALONG, AGAINST = [1.0, 0.0, 0.0, 1.0], [3.0, 0.0, 0.0, -3.0]
SIDE, OBLIQUE = [1.0, 0.0, 1.0, 0.0], [2.0, 1.0, 1.0, 0.5]
DEGENERATE = {
    "one": [SIDE],
    "one along the beam": [ALONG],
    "nothing": [[0.0] * 4],
    "two": [SIDE, OBLIQUE],
    "two along the beam": [ALONG, AGAINST],
    "back to back": [SIDE, [1.0, 0.0, -1.0, 0.0]],
    "identical": [OBLIQUE] * 7,
    "many identical": [OBLIQUE] * 300,
    "identical along the beam": [ALONG] * 40,
    "collinear": [[2.0 * k, k, k, 0.5 * k] for k in (1.0, 2.0, 3.0, 5.0)],
    "along and across": [ALONG, SIDE, AGAINST, OBLIQUE, ALONG, AGAINST],
    "with nothing": [SIDE, [0.0] * 4, OBLIQUE, [0.0] * 4],
    "at rest": [[1.0, 0.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0], SIDE],
    "large and small": [[1e30, 1e30, 0, 0], [1e-30, 0, 1e-30, 0], SIDE, ALONG],
    "spacelike": [[1.0, 2.0, 0.0, 2.0], SIDE, [0.5, 0.0, 0.0, 3.0]],
}


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("radius", [None, 0.5])
def test_there_is_always_a_hierarchy(name, geometry, radius):
    momenta = DEGENERATE[name]
    for algorithm in ALGORITHMS:
        found = cluster(momenta, algorithm, geometry=geometry, radius=radius)
        assert found.n_leaves == len(momenta)
        assert found.is_binary
        assert (np.diff(found.heights[found.n_leaves :]) >= 0).all()


def test_collinear_particles_are_merged_first():
    momenta = [SIDE, OBLIQUE, [2 * x for x in SIDE]]
    for algorithm in ALGORITHMS:
        assert cluster(momenta, algorithm) == Hierarchy.from_nested(((0, 2), 1))


def test_all_jets_are_clustered_and_a_bad_one_is_named():
    jets = ginkgo(20, rng=1)
    assert cluster_all(jets, "antikt", geometry="ee") == [cluster(j.momenta, "antikt", geometry="ee") for j in jets]
    with pytest.raises(ValueError, match="jet 1: momenta is empty"):
        cluster_all(Jets.from_list([[SIDE], []]), "kt")
    with pytest.raises(ValueError, match="jet 0: momenta holds nan at row 0, column 2"):
        cluster_all(Jets.from_list([[[1, 0, np.nan, 0]]]), "kt")


@pytest.mark.parametrize(
    ("momenta", "arguments", "message"),
    [
        ([SIDE], {"algorithm": "durham"}, "algorithm is 'durham'; give one of 'kt', 'cambridge', 'antikt'"),
        ([SIDE], {"geometry": "ep"}, "geometry is 'ep'; give one of 'pp', 'ee': rapidity"),
        ([SIDE], {"radius": 0.0}, "radius is 0.0; expected 0.001 to 1000, or None"),
        ([SIDE], {"radius": math.nan}, "radius is nan"),
        ([SIDE], {"radius": 4.0, "geometry": "ee"}, "radius is 4.0; expected 0.001 to 3.142"),
        ([[1.0, 2.0]], {}, r"shape \(1, 2\); expected \(n, 4\)"),
        ([[-1.0, 0, 0, 0]], {}, "negative energy, -1; the columns are"),
        ([[1e40, 0, 0, 0]], {}, "beyond 1e.30; use larger units"),
    ],
)
def test_bad_arguments_are_refused(momenta, arguments, message):
    with pytest.raises(ValueError, match=message):
        cluster(momenta, **{"algorithm": "kt", **arguments})


def test_a_radius_that_is_no_number_is_refused():
    with pytest.raises(TypeError, match="radius must be a number, not 'wide'"):
        cluster([SIDE], "kt", radius="wide")


def test_nothing_is_printed():
    code = "from palmette.jets import cluster; cluster([[2.0, 1.0, 1.0, 0.5], [1.0, 0.0, 1.0, 0.0]], 'kt')"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_without_fastjet_the_message_names_the_extra(monkeypatch):
    from palmette.jets.sequential import _quiet_fastjet

    monkeypatch.setitem(sys.modules, "fastjet", None)
    _quiet_fastjet.cache_clear()
    with pytest.raises(ImportError, match=r"fastjet is needed.*pip install 'palmette\[hep\]'"):
        cluster([SIDE, OBLIQUE], "kt")
