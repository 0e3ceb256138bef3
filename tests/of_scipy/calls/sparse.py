"""Arguments for methods of sparse matrices: of each class that has a method of its own, an object comes first."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.csgraph
import scipy.sparse.linalg  # so that it is intercepted

import wengert.of_scipy.sparse  # noqa: F401  # which fills the table
from wengert.tracing.interception.intercept import TABLE

DENSE = np.array([[4.0, 0.0, 1.0], [0.0, 3.0, 0.0], [2.0, 0.0, 5.0]])
FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")
OBJECTS = {f"{name}_{kind}": getattr(sp, f"{name}_{kind}")(DENSE) for name in FORMATS for kind in ("array", "matrix")}
A, VECTOR = OBJECTS["csr_array"], np.array([1.0, 2.0, 3.0])
ELEMENTS = {"bsr": np.ones((5, 1, 1)), "dia": np.ones((3, 3))}

SOLVERS = ["bicg", "bicgstab", "cg", "cgs", "gcrotmk", "gmres", "lgmres", "minres", "qmr", "tfqmr", "lsqr", "lsmr"]

SEARCHES = ["dijkstra", "bellman_ford", "johnson", "floyd_warshall", "shortest_path", "minimum_spanning_tree"]
STRUCTURAL = ["connected_components", "structural_rank", "reverse_cuthill_mckee", "maximum_bipartite_matching"]
BEFORE = scipy.sparse.csgraph.dijkstra(A, return_predecessors=True)[1]
MASKED = np.ma.masked_array(DENSE, DENSE == 0)

ARGUMENTS: dict[str, list[tuple[Any, ...]]] = {
    "__init__": [((2, 3),), (DENSE,)],
    "__getitem__": [((slice(0, 2), slice(None)),), ((2, 0),)],
    "__setitem__": [((2, 0), 7.0)],
    "_broadcast_to": [((3, 3),)],
    "_comparison": [(A, operator.ne)],
    "_getcol": [(1,)],
    "_getrow": [(1,)],
    "_minor_reduce": [(np.add,)],
    "reshape": [((1, 9),)],
    "resize": [((2, 2),)],
    "setdiag": [(VECTOR,)],
    "power": [(2,)],
    "tensordot": [(OBJECTS["coo_array"],)],
    "_mul_scalar": [(2.0,)],
    "__truediv__": [(2.0,), ("a",)],
    "_divide": [(2.0,)],
    **{name: [(A,), (VECTOR,)] for name in ("__mul__", "__rmul__", "__matmul__", "__rmatmul__", "dot", "multiply")},
    **{name: [(A,)] for name in ("_matmul_dispatch", "_rmatmul_dispatch", "_mul_dispatch", "_rmul_dispatch")},
    **{f"__{name}__": [(A,)] for name in ("add", "radd", "sub", "rsub", "eq", "ne", "lt", "gt", "le", "ge")},
    **{name: [(A,)] for name in ("maximum", "minimum")},
}


def of_method(owner: str, name: str) -> list[Any]:
    """Calls of a method with an object of the first class that has it from ``owner``."""
    for found in OBJECTS.values():
        base = next((base for base in type(found).__mro__ if base.__name__ == owner), None)
        if base is not None and getattr(type(found), name, None) is vars(base)[name]:
            given = ARGUMENTS.get(name, [()])
            if name == "_with_data":
                given = [(ELEMENTS.get(found.format, np.ones(5)),)]
            return [((found, *args), {}) for args in given]
    base = next(base for one in OBJECTS.values() for base in type(one).__mro__ if base.__name__ == owner)
    one = next(one for one in OBJECTS.values() if isinstance(one, base))
    return [((one, *args), {}) for args in ARGUMENTS.get(name, [()])]


METHODS = [name for name in TABLE if name.startswith("scipy.sparse._")]

CALLS: dict[str, list[Any]] = {
    **{name: of_method(*name.split(".")[-2:]) for name in METHODS},
    **{f"scipy.sparse.{name}": [(([A, A],), {})] for name in ("hstack", "vstack", "block_diag")},
    **{f"scipy.sparse.{name}": [(([[A, None], [None, A]],), {})] for name in ("bmat", "block_array")},
    **{f"scipy.sparse.{name}": [((A,), {})] for name in ("tril", "triu", "find", "expand_dims")},
    "scipy.sparse.swapaxes": [((OBJECTS["coo_array"], 0, 1), {})],
    "scipy.sparse.permute_dims": [((OBJECTS["coo_array"],), {})],
    "scipy.sparse.kron": [((A, A), {}), ((A, DENSE), {"format": "coo"})],
    "scipy.sparse.diags": [(([VECTOR], [1]), {})],
    "scipy.sparse.diags_array": [((VECTOR,), {"offsets": 1})],
    "scipy.sparse.linalg.spsolve": [((A, VECTOR), {})],
    "scipy.sparse.linalg.spsolve_triangular": [((sp.tril(A, format="csr"), VECTOR), {})],
    **{f"scipy.sparse.linalg.{name}": [((A + A.T, VECTOR), {})] for name in SOLVERS},
    **{f"scipy.sparse.linalg.{name}": [((A, 1), {"v0": VECTOR})] for name in ("eigsh", "eigs", "svds")},
    "scipy.sparse.linalg.splu": [((A.tocsc(),), {}), ((A,), {})],
    "scipy.sparse.linalg.factorized": [((A.tocsc(),), {})],
    **{f"scipy.sparse.csgraph.{name}": [((A,), {})] for name in SEARCHES},
    **{f"scipy.sparse.csgraph.{name}_first_tree": [((A, 0), {}), ((DENSE, 0), {})] for name in ("breadth", "depth")},
    **{f"scipy.sparse.csgraph.{name}": [((A,), {})] for name in STRUCTURAL},
    **{f"scipy.sparse.csgraph.{name}_first_order": [((A, 0), {}), ((DENSE, 0), {})] for name in ("breadth", "depth")},
    "scipy.sparse.csgraph.yen": [((A, 0, 2, 1), {})],
    "scipy.sparse.csgraph.reconstruct_path": [((A, BEFORE[0]), {})],
    "scipy.sparse.csgraph.construct_dist_matrix": [((A, BEFORE), {})],
    **{
        f"scipy.sparse.csgraph.{name}": [((DENSE,), {})] for name in ("csgraph_from_dense", "csgraph_masked_from_dense")
    },
    **{
        f"scipy.sparse.csgraph.csgraph_{name}_masked": [((MASKED if name == "from" else A,), {})]
        for name in ("from", "to")
    },
    "scipy.sparse.csgraph.csgraph_to_dense": [((A,), {})],
    "scipy.sparse.linalg.SuperLU.solve": [((np.ones(1),), {})],
}
CALLS = {name: calls for name, calls in CALLS.items() if name in TABLE or "SuperLU" in name}
"""Calls of functions that this SciPy has; an older one lacks a few."""
