"""What benchmarks and experiments take from the package is there: nobody runs them all after a change."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted([*ROOT.glob("benchmarks/*.py"), *ROOT.glob("experiments/**/*.py")])


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.relative_to(ROOT).as_posix())
def test_every_name_that_a_script_imports_is_there(script):
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "palmette":
            module = importlib.import_module(node.module)
            for name in (each.name for each in node.names):
                if not hasattr(module, name):
                    importlib.import_module(f"{node.module}.{name}")
