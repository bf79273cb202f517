"""The scripts run from the command line to their tables and figures, on small data, and what they compute is right."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest

matplotlib.use("agg")

import palmette as pal

FOLDER = Path(__file__).parents[2] / "experiments" / "coalescent"
pytestmark = pytest.mark.filterwarnings("ignore:of .* particles .* are independent")  # small settings need few
MODULES = ("common", "table1", "wals", "ainu", "seeds", "figure1", "figure2", "words", "restoration")

# What makes the settings small; everything else stays as it is.
SMALL = {
    "figure1": {"path_leaves": 4, "path_steps": 20, "points": 10},
    "figure2": {"runs": 2, "dimensions": [2, 3], "observations": [3, 4], "rates": [1.0], "particles": [5]},
    "mnist": {"repeats": 2, "per_class": 4, "dimensions": 3, "rules_repeats": 1},
    "spambase": {"repeats": 2, "per_class": 5, "rules_repeats": 1},
    "wals": {"family": "A", "min_known": 3},
    "restoration": {"languages": [10, 16], "features": [4, 6], "folds": 2, "dimensions": [1, 2], "ppca_rounds": 3},
    "words": {"mails": 20, "shown_clusters": 3},
    "ainu": {"rates": [0.5, 1.0], "rate_particles": 20, "particles": 20, "runs": 2},
}


@pytest.fixture
def data(tmp_path):
    """The five files, small."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "data"
    folder.mkdir()
    digits = [[k % 3, *np.clip(100 * (np.arange(9) % 3 == k % 3) + rng.integers(0, 60, 9), 0, 255)] for k in range(18)]
    write(folder / "mnist_100_per_class.csv.gz", ["label", *(f"p{k}" for k in range(9))], digits)
    mails = [
        [*rng.integers(0, 2, 57) * (np.arange(57) % 2 == k % 2 + (rng.random(57) < 0.3)), k % 2] for k in range(24)
    ]
    write(folder / "spambase.csv.gz", [*(f"word_freq_w{k}" for k in range(57)), "spam"], mails)
    rows = []
    for k in range(18):
        features = np.where(rng.random(8) < 0.7, k // 3 % 3 + 1, rng.integers(1, 4, 8)).astype(object)
        features[rng.random(8) < 0.2] = ""
        rows.append(
            [f"l{k}", f"Language {k}", "AB"[k // 9], f"g{k // 3}", "", 0, 0, sum(f != "" for f in features), *features]
        )
    header = ["id", "name", "family", "genus", "macroarea", "latitude", "longitude", "n_known"]
    write(folder / "wals_2008.csv", [*header, *(f"f{k}" for k in range(8))], rows)
    varieties = [[f"v{k}", f"Sôya {k}", "ns"[k // 3], *(k // 3 + rng.integers(1, 3, 6))] for k in range(6)]
    varieties[2][4] = ""
    write(folder / "ainu_cognates.csv", ["id", "name", "group", *(f"m{k}" for k in range(6))], varieties)
    return folder


def write(path, header, rows):
    text = "\n".join(",".join(map(str, row)) for row in [header, *rows]) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def call(script, out, settings, capsys, *arguments):
    """What a script prints, and the files that it leaves."""
    script.main(["--out", str(out), "--settings", str(settings), *map(str, arguments)])
    return capsys.readouterr().out, {path.name for path in out.iterdir()}


# The scripts.


def test_table1_has_every_method_beside_the_paper(load, data, small, tmp_path, capsys):
    text, files = call(load("table1"), tmp_path / "out", small, capsys, "--data", data)
    assert files == {"table1_mnist.txt", "table1_spambase.txt"}
    for name in ("coalescent, whitened, max-prob, update: full", "BHC, scale 0.25", "update: rates", "BHC, prior: one"):
        assert name in text
    assert [line.split()[2:5] for line in text.splitlines() if "paper: coalescent" in line] == [
        [".412", ".610", ".773"],
        [".689", ".661", ".861"],
    ]


def test_wals_tables_and_tree(load, data, small, tmp_path, capsys):
    text, files = call(load("wals"), tmp_path / "out", small, capsys, "--data", data)
    assert files == {"table2_family.txt", "table2_known.txt", "table2_world.txt", "figure3a.png"}
    assert "9 languages" in text
    assert "18 languages" in text
    assert "average linkage, common features" in text


def test_ainu_has_a_picture_and_the_spread_of_runs(load, data, small, tmp_path, capsys):
    text, files = call(load("ainu"), tmp_path / "out", small, capsys, "--data", data)
    assert files == {"ainu.png", "ainu.txt"}
    assert "2 runs of 20 particles" in text


def test_seeds_are_counted_as_usable_or_not(load, data, capsys):
    load("seeds").main(
        ["--data", str(data / "ainu_cognates.csv"), "--particles", "20", "--seeds", "3", "--rate", "0.1"]
    )
    text = capsys.readouterr().out
    assert "of 3 seeds are usable" in text


def test_restoration_of_hidden_features(load, data, small, tmp_path, capsys):
    text, files = call(load("restoration"), tmp_path / "out", small, capsys, "--data", data)
    assert files == {"figure3b.png", "figure3b.txt", "figure3b_binary.png", "figure3b_binary.txt"}
    assert "PPCA 2" in text
    assert "10 × 4" in text


def test_words_of_clusters(load, data, small, tmp_path, capsys):
    text, files = call(load("words"), tmp_path / "out", small, capsys, "--data", data)
    assert files == {"words.txt"}
    assert "20 mails" in text


def test_prediction_in_four_panels(load, small, tmp_path, capsys):
    text, files = call(load("figure2"), tmp_path / "out", small, capsys)
    assert files == {"figure2.png", "figure2.txt"}
    assert text.count("minus post-post") == 6


def test_paths_and_points(load, small, tmp_path, capsys):
    _, files = call(load("figure1"), tmp_path / "out", small, capsys)
    assert "figure1.png" in files
    assert (tmp_path / "out" / "figure1.png").stat().st_size > 1000


@pytest.mark.slow
def test_paths_and_points_as_a_command(small, tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, str(FOLDER / "figure1.py"), "--out", str(out), "--settings", str(small)]
    done = subprocess.run(command, capture_output=True, env=os.environ | {"MPLBACKEND": "agg"}, check=False)
    assert done.returncode == 0, done.stderr
    assert (out / "figure1.png").stat().st_size > 1000


# What they compute.


def test_distances_count_only_what_both_know(load):
    nan = float("nan")
    x = np.array([[0, 1, nan, 2], [0, 2, 1, nan], [nan, nan, nan, 2]])
    found = load("common").shared_distances(x)
    assert found[0].tolist() == [0.0, 0.5, 0.0]
    assert found[1, 2] == found[[0, 0], [1, 2]].mean()  # nothing in common


def test_components_put_back_a_matrix_of_low_rank(load):
    rng = np.random.default_rng(1)
    whole = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 12)) + 3
    seen = np.where(rng.random(whole.shape) < 0.2, np.nan, whole)
    found = load("restoration").restore(seen, 2, 500, rng)
    assert np.abs(found - whole)[np.isnan(seen)].max() < 0.05 * whole.std()


def test_methods_agree_where_there_is_one_answer(load):
    script = load("restoration")
    x = np.repeat(np.array([[0.0, 1, 0, 1, 0], [1, 0, 1, 0, 1]]), 4, axis=0)
    seen = x.copy()
    seen[0, 0] = seen[7, 1] = np.nan
    entries = np.argwhere(np.isnan(seen))
    tree = pal.Hierarchy.from_newick("((((0,1),2),3),(((4,5),6),7));").aligned_to(list("01234567"))
    distances = load("common").shared_distances(seen)
    answers = [script.by_tree(seen, entries, tree), script.by_neighbour(seen, entries, distances)]
    answers.append(script.by_coalescent(seen, entries, 0.5))
    assert [answer.tolist() for answer in answers] == [[0, 0]] * 3
    assert script.by_mode(seen, entries).tolist() == [1, 1]


def test_a_bridge_ends_where_it_should(load):
    times = np.linspace(-2.0, -1.0, 50)
    path = load("figure1").bridge(times, 0.5, 3.0, np.random.default_rng(0))
    np.testing.assert_allclose(path[[0, -1]], [0.5, 3.0])


def test_characteristic_words_are_more_frequent_inside(load):
    x = np.array([[1, 0, 1], [1, 0, 1], [0, 1, 1], [0, 1, 1.0]])
    assert load("words").characteristic(x, np.array([0, 1]), ["a", "b", "c"], 3) == ["a"]


def test_runs_of_capitals_are_cut_at_their_median(load):
    x = np.array([[0, 0.1, 1, 1, 1], [0.2, 0, 2, 2, 2], [0, 0, 3, 3, 3.0]])
    assert load("table1").binary(x).tolist() == [[0, 1, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 1, 1, 1]]
