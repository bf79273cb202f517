"""log Z and log p(x) for PyTorch: values are those of the posteriors, derivatives those of finite differences."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import palmette as pal
from palmette import Hierarchy, HierarchyPosterior, Partition, PartitionPosterior, PartitionTrellis, SparseTrellis
from palmette.interop.torch import log_partition, log_prob
from palmette.interop.torch.statistics import LINEAR_MODELS

MODELS = {
    "dasgupta": pal.models.Dasgupta,
    "correlation": pal.models.Correlation,
    "correlation-clusters": pal.models.CorrelationClusters,
}
PAGE = Path(__file__).parents[2] / "docs" / "interop.md"
EXAMPLE = [[0.0, 3.0, 1.0], [3.0, 0.0, 1.0], [1.0, 1.0, 0.0]]


def matrix(n: int, seed: int = 0) -> np.ndarray:
    """Symmetric, with both signs and a zero diagonal."""
    w = np.random.default_rng(seed).normal(size=(n, n))
    w += w.T
    np.fill_diagonal(w, 0.0)
    return w


def posterior(name: str, w: np.ndarray, beta: float = 1.0, trellis=None):
    kind = PartitionPosterior if name == "correlation-clusters" else HierarchyPosterior
    return kind(MODELS[name](w, beta), trellis=trellis)


def some_trellis(name: str, w: np.ndarray):
    best = [x for x, _ in posterior(name, w).best(6)]
    if name == "correlation-clusters":
        return PartitionTrellis.from_clusters({c for x in best for c in x.clusters()}, n=len(w))
    return SparseTrellis.from_hierarchies(best)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n", [1, 2, 5])
def test_log_potentials_are_linear_in_the_matrix(name, n):
    w = matrix(n)
    for x, _ in posterior(name, w).best(200):
        t = LINEAR_MODELS[name].observed(x, w)
        assert t.shape == (n, n)
        np.testing.assert_array_equal(t, t.T)
        assert 0.7 * (w * t).sum() / 2 == pytest.approx(MODELS[name](w, 0.7).log_potential(x), abs=1e-12)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("sparse", [False, True])
def test_expectations_match_enumeration(name, n, sparse):
    w = matrix(n, seed=1)
    post = posterior(name, w, 0.7, some_trellis(name, w) if sparse else None)
    everything = post.best(200)
    assert sum(np.exp(log_p) for _, log_p in everything) == pytest.approx(1.0)
    slowly = sum(np.exp(log_p) * LINEAR_MODELS[name].observed(x, w) for x, log_p in everything)
    np.testing.assert_allclose(LINEAR_MODELS[name].expected(post, w), slowly, atol=1e-12)


def test_expectations_match_enumeration_on_a_large_trellis():
    w = matrix(14, seed=2)  # beyond the serial path, and with draws for enumeration
    post = posterior("correlation", w, 0.3)
    drawn = [LINEAR_MODELS["correlation"].observed(x, w) for x in post.sample(1000, rng=0)]
    exact = LINEAR_MODELS["correlation"].expected(post, w)
    spread = np.std(drawn, axis=0) / np.sqrt(1000)
    assert (np.abs(np.mean(drawn, axis=0) - exact) <= 5 * spread + 1e-9).all()


def test_without_torch_the_message_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"torch is needed.*palmette\[torch\]"):
        log_partition(np.zeros((2, 2)))


class TestWithTorch:
    """What needs the package itself."""

    @pytest.fixture(autouse=True)
    def _torch(self):
        self.torch = pytest.importorskip("torch")

    def tensor(self, values, dtype: str = "float64", requires_grad: bool = True):
        return self.torch.tensor(values, dtype=getattr(self.torch, dtype), requires_grad=requires_grad)

    def test_the_docstring_examples(self):
        w = self.tensor(EXAMPLE, "float32")
        log_partition(w).backward()
        assert -2 * w.grad[0, 1].item() == pytest.approx(2.2130, abs=5e-5)
        assert log_prob(Hierarchy.from_nested(((0, 1), 2)), w).exp().item() == pytest.approx(0.7870, abs=5e-5)

    @pytest.mark.parametrize("name", MODELS)
    @pytest.mark.parametrize("n", [1, 2, 6])
    def test_values_are_those_of_the_posterior(self, name, n):
        w = matrix(n)
        post = posterior(name, w, 0.7)
        found = log_partition(self.tensor(w), model=name, beta=0.7)
        assert (found.shape, found.dtype) == ((), self.torch.float64)
        assert found.item() == pytest.approx(post.log_partition, abs=1e-12)
        for x, log_p in post.best(20):
            assert log_prob(x, self.tensor(w), model=name, beta=0.7).item() == pytest.approx(log_p, abs=1e-9)

    @pytest.mark.parametrize("name", MODELS)
    @pytest.mark.parametrize("sparse", [False, True])
    def test_derivatives_match_finite_differences(self, name, sparse):
        w = matrix(5, seed=3)
        options = {"trellis": some_trellis(name, w)} if sparse else {}
        best = posterior(name, w).map()
        s = self.tensor(w + np.triu(np.full((5, 5), 0.3)))  # neither symmetric nor with an empty diagonal
        beta = self.tensor(0.7)
        check = self.torch.autograd.gradcheck
        assert check(lambda s, b: log_partition(s, model=name, beta=b, **options), (s, beta))
        assert check(lambda s, b: log_prob(best, s, model=name, beta=b, **options), (s, beta))

    def test_the_gradient_is_the_expected_size_of_the_lca(self):
        w = matrix(7, seed=4)
        s = self.tensor(w)
        log_partition(s, beta=0.5).backward()
        expected = -0.5 * posterior("dasgupta", w, 0.5).expected_lca_size() / 2
        np.fill_diagonal(expected, 0.0)
        np.testing.assert_allclose(s.grad.numpy(), expected, atol=1e-12)

    def test_beta_has_a_gradient_at_zero(self):
        w, beta = matrix(4), self.tensor(0.0)
        log_partition(self.tensor(w), beta=beta).backward()
        uniform = posterior("dasgupta", np.zeros((4, 4))).expected_lca_size()
        assert beta.grad.item() == pytest.approx(-(w * uniform).sum() / 2)

    def test_at_a_kink_the_slope_is_between_those_of_both_sides(self):
        s = self.tensor(np.zeros((3, 3)))
        log_partition(s, model="correlation").backward()
        assert not s.grad.any()

    def test_a_batch_is_its_matrices(self):
        batch = self.tensor(np.stack([matrix(4, seed) for seed in range(6)]).reshape(2, 3, 4, 4))
        h = Hierarchy.from_nested(((0, 1), (2, 3)))
        for name in ("dasgupta", "correlation"):
            logs, probs = log_partition(batch, model=name), log_prob(h, batch, model=name)
            assert logs.shape == probs.shape == (2, 3)
            for at in np.ndindex(2, 3):
                assert logs[at] == log_partition(batch[at], model=name)
                assert probs[at].item() == pytest.approx(log_prob(h, batch[at], model=name).item(), rel=1e-14)
        assert log_partition(batch[:0]).shape == (0, 3)

    @pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
    def test_dtypes_are_kept_and_sums_are_exact(self, dtype):
        s = self.tensor(matrix(5), dtype)
        h = Hierarchy.from_nested((((0, 1), (2, 3)), 4))
        found = log_prob(h, s, beta=self.tensor(2.0, "float32"))
        exact = log_prob(h, s.double(), beta=2.0)
        assert found.dtype == s.dtype
        assert found == exact.to(s.dtype)
        found.backward()
        assert s.grad.dtype == s.dtype

    def test_leaves_are_matched_by_label(self):
        s = self.tensor(EXAMPLE)
        h = Hierarchy.from_newick("(c,(b,a));")
        expected = log_prob(Hierarchy.from_nested(((0, 1), 2)), s)
        assert log_prob(h, s, labels=["a", "b", "c"]) == expected
        assert log_prob(h, s, trellis=SparseTrellis.from_clusters([["a", "b"]], labels=["a", "b", "c"])) == 0.0
        with pytest.raises(ValueError, match="label"):
            log_prob(h, s)

    def test_what_is_not_in_the_trellis_is_impossible(self):
        trellis = SparseTrellis.from_clusters([[0, 1]], labels=["0", "1", "2"])
        assert log_prob(Hierarchy.from_nested((0, (1, 2))), self.tensor(EXAMPLE), trellis=trellis) == -np.inf

    def test_no_probability_exceeds_one(self):
        for seed in range(20):
            s = self.tensor(1e3 * matrix(2, seed))
            assert log_prob(Hierarchy.from_nested((0, 1)), s, beta=0.1) <= 0.0

    def test_the_diagonal_is_not_looked_at(self):
        h, plain = Hierarchy.from_nested(((0, 1), 2)), self.tensor(EXAMPLE)
        for value in (float("nan"), float("inf"), 7.0):
            s = self.tensor(np.array(EXAMPLE) + np.diag([value] * 3))
            assert log_partition(s) == log_partition(plain)
            assert log_prob(h, s) == log_prob(h, plain)
            log_prob(h, s).backward()
            assert s.grad.isfinite().all()
            assert not s.grad.diag().any()

    def test_there_are_no_second_derivatives(self):
        s = self.tensor(matrix(3))
        (first,) = self.torch.autograd.grad(log_partition(s), s, create_graph=True)
        assert first.shape == (3, 3)
        with pytest.raises(RuntimeError, match="first derivatives only; leave out create_graph"):
            (first**2).sum().backward()

    def test_a_metric_is_learnt_that_makes_a_known_hierarchy_probable(self):
        # Three variables, of which only the first tells the two groups apart; the others are louder.
        torch, rng = self.torch, np.random.default_rng(5)
        x = self.tensor(rng.normal(size=(8, 3)) * [0.3, 3.0, 3.0] + np.outer(np.arange(8) // 4, [2.0, 0, 0]))
        known = Hierarchy.from_nested((((0, 1), (2, 3)), ((4, 5), (6, 7))))
        log_weights = torch.zeros(3, dtype=torch.float64, requires_grad=True)
        optimiser = torch.optim.Adam([log_weights], lr=0.2)
        losses = []
        for _ in range(40):
            y = x.detach() * log_weights.exp()
            similarity = torch.exp(-((y[:, None] - y) ** 2).sum(-1))
            loss = -log_prob(known, similarity)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
        assert losses[-1] < losses[0] - 3
        assert log_weights[0] > log_weights[1:].max() + 1

    def test_the_page_prints_what_happens(self, capsys):
        text = PAGE.read_text(encoding="utf-8")
        block = re.search(r"^```py\n([^`]*import torch\n.*?)^```\n+```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        exec(block[1], {})
        assert capsys.readouterr().out == block[2]

    def test_bad_input_is_refused(self):
        torch, s = self.torch, self.tensor(EXAMPLE)
        with pytest.raises(ValueError, match=r"model is 'ward'; give one of 'dasgupta', 'correlation'"):
            log_partition(s, model="ward")
        with pytest.raises(TypeError, match=r"must be a torch\.Tensor, not ndarray"):
            log_partition(np.zeros((3, 3)))
        with pytest.raises(TypeError, match=r"int64; give real floating-point"):
            log_partition(torch.zeros(3, 3, dtype=torch.int64))
        for shape in ((3,), (3, 2), (3, 3, 2)):
            with pytest.raises(ValueError, match=r"expected \(n, n\), or"):
                log_partition(torch.zeros(shape))
        with pytest.raises(ValueError, match=r"similarity holds nan at row 0, column 1"):
            log_partition(torch.tensor([[0.0, float("nan")], [0.0, 0.0]]))
        with pytest.raises(ValueError, match=r"beta has shape \(2,\)"):
            log_partition(s, beta=torch.ones(2))
        with pytest.raises(ValueError, match=r"at least 0"):
            log_partition(s, beta=torch.tensor(-1.0))
        with pytest.raises(TypeError, match=r"beta must be a number"):
            log_partition(s, beta="cold")
        with pytest.raises(TypeError, match=r"expected a Hierarchy .* not Partition; .*model is correlation-clusters"):
            log_prob(Partition([0, 0, 1]), s)
        with pytest.raises(TypeError, match=r"for a Hierarchy model is correlation or dasgupta"):
            log_prob(Hierarchy.from_nested(((0, 1), 2)), s, model="correlation-clusters")
        with pytest.raises(ValueError, match=r"binary"):
            log_prob(Hierarchy.from_nested((0, 1, 2)), s)
