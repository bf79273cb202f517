"""Long runs: the same table whatever does the work, whatever dies, and however often it is begun again."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from palmette import batch
from palmette.batch import engines

pyarrow = pytest.importorskip("pyarrow")

CHUNKS = [np.arange(first, first + 10) for first in range(0, 100, 10)]


def square(chunk):
    return {"number": chunk, "square": chunk**2}


class Recorder:
    """A function of a chunk that remembers what it was asked."""

    def __init__(self, fail_at=None):
        self.asked, self.fail_at = [], fail_at

    def __call__(self, chunk):
        if self.fail_at is not None and int(chunk[0]) == self.fail_at:
            raise KeyboardInterrupt
        self.asked.append(int(chunk[0]))
        return square(chunk)


def die_once(chunk):
    """Kills its own process the first time that it sees 50; the file remembers."""
    marker = Path(os.environ["PALMETTE_TEST_MARKER"])
    if chunk[0] == 50 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return square(chunk)


@pytest.fixture
def marker(tmp_path, monkeypatch):
    monkeypatch.setenv("PALMETTE_TEST_MARKER", str(tmp_path / "marker"))
    return tmp_path / "marker"


def assert_whole(results):
    table = results.table()
    assert table["number"].to_pylist() == list(range(100))
    assert table["square"].to_pylist() == [x * x for x in range(100)]
    assert results.is_complete
    assert len(results) == 100
    assert not list(results.folder.glob(".part-*"))


def test_one_part_for_each_chunk_and_a_manifest(tmp_path):
    results = batch.run(square, CHUNKS, tmp_path / "run", settings={"a": 1})
    assert_whole(results)
    assert [part.name for part in results.parts] == [f"part-{k:06d}.parquet" for k in range(10)]
    manifest = json.loads((tmp_path / "run" / "_manifest.json").read_text())
    assert manifest["settings"]["a"] == 1
    assert [part["rows"] for part in manifest["parts"]] == [10] * 10
    assert sum(table.num_rows for table in results) == 100
    assert "complete" in repr(results)


def test_a_table_or_columns_are_the_same(tmp_path):
    one = batch.run(lambda chunk: pyarrow.table(square(chunk)), CHUNKS, tmp_path / "one")
    two = batch.run(square, CHUNKS, tmp_path / "two")
    assert one.table().equals(two.table())


def test_chunks_are_taken_one_at_a_time(tmp_path):
    taken, done = [], []

    def chunks():
        for k, chunk in enumerate(CHUNKS):
            taken.append(k)
            yield chunk

    def work(chunk):
        done.append(len(taken) - len(done))
        return square(chunk)

    batch.run(work, chunks(), tmp_path / "run")
    assert max(done) <= 2


def test_a_stopped_run_goes_on_where_it_stopped(tmp_path):
    first = Recorder(fail_at=40)
    with pytest.raises(KeyboardInterrupt):
        batch.run(first, CHUNKS, tmp_path / "run")
    assert first.asked == [0, 10, 20, 30]
    assert not batch.Results(tmp_path / "run").is_complete
    (tmp_path / "run" / ".part-000004-half.parquet").write_bytes(b"half")
    second = Recorder()
    results = batch.run(second, CHUNKS, tmp_path / "run")
    assert second.asked == [40, 50, 60, 70, 80, 90]
    assert_whole(results)
    third = Recorder()
    assert_whole(batch.run(third, CHUNKS, tmp_path / "run"))
    assert third.asked == []


def test_chunks_that_changed_are_done_again(tmp_path):
    batch.run(square, [CHUNKS[1], *CHUNKS[1:], np.arange(7)], tmp_path / "run")
    again = Recorder()
    assert_whole(batch.run(again, CHUNKS, tmp_path / "run"))
    assert again.asked == [0]


def test_one_may_say_what_the_content_of_a_chunk_is(tmp_path):
    class Named:
        def __init__(self, values, remark):
            self.values, self.remark = values, remark

        def __len__(self):
            return len(self.values)

    asked = []

    def work(chunk):
        asked.append(chunk.remark)
        return square(chunk.values)

    def go(remark, content):
        return batch.run(work, [Named(chunk, remark) for chunk in CHUNKS], tmp_path / "run", content=content)

    go("one", lambda chunk: chunk.values.tobytes())
    assert_whole(go("two", lambda chunk: chunk.values.tobytes()))
    assert set(asked) == {"one"}
    one = SimpleNamespace(content=CHUNKS[0])  # an attribute of this name means nothing
    assert len(batch.run(lambda chunk: square(chunk.content), [one], tmp_path / "other", sizes=lambda chunk: 1)) == 10


def test_another_run_is_refused_unless_it_may_be_overwritten(tmp_path):
    batch.run(square, CHUNKS[:3], tmp_path / "run", settings={"rate": 1.5, "seed": 0})
    with pytest.raises(ValueError, match=r"another run \(rate was 1\.5 and is 2\.0\)"):
        batch.run(square, CHUNKS, tmp_path / "run", settings={"rate": 2.0, "seed": 0})
    assert_whole(batch.run(square, CHUNKS, tmp_path / "run", settings={"rate": 2.0, "seed": 0}, overwrite=True))


def test_folders_that_are_none_of_ours(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError, match="is a file"):
        batch.run(square, CHUNKS, tmp_path / "file")
    with pytest.raises(FileNotFoundError, match=r"no _manifest\.json"):
        batch.Results(tmp_path)
    (tmp_path / "_manifest.json").write_text("{}")
    with pytest.raises(ValueError, match="not written by a run of palmette"):
        batch.run(square, CHUNKS, tmp_path)
    (tmp_path / "_manifest.json").write_text("{")
    with pytest.raises(ValueError, match="is not JSON"):
        batch.run(square, CHUNKS, tmp_path)


def test_an_error_in_the_work_is_not_swallowed(tmp_path):
    def work(chunk):
        raise ArithmeticError("no")

    with pytest.raises(ArithmeticError, match="no"):
        batch.run(work, CHUNKS, tmp_path / "run")


def test_threads_of_an_executor(tmp_path):
    with ThreadPoolExecutor(3) as pool:
        assert_whole(batch.run(square, CHUNKS, tmp_path / "run", engine=pool))
        assert pool.submit(int, "1").result() == 1  # it is not ours to close


@pytest.mark.slow
def test_processes_of_our_own(tmp_path):
    assert_whole(batch.run(square, CHUNKS, tmp_path / "run", engine=2))


def test_a_worker_that_dies_in_our_own_pool_changes_nothing(tmp_path, marker):
    assert_whole(batch.run(die_once, CHUNKS, tmp_path / "run", engine=np.int64(1)))
    assert marker.exists()


def test_a_worker_that_dies_in_a_given_pool_changes_nothing(tmp_path, marker):
    import multiprocessing

    with (
        ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool,
        pytest.warns(RuntimeWarning, match="the pool of workers broke"),
    ):
        assert_whole(batch.run(die_once, CHUNKS, tmp_path / "run", engine=pool))
    assert marker.exists()


class Fragile(Executor):
    """Breaks when it is asked for the fourth time."""

    def __init__(self):
        self.asked = 0

    def submit(self, fn, /, *args, **kwargs):
        self.asked += 1
        if self.asked >= 4:
            raise BrokenProcessPool("gone")
        future = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_a_pool_that_breaks_while_it_is_asked(tmp_path):
    with pytest.warns(RuntimeWarning, match="the pool of workers broke"):
        assert_whole(batch.run(square, CHUNKS, tmp_path / "run", engine=Fragile()))


def test_a_pool_that_keeps_breaking_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "_own_pool", lambda workers: Fragile())
    with pytest.warns(RuntimeWarning, match="the pool of workers broke"):
        assert_whole(batch.run(square, [*CHUNKS], tmp_path / "run", engine=1))


@pytest.mark.parametrize("engine", [0, -1, True, 2.5, object()])
def test_other_engines_are_refused(tmp_path, engine):
    with pytest.raises(TypeError, match="expected None"):
        batch.run(square, CHUNKS, tmp_path / "run", engine=engine)


KILLED = """
import sys, time
import numpy as np
from palmette import batch

def slow(chunk):
    time.sleep(0.1)
    return {"number": chunk, "square": chunk**2}

batch.run(slow, [np.arange(k, k + 10) for k in range(0, 100, 10)], sys.argv[1])
"""


def test_a_killed_process_leaves_whole_parts(tmp_path):
    folder = tmp_path / "run"
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(folder)])
    while not (folder / "part-000003.parquet").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    rest = Recorder()
    results = batch.run(rest, CHUNKS, folder)
    assert_whole(results)
    assert 0 < len(rest.asked) <= 6


def test_progress_counts_rows_and_says_how_fast(tmp_path, capsys, monkeypatch):
    def slow(chunk):
        time.sleep(0.02)
        return square(chunk)

    monkeypatch.setattr("palmette.progress._PATIENCE", 0.05)
    monkeypatch.setattr("palmette.progress._INTERVAL", 0.01)
    batch.run(slow, CHUNKS[:6], tmp_path / "run", total=60, unit="numbers", progress=True)
    err = capsys.readouterr().err
    assert "numbers, " in err
    assert " a second" in err
    assert "left" in err


def test_digests_do_not_depend_on_the_process():
    assert pickle.dumps(CHUNKS[0], protocol=5) == pickle.dumps(np.arange(10), protocol=5)


def test_the_folder_is_a_table_for_those_who_read_folders(tmp_path):
    pandas = pytest.importorskip("pandas")
    results = batch.run(square, CHUNKS, tmp_path / "run")
    assert len(results.parts) > 1
    assert pandas.read_parquet(tmp_path / "run")["square"].tolist() == results.table()["square"].to_pylist()
    assert all(path.name[0] == "_" for path in (tmp_path / "run").iterdir() if path not in results.parts)
