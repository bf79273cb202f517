import io
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_hierarchies import any_text, random_merges

from palmette.formats.tree_reader import _Reader
from palmette.hierarchy import Hierarchy
from palmette.interop import read_newick, read_trees, write_nexus

BEAST = """#NEXUS

Begin taxa;
	Dimensions ntax=4;
		Taxlabels
			Homo_sapiens
			'Pan troglodytes|1990.5'
			Gorilla@1
			Pongo-2
			;
End;
Begin trees;
	Translate
			1 Homo_sapiens,
			2 'Pan troglodytes|1990.5',
			3 Gorilla@1,
			4 Pongo-2
			;
tree STATE_0 [&lnP=-1234.5] = [&R] (((1:[&rate=1.0E-3]0.5,2:[&rate=0.25]0.5):[&rate=1.0]1.0,3:1.5E0):0.5,4:2.0);
tree STATE_1000 [&lnP=-1200] = [&R] ((1[&rate=0.1,height_95%_HPD={0.0,1.0E-5}]:0.25,3[&name="a;b"]:0.25)\
[&posterior=1.0]:1,(2:1,4:1)[&x={[1],2}]:0.25);
"""  # the run is still going on: there is no End

MRBAYES = """#NEXUS
[ID: 9409050143]
[Param: tree]
begin trees;
   translate
       1 Tarsius_syrichta,
       2 Lemur_catta,
       3 Homo_sapiens,
       4 Pan;
   tree rep.1 = ((2:1.000000e-01,3:1.000000e-01):1.0e-01,4:1.0e-01,1:1.0e-01);
   tree gen.1000 = [&U] ((2:1.0,4:1.0)0.98[&prob=9.8e-01,prob(percent)="98"]:1.0[&length_mean=1.0e+00],3:1.0,1:1.0);
   tree tree_3 [p = 0.105, P = 0.105] = [&W 0.105000] (1,(2,(3,4)));
end;
"""

PAUP = """#NEXUS

Begin trees;  [Treefile saved Wed Jul 26 17:17:34 2000]
[!
>Data file = /home/o'neill/primates.nex
>   [nested] settings;
]
	Translate
		1 A,
		2 'B''s kin',
		3 C,
		;
utree * PAUP_1 = [&U] [&W 1/3] (1,2,3);
tree 'PAUP 2' = [&R][&w 2/3] ((1,3),2);
EndBlock;
"""

APE = """#NEXUS
[R-package APE, Mon Jan  5 12:00:00 2015]

BEGIN TAXA;
	DIMENSIONS NTAX = 3;
	TAXLABELS
		t3
		t1
		t2
	;
END;
BEGIN TREES;
	TRANSLATE
		1	t3,
		2	t1,
		3	t2
	;
	TREE * UNTITLED = [&R] ((2:0.1234567891,3:1.5e-05):0.5,1:1);
	TREE * UNTITLED = [&R] (1,(2,3));
END;
"""

MESQUITE = """#nexus
[written today]
BEGIN TAXA;
	TITLE Untitled_Block_of_Taxa;
	DIMENSIONS NTAX=3;
	TAXLABELS [1] 'Homo sapiens' [2] b [3] c ;
	BLOCKID WM015a;
END;
BEGIN CHARACTERS;
	TITLE  'Tree; (a,b);';
	FORMAT DATATYPE = STANDARD GAP = - MISSING = ? SYMBOLS = "  0 1";
	MATRIX
	Homo_sapiens 01
	b (01)0 [; ( ]
	c ??
;
	TREE none = (x,y);
END;
BEGIN TREES;
	Title Trees;
	LINK Taxa = Untitled_Block_of_Taxa;
	TRANSLATE
[0] 		1 Homo_sapiens,
[1] 		2 b,
[2] 		3 c;
	TREE tree1=(1,(2,3));
END;
Begin Trees; [again, without TRANSLATE]
	TREE *second=[%color = 4 ](c,(Homo_sapiens,b))<name>;
	TREE third=[&R](3:1,('Homo sapiens':1,2:1):1);
END;
BEGIN FIGTREE;
	set appearance.branchColorAttribute="User selection";
END;
"""


def newicks(text):
    return [h.to_newick() for h in read_trees(text)]


def test_trees_of_beast_have_annotations_and_no_end():
    trees = read_trees(BEAST)
    assert trees.labels == ("Homo_sapiens", "Pan troglodytes|1990.5", "Gorilla@1", "Pongo-2")
    assert trees.names == ("STATE_0", "STATE_1000")
    assert newicks(BEAST) == [
        "(((Homo_sapiens:0.5,'Pan troglodytes|1990.5':0.5):1,Gorilla@1:1.5):0.5,Pongo-2:2);",
        "((Homo_sapiens:0.25,Gorilla@1:0.25):1,('Pan troglodytes|1990.5':1,Pongo-2:1):0.25);",
    ]


def test_trees_of_mrbayes_have_three_branches_at_the_root_and_probabilities():
    trees = read_trees(MRBAYES)
    assert trees.labels == ("Tarsius_syrichta", "Lemur_catta", "Homo_sapiens", "Pan")
    assert trees.names == ("rep.1", "gen.1000", "tree_3")
    assert trees.weights.tolist() == [1, 1, 0.105]
    assert [h.is_binary for h in trees] == [False, False, True]
    assert trees[1].to_newick() == "((Lemur_catta:1,Pan:1)0.98:1,Homo_sapiens:1,Tarsius_syrichta:1);"


def test_trees_of_paup_have_weights_stars_and_a_message():
    trees = read_trees(PAUP)
    assert trees.labels == ("A", "B's kin", "C")
    assert trees.names == ("PAUP_1", "PAUP 2")
    assert trees.weights.tolist() == [1 / 3, 2 / 3]
    assert newicks(PAUP) == ["(A,'B''s kin',C);", "((A,C),'B''s kin');"]


def test_trees_of_ape_are_read_in_the_order_of_taxlabels():
    trees = read_trees(APE)
    assert trees.labels == ("t3", "t1", "t2")
    assert trees.names == ("UNTITLED", "UNTITLED")
    assert newicks(APE) == ["((t1:0.1234567891,t2:1.5e-05):0.5,t3:1);", "(t3,(t1,t2));"]


def test_other_blocks_are_skipped_and_leaves_come_by_token_label_or_number():
    trees = read_trees(MESQUITE)
    assert trees.labels == ("Homo sapiens", "b", "c")
    assert trees.names == ("tree1", "second", "third")
    assert newicks(MESQUITE) == [
        "('Homo sapiens',(b,c));",
        "(c,('Homo sapiens',b));",
        "(c:1,('Homo sapiens':1,b:1):1);",
    ]


@pytest.mark.parametrize("text", [BEAST, MRBAYES, PAUP, APE, MESQUITE])
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_the_scanner_needs_no_help_with_any_of_them(text, ends, monkeypatch):
    expected = newicks(text)
    monkeypatch.delattr(_Reader, "_read_slowly")
    assert newicks(text.replace("\n", ends)) == expected


def test_without_taxlabels_and_translate_tokens_are_labels_and_underscores_stay():
    trees = read_trees("#NEXUS begin trees; tree one = (10,(b_c,'d e')); tree two = ('d e',(10,b_c)); end;")
    assert trees.labels == ("10", "b_c", "d e")


def test_translate_goes_before_labels_and_labels_before_numbers():
    swapped = "#NEXUS begin taxa; taxlabels 2 1 3; end; begin trees; {} tree t = (1,(2,3)); end;"
    assert read_trees(swapped.format(""))[0].to_newick() == "(1,(2,3));"
    assert read_trees(swapped.format("translate 1 2, 2 1;"))[0].to_newick() == "(2,(1,3));"
    numbered = "#NEXUS begin taxa; taxlabels a b c; end; begin trees; tree t = (1,(2,3)); end;"
    assert read_trees(numbered)[0].to_newick() == "(a,(b,c));"


@pytest.mark.parametrize(("known", "used"), [("'a b'", "a_b"), ("a_b", "'a b'")])
@pytest.mark.parametrize("form", ["taxlabels {} c; end; begin trees; tree t = ({},c)", "taxlabels {} c; end; {}"])
def test_an_underscore_stands_for_a_blank_only_where_there_is_no_other_meaning(known, used, form):
    translated = f"begin trees; translate 1 {used}, 2 c; tree t = (1,2)"
    text = "#NEXUS begin taxa; " + form.format(known, used if "tree t" in form else translated) + "; end;"
    assert read_trees(text).labels == (known.strip("'"), "c")
    both = "#NEXUS begin taxa; taxlabels 'a b' a_b; end; begin trees; tree t = (a_b,'a b'); end;"
    assert read_trees(both)[0].to_newick() == "(a_b,'a b');"


def test_every_block_has_its_own_translation_and_all_share_the_labels():
    text = """#NEXUS
    begin trees; translate 1 a, 2 b, 3 c; tree one = (1,(2,3)); end;
    begin trees; translate 1 c, 2 b, 3 a; tree two = (1,(2,3)); end;
    begin trees; tree three = ((a,c),b); end;
    #NEXUS
    begin trees; translate x a; translate x c, y b, z a; tree four = (z,(y,x)); end;"""
    assert read_trees(text).labels == ("a", "b", "c")
    assert newicks(text) == ["(a,(b,c));", "(c,(b,a));", "((a,c),b);", "(a,(b,c));"]


def test_the_labels_are_the_leaves_of_the_trees_not_all_of_taxlabels():
    text = "#NEXUS begin taxa; taxlabels a b c d e; end; begin trees; tree t = (d,(b,a)); end;"
    assert read_trees(text).labels == ("a", "b", "d")


def test_the_format_can_be_given():
    text = "begin trees; tree t = (a,b); end;"
    assert read_trees(text, format="nexus").names == ("t",)
    with pytest.raises(ValueError, match="line 1, column 7: expected ';' but found 'trees'"):
        read_trees(text)
    with pytest.raises(ValueError, match="line 1, column 8: expected ';' but found 'begin'"):
        read_trees("#NEXUS " + text, format="newick")
    assert read_trees("\ufeff \n#nexus " + text).names == ("t",)


def test_names_and_labels_outside_ascii_and_empty_names():
    text = "#NEXUS begin trees; translate é 日本, ü 'β α'; tree ö = (é,ü); tree '' = ('ü',é); tree naïve=é; end;"
    with pytest.raises(ValueError, match=f"line 1, column {text.index('=é') + 2}: leaf 'β α' is missing"):
        read_trees(text)
    trees = read_trees(text.replace("=é;", "=(ü,é:1);"))
    assert trees.labels == ("日本", "β α")
    assert trees.names == ("ö", "", "naïve")
    assert trees[2].to_newick() == "('β α',日本:1);"


START = "#NEXUS\nbegin taxa; taxlabels a b 'c d'; end;\nbegin trees;\n"
TREES = START + "translate 1 a, 2 b, 3 'c d';\ntree one = (1,(2,3));\n"


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        (TREES + "tree two = (1,(2,4));", 6, 18, "'4' is not a token of TRANSLATE, nor one of the labels"),
        (TREES + "tree two = (1,(2,b));", 6, 18, "leaf 'b' occurs twice, as '2' and as 'b'"),
        (TREES + "tree two = (1,(2,2));", 6, 18, "leaf '2' occurs twice, first on line 6"),
        (TREES + "tree two = (1,2);", 6, 12, "leaf 'c d' is missing, but occurs in the first tree (line 5)"),
        (TREES + "tree two = [&R] (1,(2,3);", 6, 25, "expected ',' or ')' but found ';'"),
        (TREES + "tree two (1,(2,3));", 6, 10, "expected '=' after the name of the tree but found '('"),
        (TREES + "tree = (1,(2,3));", 6, 6, "expected a name but found '='"),
        (TREES + "tree two = [&W one] (1,(2,3));", 6, 12, "'[&W one]' is no weight"),
        (TREES + "tree two = ;", 6, 12, "expected a leaf's label or '(' but found ';'"),
        (TREES + "tree two = (1,(2,3))", 6, 21, "expected ';' but the text ends"),
        (TREES + "tree two = (1,(2", 6, 17, "expected ',' or ')' but the text ends"),
        (TREES + "tree two", 6, 9, "expected '=' after the name of the tree but found ''"),
        (TREES + "tree", 6, 5, "expected a name but found ''"),
        (TREES + "tree two =", 6, 11, "expected a leaf's label or '(' but the text ends"),
        (TREES + "translate 1 a", 6, 1, "the command that begins here does not end; expected ';'"),
        (TREES + "tree 'two = (1,(2,3));\nend;", 6, 6, "the quote that starts here is never closed"),
        (TREES + "tree two = [&R (1,(2,3));\nend;", 6, 12, "the comment that starts here is never closed"),
        (TREES + "end; begin", 6, 6, "the command that begins here does not end; expected ';'"),
        (START + "tree one = (a,(b,7));", 4, 18, "'7' is not one of TAXLABELS, nor the number of one"),
        (START + "translate 1 a, 1 b;", 4, 16, "token '1' occurs twice in TRANSLATE"),
        (START + "translate 1 a, 2 a;", 4, 16, "'1' and '2' both stand for 'a' in TRANSLATE"),
        (START + "translate 1 a, 2 c d;", 4, 16, "expected a token and its label, then ',', but found '2 c d'"),
        (START + "translate 1 a, 2;", 4, 16, "expected a token and its label, then ',', but found '2'"),
        (START + "translate 1 a,\n2 e;", 5, 3, "'e' in TRANSLATE is not one of TAXLABELS"),
        (START + "translate 1 a: b;", 4, 14, "expected a label but found ':'"),
        ("#NEXUS begin taxa;\ntaxlabels a b a;", 2, 15, "'a' occurs twice in TAXLABELS"),
        ("#NEXUS begin taxa;\ntaxlabels a, b;", 2, 12, "expected a label but found ','"),
        ("#NEXUS begin 'trees; tree t = (a,b); end;", 1, 14, "the quote that starts here is never closed"),
        ("#NEXUS begin ; tree t = (a,b); end;", 1, 14, "expected a name but found ';'"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(text, line, column, problem, tmp_path):
    path = tmp_path / "trees.nex"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(f"{path}, line {line}, column {column}: {problem}")):
        read_trees(path)


@pytest.mark.parametrize("text", ["#NEXUS", "#NEXUS\n[nothing]", START + "end;", "#NEXUS tree t = (a,b);"])
def test_a_file_without_trees_is_refused(text, tmp_path):
    path = tmp_path / "trees.nex"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(f"{path} holds no tree; expected")):
        read_trees(path)


def test_a_broken_tree_is_named_before_what_comes_after_it():
    with pytest.raises(ValueError, match="line 6, column 17: expected ',' or"):
        read_trees(TREES + "tree two = (1,(2'x,3));\nbegin trees; translate 1 a, 1 b; tree 'three' = (1,2,3);")


@given(st.sampled_from([BEAST, MRBAYES, PAUP, APE, MESQUITE]), st.data())
def test_damaged_files_are_read_or_refused_with_a_place(text, data):
    at = data.draw(st.integers(0, len(text)))
    patch = data.draw(
        st.text(alphabet="()[],:;'=*_ \n1a", max_size=3) | st.sampled_from(["end;", "begin trees;", "tree"])
    )
    text = text[:at] + patch + text[at + data.draw(st.integers(0, 8)) :]
    try:
        trees, message = read_trees(text, format="nexus"), "the text holds no tree"
    except ValueError as problem:
        trees, message = [], str(problem)
    assert re.match(r"the text(, line \d+, column \d+: | holds no tree)", message)
    assert not trees or newicks(write_nexus(trees)) == [h.to_newick() for h in trees]


finite = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)


@st.composite
def many(draw):
    """Some hierarchies over the same labels, which are any text, with lengths and support here and there."""
    labels = draw(st.lists(any_text, min_size=1, max_size=7, unique=True))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    made = []
    for _ in range(draw(st.integers(1, 4))):
        h = Hierarchy.from_merges(random_merges(len(labels), rng), draw(st.permutations(labels)))
        some = st.lists(st.none() | finite, min_size=h.n_nodes, max_size=h.n_nodes)
        lengths, support = (np.array(draw(some), dtype=float) for _ in range(2))
        support[: h.n_leaves] = np.nan
        made.append(Hierarchy.from_parents(h.parents, h.labels, branch_lengths=lengths, support=support))
    return made


@given(many(), st.data())
def test_what_is_written_reads_back_the_same(hierarchies, data):
    size = {"min_size": len(hierarchies), "max_size": len(hierarchies)}
    names = data.draw(st.none() | st.lists(any_text, **size))
    weights = data.draw(st.none() | st.lists(st.floats(0, 1e300), **size))
    text = write_nexus(hierarchies, names=names, weights=weights)
    trees = read_trees(text)
    assert trees.labels == hierarchies[0].labels
    assert [h.to_newick() for h in trees] == [h.to_newick() for h in hierarchies]
    assert trees.names == tuple(names or [f"tree{i + 1}" for i in range(len(hierarchies))])
    assert trees.weights.tolist() == (weights or [1] * len(hierarchies))
    assert write_nexus(trees) == text


def test_what_is_said_of_roots_is_written_again():
    trees = read_trees("[&U] (a,b,(c,d)); [&R] [&W 2] ((a,b),(c,d)); ((a,b),(c,d));")
    text = write_nexus(trees)
    assert read_trees(text).rooted.tolist() == trees.rooted.tolist() == [0, 1, -1]
    assert text.count("[&") == 5  # a weight for each


def test_the_writer_quotes_what_other_programs_would_change():
    text = write_nexus([read_newick("(a_b,(c.1,'it''s'));")], names=["my tree"])
    assert "TAXLABELS a_b c.1 'it''s';" in text
    assert "TREE 'my tree' = [&R] (1,(2,3));" in text


def test_heights_are_written_as_branch_lengths():
    h = Hierarchy.from_merges([[0, 1], [2, 3]], heights=[1.0, 2.5])
    assert read_trees(write_nexus([h]))[0].heights.tolist() == h.heights.tolist()


def test_the_writer_takes_paths_and_files(tmp_path):
    made = [read_newick("((a,b),c);"), read_newick("(c,(b,a):0.5);")]
    text = write_nexus(made)
    file = io.StringIO()
    assert write_nexus(made, file) is None
    assert file.getvalue() == text
    for name in ("trees.nex", "trees.nex.gz"):
        assert write_nexus(iter(made), tmp_path / name) is None
        assert list(read_trees(str(tmp_path / name))) == made
    assert (tmp_path / "trees.nex").read_text() == text


def test_the_writer_refuses_what_cannot_be_one_file():
    made = [read_newick("((a,b),c);"), read_newick("((a,b),d);")]
    with pytest.raises(ValueError, match=r"hierarchy 1 has other leaves than hierarchy 0: .*missing: 'c'"):
        write_nexus(made)
    with pytest.raises(ValueError, match="there are no hierarchies to write"):
        write_nexus([])
    for names in (["a"], "ab", ["a", 1]):
        with pytest.raises(ValueError, match="names must be 2 strings"):
            write_nexus(made[:1] * 2, names=names)
    for weights in ([1], [1, -1], [1, np.nan], 1):
        with pytest.raises(ValueError, match="weights must be 2 finite numbers of at least 0"):
            write_nexus(made[:1] * 2, weights=weights)


def test_underscores_are_written_alike_in_newick_and_nexus():
    tree = Hierarchy.from_newick("((Taxon_1,'Taxon 2'),b);")
    assert tree.to_newick() == "((Taxon_1,'Taxon 2'),b);"
    text = write_nexus([tree])
    assert "TAXLABELS Taxon_1 'Taxon 2' b;" in text
    assert read_trees(text)[0] == tree
    both = Hierarchy.from_newick("(('a_1','a 1'),b);")
    text = write_nexus([both])
    assert "TAXLABELS 'a_1' 'a 1' 'b';" in text
    assert read_trees(text)[0] == both
