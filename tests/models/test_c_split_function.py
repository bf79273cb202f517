"""A function in C is a model like others: the same answers as the same function in Python."""

from __future__ import annotations

import copy
import ctypes
import math
import pickle
import shutil
import subprocess

import numba
import numpy as np
import pytest

import palmette as pal
from palmette.clusters import size_of
from palmette.models import CompiledSplitFunction, CSplitFunction, with_prior

SOURCE = """
#include <math.h>
#include <stdint.h>

double uneven(int64_t left, int64_t right, const double *theta, int64_t n_theta) {
    int l = __builtin_popcountll(left), r = __builtin_popcountll(right);
    if (n_theta > 1 && l + r > theta[1]) return -INFINITY;
    return -theta[0] * abs(l - r) + 0.25 * (double)(left & 1);
}
"""


def uneven(left, right, strength):
    return -strength * abs(size_of(left) - size_of(right)) + 0.25 * (left & 1)


@numba.cfunc("float64(int64, int64, CPointer(float64), int64)")
def from_numba(left, right, theta, n_theta):
    difference = 0
    for i in range(63):
        difference += ((left >> i) & 1) - ((right >> i) & 1)
    return -theta[0] * abs(difference) + 0.25 * (left & 1)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """Compiled by the machine's own compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("c")
    source, made = folder / "uneven.c", folder / "uneven.so"
    source.write_text(SOURCE.replace("#include <math.h>", "#include <math.h>\n#include <stdlib.h>"))
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", str(made), str(source)], check=True)
    return ctypes.CDLL(str(made))


def same_as_compiled(model, twin):
    one, two = pal.HierarchyPosterior(model), pal.HierarchyPosterior(twin)
    assert one.log_partition == pytest.approx(two.log_partition, abs=1e-12)
    assert one.map() == two.map()
    assert one.entropy == pytest.approx(two.entropy, abs=1e-10)
    assert one.cluster_probability([0, 1]) == pytest.approx(two.cluster_probability([0, 1]), abs=1e-12)
    assert list(one.sample(3, rng=0)) == list(two.sample(3, rng=0))


@pytest.mark.parametrize("n", [2, 6, 13])
def test_a_function_in_c_says_what_the_same_one_in_python_says(library, n):
    model, twin = CSplitFunction(n, library.uneven, theta=[0.7]), CompiledSplitFunction(n, uneven, args=[0.7])
    same_as_compiled(model, twin)
    same_as_compiled(with_prior(model, "yule"), with_prior(twin, "yule"))


def test_an_address_a_function_of_ctypes_and_one_of_numba_are_the_same(library):
    address = ctypes.cast(library.uneven, ctypes.c_void_p).value
    models = [CSplitFunction(5, given, theta=[1.0]) for given in (address, library.uneven, from_numba)]
    assert len({pal.HierarchyPosterior(model).log_partition for model in models}) == 1


def test_searches_chains_and_batches_take_it():
    model = CSplitFunction(60, from_numba, theta=[0.3])
    twin = CompiledSplitFunction(60, uneven, args=[0.3])
    assert pal.search.greedy(model).hierarchy == pal.search.greedy(twin).hierarchy
    chains = [pal.sampling.sample_hierarchies(each, sweeps=20, rng=0, progress=False) for each in (model, twin)]
    np.testing.assert_allclose(chains[0].log_potentials, chains[1].log_potentials, rtol=1e-12)
    small = [CSplitFunction(n, from_numba, theta=[0.3]) for n in (2, 5, 7)]
    expected = [pal.HierarchyPosterior(each).log_partition for each in small]
    np.testing.assert_allclose(pal.batch.log_partitions(small), expected, rtol=1e-13)


def test_impossible_splits_are_minus_infinity(library):
    model = CSplitFunction(4, library.uneven, theta=[0.0, 2.0])
    assert pal.HierarchyPosterior(model).log_partition == -math.inf


def test_what_is_no_log_potential_is_refused_when_the_model_is_made():
    @numba.cfunc("float64(int64, int64, CPointer(float64), int64)")
    def no_number(left, right, theta, n_theta):
        return math.nan

    with pytest.raises(ValueError, match="finite or -inf"):
        CSplitFunction(3, no_number)


@pytest.mark.parametrize("wrong", [None, 0, -5, 1.5, print, "f"])
def test_what_has_no_address_is_refused(wrong):
    with pytest.raises(TypeError, match="expected an address"):
        CSplitFunction(3, wrong)


def test_too_many_leaves_are_refused():
    with pytest.raises(ValueError, match="at most 63 leaves"):
        CSplitFunction(64, from_numba)


def test_it_is_copied_and_not_pickled():
    model = CSplitFunction(4, from_numba, theta=[1.0])
    assert pal.HierarchyPosterior(copy.copy(model)).map() == pal.HierarchyPosterior(model).map()
    with pytest.raises(TypeError, match="means nothing in another process"):
        pickle.dumps(model)
