import sys
from collections import Counter

import numpy as np
import pytest

from palmette import jets as package
from palmette.jets import Jets, Writer, count, read, stream, write
from palmette.simulate import GinkgoJets, ginkgo

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

SUFFIXES = [".csv", ".tsv", ".parquet"]
files = sys.modules[package.read.__module__]


def random_jets(sizes, seed=0, **arguments):
    rng = np.random.default_rng(seed)
    momenta = rng.normal(size=(sum(sizes), 4)) * 10.0 ** rng.integers(-300, 300, (sum(sizes), 4))
    return Jets(momenta, np.cumsum([0, *sizes]), **arguments)


NAMED = random_jets([2, 1, 3, 4], ids={"event": [3, 3, 1, 2], "jet": [0, 1, 0, 0], "kind": ["q", "g", "q", "gluon"]})


def same_jets(one, two):
    np.testing.assert_array_equal(one.momenta, two.momenta)
    np.testing.assert_array_equal(one.offsets, two.offsets)
    assert set(one.ids) == set(two.ids)
    for name in one.ids:
        np.testing.assert_array_equal(one.ids[name], two.ids[name])
    return True


def text(path, *lines):
    path.write_text("\n".join(lines) + "\n")
    return path


def long_table(jets, **more):
    """One row per particle, by a plain loop."""
    rows = [(jet.ids, p) for jet in jets for p in jet.momenta]
    columns = {name: [ids[name] for ids, _ in rows] for name in jets.ids}
    return pa.table(columns | {name: [p[i] for _, p in rows] for i, name in enumerate(("E", "px", "py", "pz"))} | more)


# What is written is read again.


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_written_is_read_again_to_the_last_bit(tmp_path, suffix):
    write(NAMED, tmp_path / f"jets{suffix}")
    by = ("event", "jet", "kind")
    assert same_jets(read(tmp_path / f"jets{suffix}", by=by), NAMED)
    assert [file.name for file in tmp_path.iterdir()] == [f"jets{suffix}"]


def test_simulated_jets_come_back_with_truth_and_law(tmp_path):
    jets = ginkgo(50, preset="w", rng=1)
    write(jets, tmp_path / "jets.parquet")
    again = read(tmp_path / "jets.parquet")
    assert isinstance(again, GinkgoJets)
    assert again.law == jets.law
    assert same_jets(again, jets)
    assert again.hierarchies == jets.hierarchies


def test_truth_without_a_law_comes_back(tmp_path):
    jets = Jets(np.ones((4, 4)), [0, 0, 3, 4], children=[[0, 1], [2, 3]])
    write(jets, tmp_path / "jets.parquet")
    again = read(tmp_path / "jets.parquet")
    assert type(again) is Jets
    np.testing.assert_array_equal(again.children, jets.children)
    assert again.n_leaves.tolist() == [0, 3, 1]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_jets_are_legal(tmp_path, suffix):
    path = tmp_path / f"jets{suffix}"
    write(Jets.from_list([]), path)
    assert len(read(path)) == 0
    assert list(stream(path)) == []
    with Writer(path):
        pass
    assert len(read(path)) == 0


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_numbers_that_are_none_are_kept(tmp_path, suffix):
    jets = Jets.from_list([[[np.nan, np.inf, -np.inf, -0.0]], [[1, 2, 3, 5e-324]]])
    write(jets, tmp_path / f"jets{suffix}")
    assert same_jets(read(tmp_path / f"jets{suffix}"), jets)


# Tables of particles.


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("block", [64, 300, 1 << 20])
@pytest.mark.parametrize("batch_jets", [1, 3, 1000])
def test_tables_of_particles_match_a_loop_over_rows(tmp_path, monkeypatch, suffix, block, batch_jets):
    monkeypatch.setattr(files, "_BLOCK", max(block, 128))
    monkeypatch.setattr(files, "_ROWS", max(block // 64, 1))
    jets = random_jets(
        [3, 1, 7, 2, 2, 5, 1, 1], ids={"event": [0, 0, 0, 5, 5, 2, 2, 9], "jet": [0, 1, 2, 0, 1, 0, 1, 0]}
    )
    table = long_table(jets, pdg_id=list(range(22)))
    path = tmp_path / f"jets{suffix}"
    if suffix == ".parquet":
        pq.write_table(table, path)
    else:
        rows = [table.column_names, *zip(*(map(repr, column.to_pylist()) for column in table.columns), strict=True)]
        text(path, *({".csv": ",", ".tsv": "\t"}[suffix].join(row) for row in rows))
    parts = list(stream(path, batch_jets))
    assert [len(part) for part in parts] == [batch_jets] * (8 // batch_jets) + [8 % batch_jets] * (8 % batch_jets > 0)
    assert same_jets(Jets.concatenate(parts), jets)
    assert count(path) is None


def test_columns_are_found_whatever_their_case_and_order(tmp_path):
    path = text(tmp_path / "jets.csv", "PZ, Py,Jet_ID,ENERGY,px,weight", "4,3,7,1,2,9", "4,3,8,1,2,9")
    jets = read(path)
    assert jets.momenta.tolist() == [[1, 2, 3, 4]] * 2
    assert {name: column.tolist() for name, column in jets.ids.items()} == {"Jet_ID": [7, 8]}


def test_whole_numbers_may_turn_into_others_further_down(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_BLOCK", 64)
    rows = [f"{i},1,0,0,2" for i in range(40)]
    jets = read(text(tmp_path / "jets.csv", "event,px,py,pz,E", *rows, "77,1.5,0,0,2"))
    assert jets.momenta[-1].tolist() == [2, 1.5, 0, 0]


def test_ids_that_are_asked_for_name_the_jets(tmp_path):
    path = text(tmp_path / "jets.csv", "fold,event,px,py,pz,E", "a,1,0,0,0,1", "b,1,0,0,0,2", "b,2,0,0,0,3")
    assert read(path).n_leaves.tolist() == [2, 1]
    assert read(path, by="fold").n_leaves.tolist() == [1, 2]
    assert read(path, by=["FOLD", "event"]).ids["fold"].tolist() == ["a", "b", "b"]


@pytest.mark.parametrize("block", [64, 1 << 20])
def test_a_jet_that_comes_back_is_named(tmp_path, monkeypatch, block):
    monkeypatch.setattr(files, "_BLOCK", block)
    rows = [f"{event},{jet},0,0,0,1" for event in (3, 1, 2) for jet in range(9)]
    path = text(tmp_path / "jets.csv", "event,jet,px,py,pz,E", *rows, "1,4,0,0,0,1")
    with pytest.raises(ValueError, match=r"event = 1, jet = 4 comes back in .*jets.csv.*sort by event, jet"):
        read(path)
    path = text(tmp_path / "names.csv", "jet,px,py,pz,E", *(f"{name},0,0,0,1" for name in ["a", *"bcdefgh" * 9, "a"]))
    with pytest.raises(ValueError, match="comes back"):
        read(path)


def test_nested_lists_and_tables_of_one_file_agree(tmp_path):
    pq.write_table(long_table(NAMED), tmp_path / "long.parquet")
    write(NAMED, tmp_path / "lists.parquet")
    assert same_jets(read(tmp_path / "long.parquet", by=("event", "jet", "kind")), read(tmp_path / "lists.parquet"))


# Tables of jets.


@pytest.mark.parametrize("kind", ["list_", "large_list", "fixed"])
def test_lists_of_any_kind_are_read(tmp_path, kind):
    lists = pa.list_(pa.float32(), 2) if kind == "fixed" else getattr(pa, kind)(pa.float32())
    column = pa.array([[1.0, 2.0], [3.0, None]], lists)
    pq.write_table(pa.table(dict.fromkeys(("energy", "px", "py", "pz"), column)), tmp_path / "jets.parquet")
    jets = read(tmp_path / "jets.parquet")
    np.testing.assert_array_equal(jets.momenta[:, 1], [1, 2, 3, np.nan])
    assert jets.ids["jet"].tolist() == [0, 1]


def test_a_list_that_is_missing_is_a_jet_without_particles(tmp_path):
    column = pa.array([[1.0], None, []])
    columns = dict.fromkeys(("E", "px", "py", "pz"), column) | {"name": ["a", None, "c"], "extra": [[1], [2], [3]]}
    pq.write_table(pa.table(columns), tmp_path / "jets.parquet")
    jets = read(tmp_path / "jets.parquet")
    assert jets.n_leaves.tolist() == [1, 0, 0]
    assert {name: column.tolist() for name, column in jets.ids.items()} == {"name": ["a", "", "c"]}


def test_names_that_are_repeated_as_a_dictionary_are_read(tmp_path):
    columns = dict.fromkeys(("E", "px", "py", "pz"), pa.array([[1.0], [2.0]]))
    table = pa.table(columns | {"kind": pa.array(["q", "g"]).dictionary_encode(), "pt": [1.5, 2.5]})
    pq.write_table(table, tmp_path / "jets.parquet")
    assert list(read(tmp_path / "jets.parquet").ids) == ["kind", "pt"]
    assert read(tmp_path / "jets.parquet", by="kind").ids["kind"].tolist() == ["q", "g"]


def test_a_folder_is_read_in_the_order_of_names(tmp_path):
    jets = ginkgo(30, rng=2)
    for name, first in (("b", 10), ("a", 0), ("c", 20)):
        write(jets[first : first + 10], tmp_path / f"part-{name}.parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".hidden.parquet").touch()
    assert same_jets(read(tmp_path), jets)
    assert read(tmp_path).law == jets.law
    assert count(tmp_path) == 30
    assert [len(part) for part in stream(tmp_path, 12)] == [12, 12, 6]


def test_a_jet_does_not_go_on_in_the_next_file(tmp_path):
    for name in "ab":
        text(tmp_path / f"{name}.csv", "jet,px,py,pz,E", "0,0,0,0,1")
    with pytest.raises(ValueError, match=r"jet = 0 comes back in .*b.csv"):
        read(tmp_path)


def test_jets_without_names_are_numbered_through_all_files(tmp_path):
    for name in "ab":
        columns = dict.fromkeys(("E", "px", "py", "pz"), pa.array([[1.0], [2.0]]))
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    assert [part.ids["jet"].tolist() for part in stream(tmp_path, 3)] == [[0, 1, 2], [3]]


# Writing in batches.


def test_each_batch_is_a_row_group(tmp_path):
    jets = ginkgo(30, rng=2)
    with Writer(tmp_path / "jets.parquet") as writer:
        for first in range(0, 30, 12):
            writer.write(jets[first : first + 12])
    assert same_jets(read(tmp_path / "jets.parquet"), jets)
    metadata = pq.ParquetFile(tmp_path / "jets.parquet").metadata
    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [12, 12, 6]
    assert count(tmp_path / "jets.parquet") == 30


def test_text_grows_batch_by_batch(tmp_path):
    with Writer(tmp_path / "jets.csv") as writer:
        writer.write(NAMED[:1])
        writer.write(NAMED[1:])
    assert same_jets(read(tmp_path / "jets.csv", by=("event", "jet", "kind")), NAMED)
    assert (tmp_path / "jets.csv").read_text().startswith("event,jet,kind,E,px,py,pz\n3,0,")


def write_and_stop(path):
    with Writer(path) as writer:
        writer.write(NAMED)
        raise RuntimeError("stop")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_was_not_finished_is_not_there(tmp_path, suffix):
    path = tmp_path / f"jets{suffix}"
    write(NAMED[:1], path)
    with pytest.raises(RuntimeError, match="stop"):
        write_and_stop(path)
    assert list(tmp_path.iterdir()) == [path]
    assert len(read(path, by="event")) == 1


def test_a_closed_writer_takes_no_more(tmp_path):
    writer = Writer(tmp_path / "jets.parquet")
    writer.write(NAMED)
    writer.close()
    writer.close()
    with pytest.raises(ValueError, match="is closed"):
        writer.write(NAMED)


OTHERS = {
    "of no shower": lambda: Jets.from_list([[[1, 0, 0, 0]]]),
    "of another shower": lambda: ginkgo(3, rate=2.0, rng=1),
    "with other names": lambda: random_jets([2], ids={"event": [1]}),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_batches_of_another_kind_are_refused(tmp_path, other):
    with Writer(tmp_path / "jets.parquet") as writer:
        writer.write(ginkgo(3, rng=1))
        with pytest.raises(ValueError, match="write another file"):
            writer.write(other())
    assert len(read(tmp_path / "jets.parquet")) == 3


@pytest.mark.parametrize(
    ("jets", "name", "message"),
    [
        (Jets.from_list([[[1, 0, 0, 0]], []]), "x.csv", "jet = 1 has no particles"),
        (random_jets([1, 1], ids={"event": [1, 1]}), "x.csv", "event = 1 comes back"),
        (random_jets([1], ids={"Energy": [1]}), "x.parquet", "'Energy'; at least one is needed, and E, energy"),
        (random_jets([1], ids={}), "x.csv", "called nothing; at least one is needed"),
        (NAMED, "x.root", "suffix '.root'; expected .parquet, .csv or .tsv"),
    ],
)
def test_what_cannot_be_written_is_said(tmp_path, jets, name, message):
    with pytest.raises(ValueError, match=message):
        write(jets, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


# What cannot be read.


@pytest.mark.parametrize(
    ("lines", "arguments", "message"),
    [
        (["jet,px,py,E", "1,2,3,4"], {}, "no column pz; needed are E .*there are jet, px, py, E"),
        (["px,py,pz,E", "1,2,3,4"], {}, "no column that names the jet.*there are px, py, pz, E"),
        (["jet,px,py,pz,E", "1,2,3,4,5"], {"by": "event"}, "no column 'event'.*there are jet, px"),
        (
            ["jet,px,py,pz,E", "1,2,3,4,5", "1,2,x,4,5"],
            {},
            "jets.csv cannot be read: .*'x'.*expected a table with numbers",
        ),
        (["jet,px,py,pz,E", "1,2,3,4,5", "1,2,3"], {}, "jets.csv cannot be read: .*Expected 5 columns, got 3"),
        (["jet,px,py,pz,E", ",2,3,4,5"], {}, "column jet of .* has empty entries"),
        (["jet,px,py,pz,E", "1,2,3,4,5"], {"batch_jets": 0}, "batch_jets is 0; it must be a whole number"),
    ],
)
def test_text_that_is_no_table_of_particles_is_refused(tmp_path, lines, arguments, message):
    with pytest.raises(ValueError, match=message):
        list(stream(text(tmp_path / "jets.csv", *lines), **arguments))


def lists(**columns):
    return {name: [[1.0, 2.0]] for name in ("E", "px", "py", "pz")} | columns


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"E": [[1.0]], "px": [[1.0]]}, "no column py, pz"),
        (lists(px=[[1.0]]), "in row 0 of .*, px has 1 entries, but E has 2"),
        (lists(px=[["a", "b"]]), "column px of .* holds string; expected numbers"),
        (lists(px=[1.0]), "column px of .* holds double where other columns hold lists"),
        (lists(children=[[0]]), r"children has 1 entries, not 2\(n − 1\) = 2"),
        (lists(children=[[0.5, 1.0]]), "children of .* must hold whole numbers"),
        ({"jet": [1], "E": ["a"], "px": [1.0], "py": [1.0], "pz": [1.0]}, "column E of .* holds string"),
        (
            {"jet": [None, 1], "E": [1, 1], "px": [1, 1], "py": [1, 1], "pz": [1, 1]},
            "column jet of .* has empty entries",
        ),
    ],
)
def test_parquet_that_is_no_table_of_jets_is_refused(tmp_path, columns, message):
    pq.write_table(pa.table(columns), tmp_path / "jets.parquet")
    with pytest.raises(ValueError, match=message):
        read(tmp_path / "jets.parquet")


def test_files_that_are_none_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*jets.csv"):
        stream(tmp_path / "jets.csv")
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere"):
        Writer(tmp_path / "nowhere" / "jets.csv")
    with pytest.raises(ValueError, match=r"holds no .parquet, .csv, .tsv file"):
        read(tmp_path)
    (tmp_path / "empty.csv").touch()
    with pytest.raises(ValueError, match="is empty; expected a line with the names"):
        read(tmp_path / "empty.csv")
    (tmp_path / "false.parquet").write_text("not Parquet")
    for verb in (read, count):
        with pytest.raises(ValueError, match=r"false.parquet cannot be read"):
            verb(tmp_path / "false.parquet")
    (tmp_path / "jets.root").touch()
    with pytest.raises(ValueError, match=r"suffix '.root'"):
        count(tmp_path / "jets.root")


def test_ids_that_come_back_are_found_among_many_batches():
    from palmette.jets._unique_ids import SeenIds

    rng = np.random.default_rng(0)
    found = Counter()
    for trial in range(50):
        keys = [(int(a), int(b)) for a, b in rng.integers(0, 30, (30, 2))]
        seen, is_new = SeenIds(), len(set(keys)) == len(keys)
        parts = np.array_split(np.array(keys), rng.integers(1, 8))
        try:
            for part in parts:
                seen.add({"event": part[:, 0], "jet": part[:, 1]}, f"trial {trial}")
        except ValueError:
            found["twice"] += 1
            assert not is_new
        else:
            found["once"] += 1
            assert is_new
    assert min(found["twice"], found["once"]) > 5


# Momenta by other names, and as records.


def kinematics(jets):
    """pt, eta, phi, mass by plain formulas."""
    E, px, py, pz = jets.momenta.T
    pt = np.hypot(px, py)
    return {
        "pt": pt,
        "eta": np.arcsinh(pz / pt),
        "phi": np.arctan2(py, px),
        "mass": np.sqrt(E**2 - px**2 - py**2 - pz**2),
    }


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_particles_by_pt_eta_phi_and_mass(tmp_path, suffix):
    jets = ginkgo(7, rng=2)
    columns = {"Jet": np.repeat(jets.ids["jet"], jets.n_leaves)} | {n.upper(): c for n, c in kinematics(jets).items()}
    path, table = tmp_path / f"jets{suffix}", pa.table(columns)
    if suffix == ".csv":
        text(path, ",".join(columns), *(",".join(map(repr, row.values())) for row in table.to_pylist()))
    else:
        pq.write_table(table, path)
    found = read(path)
    np.testing.assert_allclose(found.momenta, jets.momenta, rtol=1e-9)
    np.testing.assert_array_equal(found.offsets, jets.offsets)
    assert count(path) is None


@pytest.mark.parametrize("energy", ["mass", "m", "energy"])
@pytest.mark.parametrize("along", ["eta", "theta", "pz"])
def test_jets_with_lists_of_records(tmp_path, energy, along):
    jets = ginkgo(7, rng=2)
    given = kinematics(jets)
    columns = {
        "pt": given["pt"],
        "phi": given["phi"],
        energy: jets.momenta[:, 0] if energy == "energy" else given["mass"],
    }
    theta = np.arctan2(given["pt"], jets.momenta[:, 3])
    columns[along] = {"eta": given["eta"], "theta": theta, "pz": jets.momenta[:, 3]}[along]
    records = [
        dict(zip(columns, row, strict=True)) for row in zip(*(c.tolist() for c in columns.values()), strict=True)
    ]
    lists = [records[a:b] for a, b in zip(jets.offsets[:-1], jets.offsets[1:], strict=True)]
    mass = np.arange(7.0)  # a number for each jet, which is none of its particles
    pq.write_table(
        pa.table({"event": range(7), "mass": mass, "constituents": [*lists[:6], None]}), tmp_path / "jets.parquet"
    )
    found = read(tmp_path / "jets.parquet", by="event")
    np.testing.assert_allclose(found.momenta, jets[:6].momenta, rtol=1e-9)
    assert found.n_leaves.tolist() == [*jets.n_leaves[:6].tolist(), 0]
    assert found.ids["event"].tolist() == list(range(7))
    assert count(tmp_path / "jets.parquet") == 7


def test_two_columns_of_particles_are_one_too_many(tmp_path):
    one = [[{"E": 5.0, "px": 3.0, "py": 0.0, "pz": 0.0}]]
    pq.write_table(pa.table({"tracks": one, "towers": one}), tmp_path / "jets.parquet")
    with pytest.raises(ValueError, match="several columns of particles, tracks, towers; keep one"):
        read(tmp_path / "jets.parquet")


def test_what_awkward_writes_is_read(tmp_path):
    ak = pytest.importorskip("awkward")
    jets = ginkgo(7, rng=2)
    ak.to_parquet(jets.to_awkward(), str(tmp_path / "jets.parquet"))
    found = read(tmp_path / "jets.parquet")
    np.testing.assert_array_equal(found.momenta, jets.momenta)
    np.testing.assert_array_equal(found.offsets, jets.offsets)
    named = ak.zip({"event": np.arange(7) + 3, "particles": jets.to_awkward()}, depth_limit=1)
    ak.to_parquet(named, str(tmp_path / "named.parquet"))
    assert read(tmp_path / "named.parquet").ids["event"].tolist() == list(range(3, 10))


def test_jets_of_parts_with_the_same_ids_are_told_apart(tmp_path):
    jets = ginkgo(3, rng=2)
    both = Jets.concatenate([jets, ginkgo(2, rng=3)])
    assert both.ids["part"].tolist() == [0, 0, 0, 1, 1]
    assert both.ids["jet"].tolist() == [0, 1, 2, 0, 1]
    assert both.law == jets.law
    more = Jets.concatenate([both, jets[:1], both])
    assert more.ids["part"].tolist() == [0, 0, 0, 1, 1, 2, 3, 3, 3, 4, 4]
    for suffix in SUFFIXES:
        write(more, tmp_path / f"jets{suffix}")
        assert same_jets(read(tmp_path / f"jets{suffix}"), more)
    apart = Jets.concatenate([jets, ginkgo(2, first=3, rng=2)])
    assert apart.ids["jet"].tolist() == [0, 1, 2, 3, 4]
    assert set(apart.ids) == {"jet"}
