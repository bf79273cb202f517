"""Kernels carry the digest of their sources; C functions are made of a template and of a model's functions."""

from __future__ import annotations

import ast
import ctypes
import math
import pickle
from pathlib import Path

import numpy as np
import pytest
from numba import types
from numba.core.dispatcher import Dispatcher
from other_processes import run
from sources import modules, nodes

from palmette import HierarchyPosterior, _jit
from palmette._addresses import NUMBERS, c_function, caller, pointer, vector
from palmette._jit import as_compiled, inline, inline_with, kernel, maker
from palmette._plain import IS_PLAIN
from palmette.models import Contrasts, SplitModel, Uniform
from palmette.models.c_functions import features_of
from palmette.recursions.hierarchies.inside import solve
from palmette.recursions.hierarchies.separable.combine import max_level, sum_level

pytestmark = pytest.mark.skipif(IS_PLAIN, reason="nothing is compiled")

step = None  # put in by `c_function`


def template(values, n, out):
    given, made = vector(values, 0, n), vector(out, 0, n)
    for i in range(n):
        made[i] = step(step(given[i]))


def decorators(node):
    for one in getattr(node, "decorator_list", ()):
        called = one.func if isinstance(one, ast.Call) else one
        yield getattr(called, "id", "")


def functions_with(*names):
    for module, source in modules(Path(_jit.__file__).parent):
        for node in nodes(source):
            if isinstance(node, ast.FunctionDef) and set(decorators(node)) & set(names):
                yield module, node


def known_in(module):
    """The functions that a module defines or imports from the package, by the names that it calls them."""
    (source,) = (text for name, text in modules(Path(_jit.__file__).parent) if name == module)
    for node in nodes(source):
        if isinstance(node, ast.FunctionDef):
            yield node.name, (module, node.name)
        if isinstance(node, ast.ImportFrom):
            yield from ((one.asname or one.name, ((node.module or "")[8:], one.name)) for one in node.names)


def test_who_borrows_arrays_calls_nobody_who_makes_some():
    """Nobody would count them down: they would stay for good."""
    makers = {(module, node.name) for module, node in functions_with("maker")}
    borrowers = list(functions_with("inline", "called", "reduction", "step"))
    assert len(makers) > 20
    assert len(borrowers) > 200
    for module, node in borrowers:
        known = dict(known_in(module))
        for each in ast.walk(node):
            if isinstance(each, ast.Call) and isinstance(each.func, ast.Name):
                assert known.get(each.func.id) not in makers, f"{module}.{node.name} calls {each.func.id}"


def test_who_borrows_arrays_returns_none():
    """Whoever gets it would count it down, and free it too early. `conftest.py` looks at all that was compiled."""
    for name, node in functions_with("inline", "called", "reduction", "step"):
        arrays = {
            each.value.id for each in ast.walk(node) if isinstance(each, ast.Subscript) and hasattr(each.value, "id")
        }
        for each in ast.walk(node):
            if isinstance(each, ast.Return) and each.value is not None:
                values = each.value.elts if isinstance(each.value, ast.Tuple) else [each.value]
                assert not arrays & {getattr(value, "id", "") for value in values}, f"{name}.{node.name}"


@inline
def double(x):
    return 2.0 * x


@inline
def increase(x):
    return x + 1.0


EACH = types.void(NUMBERS, types.int64, NUMBERS)
call_each = caller(EACH)


@kernel
def apply(address, values, out):
    call_each(address, (pointer(values, 1), values.size - 1, pointer(out, 0)))


def test_a_kernel_calls_whatever_function_it_is_given_the_address_of():
    values, out = np.array([7.0, 1.0, 3.0]), np.zeros(2)
    for function, expected in ((double, [4.0, 12.0]), (increase, [3.0, 5.0])):
        apply(c_function(template, EACH, step=function).address, values, out)
        assert out.tolist() == expected
    assert len(apply.signatures) == 1
    assert template.__globals__["step"] is None


def test_the_same_functions_give_the_same_c_function_and_others_another():
    assert c_function(template, EACH, step=double) is c_function(template, EACH, step=double)
    assert c_function(template, EACH, step=double).address != c_function(template, EACH, step=increase).address


def test_what_has_an_address_can_be_called_by_anybody():
    made = c_function(template, EACH, step=increase)
    numbers = ctypes.POINTER(ctypes.c_double)
    call = ctypes.CFUNCTYPE(None, numbers, ctypes.c_int64, numbers)(made.address)
    values, out = np.array([1.0, 2.5]), np.zeros(2)
    call(values.ctypes.data_as(numbers), 2, out.ctypes.data_as(numbers))
    assert out.tolist() == [3.0, 4.5]


def test_a_function_made_of_others_is_named_by_them():
    def twice(function):
        @inline_with(function)
        def both(x):
            return function(function(x))

        return both

    four, two = twice(double), twice(increase)
    assert four.py_func.__qualname__ != two.py_func.__qualname__
    assert four.py_func.modules == (__name__,)

    @kernel
    def run(x):
        return four(x) + two(x)

    assert run(3.0) == 12.0 + 5.0


def test_parts_make_no_arrays_unless_they_say_so():
    @inline
    def forgotten(n):
        return np.zeros(n)

    @maker
    def said(n):
        return np.zeros(n)

    @kernel
    def wrong(n):
        return forgotten(n).sum()

    @kernel
    def right(n):
        return said(n).sum()

    assert right(3) == 0.0
    with pytest.raises(Exception, match=r"NRT|returning of array"):
        wrong(3)


SENT = """
    import cloudpickle
    from palmette._jit import kernel
    from palmette.models import SplitModel

    class Sizes(SplitModel):
        n_features = 1

        @staticmethod
        def features(theta, n, size, sums, pairs, out):
            out[0] = size

        @staticmethod
        def score(theta, parent, left, right):
            return -parent[0]

    score = Sizes.score

    @kernel
    def four(x):
        return score((), (2.0 * x,), (), ())

    four(1.0)  # what was compiled can be sent, too
    print(cloudpickle.dumps((Sizes(3), four)).hex())
"""


def test_a_model_and_a_kernel_of_a_script_can_be_sent_to_another_process():
    pytest.importorskip("cloudpickle")
    sent, problems = run(SENT).communicate(timeout=60)
    assert sent, problems
    model, four = pickle.loads(bytes.fromhex(sent))
    assert HierarchyPosterior(model).log_partition == pytest.approx(math.log(3) - 5.0)
    assert four(2.0) == -4.0


def test_the_name_of_a_kernel_carries_the_digest_of_its_sources_and_it_lies_on_disk():
    for compiled in (solve, sum_level, max_level):
        name = compiled.py_func.__qualname__
        assert name.endswith(f"_{_jit._source_digest(compiled.py_func.__module__)}")
        assert compiled.stats.cache_path


def test_c_functions_of_built_in_models_lie_on_disk_and_a_users_is_compiled_anew():
    features_of(Contrasts([[0.0], [1.0]]))
    assert features_of(Uniform(2)) != features_of(Contrasts([[0.0], [1.0]]))
    assert _jit.all_ours(Contrasts.features.py_func)
    assert not _jit.all_ours(double.py_func)


def test_a_plain_kernel_carries_the_digest_too_and_releases_the_gil():
    @kernel
    def triple(x):
        return 3.0 * x

    where = "test_a_plain_kernel_carries_the_digest_too_and_releases_the_gil.<locals>"
    assert triple.py_func.__qualname__ == f"{where}.triple_{_jit._source_digest(__name__)}"
    assert triple.targetoptions["nogil"] is True
    assert triple(2.0) == 6.0


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of our name in which `top` imports `middle`, that imports `bottom`; `beside` is on its own."""
    (tmp_path / "deep").mkdir()
    sources = {
        "top": "from palmette.deep import (\n    middle,\n)\n",
        "deep/middle": "from palmette.bottom import ONE\n",
        "bottom": "ONE = 1\n",
        "beside": "TWO = 2\n",
    }
    for name, text in sources.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.setattr(_jit, "_ROOT", tmp_path)
    yield tmp_path
    _forget_sources()


def _forget_sources():
    _jit._source.cache_clear()
    _jit._source_digest.cache_clear()


@pytest.mark.parametrize(
    ("edited", "changes"), [("top", True), ("deep/middle", True), ("bottom", True), ("beside", False)]
)
def test_an_edit_of_what_a_kernel_is_made_of_changes_its_digest(package, edited, changes):
    _forget_sources()
    before = _jit._source_digest("palmette.top")
    with (package / f"{edited}.py").open("a") as file:
        file.write("THREE = 3\n")
    _forget_sources()
    assert (_jit._source_digest("palmette.top") != before) is changes


def test_what_a_function_is_made_of_counts_for_its_digest():
    @inline_with(Contrasts.features)
    def made(x):
        return x

    assert set(made.py_func.modules) == {__name__, "palmette.models.contrasts"}
    assert not _jit.is_ours(made)


def test_what_is_compiled_already_is_taken_as_it_is_and_plain_functions_are_compiled_once():
    def plain(x):
        return x

    assert as_compiled(double) is double
    assert isinstance(as_compiled(plain), Dispatcher)
    assert as_compiled(plain) is as_compiled(plain)


def test_the_functions_of_a_users_model_are_compiled_when_the_class_is_made():
    class Plain(SplitModel):
        n_features = 1

        @staticmethod
        def features(theta, n, size, sums, pairs, out):
            out[0] = size

        @staticmethod
        def score(theta, parent, left, right):
            return 0.0

    class Other(Plain):
        @staticmethod
        def score(theta, parent, left, right):
            return -1.0

    assert isinstance(Plain.features, Dispatcher)
    assert Other.features is Plain.features
    assert Other.score is not Plain.score
    assert Plain(3).merge_score is None


def test_minus_infinity_survives_the_compiler_options():
    @kernel
    def worst(values):
        top = -np.inf
        for x in values:
            top = max(top, x)
        return top - 1.0

    assert worst(np.full(9, -np.inf)) == -np.inf
    assert worst(np.array([-np.inf, 2.0])) == 1.0


def test_a_function_without_a_module_is_a_users():
    made: dict = {}
    exec("def twice(x):\n    return 2 * x", made)
    made["twice"].__module__ = None
    function = _jit.as_compiled(made["twice"])
    assert not _jit.is_ours(function)
