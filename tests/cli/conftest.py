"""Commands as a person types them, in a folder with the files of `palmette demo --data`."""

from __future__ import annotations

import json
import shutil

import pytest
from click.testing import CliRunner

from palmette.cli import palmette
from palmette.cli.examples import write_examples


@pytest.fixture(scope="session")
def example_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    write_examples(folder)
    return folder


@pytest.fixture
def folder(example_files, tmp_path, monkeypatch):
    """A folder of one's own with the files, and the place where commands run."""
    for path in example_files.iterdir():
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(folder):
    """(exit code, stdout, stderr) of a command."""

    def command(*words, stdin=None):
        done = CliRunner().invoke(palmette, [str(word) for word in words], input=stdin)
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.exit_code, done.stdout, done.stderr

    return command


@pytest.fixture
def as_json(run):
    """The result of a command that goes well and says nothing on stderr."""

    def command(*words, stdin=None):
        code, out, err = run(*words, "--json", "--quiet", stdin=stdin)
        assert (code, err) == (0, "")
        return json.loads(out, parse_constant=lambda name: pytest.fail(f"the result holds {name}"))

    return command
