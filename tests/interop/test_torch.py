"""The min-max layer: its values are those of `subdominant`, its derivatives those of finite differences."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from palmette.interop.torch import subdominant
from palmette.ultrametric.graph import Graph
from palmette.ultrametric.subdominant import subdominant as plain_subdominant


def graph_of(n: int, seed: int) -> Graph:
    return Graph.from_points(np.random.default_rng(seed).normal(size=(n, 2)), k=3)


def test_without_torch_the_message_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"torch is needed.*palmette\[torch\]"):
        subdominant(np.ones(1), Graph([(0, 1)], [1.0]))


class TestWithTorch:
    """What needs the package itself."""

    @pytest.fixture(autouse=True)
    def _torch(self):
        self.torch = pytest.importorskip("torch")

    def weights(self, graph: Graph, *shape: int, dtype: str = "float64", seed: int = 0):
        values = np.random.default_rng(seed).random((*shape, graph.n_edges))
        return self.torch.tensor(values, dtype=getattr(self.torch, dtype), requires_grad=True)

    @pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
    def test_values_are_those_of_subdominant(self, dtype):
        graph = graph_of(40, seed=1)
        weights = self.weights(graph, dtype=dtype)
        found = subdominant(weights, graph)
        assert (found.dtype, found.device) == (weights.dtype, weights.device)
        expected = plain_subdominant(graph, weights.detach().double().numpy())
        np.testing.assert_array_equal(found.detach().double().numpy(), expected.values)

    def test_the_docstring_example(self):
        triangle = Graph([(0, 1), (1, 2), (0, 2)], [1, 1, 1])
        assert subdominant(self.torch.tensor([1.0, 2.0, 4.0]), triangle).tolist() == [1.0, 2.0, 2.0]

    @pytest.mark.parametrize("shape", [(), (3,), (2, 2)])
    def test_derivatives_match_finite_differences(self, shape):
        graph = graph_of(8, seed=2)
        weights = self.weights(graph, *shape)

        def smooth(w):
            return subdominant(w * w, graph).exp()

        assert self.torch.autograd.gradcheck(lambda w: subdominant(w, graph), (weights,), eps=1e-7)
        assert self.torch.autograd.gradcheck(smooth, (weights,), eps=1e-7)
        assert self.torch.autograd.gradgradcheck(smooth, (weights,), eps=1e-7)

    def test_gradients_gather_on_pass_edges(self):
        graph = graph_of(30, seed=3)
        weights = self.weights(graph)
        pulls = np.random.default_rng(4).normal(size=graph.n_edges)
        subdominant(weights, graph).backward(self.torch.tensor(pulls))
        expected = np.zeros(graph.n_edges)
        np.add.at(expected, plain_subdominant(graph, weights.detach().numpy()).pass_edges, pulls)
        np.testing.assert_allclose(weights.grad.numpy(), expected, atol=1e-12)

    def test_ties_take_the_first_edge(self):
        square = Graph([(0, 1), (1, 2), (2, 3), (3, 0)], [1, 1, 1, 1])
        weights = self.torch.ones(4, requires_grad=True)
        subdominant(weights, square)[3].backward()
        assert weights.grad.tolist() == [0.0, 0.0, 1.0, 0.0]

    def test_a_batch_is_its_rows(self):
        graph = graph_of(20, seed=5)
        batch = self.weights(graph, 3, 2)
        found = subdominant(batch, graph)
        for at in np.ndindex(3, 2):
            assert self.torch.equal(found[at], subdominant(batch[at], graph))
        assert subdominant(batch[:0], graph).shape == (0, 2, graph.n_edges)

    def test_one_vertex_has_no_weights(self):
        assert subdominant(self.torch.zeros(0), Graph([], [], n_vertices=1)).shape == (0,)

    def test_the_order_of_strides_does_not_matter(self):
        graph = graph_of(12, seed=6)
        weights = self.weights(graph, 2).detach()
        assert self.torch.equal(subdominant(weights.T.contiguous().T, graph), subdominant(weights, graph))

    def test_training_through_the_layer_lowers_a_loss(self):
        torch, graph = self.torch, graph_of(25, seed=7)
        torch.manual_seed(0)
        target = torch.tensor(graph.weights, dtype=torch.float32)
        network = torch.nn.Sequential(
            torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1), torch.nn.Softplus()
        )
        ends = torch.tensor(np.random.default_rng(7).normal(size=(25, 2))[graph.edges], dtype=torch.float32)
        optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
        losses = []
        for _ in range(30):
            weights = network((ends[:, 0] - ends[:, 1]).abs())[:, 0]
            loss = ((subdominant(weights, graph) - target) ** 2).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
        assert losses[-1] < 0.5 * losses[0]

    def test_bad_weights_are_refused(self):
        torch, graph = self.torch, Graph([(0, 1), (1, 2)], [1.0, 2.0])
        with pytest.raises(TypeError, match=r"int64.*floating-point"):
            subdominant(torch.ones(2, dtype=torch.int64), graph)
        with pytest.raises(TypeError, match=r"complex64"):
            subdominant(torch.ones(2, dtype=torch.complex64), graph)
        for shape in ((), (3,), (2, 1)):
            with pytest.raises(ValueError, match=r"one weight per edge \(2\)"):
                subdominant(torch.ones(shape), graph)
        with pytest.raises(ValueError, match=r"weights\[1\] is nan, and 1 of 2"):
            subdominant(torch.tensor([1.0, float("nan")]), graph)
        with pytest.raises(ValueError, match=r"weights\[0, 1\] is inf"):
            subdominant(torch.tensor([[1.0, float("inf")]]), graph)
        with pytest.raises(TypeError, match=r"subdominant\(weights, graph\).*not Graph and Tensor"):
            subdominant(graph, torch.ones(2))
