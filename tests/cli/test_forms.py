"""Packed tables, spreadsheets, decimal commas, tables on their side: recognised, or answered in one line."""

from __future__ import annotations

import gzip
import json
import sys
import zipfile
from io import BytesIO

import numpy as np
import pytest

from palmette.cli.reading import spreadsheets, unpacking
from palmette.cli.reading.columns import choose_columns
from palmette.cli.reading.tables import read_table

PLAIN = "name,x,y\na b,1.5,-2.5\nc,3e2,0\n"


def read(tmp_path, contents, name="table.csv", **options):
    (tmp_path / name).write_bytes(contents.encode() if isinstance(contents, str) else contents)
    return choose_columns(read_table(str(tmp_path / name), **options))


def is_the_table(leaves):
    assert leaves.labels == ("a b", "c")
    assert leaves.variables == ("x", "y")
    np.testing.assert_array_equal(leaves.values, [[1.5, -2.5], [300.0, 0.0]])
    return True


SAME = {
    "packed.csv.gz": gzip.compress(PLAIN.encode()),
    "packed.tsv.gz": gzip.compress(PLAIN.replace(",", "\t").encode()),
    "in two parts.csv.gz": gzip.compress(PLAIN[:20].encode()) + gzip.compress(PLAIN[20:].encode()),
    "packed without a name for it": gzip.compress(PLAIN.encode()),
    "semicolons and commas.csv": "name;x;y\na b;1,5;-2,5\nc;3e2;0\n",
    "a comma before the exponent.csv": "name;x;y\na b;1,5;-2,5\nc;3,00e2;0,0\n",
    "quoted commas.csv": 'name,x,y\na b,"1,5","-2,5"\nc,"300,0","0"\n',
    "tabs and commas.tsv": "name\tx\ty\na b\t1,5\t-2,5\nc\t300\t0\n",
}


@pytest.mark.parametrize("name", SAME)
def test_all_forms_give_the_same_table(name, tmp_path):
    assert is_the_table(read(tmp_path, SAME[name], name))


def test_commas_are_decimal_also_without_a_header(tmp_path):
    leaves = read(tmp_path, "1,5;2,5\n3,5;4,5\n", header=False)
    np.testing.assert_array_equal(leaves.values, [[1.5, 2.5], [3.5, 4.5]])
    leaves = read(tmp_path, "1,5\n3,5\n", header=False)
    np.testing.assert_array_equal(leaves.values, [[1, 5], [3, 5]])


def test_labels_keep_their_commas(tmp_path):
    leaves = read(tmp_path, "isomer;x\n1,2;0,5\n1,3;0,7\ncis;1\n")
    assert leaves.labels == ("1,2", "1,3", "cis")
    np.testing.assert_array_equal(leaves.values[:, 0], [0.5, 0.7, 1.0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "name;x;y\na;1,5;1.5\nb;2,5;2.5\n",
            "line 2, column 'x': '1,5' is not a number; write numbers with a decimal point",
        ),
        ("name;x\na;1,234\nb;5,678\n", "'1,234' is not a number; .* thousands without a comma"),
        ("name;x\na;1.234,5\nb;5.678,0\n", "'1.234,5' is not a number; .* 1234.5"),
    ],
)
def test_what_could_be_either_is_not_guessed(text, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, text)


def test_a_table_on_its_side(tmp_path, run, folder):
    leaves = read(tmp_path, "name,a b,c\nx,1.5,3e2\ny,-2.5,0\n", transpose=True)
    assert is_the_table(leaves)
    assert leaves.table.source.endswith("table.csv (transposed)")
    with pytest.raises(ValueError, match=r"table.csv \(transposed\), row 3, column 'y': 'tall' is not a number"):
        read(tmp_path, "name,a b,c\nx,1.5,3e2\ny,-2.5,tall\n", transpose=True)
    rows = [line.split(",") for line in (folder / "worlds.csv").read_text(encoding="utf-8").splitlines()]
    (folder / "turned.csv").write_text("\n".join(map(",".join, zip(*rows, strict=True))), encoding="utf-8")
    words = ("--class", "kind", "--model", "dasgupta", "--json")
    turned = json.loads(run("hierarchies", "turned.csv", "--transpose", *words)[1])
    plain = json.loads(run("hierarchies", "worlds.csv", *words)[1])
    assert (turned["clusters"], turned["classes"]) == (plain["clusters"], plain["classes"])


def gene(i):
    return "".join(chr(65 + (i // 26**k) % 26) for k in range(3)) + str(i % 9)


def test_genes_as_rows_are_noticed(tmp_path):
    def notes(name, n, columns=3, **options):
        head = ",".join(["id", *(f"s{j}" for j in range(columns))])
        rows = [",".join([name(i), *["1"] * columns]) for i in range(n)]
        return read(tmp_path, "\n".join([head, *rows]), **options).notes

    said = notes(gene, 200)
    assert len(said) == 1
    assert "200 rows are named like genes, and 3 columns have numbers" in said[0]
    assert "add --transpose" in said[0]
    assert notes(lambda i: f"ENSG{i:011}", 200) == said
    assert notes(lambda i: f"{i + 1000}_s_at", 200) == said
    assert notes(gene, 90) == notes(gene, 200, columns=60) == ()
    assert notes(lambda i: f"S{i}", 200) == notes(lambda i: f"patient {gene(i)}", 200) == ()
    assert notes(gene, 200, transpose=True) == ()


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (gzip.compress(PLAIN.encode())[:-12], "is not a gzip file that can be read"),
        (b"\x1f\x8bnothing of the kind", "is not a gzip file that can be read"),
        (gzip.compress(b""), "is empty"),
        (b"BZh91AY&SY", "is packed by bzip2; unpack it, or pack it by gzip"),
        (b"\xfd7zXZ\x00", "is packed by xz"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "is an old Excel file; save it as .xlsx or CSV"),
        (b"PK\x03\x04 and no more", "is not an .xlsx file that can be read"),
    ],
    # Names, since gzip writes down the time, and workers would not agree on what there is.
    ids=["cut short", "begins like gzip", "empty, packed", "bzip2", "xz", "old Excel", "no .xlsx"],
)
def test_other_files_are_answered_in_one_line(contents, message, run, folder):
    (folder / "table.csv").write_bytes(contents)
    code, out, err = run("hierarchies", "table.csv")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_bombs_are_not_unpacked(run, folder, monkeypatch):
    monkeypatch.setattr(unpacking, "MOST_BYTES", 2**20)
    (folder / "bomb.csv.gz").write_bytes(gzip.compress(b"1," * 2**20))
    code, _, err = run("hierarchies", "bomb.csv.gz")
    assert (code, "unpacks to more than" in err) == (2, True)
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("xl/workbook.xml", b" " * 2**21)
    (folder / "bomb.xlsx").write_bytes(archive.getvalue())
    code, _, err = run("hierarchies", "bomb.xlsx")
    assert (code, "unpacks to more than" in err) == (2, True)


def test_an_archive_is_no_spreadsheet(run, folder):
    with zipfile.ZipFile(folder / "table.zip", "w") as parts:
        parts.writestr("table.csv", PLAIN)
    code, _, err = run("hierarchies", "table.zip")
    assert (code, "is a zip archive and no .xlsx file; unpack it" in err) == (2, True)


def test_without_openpyxl_the_extra_is_named(run, folder, monkeypatch):
    with zipfile.ZipFile(folder / "table.xlsx", "w") as parts:
        parts.writestr("xl/workbook.xml", "<workbook/>")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    code, _, err = run("hierarchies", "table.xlsx")
    assert (code, "pip install 'palmette[excel]'" in err) == (2, True)


class TestSpreadsheets:
    @pytest.fixture
    def write(self, folder):
        openpyxl = pytest.importorskip("openpyxl")

        def write(*sheets, name="table.xlsx", hidden=()):
            book = openpyxl.Workbook()
            book.remove(book.active)
            for title, rows in sheets:
                sheet = book.create_sheet(title)
                for row in rows:
                    sheet.append(row)
                sheet.sheet_state = "hidden" if title in hidden else "visible"
            book.save(folder / name)
            return str(folder / name)

        return write

    def test_a_sheet_is_a_table(self, write):
        rows = [
            ["name", "x", "flag", None],
            [],
            ["a", 1.5, True, None],
            ["b", None, False, None],
            ["c", 3, "#N/A", None],
        ]
        leaves = choose_columns(read_table(write(("Data", rows))))
        assert (leaves.labels, leaves.variables, leaves.notes) == (("a", "b", "c"), ("x", "flag"), ())
        np.testing.assert_array_equal(leaves.values, [[1.5, 1], [np.nan, 0], [3, np.nan]])
        assert leaves.table.places == ["row 3", "row 4", "row 5"]

    def test_the_first_sheet_that_is_seen_is_read_and_the_others_are_told(self, write):
        rows = [["name", "x"], ["a", 1], ["b", 2]]
        path = write(("Notes", [["nothing"]]), ("Data", rows), ("More", rows), hidden=["Notes"])
        leaves = choose_columns(read_table(path))
        assert leaves.labels == ("a", "b")
        assert leaves.notes == (f"{path} has 2 sheets; the first, 'Data', is read.",)

    def test_the_command_takes_it(self, write, run, folder):
        rows = [line.split(",") for line in (folder / "worlds.csv").read_text(encoding="utf-8").splitlines()]
        write(("Worlds", [rows[0], *([*row[:2], *map(float, row[2:])] for row in rows[1:])]), name="worlds.xlsx")
        words = ("--class", "kind", "--model", "dasgupta", "--json")
        found = json.loads(run("hierarchies", "worlds.xlsx", *words)[1])
        assert found["clusters"] == json.loads(run("hierarchies", "worlds.csv", *words)[1])["clusters"]

    def test_what_is_broken_or_empty_or_too_large_is_said(self, write, run, folder, monkeypatch):
        write(("Data", []))
        code, _, err = run("hierarchies", "table.xlsx")
        assert (code, "the sheet 'Data' of table.xlsx is empty" in err) == (2, True)
        write(("Data", [["name", "x"], ["a", 1], ["b", 2]]))
        monkeypatch.setattr(spreadsheets, "_MOST_CELLS", 4)
        code, _, err = run("hierarchies", "table.xlsx")
        assert (code, "4 cells; save it as CSV" in err) == (2, True)
        with zipfile.ZipFile(folder / "table.xlsx", "w") as parts:
            parts.writestr("xl/workbook.xml", "<workbook")
        code, _, err = run("hierarchies", "table.xlsx")
        assert (code, "table.xlsx is not an .xlsx file that can be read" in err, err.count("\n")) == (2, True, 1)
