"""Traced values, as Python and NumPy call them: the Python form of wengert.tracing._steps (native/steps.cpp).

The compiled module remembers which steps the earlier runs of a function took, and takes them again. This form does not
remember: every run is recorded anew, which gives the same tape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from wengert.tape import Atom, Aval, Instr, Var
    from wengert.tracing.tracer import Tracer


class _GivenBySetup(NamedTuple):
    """The classes and functions that :func:`setup` was given."""

    tracer: Any
    ndarray: Any
    generic: Any
    dtype: Any
    literal: Any
    hooks: ModuleType
    layout: Any
    lift: Any
    answer: Any
    ufunc: Any
    power: Any
    method: Any
    ufuncs: Any
    functions: Any
    takers: Any
    numpy: tuple[np.ufunc, ...]


_known: Any = None
_hooks: Any = None


def setup(*given: Any) -> None:
    """Say which classes and functions the traced values are made and answered by: see tracer.py."""
    global _hooks, _known
    _known = _GivenBySetup(*given)
    _hooks = _known.hooks


# -------------------------------------------------------------------------------------------------------- the operators


def _binary(ufunc: np.ufunc) -> tuple[Any, Any, Any]:
    """Return an operator of two operands, the same with the value on the right, and in place."""

    def operator(self: TracedValue, other: object) -> Any:
        return _hooks.binary(ufunc, self, other)

    def reflected(self: TracedValue, other: object) -> Any:
        return _hooks.binary(ufunc, other, self)

    def in_place(self: TracedValue, other: object) -> Any:
        if self.is_scalar:  # NumPy writes no scalar: it is a new one
            return _hooks.binary(ufunc, self, other)
        return _hooks.in_place(ufunc, self, other)

    return operator, reflected, in_place


def _unary(ufunc: np.ufunc) -> Any:
    def operator(self: TracedValue) -> Any:
        return _hooks.unary(ufunc, self)

    return operator


def _ordered(ufunc: np.ufunc) -> Any:
    def compares(self: TracedValue, other: object) -> Any:
        return _hooks.binary(ufunc, self, other)

    return compares


def _equated(ufunc: np.ufunc) -> Any:
    def compares(self: TracedValue, other: object) -> Any:
        return _hooks.compare(ufunc, self, other)

    return compares


class TraceState:
    """The part of a trace that is read at every step."""

    __slots__ = ("is_direct", "is_open", "steps")

    steps: Steps | None
    is_open: bool
    is_direct: bool

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__new__(cls)
        made.steps = None
        made.is_open = made.is_direct = False
        return made


class TracedValue:
    """The fields of a traced value, its operators, and what NumPy calls it by.

    The fields that most values leave as they are stand in the class, and in a value once they are another.
    """

    __slots__ = ("__dict__",)

    _trace: Any
    _atom: Any
    aval: Any
    is_scalar: bool
    weak: Any = None
    _constant: Any = None
    _base: Any = None
    _lens: Any = None
    _layout: Any = None
    _why_readonly: str = ""
    _lent: tuple[Any, ...] = ()
    _hashed: Any = None
    _told: Any = None
    _version: int = 0
    _seen: int = 0
    is_viewed: bool = False
    _is_shared: bool = False
    _is_reordered: bool = False

    def __init__(self, trace: Any, atom: Atom | None, aval: Aval, is_scalar: bool = False) -> None:
        self._trace = trace
        self._atom = atom
        self.aval = aval
        self.is_scalar = bool(is_scalar)

    def is_bare(self) -> bool:
        """Return whether the value is an atom of a trace that records directly, and nothing else."""
        return (
            self._base is None
            and self._constant is None
            and self.weak is None
            and not self._is_reordered
            and bool(self._trace.is_direct)
        )

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return _known.ufunc(self, ufunc, method, *inputs, **kwargs)

    def __array_function__(self, func: object, types: object, args: object, kwargs: object) -> Any:
        return _known.answer(self, func, types, args, kwargs)

    def __getitem__(self, key: object) -> Any:
        return _hooks.getitem(self, key)

    __add__, __radd__, __iadd__ = _binary(np.add)
    __sub__, __rsub__, __isub__ = _binary(np.subtract)
    __mul__, __rmul__, __imul__ = _binary(np.multiply)
    __truediv__, __rtruediv__, __itruediv__ = _binary(np.divide)
    __floordiv__, __rfloordiv__, __ifloordiv__ = _binary(np.floor_divide)
    __mod__, __rmod__, __imod__ = _binary(np.remainder)
    __and__, __rand__, __iand__ = _binary(np.bitwise_and)
    __or__, __ror__, __ior__ = _binary(np.bitwise_or)
    __xor__, __rxor__, __ixor__ = _binary(np.bitwise_xor)
    __lshift__, __rlshift__, __ilshift__ = _binary(np.left_shift)
    __rshift__, __rrshift__, __irshift__ = _binary(np.right_shift)
    __matmul__, __rmatmul__, __imatmul__ = _binary(np.matmul)
    __neg__, __pos__ = _unary(np.negative), _unary(np.positive)
    __abs__, __invert__ = _unary(np.absolute), _unary(np.invert)
    __lt__, __le__ = _ordered(np.less), _ordered(np.less_equal)
    __gt__, __ge__ = _ordered(np.greater), _ordered(np.greater_equal)
    __eq__, __ne__ = _equated(np.equal), _equated(np.not_equal)
    __hash__ = None  # type: ignore[assignment]  # as of every class that says what is equal: the class of values has one

    def __pow__(self, other: object, modulus: object = None) -> Any:
        return _known.power(self, other, modulus)

    def __rpow__(self, other: object, modulus: object = None) -> Any:
        return _hooks.binary(np.power, other, self)

    def __ipow__(self, other: object) -> Any:
        return _known.power(self, other, None) if self.is_scalar else _hooks.in_place(np.power, self, other)


# ------------------------------------------------------------------------------------------------ methods and functions


Value = TracedValue


class MethodOfValue:
    """A method of one traced value."""

    __slots__ = ("_function", "_self")

    def __init__(self, function: Callable[..., Any], of: Tracer) -> None:
        self._function, self._self = function, of

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return _known.method(self._function, (self._self, *args), kwargs)


Method = MethodOfValue


def method(function: Callable[..., Any], self: Tracer) -> MethodOfValue:
    """Return the method that ``function`` is of a traced value."""
    return MethodOfValue(function, self)


def answered(
    answer: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any],
    function: object,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Return ``answer(function, args, kwargs)``."""
    return answer(function, args, kwargs)


def looked() -> None:
    """Do nothing: nobody asks whether what was answered depends on its arguments alone."""


def may_overlap(values: list[Any]) -> bool:
    """Return whether an array is there twice, or the memory between the ends of one meets that of another."""
    bounds = sorted(np.lib.array_utils.byte_bounds(x) for x in values if type(x) is np.ndarray and x.size)
    return any(begin < end for (_, end), (begin, _) in zip(bounds, bounds[1:], strict=False))


class Steps:
    """The steps of earlier runs, of which this form keeps none."""

    __slots__ = ("__weakref__",)

    __wengert_cache__ = True

    def begin(self, trace: object, instrs: list[Instr], stack: list[Any]) -> bool:
        """Return False: the run takes no steps from here, and nothing below is called for it."""
        return False

    def end(self) -> None:
        """Do nothing: no run is going on."""

    def step(self, op: object, ins: tuple[Atom, ...], params: Mapping[str, Any]) -> tuple[Var, ...] | None:
        """Return None: there is no such step."""
        return None

    def learn(self, instr: Instr) -> None:
        """Keep nothing."""

    def block(self, owner: object, atoms: tuple[Atom, ...], make: Callable[[], list[Atom]]) -> list[Atom]:
        """Return the atoms that ``make()`` gives."""
        return make()

    def variable(self, kind: str, number: int, aval: Aval, make: Callable[[Aval], Var]) -> Var:
        """Return ``make(aval)``, a new variable."""
        return make(aval)

    def recording(self, outputs: tuple[Atom, ...], variables: Iterable[Var]) -> None:
        """Return None: no recording is kept."""

    def keep(self, outputs: tuple[Atom, ...], variables: Iterable[Var], recording: object) -> None:
        """Keep nothing."""

    def sizes(self) -> tuple[int, int, int]:
        """Return the numbers of instructions, of keys and of recordings: there are none."""
        return 0, 0, 0
