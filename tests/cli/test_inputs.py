"""Tables in all the forms that people keep them in are the same table."""

from __future__ import annotations

import numpy as np
import pytest

from palmette.cli.reading.cells import is_missing, is_number
from palmette.cli.reading.columns import as_matrix, choose_columns
from palmette.cli.reading.tables import read_table

ROWS = [["name", "x", "y"], ["a b", "1", "-2.5"], ["c", "3e2", "0"]]
SAME = {
    "plain.csv": b"name,x,y\na b,1,-2.5\nc,3e2,0\n",
    "crlf.csv": b"name,x,y\r\na b,1,-2.5\r\nc,3e2,0\r\n",
    "bom.csv": b"\xef\xbb\xbfname,x,y\na b,1,-2.5\nc,3e2,0\n",
    "quoted.csv": b'"name","x","y"\n"a b","1","-2.5"\n"c","3e2","0"\n',
    "semicolons.csv": b"name;x;y\na b;1;-2.5\nc;3e2;0\n",
    "spaces.csv": b"name, x, y\n\na b, 1, -2.5\nc, 3e2, 0\n\n",
    "tabs.tsv": b"name\tx\ty\na b\t1\t-2.5\nc\t3e2\t0\n",
    "tabs.txt": b"name\tx\ty\na b\t1\t-2.5\nc\t3e2\t0",
    "utf16.csv": "name,x,y\na b,1,-2.5\nc,3e2,0\n".encode("utf-16"),
}


def read(tmp_path, contents, name="table.csv", **options):
    (tmp_path / name).write_bytes(contents.encode() if isinstance(contents, str) else contents)
    return read_table(str(tmp_path / name), **options)


@pytest.mark.parametrize("name", SAME)
def test_all_forms_give_the_same_table(name, tmp_path):
    leaves = choose_columns(read(tmp_path, SAME[name], name))
    assert leaves.labels == ("a b", "c")
    assert leaves.variables == ("x", "y")
    np.testing.assert_array_equal(leaves.values, [[1.0, -2.5], [300.0, 0.0]])


def test_parquet_is_the_same_table(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    values = np.random.default_rng(0).normal(size=5)
    columns = {"name": list("abcde"), "x": values, "n": [1, 2, None, 4, 5], "flag": [True, False, True, None, True]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "table.parquet")
    leaves = choose_columns(read_table(str(tmp_path / "table.parquet")))
    assert leaves.labels == ("a", "b", "c", "d", "e")
    np.testing.assert_array_equal(leaves.values[:, 0], values)
    np.testing.assert_array_equal(leaves.values[:, 1], [1, 2, np.nan, 4, 5])
    np.testing.assert_array_equal(leaves.values[:, 2], [1, 0, 1, np.nan, 1])
    assert leaves.table.places[2] == "row 3"


def test_a_field_may_hold_line_breaks_and_lines_are_counted_in_the_file(tmp_path):
    table = read(tmp_path, 'name,x\n"a\nb",1\n\nc,2\n')
    assert table.rows == [["a\nb", "1"], ["c", "2"]]
    assert table.places == ["line 2", "line 5"]


def test_the_label_column_is_the_first_if_it_is_text(tmp_path):
    numbers = read(tmp_path, "id,x\n7,1\n8,2\n")
    assert choose_columns(numbers).labels == ("1", "2")
    assert choose_columns(numbers).variables == ("id", "x")
    assert choose_columns(numbers, label="id").labels == ("7", "8")
    assert choose_columns(numbers, label="1").labels == ("7", "8")
    words = read(tmp_path, "kind,name,x,y\nu,a,1,2\nv,b,2,3\n")
    leaves = choose_columns(words, label="name", class_column="kind", ignored=["4"])
    assert (leaves.labels, leaves.classes, leaves.variables) == (("a", "b"), ("u", "v"), ("x",))
    gaps = read(tmp_path, "name,kind,x\na,u,1\nb,,2\nc,NA,3\n")
    assert choose_columns(gaps, class_column="kind").classes == ("u", None, None)


def test_a_column_called_by_a_number_goes_before_the_number_of_a_column(tmp_path):
    table = read(tmp_path, "name,2,1\na,5,6\nb,7,8\n", header=True)
    assert choose_columns(table, ignored=["1"]).variables == ("2",)


def test_headers_are_recognised(tmp_path):
    assert read(tmp_path, "1,2\n3,4\n").columns is None
    assert read(tmp_path, "x,y\n3,4\n").columns == ("x", "y")
    assert read(tmp_path, "name,1990,2000\na,one,two\n").columns == ("name", "1990", "2000")
    assert read(tmp_path, "a,1\nb,2\n", header=False).columns is None
    assert read(tmp_path, "a,1\nb,2\n", header=True).columns == ("a", "1")


@pytest.mark.parametrize("cell", ["", " ", "NA", "nan", "NaN", "?", "n/a", "NULL"])
def test_missing_values(cell, tmp_path):
    assert is_missing(cell)
    assert not is_number(cell)
    leaves = choose_columns(read(tmp_path, f"name,x,y\na,1,2\nb,{cell},3\n"))
    np.testing.assert_array_equal(leaves.values, [[1, 2], [np.nan, 3]])


MATRICES = {
    "no names": "0,1,2\n1,0,3\n2,3,0\n",
    "names on top": "a,b,c\n0,1,2\n1,0,3\n2,3,0\n",
    "names at the side": "a,0,1,2\nb,1,0,3\nc,2,3,0\n",
    "names on both": ",a,b,c\na,0,1,2\nb,1,0,3\nc,2,3,0\n",
    "columns in another order": "name,c,a,b\na,2,0,1\nb,3,1,0\nc,0,2,3\n",
    "numbers as names": "1,2,3\n0,1,2\n1,0,3\n2,3,0\n",
    "empty diagonal": "a,b,c\n,1,2\n1,,3\n2,3,\n",
    "spaces": "0 1  2\n1 0  3\n2 3  0\n",
}


@pytest.mark.parametrize("name", MATRICES)
def test_matrices_with_and_without_names(name, tmp_path):
    leaves = as_matrix(choose_columns(read(tmp_path, MATRICES[name], square=True)), "distance")
    np.testing.assert_array_equal(leaves.values, [[0, 1, 2], [1, 0, 3], [2, 3, 0]])
    assert leaves.labels == (("1", "2", "3") if name in ("no names", "numbers as names", "spaces") else ("a", "b", "c"))


def test_one_row_is_a_table(tmp_path):
    leaves = choose_columns(read(tmp_path, "name,x\na,1\n"))
    assert leaves.labels == ("a",)


def test_columns_that_name_rows_are_no_characters(run, folder):
    rows = [
        f"id{i},Name {'ABCDEF'[i]},{'xy'[i % 2]}," + ",".join(str((i >> j) & 1) for j in range(6)) for i in range(6)
    ]
    text = "\n".join(["id,name,group,a,b,c,d,e,f", *rows]) + "\n"
    (folder / "named.csv").write_text(text, encoding="utf-8")
    code, out, err = run("coalescent", "named.csv", "--process", "sites", "--rate", 1, "--particles", 400)
    assert code == 0
    assert "column 'name' has another word in every row, so it is taken for a name and left out" in err
    assert "column 'group' holds words, and nearly all other columns numbers" in err
    assert "named.csv: group, a, b, c, d, e and 1 more" in out
    quiet = run(
        "coalescent",
        "named.csv",
        "--process",
        "sites",
        "--rate",
        1,
        "--particles",
        400,
        "--class",
        "group",
        "--label",
        "name",
        "--ignore",
        "id",
    )
    assert (quiet[0], "holds words" in quiet[2], "named.csv: a, b, c, d, e, f; 2 classes" in quiet[1]) == (
        0,
        False,
        True,
    )


def test_a_constant_column_is_named_and_left_out(run, folder):
    (folder / "constant.csv").write_text("name,x,c,y\na,1,5,2\nb,2,5,1\nc,4,5,\nd,7,,3\n", encoding="utf-8")
    (folder / "told.csv").write_text("name,x,y\na,1,2\nb,2,1\nc,4,\nd,7,3\n", encoding="utf-8")
    code, out, err = run("coalescent", "constant.csv", "--particles", 400)
    assert code == 0
    assert "'c' has the same value in every row, which tells nothing, and is left out" in err
    assert out.replace("constant.csv", "told.csv") == run("coalescent", "told.csv", "--particles", 400)[1]
    (folder / "same.csv").write_text("name,x\na,1\nb,1\nc,1\n", encoding="utf-8")
    code, _, err = run("coalescent", "same.csv")
    assert code == 2
    assert "every column ('x') has one value only" in err
