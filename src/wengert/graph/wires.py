"""Building a graph by calling vertices.

    x = graph.input("x")
    h = graph.vertex(nn.Dense(16), "h")(x)
    y = h + graph.vertex(np.tanh)(x)
    g = graph.Graph(inputs=[x], outputs=[y])

What a vertex gives is a :class:`Wire`. Arithmetic on wires makes vertices, and so do NumPy's elementwise functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import wengert as wg
from wengert.graph.order import visited
from wengert.graph.vertices import Call, InputPart, Operand, Part, Vertex

_WORDS = {"subtract": "sub", "multiply": "mul", "divide": "div"}


class Wire:
    """A wire is the value of a vertex of a graph that is being built.

    :func:`input`, :func:`vertex` and :func:`concat` make wires; arithmetic and NumPy's elementwise functions of wires
    make vertices, and give wires.

    >>> import numpy as np
    >>> from wengert import graph
    >>> x = graph.input("x")
    >>> y = np.tanh(x) + 2 * x
    >>> x, y
    (<wire x>, <wire add>)
    >>> graph.Graph([x], y).names
    ('x', 'tanh', 'mul', 'add')
    """

    __slots__ = ("inputs", "name", "part")

    def __init__(self, part: Any, name: str | None, inputs: tuple[Wire, ...]) -> None:
        self.part, self.name, self.inputs = part, name, inputs

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **keywords: Any) -> Any:
        if method != "__call__" or keywords.keys() & {"out", "where"}:
            return NotImplemented
        return _called(ufunc, operands, keywords)

    # fmt: off
    def __add__(self, other: Any) -> Wire: return _called(np.add, (self, other), {})
    def __radd__(self, other: Any) -> Wire: return _called(np.add, (other, self), {})
    def __sub__(self, other: Any) -> Wire: return _called(np.subtract, (self, other), {})
    def __rsub__(self, other: Any) -> Wire: return _called(np.subtract, (other, self), {})
    def __mul__(self, other: Any) -> Wire: return _called(np.multiply, (self, other), {})
    def __rmul__(self, other: Any) -> Wire: return _called(np.multiply, (other, self), {})
    def __truediv__(self, other: Any) -> Wire: return _called(np.divide, (self, other), {})
    def __rtruediv__(self, other: Any) -> Wire: return _called(np.divide, (other, self), {})
    def __matmul__(self, other: Any) -> Wire: return _called(np.matmul, (self, other), {})
    def __rmatmul__(self, other: Any) -> Wire: return _called(np.matmul, (other, self), {})
    def __pow__(self, other: Any) -> Wire: return _called(np.power, (self, other), {})
    def __neg__(self) -> Wire: return _called(np.negative, (self,), {})
    # fmt: on

    def __repr__(self) -> str:
        return f"<wire {self.name or word_of(self.part)}>"


@wg.expect.checked
def input(name: str) -> Wire:
    """Return the wire of an input: a value that the caller of the graph gives.

    >>> import numpy as np
    >>> from wengert import graph
    >>> x = graph.input("x")
    >>> graph.Graph(inputs=[x], outputs=np.exp(x))(0.0)
    np.float64(1.0)
    """
    return Wire(InputPart(), name, ())


@wg.expect.checked
def vertex(part: Part, name: str | None = None) -> Callable[..., Wire]:
    """Return a function of wires: ``vertex(part, "h")(x)`` is the wire of a new vertex that computes ``part``.

    Parameters
    ----------
    part : a function, a layer or a graph. Arguments that are no wires, and keywords, are given to it as they are.
    name : without one the vertex is named after its part, with a number where that is taken.

    Raises
    ------
    GraphError : at :class:`Graph`, if two vertices have one name.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import graph
    >>> x = graph.input("x")
    >>> total = graph.vertex(np.sum, "total")(x, axis=0)
    >>> total
    <wire total>
    >>> graph.Graph([x], total)(np.ones((2, 3)))
    array([2., 2., 2.])
    """

    def call(*arguments: Any, **keywords: Any) -> Wire:
        return _called(part, arguments, keywords, name)

    return call


class Concatenate:
    """This part joins values along ``axis``, which is that of the features by default."""

    def __init__(self, axis: int = 1) -> None:
        self.axis = axis

    def __call__(self, *xs: Any) -> Any:
        return np.concatenate(xs, axis=self.axis)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Concatenate) and self.axis == other.axis

    def __hash__(self) -> int:
        return hash((Concatenate, self.axis))

    def __repr__(self) -> str:
        return f"concat(axis={self.axis})"


@wg.expect.checked
def concat(*wires: Wire, axis: int = 1, name: str | None = None) -> Wire:
    """Return the wire of several wires side by side along ``axis``.

    Parameters
    ----------
    wires : of values that have the same lengths along all other axes.
    axis : 1 is that of channels, or of features where there is no space.
    name : of the new vertex; "concat" if not given.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import graph
    >>> x, y = graph.input("x"), graph.input("y")
    >>> g = graph.Graph(inputs=[x, y], outputs=graph.concat(x, y))
    >>> g(np.ones((1, 2)), np.zeros((1, 1)))
    array([[1., 1., 0.]])
    """
    return Wire(Concatenate(axis), name, wires)


def _called(part: Part, arguments: Iterable[Any], keywords: dict[str, Any], name: str | None = None) -> Wire:
    arguments = tuple(arguments)
    wires = tuple([a for a in arguments if isinstance(a, Wire)])
    if len(wires) < len(arguments) or keywords:
        number = iter(range(len(wires)))
        part = Call(part, tuple([Operand(next(number)) if isinstance(a, Wire) else a for a in arguments]), keywords)
    return Wire(part, name, wires)


# ---------------------------------------------------------------------------------------------------- to vertices


def vertices_of(inputs: Iterable[Wire], outputs: Iterable[Wire]) -> tuple[dict[str, Vertex], dict[Wire, str]]:
    """Return the vertices that ``outputs`` need, in topological order behind the inputs; and the name of each wire."""
    inputs = list(inputs)
    wires = visited([*inputs, *outputs], lambda wire: wire.inputs)
    missing = [wire for wire in wires if isinstance(wire.part, InputPart) and wire not in inputs]
    if missing:
        raise wg.errors.GraphError(
            wg.errors.message(
                f"Graph: the outputs need the input {missing[0].name!r}, which is not among inputs",
                tries=[f"inputs=[..., {missing[0].name}]"],
            )
        )
    names = _names(wires)
    return {names[w]: Vertex(names[w], w.part, tuple([names[v] for v in w.inputs])) for w in wires}, names


def _names(wires: Iterable[Wire]) -> dict[Wire, str]:
    names: dict[Wire, str] = {}
    taken: set[str] = set()
    for wire in wires:
        if wire.name is not None:
            if wire.name in taken:
                raise taken_twice(wire.name)
            names[wire] = wire.name
            taken.add(wire.name)
    counts: dict[str, int] = {}
    for wire in wires:
        if wire not in names:
            names[wire] = free_name(word_of(wire.part), taken, counts)
            taken.add(names[wire])
    return names


def free_name(word: str, taken: Iterable[str], counts: dict[str, int]) -> str:
    """Return ``word``, with the least number behind it that makes it a name of its own.

    ``counts`` has the last number of each word.
    """
    while True:
        number = counts[word] = counts.get(word, 0) + 1
        name = word if number == 1 else f"{word}_{number}"
        if name not in taken:
            return name


def word_of(part: Any) -> str:
    """Return what a vertex is called after, if nobody names it."""
    if isinstance(part, Call):
        return word_of(part.function)
    name = getattr(part, "__name__", type(part).__name__).lower()
    return "concat" if isinstance(part, Concatenate) else "vertex" if name == "<lambda>" else _WORDS.get(name, name)


def taken_twice(name: str) -> wg.errors.GraphError:
    return wg.errors.GraphError(
        wg.errors.message(f"two vertices are called {name!r}", tries=[f"{name}_2, for one of them"])
    )
