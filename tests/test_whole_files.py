"""Files are whole or not there, also when the disk is full."""

from __future__ import annotations

import contextlib
import errno
import os

import pytest

import palmette as pal
from palmette.whole_files import whole_file, write_whole

resource = pytest.importorskip("resource")


@contextlib.contextmanager
def full_after(size):
    """Files cannot grow beyond `size` bytes, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_leaves_a_good_report_as_it_was(tmp_path):
    data = pal.datasets.load_numerals()
    post = pal.HierarchyPosterior(pal.models.Dasgupta(data.similarity, beta=4.0, labels=data.labels))
    path = pal.report.write(post, tmp_path / "good.html")
    before = path.read_bytes()
    trees = post.sample(300, rng=0)
    nexus = tmp_path / "good.nex"
    nexus.write_text("good", encoding="utf-8")
    for write in (lambda: pal.report.write(post, path, title="new"), lambda: pal.interop.write_nexus(trees, nexus)):
        with full_after(4000), pytest.raises(OSError, match="good") as found:
            write()
        assert found.value.errno == errno.EFBIG
        assert os.path.basename(found.value.filename) in ("good.html", "good.nex")
    assert path.read_bytes() == before
    assert nexus.read_text(encoding="utf-8") == "good"
    assert {found.name for found in tmp_path.iterdir()} == {"good.html", "good.nex"}


def test_links_modes_and_devices(tmp_path):
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("old", encoding="utf-8")
    real.chmod(0o640)
    link.symlink_to(real)
    write_whole(link, "new")
    assert link.is_symlink()
    assert real.read_text(encoding="utf-8") == "new"
    assert real.stat().st_mode & 0o777 == 0o640
    write_whole(os.devnull, "nothing")
    assert not os.path.isfile(os.devnull)
    with pytest.raises(OSError, match="nowhere"), whole_file(tmp_path / "nowhere" / "a.txt"):
        pass
    with pytest.raises(ValueError, match="broken"), whole_file(real):
        raise ValueError("broken")
    assert real.read_text(encoding="utf-8") == "new"
