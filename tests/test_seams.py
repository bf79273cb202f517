"""Kinds of models and of passes are asked by attributes and hooks: nobody outside tests which class one is."""

from __future__ import annotations

import ast
from functools import cache

import pytest
from sources import modules, nodes
from test_import_order import PACKAGE

import palmette.models

# Tests on classes of models that stay, by (module, class), each with a reason.
ALLOWED = {
    ("search.perturb", "CorrelationClusters"): "it makes models of the same kind, out of perturbed affinities",
    ("plot._pairs", "PartitionModel"): "what is no model is a matrix, which has no attribute to ask for",
    ("evidence.posterior", "HierarchyModel"): "what is no model are points",
}
MOST = 5


def classes_in(root, folder):
    """The names of the classes that are defined in a folder of a package."""
    return {
        node.name
        for name, source in modules(root)
        if name.split(".")[0] == folder
        for node in nodes(source)
        if isinstance(node, ast.ClassDef)
    }


def with_subclasses(root, names):
    """The same classes, and those that are made of them anywhere in a package."""
    found, before = set(names), None
    bases = {
        node.name: {base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", None) for base in node.bases}
        for _, source in modules(root)
        for node in nodes(source)
        if isinstance(node, ast.ClassDef)
    }
    while found != before:
        before = set(found)
        found |= {name for name, made_of in bases.items() if made_of & found}
    return found


# Of processes: what is the estimate or the evidence of one kind refuses others.
ALLOWED_PROCESSES = {
    ("coalescent.estimate_brownian", "Brownian"),
    ("coalescent.estimate_sites", "IndependentSites"),
    ("coalescent.evidence_rate", "IndependentSites"),
}
PROCESSES = {"Brownian", "ByColumn", "Coupled", "IndependentSites"}


@cache
def model_names():
    return with_subclasses(PACKAGE, classes_in(PACKAGE, "models") | set(palmette.models.__all__))


@cache
def passes_names():
    return {name for name in classes_in(PACKAGE, "passes") if name.endswith("Passes")}


def aliases(source):
    """What the names that a module gives on top level stand for."""
    for node in nodes(source)[0].body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, [name.id for name in ast.walk(node.value) if isinstance(name, ast.Name)]


def asked_classes(source, imported):
    """The classes that a source asks for by isinstance, is or in: in tuples and unions too, and by names for these."""
    known = {**imported, **dict(aliases(source))}
    for node in nodes(source):
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) in ("isinstance", "issubclass"):
            parts = list(ast.walk(node.args[1]))
        elif isinstance(node, ast.Compare):
            parts = [part for side in (node.left, *node.comparators) for part in named(side)]
        else:
            continue
        for part in parts:
            last = part.attr if isinstance(part, ast.Attribute) else getattr(part, "id", None)
            yield from known.get(last, [last])


def named(side):
    """What a side of a comparison names, by itself or in a tuple; what is called or asked of it is something else."""
    return side.elts if isinstance(side, ast.Tuple | ast.List | ast.Set) else [side]


def asked(root, kinds, is_asking):
    """(module, class) for every question in the folders that ask."""
    sources = dict(modules(root))
    public = {name: found for text in sources.values() for name, found in aliases(text) if not name.startswith("_")}
    asking = {name: text for name, text in sources.items() if is_asking(name.split(".")[0])}
    return [(name, kind) for name, text in asking.items() for kind in asked_classes(text, public) if kind in kinds]


def asked_of_models(root):
    return asked(root, model_names(), lambda folder: folder != "models")


def asked_of_passes(root):
    return asked(root, passes_names(), lambda folder: folder == "posterior")


def untyped_seams(root):
    """Where a trellis or passes, as a parameter, a variable, an attribute or an answer, are annotated with Any."""
    for name, source in modules(root):
        for node in nodes(source):
            if isinstance(node, ast.FunctionDef):
                pairs = [(node.name, node.returns)]
            elif isinstance(node, ast.arg):
                pairs = [(node.arg, node.annotation)]
            elif isinstance(node, ast.AnnAssign):
                pairs = [(getattr(node.target, "attr", None) or getattr(node.target, "id", ""), node.annotation)]
            else:
                continue
            for what, annotation in pairs:
                if what.strip("_") in ("trellis", "passes") and annotation is not None and _is_any(annotation):
                    yield f"{name}: {what}"


def _is_any(annotation):
    # Any itself, or a union with it, which is Any too.
    text = ast.unparse(annotation).strip("\"'")
    return any(part.strip() in ("Any", "typing.Any") for part in text.split("|"))


def test_few_ask_which_class_a_model_is():
    found = asked_of_models(PACKAGE)
    assert set(found) == ALLOWED.keys()
    assert len(found) <= MOST


def test_few_ask_which_class_a_process_is():
    assert classes_in(PACKAGE, "coalescent") >= PROCESSES
    assert set(asked(PACKAGE, PROCESSES, lambda folder: True)) == ALLOWED_PROCESSES


def test_no_posterior_asks_which_class_its_passes_are():
    assert {"FullHierarchyPasses", "SparseHierarchyPasses", "FullPartitionPasses"} <= passes_names()
    assert asked_of_passes(PACKAGE) == []


def test_trellises_and_passes_have_types():
    assert list(untyped_seams(PACKAGE)) == []


def planted(folder, text, tmp_path):
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "late.py").write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    "line",
    [
        "isinstance(model, Tempered)\n",
        "isinstance(model, pal.models.DirichletProcess)\n",
        "isinstance(model, str | Dasgupta)\n",
        "def late():\n    return isinstance(model, (str, SplitModel))\n",
        "KINDS = (Contrasts,)\nisinstance(model, KINDS)\n",
        "issubclass(kind, Model)\n",
        "maker is Dasgupta\n",
        "type(model) is not pal.models.Contrasts\n",
        "maker in (str, Dasgupta)\n",
        "KINDS = (Contrasts,)\nmaker not in KINDS\n",
        "isinstance(model, ConditionalClusters)\n",
    ],
)
def test_a_test_on_a_kind_of_model_is_noticed(line, tmp_path):
    assert len(asked_of_models(planted("plot", line, tmp_path))) == 1


def test_a_name_for_kinds_from_elsewhere_is_noticed(tmp_path):
    planted("sklearn", "KINDS = (Contrasts,)\n", tmp_path)
    assert len(asked_of_models(planted("plot", "isinstance(model, KINDS)\n", tmp_path))) == 1


def test_models_know_each_other(tmp_path):
    assert asked_of_models(planted("models", "isinstance(model, Tempered)\n", tmp_path)) == []


def test_a_test_on_a_kind_of_passes_is_noticed(tmp_path):
    assert len(asked_of_passes(planted("posterior", "isinstance(passes, FullHierarchyPasses)\n", tmp_path))) == 1


@pytest.mark.parametrize(
    "line",
    [
        "def ask(trellis: Any): ...\n",
        "def ask(*, passes: Any | None = None): ...\n",
        "passes: Any = self\n",
        "class A:\n    _trellis: Any\n",
        "class A:\n    def __init__(self):\n        self.passes: Any = None\n",
        "class A:\n    @property\n    def trellis(self) -> Any: ...\n",
    ],
)
def test_a_seam_without_a_type_is_noticed(line, tmp_path):
    assert len(list(untyped_seams(planted("posterior", line, tmp_path)))) == 1


def test_a_seam_with_a_type_is_none(tmp_path):
    text = "def ask(trellis: SparseTrellis | None, options: dict[str, Any]) -> Any: ...\n"
    assert list(untyped_seams(planted("posterior", text, tmp_path))) == []
