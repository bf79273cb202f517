"""Hidden pairs of simulated hierarchical graphs: exact predictions against those of NetworkX.

    python benchmarks/link_prediction.py

Graphs of 16 vertices from the model's own prior, and from two that it knows nothing of; of each a fifth of the pairs is
hidden. AUC is the chance that a hidden edge is ranked above a hidden pair without one, averaged over graphs.
"""

from __future__ import annotations

import networkx
import numpy as np
from scipy.stats import rankdata

import palmette as pal

N, GRAPHS, HIDDEN = 16, 40, 0.2


def common_neighbours(graph: networkx.Graph, pairs: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """How many neighbours two vertices share."""
    return [(u, v, len(list(networkx.common_neighbors(graph, u, v)))) for u, v in pairs]


RIVALS = {
    "common neighbours": common_neighbours,
    "Jaccard": networkx.jaccard_coefficient,
    "preferential attachment": networkx.preferential_attachment,
}


def graphs(kind: str, rng: np.random.Generator) -> np.ndarray:
    """An adjacency matrix."""
    if kind == "random hierarchies":
        return pal.simulate.random_graph(N, 0.4, 0.6, prior="yule", rng=rng).x
    seed = int(rng.integers(2**31))
    if kind == "four groups":
        return networkx.to_numpy_array(networkx.planted_partition_graph(4, 4, 0.8, 0.15, seed=seed))
    return networkx.to_numpy_array(networkx.gnp_random_graph(N, 0.3, seed=seed))


def auc(scores: np.ndarray, is_edge: np.ndarray) -> float:
    """The chance that an edge has a higher score than a pair without one; ties count one half."""
    ranks, k = rankdata(scores), int(is_edge.sum())
    return float((ranks[is_edge].sum() - k * (k + 1) / 2) / (k * (len(scores) - k)))


def compare(kind: str, rng: np.random.Generator) -> dict[str, list[float]]:
    """The AUC of each method on each graph."""
    rows, columns = np.triu_indices(N, 1)
    found: dict[str, list[float]] = {name: [] for name in ("palmette", *RIVALS)}
    while len(found["palmette"]) < GRAPHS:
        w = graphs(kind, rng)
        chosen = rng.permutation(len(rows))[: round(HIDDEN * len(rows))]
        pairs = list(zip(rows[chosen].tolist(), columns[chosen].tolist(), strict=True))
        is_edge = w[rows[chosen], columns[chosen]] == 1.0
        if is_edge.all() or not is_edge.any():
            continue
        missing = np.zeros((N, N), dtype=bool)
        missing[rows[chosen], columns[chosen]] = True
        post = pal.HierarchyPosterior(pal.models.HierarchicalRandomGraph(w, missing=missing))
        found["palmette"].append(auc(post.link_probabilities()[rows[chosen], columns[chosen]], is_edge))
        seen = networkx.from_numpy_array(np.where(missing | missing.T, 0.0, w))
        for name, method in RIVALS.items():
            scores = {frozenset((u, v)): score for u, v, score in method(seen, pairs)}
            found[name].append(auc(np.array([scores[frozenset(pair)] for pair in pairs]), is_edge))
    return found


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    print(f"| {GRAPHS} graphs each | palmette | {' | '.join(RIVALS)} |\n|---|{'---:|' * (1 + len(RIVALS))}")
    for kind in ("random hierarchies", "four groups", "no structure"):
        found = compare(kind, rng)
        cells = (f"{np.mean(v):.3f} ± {np.std(v) / np.sqrt(len(v)):.3f}" for v in found.values())
        print(f"| {kind} | {' | '.join(cells)} |", flush=True)
