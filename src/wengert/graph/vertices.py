"""A vertex: a name, a part that computes, and the names of the vertices whose values it reads.

A *part* is any callable, or a layer: what has ``init(rng, *xs) -> (params, state)`` and
``apply(params, state, *xs, train=False) -> (y, new_state)``. A graph is a layer too.

A compiled function that captured a graph looks at every call at whatever in it might have changed: at parts, but not at
vertices, which are tuples. Parts have no slots, for the runtime looks by itself at objects with a ``__dict__`` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

import wengert as wg

Part = Callable[..., Any]
_Op = wg.ops.Op  # by a name of ours: a compiled function watches what the modules hold that it names


class Vertex(NamedTuple):
    """A vertex computes ``part`` of the values of ``inputs``, under a name.

    >>> import numpy as np
    >>> from wengert import graph
    >>> graph.Vertex("h", np.tanh, ("x",))
    Vertex(name='h', part=<ufunc 'tanh'>, inputs=('x',))
    """

    name: str
    part: Any
    inputs: tuple[str, ...] = ()


class Vertices(Mapping[str, Vertex]):
    """This mapping has vertices by name, in topological order, in pieces.

    A compiled function that captured a dict of more than 10,000 items is traced at every call, for to look at all of
    them would take as long: of this one the runtime looks at the pieces.
    """

    def __init__(self, vertices: Mapping[str, Vertex]) -> None:
        items = list(vertices.items())
        self._pieces = [dict(items[k : k + PIECE]) for k in range(0, len(items), PIECE)]

    def __getitem__(self, name: str) -> Vertex:
        for piece in self._pieces:
            if name in piece:
                return piece[name]
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return any(name in piece for piece in self._pieces)

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self._pieces)

    def __reversed__(self) -> Iterator[str]:
        return chain.from_iterable(map(reversed, reversed(self._pieces)))

    def __len__(self) -> int:
        return sum(map(len, self._pieces))

    def __hash__(self) -> int:
        """Return the hash of the names: equal for equal ones, in whatever order they stand."""
        return hash(frozenset(self))

    def each(self) -> Iterator[Vertex]:
        """Yield the vertices in their order."""
        return chain.from_iterable([piece.values() for piece in self._pieces])

    def whole(self) -> dict[str, Vertex]:
        """Return them as one dict, which is the caller's."""
        found: dict[str, Vertex] = {}
        for piece in self._pieces:
            found.update(piece)
        return found


PIECE = 1_000


@dataclass(frozen=True)
class InputPart:
    """This part stands for a value that the caller gives."""


@dataclass(frozen=True, eq=False)
class Constant:
    """This part reads nothing: it is an array that stands in the graph. Equal to another one of equal bits.

    >>> import numpy as np
    >>> from wengert import graph
    >>> graph.Constant(np.ones(2)) == graph.Constant(np.ones(2))
    True
    """

    value: Any

    def __call__(self) -> Any:
        return self.value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constant):
            return False
        a, b = np.asarray(self.value), np.asarray(other.value)
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()

    def __hash__(self) -> int:
        return hash((Constant, np.shape(self.value)))


@dataclass(frozen=True)
class Operand:
    """An operand marks where a :class:`Call` puts the value of its input number ``number``."""

    number: int


@dataclass(frozen=True)
class Call:
    """This part calls ``function`` with some arguments that are given here, and others that the vertex reads.

    Parameters
    ----------
    function : what is called.
    arguments : of which those that are :class:`Operand` stand for the values that the vertex reads, by their numbers.
    keywords : given to ``function`` as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert.graph.vertices import Call, Operand
    >>> half = Call(np.multiply, (Operand(0), 0.5))
    >>> half(np.ones(2))
    array([0.5, 0.5])
    """

    function: Part
    arguments: tuple[Any, ...]
    keywords: dict[str, Any] = field(default_factory=dict)

    def __call__(self, *xs: Any) -> Any:
        arguments = [xs[a.number] if isinstance(a, Operand) else a for a in self.arguments]
        return self.function(*arguments, **self.keywords)

    def __hash__(self) -> int:
        return hash((self.function, len(self.arguments), tuple(self.keywords)))


def is_layer(part: Any) -> bool:
    """Return whether a part has parameters of its own, by the protocol of layers."""
    return hasattr(type(part), "apply") and hasattr(type(part), "init")


def words(part: Any) -> str:
    """Return a part in a few words, for tables and errors.

    >>> import numpy as np
    >>> words(np.tanh), words(Call(np.sum, (Operand(0),), {"axis": 1}))
    ('tanh', 'sum(·, axis=1)')
    """
    if isinstance(part, InputPart):
        return "input"
    if isinstance(part, Constant):
        return f"constant {np.asarray(part.value).dtype}{list(np.shape(part.value))}"
    if isinstance(part, Call):
        given = ["·" if isinstance(a, Operand) else repr(a) for a in part.arguments]
        given += [f"{name}={value!r}" for name, value in part.keywords.items()]
        return f"{words(part.function)}({', '.join(given)})"
    if isinstance(part, _Op):
        return part.name
    if is_layer(part) or not hasattr(part, "__name__"):
        return " ".join(repr(part).split())
    return part.__name__


wg.expect.kind("Part", lambda x: callable(x) or is_layer(x), "a function or a layer")
