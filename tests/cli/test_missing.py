"""--missing: what is done about gaps is what palmette.similarity does, and it is said."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pandas as pd
import pytest

import palmette as pal

GAPS = ("gaps.csv", "--class", "kind")


@pytest.fixture
def values(folder):
    """The numbers of gaps.csv."""
    return pd.read_csv(folder / "gaps.csv").iloc[:, 2:].to_numpy()


def clusters(out):
    return {tuple(row["members"]): row["probability"] for row in json.loads(out)["clusters"]}


def test_costs_compare_rows_over_the_columns_that_both_have(run, values):
    words = ("hierarchies", *GAPS, "--model", "dasgupta")
    code, out, err = run(*words)
    shared = pal.similarity.overlaps(values)
    least, missing = shared[~np.eye(12, dtype=bool)].min(), np.isnan(values).sum()
    assert code == 0
    assert f"Note: {missing} of {values.size} values" in err
    assert f"the columns that both have, {least} or more of 3" in err
    assert f"{missing} of {values.size} values missing, rows compared over {least} or more of 3" in " ".join(
        out.split()
    )
    code, out, err = run(*words, "--json", "--quiet", "--min-probability", "0.1")
    assert (code, err) == (0, "")
    told = {"way": "pairwise", "n_missing": missing, "n_columns_left_out": 0, "smallest_overlap": least}
    assert json.loads(out)["missing"] == told
    similarity = pal.similarity.of_points(pal.similarity.standardised(values), missing="pairwise")
    post = pal.HierarchyPosterior(pal.models.Dasgupta(similarity, labels=json.loads(out)["labels"]))
    for members, probability in clusters(out).items():
        assert probability == pytest.approx(post.cluster_probability(members))
    assert run(*words, "--missing", "pairwise", "--json", "--quiet", "--min-probability", "0.1")[1] == out


@pytest.mark.parametrize(
    "command", ["hierarchies --model sum-of-squares", "partitions --model correlation", "partitions", "ultrametric"]
)
def test_means_stand_in_and_columns_go(command, run, folder, values):
    words = command.split()
    rows = pd.read_csv(folder / "gaps.csv")
    standard = pal.similarity.standardised(values)
    rows.iloc[:, 2:] = pal.similarity.completed(standard, "mean")
    rows.to_csv(folder / "filled.csv", index=False)
    code, out, err = run(*words, *GAPS, "--missing", "mean", "--json")
    assert code == 0
    assert "the mean of its column stands in for each" in err
    assert "misses most" in err
    plain = run(*words, "filled.csv", "--class", "kind", "--no-standardise", "--json")
    assert told(out) == told(plain[1])
    assert json.loads(out)["missing"]["way"] == "mean"
    rows = pd.read_csv(folder / "gaps.csv")
    rows["extra"] = np.arange(12.0) ** 2
    rows.to_csv(folder / "extra.csv", index=False)
    rows[["name", "kind", *rows.columns[2:][rows.iloc[:, 2:].notna().all()]]].to_csv(folder / "few.csv", index=False)
    code, out, err = run(*words, "extra.csv", "--class", "kind", "--missing", "drop-columns", "--json")
    n_left_out = json.loads(out)["missing"]["n_columns_left_out"]
    assert f"Note: {n_left_out} of 4 columns have missing values and are left out." in err
    plain = run(*words, "few.csv", "--class", "kind", "--json")
    assert told(out) == told(plain[1])
    assert json.loads(plain[1])["missing"] is None


def told(out):
    found = json.loads(out)
    numbers = [row.get("probability", row.get("height")) for row in found["clusters"]]
    return [row["members"] for row in found["clusters"]], [round(number, 8) for number in numbers]


def test_an_ultrametric_is_that_of_the_distances(run, values):
    code, out, _ = run("ultrametric", *GAPS, "--neighbours", "3", "--json")
    assert code == 0
    between = pal.similarity.distances(pal.similarity.standardised(values), missing="pairwise")
    fitted = pal.ultrametric.fit(
        pal.ultrametric.Graph.from_distances(between, 3), pal.ultrametric.Closest(), start=("weights", "average")
    )
    assert json.loads(out)["loss"] == pytest.approx(fitted.best_loss)


def test_a_dirichlet_process_knows_gaps(run):
    words = ("partitions", *GAPS, "--json")
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert json.loads(out)["missing"]["way"] == "model"
    assert json.loads(run(*words, "--missing", "mean")[1])["missing"]["way"] == "mean"


def test_a_column_without_a_value_is_left_out_and_a_row_is_named(run, folder):
    (folder / "empty.csv").write_text("name,x,y,z\na,1,,2\nb,2,,\nc,4,,3\n", encoding="utf-8")
    code, out, _ = run("hierarchies", "empty.csv", "--missing", "mean", "--json")
    assert (code, json.loads(out)["missing"]["n_columns_left_out"]) == (0, 1)
    (folder / "row.csv").write_text("name,x,y\na,1,2\nb,,\nc,4,3\n", encoding="utf-8")
    code, _, err = run("hierarchies", "row.csv", "--missing", "mean")
    assert (code, "line 3 ('b') has no value at all" in err) == (2, True)
    code, _, err = run("hierarchies", "row.csv", "--model", "dasgupta")
    assert (code, "rows 'a' and 'b' share no columns" in err) == (2, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("hierarchies gaps.csv --class kind", "add --missing mean (the mean of the column stands in)"),
        ("hierarchies gaps.csv --class kind", "or --model dasgupta"),
        ("hierarchies gaps.csv --class kind", "and shares, the model unless --model names another, needs"),
        ("hierarchies gaps.csv --class kind --missing pairwise", "needs the points themselves; say --missing mean"),
        ("hierarchies gaps.csv --class kind --model dasgupta --missing refuse", "add --missing pairwise"),
        ("partitions gaps.csv --class kind --missing refuse --model dirichlet-process", "add --missing mean"),
        ("partitions gaps.csv --class kind --missing pairwise --model dirichlet-process", "say --missing mean"),
        ("hierarchies distances.csv --precomputed distance --missing mean", "a distance matrix has no gaps"),
        ("hierarchies all.csv --missing drop-columns", "no column is left"),
    ],
)
def test_what_cannot_be_is_one_line_with_what_to_say(words, message, run, folder):
    (folder / "all.csv").write_text("name,x,y\na,1,\nb,,2\nc,4,3\n", encoding="utf-8")
    code, out, err = run(*shlex.split(words))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
