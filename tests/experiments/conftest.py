"""What the tests of scripts share: the scripts as modules, their settings made small, and figures coarse and closed.

A test file says which folder it is about: `FOLDER`, the names of its scripts as `MODULES`, and what is changed in its
settings as `SMALL`.
"""

from __future__ import annotations

import importlib
import sys
import tomllib

import pytest
from matplotlib.figure import Figure


@pytest.fixture(autouse=True)
def _coarse_figures(monkeypatch):
    """Pictures of few pixels, which nobody looks at, and all of them closed."""
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda self, *place, **options: save(self, *place, **options | {"dpi": 40}))
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def load(monkeypatch, request):
    """Import a script of the folder by name; it finds its neighbours as it does when it is run."""
    monkeypatch.syspath_prepend(str(request.module.FOLDER))
    for name in request.module.MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module
    for name in request.module.MODULES:
        sys.modules.pop(name, None)


@pytest.fixture
def small(tmp_path, request):
    """A file with all settings, small where they cost time."""
    sections = tomllib.loads((request.module.FOLDER / "settings.toml").read_text(encoding="utf-8"))
    lines = []
    for name, values in sections.items():
        changed = values | request.module.SMALL.get(name, {})
        lines += [f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in changed.items())]
    path = tmp_path / "small.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def _toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else repr(value)
