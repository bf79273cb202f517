import pickle
import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from random_hierarchies import any_text, hierarchies

from palmette.hierarchy import Hierarchy
from palmette.interop import NewickError, read_newick, write_newick

finite = st.floats(allow_nan=False, allow_infinity=False, width=64, min_value=-1e300, max_value=1e300)


@st.composite
def decorated(draw):
    """A hierarchy with any labels, and with lengths and support at some of its nodes."""
    h = draw(hierarchies(labels=any_text))
    some = st.lists(st.none() | finite, min_size=h.n_nodes, max_size=h.n_nodes)
    lengths = np.array(draw(some), dtype=float)
    support = np.array(draw(some), dtype=float)
    support[: h.n_leaves] = np.nan
    return Hierarchy.from_parents(h.parents, h.labels, branch_lengths=lengths, support=support)


def same(one, two):
    return (one is None and two is None) or np.array_equal(one, two, equal_nan=True)


@given(decorated())
def test_what_is_written_reads_back_the_same(h):
    again = read_newick(write_newick(h))
    assert again == h
    assert write_newick(again) == write_newick(h)
    again = again.aligned_to(h.labels)
    values = {c: i for i, c in enumerate(again.clusters())}
    order = [values[c] for c in h.clusters()]
    assert same(h.branch_lengths, None if again.branch_lengths is None else again.branch_lengths[order])
    assert same(h.support, None if again.support is None else again.support[order])


HARD_LABELS = [
    *(
        "",
        "'",
        "''",
        "a b",
        " a",
        "a_b",
        "(",
        "[x]",
        "]",
        "a:1",
        "a;b",
        "\n",
        "\r\n",
        "<b>",
        "1e5",
        "日本",
        '"',
    ),
    *("\ufeff", "\ud800", "\0", "\x1c", "\xa0", "{a}", ",", "_", "-"),
]


@pytest.mark.parametrize("label", HARD_LABELS)
@given(other=any_text)
def test_any_label_survives(label, other):
    for names in {(label,), (label, other), (other, label)}:
        if len(set(names)) == len(names):
            h = Hierarchy.from_merges([[0, 1]][: len(names) - 1], names)
            assert read_newick(write_newick(h)).labels == names


# All characters, since to say which ones a codec has takes Hypothesis a second.
anything = st.text(st.characters(exclude_categories=()), max_size=30)


@given(st.text(alphabet="()[],:;' ab1.e-_\n\ufeff", max_size=40) | anything)
@example("(" * 5000)
@example("'" * 4999)
@example("[" * 5000)
@example("(a:1e400,b);")
@example("((a:1e308):1e308,b);")
@example("(a:1e308,b:1e308);")
@example("(a:-1e308,(b:1e308,c:-1e308):1e308);")
@example("(a:" + "9" * 5000 + ",b);")
@example("(a,b)" + "9" * 5000 + ";")
@example("(a:１,b);")
def test_any_text_either_parses_or_raises_a_newick_error(text):
    try:
        h = read_newick(text)
    except NewickError as problem:
        position = problem.position
        found = None
    else:
        position, found = 0, h
    assert 0 <= position <= len(text)
    if found is not None:
        assert read_newick(write_newick(found)) == found
        assert np.isfinite(found.heights).all()


@given(decorated(), st.data())
def test_damaged_trees_either_parse_or_raise_a_newick_error(h, data):
    text = write_newick(h)
    at = data.draw(st.integers(0, len(text)))
    patch = data.draw(st.text(alphabet="()[],:;'a1", max_size=2))
    skip = data.draw(st.integers(0, 2))
    try:
        found = read_newick(text[:at] + patch + text[at + skip :])
    except NewickError:
        return
    assert found.n_leaves >= 1


@given(decorated(), st.randoms(use_true_random=False))
def test_comments_and_white_space_change_nothing(h, random):
    blanks = ["", " ", "\n\t", "[a comment]", "[nested [comments] (too)]", "[&R]", "[it's]"]
    tokens = re.findall(r"'(?:[^']|'')*'|[(),:;]|[^\s()\[\]:;,']+", write_newick(h))
    spaced = "".join(random.choice(blanks) + token for token in tokens) + random.choice(blanks)
    again = read_newick(spaced)
    assert write_newick(again) == write_newick(h)


def test_leaves_are_numbered_in_the_order_of_the_text():
    h = read_newick("(c,(a,b));")
    assert h.labels == ("c", "a", "b")
    assert h.leaf_order.tolist() == [0, 1, 2]
    assert write_newick(h) == "(c,(a,b));"


@pytest.mark.parametrize("number", ["1", "1.", ".5", "-2", "+2", "1e-5", "1.5E+3", "0.1", "007"])
def test_branch_lengths_come_in_every_decimal_form(number):
    assert read_newick(f"(a:{number},b);").branch_lengths[0] == float(number)


def test_missing_lengths_are_nan_and_none_at_all_is_none():
    assert same(read_newick("(a:1,b);").branch_lengths, [1, np.nan, np.nan])
    assert read_newick("(a,b);").branch_lengths is None


def test_the_root_may_have_a_length():
    assert write_newick(read_newick("(a:1,b:2):3;")) == "(a:1,b:2):3;"


def test_numeric_inner_labels_are_support_and_others_are_dropped():
    h = read_newick("((a,b)95,(c,d)Primates,(e,f)'0.5',(g,h)1/100,(i,j)nan)root;")
    assert same(h.support[h.n_leaves :], [95, np.nan, 0.5, np.nan, np.nan, np.nan])
    assert write_newick(h) == "((a,b)95,(c,d),(e,f)0.5,(g,h),(i,j));"
    assert read_newick("((a,b)Primates,c);").support is None


def test_support_is_written_from_a_mapping_or_an_array():
    h = read_newick("((a,b)7,(c,d)8);")
    assert write_newick(h, {frozenset({2, 3}): 0.25, frozenset({1, 2}): 0.5}) == "((a,b),(c,d)0.25);"
    assert write_newick(h, {frozenset({"a", "b"}): 1}) == "((a,b)1,(c,d));"
    assert write_newick(h, [9, 9, 9, 9, 0.1, 0.2, np.nan]) == "((a,b)0.1,(c,d)0.2);"
    assert write_newick(h) == "((a,b)7,(c,d)8);"


def test_support_of_unknown_leaves_or_of_wrong_length_is_refused():
    h = read_newick("((a,b),c);")
    with pytest.raises(ValueError, match="leaf 9 does not exist"):
        write_newick(h, {frozenset({9}): 0.5})
    with pytest.raises(ValueError, match=r"support has shape \(2,\); give one number per node \(5\)"):
        write_newick(h, [0.5, 0.5])
    with pytest.raises(ValueError, match="support must be finite"):
        write_newick(h, {frozenset({0, 1}): float("inf")})


def test_lengths_can_be_left_out():
    assert write_newick(read_newick("(a:1,b:2);"), branch_lengths=False) == "(a,b);"


def test_underscores_are_kept_and_need_no_quotes():
    h = read_newick("(Homo_sapiens,'Pan_paniscus');")
    assert h.labels == ("Homo_sapiens", "Pan_paniscus")
    assert write_newick(h) == "(Homo_sapiens,Pan_paniscus);"


def test_nodes_with_one_child_are_skipped_and_their_lengths_added():
    assert write_newick(read_newick("((a:1)0.9:2,b:3);")) == "(a:3,b:3);"
    assert write_newick(read_newick("((((a,b)5:1)6:1):1,c);")) == "((a,b)5:3,c);"
    assert write_newick(read_newick("((a)x,b);")) == "(a,b);"
    assert write_newick(read_newick("(a);")) == "a;"


def test_a_byte_order_mark_is_passed_over():
    assert read_newick("\ufeff(a,b);") == read_newick("(a,b);")


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("", 0, "expected a leaf's label or '(' but the text ends"),
        (";", 0, "expected a leaf's label or '(' but found ';'"),
        ("()", 1, "expected a leaf's label or '(' but found ')'"),
        ("(a,);", 3, "expected a leaf's label or '(' but found ')'"),
        ("(,a);", 1, "expected a leaf's label or '(' but found ','"),
        ("(a,:1);", 3, "expected a leaf's label or '(' but found ':'"),
        ("(a,b", 4, "expected ',' or ')' but the text ends"),
        ("(a,b;", 4, "expected ',' or ')' but found ';'"),
        ("(a b,c);", 3, "expected ',' or ')' but found 'b'"),
        ("(a(b,c));", 2, "expected ',' or ')' but found '('"),
        ("(a'b',c);", 2, "expected ',' or ')' but found 'b'"),
        ("(a,b)", 5, "expected ';' but the text ends"),
        ("(a,b));", 5, "expected ';' but found ')'"),
        ("a,b;", 1, "expected ';' but found ','"),
        ("(a,b)0.5 0.6;", 9, "expected ';' but found '0.6'"),
        ("(a,b);(c,d);", 6, "expected the end of the text, which may hold one tree, but found '('"),
        ("(a:,b);", 3, "expected a finite branch length but found ','"),
        ("(a:x,b);", 3, "expected a finite branch length but found 'x'"),
        ("(a:inf,b);", 3, "expected a finite branch length but found 'inf'"),
        ("(a:1e999,b);", 3, "expected a finite branch length but found '1e999'"),
        ("(a:'1',b);", 3, "expected a finite branch length but found '1'"),
        ("(a:1:2,b);", 4, "expected ',' or ')' but found ':'"),
        ("(a:1 x,b);", 5, "expected ',' or ')' but found 'x'"),
        ("(a,'b);", 3, "the quote that starts here is never closed"),
        ("(a,'b''", 3, "the quote that starts here is never closed"),
        ("(a,[b);", 3, "the comment that starts here is never closed"),
        ("(a,[[b]);", 3, "the comment that starts here is never closed"),
        ("(a],b);", 2, "']' closes no comment"),
        ("(a,(b,a));", 6, "leaf 'a' occurs twice, first at character 1"),
        ("(a:1e308,b:1e308);", 0, "branch_lengths add up to more than a float can hold"),
    ],
)
def test_malformed_text_is_refused_with_position_and_expectation(text, position, message):
    with pytest.raises(NewickError, match=re.escape(message)) as caught:
        read_newick(text)
    assert caught.value.position == position
    assert str(caught.value).endswith(f"(at character {position})")


def test_a_newick_error_is_a_value_error_and_survives_pickling():
    with pytest.raises(ValueError, match="not a Newick tree") as caught:
        read_newick("(")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.position) == (str(caught.value), 1)


def test_messages_quote_only_a_part_of_very_long_text():
    with pytest.raises(NewickError) as caught:
        read_newick(f"(a:{'x' * 100_000},b);")
    assert len(str(caught.value)) < 200


def test_only_text_is_read():
    with pytest.raises(TypeError, match="must be a string, not a bytes"):
        read_newick(b"(a,b);")


@pytest.mark.parametrize("text", ["'" + "a" * 200_000, "[" * 200_000, "(" * 200_000, "''" * 100_000])
def test_long_malformed_text_is_refused_without_quadratic_work(text):
    with pytest.raises(NewickError):
        read_newick(text + "(")
