"""The commands for jets, as a person types them."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import palmette as pal
from palmette.cli import palmette

pytest.importorskip("pyarrow")


def invoke(*arguments):
    done = CliRunner().invoke(palmette, [str(argument) for argument in arguments])
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture(scope="module")
def parquet(tmp_path_factory):
    path = tmp_path_factory.mktemp("jets") / "jets.parquet"
    code, out, _ = invoke("jets", "simulate", 40, path, "--max-leaves", 7, "--seed", 3)
    assert code == 0
    assert out == f"40 jets in {path}\n"
    return path


def test_simulated_files_hold_what_the_library_simulates(parquet, tmp_path):
    jets = pal.simulate.ginkgo(40, max_leaves=7, rng=3)
    read = pal.jets.read(parquet)
    np.testing.assert_array_equal(read.momenta, jets.momenta)
    np.testing.assert_array_equal(read.children, jets.children)
    assert read.law == jets.law
    assert invoke("jets", "simulate", 40, tmp_path / "jets.csv", "--max-leaves", 7, "--seed", 3)[0] == 0
    np.testing.assert_array_equal(pal.jets.read(tmp_path / "jets.csv").momenta, jets.momenta)


def test_many_jets_are_simulated_a_few_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules["palmette.cli.commands.jets"], "_AT_A_TIME", 7)
    assert invoke("jets", "simulate", 20, tmp_path / "jets.parquet")[0] == 0
    np.testing.assert_array_equal(
        pal.jets.read(tmp_path / "jets.parquet").momenta, pal.simulate.ginkgo(20, rng=0).momenta
    )


def test_infer_writes_the_table_of_the_library(parquet, tmp_path):
    arguments = ("jets", "infer", parquet, tmp_path / "run", "--search", "greedy", "--draws", 2, "--seed", 1, "--quiet")
    code, out, err = invoke(*arguments)
    assert (code, err) == (0, "")
    assert out == f"40 jets in 1 parts in {tmp_path / 'run'}; 0 have errors\n"
    known = pal.jets.infer(pal.jets.read(parquet), rate=1.5, t_cut=16.0, searches=["greedy"], n_draws=2, seed=1)
    assert pal.batch.Results(tmp_path / "run").table().equals(known)
    code, out, _ = invoke(*arguments, "--json")
    counts = {"jets": 40, "sampled": 0, "sparse": 0, "impossible": 0, "errors": 0, "first_errors": {}}
    assert json.loads(out) == {"folder": str(tmp_path / "run"), **counts}
    code, _, err = invoke(*arguments, "--seed", 2)
    assert code == 2
    assert err.startswith("Error: ")


def test_larger_jets_are_sampled_and_said_to_be(tmp_path):
    path, limits = tmp_path / "jets.parquet", ("--exact-leaves", 3, "--sweeps", 8, "--quiet")
    pal.jets.write(pal.simulate.ginkgo(2, min_leaves=5, max_leaves=6, rng=0), path)
    code, out, _ = invoke("jets", "infer", path, tmp_path / "run", *limits)
    assert code == 0
    assert out.endswith("; 0 have errors; 2 were sampled, not summed over\n")
    assert pal.batch.Results(tmp_path / "run").table()["kind"].to_pylist() == ["sampled"] * 2
    assert json.loads(invoke("jets", "infer", path, tmp_path / "run", *limits, "--json")[1])["sampled"] == 2


def test_files_of_w_jets_are_scored_with_the_rate_of_their_root(tmp_path):
    path = tmp_path / "jets.parquet"
    jets = pal.simulate.ginkgo(5, preset="w", max_leaves=8, rng=0)
    pal.jets.write(jets, path)
    assert invoke("jets", "infer", path, tmp_path / "run", "--quiet")[0] == 0
    found = pal.batch.Results(tmp_path / "run").table()["log_partition"].to_pylist()
    assert found == pal.jets.infer(jets, rate=1.5, root_rate=3.0, t_cut=16.0)["log_partition"].to_pylist()
    assert found != pal.jets.infer(jets, rate=1.5, t_cut=16.0)["log_partition"].to_pylist()


def test_errors_are_counted_by_kind(tmp_path):
    rows = ["jet,E,px,py,pz", "0,5,3,0,0", "0,5,-3,0,0", "1,5,nan,0,0", "2,5,9,0,0", "3,nan,0,0,0"]
    (tmp_path / "jets.csv").write_text("\n".join(rows) + "\n")
    code, out, _ = invoke("jets", "infer", tmp_path / "jets.csv", tmp_path / "run", "--rate", 1.5, "--t-cut", 16)
    assert code == 0
    assert "4 jets" in out
    assert "3 have errors" in out
    assert "2 × a particle is not finite" in out


def test_impossible_jets_are_counted_and_said_why(parquet, tmp_path):
    options = ("--likelihood", "density", "--t-cut", 9, "--quiet")
    code, out, _ = invoke("jets", "infer", parquet, tmp_path / "run", *options)
    assert code == 0
    known = pal.jets.infer(parquet, rate=1.5, t_cut=9.0, likelihood="density")["log_partition"].to_pylist()
    number = known.count(-np.inf)
    assert number > 10
    assert f"\n  {number} are impossible (log Z = −inf): a particle is heavier than t_cut, or no history" in out
    assert json.loads(invoke("jets", "infer", parquet, tmp_path / "run", *options, "--json")[1])["impossible"] == number


def test_the_geometry_of_sequential_recombination(parquet, tmp_path):
    pytest.importorskip("fastjet")
    for geometry in ("pp", "ee"):
        options = ("--search", "kt", "--geometry", geometry, "--quiet")
        assert invoke("jets", "infer", parquet, tmp_path / geometry, *options)[0] == 0
    known = pal.jets.infer(parquet, rate=1.5, t_cut=16.0, searches=["kt"], geometry="ee")["kt"].to_pylist()
    assert pal.batch.Results(tmp_path / "ee").table()["kt"].to_pylist() == known
    assert pal.batch.Results(tmp_path / "pp").table()["kt"].to_pylist() != known


def test_compare_prints_a_row_for_each_kind_of_history(parquet, tmp_path):
    options = ("--search", "greedy", "--search", "beam")
    code, out, _ = invoke("jets", "compare", parquet, *options)
    assert code == 0
    lines = out.splitlines()
    assert [line.split()[0] for line in lines] == ["history", "map", "greedy", "beam", "true"]
    assert len({len(line) for line in lines}) == 1
    code, out, _ = invoke("jets", "compare", parquet, *options, "--json", "--folder", tmp_path / "run")
    rows = {row["method"]: row for row in json.loads(out)}
    assert rows["map"]["behind_map"] == 0.0
    assert rows["true"]["true_clusters"] == 1.0
    assert rows["greedy"]["behind_map"] >= rows["beam"]["behind_map"] >= 0.0
    code, again, _ = invoke("jets", "compare", tmp_path / "run", "--json")
    assert json.loads(again) == json.loads(out)


def test_json_has_no_nan(tmp_path):
    jets = pal.simulate.ginkgo(3, rng=0, max_leaves=5)
    pal.jets.write(pal.jets.Jets(jets.momenta, jets.offsets), tmp_path / "jets.parquet")
    arguments = (tmp_path / "jets.parquet", "--rate", 1.5, "--t-cut", 16, "--search", "greedy", "--json")
    code, out, _ = invoke("jets", "compare", *arguments)
    assert code == 0
    assert "NaN" not in out
    assert json.loads(out)[0]["true_clusters"] is None


@pytest.mark.slow
def test_sequential_recombination_prints_nothing_of_its_own(parquet):
    pytest.importorskip("fastjet")
    command = [sys.executable, "-m", "palmette", "jets", "compare", str(parquet), "--search", "kt", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert [row["method"] for row in json.loads(done.stdout)] == ["map", "kt", "true"]


def test_fit_says_what_the_library_finds(parquet, tmp_path):
    known = pal.jets.fit_shower(parquet)
    code, out, err = invoke("jets", "fit", parquet, "--quiet")
    assert (code, err) == (0, "")
    first, rate, cut = out.splitlines()
    assert first == f"40 jets of 1 to 7 particles; log likelihood {known.log_likelihood:.3f}"
    low, high = known.intervals["rate"]
    assert rate == f"rate       {known.law['rate']:.5g}  ({low:.5g} to {high:.5g}, 95 %)"
    assert cut.startswith("t_cut ")
    assert cut.endswith(", 95 %, above the heaviest particle)")
    record = json.loads(invoke("jets", "fit", parquet, "--t-cut", 16, "--root-rate", "fit", "--json")[1])
    assert list(record["intervals"]) == ["rate", "root_rate"]
    assert record["leaves"] == [1, 7]
    with pytest.warns(UserWarning, match="more than 5 particles"):
        code, out, _ = invoke("jets", "fit", parquet, "--max-leaves", 5, "--t-cut", 16, "--root-rate", 1.5)
    assert code == 0
    assert "of 1 to 5 particles" in out
    for wrong, words in ((("--t-cut", 9), "impossible with t_cut = 9"), (("--root-rate", "x"), "not a valid float")):
        code, _, err = invoke("jets", "fit", parquet, *wrong)
        assert code == 2
        assert words in err


def test_wrong_commands_say_what_is_wrong(parquet, tmp_path):
    code, _, err = invoke("jets", "infer", tmp_path / "none.parquet", tmp_path / "run")
    assert code == 2
    assert "does not exist" in err
    (tmp_path / "jets.csv").write_text("jet,E,px,py,pz\n0,5,3,0,0\n")
    code, _, err = invoke("jets", "infer", tmp_path / "jets.csv", tmp_path / "run")
    assert code == 2
    assert "give --rate" in err
    code, _, err = invoke("jets", "infer", parquet, tmp_path / "run", "--workers", 2, "--dask", "tcp://x:1")
    assert code == 2
    assert "not both" in err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--version"], 0, ""),
        (["jets", "simulate", "1", "jets.root"], 2, "Error: jets.root"),
        (["jets", "simulate", "x", "jets.csv"], 2, "Error: Invalid value"),
        (["nothing"], 2, "No such command"),
    ],
)
def test_exit_codes(tmp_path, monkeypatch, arguments, code, words):
    monkeypatch.chdir(tmp_path)
    found, _, err = invoke(*arguments)
    assert found == code
    assert words in err
    assert "Traceback" not in err


@pytest.mark.parametrize("name", ["simulate", "infer", "compare", "fit"])
def test_examples_in_the_help_run(name, parquet, tmp_path, monkeypatch):
    done = CliRunner().invoke(palmette, ["jets", name, "--help"])
    assert done.exit_code == 0
    (example,) = [line.split() for line in done.stdout.splitlines() if line.strip().startswith("palmette ")]
    monkeypatch.chdir(tmp_path)
    pal.jets.write(pal.jets.read(parquet), "jets.parquet")
    assert invoke(*("50" if word == "5000" else word for word in example[1:]))[0] == 0
