"""Evaluation computes what vertices give, in a loop in topological order."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import wengert as wg
from wengert.graph.vertices import Vertex, is_layer, words

Tree = Any


def evaluate(
    vertices: Iterable[Vertex], values: dict[str, Any], params: Tree, state: Tree, train: bool
) -> tuple[dict[str, Any], Tree]:
    """Return the values of all vertices, by name, and the state that is new.

    Some values are given, and are not computed. Each vertex is called once. Raises ShapeError where values do not fit,
    naming the vertices and what they give.
    """
    changed = {}
    for vertex in vertices:
        name, part = vertex.name, vertex.part
        if name in values:
            continue
        operands = [values[read] for read in vertex.inputs]
        try:
            if is_layer(part):
                own = state.get(name)
                values[name], new = part.apply(params.get(name, {}), own or {}, *operands, train=train)
                if own is not None:
                    changed[name] = new
            else:
                values[name] = part(*operands)
        except ValueError as error:  # ShapeError is one
            raise misfit(vertex, operands, params.get(name), error) from error
        except KeyError as error:
            if is_layer(part) and name not in params:
                raise missing(vertex, params) from error
            raise
    return values, changed


def missing(vertex: Vertex, params: Tree) -> wg.errors.StructureError:
    """Return the error for parameters of another graph."""
    return wg.errors.StructureError(
        wg.errors.message(
            f"graph: params has nothing for the vertex {vertex.name!r}, {words(vertex.part)}",
            notes=[("has", ", ".join(params) or "nothing at all")],
            tries=["the params that g.init or graph.inherit(g, ...) returned"],
        )
    )


def check_inputs(names: Sequence[str], xs: Sequence[Any]) -> None:
    """Raise StructureError unless there is a value for each input."""
    if len(xs) != len(names):
        what = f"graph: {len(names)} inputs expected, {len(xs)} given"
        raise wg.errors.StructureError(wg.errors.message(what, notes=[("inputs", ", ".join(names))]))


def check_names(graph_names: Container[str], tree: Tree, what: str) -> None:
    """Raise StructureError if ``tree`` has something of a vertex that there is not."""
    too_many = [name for name in tree if name not in graph_names]
    if too_many:
        raise wg.errors.StructureError(
            wg.errors.message(
                f"graph: there is {what} for {', '.join(map(repr, too_many[:5]))}, but no vertex of that name",
                tries=["the params and state that g.init or graph.inherit(g, ...) returned"],
            )
        )


def misfit(vertex: Vertex, operands: Sequence[Any], params: Tree, error: ValueError) -> wg.errors.ShapeError:
    """Return the error of a vertex whose part does not take what it reads."""
    notes = [(name, f"gives {_shape(x)}") for name, x in zip(vertex.inputs, operands, strict=True)]
    if isinstance(params, Mapping):
        notes += [(f"{vertex.name}.{key}", f"is {_shape(x)}") for key, x in params.items() if hasattr(x, "shape")]
    said, *rest = str(error).splitlines() or [type(error).__name__]
    what = f"graph: {vertex.name!r}, {words(vertex.part)}, does not take what it reads: {said}"
    return wg.errors.ShapeError("\n".join([wg.errors.message(what, notes=notes), *rest]))


def _shape(x: Any) -> str:
    return f"{x.dtype}{list(x.shape)}" if hasattr(x, "shape") and hasattr(x, "dtype") else type(x).__name__
