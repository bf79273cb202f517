"""Whatever a person gets wrong is one readable line on stderr and exit code 2."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

HIERARCHIES, PARTITIONS = (
    ("hierarchies", "worlds.csv", "--class", "kind"),
    ("partitions", "worlds.csv", "--class", "kind"),
)
COSTS = (*HIERARCHIES, "--model", "dasgupta")
ULTRAMETRIC, GAPS = ("ultrametric", "worlds.csv", "--class", "kind"), ("coalescent", "gaps.csv", "--class", "kind")
LANGUAGES = ("languages.csv", "--class", "family", "--precomputed", "similarity")
MATRIX = ("hierarchies", "matrix.csv", "--precomputed")
TABLE = ("hierarchies", "table.csv")

# The contents of table.csv, and what the message says.
TABLES = {
    "empty": (b"", "is empty"),
    "blank lines": (b"\n  \n\n", "is empty"),
    "names only": (b"name,x,y\n", "no rows below"),
    "binary junk": (bytes(range(256)), "is not"),
    "zero bytes": (b"name,x\na\0b,1\n", "zero bytes"),
    "another encoding": ("name,x\nMünchen,1\n".encode("latin-1"), "UTF-8"),
    "text in a column": (b"name,x\na,1\nb,tall\nc,2\n", "line 3, column 'x': 'tall' is not a number"),
    "decimal comma and point": (b'name;x\na;"1,5"\nb;2.5\n', "decimal point"),
    "missing value": (b"name,x,y\na,1,2\nb,,3\nc,4,?\n", "line 3 ('b'), column 'x': the value is missing (and 1 more)"),
    "infinite value": (b"name,x\na,1\nb,inf\n", "line 3, column 'x': inf is not finite"),
    "short row": (b"name,x,y\na,1,2\nb,1\n", "line 3 has 2 cells and line 1 has 3"),
    "long row": (b"name,x\na,1\nb,1,2\n", "line 3 has 3 cells"),
    "duplicate labels": (b"name,x\na,1\nb,2\na,3\n", "'a' is on line 2 and on line 4"),
    "an empty label": (b"name,x\na,1\n,2\n", "the label is empty"),
    "an open quotation mark": (b'name,x\n"a,1\nb,2\n', "quotation mark"),
    "labels only": (b"name\na\nb\n", "no column of numbers"),
    "words and numbers on top": (b"a,1,2\nb,3,4\n", "--header"),
    "a huge number": (b"name,x\na,1e200\nb,-1e200\n", "divide"),
}
SETTINGS = {"a huge number": ("--model", "sum-of-squares", "--no-standardise")}

# The contents of matrix.csv, the kind of matrix, and what the message says.
MATRICES = {
    "not square": ("a,b\n0,1\n1,0\n2,2\n", "distance", "3 rows and 2 columns"),
    "asymmetric": ("a,b,c\n0,1,2\n1,0,3\n2,4,0\n", "distance", "not symmetric: 'b' to 'c' is 3 and back 4"),
    "asymmetric similarity": ("a,b\n1,0.5\n0.25,1\n", "similarity", "not symmetric"),
    "a negative distance": ("a,b\n0,-1\n-1,0\n", "distance", "the distance of 'a' and 'b' is -1"),
    "similarities as distances": ("a,b\n1,0.5\n0.5,1\n", "distance", "--precomputed similarity"),
    "a gap": ("a,b,c\n0,,2\n1,0,3\n2,3,0\n", "distance", "the value is missing"),
    "other names": ("name,a,c\na,0,1\nb,1,0\n", "distance", "'b' is in one of them only"),
    "a word": ("a,b\n0,near\nnear,0\n", "distance", "'near' is not a number"),
}

COMMANDS = {
    "no command of this name": (("hierarchy", "worlds.csv"), "No such command"),
    "no file": (("hierarchies",), "Missing argument"),
    "a file that is not there": (("hierarchies", "none.csv"), "does not exist"),
    "a folder": (("hierarchies", "."), "is a folder"),
    "an unknown option": ((*HIERARCHIES, "--betta", "2"), "No such option"),
    "an unknown model": ((*HIERARCHIES, "--model", "ward"), "is not one of"),
    "a model of the other kind": ((*PARTITIONS, "--model", "dasgupta"), "is not one of"),
    "no class column": (("hierarchies", "worlds.csv"), "--class 'kind'"),
    "an unknown column": (("hierarchies", "worlds.csv", "--class", "colour"), "its columns are 'name', 'kind'"),
    "a column number too large": (("hierarchies", "worlds.csv", "--label", "9"), "1 to 5"),
    "labels and classes in one": (("hierarchies", "worlds.csv", "--label", "kind", "--class", "kind"), "name two"),
    "nothing left": (("hierarchies", "gaps.csv", *(f"--ignore={n}" for n in range(2, 6))), "no column of numbers"),
    "a long delimiter": ((*HIERARCHIES, "--delimiter", "ab"), "one character"),
    "another delimiter": (("hierarchies", "worlds.csv", "--delimiter", ";"), "no column of numbers"),
    "missing values": (("hierarchies", "gaps.csv", "--class", "kind"), "palmette coalescent"),
    "β below 0": ((*COSTS, "--beta", "-1"), "beta is -1.0"),
    "β is no number": ((*HIERARCHIES, "--beta", "hot"), "not a valid float"),
    "β is NaN": ((*COSTS, "--beta", "nan"), "beta is nan"),
    "β and perplexity": ((*HIERARCHIES, "--beta", "1", "--perplexity", "9"), "give one of them"),
    "a perplexity below 1": ((*COSTS, "--perplexity", "0.5"), "perplexity"),
    "a perplexity beyond all": ((*COSTS, "--perplexity", "1e30"), "perplexity"),
    "none of the best": ((*HIERARCHIES, "--best", "0"), "1<=x<="),
    "too many of the best": ((*HIERARCHIES, "--best", "10000000000"), "1<=x<="),
    "the input as output": ((*HIERARCHIES, "--table", "./worlds.csv"), "is the file that is read"),
    "negative draws": ((*HIERARCHIES, "--draws", "-5"), "0<=x<="),
    "a negative seed": ((*HIERARCHIES, "--seed", "-1"), "x>=0"),
    "no probability": ((*HIERARCHIES, "--min-probability", "2"), "not a probability"),
    "no threshold": ((*HIERARCHIES, "--threshold", "-0.1"), "not a probability"),
    "a threshold that nothing passes": ((*PARTITIONS, "--threshold", "1"), "below 1"),
    "no amount": ((*HIERARCHIES, "--max-memory", "lots"), "not an amount of memory"),
    "hardly any memory": ((*COSTS, "--beyond", "sparse", "--max-memory", "100"), "100 bytes are allowed"),
    "hardly any memory for partitions": (
        (*PARTITIONS, "--beyond", "sparse", "--plot", "x.png", "--max-memory", "600"),
        "are allowed",
    ),
    "no bandwidth": ((*COSTS, "--bandwidth", "0"), "not a positive number"),
    "a temperature for a likelihood": ((*HIERARCHIES, "--perplexity", "9"), "shares is a likelihood and needs no"),
    "a similarity for a likelihood": ((*HIERARCHIES, "--similarity", "cosine"), "shares does not use any"),
    "a dimension for a cost": ((*COSTS, "--dimension", "2"), "--dimension is for --model shares and --model contrasts"),
    "no dimension": ((*HIERARCHIES, "--dimension", "few"), "not effective, columns or a positive number"),
    "points for a model of pairs": ((*HIERARCHIES, "--model", "graph"), "--precomputed similarity"),
    "no centre": ((*PARTITIONS, "--model", "correlation", "--centre", "median"), "neither a number nor mean"),
    "a temperature of a process": ((*PARTITIONS, "--beta", "2"), "or add --model correlation"),
    "similarities of a process": ((*PARTITIONS, "--similarity", "cosine"), "is about similarities, and a Dirichlet"),
    "a concentration of a cost": (
        (*PARTITIONS, "--model", "correlation", "--concentration", "2"),
        "correlation clustering has none of it",
    ),
    "a variance of zeros and ones": (
        (*PARTITIONS, "--likelihood", "binary", "--within", "0.5"),
        "--within is of --likelihood normal",
    ),
    "too many clusters": ((*PARTITIONS, "--clusters", "99"), "12 leaves cannot be put into 99"),
    "no concentration": ((*PARTITIONS, "--model", "dirichlet-process", "--concentration", "0"), "concentration is 0"),
    "no variance": ((*PARTITIONS, "--model", "dirichlet-process", "--within", "-1"), "not a positive number"),
    "a temperature where there is none": ((*PARTITIONS, "--model", "dirichlet-process", "--beta", "2"), "temperature"),
    "codes that are none": ((*PARTITIONS, "--model", "dirichlet-process", "--likelihood", "binary"), "takes 0, 1"),
    "points of a matrix": ((*MATRIX, "distance", "--model", "sum-of-squares"), "needs the points themselves"),
    "cosines of distances": ((*MATRIX, "distance", "--similarity", "cosine"), "rbf or linear"),
    "an unknown picture": ((*HIERARCHIES, "--plot", "tree.bmp"), "must end in .png, .svg or .pdf"),
    "an unknown table": ((*HIERARCHIES, "--table", "clusters.xlsx"), "must end in"),
    "no folder to write to": ((*HIERARCHIES, "--newick", "none/best.nwk"), "there is no folder none"),
    "a folder as output": ((*HIERARCHIES, "--newick", "."), "this is a folder"),
    "one file for two": ((*HIERARCHIES, "--newick", "x.html", "--report", "x.html"), "give two files"),
    "no particles": ((*GAPS, "--particles", "0"), "1<=x<="),
    "a negative variance": ((*GAPS, "--leaf-variance", "-1"), "leaf_variance"),
    "variance of categories": ((*GAPS, "--process", "sites", "--leaf-variance", "1"), "--process brownian"),
    "rows that are the same": (("coalescent", "twins.csv", "--particles", "10"), "the rows 'a' and 'b' are the same"),
    "similarities for an ultrametric": (("ultrametric", *LANGUAGES), "needs distances"),
    "more clusters than leaves": ((*ULTRAMETRIC, "--clusters", "13"), "cannot be cut into 13"),
    "a membership of nothing": ((*ULTRAMETRIC, "--membership", "x.csv"), "needs --clusters"),
    "no trees": (("trees", "worlds.csv"), "worlds.csv, line"),
    "a broken tree": (("trees", "broken.nwk"), "line 2, column"),
    "trees with other leaves": (("trees", "other.nwk"), "other"),
    "a tree with three parts": (("trees", "three.nwk"), "has no root"),
    "everything burnt in": (("trees", "posterior.nex", "--burn-in", "200"), "none is left"),
    "no classes": (("trees", "posterior.nex", "--classes", "worlds.csv"), "no class for the leaf 'English'"),
    "jets in a strange format": (("jets", "simulate", "1", "jets.root"), "jets.root"),
    "jets without a law": (("jets", "infer", "worlds.csv", "results"), ""),
    "a file in the place of a folder": (("demo", "--data", "worlds.csv"), "is a file"),
}  # fmt: skip


def refuses(run, words, message, stdin=None):
    code, out, err = run(*words, stdin=stdin)
    lines = [line for line in err.splitlines() if not line.startswith("Note: ")]
    assert (code, out) == (2, ""), err
    assert len(lines) == 1, err
    assert lines[0].startswith("Error: ")
    assert message in lines[0], err
    assert "Traceback" not in err


def test_there_are_many_ways_to_go_wrong():
    assert len(TABLES) + len(MATRICES) + len(COMMANDS) >= 80


@pytest.mark.parametrize("name", TABLES)
def test_broken_tables(name, run, folder):
    contents, message = TABLES[name]
    (folder / "table.csv").write_bytes(contents)
    refuses(run, (*TABLE, *SETTINGS.get(name, ())), message)
    refuses(run, ("hierarchies", "-", *SETTINGS.get(name, ())), message, stdin=contents)


@pytest.mark.parametrize("name", MATRICES)
def test_broken_matrices(name, run, folder):
    contents, kind, message = MATRICES[name]
    (folder / "matrix.csv").write_text(contents)
    refuses(run, (*MATRIX, kind), message)


@pytest.mark.parametrize("name", COMMANDS)
def test_broken_commands(name, run, folder):
    (folder / "matrix.csv").write_text("a,b\n0,1\n1,0\n")
    (folder / "twins.csv").write_text("name,x,y,z\na,1,5,1\nb,1,5,1\nc,2,7,0\nd,3,0,3\n")
    (folder / "broken.nwk").write_text("((a,b),c);\n((a,b,c);\n")
    (folder / "other.nwk").write_text("((a,b),c);\n((a,b),d);\n")
    (folder / "three.nwk").write_text("((a,b),c);\n(a,b,c);\n")
    words, message = COMMANDS[name]
    refuses(run, words, message)


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("matplotlib", (*HIERARCHIES, "--plot", "tree.png")),
        ("pyarrow", (*HIERARCHIES, "--table", "clusters.parquet")),
        ("pyarrow", ("hierarchies", "table.parquet")),
    ],
)
def test_missing_packages_are_named_with_what_installs_them(module, words, run, folder, monkeypatch):
    (folder / "table.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, module, None)
    refuses(run, words, "pip install 'palmette[")


def test_a_file_that_only_claims_to_be_parquet(run, folder):
    pytest.importorskip("pyarrow")
    (folder / "table.parquet").write_bytes(b"PAR1 and nothing else")
    refuses(run, ("hierarchies", "table.parquet"), "not a Parquet file")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_closed_for_writing(run, folder):
    (folder / "closed").mkdir(mode=0o500)
    refuses(run, (*HIERARCHIES, "--newick", "closed/best.nwk"), "not allowed to write")


def test_a_disk_that_is_full(run):
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    refuses(
        run,
        ("hierarchies", *LANGUAGES, "--newick", "/dev/full"),
        "No space left",
    )


def test_nothing_is_computed_before_outputs_are_checked(run, monkeypatch):
    monkeypatch.setattr("palmette.cli.commands.hierarchies.load", lambda *_, **__: pytest.fail("the file was read"))
    refuses(run, (*HIERARCHIES, "--plot", "tree.bmp"), "must end in")


def test_a_fault_of_the_program_is_told_apart(run, monkeypatch):
    def fail(*_, **__):
        raise KeyError("a surprise")

    monkeypatch.setattr("palmette.cli.commands.hierarchies.load", fail)
    code, out, err = run(*HIERARCHIES)
    assert (code, out) == (1, "")
    assert err == "Error: a fault of palmette: KeyError: 'a surprise' (set PALMETTE_TRACEBACK=1 to see where)\n"
    monkeypatch.setenv("PALMETTE_TRACEBACK", "1")
    assert "Traceback" in run(*HIERARCHIES)[2]


def test_ctrl_c_is_130(run, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("palmette.cli.commands.hierarchies.load", interrupt)
    code, out, err = run(*HIERARCHIES)
    assert (code, out, err.strip()) == (130, "", "stopped")


def test_the_program_itself_does_the_same(folder):
    command = [sys.executable, "-m", "palmette", "hierarchies", "none.csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "Error: none.csv does not exist\n")
