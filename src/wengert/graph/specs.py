"""Specs say what every vertex gives, by shape and dtype alone; parameters are made on the way where there are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import wengert as wg
from wengert.graph.evaluation import evaluate, misfit
from wengert.graph.vertices import Vertex, is_layer

if TYPE_CHECKING:
    from wengert.graph.graph import Graph

Tree = Any


def specs_of(graph: Graph, xs: Sequence[Any], params: Tree, state: Tree, rng: Any, options: Tree) -> dict[str, Any]:
    """Return the spec of each vertex, for inputs like ``xs``.

    What layers that are in neither tree make with ``rng`` and ``options`` is put into ``params`` and ``state``. Where
    nothing has to be made for many vertices, they are looked at together.
    """
    found = {name: spec_of(x) for name, x in zip(graph.inputs, xs, strict=True)}
    waiting: list[Vertex] = []
    for vertex in graph:
        if vertex.name in found:
            continue
        if is_layer(vertex.part) and vertex.name not in params and vertex.name not in state:
            found.update(_specs_of_run(waiting, found, params, state))
            waiting = []
            _make(vertex, [found[read] for read in vertex.inputs], params, state, rng, options)
        waiting.append(vertex)
    found.update(_specs_of_run(waiting, found, params, state))
    return found


def _make(vertex: Vertex, operands: list[Any], params: Tree, state: Tree, rng: Any, options: Tree) -> None:
    try:
        own, own_state = vertex.part.init(rng, *operands, **options)
    except ValueError as error:
        raise misfit(vertex, operands, None, error) from error
    if own:
        params[vertex.name] = own
    if own_state:
        state[vertex.name] = own_state


def _specs_of_run(vertices: list[Vertex], found: dict[str, Any], params: Tree, state: Tree) -> dict[str, Any]:
    names = [vertex.name for vertex in vertices]
    reads = list(dict.fromkeys([read for vertex in vertices for read in vertex.inputs if read in found]))

    def values(params: Tree, state: Tree, xs: tuple[Any, ...]) -> list[Any]:
        given = evaluate(vertices, dict(zip(reads, xs, strict=True)), params, state, False)[0]
        return [given[name] for name in names]

    own, own_state = ({name: tree[name] for name in names if name in tree} for tree in (params, state))
    specs = wg.spec_of(values)(own, own_state, tuple([found[read] for read in reads])) if vertices else []
    return dict(zip(names, specs, strict=True))


def spec_of(x: Any) -> Any:
    if type(x) is type(wg.spec(())):
        return x
    try:
        x = np.asarray(x)
    except (ValueError, RecursionError) as error:  # of nested lists
        what = f"an input of a graph is no array: {str(error).partition(chr(10))[0]}"
        raise wg.errors.ArgumentError(
            wg.errors.message(what, tries=["an array, or its spec: wg.spec(shape)"])
        ) from error
    return wg.spec(x.shape, x.dtype)
