"""The program starts at once: nothing heavy is imported before it is needed."""

from __future__ import annotations

import subprocess
import sys

import pytest

import palmette as pal

HEAVY = ("numpy", "scipy", "numba", "matplotlib", "pyarrow")
OPTIONAL = ("matplotlib", "awkward", "vector", "fastjet", "pyarrow")


def imported_by(statements):
    show = "print([name for name in sys.modules if '.' not in name or name.startswith('palmette')])"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{statements}\n{show}"], capture_output=True, text=True, check=True
    )
    return set(eval(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["nothing"], []])
def test_help_imports_nothing_heavy(words):
    run = f"from palmette.cli import palmette\ntry: palmette({words!r})\nexcept SystemExit: pass"
    assert imported_by(run).isdisjoint(HEAVY)


def test_help_of_a_command_does_not_import_the_compiler():
    commands = ["hierarchies", "partitions", "coalescent", "ultrametric", "trees", "demo", "jets"]
    lines = [[name] for name in commands] + [["jets", name] for name in ("simulate", "infer", "compare", "fit")]
    run = "from palmette.cli import palmette\n"
    run += "".join(f"try: palmette({[*words, '--help']!r})\nexcept SystemExit: pass\n" for words in lines)
    assert "numba" not in imported_by(run)


def test_the_package_imports_what_is_used_and_no_more():
    assert imported_by("import palmette").isdisjoint(HEAVY)
    modules = imported_by("import palmette as pal\npal.Hierarchy")
    assert "palmette.hierarchy" in modules
    assert "palmette.models" not in modules


def test_every_name_is_there_and_listed():
    assert {*pal.__all__} <= {*dir(pal)}
    for name in pal.__all__:
        assert getattr(pal, name) is not None
    namespace: dict[str, object] = {}
    exec("from palmette import *", namespace)
    assert {*pal.__all__} <= {*namespace}
    assert pal.posterior.HierarchyPosterior is pal.HierarchyPosterior


def test_other_modules_are_attributes_too_and_unknown_names_are_errors():
    assert pal.clusters.__name__ == "palmette.clusters"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = pal.nothing
    with pytest.raises(ImportError):
        exec("from palmette import nothing")


def test_names_work_in_whatever_order_they_are_asked_for_and_leave_optional_packages_alone():
    assert {"jets", "plot"} <= {*pal.__all__}
    statements = "\n".join(f"from palmette import {name}" for name in reversed(pal.__all__))
    modules = imported_by(statements)
    assert "numpy" in modules
    assert modules.isdisjoint(OPTIONAL)
