"""The graph: vertices by name, in topological order, and how they are evaluated.

A :class:`Graph` is data that never changes; edits (:mod:`~wengert.graph.edits`) return another one. Names, not
references, are the edges: a vertex whose input is replaced is the same object in both graphs.

What always holds: every vertex stands behind those that it reads; every name that is read is there; inputs come first
among themselves in the caller's order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import wengert as wg
from wengert.graph import edits
from wengert.graph.blocks import value_and_grad
from wengert.graph.difference import difference
from wengert.graph.drawing import draw, svg
from wengert.graph.evaluation import check_inputs, check_names, evaluate
from wengert.graph.order import visited
from wengert.graph.specs import specs_of
from wengert.graph.table import table
from wengert.graph.vertices import InputPart, Vertex, Vertices
from wengert.graph.widths import resize
from wengert.graph.wires import Wire, vertices_of

Tree = Any
Array = ArrayLike
DType = Any
Spec = Any
Generator = np.random.Generator | int


@wg.expect.is_kind
@wg.expect.checked_class
class Graph:
    """A graph is a set of named vertices, of which some are inputs and some outputs: a layer, and a function.

    Parameters
    ----------
    inputs, outputs : wires, see :func:`wengert.graph.input` and :func:`wengert.graph.vertex`. One output is returned
        as it is, several as a tuple.

    Raises
    ------
    GraphError : outputs need an input that is not among ``inputs``, or two vertices have one name.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import graph
    >>> x, y = graph.input("x"), graph.input("y")
    >>> g = graph.Graph(inputs=[x, y], outputs=[np.exp(x) * y])
    >>> g(0.0, 2.0)
    np.float64(2.0)
    >>> g.names
    ('x', 'y', 'exp', 'mul')
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    vertices: Vertices
    """The vertices by name, in topological order."""

    def __init__(self, inputs: Iterable[Wire], outputs: Wire | Iterable[Wire]) -> None:
        inputs = list(inputs)
        outputs = [outputs] if isinstance(outputs, Wire) else list(outputs)
        vertices, names = vertices_of(inputs, outputs)
        self.inputs = tuple([names[wire] for wire in inputs])
        self.outputs = tuple([names[wire] for wire in outputs])
        self.vertices = Vertices(vertices)

    @staticmethod
    def made_of(vertices: Mapping[str, Vertex], inputs: Sequence[str], outputs: Sequence[str]) -> Graph:
        """Return the graph of vertices that are in topological order."""
        graph = object.__new__(Graph)
        graph.inputs, graph.outputs, graph.vertices = tuple(inputs), tuple(outputs), Vertices(vertices)
        return graph

    # ------------------------------------------------------------------------------------------- as a function

    def __call__(self, *xs: Any) -> Any:
        """Return the outputs for these inputs, of a graph without parameters."""
        return self.apply({}, {}, *xs)[0]

    def init(self, rng: Generator, *xs: Array | Spec, dtype: DType | None = None) -> tuple[Tree, Tree]:
        """Return parameters and state of each vertex that has some, by its name.

        ``rng`` is a Generator or a seed; ``xs`` are like the inputs, arrays or specs; ``dtype`` is given to the layers,
        if it is given. Raises ShapeError where values do not fit, naming the vertices.
        """
        params: dict[str, Tree] = {}
        state: dict[str, Tree] = {}
        self.specs(*xs, params=params, state=state, rng=rng, dtype=dtype)
        return params, state

    def apply(self, params: Tree, state: Tree, *xs: Any, train: bool = False) -> tuple[Any, Tree]:
        """Return ``(outputs, new state)`` for parameters and state as :meth:`init` returns them. Pure.

        Each vertex is called once. Raises ShapeError where values do not fit, naming the vertices and what they give,
        and StructureError if the parameters are of another graph.
        """
        check_inputs(self.inputs, xs)
        check_names(self.vertices, params, "a parameter")
        check_names(self.vertices, state, "a state")
        given = dict(zip(self.inputs, xs, strict=True))
        values, changed = evaluate(self.vertices.each(), given, params, state, train)
        outputs = [values[name] for name in self.outputs]
        return outputs[0] if len(outputs) == 1 else tuple(outputs), {**state, **changed}

    def specs(
        self, *xs: Any, params: Tree | None = None, state: Tree | None = None, rng: Any = None, dtype: Any = None
    ) -> dict[str, Any]:
        """Return the spec of what every vertex gives, for inputs like ``xs``. Nothing is computed.

        Parameters and state of layers that are in neither tree are made with ``rng`` (by default with the seed 0), and
        put there.
        """
        check_inputs(self.inputs, xs)
        made = ({} if params is None else params), ({} if state is None else state)
        rng = np.random.default_rng(0 if rng is None else rng)
        options = {} if dtype is None else {"dtype": dtype}
        return specs_of(self, xs, *made, rng, options)

    value_and_grad = value_and_grad

    # -------------------------------------------------------------------------------------------------- queries

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all vertices, in topological order."""
        return tuple(self.vertices)

    def __getitem__(self, name: str) -> Vertex:
        try:
            return self.vertices[name]
        except KeyError:
            raise edits.unknown(name, self.vertices) from None

    def __contains__(self, name: object) -> bool:
        return name in self.vertices

    def __len__(self) -> int:
        return len(self.vertices)

    def __iter__(self) -> Iterator[Vertex]:
        return self.vertices.each()

    def readers(self) -> dict[str, list[str]]:
        """Return who reads each vertex, in topological order; a vertex that reads a value twice is there once."""
        found: dict[str, list[str]] = {name: [] for name in self.vertices}
        for vertex in self:
            for name in dict.fromkeys(vertex.inputs):
                found[name].append(vertex.name)
        return found

    def ancestors(self, *names: str) -> tuple[str, ...]:
        """Return what the vertices ``names`` depend on, without themselves, in topological order."""
        vertices = self.vertices.whole()
        reached = set(visited([self[name].name for name in names], lambda name: vertices[name].inputs))
        return tuple([name for name in self.vertices if name in reached and name not in names])

    def descendants(self, *names: str) -> tuple[str, ...]:
        """Return what depends on the vertices ``names``, without themselves, in topological order."""
        reached = {self[name].name for name in names}
        for vertex in self:
            if not reached.isdisjoint(vertex.inputs):
                reached.add(vertex.name)
        return tuple([name for name in self.vertices if name in reached and name not in names])

    def find(
        self,
        pattern: str | re.Pattern[str] | None = None,
        *,
        type: type | None = None,
        part: Any = None,
        where: Callable[[Vertex], bool] | None = None,
    ) -> tuple[str, ...]:
        """Return the names of the vertices that match everything given, in topological order.

        Parameters
        ----------
        pattern : a regular expression that the whole name must match; ``"h"`` is the vertex of that name.
        type : of the part. part : equals the part. where : a predicate of the vertex.

        Examples
        --------
        >>> import numpy as np
        >>> from wengert import graph
        >>> g = graph.empty("x").insert("a1", np.sin, after="x").insert("a2", np.cos, after="a1")
        >>> g.find("a.*"), g.find(part=np.cos), g.find(type=np.ufunc)
        (('a1', 'a2'), ('a2',), ('a1', 'a2'))
        """
        compiled = None if pattern is None else re.compile(pattern)

        def matches(vertex: Vertex) -> bool:
            return (
                (compiled is None or compiled.fullmatch(vertex.name) is not None)
                and (type is None or isinstance(vertex.part, type))
                and (part is None or vertex.part == part)
                and (where is None or where(vertex))
            )

        return tuple([vertex.name for vertex in self if matches(vertex)])

    def __eq__(self, other: object) -> bool:
        """Return whether inputs, outputs and vertices are equal, in whatever order they stand."""
        if not isinstance(other, Graph):
            return False
        ends = (self.inputs, self.outputs) == (other.inputs, other.outputs)
        return ends and self.vertices.whole() == other.vertices.whole()

    def __hash__(self) -> int:
        return hash((self.inputs, self.outputs, len(self.vertices)))

    def __repr__(self) -> str:
        return f"<graph of {len(self)} vertices: {', '.join(self.inputs)} -> {', '.join(self.outputs)}>"

    def __str__(self) -> str:
        return table(self)

    summary = table
    draw = draw
    difference = difference

    def _repr_svg_(self) -> str:
        """Return the picture that a notebook shows."""
        return svg(self)

    def _repr_html_(self) -> str:
        """Return the picture, for what shows HTML alone."""
        return svg(self)

    # ---------------------------------------------------------------------------------------------------- edits

    insert = edits.insert
    remove = edits.remove
    replace = edits.replace
    rewire = edits.rewire
    rename = edits.rename
    copy = edits.copy
    merge = edits.merge
    returning = edits.returning
    part = edits.part
    resize = resize


@wg.expect.checked
def empty(*inputs: str) -> Graph:
    """Return the graph of ``inputs`` alone, which are its outputs too: what is built step by step begins with it.

    >>> import numpy as np
    >>> from wengert import graph
    >>> graph.empty("x").insert("h", np.tanh, after="x")(0.0)
    np.float64(0.0)
    """
    wires = [Wire(InputPart(), name, ()) for name in inputs]
    return Graph(wires, wires)
