"""More leaves than can be summed over: chains or a sparse trellis, said on stderr, and every number with its error."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest
from budget_cases import Clock
from cli_cases import DASGUPTA, WORLDS, rows_of

import palmette as pal
from palmette.budget import Budget
from palmette.cli.asking.evidence import estimated_evidence
from palmette.defaults import Defaults
from palmette.evidence import Comparison
from palmette.sampling import SampledPosterior


def test_too_many_leaves_go_on_with_a_sparse_trellis_and_say_so(run, as_json):
    words = ("hierarchies", *WORLDS, *DASGUPTA, "--exact-leaves", 8, "--beyond", "sparse", "--coverage")
    code, out, err = run(*words)
    assert code == 0
    assert "12 leaves are more than the 8" in err
    assert "given that the hierarchy is in it" in err
    assert all(line.startswith("Note: ") for line in err.splitlines())
    assert "(a lower bound)" in out
    assert "The trellis misses" in out
    sparse, full = as_json(*words), as_json("hierarchies", *WORLDS, *DASGUPTA)
    assert (sparse["exact"], full["exact"]) == (False, True)
    assert sparse["trellis"]["kind"] == "sparse"
    assert sparse["log_partition"] <= full["log_partition"]
    missed = -math.expm1(sparse["log_partition"] - full["log_partition"])
    assert sparse["missed"]["value"] == pytest.approx(missed, abs=1e-9)
    assert sparse["best"][0]["newick"].count("(") == 11


def test_an_average_over_parameters_misses_nothing(as_json):
    found = as_json("hierarchies", *WORLDS, "--coverage")
    assert found["missed"] == {"value": 0.0, "kind": "exact", "standard_error": 0.0}


def test_what_a_large_sparse_trellis_misses_is_told_by_chains(run, as_json, monkeypatch):
    monkeypatch.setattr("palmette.models.split_model.DEFAULTS", Defaults(separable_leaves=8))
    sums = ("hierarchies", *WORLDS, *DASGUPTA)
    words = (*sums, "--exact-leaves", 8, "--beyond", "sparse", "--coverage", "--sweeps")
    code, out, _ = run(*words, 100)
    assert code == 0
    assert re.search(r"The trellis misses \d+\.\d\d % \(± \d\.\d\d %\) of the posterior", out)
    sparse, full = as_json(*words, 400), as_json(*sums, "--exact-leaves", 12)
    missed, exact = sparse["missed"], -math.expm1(sparse["log_partition"] - full["log_partition"])
    assert missed["kind"] == "estimate"
    assert abs(missed["value"] - exact) < 4 * missed["standard_error"]


def test_too_many_leaves_are_sampled_and_every_number_has_an_error(run, as_json, folder):
    words = ("hierarchies", *WORLDS, *DASGUPTA, "--exact-leaves", 8, "--sweeps")
    code, out, err = run(*words, 40, "--report", "sampled.html", "--table", "sampled.csv", "--newick", "sampled.nwk")
    assert code == 0
    assert "going on with Markov chains for 40 sweeps at most" in err
    assert "Sampled, " in out
    assert " ± " in out
    assert "log Z" not in out
    found, exact = as_json(*words, 400, "--draws", 2), as_json("hierarchies", *WORLDS, *DASGUPTA)
    assert found["exact"] is False
    assert found["sampled"]["n_chains"] == 6
    assert len(found["draws"]) == 2
    known = {tuple(row["members"]): row["probability"] for row in exact["clusters"]}
    for row in found["clusters"][:10]:
        assert abs(row["probability"] - known[tuple(row["members"])]) < 6 * row["standard_error"]
    page = (folder / "sampled.html").read_text(encoding="utf-8")
    assert "exact" not in page.partition("<main>")[2].partition("provenance")[0]
    assert "Certain" not in page
    assert rows_of(folder / "sampled.csv")[0].keys() == {"members", "size", "probability", "standard_error"}
    assert pal.Hierarchy.from_newick((folder / "sampled.nwk").read_text(encoding="utf-8")).n_leaves == 12


def test_too_little_memory_does_the_same(run):
    code, _, err = run("hierarchies", *WORLDS, *DASGUPTA, "--max-memory", "100K", "--beyond", "sparse")
    assert code == 0
    assert "100 KB are allowed; going on with a sparse trellis" in err
    code, _, err = run(
        "hierarchies", *WORLDS, *DASGUPTA, "--max-memory", "300K", "--beyond", "sparse"
    )  # enough for log Z, not for probabilities
    assert code == 0
    assert "more memory than is allowed; going on with a sparse trellis" in err


def test_a_sparse_trellis_has_a_temperature_too(as_json):
    found = as_json("hierarchies", *WORLDS, *DASGUPTA, "--exact-leaves", 8, "--beyond", "sparse", "--perplexity", 30)
    assert found["perplexity"] == pytest.approx(30, rel=1e-3)


@pytest.mark.parametrize("model", ["correlation", "dirichlet-process"])
def test_many_leaves_in_partitions(model, run, as_json, folder):
    x = np.random.default_rng(2).normal(size=(30, 2)) + np.repeat([[0, 0], [5, 5], [0, 9]], 10, axis=0)
    (folder / "many.csv").write_text("\n".join(["x,y", *(f"{a},{b}" for a, b in x)]), encoding="utf-8")
    words = ("partitions", "many.csv", "--model", model)
    code, out, err = run(*words, "--beyond", "sparse")
    assert code == 0
    assert "30 leaves are more than the 22" in err
    assert "given that the partition is made of them" in err
    assert "How many clusters?" in out
    assert as_json(*words, "--beyond", "sparse")["trellis"]["kind"] == "sparse"
    code, out, err = run(*words, "--sweeps", 40)
    assert code == 0
    assert "30 leaves are more than the 22 up to which everything is summed over; going on with Markov chains" in err
    assert any(line.startswith("Sampled, ") for line in out.splitlines()[2:5])
    assert out.index("How many clusters?") < out.index(" ± ", out.index("How many clusters?"))
    assert "log Z" not in out
    found = as_json(*words, "--sweeps", 40)
    assert found["sampled"]["n_chains"] == 6
    assert sum(found["n_clusters_probabilities"]) == pytest.approx(1.0)


def test_sampled_partitions_are_near_the_exact_ones_in_every_form(run, as_json, folder):
    words = ("partitions", *WORLDS, "--concentration", 1, "--within", 0.25)
    files = ("--table", "t.csv", "--membership", "m.csv", "--plot", "p.png", "--report", "r.html")
    sampled = (*words, "--exact-leaves", 8, "--sweeps", 300)
    code, out, err = run(*sampled, *files)
    assert code == 0
    assert "going on with Markov chains for 300 sweeps at most" in err
    assert "The most probable partition that was drawn" in out
    found, exact = as_json(*sampled, "--draws", 2), as_json(*words)
    assert found["exact"] is False
    assert not {"log_partition", "log_evidence", "entropy", "trellis"} & found.keys()
    assert [row.keys() for row in found["draws"]] == 2 * [{"membership", "clusters"}]
    assert found["best"][0]["membership"] == exact["best"][0]["membership"]
    known = {tuple(row["members"]): row["probability"] for row in exact["clusters"]}
    for row in found["clusters"][:10]:
        assert abs(row["probability"] - known[tuple(row["members"])]) < 6 * row["standard_error"]
    numbers = (found[name] for name in ("n_clusters_probabilities", "n_clusters_errors"))
    for share, error, right in zip(*numbers, exact["n_clusters_probabilities"], strict=True):
        assert abs(share - right) <= 6 * error
    assert rows_of(folder / "t.csv")[0].keys() == {"members", "size", "probability", "standard_error"}
    membership = [int(row["cluster"]) - 1 for row in rows_of(folder / "m.csv")]
    assert membership == found["best"][0]["membership"]
    assert (folder / "p.png").stat().st_size > 0
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert "log Z" not in page
    assert "exact" not in page.partition("<main>")[2].partition("provenance")[0]


@pytest.mark.parametrize(("option", "value"), [("--perplexity", 20), ("--clusters", 3)])
def test_partitions_that_chains_cannot_draw_stay_sparse_and_say_so(option, value, run, as_json):
    words = ("partitions", *WORLDS, "--model", "correlation", "--exact-leaves", 8, option, value)
    code, out, err = run(*words)
    assert code == 0
    assert f"going on with partitions into chosen clusters, since with {option} they are not sampled" in err
    assert "(a lower bound)" in out
    assert as_json(*words)["trellis"]["kind"] == "sparse"


@pytest.fixture
def few(folder):
    x = np.random.default_rng(3).normal(size=(9, 2)) + np.repeat([[0, 0], [8, 8]], [4, 5], axis=0)
    (folder / "few.csv").write_text("\n".join(["x,y", *(f"{a:.3f},{b:.3f}" for a, b in x)]), encoding="utf-8")
    return "few.csv"


@pytest.mark.filterwarnings("ignore:parameters are those after")
def test_evidence_that_there_was_no_time_for_is_said_to_be_missing(run, few):
    words = ("hierarchies", few, "--exact-leaves", 8, "--seconds", 0)
    code, out, _ = run(*words)
    assert code == 0
    assert out.startswith("Evidence not computed: give it more seconds (--seconds).\n")
    code, out, _ = run(*words, "--json", "--quiet")
    found = json.loads(out)
    assert (found["structure"], found["sampled"]["agree"]) == (None, False)


def test_evidence_of_chains_by_sweeps_takes_no_time_and_is_null(as_json, few):
    assert as_json("hierarchies", few, "--exact-leaves", 8, "--sweeps", 8)["structure"] is None


def test_a_fifth_of_the_seconds_is_kept_for_the_evidence(monkeypatch, run, few):
    clock, asked = Clock(monkeypatch), []
    anneal, infer = SampledPosterior.anneal, pal.evidence.posterior

    def inferred(model, *, seconds, **options):
        asked.append(seconds)
        clock.time += seconds + 4.0  # it took a little longer
        return infer(model, **options | {"sweeps": 100})

    def annealed(post, *, seconds):
        asked.append(seconds)
        return anneal(post, seconds=None)

    monkeypatch.setattr(pal.evidence, "posterior", inferred)
    monkeypatch.setattr(SampledPosterior, "anneal", annealed)
    code, out, _ = run("hierarchies", few, "--exact-leaves", 8, "--seconds", 50)
    assert (code, asked) == (0, [40.0, 6.0])
    assert re.match(r"These data .*log Bayes factor \+[\d.]+ ± [\d.]+", " ".join(out.split()))


@pytest.mark.parametrize(("value", "error", "is_told"), [(40.0, 9.0, True), (40.0, 11.0, False), (-60.0, 0.9, True)])
def test_evidence_with_an_error_as_large_as_itself_is_not_told(value, error, is_told, monkeypatch):
    model = pal.models.Contrasts([[0.0], [1.0], [5.0]])
    post = pal.sampling.sample_hierarchies(model, seconds=None, sweeps=8, progress=False)
    compared = Comparison(value, 0.0, standard_error=error)
    monkeypatch.setattr(pal.evidence, "compare", lambda *_, **__: compared)
    found, said = estimated_evidence(post, Budget(None))
    assert (found is compared) is is_told
    assert said == str(compared) if is_told else "its error is 11 nats: give it more seconds" in said


def test_coverage_has_what_growing_has_left(monkeypatch, run):
    clock, asked = Clock(monkeypatch), []
    monkeypatch.setattr(pal.search, "posterior", clock.after(pal.search.posterior, 20.0))
    uncovered = pal.search.uncovered

    def noted(posterior, *, seconds, **options):
        asked.append(seconds)
        return uncovered(posterior, **options)

    monkeypatch.setattr(pal.search, "uncovered", noted)
    words = ("--exact-leaves", 8, "--beyond", "sparse", "--coverage", "--seconds", 50)
    assert run("hierarchies", *WORLDS, *DASGUPTA, *words)[0] == 0
    assert asked == [30.0]
