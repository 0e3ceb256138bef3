"""``scipy.sparse.csgraph`` on traced graphs: shortest paths, trees, conversions.

Which edges a path takes is found by SciPy at every run, in one step. How long it is, is the sum of their weights, which
is where its derivative comes from; the value is SciPy's own. Of a tree the edges must be known while a function is
traced: they are looked at, and guarded.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.sparse import csgraph as scipys

import wengert as wg
from wengert.of_scipy.sparse.iterating import matrix
from wengert.of_scipy.sparse.making import Answer, function, refused
from wengert.of_scipy.sparse.values import Array, Numbered, Operand, csr, gathered, is_sparse, moved, with_elements
from wengert.ops.linalg.sparse import Pattern
from wengert.tracing.arguments import array, as_dtype, concrete, holds, unsupported

PLACE = "scipy.sparse.csgraph"
NOWHERE = -9999
"""The predecessor of a node that no path leads to, and of the first of a path."""


class PathSearch(NamedTuple):
    """A search for shortest paths, without the weights."""

    by: str
    n: int
    pattern: Pattern | None
    """None of a dense graph."""
    options: tuple[tuple[str, Any], ...]

    def option(self, name: str) -> Any:
        return dict(self.options).get(name)


def edges_of(graph: Operand) -> tuple[int, Pattern | None, Any]:
    """The number of nodes, the places of the edges, and their weights, one after the other.

    A sparse matrix with an element at every place is taken for the array it was made of: zeros are no edges there.
    """
    if is_sparse(graph):
        pattern, data = csr(graph)
        shape: Any = pattern.shape
        pattern = None if pattern.size == shape[0] * shape[1] else pattern
    else:
        dense = array(graph)
        pattern, data, shape = None, np.reshape(dense, (-1,)), dense.shape
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError("compressed-sparse graph must be shape (N, N)")
    return shape[0], pattern, as_dtype(array(data), np.float64)


def _graph(call: PathSearch, weights: Array) -> Any:
    if call.pattern is None:
        return weights.reshape(call.n, call.n)
    if not weights.all():
        raise ValueError(STORED_ZERO)
    return matrix(call.pattern, weights)


STORED_ZERO = (
    "a traced sparse graph stores a zero, which may be an edge of weight 0, or none, such as a difference that SciPy "
    "leaves out: pass the graph as an array, or csgraph_from_dense of it"
)


def _weights_of(call: PathSearch, weights: Array, i: Array, j: Array) -> tuple[Array, Array]:
    """The numbers of the edges from i to j, and their weights; −1 and infinity where there is none."""
    if call.pattern is None:
        number = i * call.n + j
        found = weights[number]
        found = np.where((found == 0) | np.isnan(found), np.inf, found)
    else:
        numbered: Any = matrix(call.pattern, np.arange(1, call.pattern.size + 1))
        number = np.asarray(numbered[i.ravel(), j.ravel()]).reshape(i.shape).astype(np.intp) - 1
        found = np.where(number < 0, np.inf, weights[number] if weights.size else np.inf)
    return number, found


def last_edges(call: PathSearch, weights: Array, before: Array) -> Array:
    """The number of the edge that each path ends with, −1 of one without an edge. ``before`` has the predecessors."""
    j = np.broadcast_to(np.arange(call.n), before.shape)
    i = np.where(before < 0, j, before)
    number, found = _weights_of(call, weights, i, j)
    if call.option("directed") is False:
        back, of_back = _weights_of(call, weights, j, i)
        number = np.where(of_back < found, back, number)
    return np.where(before < 0, -1, number)


def _types(weights: Array, *, call: PathSearch) -> tuple[Array, ...]:
    at = call.option("indices")
    shape = (*(np.shape(at) if at is not None else (call.n,)), call.n)
    if call.option("min_only"):
        shape = (call.n,)
    return np.zeros(shape), np.zeros(shape, np.int32), np.zeros(shape, np.intp), np.zeros(shape, np.int32)


@wg.primitive(type=_types)
def _searched(weights: Array, *, call: PathSearch) -> tuple[Any, ...]:
    """Distances, predecessors, last edges, and the nodes that paths start at."""
    found = getattr(scipys, call.by)(_graph(call, weights), return_predecessors=True, **dict(call.options))
    distance, before = found[:2]
    start = found[2] if len(found) > 2 else np.zeros_like(before)
    return distance, before.astype(np.int32), last_edges(call, weights, before), start.astype(np.int32)


@wg.primitive(type=lambda found, total: np.zeros(found.shape))
def _found_as(found: Array, total: Array) -> Array:
    return found


@_found_as.def_pullback
def _(ct: Any, y: Any, found: Operand, total: Operand) -> Any:
    """The value is the one that was found, the derivative that of the sum."""
    return None, ct


def path_sums(weights: Operand, edges: Operand, before: Operand) -> Any:
    """The sum of the weights along each path: each turn, a path is as long as two were before it."""
    n = before.shape[-1]
    has_edge = edges >= 0
    total = np.where(has_edge, weights[np.where(has_edge, edges, 0)], 0.0)
    node = np.where(before < 0, np.arange(n), before).astype(np.intp)
    for _ in range(max(n - 1, 1).bit_length()):
        total = total + np.take_along_axis(total, node, -1)
        node = np.take_along_axis(node, node, -1)
    return total


def _paths(by: str, *names: str) -> None:
    """Answer for a search whose parameters, after the graph, have these names."""

    @function(f"{PLACE}:{by}")
    def answer(f: Answer, csgraph: Operand, *args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        wants = given.pop("return_predecessors", False)
        given.pop("overwrite", None)
        if given.get("indices") is not None:
            at = np.asarray(concrete(given["indices"], "where paths begin"))
            given["indices"] = _as_tuple(at)
        n, pattern, weights = edges_of(csgraph)
        call = PathSearch(by, n, pattern, tuple(given.items()))
        distance, before, edges, start = _searched(wg.stop_gradient(weights), call=call)
        if not given.get("unweighted"):
            distance = _found_as(distance, path_sums(weights, edges, before))
        if not wants:
            return distance
        return (distance, before, start) if given.get("min_only") else (distance, before)


def _as_tuple(at: Array) -> Any:
    return int(at) if at.ndim == 0 else tuple(at.tolist())


_paths("dijkstra", "directed", "indices", "return_predecessors", "unweighted", "limit", "min_only")
_paths("bellman_ford", "directed", "indices", "return_predecessors", "unweighted")
_paths("johnson", "directed", "indices", "return_predecessors", "unweighted")
_paths("floyd_warshall", "directed", "return_predecessors", "unweighted", "overwrite")
_paths("shortest_path", "method", "directed", "return_predecessors", "unweighted", "overwrite", "indices")


@function(f"{PLACE}:construct_dist_matrix")
def construct_dist_matrix(
    f: Answer, graph: Operand, predecessors: ArrayLike, directed: bool = True, null_value: float = np.inf
) -> Any:
    n, pattern, weights = edges_of(graph)
    before = np.asarray(concrete(predecessors, "the predecessors"))
    call = PathSearch("construct_dist_matrix", n, pattern, (("directed", directed),))
    known = np.asarray(concrete(weights, "the weights")) if not directed else np.ones(weights.shape)
    total = path_sums(weights, last_edges(call, known, before), before)
    is_nowhere = (before < 0) & ~np.eye(n, dtype=bool)
    return np.where(is_nowhere, null_value, total)


# ---------------------------------------------------------------------------------------------------------- trees


def _sparse(graph: Operand) -> Any:
    """A graph as a sparse matrix without zeros; which elements of a dense one are edges is looked at, and guarded."""
    n, pattern, weights = edges_of(graph)
    if pattern is None:
        return csgraph_from_dense(scipys.csgraph_from_dense, np.reshape(weights, (n, n)))
    if holds(np.any(weights == 0)):
        raise unsupported(STORED_ZERO)
    return graph


def _structural(name: str) -> None:
    @function(f"{PLACE}:{name}")
    def answer(f: Answer, graph: Operand, *args: Any, **kwargs: Any) -> Any:
        """Only where the edges are says what the result is."""
        pattern, _ = csr(_sparse(graph))
        return f(matrix(pattern, np.ones(pattern.size)), *args, **kwargs)


for _name in (
    "connected_components",
    "breadth_first_order",
    "depth_first_order",
    "structural_rank",
    "reverse_cuthill_mckee",
    "maximum_bipartite_matching",
):
    _structural(_name)


def _is_in_tree(weights: Array, *, call: PathSearch) -> Array:
    """Whether the smallest tree has an edge, for each."""
    graph = _graph(call, weights)
    tree = sp.coo_array(scipys.minimum_spanning_tree(graph))
    number = _weights_of(call, weights, tree.coords[0], tree.coords[1])[0]
    is_in = np.zeros(weights.shape, bool)
    is_in[number] = True
    return is_in


_in_tree = wg.primitive(_is_in_tree, type=lambda weights, *, call: np.zeros(weights.shape, bool))


@function(f"{PLACE}:minimum_spanning_tree")
def minimum_spanning_tree(f: Answer, csgraph: Operand, overwrite: bool = False) -> Any:
    """A matrix of the edges of the smallest tree, each with its weight."""
    n, pattern, weights = edges_of(_sparse(csgraph))
    assert pattern is not None
    is_in = concrete(
        _in_tree(wg.stop_gradient(weights), call=PathSearch("tree", n, pattern, ())), "the edges of the tree"
    )
    chosen = np.flatnonzero(is_in)
    only: Any = sp.csr_array((chosen + 1.0, (pattern.rows[chosen], pattern.indices[chosen])), shape=pattern.shape)
    tree = f(only)
    return with_elements(tree, gathered(weights, np.asarray(tree.data, np.intp)))


def _walked(name: str) -> None:
    @function(f"{PLACE}:{name}")
    def answer(f: Answer, csgraph: Operand, start: Any, directed: bool = True) -> Any:
        """Only where the edges are decides which are in the tree."""
        if not directed:
            raise unsupported(f"{PLACE}.{name}: directed=False of a traced graph is not there", "A.maximum(A.T) of it")
        at = concrete(start, "where the tree begins")
        return moved(lambda graph: f(graph, at, directed), _sparse(csgraph), dtype=np.float64)


for _name in ("breadth_first_tree", "depth_first_tree", "reconstruct_path"):
    _walked(_name)


# ---------------------------------------------------------------------------------------------------- conversions


@function(f"{PLACE}:csgraph_from_dense")
def csgraph_from_dense(
    f: Answer, graph: Operand, null_value: float = 0, nan_null: bool = True, infinity_null: bool = True
) -> Any:
    """Which elements are edges is looked at, and guarded."""
    dense = as_dtype(array(graph), np.float64)
    if dense.ndim != 2 or dense.shape[0] != dense.shape[1]:
        raise ValueError("graph must be two-dimensional and square")
    is_null = np.isnan(dense) if np.isnan(null_value) else dense == null_value
    is_null = is_null | np.isnan(dense) if nan_null else is_null
    is_null = is_null | np.isinf(dense) if infinity_null else is_null
    numbered = Numbered()
    numbers = numbered.numbers(dense).astype(float)
    return numbered.filled(_whole(f(np.where(concrete(is_null, "which elements are edges"), 0.0, numbers))))


def _whole(found: Any) -> Any:
    """A matrix of numbers of elements, as integers."""
    found.data = found.data.astype(np.int64)
    return found


@function(f"{PLACE}:csgraph_to_dense")
def csgraph_to_dense(f: Answer, csgraph: Operand, null_value: float = 0) -> Any:
    n, pattern, weights = edges_of(csgraph)
    assert pattern is not None
    found = array(np.full((n, n), float(null_value)), (weights,))
    found[pattern.rows, pattern.indices] = weights
    return found


refused(
    f"{PLACE}:yen", "how many paths there are depends on the weights", "shortest_path, of graphs without an edge each"
)
for _name in ("csgraph_masked_from_dense", "csgraph_from_masked", "csgraph_to_masked"):
    refused(f"{PLACE}:{_name}", "masked arrays are not traced", "csgraph_from_dense, whose result is sparse")
