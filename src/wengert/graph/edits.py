"""Edits: each returns another graph that shares the vertices that stayed, or raises and leaves everything as it was.

They are methods of :class:`~wengert.graph.graph.Graph`; here they stand as functions of one. A vertex is known by its
name, so an edit touches the vertex that it names and those that read it, and no other.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import wengert as wg
from wengert.graph.order import in_order, visited
from wengert.graph.vertices import InputPart, Part, Vertex
from wengert.graph.wires import taken_twice

if TYPE_CHECKING:
    from wengert.graph.graph import Graph


def insert(
    graph: Graph,
    name: str,
    part: Part,
    *inputs: str,
    after: str | None = None,
    before: str | None = None,
    between: tuple[str, str] | None = None,
) -> Graph:
    """Return a graph with a new vertex.

    ``g.insert("s", np.add, "a", "b")`` reads ``a`` and ``b``, and nobody reads it yet. With one of

    * ``after="a"``: whoever read ``a`` (the caller too, if it is an output) reads the new vertex,
    * ``between=("a", "b")``: ``b`` reads the new vertex in the place of ``a``, and all others read ``a``,
    * ``before="b"``: the same for the only input of ``b``,

    it reads ``a`` if ``inputs`` do not say otherwise.

    Raises
    ------
    GraphError
        If the name is taken, an input or an edge is not there, or ``before`` has several inputs.
    CycleError
        If the new vertex reads something that would read it.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import graph
    >>> g = graph.empty("x").insert("h", np.exp, after="x").insert("minus", np.negative, before="h")
    >>> g(1.0) == np.exp(-1.0)
    np.True_
    """
    if name in graph.vertices:
        raise taken_twice(name)
    if sum(place is not None for place in (after, before, between)) > 1:
        raise wg.errors.GraphError(wg.errors.message("insert: give only one of after=, before= and between="))
    if before is not None:
        between = (_only_input(graph, before), before)
    source = between[0] if between else after
    if between and between[0] not in graph[between[1]].inputs:
        raise _no_edge(graph, *between)
    new = Vertex(name, part, inputs or (() if source is None else (source,)))
    _check_inputs(graph, new)
    vertices = _with_new(graph, new)
    readers = [between[1]] if between else [] if after is None else graph.readers()[graph[after].name]
    for reader in readers:
        vertices[reader] = vertices[reader]._replace(inputs=_swapped(vertices[reader].inputs, source, name))
    outputs = _swapped(graph.outputs, after, name) if after is not None else graph.outputs
    return graph.made_of(in_order(vertices), graph.inputs, outputs)


def remove(graph: Graph, name: str, to: str | None = None) -> Graph:
    """Return a graph without a vertex: whoever read it reads ``to`` instead, by default its only input.

    A vertex that nobody reads needs no ``to``. Raises GraphError if it is read, and has several inputs or none; and
    CycleError if ``to`` depends on who would read it.

    >>> import numpy as np
    >>> from wengert import graph
    >>> g = graph.empty("x").insert("h", np.exp, after="x").insert("y", np.sin, after="h")
    >>> g.remove("h")["y"].inputs
    ('x',)
    """
    readers = graph.readers()[graph[name].name]
    is_read = bool(readers) or name in graph.outputs
    if to is None and is_read:
        to = _only_input(graph, name, "remove")
    if to is not None and (to == name or to not in graph.vertices):
        raise unknown(to, graph.vertices, but=name)
    vertices = {other: kept for other, kept in graph.vertices.whole().items() if other != name}
    for reader in readers:
        vertices[reader] = vertices[reader]._replace(inputs=_swapped(vertices[reader].inputs, name, to))
    inputs = tuple([other for other in graph.inputs if other != name])
    return graph.made_of(in_order(vertices), inputs, _swapped(graph.outputs, name, to))


def replace(graph: Graph, name: str, part: Part, *inputs: str) -> Graph:
    """Return a graph in which ``name`` computes ``part``, of the same inputs if no others are given.

    >>> import numpy as np
    >>> from wengert import graph
    >>> graph.empty("x").insert("h", np.exp, after="x").replace("h", np.cos)(0.0)
    np.float64(1.0)
    """
    if isinstance(graph[name].part, InputPart):
        raise wg.errors.GraphError(
            wg.errors.message(
                f"replace: {name!r} is an input, which computes nothing",
                tries=[f'g.insert("new", part, after="{name}")', f'g.part(inputs=[...]) without "{name}"'],
            )
        )
    replaced = {**graph.vertices.whole(), name: graph.vertices[name]._replace(part=part)}
    new = graph.made_of(replaced, graph.inputs, graph.outputs)
    return rewire(new, name, *inputs) if inputs else new


def rewire(graph: Graph, name: str, *inputs: str) -> Graph:
    """Return a graph in which ``name`` reads ``inputs``. Raises CycleError if one of them depends on ``name``.

    >>> import numpy as np
    >>> from wengert import graph
    >>> g = graph.empty("x", "y").insert("h", np.subtract, "x", "y").returning("h")
    >>> g.rewire("h", "y", "x")(1.0, 3.0)
    np.float64(2.0)
    """
    if isinstance(graph[name].part, InputPart):
        raise wg.errors.GraphError(wg.errors.message(f"rewire: {name!r} is an input, which reads nothing"))
    new = graph.vertices[name]._replace(inputs=inputs)
    _check_inputs(graph, new)
    return graph.made_of(in_order({**graph.vertices.whole(), name: new}), graph.inputs, graph.outputs)


def rename(graph: Graph, names: Mapping[str, str] | Callable[[str], str]) -> Graph:
    """Return a graph whose vertices have other names: ``g.rename({"h": "hidden"})``, or a function of each name.

    Raises GraphError if a vertex is not there, or two would have one name. Parameters are renamed by
    :func:`wengert.graph.inherit`, which takes the same ``names``.

    >>> import numpy as np
    >>> from wengert import graph
    >>> graph.empty("x").insert("h", np.exp, after="x").rename({"h": "hidden"}).names
    ('x', 'hidden')
    """
    if isinstance(names, Mapping):
        for old in names:
            graph[old]
        new_of = {name: names.get(name, name) for name in graph.vertices}
    else:
        new_of = {name: names(name) for name in graph.vertices}
    vertices: dict[str, Vertex] = {}
    for name, vertex in graph.vertices.whole().items():
        inputs = tuple([new_of[read] for read in vertex.inputs])
        is_same = new_of[name] == name and inputs == vertex.inputs
        if new_of[name] in vertices:
            raise taken_twice(new_of[name])
        vertices[new_of[name]] = vertex if is_same else Vertex(new_of[name], vertex.part, inputs)
    return graph.made_of(vertices, [new_of[n] for n in graph.inputs], [new_of[n] for n in graph.outputs])


def copy(graph: Graph, names: Mapping[str, str]) -> Graph:
    """Return a graph with a second copy of some vertices: ``g.copy({"h": "h2", "y": "y2"})``.

    Copies read the copies of what is copied too, and the vertices themselves otherwise. Nobody reads them yet.

    >>> import numpy as np
    >>> from wengert import graph
    >>> g = graph.empty("x").insert("h", np.exp, after="x").insert("y", np.sin, after="h")
    >>> twice = g.copy({"h": "h2", "y": "y2"})
    >>> twice["h2"].inputs, twice["y2"].inputs, twice.outputs
    (('x',), ('h2',), ('y',))
    """
    for old, new in names.items():
        if isinstance(graph[old].part, InputPart):
            raise wg.errors.GraphError(
                wg.errors.message(f"copy: {old!r} is an input, and only vertices that compute something are copied")
            )
        if new in graph.vertices:
            raise taken_twice(new)
    if len(set(names.values())) < len(names):
        raise taken_twice(next(new for new in names.values() if list(names.values()).count(new) > 1))
    vertices = graph.vertices.whole()
    for old, vertex in graph.vertices.whole().items():
        if old in names:
            inputs = tuple([names.get(read, read) for read in vertex.inputs])
            vertices[names[old]] = Vertex(names[old], vertex.part, inputs)
    return graph.made_of(vertices, graph.inputs, graph.outputs)


def merge(graph: Graph, other: Graph, inputs: Mapping[str, str] | None = None, prefix: str = "") -> Graph:
    """Return a graph that has the vertices of another one too, ``prefix`` before their names.

    ``inputs`` says which vertex of ``graph`` stands for an input of ``other``; inputs that are not named there stay
    inputs, or are those of ``graph`` of the same name. The outputs of ``graph`` come first, then those of ``other``.

    >>> import numpy as np
    >>> from wengert import graph
    >>> body, head = graph.empty("x").insert("h", np.sin, after="x"), graph.empty("z").insert("y", np.exp, after="z")
    >>> both = body.merge(head, {"z": "h"})
    >>> both.outputs, both(0.0)
    (('h', 'y'), (np.float64(0.0), np.float64(1.0)))
    """
    given = dict(inputs or {})
    for theirs, ours in given.items():
        if theirs not in other.inputs:
            raise unknown(theirs, other.inputs)
        graph[ours]
    for name in other.inputs:
        if name in graph.inputs:
            given.setdefault(name, name)
    new_of = {name: given.get(name, prefix + name) for name in other.vertices}
    vertices = graph.vertices.whole()
    for name, vertex in other.vertices.whole().items():
        if name in given:
            continue
        if new_of[name] in vertices:
            raise taken_twice(new_of[name])
        vertices[new_of[name]] = Vertex(new_of[name], vertex.part, tuple([new_of[read] for read in vertex.inputs]))
    added = [new_of[name] for name in other.inputs if name not in given]
    outputs = dict.fromkeys([*graph.outputs, *[new_of[name] for name in other.outputs]])
    return graph.made_of(vertices, [*graph.inputs, *added], list(outputs))


def returning(graph: Graph, *outputs: str) -> Graph:
    """Return a graph with the same vertices that returns ``outputs``.

    >>> import numpy as np
    >>> from wengert import graph
    >>> graph.empty("x").insert("h", np.exp, after="x").returning("x", "h")(0.0)
    (0.0, np.float64(1.0))
    """
    for name in outputs:
        graph[name]
    return graph.made_of(graph.vertices, graph.inputs, outputs)


def part(graph: Graph, outputs: Iterable[str] | None = None, inputs: Iterable[str] | None = None) -> Graph:
    """Return the part of a graph that computes ``outputs`` from ``inputs``, by default from those that are needed.

    Vertices that nobody needs are dropped, so ``g.part()`` is ``g`` without them. A vertex among ``inputs`` becomes an
    input. Raises GraphError if ``outputs`` need an input that is not among ``inputs``.

    >>> import numpy as np
    >>> from wengert import graph
    >>> g = graph.empty("x").insert("h", np.exp, after="x").insert("y", np.sin, after="h")
    >>> g.part(["h"]).names
    ('x', 'h')
    """
    outputs = graph.outputs if outputs is None else tuple(outputs)
    ends = graph.inputs if inputs is None else tuple(inputs)
    for name in (*outputs, *ends):
        graph[name]
    whole = graph.vertices.whole()
    needed = set(visited(outputs, lambda name: () if name in ends else whole[name].inputs))
    missing = [name for name in graph.inputs if name in needed and name not in ends]
    if missing:
        raise wg.errors.GraphError(
            wg.errors.message(
                f"part: {', '.join(outputs)} cannot be computed from {', '.join(ends)} alone: "
                f"the input {missing[0]!r} is needed",
                tries=[f'inputs=[..., "{missing[0]}"]'],
            )
        )
    kept = tuple([name for name in ends if inputs is not None or name in needed])
    vertices = {name: Vertex(name, InputPart()) for name in kept}
    vertices |= {name: v for name, v in whole.items() if name in needed and name not in vertices}
    return graph.made_of(vertices, kept, outputs)


# ------------------------------------------------------------------------------------------------------- in common


def _with_new(graph: Graph, new: Vertex) -> dict[str, Vertex]:
    """Return the vertices with ``new`` right behind the last of those that it reads; in front if it reads none."""
    if not new.inputs:
        first = dict.fromkeys(graph.inputs)
        inputs = {name: graph.vertices[name] for name in first}
        return {**inputs, new.name: new, **graph.vertices.whole()}
    reads = set(new.inputs)
    last = next(name for name in reversed(graph.vertices) if name in reads)
    if last == next(reversed(graph.vertices)):  # the rule where a graph is built step by step
        return {**graph.vertices.whole(), new.name: new}
    vertices: dict[str, Vertex] = {}
    for name, vertex in graph.vertices.whole().items():
        vertices[name] = vertex
        if name == last:
            vertices[new.name] = new
    return vertices


def _swapped(names: Sequence[str], old: str | None, new: Any) -> tuple[str, ...]:
    return tuple([new if name == old else name for name in names])


def _check_inputs(graph: Graph, vertex: Vertex) -> None:
    for read in vertex.inputs:
        if read not in graph.vertices:
            raise unknown(read, graph.vertices, by=vertex.name)


def _only_input(graph: Graph, name: str, doing: str = "insert") -> str:
    inputs = graph[name].inputs
    if len(inputs) == 1:
        return inputs[0]
    if doing == "insert":
        how = 'between=("a", "b"), which names the input too'
    else:
        how = 'to="a", which names the vertex that is read instead'
    have = f"{len(inputs)} inputs: {', '.join(inputs)}; one must be chosen" if inputs else "no inputs"
    what = f"{doing}: {name!r} has {have}"
    raise wg.errors.GraphError(wg.errors.message(what, tries=[how]))


def _no_edge(graph: Graph, source: str, reader: str) -> wg.errors.GraphError:
    graph[source]
    return wg.errors.GraphError(
        wg.errors.message(
            f"{reader!r} does not read {source!r}",
            notes=[(reader, f"reads {', '.join(graph[reader].inputs) or 'nothing'}")],
        )
    )


def unknown(name: str, names: Iterable[str], by: str | None = None, but: str | None = None) -> wg.errors.GraphError:
    """Return the error for a name that no vertex has."""
    some = [n for n in islice(names, 2_000) if n != but]  # of many thousands it would take seconds
    near = difflib.get_close_matches(str(name), some, n=3, cutoff=0.4)
    who = f"{by!r} reads {name!r}, but there is no such vertex" if by else f"the graph has no vertex {name!r}"
    return wg.errors.GraphError(wg.errors.message(who, tries=[repr(n) for n in near]))
