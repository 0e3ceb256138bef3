"""The vocabulary of lowerings: what an op computes, as data.

An op carries one of these values; codegen interprets them and knows no op by name, the ops import nothing from
codegen. A kernel says *what* is computed per element or per index, never how the loop runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, dataclass_transform

import numpy as np

NATIVE_DTYPES = frozenset(np.dtype(c) for c in "?bhilqBHILQfd")
"""The dtypes of elements that generated code can compute with."""


_MISSING: Any = object()


@dataclass_transform(frozen_default=True)
class Kernel:
    """Base class of the kinds of kernel: immutable, equal by value. The annotations of a class are its fields, those of
    its bases first; values assigned to them in the class are their defaults.

    Like a dataclass, which takes a millisecond to make; there are a score of kinds, and importing is to be quick.
    """

    _fields: ClassVar[dict[str, Any]] = {}
    """The default of each field, or ``_MISSING``."""

    # The questions that passes and codegen ask of a kernel. A kind overrides an answer that is different for it. They
    # have no annotations, since none of them is a field.
    function = ""
    """The scalar function that gives each element of the result."""
    combine = ""
    """How elements that come together are combined: "add", "maximum"."""
    is_view = False
    """Its result lies in the operand's memory, so that nothing is to be done."""
    only_reads = False
    """Each element of its result is an element of operand 0."""
    is_pointwise = False
    """Each element of the result is made of the elements at its place in the broadcast operands alone."""
    is_fused = False
    """Parameter ``body`` is a tape of several steps, done in one pass over memory."""
    is_fold = False
    """It combines elements along axes to one."""
    is_contraction = False
    """It sums products along shared axes."""
    is_update = False
    """The result is operand 0, written in part: in its memory if operand 0 dies."""
    moves_by_index = False
    """Operands hold the indices of the elements that are read or written."""
    may_fail = False
    """It can meet numbers for which there is no result: an index out of bounds."""
    has_bodies = False
    """It runs tapes that are its parameters, each any number of times or not at all."""
    runs_unknown_times = False
    """The number of times that it runs its tapes is not known before."""
    is_outside = False
    """A routine, Python or a guard does it, and no generated code."""
    writes_anywhere = False
    """It can write its result under any strides."""
    is_in_step = False
    """It writes an element after reading the operands' elements at the same place, which it does not read again: the
    result may have the memory of an operand."""
    joins = False
    """The operands are the parts of the result, each to be written into its place."""
    placing = ""
    """How a region of the result comes about whose layout is known: "zeros" (operand 0 in a region, zeros around it),
    "set" or "add" (operand 1 in a region of operand 0), "joined" (all operands, side by side)."""
    reads_beside = False
    """An element of the result is made of elements of operands that stand at other places than it does."""
    takes_any_dtype = False
    """It needs no arithmetic, so that the plan takes care of arrays of every dtype."""

    def __init_subclass__(cls) -> None:
        cls._fields = {**cls._fields, **{name: cls.__dict__.get(name, _MISSING) for name in cls.__annotations__}}

    def __init__(self, *values: Any, **named: Any) -> None:
        fields = self._fields
        given = dict(zip(fields, values, strict=False))
        bound = {**fields, **given, **named}  # in the order of the fields
        wrong = {
            "values without a field": values[len(fields) :],
            "no such field": [name for name in named if name not in fields],
            "given twice": [name for name in named if name in given],
            "no value given": [name for name, value in bound.items() if value is _MISSING],
        }
        for what, which in wrong.items():
            if which:
                raise TypeError(f"{type(self)._signature()}: {what}: {', '.join(map(str, which))}")
        self.__dict__.update(bound)

    @property
    def may_raise(self) -> bool:
        """Whether it may raise when it runs, so that it must not run where a guard before it has failed."""
        return self.may_fail or self.has_bodies or self.is_outside

    @property
    def only_adds(self) -> bool:
        """Whether elements of the result are sums of some elements of the operands, without weights.

        Nothing cancels in such a sum. So its transpose, given a mask as numbers, is zero exactly where nothing arrives.
        """
        return False

    @property
    def compiled_loop(self) -> CompiledLoop | None:
        """A loop that was compiled elsewhere and can do it, for dtypes of which generated code knows nothing, too."""
        return None

    def first_carry(self, params: Mapping[str, Any]) -> int | None:
        """Return the number of the first operand that iterations hand on, or None if nothing is."""
        return None

    @classmethod
    def _signature(cls) -> str:
        fields = [name if default is _MISSING else f"{name}={default!r}" for name, default in cls._fields.items()]
        return f"{cls.__name__}({', '.join(fields)})"

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


class Moves(Kernel):
    """Base class of the kinds that put elements in other places, and compute nothing."""

    @property
    def only_adds(self) -> bool:
        return True


class CompiledLoop(NamedTuple):
    """A loop over elements that was compiled elsewhere."""

    source: Any
    """A ufunc, whose loop for the dtypes it is; or the name of a loop of the runtime's own, over float64."""
    result: int = 0
    """The number of the result of the ufunc that is wanted."""
    variant: Callable[..., int | None] = lambda: 0
    """``variant(**params)``: the number of the loop among those of its name; None if there is no such loop."""
    raises_for: str = ""
    """The kinds of dtypes for which the loop may raise an error. Python calls it then, which knows the user's line."""


class Map(Kernel):
    """One scalar function per element of the broadcast operands; ``function`` names it ("tanh", "add")."""

    is_pointwise = True
    writes_anywhere = True
    is_in_step = True

    function: str
    loop: CompiledLoop | None = None
    """The loop that does it where generated code cannot compute the function, or not for the dtypes."""

    @property
    def compiled_loop(self) -> CompiledLoop | None:
        return self.loop


class MapTape(Kernel):
    """A scalar tape per element of the broadcast operands; parameter ``body`` is the tape."""

    is_pointwise = True
    writes_anywhere = True
    is_in_step = True


class Fused(Kernel):
    """Maps, and the reductions that they feed, in one pass over memory; parameter ``body`` is the tape."""

    is_fused = True
    writes_anywhere = True


class Stencil(Kernel):
    """Maps of views, of regions and of what was written into regions, one element at a time: parameter ``body`` is the
    tape, of which the result is the one output. Parameter ``has_edges`` says whether elements near the edges of the
    result are made otherwise than those within."""

    writes_anywhere = True
    reads_beside = True


class Region(NamedTuple):
    """A part of an array's memory: its beginning and its strides, both in the unit of the strides given."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


Layout = Callable[..., Region | None]
"""``layout(shape, strides, **params)`` returns the region of an array of that shape and strides, or None if no strides
describe it."""


class View(Moves):
    """A region of the operand under the result's shape: no work at all, where the strides allow it."""

    is_view = True
    only_reads = True
    takes_any_dtype = True

    layout: Layout


class Reduce(Kernel):
    """Combine along parameter ``axis`` with an associative ``combine``, one of :data:`IDENTITIES`."""

    is_fold = True
    writes_anywhere = True

    combine: str

    @property
    def only_adds(self) -> bool:
        return self.combine == "add"


IDENTITIES: dict[str, Callable[[np.dtype[Any]], Any]] = {
    "add": lambda dtype: -0.0 if dtype.kind == "f" else 0,  # -0.0 + x is x, for x = -0.0 too
    "multiply": lambda dtype: 1,
    "maximum": lambda dtype: -np.inf if dtype.kind == "f" else 0 if dtype.kind == "b" else np.iinfo(dtype).min,
    "minimum": lambda dtype: np.inf if dtype.kind == "f" else 1 if dtype.kind == "b" else np.iinfo(dtype).max,
    "logical_or": lambda dtype: 0,
    "logical_and": lambda dtype: 1,
}


def identity(combine: str, dtype: np.dtype[Any]) -> Any:
    """The number that combined with x gives x, bit for bit: an accumulator begins with it."""
    return IDENTITIES[combine](dtype)


def of_nothing(combine: str, dtype: np.dtype[Any]) -> Any:
    """The result of a reduction of no elements: the identity, except that NumPy's empty sum is 0.0 and not -0.0. A
    maximum or minimum has no such value, and its type rule raises."""
    return identity(combine, dtype) + 0


class Accumulate(Kernel):
    """A running :class:`Reduce` along parameter ``axis``: the result of every prefix is an output. It begins with the
    first element, and so needs no identity; ``combine`` may also be "multiply_add", y = a y + b."""

    is_in_step = True

    combine: str

    @property
    def only_adds(self) -> bool:
        return self.combine == "add"


class ArgReduce(Kernel):
    """The first index along parameter ``axis`` at which ``compare`` is extreme ("maximum", "minimum")."""

    compare: str


class Nonzero(Kernel):
    """The indices, in C order and one array for each axis, of the parameter ``size`` elements that are not zero."""

    may_fail = True


class Search(Kernel):
    """The number of elements of operand 0, which is sorted, that go before each element of operand 1. Parameter
    ``side`` is "left" or "right", as for ``np.searchsorted``."""


class Iota(Kernel):
    """A vector in which every element is its index."""

    writes_anywhere = True


class Join(Moves):
    """Operands one after the other along parameter ``axis``."""

    joins = True
    placing = "joined"
    writes_anywhere = True


class Interleave(Kernel):
    """Complex numbers made of their real parts, operand 0, and their imaginary parts, operand 1."""

    joins = True
    takes_any_dtype = True


class Gather(Moves):
    """Elements of operand 0 at index operands."""

    only_reads = True
    moves_by_index = True
    may_fail = True


class Scatter(Kernel):
    """Operand 0, with operand 1 written ("set") or added ("add") at the index operands; in place if operand 0 dies."""

    is_update = True
    moves_by_index = True
    may_fail = True

    combine: str


class Write(Kernel):
    """Operand 0, with operand 1 broadcast and written ("set") or added ("add") in a region; in place if operand 0
    dies."""

    is_update = True

    combine: str
    layout: Layout

    @property
    def placing(self) -> str:
        return self.combine


class Embed(Moves):
    """Zeros, with operand 0 broadcast and written in a region."""

    placing = "zeros"

    layout: Layout


class Contract(Kernel):
    """Sum of products over shared axes: matrix products, outer products, tensor contractions."""

    is_contraction = True


class Sort(Kernel):
    """Sort along parameter ``axis``. The result is the sorted values ("values"), the permutation ("permutation"), or
    the elements of the permutation at the parameter ``ranks`` ("places")."""

    what: str


class Routine(Kernel):
    """A routine outside the generated code, by name: "lapack.potrf"."""

    is_outside = True

    routine: str
    needs_room: bool = False
    """The routine needs workspace: a copy of one matrix of each operand and result, and one pivot for each row."""
    further_rows: int = 0
    """Extra workspace: this many rows of n + 1 elements, for a matrix of n columns."""
    is_partial: bool = False
    """The routine leaves some operands to the reference. Any other routine raises exactly where the reference does."""
    is_of_complex: bool = False
    """The routine takes and gives whole complex numbers, and needs workspace of four times the parts of one row."""

    takes_complex: bool = False
    """The routine takes whole complex numbers as well as real ones."""
    gufunc: Callable[..., str] | None = None
    """``gufunc(**params)``: the generalised ufunc of numpy.linalg that does it where the routine does not."""
    needs_finite: bool = False
    """The generalised ufunc is given finite numbers alone."""

    @property
    def takes_any_dtype(self) -> bool:
        return self.is_of_complex or self.takes_complex or self.gufunc is not None


class Loop(Kernel):
    """Run the tape of parameter ``loop`` once for each slice of some operands, with carries handed from one iteration
    to the next: see :mod:`wengert.higher.loops`."""

    has_bodies = True

    def first_carry(self, params: Mapping[str, Any]) -> int | None:
        return params["loop"].constants if "loop" in params else None


class RepeatWhile(Kernel):
    """Run the tape of parameter ``loop`` on its own carries while its condition holds."""

    has_bodies = True
    runs_unknown_times = True

    def first_carry(self, params: Mapping[str, Any]) -> int | None:
        return params["loop"].first if "loop" in params else None


class RepeatWhileBack(Kernel):
    """The pullback of a :class:`RepeatWhile`, which it runs again. Parameter ``wrt`` numbers the inputs of ``loop``
    that have cotangents."""

    has_bodies = True
    runs_unknown_times = True


class Alternatives(Kernel):
    """Run one of the tapes of parameter ``branches``, whose number is operand 0, an int64, on the other operands."""

    has_bodies = True


class Lanes(Kernel):
    """Run the tape of parameter ``block`` on blocks of lanes: on parts of the operands along their axes of parameter
    ``count``, which the tape has in the length of a block. What it computes for one lane depends on no other lane."""

    has_bodies = True
    writes_anywhere = True


class Callback(Kernel):
    """Python is called back inside the program: right, and slow; ``why`` says why there is no native lowering."""

    is_outside = True

    why: str = "no native lowering"


class Check(Kernel):
    """A fact about operands that the program verifies: a guard."""

    is_outside = True
    takes_any_dtype = True

    @property
    def may_raise(self) -> bool:
        return False  # it is what others must not run before


def whole(shape: tuple[int, ...], strides: tuple[int, ...], /, **params: Any) -> Region:
    """The layout of a result that is the whole operand as it is."""
    return Region(0, shape, strides)


Cost = Callable[..., float]


def flops(per_element: float) -> Cost:
    """Return the cost of ``per_element`` floating-point operations per element of the (broadcast) result."""

    def cost(*avals: Any, **params: Any) -> float:
        return per_element * max((a.size for a in avals), default=1)

    return cost


def free(*avals: Any, **params: Any) -> float:
    """The cost of a view: no arithmetic and no memory traffic."""
    return 0.0
