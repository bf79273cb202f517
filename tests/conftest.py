"""Fixed examples: the same inputs on every machine and in every run. Of the slow tests, one in five is run."""

import contextlib
import gc
import importlib
import os

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings

# A compilation makes many objects that live on: looking through them for garbage as often as Python does takes a tenth
# of all the time.
gc.set_threshold(100_000, 20, 100)

# Where nothing has bytecode yet, workers that begin at the same time would all make that of the same packages, in step.
# Every other one begins with those that tests come to later, and each finds half of its packages made by another.
if os.environ.get("PYTEST_XDIST_WORKER", "gw0").endswith(tuple("13579")):
    for name in ("pandas", "awkward", "matplotlib.pyplot", "sklearn.datasets", "scipy.stats"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)

# A few of the usual examples, so that `make test` is over in time; `make test-all` tries all of them.
for name, examples in (("fixed", 20), ("all", 100)):
    settings.register_profile(
        name,
        deadline=None,
        derandomize=True,
        print_blob=True,
        max_examples=examples,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )
settings.load_profile("fixed")


def pytest_addoption(parser):
    choices = ("none", "sample", "all")
    parser.addoption("--slow", choices=choices, default="sample", help="which of the slow tests to run")


def pytest_configure(config):
    if config.getoption("slow") == "all":
        settings.load_profile("all")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    # Examples in docstrings are those of the package; looking for some here would import every file once more.
    return [found for found in (yield) if not isinstance(found, DoctestModule)]


def pytest_collection_modifyitems(config, items):
    slow = [item for item in items if item.get_closest_marker("slow")]
    sample = [item for item in slow[2::5] if item.get_closest_marker("slow").kwargs.get("sampled", True)]
    chosen = {"none": [], "sample": sample, "all": slow}[config.getoption("slow")]
    left_out = set(slow) - set(chosen)
    if left_out:
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=list(left_out))


def pytest_collection_finish():
    # What is there by now stays to the end: nobody need look through it for garbage again.
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _borrowers_return_no_arrays():
    # Who borrows arrays counts no references: one that is returned would be counted down by whoever gets it, and freed
    # while others have it. What was compiled in this run tells.
    yield
    gc.unfreeze()
    from numba.core import types
    from numba.core.dispatcher import Dispatcher

    def holds_arrays(kind):
        return isinstance(kind, types.Array) or any(map(holds_arrays, getattr(kind, "types", ())))

    for found in gc.get_objects():
        if issubclass(type(found), Dispatcher) and found.targetoptions.get("_nrt") is False:
            for result in found.overloads.values():
                assert not holds_arrays(result.signature.return_type), f"{found.py_func} returns an array: a maker does"
