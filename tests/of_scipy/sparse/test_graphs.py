"""Shortest paths, trees and conversions of graphs with traced weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import csgraph

import wengert as wg
from tests.of_scipy.checking import case, four_tests
from wengert.errors import UnsupportedFunctionError

rng = np.random.default_rng(0)
DENSE = rng.random((7, 7)) + 0.2
DENSE[rng.random((7, 7)) < 0.55] = 0.0
np.fill_diagonal(DENSE, 0.0)
GRAPH = sp.csr_array(DENSE)
WEIGHTS = GRAPH.data.copy()
BOTH, UNEQUAL = DENSE + DENSE.T, rng.random((7, 7)) + 0.1


def graph_of(weights: Any) -> Any:
    """A sparse graph with these weights."""
    return sp.csr_array((weights, GRAPH.indices, GRAPH.indptr), shape=GRAPH.shape)


FAR = int(np.argmax(np.where(np.isfinite(csgraph.dijkstra(GRAPH, indices=0)), csgraph.dijkstra(GRAPH, indices=0), 0.0)))


def reached(distances: Any) -> Any:
    """The distances that are finite, as an array without the others."""
    return np.where(np.isfinite(distances), distances, 0.0)


CASES = [
    case("dijkstra", lambda w: reached(csgraph.dijkstra(graph_of(w))), WEIGHTS, exact=True),
    case("dijkstra from", lambda w: reached(csgraph.dijkstra(graph_of(w), indices=2)), WEIGHTS, exact=True),
    case("dijkstra undirected", lambda w: reached(csgraph.dijkstra(graph_of(w), False, [0, 3])), WEIGHTS, exact=True),
    case("dijkstra limited", lambda w: reached(csgraph.dijkstra(graph_of(w), limit=1.2)), WEIGHTS, exact=True),
    case("dijkstra nearest", lambda w: reached(csgraph.dijkstra(graph_of(w), indices=[0, 4], min_only=True)), WEIGHTS),
    case("dijkstra dense", lambda a: reached(csgraph.dijkstra(a * (DENSE != 0))), DENSE + 0.1),
    case("bellman_ford", lambda w: reached(csgraph.bellman_ford(graph_of(w))), WEIGHTS, exact=True),
    case("johnson", lambda w: reached(csgraph.johnson(graph_of(w))), WEIGHTS, exact=True),
    case("floyd_warshall", lambda w: reached(csgraph.floyd_warshall(graph_of(w))), WEIGHTS, exact=True),
    case("floyd_warshall undirected", lambda a: reached(csgraph.floyd_warshall(a * (DENSE != 0), False)), DENSE + 0.1),
    case("shortest_path", lambda w: reached(csgraph.shortest_path(graph_of(w), "D", indices=[1, 2])), WEIGHTS),
    case("johnson unweighted", lambda w: w[0] * reached(csgraph.johnson(graph_of(w), unweighted=True)), WEIGHTS),
]  # fmt: skip
test_value_and_derivative, test_second_derivative, test_batch, test_compiled = four_tests(CASES, 3)

BEFORE = csgraph.dijkstra(GRAPH, return_predecessors=True)[1]
LOOKED_AT = [
    case("minimum_spanning_tree", lambda w: csgraph.minimum_spanning_tree(graph_of(w)).toarray(), WEIGHTS, exact=True),
    case("minimum_spanning_tree dense", lambda a: csgraph.minimum_spanning_tree(a * (BOTH != 0)).toarray(), UNEQUAL),
    case("breadth_first_tree", lambda w: csgraph.breadth_first_tree(graph_of(w), 0).toarray(), WEIGHTS, exact=True),
    case("depth_first_tree", lambda w: csgraph.depth_first_tree(graph_of(w), 0).toarray(), WEIGHTS, exact=True),
    case("reconstruct_path", lambda w: csgraph.reconstruct_path(graph_of(w), BEFORE[1]).toarray(), WEIGHTS, exact=True),
    case("construct_dist_matrix", lambda w: csgraph.construct_dist_matrix(graph_of(w), BEFORE, null_value=0), WEIGHTS),
    case("csgraph_from_dense", lambda a: csgraph.csgraph_from_dense(a * (DENSE != 0)).toarray(), DENSE + 0.1),
    case("csgraph_from_dense of 9", lambda a: csgraph.csgraph_from_dense(a, null_value=9.0).toarray(), DENSE + 0.1),
    case("csgraph_to_dense", lambda w: csgraph.csgraph_to_dense(graph_of(w), null_value=3.0), WEIGHTS, exact=True),
]  # fmt: skip
of_looked_at = four_tests(LOOKED_AT, 2)
test_value_and_derivative_of_trees, test_second_derivative_of_trees, _, test_compiled_trees = of_looked_at


def test_a_compiled_distance_follows_another_path() -> None:
    """Which path is the shortest is found at every run: nothing is traced again."""

    def distance(w: Any) -> Any:
        return csgraph.dijkstra(graph_of(w), indices=0)[FAR]

    slope = wg.jit(wg.value_and_grad(distance), strict=True)
    for seed in range(4):
        w = np.random.default_rng(seed).random(WEIGHTS.size) + 0.1
        value, gradient = slope(w)
        assert value == csgraph.dijkstra(graph_of(w), indices=0)[FAR]
        assert gradient @ w == pytest.approx(value, rel=1e-12)
        assert set(gradient) <= {0.0, 1.0}
    assert slope.stats()["traces"] == 1


def test_predecessors_are_scipys() -> None:
    found = wg.jit(lambda w: csgraph.shortest_path(graph_of(w), return_predecessors=True)[1])(WEIGHTS)
    np.testing.assert_array_equal(found, csgraph.shortest_path(GRAPH, return_predecessors=True)[1])


def test_where_no_path_leads_the_distance_is_infinite_and_its_derivative_zero() -> None:
    lonely = sp.csr_array(np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    f = lambda w: csgraph.dijkstra(sp.csr_array((w, lonely.indices, lonely.indptr), shape=(3, 3)), indices=0)
    np.testing.assert_array_equal(f(lonely.data), wg.jit(f)(lonely.data))
    np.testing.assert_array_equal(wg.jacobian(f)(lonely.data), [[0.0], [1.0], [0.0]])


def test_what_is_refused() -> None:
    with pytest.raises(UnsupportedFunctionError, match="how many paths"):
        wg.grad(lambda w: csgraph.yen(graph_of(w), 0, 5, 2)[0])(WEIGHTS)
    with pytest.raises(UnsupportedFunctionError, match="masked arrays"):
        wg.grad(lambda a: csgraph.csgraph_masked_from_dense(a).sum())(DENSE)
    with pytest.raises(ValueError, match="N, N"):
        wg.grad(lambda a: csgraph.dijkstra(a)[0, 0])(DENSE[:3])


def test_a_graph_made_of_an_array_has_no_edges_of_zeros() -> None:
    """A sparse matrix of a traced array stores its zeros, whose derivatives it has; they were edges of weight 0."""
    dense = lambda p: np.array([[0, p[0], 0], [0, 0, p[1]], [0, 0, 0]])
    p = np.array([1.0, 2.0])
    for make in (sp.csr_array, sp.coo_array, sp.csc_array):
        f = lambda p, make=make: csgraph.dijkstra(make(dense(p)), indices=0)
        np.testing.assert_array_equal(wg.jit(f)(p), [0.0, 1.0, 3.0])
        np.testing.assert_array_equal(wg.jacobian(f)(p), [[0, 0], [1, 0], [1, 1]])
    total = lambda p: csgraph.minimum_spanning_tree(sp.csr_array(dense(p))).sum()
    assert wg.value_and_grad(total)(p)[0] == 3.0
    for f in (
        lambda p: csgraph.connected_components(sp.csr_array(np.diag(p)))[0] + 0 * p[0],
        lambda p: csgraph.structural_rank(sp.csr_array(dense(p))) + 0 * p[0],
        lambda p: csgraph.breadth_first_tree(sp.csr_array(dense(p)), 0).sum(),
    ):
        assert wg.jvp(f, (p,), (p,))[0] == f(p) == wg.jit(f)(p)


def test_a_zero_that_is_left_of_a_difference_is_refused() -> None:
    ones = sp.csr_array(np.triu(np.ones((3, 3)), 1))
    rest = lambda p: ones * p[0] - sp.coo_array((p[:1], ([0], [2])), shape=(3, 3)).tocsr()
    with pytest.raises(ValueError, match="stores a zero"):
        wg.value_and_grad(lambda p: csgraph.shortest_path(rest(p), indices=0)[2])(np.array([2.0]))
    with pytest.raises(UnsupportedFunctionError, match="stores a zero"):
        wg.value_and_grad(lambda p: csgraph.minimum_spanning_tree(rest(p)).sum())(np.array([2.0]))
