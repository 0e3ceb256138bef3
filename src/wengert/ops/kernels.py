"""The vocabulary of lowerings: what an op computes, as data.

An op carries one of these values; codegen interprets them and knows no op by name, the ops import nothing from
codegen. A kernel says *what* is computed per element or per index, never how the loop runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


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
class View(Kernel):
    """The operand's bytes under another shape and strides: no work at all, where the strides allow it."""


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
class Fill(Kernel):
    """Every element from its index alone: a constant, a range, the identity."""

    function: str


@dataclass(frozen=True)
class Join(Kernel):
    """Operands one after the other along parameter ``axis``."""


@dataclass(frozen=True)
class Gather(Kernel):
    """Elements of operand 0 at index operands."""


@dataclass(frozen=True)
class Scatter(Kernel):
    """Operand 0 with other operands written ("set") or added ("add") at indices; in place if operand 0 dies."""

    combine: str


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


@dataclass(frozen=True)
class Callback(Kernel):
    """Python is called back inside the program: right, and slow; ``why`` says what stands in the way."""

    why: str = "no native lowering"


@dataclass(frozen=True)
class Check(Kernel):
    """A fact about operands that the program verifies: a guard."""


Cost = Callable[..., float]


def flops(per_element: float) -> Cost:
    """So many floating-point operations per element of the (broadcast) result."""

    def cost(*avals: Any, **params: Any) -> float:
        return per_element * max((a.size for a in avals), default=1)

    return cost


def free(*avals: Any, **params: Any) -> float:
    """No arithmetic and no traffic: a view."""
    return 0.0
