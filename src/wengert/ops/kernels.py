"""The vocabulary of lowerings: what an op computes, as data.

An op carries one of these values; codegen interprets them and knows no op by name, the ops import nothing from
codegen. A kernel says *what* is computed per element or per index, never how the loop runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, dataclass_transform

import numpy as np

NATIVE_DTYPES = frozenset(np.dtype(c) for c in "?bhilqBHILQfd")
"""Of the elements that generated code can compute with."""


@dataclass_transform(frozen_default=True)
class Kernel:
    """Base class of the kinds of kernel: immutable, equal by value, the annotations of the class are its fields.

    Like a dataclass, which takes a millisecond to make; there are a score of kinds, and importing is to be quick.
    """

    def __init__(self, *values: Any, **named: Any) -> None:
        fields = type(self).__annotations__
        self.__dict__.update(zip(fields, values, strict=False))
        self.__dict__.update(named)
        for name in fields:
            getattr(self, name)  # or its default

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


class Map(Kernel):
    """One scalar function per element of the broadcast operands; ``function`` names it ("tanh", "add")."""

    function: str


class MapTape(Kernel):
    """A scalar tape per element of the broadcast operands; parameter ``body`` is the tape."""


class Fused(Kernel):
    """Maps, and the reductions that they feed, in one pass over memory; parameter ``body`` is the tape."""


class Region(NamedTuple):
    """Some of an array's memory: where it begins and how it is strided, both in the unit of the strides given."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


Layout = Callable[..., Region | None]
"""``layout(shape, strides, **params)``: the region of an array of that shape and strides; None: no strides say it."""


class View(Kernel):
    """A region of the operand under the result's shape: no work at all, where the strides allow it."""

    layout: Layout


class Reduce(Kernel):
    """Combine along parameter ``axis`` with an associative ``combine`` ("add", "multiply", "maximum" ...)."""

    combine: str


class Accumulate(Kernel):
    """Running :class:`Reduce` along parameter ``axis``: every prefix is an output."""

    combine: str


class ArgReduce(Kernel):
    """The first index along parameter ``axis`` at which ``compare`` is extreme ("maximum", "minimum")."""

    compare: str


class Nonzero(Kernel):
    """For each axis the indices, in C order, of the elements that are not zero: parameter ``size`` of them."""


class Search(Kernel):
    """How many elements of operand 0, which is sorted, go before each of operand 1; parameter ``side``: "left" or
    "right", as ``np.searchsorted`` has it."""


class Iota(Kernel):
    """Every element is its index."""


class Join(Kernel):
    """Operands one after the other along parameter ``axis``."""


class Gather(Kernel):
    """Elements of operand 0 at index operands."""


class Scatter(Kernel):
    """Operand 0 with operand 1 written ("set") or added ("add") at the index operands; in place if operand 0 dies."""

    combine: str


class Write(Kernel):
    """Operand 0 with operand 1, broadcast, written ("set") or added ("add") in a region; in place if operand 0 dies."""

    combine: str
    layout: Layout


class Embed(Kernel):
    """Zeros, with operand 0, broadcast, in a region."""

    layout: Layout


class Contract(Kernel):
    """Sum of products over shared axes: matrix products, outer products, tensor contractions."""


class Sort(Kernel):
    """Sort along parameter ``axis``: the values, or the permutation ("values", "permutation")."""

    what: str


class Call(Kernel):
    """A routine outside the generated code, by name: "lapack.potrf"."""

    routine: str
    needs_room: bool = False
    """It works beside its operands: on copies of a matrix of each operand and result, with a pivot a row."""
    is_partial: bool = False
    """It leaves some operands to the reference; any other refuses those that the reference refuses."""


class Callback(Kernel):
    """Python is called back inside the program: right, and slow; ``why`` says what stands in the way."""

    why: str = "no native lowering"


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
