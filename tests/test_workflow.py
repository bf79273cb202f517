"""The workflow runs what can be run on a desk, on the versions of Python that the package says it is for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WORKFLOW = ROOT / ".github" / "workflows" / "check.yml"

pytestmark = pytest.mark.skipif(not WORKFLOW.exists(), reason="a source distribution has no workflow")


def test_every_step_is_a_make_target_or_the_check_itself():
    steps = re.findall(r"- run: (.*)", WORKFLOW.read_text())
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert "bash .ci/run" in steps
    assert all(step.removeprefix("make ") in targets for step in steps if step != "bash .ci/run")


def test_it_runs_on_every_version_that_the_package_names():
    named = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    versions = re.findall(r'"(3\.\d+)"', re.search(r"python: (\[.*\])", WORKFLOW.read_text())[1])
    told = [kind.rpartition(" ")[2] for kind in named["classifiers"] if "Python :: 3." in kind]
    assert versions == told
    assert named["requires-python"] == f">={versions[0]}"
