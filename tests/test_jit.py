"""Templates become kernels: one for each set of functions, each with a name of its own on disk."""

from __future__ import annotations

import math
import pickle
import re

import numpy as np
import pytest
from numba import float64, int64
from numba.core.dispatcher import Dispatcher
from other_processes import run

from palmette import HierarchyPosterior, _jit
from palmette._jit import (
    as_compiled,
    called,
    inline,
    kernel,
    reduction,
    specialise,
    specialise_called,
    specialise_inline,
)
from palmette.models import Dasgupta, SplitModel, Uniform
from palmette.models.features import feature_loader, subset_features
from palmette.numeric import largest
from palmette.passes.hierarchies.full import FullHierarchyPasses
from palmette.recursions.hierarchies.inside import solve_all
from palmette.recursions.hierarchies.separable.combine import max_level, sum_level

step = None  # put in by `specialise`


def template(x):
    """step(step(x))"""
    return step(step(x))


@inline
def double(x):
    return 2.0 * x


@inline
def increase(x):
    return x + 1.0


def test_a_template_is_compiled_with_the_functions_put_in():
    assert specialise(template, step=double)(3.0) == 12.0
    assert specialise(template, step=increase)(3.0) == 5.0
    assert template.__globals__["step"] is None


def test_the_same_functions_give_the_same_kernel_and_others_another():
    assert specialise(template, step=double) is specialise(template, step=double)
    assert specialise(template, step=double) is not specialise(template, step=increase)


def test_a_template_becomes_part_of_other_kernels():
    quadruple = specialise_inline(template, step=double)
    assert specialise(template, step=quadruple)(1.0) == 16.0
    assert specialise_inline(template, step=double) is quadruple


def test_a_users_function_is_never_cached_on_disk():
    foreign = specialise(template, step=double)
    foreign(1.0)
    assert foreign.stats.cache_path is None
    assert not foreign.stats.cache_hits


def test_a_part_lies_on_disk_under_a_name_of_its_own_if_it_is_the_packages():
    names = set()
    for make in (inline, reduction, called):
        part = make(largest.py_func)
        part.compile((float64[::1], int64))
        assert part.stats.cache_path
        assert _jit._source_digest("palmette.numeric") in part._cache._impl.filename_base
        names.add(part._cache._impl.filename_base)
    assert len(names) == 3
    assert largest.py_func.__qualname__ == "largest"
    double.compile((float64,))
    assert double.stats.cache_path is None


def test_what_kernels_call_is_the_same_function_inlined_or_not():
    twice, out_of_line = (make(template, step=double) for make in (specialise_inline, specialise_called))
    assert twice.targetoptions["forceinline"]
    assert not out_of_line.targetoptions["forceinline"]
    assert specialise(template, step=twice)(1.0) == specialise(template, step=out_of_line)(1.0) == 16.0


def test_a_part_that_is_called_from_python_gives_what_it_gives_in_a_kernel():
    assert double.targetoptions["no_cpython_wrapper"]
    assert double(3.0) == 6.0
    assert largest(np.array([1.0, 4.0, 2.0, 9.0]), 3) == 4.0


def test_a_kernel_that_another_one_calls_is_a_part_there():
    @kernel
    def more(x):
        return x + 1.0

    @kernel
    def twice(x):
        return more(more(x))

    assert twice(1.0) == 3.0
    assert twice.signatures
    assert not more.signatures  # no machine code of its own
    assert more(1.0) == 2.0


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


def kernels_of_the_package():
    for model in (Uniform(3), Dasgupta(np.ones((3, 3)))):
        yield subset_features(model)
        yield solve_all(FullHierarchyPasses(model).tables.log_psi)
    yield sum_level()
    yield max_level()


def test_the_name_of_a_kernel_carries_the_digest_of_its_sources_and_of_its_functions():
    names = {}
    for compiled in kernels_of_the_package():
        name = compiled.py_func.__qualname__
        assert name.endswith(f"_{_jit._source_digest(*compiled.py_func.modules)}")
        assert re.fullmatch(r"\w+_[0-9a-f]{16}_[0-9a-f]{16}", name)
        assert compiled.stats.cache_path
        names.setdefault(name, set()).add(id(compiled))
    assert all(len(kernels) == 1 for kernels in names.values())
    assert len(names) == 5  # separable models share their sums; their features differ


def test_a_plain_kernel_carries_the_digest_too_and_releases_the_gil():
    @kernel
    def triple(x):
        return 3.0 * x

    assert triple.py_func.__qualname__ == f"triple_{_jit._source_digest(__name__)}"
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


def test_what_was_put_into_a_template_counts_for_the_digest():
    inner = specialise_inline(template, step=feature_loader(1))
    outer = _jit._fill(template, {"step": inner})
    assert set(outer.modules) == {__name__, "palmette.models.features"}
    assert not _jit.is_ours(inline(outer))


def test_loaders_of_features_have_different_names():
    names = {feature_loader(k).py_func.__qualname__ for k in range(1, 9)}
    assert len(names) == 8


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
