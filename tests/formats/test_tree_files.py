import gzip
import io
import pickle
import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from random_hierarchies import any_text, families, random_merges

from palmette.formats.tokens import split_tokens
from palmette.formats.tree_reader import _Reader
from palmette.hierarchy import Hierarchy
from palmette.interop import NewickError, TreeSet, read_newick, read_trees, write_newick, write_newick_file

finite = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)
numbers = st.one_of(
    finite.map(repr),
    st.from_regex(r"\A[+-]?(0|[1-9][0-9]{0,24})(\.[0-9]{0,24})?([eE][+-]?[0-9]{1,2})?\Z"),
    st.sampled_from(["1", "0", "-0", "1.", ".5", "+2", "1E5", "1e-400", "0e999", "9007199254740993", "007"]),
)


@st.composite
def nested_texts(draw, labels):
    """A random Newick text over these labels, with what the grammar allows between its tokens."""
    n, made = draw(families(len(labels)).filter(lambda found: found[0] == len(labels)))
    order = draw(st.permutations(labels))
    blanks = st.sampled_from(["", "", "", " ", "\n", "\t\r\n", "[&rate=0.1]", "[a [nested;] ('comment]"])
    length = st.one_of(st.just(""), numbers.map(lambda number: f":{number}"))
    name = st.one_of(st.just(""), numbers, st.sampled_from(["Primates", "'a b'", "'0.5'", "1/2", "nan", "1e", "''"]))
    ends = [draw(blanks) + draw(length) + draw(blanks) for _ in range(n + len(made))]
    parts = [draw(blanks) + written(label, draw(st.booleans())) for label in order]
    for children in made:
        inner = ",".join(parts[child] + ends[child] for child in children)
        parts.append(draw(blanks) + "(" + inner + ")" + draw(blanks) + draw(name))
        if draw(st.integers(0, 9)) == 0:
            parts[-1] = f"({parts[-1]}:1.5){draw(name)}"  # a node with one child
    return parts[-1] + ends[-1] + ";" + draw(blanks)


def written(label, quoted):
    plain = re.fullmatch(r"[^\s()\[\]:;,'\ufeff]+", label)
    return label if plain and not quoted else "'" + label.replace("'", "''") + "'"


@st.composite
def tree_texts(draw):
    labels = draw(st.lists(any_text, min_size=1, max_size=8, unique=True))
    return draw(st.lists(nested_texts(labels), min_size=1, max_size=5))


def slowly(text):
    """What `read_trees` gives, by the slow reader: cut at semicolons, read one by one, aligned to the first."""
    text = text.removeprefix("\ufeff")
    cuts = [0] + [token.position + 1 for token in split_tokens(text) if token.kind == ";"]
    parts = [text[start:stop] for start, stop in pairwise(cuts)]
    if not parts or next(split_tokens(text[cuts[-1] :])).kind != "end":
        raise ValueError("no trees, or an unfinished one")
    found = [read_newick(part) for part in parts]
    return [h.aligned_to(found[0].labels) for h in found]


def same_bits(one, two):
    if one is None or two is None:
        return one is two
    return (
        np.array_equal(np.isnan(one), np.isnan(two)) and one[~np.isnan(one)].tobytes() == two[~np.isnan(two)].tobytes()
    )


def assert_same(h, expected):
    assert h.labels == expected.labels
    for name in ("parents", "child_offsets", "child_nodes"):
        assert np.array_equal(getattr(h, name), getattr(expected, name))
        assert getattr(h, name).dtype == np.int64
    assert same_bits(h.branch_lengths, expected.branch_lengths)
    assert same_bits(h.support, expected.support)


@given(tree_texts())
def test_many_trees_are_what_the_slow_reader_makes_of_each(texts):
    expected = slowly("".join(texts))
    trees = read_trees("".join(texts), format="newick")
    assert len(trees) == len(expected)
    for h, slow in zip(trees, expected, strict=True):
        assert_same(h, slow)


marks = st.text(alphabet="()[],:;' ab1.e-\n\xa0", max_size=12)


@given(tree_texts(), st.data())
def test_damaged_texts_are_refused_by_both_readers_or_by_none(texts, data):
    text = "".join(texts)
    at = data.draw(st.integers(0, len(text)))
    text = text[:at] + data.draw(marks) + text[at + data.draw(st.integers(0, 3)) :]
    agree(text if ";" in text else text + "\n")


@given(st.text(alphabet="()[],:;' ab1.e-_\n\ufeff\xa0\x1c", max_size=40))
@example("(a,b);\xa0(b,a);\u3000")
@example("(a,b);\ufeff(b,a);")
@example("\ufeff\ufeff;")
@example("'\ufeffa';\ufeffa;")
@example("(a,b);(b,a)é\xa0é;")
@example("(a,b);((a:1):12345678901234567890,b);")
@example("(a,b);(b:1e308,a:1e308);")
@example("(a,b);(b:1e307,a:1e307);")
@example("(a,b);(b:1,a:1)1e999;")
@example("(a,b);(b:1,a:1e999);")
@example("(a,b);(b,a):1:2;")
@example("(a,b);((b:1):2:3,a);")
@example("(a,b);" + "(" * 5000 + "a" + ")" * 5000 + ";")
def test_any_text_is_refused_by_both_readers_or_by_none(text):
    agree(text + "\n")


def agree(text):
    try:
        expected = slowly(text)
    except ValueError:
        with pytest.raises(ValueError, match=r"^the text(, line \d+, column \d+: | holds no tree)"):
            read_trees(text, format="newick")
    else:
        for h, slow in zip(read_trees(text, format="newick"), expected, strict=True):
            assert_same(h, slow)


ORDINARY = [
    "((a:0.1,b:2e-3)-95:1,(c,'d e':-1.5):0.25)root;",
    "\n[&R] [a comment] ( (b[&rate=1]:[&x={1,2}]0.12345678901234567, a) 0.5 :7.25 [] ,('d e', c));\r\n",
    "(a,b,c,'d e');",
    "((((a:1):2,'b'),c)'0.75',((('d e'))));",
    "(a:1234567890123456789012,b,(c,'d e')12345678901234567890.5);",
]


def test_the_scanner_reads_quotes_comments_and_one_child_nodes_itself(monkeypatch):
    expected = slowly("".join(ORDINARY))
    monkeypatch.delattr(_Reader, "_read_slowly")
    for h, slow in zip(read_trees("".join(ORDINARY)), expected, strict=True):
        assert_same(h, slow)


def test_more_trees_than_fit_into_one_call_and_slow_ones_among_them():
    lines = ["((a:1,b:2)3:4,c);", "(a:1,\xa0(b:2,c));", "(c,b,a);"] * 1000
    trees = read_trees("\n".join(lines))
    made = [read_newick(line).aligned_to(["a", "b", "c"]) for line in lines[:3]]
    for i in (0, 1, 2, 1023, 1024, 1025, 2047, 2048, 2998, 2999):
        assert_same(trees[i], made[i % 3])


def test_lengths_that_the_scanner_leaves_to_python_are_exact():
    texts = ["1e-320", "1e300", "12345678901234567890.125", "0.1"]
    lengths = read_trees("(a,b,c,d);(a:{},b:{},c:{},d:{});".format(*texts))[1].branch_lengths
    assert lengths[:4].tolist() == [float(text) for text in texts]


def test_the_labels_are_those_of_the_first_tree_in_its_order():
    trees = read_trees("(c,(a,b));\n\n((a,b),c);")
    assert trees.labels == ("c", "a", "b")
    assert trees[1].labels == ("c", "a", "b")
    assert trees[1].to_newick() == "((a,b),c);"


def test_weights_stand_in_comments_before_the_trees():
    trees = read_trees("[&W 1/3] (a,b); [&R][&w 0.25](a,b); (a,b)[&W 5]; [& W 2] (a,b); [&R] [ &W 2 ] (a,b);")
    assert trees.weights.tolist() == [1 / 3, 0.25, 1, 1, 2]
    assert read_trees("(a,b);").weights.tolist() == [1]
    assert trees.names is None


def test_marks_of_roots_change_nothing():
    trees = read_trees("[&U] (a,b,(c,d)); [&R] (a,b,(c,d));")
    assert trees[0] == trees[1]
    assert not trees[0].is_binary


def three_trees():
    return read_trees("((a:1,b:2):3,c:4);(a,b,c);((b,c)9,a);")


def test_the_arrays_are_the_hierarchies():
    trees = three_trees()
    assert trees.offsets.tolist() == [0, 5, 9, 14]
    assert trees.parents.tolist() == [3, 3, 4, 4, -1, 3, 3, 3, -1, 4, 3, 3, 4, -1]
    assert trees.parents.dtype == np.int32
    assert trees.leaf_orders.tolist() == [[0, 1, 2], [0, 1, 2], [1, 2, 0]]
    assert same_bits(trees.branch_lengths[:5], np.array([1, 2, 4, 3, np.nan]))
    assert np.flatnonzero(~np.isnan(trees.support)).tolist() == [12]
    assert not trees.is_binary
    assert trees[::2].is_binary


def test_lengths_and_support_are_none_where_there_are_none():
    trees = three_trees()
    assert [h.branch_lengths is None for h in trees] == [False, True, True]
    assert [h.support is None for h in trees] == [True, True, False]
    assert trees[1:].branch_lengths is None
    assert trees[:2].support is None


def test_a_tree_set_is_a_sequence_that_never_changes():
    trees = three_trees()
    assert (len(trees), trees.n_leaves, repr(trees)) == (3, 3, "TreeSet(3 hierarchies over 3 leaves)")
    assert trees[-1] == read_newick("((b,c),a);")
    assert read_newick("(c,b,a);") in trees
    assert [h.to_newick() for h in trees[::-1]] == ["((b,c)9,a);", "(a,b,c);", "((a:1,b:2):3,c:4);"]
    assert isinstance(trees[1:1], TreeSet)
    assert len(trees[1:1]) == 0
    with pytest.raises(IndexError):
        trees[3]
    with pytest.raises(AttributeError, match="never changes"):
        trees.labels = ()
    for array in (trees.parents, trees.offsets, trees.weights, trees.branch_lengths, trees[:2].parents):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_a_tree_set_survives_pickling():
    trees = three_trees()
    again = pickle.loads(pickle.dumps(trees))
    assert [h.to_newick() for h in again] == [h.to_newick() for h in trees]
    assert not again.parents.flags.writeable


def test_single_leaves_are_trees():
    trees = read_trees("a;(a:1);'a':2;")
    assert trees.parents.tolist() == [-1, -1, -1]
    assert trees.branch_lengths.tolist()[1:] == [1, 2]
    assert trees[1].labels == ("a",)


def test_text_comes_from_paths_files_and_strings(tmp_path):
    text = "((é,b),c);\r\n(b,(c,é));\r\n"
    expected = [h.to_newick() for h in read_trees(text)]
    plain, zipped = tmp_path / "trees; all.nwk", tmp_path / "trees.nwk.gz"
    plain.write_bytes(b"\xef\xbb\xbf" + text.encode())
    zipped.write_bytes(gzip.compress(text.encode()))
    with plain.open() as as_text, plain.open("rb") as as_bytes, gzip.open(zipped) as unzipped:
        sources = [
            plain,
            zipped,
            str(zipped),
            as_text,
            as_bytes,
            unzipped,
            io.StringIO(text),
            io.BytesIO(text.encode()),
        ]
        for source in sources:
            assert [h.to_newick() for h in read_trees(source)] == expected


def test_sources_that_cannot_be_read_say_why(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"'\(a,b\)'; a string is taken for text if it has a semicolon"):
        read_trees("(a,b)")
    with pytest.raises(TypeError, match="a path, a file or a text, not from a int"):
        read_trees(3)
    with pytest.raises(ValueError, match="format is 'nex'; give one of 'newick', 'nexus', or None"):
        read_trees("(a,b);", format="nex")
    path = tmp_path / "trees.gz"
    for content in (b"(a,b);", gzip.compress(b"(a,b);" * 100)[:-12]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"trees\.gz is not a complete gzip file"):
            read_trees(path)
    path = tmp_path / "trees.nwk"
    path.write_bytes("(a,b);\n(a,é);".encode("latin-1"))
    with pytest.raises(ValueError, match=r"trees\.nwk, line 2, column 4: this is not UTF-8 text"):
        read_trees(path)


@pytest.mark.parametrize("empty", ["", " \n", "[a comment]\n", "\ufeff"])
def test_text_without_trees_is_refused(empty, tmp_path):
    path = tmp_path / "empty.nwk"
    path.write_text(empty, encoding="utf-8")
    for source in (path, io.StringIO(empty), io.BytesIO(empty.encode())):
        with pytest.raises(ValueError, match="holds no tree; expected Newick trees"):
            read_trees(source)


GOOD = "((a:1,b:2):3,c:4);\n"


@pytest.mark.parametrize(
    ("broken", "column", "problem"),
    [
        ("((a:1,b:2):3,c:4;", 17, "expected ',' or ')' but found ';'"),
        ("((a:1,b:2):3,c:4));", 18, "expected ';' but found ')'"),
        ("((a:1,b:2):3,c:x);", 16, "expected a finite branch length but found 'x'"),
        ("((a:1,b:2):3,c:1e999);", 16, "expected a finite branch length but found '1e999'"),
        ("((a:1,b:2)):3,c:1e999);", 14, "expected ';' but found ','"),
        ("((a,b),d);", 8, "leaf 'd' does not occur in the first tree (line 1); all trees must have the same leaves"),
        ("((a,b),(c,d));", 11, "leaf 'd' does not occur in the first tree (line 1)"),
        ("(a,b);", 1, "leaf 'c' is missing, but occurs in the first tree (line 1)"),
        ("  b;", 3, "leaf 'a' (and 1 more) is missing, but occurs in the first tree (line 1)"),
        ("((a,b),(c,a));", 11, "leaf 'a' occurs twice, first on line 3; labels must differ"),
        (";", 1, "expected a leaf's label or '(' but found ';'"),
        ("((a,b),c]);", 9, "']' closes no comment"),
        ("((a,b),c)\n", None, "expected ';' but found '('"),
        ("((a,b),O'Brien);", 9, "the quote that starts here is never closed"),
        ("((a,b),O'Brien);'", 9, "expected ',' or ')' but found 'Brien);'"),
        ("[&W x] (a,b,c);", 1, "'[&W x]' is no weight; expected a number of at least 0, such as 1/3 or 0.25"),
        ("[&W 1/0] (a,b,c);", 1, "is no weight"),
        ("[&W -1] (a,b,c);", 1, "is no weight"),
    ],
)
def test_a_broken_tree_is_named_by_file_line_and_column(broken, column, problem, tmp_path):
    path = tmp_path / "trees.nwk"
    for ends in ("\n", "\r\n", "\r"):
        path.write_bytes((GOOD * 2 + broken + "\n" + GOOD * 2000).replace("\n", ends).encode())
        with pytest.raises(ValueError, match=re.escape(problem)) as caught:
            read_trees(path)
        place = f"line 3, column {column}: " if column else "line 5, column 1: "
        assert str(caught.value).startswith(f"{path}, {place}")
        assert not isinstance(caught.value, NewickError)


@pytest.mark.parametrize(
    ("last", "column", "problem"),
    [
        ("((a:1,b:2):3,c:4)", 18, "expected ';' but the text ends"),
        ("((a:1,b:2", 10, "expected ',' or ')' but the text ends"),
        ("((a:1,'b:2):3,c:4);", 7, "the quote that starts here is never closed"),
        ("((a:1,b:2[):3,c:4);", 10, "the comment that starts here is never closed"),
    ],
)
def test_an_unfinished_text_is_refused(last, column, problem):
    with pytest.raises(ValueError, match=f"^the text, line 3, column {column}: {re.escape(problem)}"):
        read_trees(GOOD * 2 + last)


def test_the_first_fault_is_named_even_if_it_swallows_what_follows():
    with pytest.raises(ValueError, match=r"^the text, line 2, column 4: expected ',' or '\)' but found"):
        read_trees(GOOD + "((a'b),c);\n" + GOOD + "((a,'b'),c);\n" + GOOD)
    with pytest.raises(ValueError, match=r"^the text, line 2, column 5: expected a finite branch length"):
        read_trees(GOOD + "((a:1e999,b),c);\n" + GOOD + "((a,b),c;\n" + GOOD)


def test_columns_count_characters_not_bytes():
    with pytest.raises(ValueError, match="line 2, column 6: leaf 'c' does not occur"):
        read_trees("(日本,b);\n(日本,'c');".replace("'c'", " c"))


def test_many_hierarchies_are_written_one_per_line(tmp_path):
    rng = np.random.default_rng(0)
    made = [Hierarchy.from_merges(random_merges(9, rng), heights=rng.random(8)) for _ in range(20)]
    text = write_newick_file(made)
    assert text == "".join(write_newick(h) + "\n" for h in made)
    for name in ("trees.nwk", "trees.nwk.gz"):
        assert write_newick_file(made, tmp_path / name) is None
        assert list(read_trees(tmp_path / name)) == made
    file = io.StringIO()
    write_newick_file(made, file)
    assert file.getvalue() == text
