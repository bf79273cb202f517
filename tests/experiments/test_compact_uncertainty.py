"""The experiment runs from the command line to its figures, and what it writes is right."""

from __future__ import annotations

import gzip
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest

matplotlib.use("agg")
import matplotlib.pyplot as plt

import palmette as pal

SCRIPT = Path(__file__).parents[2] / "experiments" / "compact_uncertainty" / "run.py"
FIGURES = {"figure2.png", "figure2_log.png", "figure3.png", "figures_4_and_5.png", "number_of_clusters.png"}
FILES = {*FIGURES, "results.txt"}
NAMES = ["$a_1$", "b, c", "d{e}", r"f\g", "100% h", "i", "é", "k_2", "l m"]


@pytest.fixture(scope="module")
def run():
    specification = importlib.util.spec_from_file_location("compact_uncertainty_run", SCRIPT)
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module  # dataclasses look their module up
    specification.loader.exec_module(module)
    yield module
    del sys.modules[specification.name]


def write_table(path, *, positive=False, classes=True, names=NAMES):
    """Three groups of three samples each, far apart; one value is missing."""
    rng = np.random.default_rng(0)
    values = np.repeat(rng.normal(scale=3, size=(3, 40)), 3, axis=0) + rng.normal(scale=0.5, size=(9, 40))
    cells = [[f"{x:.4f}" for x in row] for row in (np.exp(values) if positive else values)]
    cells[4][7] = ""
    groups = [["x", "y", "z"][row // 3] for row in range(9)]
    header = ["sample", *(["group"] if classes else []), *(f"gene {k}" for k in range(40))]
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    rows = [[quoted[row], *([groups[row]] if classes else []), *cells[row]] for row in range(9)]
    text = "\n".join(",".join(row) for row in [header, *rows]) + "\n"
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


def best_line(text):
    lines = text.splitlines()
    return lines[next(k for k, line in enumerate(lines) if line.startswith("The most probable")) + 1]


@pytest.mark.parametrize("how", ["here", pytest.param("as a command", marks=pytest.mark.slow)])
def test_the_script_runs_on_the_shipped_data(how, run, tmp_path, capsys):
    out = tmp_path / "out"
    arguments = ["--perturbations", "40", "--out", str(out)]
    if how == "here":
        run.main(arguments)
        printed = capsys.readouterr().out
    else:
        environment = os.environ | {"PYTHONIOENCODING": "utf-8"}
        command = [sys.executable, str(SCRIPT), *arguments]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment, check=False)
        assert done.returncode == 0, done.stderr
        printed = done.stdout
    assert {path.name for path in out.iterdir()} == FILES
    text = (out / "results.txt").read_text(encoding="utf-8")
    assert printed == text
    data = pal.datasets.load_numerals()
    mean = data.similarity[~np.eye(12, dtype=bool)].mean()
    post = pal.PartitionPosterior(pal.models.CorrelationClusters(data.similarity - mean, 20.0, labels=data.labels))
    assert f"log Z       {post.log_partition:.6f}\n" in text
    assert "partitions  4213597\n" in text
    assert best_line(text).startswith(
        f"  {np.exp(post.log_prob(post.map())):.6f}  {{French, Italian, Spanish, Romanian,"
    )
    assert "overestimates" in text


def test_a_table_with_classes_odd_names_and_a_missing_value(run, tmp_path, capsys):
    table = write_table(tmp_path / "table.csv.gz")
    plt.close("all")
    arguments = ["--data", str(table), "--samples", "9", "--perturbations", "10", "--out", str(tmp_path / "one")]
    run.main(arguments)
    printed = capsys.readouterr().out
    assert printed == (tmp_path / "one" / "results.txt").read_text(encoding="utf-8")
    assert r"{$a_1$, 'b, c', 'd{e}'} {f\g, 100% h, i} {é, k_2, l m}" in best_line(printed)
    assert "1 of 360 values, distances rescaled" in printed
    assert "not taken: not all values are positive" in printed
    assert "evenly over 3 classes" in printed
    run.main([*arguments[:-1], str(tmp_path / "two")])
    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name
    assert plt.get_fignums() == []


def test_positive_values_become_logarithms(run, tmp_path):
    logged = run.problem_from_table(write_table(tmp_path / "logged.csv"), "9", None, 0)
    raw = run.problem_from_table(write_table(tmp_path / "raw.csv", positive=True), "9", None, 0)
    assert ("logarithm", "taken: all values are positive") in raw.story
    np.testing.assert_allclose(raw.affinity, logged.affinity, atol=1e-2)  # up to the digits in the file


def test_a_number_can_be_added_before_the_logarithm(run, tmp_path):
    path = tmp_path / "counts.csv"
    path.write_text("sample,one,two\na,0,3\nb,1,5\nc,4,0\n", encoding="utf-8")
    problem = run.problem_from_table(path, "3", None, 0, 0.5)
    assert ("logarithm", "of values + 0.5") in problem.story
    apart = run.distances(np.log(np.array([[0, 3], [1, 5], [4, 0]]) + 0.5))
    similarity = np.exp(-apart / apart[np.triu_indices(3, 1)].mean())
    assert np.allclose(problem.affinity[0, 1] - problem.affinity[0, 2], similarity[0, 1] - similarity[0, 2])
    with pytest.raises(ValueError, match="logarithms of values \\+ 0 cannot be taken"):
        run.problem_from_table(path, "3", None, 0, 0.0)


def test_affinities_are_centred_and_do_not_underflow(run, tmp_path):
    problem = run.problem_from_table(write_table(tmp_path / "table.csv"), "9", None, 0)
    pairs = problem.affinity[np.triu_indices(9, 1)]
    assert pairs.mean() == pytest.approx(0.0, abs=1e-15)
    assert pairs.min() < -0.1
    assert pairs.max() > 0.1
    np.testing.assert_array_equal(problem.affinity, problem.affinity.T)


def test_distances_over_what_both_samples_have(run):
    values = np.array([[0.0, 0.0, np.nan, 1.0], [3.0, 4.0, 1.0, 1.0], [0.0, np.nan, 5.0, 1.0]])
    expected = [np.sqrt(25 * 4 / 3), 0.0, np.sqrt((9 + 16) * 4 / 3)]
    found = run.distances(values)
    np.testing.assert_allclose(found[[0, 0, 1], [1, 2, 2]], expected)
    with pytest.raises(ValueError, match="no gene in common"):
        run.distances(np.array([[np.nan, 1.0], [1.0, np.nan]]))


def test_samples_are_chosen_evenly_over_classes_or_by_name(run, tmp_path):
    table = run.read_table(write_table(tmp_path / "table.csv"))
    for number in (3, 4, 8):
        for seed in range(5):
            rows, _ = run.choose_samples(table, str(number), seed)
            counts = [[table.classes[row] for row in rows].count(group) for group in "xyz"]
            assert sum(counts) == number
            assert max(counts) - min(counts) <= 1
    assert run.choose_samples(table, "4", 1) == run.choose_samples(table, "4", 1)
    assert run.choose_samples(table, 'i,"b, c",é', 0)[0] == [5, 1, 6]
    table.classes[0] = ""
    rows, how = run.choose_samples(table, None, 0)
    assert 0 not in rows
    assert len(rows) == 8
    assert how.endswith("1 have no class")


def test_the_most_variable_genes_are_kept(run, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "N_GENES", 2)
    path = tmp_path / "table.csv"
    path.write_text("s,flat,steep,gone,steeper\na,0,0,,-10\nb,0,5,,10\nc,1,9,,20\n", encoding="utf-8")
    problem = run.problem_from_table(path, None, None, 0)
    assert ("genes", "the 2 of largest variance over these samples") in problem.story
    apart = np.sqrt([25 + 400, 81 + 900, 16 + 100])
    similar = np.exp(-apart / apart.mean())
    np.testing.assert_allclose(problem.affinity[[0, 0, 1], [1, 2, 2]], similar - similar.mean())


def test_the_column_of_classes_may_be_anywhere_or_missing(run, tmp_path):
    without = run.read_table(write_table(tmp_path / "without.csv", classes=False))
    assert without.classes is None
    assert without.values.shape == (9, 40)
    path = tmp_path / "last.csv"
    path.write_text("s,g1,g2,kind\na,1,2,u\nb,,nan,v\n", encoding="utf-8")
    table = run.read_table(path, "kind")
    assert table.classes == ["u", "v"]
    np.testing.assert_array_equal(table.values, [[1, 2], [np.nan, np.nan]])


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("s,g\na,1\nb,2\nc\n", [], "sample 3 has 1 cells"),
        ("s,k,g\na,u,1\nb,v,many\n", [], "'many' is no number"),
        ("s,g,h\na,1,2\nb,2,3\n", ["--classes-column", "kind"], "no column 'kind'"),
        ("s,g,h\na,1,2\nb,2,3\n", ["--samples", "a,z"], "no sample is called 'z'"),
        ("s,g,h\na,1,2\nb,2,3\n", ["--samples", "3"], "there are 2"),
        ("s,g,h\na,1,2\nb,1,2\n", [], "nothing to cluster"),
        ("s,g,h\na,1,2\na,2,3\n", [], "labels must be distinct"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(run, tmp_path, capsys, text, options, message):
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit):
        run.main(["--data", str(path), "--out", str(tmp_path / "out"), "--perturbations", "5", *options])
    assert message in capsys.readouterr().err


def test_surprising_pairs_come_with_the_leaf_that_explains_them(run):
    log_potentials = np.array([[0, -2, 8.0], [-2, 0, 7.0], [8, 7, 0]])
    model = pal.models.CorrelationClusters(log_potentials, labels=["u", "v", "w"])
    together = pal.PartitionPosterior(model).coclustering()
    text = run.report_pairs(model.labels, log_potentials, together)
    line = next(line for line in text.splitlines() if line.startswith("  u - v"))
    assert line.split() == ["u", "-", "v", "-2.0000", "0.1192", f"{together[0, 1]:.4f}", "w", "7.0000"]
    assert run.through(["u", "v", "w"], -log_potentials, 0, 1) == ["-", "-"]


def test_deviations_count_what_chance_does_not_explain(run):
    exact = np.array([[1, 0.5, 0.2], [0.5, 1, 0.9], [0.2, 0.9, 1]])
    shares = np.array([[1, 0.6, 0.2], [0.6, 1, 0.85], [0.2, 0.85, 1]])
    text = run.report_approximations({"some noise": shares}, exact, 1000)
    line = next(line for line in text.splitlines() if line.startswith("  some noise"))
    assert line.split() == ["some", "noise", "0.0500", "0.1000", "+0.0167", "1", "1"]
    assert text.endswith("overestimates by 0.0167")
    assert run.report_approximations({"": exact}, shares, 9).endswith("underestimates by 0.0167")
