"""Circles of imports among files: ``python -m tools.circles`` fails for any but those that are meant.

Imports inside functions count, imports for type checking alone do not.
"""

from __future__ import annotations

import sys

import grimp
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

MEANT = {
    frozenset(
        {"wengert.ops.index", "wengert.ops.reduce", "wengert.ops.shape"}
    ),  # pairs that are each other's transpose
}


def circles(package: str) -> set[frozenset[str]]:
    """The sets of modules that import one another, directly or by way of others."""
    graph = grimp.build_graph(package, exclude_type_checking_imports=True, cache_dir=None)
    modules = sorted(graph.modules)
    number = {m: k for k, m in enumerate(modules)}
    arrows = [(number[m], number[n]) for m in modules for n in graph.find_modules_directly_imported_by(m)]
    rows, columns = np.array(arrows).T
    matrix = csr_array((np.ones(len(arrows)), (rows, columns)), shape=(len(modules), len(modules)))
    _, component = connected_components(matrix, connection="strong")
    found = [frozenset(m for m, c in zip(modules, component, strict=True) if c == k) for k in set(component)]
    return {circle for circle in found if len(circle) > 1}


if __name__ == "__main__":
    found = circles("wengert")
    for circle in found - MEANT:
        print("a circle of imports:", ", ".join(sorted(circle)))
    for circle in MEANT - found:
        print("no circle any more, so not to be listed:", ", ".join(sorted(circle)))
    print(f"{len(found)} circles, {len(MEANT)} meant")
    sys.exit(found != MEANT)
