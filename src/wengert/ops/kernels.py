"""The vocabulary of lowerings: what an op computes, as data.

An op carries one of these values; codegen interprets them and knows no op by name, the ops import nothing from
codegen. A kernel says *what* is computed per element or per index, never how the loop runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Kernel:
    """Base class of the kinds of kernel."""


@dataclass(frozen=True)
class Map(Kernel):
    """One scalar function per element of the broadcast operands; ``function`` names it ("tanh", "add")."""

    function: str


@dataclass(frozen=True)
class MapTape(Kernel):
    """A scalar tape per element of the broadcast operands; parameter ``body`` is the tape."""


@dataclass(frozen=True)
class Fused(Kernel):
    """Maps, and the reductions that they feed, in one pass over memory; parameter ``body`` is the tape."""


class Region(NamedTuple):
    """Some of an array's memory: where it begins and how it is strided, both in the unit of the strides given."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


Layout = Callable[..., Region | None]
"""``layout(shape, strides, **params)``: the region of an array of that shape and strides; None: no strides say it."""


@dataclass(frozen=True)
class View(Kernel):
    """A region of the operand under the result's shape: no work at all, where the strides allow it."""

    layout: Layout


@dataclass(frozen=True)
class Reduce(Kernel):
    """Combine along parameter ``axis`` with an associative ``combine`` ("add", "multiply", "maximum" ...)."""

    combine: str


@dataclass(frozen=True)
class Accumulate(Kernel):
    """Running :class:`Reduce` along parameter ``axis``: every prefix is an output."""

    combine: str


@dataclass(frozen=True)
class ArgReduce(Kernel):
    """The first index along parameter ``axis`` at which ``compare`` is extreme ("maximum", "minimum")."""

    compare: str


@dataclass(frozen=True)
class Nonzero(Kernel):
    """For each axis the indices, in C order, of the elements that are not zero: parameter ``size`` of them."""


@dataclass(frozen=True)
class Search(Kernel):
    """How many elements of operand 0, which is sorted, go before each of operand 1; parameter ``side``: "left" or
    "right", as ``np.searchsorted`` has it."""


@dataclass(frozen=True)
class Iota(Kernel):
    """Every element is its index."""


@dataclass(frozen=True)
class Join(Kernel):
    """Operands one after the other along parameter ``axis``."""


@dataclass(frozen=True)
class Gather(Kernel):
    """Elements of operand 0 at index operands."""


@dataclass(frozen=True)
class Scatter(Kernel):
    """Operand 0 with operand 1 written ("set") or added ("add") at the index operands; in place if operand 0 dies."""

    combine: str


@dataclass(frozen=True)
class Write(Kernel):
    """Operand 0 with operand 1, broadcast, written ("set") or added ("add") in a region; in place if operand 0 dies."""

    combine: str
    layout: Layout


@dataclass(frozen=True)
class Embed(Kernel):
    """Zeros, with operand 0, broadcast, in a region."""

    layout: Layout


@dataclass(frozen=True)
class Contract(Kernel):
    """Sum of products over shared axes: matrix products, outer products, tensor contractions."""


@dataclass(frozen=True)
class Sort(Kernel):
    """Sort along parameter ``axis``: the values, or the permutation ("values", "permutation")."""

    what: str


@dataclass(frozen=True)
class Call(Kernel):
    """A routine outside the generated code, by name: "lapack.potrf"."""

    routine: str
    needs_room: bool = False
    """It works beside its operands: on copies of a matrix of each operand and result, with a pivot a row."""


@dataclass(frozen=True)
class Callback(Kernel):
    """Python is called back inside the program: right, and slow; ``why`` says what stands in the way."""

    why: str = "no native lowering"


@dataclass(frozen=True)
class Check(Kernel):
    """A fact about operands that the program verifies: a guard."""


def whole(shape: tuple[int, ...], strides: tuple[int, ...], /, **params: Any) -> Region:
    """The layout of a result that is its operand."""
    return Region(0, shape, strides)


Cost = Callable[..., float]


def flops(per_element: float) -> Cost:
    """So many floating-point operations per element of the (broadcast) result."""

    def cost(*avals: Any, **params: Any) -> float:
        return per_element * max((a.size for a in avals), default=1)

    return cost


def free(*avals: Any, **params: Any) -> float:
    """No arithmetic and no traffic: a view."""
    return 0.0
