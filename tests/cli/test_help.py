"""The examples in the help of every command run as they stand there."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from palmette.cli import _COMMANDS

COMMANDS = [name for name in _COMMANDS if name not in ("jets", "demo")]


def examples(run, *command):
    code, out, err = run(*command, "--help")
    assert (code, err) == (0, "")
    found = [shlex.split(line)[1:] for line in out.splitlines() if line.strip().startswith("palmette ")]
    assert found
    return found


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_run_and_write_what_they_say(command, run, folder):
    pytest.importorskip("matplotlib")
    for words in examples(run, command):
        code, out, err = run(*words)
        assert (code, err) == (0, ""), (words, err)
        for name in re.findall(r"--(?:newick|table|nexus|plot|report|membership) (\S+)", " ".join(words)):
            assert (folder / name).stat().st_size > 0, name
        if "--json" in words:
            assert json.loads(out)["command"] == command
        else:
            assert "leaves" in out


def test_the_files_of_the_examples_are_written_by_the_demo(run, folder):
    for path in folder.iterdir():
        path.unlink()
    words, _ = examples(run, "demo")
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert sorted(out.split()) == sorted(path.name for path in folder.iterdir())
    assert "worlds.csv" in out


def test_every_command_has_its_line_in_the_help(run):
    code, out, _ = run("--help")
    assert code == 0
    for name, line in _COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(line[:30])}", out, re.MULTILINE)
        assert run(name, "--help")[0] == 0


def test_no_command_is_help(run):
    assert "Commands:" in "".join(run()[1:])
    assert "Commands:" in "".join(run("jets")[1:])
