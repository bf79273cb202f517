"""Imports point down: every folder imports only from those below it, wherever the import stands."""

from __future__ import annotations

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from sources import modules, nodes

import palmette

PACKAGE = Path(palmette.__file__).parent
DESIGN = Path(__file__).parents[1] / "docs/design.md"

# From the bottom to the top. Those in one line do not import each other.
ORDER = [
    ["_version", "errors", "defaults", "array_types", "progress", "_extras", "_plain", "whole_files", "budget"],
    ["octets", "_immutable", "labels", "checks", "_jit"],
    ["_addresses", "_static", "clusters", "numeric", "hashing", "threads", "links"],
    ["formats", "drawing"],
    ["partition"],
    ["hierarchy"],
    ["trellis", "likelihoods"],
    ["models"],
    ["recursions", "regrafts"],
    ["passes"],
    ["posterior"],
    ["temperature"],
    ["sampling"],
    ["search"],
    ["similarity", "evaluate", "datasets", "ultrametric", "evidence"],
    ["coalescent"],
    ["batch"],
    ["jets"],
    ["simulate"],
    ["interop", "plot", "report", "sklearn"],
    ["__init__"],
    ["cli"],
    ["__main__"],
]
# Pairs (importing module, imported folder) that may point up, each with a reason.
EXCEPTIONS: dict[tuple[str, str], str] = {}
# Folders whose modules still import each other in a circle, if only for type checkers.
CIRCULAR = ["coalescent"]


def imported(source):
    """The parts of the package that a source imports anywhere: on top, in a function, for type checkers only."""
    for node in nodes(source):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "palmette":
            parts = node.module.split(".")[1:]
            yield from [parts[0]] if parts else [name.name for name in node.names]
        elif isinstance(node, ast.Import):
            for name in node.names:
                package, _, rest = name.name.partition(".")
                if package == "palmette":
                    yield rest.split(".")[0] or "__init__"


def upward_imports(root):
    level = {folder: height for height, folders in enumerate(ORDER) for folder in folders}
    for name, source in modules(root):
        own = name.split(".")[0]
        for folder in imported(source):
            here = folder if folder in level else "__init__"  # a name such as Hierarchy
            if here != own and level[here] >= level[own] and (name, folder) not in EXCEPTIONS:
                yield f"{name} imports {folder}"


def test_no_import_points_up():
    assert list(upward_imports(PACKAGE)) == []


def test_every_folder_has_its_place():
    found = {name.split(".")[0] for name, _ in modules(PACKAGE)}
    assert found == {folder for folders in ORDER for folder in folders}


@pytest.mark.parametrize(
    "line",
    [
        "from palmette.posterior import Draws\n",
        "from palmette import HierarchyPosterior\n",
        "import palmette.posterior.base\n",
        "def late():\n    from palmette.plot import heatmap\n",
        "if TYPE_CHECKING:\n    from palmette.search.posterior import posterior\n",
        "from palmette.passes.hierarchies import full\n",
    ],
)
def test_an_upward_import_is_noticed(line, tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models/late.py").write_text(line)
    assert len(list(upward_imports(tmp_path))) == 1


def test_a_downward_import_is_none(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models/late.py").write_text("from palmette.hierarchy import Hierarchy\nimport numpy\n")
    assert list(upward_imports(tmp_path)) == []


def test_no_exception_is_out_of_date():
    every = {(name, folder) for name, source in modules(PACKAGE) for folder in imported(source)}
    assert EXCEPTIONS.keys() <= every


def test_the_design_page_shows_the_same_order():
    drawn = re.search(r"<!-- order -->\n(.*?)\n<!-- end of order -->", DESIGN.read_text(encoding="utf-8"), re.DOTALL)
    rows = [re.findall(r"\w+", line) for line in drawn[1].splitlines() if re.search(r"\w", line)]
    assert rows == ORDER[::-1]


def imported_modules(root):
    """Which modules of a package each of its modules imports, wherever the import stands."""
    sources = {f"palmette.{name}": source for name, source in modules(root)}
    graph = {}
    for module, source in sources.items():
        wanted = [node for node in nodes(source) if isinstance(node, ast.ImportFrom) and node.module]
        pairs = [(node.module, f"{node.module}.{name.name}") for node in wanted for name in node.names]
        graph[module] = {part if part in sources else whole for whole, part in pairs} & sources.keys()
    return graph


def circle(root, but=()):
    """Modules that import each other in a circle, if there are some outside of these folders."""
    graph = imported_modules(root)
    kept = {name for name in graph if name.split(".")[1] not in but}
    try:
        TopologicalSorter({name: graph[name] & kept for name in kept}).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_no_modules_import_each_other_in_a_circle():
    assert circle(PACKAGE, CIRCULAR) == []


@pytest.mark.parametrize("folder", CIRCULAR)
def test_no_folder_is_called_circular_that_is_not(folder):
    assert circle(PACKAGE, [other for other in CIRCULAR if other != folder]) != []


def test_a_circle_for_type_checkers_is_noticed(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models/one.py").write_text("from palmette.models.two import Two\n")
    (tmp_path / "models/two.py").write_text("if TYPE_CHECKING:\n    from palmette.models import one\n")
    assert set(circle(tmp_path)) == {"palmette.models.one", "palmette.models.two"}
