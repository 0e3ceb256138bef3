"""Networks, trees, components, clusters, graphs."""

import math
from collections import defaultdict, deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tests.acceptance.programs.entries import program

# ------------------------------------------------------------------------------------------------- networks

ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "gelu": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
}


def init_mlp(sizes, seed=0):
    rng = np.random.default_rng(seed)
    return [{"W": rng.normal(0, 1 / np.sqrt(m), (m, n)), "b": np.zeros(n) + 0.1} for m, n in zip(sizes[:-1], sizes[1:])]


def mlp_loss(layers, x, y, activation="gelu"):
    act = ACTIVATIONS[activation]
    for k, layer in enumerate(layers):
        x = x @ layer["W"] + layer["b"]
        if k < len(layers) - 1:
            x = act(x)
    x = x - x.max(axis=1, keepdims=True)
    logp = x - np.log(np.exp(x).sum(axis=1, keepdims=True))
    return -np.mean(logp[np.arange(len(y)), y])


class GRUCell:
    """Parameters by name; gates stacked in one matrix."""

    def __init__(self, params):
        for name, value in params.items():
            setattr(self, name, value)

    def __call__(self, h, x):
        n = h.shape[-1]
        gates = 1 / (1 + np.exp(-(np.concatenate([h, x]) @ self.Wg)))
        z, r = gates[:n], gates[n:]
        candidate = np.tanh(np.concatenate([r * h, x]) @ self.Wc)
        return (1 - z) * h + z * candidate


def sequence_loss(params, sequence):
    cell, h = GRUCell(params), np.zeros(3)
    for x in sequence:
        h = cell(h, x)
    return np.sum(h**2) + h[0]


class Heads(NamedTuple):
    query: np.ndarray
    key: np.ndarray
    value: np.ndarray


def attention(weights, tokens):
    heads = Heads(**weights)
    q, k, v = (np.einsum("td,hde->hte", tokens, W) for W in heads)
    scores = np.einsum("hte,hse->hts", q, k) / np.sqrt(q.shape[-1])
    mask = np.triu(np.ones(scores.shape[-2:], dtype=bool), 1)
    scores = np.where(mask, -1e9, scores)
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    scores /= scores.sum(-1, keepdims=True)
    return np.mean(np.einsum("hts,hse->hte", scores, v) ** 2)


# ------------------------------------------------------------------------------------------------- trees


@dataclass
class Split:
    feature: int
    key: str
    left: object
    right: object

    def __call__(self, x, thresholds, leaves):
        p = 1 / (1 + math.exp(-5.0 * (x[self.feature] - thresholds[self.key])))
        return (1 - p) * self.left(x, thresholds, leaves) + p * self.right(x, thresholds, leaves)


@dataclass
class Leaf:
    index: int

    def __call__(self, x, thresholds, leaves):
        return leaves[self.index]


TREE = Split(0, "root", Split(1, "left", Leaf(0), Leaf(1)), Leaf(2))


def soft_tree_loss(p, X=np.array([[0.2, 0.8], [0.9, 0.1], [0.4, 0.3]]), y=(1.0, 0.0, 2.0)):
    return sum((TREE(x, p["thresholds"], p["leaves"]) - t) ** 2 for x, t in zip(X, y)) / len(y)


# ------------------------------------------------------------------------------------------------- components


def explained_variance(X, iterations=30):
    """The first principal component by power iteration."""
    C = np.cov(X.T)
    v = np.ones(len(C)) / np.sqrt(len(C))
    for _ in range(iterations):
        v = C @ v
        v = v / np.linalg.norm(v)
    return v @ C @ v / np.trace(C)


def assign(points, centres, stiffness):
    d2 = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(-1)
    w = np.exp(-stiffness * (d2 - d2.min(axis=1, keepdims=True)))
    return w / w.sum(axis=1, keepdims=True), d2


def soft_kmeans(centres, points, steps=3, stiffness=4.0):
    for _ in range(steps):
        w, _ = assign(points, centres, stiffness)
        centres = (w.T @ points) / w.sum(axis=0)[:, None]
    return np.sum(np.multiply(*assign(points, centres, stiffness)))


def triplet_loss(embedding, triples=((0, 1, 2), (1, 0, 3), (2, 3, 0)), margin=1.0):
    dist = lambda i, j: np.linalg.norm(embedding[i] - embedding[j])
    return sum(max(dist(a, p) - dist(a, n) + margin, 0.0) for a, p, n in triples)


def matrix_completion(factors, known={(0, 0): 5.0, (0, 2): 1.0, (1, 1): 4.0, (2, 0): 3.0, (2, 2): 2.0}):
    U, V = factors
    error = 0.0
    for (i, j), rating in known.items():
        error += (rating - U[i] @ V[j]) ** 2
    return error + 0.1 * (np.sum(U**2) + np.sum(V**2))


# ------------------------------------------------------------------------------------------------- graphs


def pagerank(damping, links={"a": "bc", "b": "c", "c": "a", "d": "ac"}):
    pages = sorted(links)
    incoming = defaultdict(list)
    for page, targets in links.items():
        for target in targets:
            incoming[target].append(page)
    rank = {page: 1 / len(pages) for page in pages}
    for _ in range(30):
        rank = {
            page: (1 - damping) / len(pages) + damping * sum(rank[q] / len(links[q]) for q in incoming[page])
            for page in pages
        }
    return rank["a"] ** 2 + rank["d"]


class Graph:
    def __init__(self, edges):
        self.edges = list(edges)
        self.nodes = sorted({v for e in self.edges for v in e})

    def neighbours(self, v):
        return [b if a == v else a for a, b in self.edges if v in (a, b)]

    def components(self):
        seen, parts = set(), 0
        for start in self.nodes:
            if start in seen:
                continue
            parts += 1
            queue = deque([start])
            while queue:
                v = queue.popleft()
                if v not in seen:
                    seen.add(v)
                    queue.extend(self.neighbours(v))
        return parts

    def laplacian(self, weights):
        L = np.zeros((len(self.nodes), len(self.nodes)))
        for (a, b), w in zip(self.edges, weights):
            L[a, a] += w
            L[b, b] += w
            L[a, b] -= w
            L[b, a] -= w
        return L


RING = Graph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])


def connectivity(weights):
    assert RING.components() == 1, "the graph falls apart"
    spanning_trees = np.linalg.det(RING.laplacian(weights)[1:, 1:])
    resistance = np.trace(np.linalg.inv(RING.laplacian(weights) + 1 / len(RING.nodes)))
    return math.log(spanning_trees) + 0.1 * resistance


rng = np.random.default_rng(5)
TOKENS = rng.normal(size=(4, 3))

PROGRAMS = [
    program("perceptron", mlp_loss, init_mlp([3, 5, 4]), rng.normal(size=(6, 3)), np.array([0, 1, 3, 2, 1, 0])),
    program(
        "recurrent network",
        sequence_loss,
        {"Wg": 0.5 * rng.normal(size=(5, 6)), "Wc": 0.5 * rng.normal(size=(5, 3))},
        rng.normal(size=(4, 2)),
    ),
    program("attention", attention, {k: rng.normal(size=(2, 3, 2)) for k in ("query", "key", "value")}, TOKENS),
    program("decision tree", soft_tree_loss, {"thresholds": {"root": 0.5, "left": 0.6}, "leaves": [0.9, 1.8, 0.2]}),
    program("principal components", explained_variance, rng.normal(size=(6, 3)) * [2.0, 1.0, 0.4]),
    program("clustering", soft_kmeans, np.array([[0.0, 0.1], [1.0, 0.9]]), rng.uniform(size=(7, 2))),
    program("embeddings", triplet_loss, rng.normal(size=(4, 2))),
    program("recommendation", matrix_completion, (rng.normal(size=(3, 2)), rng.normal(size=(3, 2)))),
    program("web graph", pagerank, 0.85),
    program("graph Laplacian", connectivity, [1.0, 0.5, 2.0, 1.5, 0.7]),
]
