"""Gradients of graphs that are edited: compiled block by block, so that an edit compiles its own block alone.

``wg.jit(wg.grad(...))`` of a whole graph makes one program, the fastest there is, and makes it anew after every edit.
Here the graph is cut into blocks of some tens of vertices, each with a program for its values and one for its
cotangents, and what is called is the chain of these. Blocks are cut where the names of vertices say so (as rsync cuts
files, by content), so that after an edit all other blocks are equal to those before, whose programs are kept.

A block's second program computes its values again, rather than keep them: a gradient takes up to a third more work than
that of the one program, and some microseconds a block.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

import wengert as wg
from wengert.graph.evaluation import check_inputs, check_names, evaluate
from wengert.graph.vertices import Vertex, is_layer

if TYPE_CHECKING:
    from wengert.graph.graph import Graph

Tree = Any
SIZE = 24
"""About so many vertices are a block: fewer would be compiled sooner after an edit, and take more calls."""
MAX_BLOCKS = 8192
"""The programs of so many blocks are kept, the last ones used."""


@dataclass(frozen=True)
class Block:
    """Some vertices, one behind the other in topological order."""

    vertices: tuple[Vertex, ...]
    reads: tuple[str, ...]
    """The values that it takes from before."""
    active: tuple[bool, ...]
    """Which of these depend on parameters."""
    gives: tuple[str, ...]
    """The values that others take."""

    def __hash__(self) -> int:
        return hash((self.vertices[0].name, len(self.vertices), self.reads, self.gives))


@dataclass(eq=False)
class Programs:
    """These are a block's compiled programs, made when it is first called: of its values and of its cotangents."""

    block: Block
    values: Callable[..., Any] = field(init=False)
    cotangents: Callable[..., Any] = field(init=False)

    def __post_init__(self) -> None:
        vertices, reads, active, gives = self.block.vertices, self.block.reads, self.block.active, self.block.gives

        def values(params: Tree, state: Tree, xs: tuple[Any, ...], train: bool) -> Any:
            found, changed = evaluate(vertices, dict(zip(reads, xs, strict=True)), params, state, train)
            return tuple([found[name] for name in gives]), changed

        def cotangents(params: Tree, state: Tree, xs: Any, cts: Any, sums: Any, train: bool) -> Any:
            """Return those of the parameters, and of the active ``xs``, added to ``sums``: None for whole numbers.

            ``cts`` are None where nobody reads a value in a way that has a derivative.
            """
            moves = [is_active and x.dtype.kind in "fc" for x, is_active in zip(xs, active, strict=True)]

            def paired(params: Tree, moving: tuple[Any, ...]) -> Any:
                """Return Re ⟨cts, values⟩, whose gradient is what the pullback makes of cts, of complex values too."""
                rest = iter(moving)
                every = tuple([next(rest) if is_moving else x for x, is_moving in zip(xs, moves, strict=True)])
                found = values(params, state, every, train)[0]
                return sum([np.real(np.sum(ct * y)) for y, ct in zip(found, cts, strict=True) if ct is not None])

            moving = tuple([x for x, is_moving in zip(xs, moves, strict=True) if is_moving])
            of_params, of_moving = wg.grad(paired, (0, 1))(params, moving)
            rest = iter(of_moving)
            of_reads = [next(rest) if is_moving else None for is_moving, a in zip(moves, active, strict=True) if a]
            return of_params, tuple([ct if s is None else s + ct for ct, s in zip(of_reads, sums, strict=True)])

        self.values, self.cotangents = wg.jit(values), wg.jit(cotangents)


_programs: OrderedDict[Block, Programs] = OrderedDict()


def _programs_of(block: Block) -> tuple[Programs, bool]:
    """Return the programs of a block, and whether they had to be made."""
    known = _programs.get(block)
    if known is not None:
        _programs.move_to_end(block)
        return known, False
    made = _programs[block] = Programs(block)
    if len(_programs) > MAX_BLOCKS:
        _programs.popitem(last=False)
    return made, True


# ------------------------------------------------------------------------------------------------------------ cutting


def blocks_of(graph: Graph) -> list[Block]:
    """Return the graph in blocks, in topological order. Linear."""
    pieces = _cut([vertex for vertex in graph if vertex.name not in graph.inputs])
    home = {vertex.name: k for k, piece in enumerate(pieces) for vertex in piece}
    taken: dict[str, None] = dict.fromkeys(graph.outputs)
    for vertex in graph:
        for read in vertex.inputs:
            if home.get(read) != home[vertex.name]:
                taken[read] = None
    active: set[str] = set()
    blocks = []
    for k, piece in enumerate(pieces):
        reads = tuple(dict.fromkeys([read for v in piece for read in v.inputs if home.get(read) != k]))
        is_active = tuple([read in active for read in reads])
        for v in piece:
            if is_layer(v.part) or not active.isdisjoint(v.inputs):
                active.add(v.name)
        blocks.append(Block(tuple(piece), reads, is_active, tuple([v.name for v in piece if v.name in taken])))
    return blocks


def _cut(vertices: Sequence[Vertex]) -> list[list[Vertex]]:
    """Cut vertices into pieces of a quarter of SIZE to its double, behind names whose checksum says so."""
    pieces: list[list[Vertex]] = []
    piece: list[Vertex] = []
    for vertex in vertices:
        piece.append(vertex)
        is_end = zlib.crc32(vertex.name.encode()) % SIZE < 2
        if len(piece) >= 2 * SIZE or (is_end and len(piece) >= SIZE // 4):
            pieces.append(piece)
            piece = []
    return [*pieces, piece] if piece else pieces


# ---------------------------------------------------------------------------------------------------------- gradients


@dataclass(frozen=True)
class Report:
    """This report says how much of a graph is new, and is compiled at the first call of its gradient."""

    vertices: int
    blocks: int
    new_vertices: int
    """The number of vertices in new blocks."""
    new_blocks: int

    def __str__(self) -> str:
        return (
            f"{self.new_blocks} of {self.blocks} blocks are new, with {self.new_vertices} of {self.vertices} vertices; "
            "the programs of the others are there already"
        )


@wg.expect.checked_class
class ValueAndGrad:
    """This is the function that :meth:`Graph.value_and_grad` returns, compiled in blocks of the graph.

    ``step(params, state, *xs, args=(), train=False)`` returns ``((value, new state), gradient)``: of ``loss(outputs,
    *args)``, with respect to ``params``. ``step.report`` says how many blocks are new, and compiled at the first call.

    >>> import numpy as np
    >>> from wengert import graph, nn
    >>> g = graph.empty("x").insert("h", nn.Scale(bias=False), after="x")
    >>> step = g.value_and_grad(lambda outputs, target: np.sum((outputs[0] - target) ** 2))
    >>> params = {"h": {"scale": np.array([1.0, 2.0])}}
    >>> (value, state), gradient = step(params, {}, np.ones(2), args=(np.zeros(2),))
    >>> float(value), gradient
    (5.0, {'h': {'scale': array([2., 4.])}})
    >>> step.report.new_blocks, g.value_and_grad(lambda outputs: np.sum(outputs[0])).report.new_blocks
    (1, 0)
    """

    def __init__(self, graph: Graph, loss: Callable[..., Any]) -> None:
        self._inputs, self._outputs, self._names = graph.inputs, graph.outputs, graph.vertices
        self._blocks = blocks_of(graph)
        found = [_programs_of(block) for block in self._blocks]
        self._steps = [programs for programs, _ in found]
        new = [block for block, (_, is_new) in zip(self._blocks, found, strict=True) if is_new]
        sizes = [sum(len(block.vertices) for block in some) for some in (self._blocks, new)]
        self.report = Report(sizes[0], len(self._blocks), sizes[1], len(new))
        """How much of the graph is new, and will be compiled at the first call."""
        self._end = _end_of(loss)

    def __call__(self, params: Tree, state: Tree, *xs: Any, args: tuple[Any, ...] = (), train: bool = False) -> Any:
        check_inputs(self._inputs, xs)
        check_names(self._names, params, "a parameter")
        values: dict[str, Any] = dict(zip(self._inputs, xs, strict=True))
        own = []
        new_state = dict(state)
        for block, step in zip(self._blocks, self._steps, strict=True):
            its = _own(block, params), _own(block, state), tuple([values[name] for name in block.reads])
            own.append(its)
            gives, changed = step.values(*its, train)
            values.update(zip(block.gives, gives, strict=True))
            new_state.update(changed)
        value, cts = self._end(tuple([values[name] for name in self._outputs]), *args)
        sums = _added(self._outputs, cts)
        gradient = {}
        for block, step, its in zip(self._blocks[::-1], self._steps[::-1], own[::-1], strict=True):
            given = tuple([sums.pop(name, None) for name in block.gives])
            moving = [name for name, is_active in zip(block.reads, block.active, strict=True) if is_active]
            if all(ct is None for ct in given) or not (its[0] or moving):
                gradient.update(wg.tree.map(lambda x: x * 0, its[0]))
                continue
            of_params, of_reads = step.cotangents(*its, given, tuple([sums.get(name) for name in moving]), train)
            gradient.update(of_params)
            sums.update(zip(moving, of_reads, strict=True))
        return (value, new_state), {name: gradient[name] for name in params}


def value_and_grad(graph: Graph, loss: Callable[..., Any]) -> ValueAndGrad:
    """Return ``step(params, state, *xs, args=(), train=False) -> ((value, new state), gradient)``, compiled in blocks.

    It is for a graph that is going to be edited: ``loss(outputs, *args)`` and its gradient with respect to ``params``.
    After an edit only the blocks that have changed are compiled: ``step.report`` says how many.

    Parameters
    ----------
    loss : takes the tuple of outputs, and ``args``; it returns one real number.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import graph
    >>> def total(outputs):
    ...     return np.sum(outputs[0] ** 2)
    >>> g = graph.empty("x").insert("h", np.tanh, after="x")
    >>> step = g.value_and_grad(total)
    >>> print(step.report)
    1 of 1 blocks are new, with 1 of 1 vertices; the programs of the others are there already
    >>> (value, state), gradient = step({}, {}, np.zeros(2))
    >>> float(value), gradient
    (0.0, {})
    """
    return ValueAndGrad(graph, loss)


_ends: WeakKeyDictionary[Any, Callable[..., Any]] = WeakKeyDictionary()


def _end_of(loss: Callable[..., Any]) -> Callable[..., Any]:
    """Return the program of a loss and its cotangents, kept while the loss is."""
    known = _ends.get(loss)
    if known is None:
        known = _ends[loss] = wg.jit(wg.value_and_grad(lambda outputs, *args: loss(outputs, *args)))
    return known


def _own(block: Block, tree: Tree) -> Tree:
    return {v.name: tree[v.name] for v in block.vertices if v.name in tree}


def _added(names: Sequence[str], cts: Sequence[Any]) -> dict[str, Any]:
    """Return the cotangent of each name; one that is returned twice has the sum."""
    found: dict[str, Any] = {}
    for name, ct in zip(names, cts, strict=True):
        found[name] = found[name] + ct if name in found else ct
    return found
