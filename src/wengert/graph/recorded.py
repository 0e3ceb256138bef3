"""``graph.of``: what a function does, as a graph of its steps."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import wengert as wg
from wengert.graph.graph import Graph
from wengert.graph.vertices import Call, Constant, InputPart, Operand, Vertex
from wengert.graph.wires import free_name


@wg.expect.checked
def of(f: Callable[..., Any], *args: Any) -> Graph:
    """Return the graph of the steps that ``f`` takes for arguments like ``args``.

    Its inputs are the arrays of ``args``, in the order of their leaves, named after the parameters of ``f``; its
    outputs are those of the value. Arrays that ``f`` captured are :class:`~wengert.graph.Constant` vertices. Where
    ``f`` branches on values, it is one path of ``f``, and the check that this is the path is a vertex too.

    Each vertex calls one op, which takes arrays, traced ones too: the graph is differentiated and compiled like ``f``.

    Parameters
    ----------
    f : a function of arrays, or of trees of them.
    args : arrays, trees of them, or specs.

    Raises
    ------
    GuardError : at a call of the graph, whose inputs take another path of ``f``.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import graph
    >>> g = graph.of(lambda w, x: np.sum(np.tanh(w @ x)), np.ones((2, 3)), np.ones(3))
    >>> g.names
    ('w', 'x', 'contract', 'tanh', 'sum')
    >>> swapped = g.replace("tanh", np.sin)
    >>> swapped(np.ones((2, 3)), np.ones(3)) == np.sum(np.sin(np.full(2, 3.0)))
    np.True_
    """
    return of_tape(wg.trace(f)(*args), _parameters(f))


def of_tape(tape: wg.Tape, parameters: tuple[str, ...] = ()) -> Graph:
    """Return the graph of a tape, each instruction a vertex."""
    vertices: dict[str, Vertex] = {}
    names: dict[Any, str] = {}
    counts: dict[str, int] = {}

    def add(word: str, part: Any, *inputs: str) -> str:
        name = free_name(word, vertices, counts)
        vertices[name] = Vertex(name, part, inputs)
        return name

    for value, word in zip(tape.inputs, _words_of_inputs(tape, parameters), strict=True):
        names[value] = add(word, InputPart())
    inputs = tuple(vertices)
    for capture in tape.captures:
        names[capture.var] = add(capture.name or "constant", Constant(capture.array))
    for op, ins, outs, params, _ in tape.instrs:
        read = [a for a in ins if a in names]
        number = iter(range(len(read)))
        arguments = tuple([Operand(next(number)) if a in names else _value(a) for a in ins])
        part = (Checked if op.effects else Call)(op, arguments, dict(params))
        name = add(op.name, part, *[names[a] for a in read])
        for k, value in enumerate(outs):
            names[value] = name if len(outs) == 1 else add(f"{name}_{k}", Picked(k), name)
    outputs = [names[a] if a in names else add("constant", Constant(_value(a))) for a in tape.outputs]
    return Graph.made_of(vertices, inputs, outputs)


def _value(literal: Any) -> Any:
    return literal.value


_OtherPath = (
    wg.ops.control.GuardMiss
)  # by a name of ours: a compiled function watches what the modules hold that it names


class Checked(Call):
    """This part checks that a branch of the function is the one that was recorded."""

    def __call__(self, *xs: Any) -> Any:
        try:
            return super().__call__(*xs)
        except _OtherPath:
            raise wg.errors.GuardError(
                wg.errors.message(
                    "the graph was recorded along one path through a function, and these inputs take another path",
                    tries=["graph.of(f, *inputs), for the path of these inputs", "np.where instead of the branch"],
                )
            ) from None


class Picked:
    """This part picks one of several values that a vertex gives."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __call__(self, values: tuple[Any, ...]) -> Any:
        return values[self.number]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Picked) and self.number == other.number

    def __hash__(self) -> int:
        return hash((Picked, self.number))

    def __repr__(self) -> str:
        return f"[{self.number}]"


def _parameters(f: Callable[..., Any]) -> tuple[str, ...]:
    try:
        return tuple(inspect.signature(f).parameters)
    except (TypeError, ValueError):  # of some ufuncs and compiled functions nobody knows
        return ()


def _words_of_inputs(tape: wg.Tape, parameters: tuple[str, ...]) -> list[str]:
    """Return names of the inputs: of the parameter, and of the keys that lead to the leaf, with points between them."""
    if tape.in_tree is None:
        return [f"x{k}" for k in range(len(tape.inputs))]
    static = {k for k, _ in tape.in_static}
    words = []
    for k, (first, *rest) in enumerate(tape.in_tree.paths()):
        if k not in static:
            start = parameters[first] if isinstance(first, int) and first < len(parameters) else f"x{first}"
            words.append(".".join([start, *map(str, rest)]))
    return words
