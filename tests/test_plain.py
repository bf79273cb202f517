"""Kernels that Python runs say the same as compiled ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types

import numpy as np
import pytest

from palmette import octets
from palmette._plain import plain_octets
from palmette.progress import CompilationNotice, be_quiet

PROGRAM = """
import json, warnings
import numpy as np, palmette as pal
warnings.simplefilter("error")
w = np.random.default_rng(0).random((5, 5))
w = w + w.T
post = pal.HierarchyPosterior(pal.models.Dasgupta(w))
general = pal.HierarchyPosterior(pal.models.Contrasts(w[:, :2]))
trees = pal.posterior.from_trees(pal.interop.read_trees("((a,b),c); (a,(b,c));"))
draws = pal.coalescent.smc(w[:4, :2], pal.coalescent.Brownian(), 100, proposal="prior-post", rng=0)
partitions = pal.PartitionPosterior(pal.models.CorrelationClusters(w - 1))
print(json.dumps([
    post.log_partition, post.entropy, float(post.cluster_probability([0, 1])), post.map().to_newick(digits=6),
    [h.to_newick() for h in post.sample(3, rng=1)], general.log_partition, general.cluster_probability([1, 2]),
    trees.entropy, draws.log_evidence, partitions.log_partition, pal.search.greedy(general.model).log_potential,
]))
"""


def flat(values):
    for value in values:
        yield from flat(value) if isinstance(value, list) else [value]


def test_plain_kernels_say_what_compiled_ones_say(capsys):
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    exec(PROGRAM, {})
    both = [list(flat(json.loads(text))) for text in (capsys.readouterr().out, done.stdout)]
    for ours, other in zip(*both, strict=True):
        assert other == (ours if isinstance(ours, str) else pytest.approx(ours, rel=1e-10, abs=1e-12))


def test_octets_have_plain_twins():
    twins = plain_octets()
    assert set(twins) == set(octets.__all__)
    x, y = np.arange(8.0), np.array([1.0, np.nan, 0, 5, 5, 5, 5, 9])
    assert twins["pick"](x, "76543-10").tolist() == [7, 6, 5, 4, 3, 0, 1, 0]
    assert twins["larger"](x, y).tolist() == [1, 1, 2, 5, 5, 5, 6, 9]
    assert twins["above"](x, np.full(8, 7.0)) is False
    assert twins["not_below"](np.full(8, np.nan), x) is True


def test_long_compilations_are_said_once_on_a_terminal(monkeypatch, capsys):
    times = iter([0.0, 0.5, 2.0, 3.0, 0.0, 5.0])
    monkeypatch.setattr("palmette.progress.time", types.SimpleNamespace(monotonic=lambda: next(times)))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("palmette.progress._is_quiet", False)
    notice = CompilationNotice()
    for _ in range(4):
        notice.look()
    assert capsys.readouterr().err.count("compiling, once") == 1
    be_quiet(True)
    silent = CompilationNotice()
    times = iter([0.0, 5.0])
    silent.look()
    silent.look()
    be_quiet(False)
    assert capsys.readouterr().err == ""
