"""A traced array looks like an ndarray to the user's code, and every step on it is written on the tape.

A :class:`Tracer` is in one of two states. It *holds an atom* of its trace; or it is *constant*: made while tracing
(``np.zeros(3)``), from nothing that the trace knows, and kept as a private ndarray until a traced value is written
into it. Constants are computed with NumPy at once, so they fold themselves and may be looked at freely.

Writes are functional: ``x[i] = v`` gives the tracer a new atom. A *view* (``x[1:]``, ``x.T``) remembers its base and
how to read itself from it and write itself back, and a version says whether the base has been written since, so
that writes through views of views behave as in NumPy. Results of shape ``()`` are scalars, which NumPy does not
let anyone write; a Python number passed as an argument is *weak* and takes the dtype of what it meets (NEP 50).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from wengert import extension
from wengert.errors import (
    ConcretizationError,
    MutationError,
    SharedMemoryError,
    UnknownNameError,
    UnsupportedFunctionError,
    message,
)
from wengert.expect import is_array_type
from wengert.ops.elementwise import convert
from wengert.ops.op import UFUNCS
from wengert.tape import Atom, Lit
from wengert.tracing import _steps, callers, hooks, layouts, libraries
from wengert.tracing._steps import Value
from wengert.tracing.lending import lend
from wengert.tracing.lifting import capture_constant, escaped, lift
from wengert.tracing.looking import is_of_captures, look
from wengert.tracing.python.bytecode import is_operator
from wengert.tracing.python.frames import calling_frame, place_of
from wengert.tracing.read_only import SHARED
from wengert.tracing.showing import shown, text_of
from wengert.tracing.stack import current_trace, innermost_body
from wengert.tracing.tracer_type import TracerType

HANDLED_FUNCTIONS: dict[Any, Callable[..., Any]] = {}
"""The functions of NumPy's that wengert traces, each by the function itself: see :mod:`wengert.tracing.functions`."""

METHODS: dict[str, Callable[..., Any]] = {}
"""The methods of ndarray that are functions of the same name: see methods.py there."""

SCALAR_METHODS: dict[str, Callable[..., Any]] = {}
"""The methods that Python's numbers and NumPy's scalars alone have, where their class has them."""


class Lens(NamedTuple):
    """A lens says how a view is read from its base, and written back into it, on atoms and on constants."""

    read: Callable[[Atom], Atom]
    write: Callable[[Atom, Atom], Atom]
    read_constant: Callable[[Any], Any]
    is_readonly: bool = False
    is_ambiguous: bool = False
    """Whether NumPy may share memory here or copy, as the order of the base in memory has it, which is not traced."""
    is_traced: bool = False
    """Whether the place where it looks depends on a traced value: ``read_constant`` gives only its layout in memory."""


# What else to write where the extension is not there: see docs/limits.md.
_OF_A_LIST: tuple[str, ...] = ()
_OF_A_MODULE: tuple[str, ...] = ()
if not extension.is_compiled("_c_functions"):
    _OF_A_LIST = ("np.array([x, y]) for a list of traced values, x.astype(np.float64) for np.float64(x)",)
    _OF_A_MODULE = ("math.sin(x) by its name, where it was taken from a table, an attribute or a default",)

SQUARES_BOOLEANS = (np.ones(1, bool) ** 2).dtype == np.int8
"""Whether NumPy takes ``b ** 2`` of an array of booleans for a square: since 2.4. Before, it is a power, of int64."""


@is_array_type
class Tracer(Value, metaclass=TracerType):
    """A traced array or scalar. Its operators, ``x[key]`` and the calls of NumPy's functions come here from
    native/values.cpp, if it is not known already what they give."""

    __slots__ = ("__weakref__",)
    __array_priority__ = 1000.0

    # The fields, which native/values.cpp holds: of most tracers most of them are None, empty or False.
    #   _trace, _atom, aval, is_scalar
    #   weak           the Python number that it was passed as
    #   is_viewed      whether another tracer has shared this one's memory
    #   _constant      the array, if nothing traced has gone into it
    #   _is_shared     the constant stands on a tape: copy before writing
    #   _base, _lens   of a view only
    #   _version       of a root: counts writes to it and through its views
    #   _seen          of a view: the root's version at which _atom was read, or the view made if the lens is ambiguous
    #   _is_reordered  of a root: not in C order in NumPy; then _layout says which, or layouts.UNKNOWN_ORDER
    #   _why_readonly
    #   _lent          of a root: copies that code which is not traced was given
    #   _hashed        the value it was looked at as, to be a key of a dict that may outlive the trace
    #   _told          of a scalar: the value that its text has shown, as the record of a message may do again later

    @property
    def __class__(self) -> Any:
        """Return the class for ``isinstance``: for the user's code that of NumPy's value, or of Python's number."""
        return Tracer if callers.is_library(calling_frame(1)) else self.seen_class()

    def seen_class(self) -> Any:
        """Return the class that NumPy's value, or Python's number, has."""
        return self.weak or (self.aval.dtype.type if self.is_scalar else np.ndarray)

    # ------------------------------------------------------------------------------------------------- state

    def root(self) -> Tracer:
        at = self
        while at._base is not None:
            at = at._base
        return at

    def atom(self) -> Atom:
        """Return the present value, as an atom of ``self._trace``."""
        constant = self.lent_constant()
        if constant is not None:
            return capture_constant(self._trace, constant)
        if not self._trace.is_open:
            raise escaped(self)
        if self._base is None:
            assert self._atom is not None
            return self._atom
        version = self.root()._version
        if self._atom is None or self._seen != version:
            if self._lens.is_ambiguous:
                self._check_unwritten()
            self._atom = self._trace.formula(self._lens.read, self._base.atom())
            self._seen = version
        assert self._atom is not None
        return self._atom

    def constant(self) -> np.ndarray[Any, Any] | None:
        """Return the array, if nothing traced has gone into it."""
        if self._base is None:
            for lent in self._lent:
                lent.note_read()
            return self._constant
        base = self._base.constant()
        if base is None or self._lens.is_traced:
            return None
        if self._lens.is_ambiguous:
            self._check_unwritten()
        return self._lens.read_constant(base)

    def _is_constant(self) -> bool:
        """Whether :meth:`constant` has an array, which is not read for that."""
        at = self
        while at._base is not None and not at._lens.is_traced:
            at = at._base
        return at._base is None and at._constant is not None

    def _check_unwritten(self) -> None:
        """Raise if the base was written since this view was made, which NumPy may have made a copy."""
        if self._seen != self.root()._version:
            raise MutationError(
                message(f"{layouts.AMBIGUOUS}, which was written since", _where(self), tries=[layouts.MADE_PLAIN])
            )

    def lent_constant(self) -> np.ndarray[Any, Any] | None:
        """Return the array for a tape to keep, if it is constant: no write that comes later reaches it.

        Whoever writes copies what is lent (:meth:`writable_constant`). Of a view the part is copied now, so that a loop
        that reads parts and writes others does not copy the whole at every iteration.
        """
        if self._base is None:
            if self._constant is not None:
                self._is_shared = True
            return self.constant()
        constant = self.constant()
        return None if constant is None else np.array(constant)

    def reorder(self, layout: Any) -> None:
        """Note how a fresh array lies in memory in NumPy: as this array does, or UNKNOWN_ORDER; None: in C order."""
        self._layout, self._is_reordered = layout, layout is not None
        if self._constant is not None and layout is not layouts.UNKNOWN_ORDER:
            wanted = layouts.laid_out(self.aval, range(self.aval.ndim)) if layout is None else layout
            if wanted.strides != self._constant.strides:
                moved = np.empty_like(wanted)
                moved[...] = self._constant
                self._constant = moved

    def reorder_like(self, other: Any, order: Any) -> Any:
        """Note how an array lies in memory that NumPy makes like ``other``, traced or not, with ``order=``."""
        known = layouts.layout(other) if type(other) is Tracer else other
        if order == "C" or self.aval.ndim < 2:
            self.reorder(None)
        elif known is layouts.UNKNOWN_ORDER and order != "F":
            self.reorder(layouts.UNKNOWN_ORDER if np.ndim(other) == self.aval.ndim else None)
        else:
            known = layouts.laid_out(self.aval, range(self.aval.ndim)) if known is layouts.UNKNOWN_ORDER else known
            made = np.empty_like(known, self.aval.dtype, order or "K", subok=False, shape=self.aval.shape)
            self.reorder(None if made.flags.c_contiguous else layouts.strides_alone(made))
        return self

    def frozen(self) -> Tracer:
        """Return the value as it is now, out of reach of later writes."""
        return Tracer(self._trace, self.atom(), self.aval)

    def look(self, kind: str, loop: int | None = None) -> Any:
        """Return the concrete value, with a guard unless it is a constant; ``loop``: see IterationNote."""
        constant = self.constant()
        if constant is not None:
            return constant
        if not self._trace.is_open:
            raise escaped(self)
        return look(self._trace, self.atom(), kind, self, loop)

    def is_settled(self) -> bool:
        """Whether all of the value may be looked at, which code that is not traced does, and no derivative is lost:
        of constants, of integers and booleans, of what is made of captured arrays alone."""
        if self._is_constant():
            return True
        if not (self._trace.is_open and self._trace.concrete):
            return False
        return self.aval.dtype.kind in "biu" or is_of_captures(self._trace, self.atom())

    # ---------------------------------------------------------------------------------------------- protocols

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if self.is_settled():
            out = np.array(self.look("array"), dtype=dtype)
            if not (copy or self.is_scalar) and out.dtype == self.aval.dtype:
                self._lend(out)
            return out
        if not self._trace.is_open:
            raise escaped(self)
        library = libraries.library_function(calling_frame(1))
        if library is not None:
            raise self._refused_by(library)
        raise ConcretizationError(
            message(
                f"a traced {self.aval} cannot become a concrete array, which would cut its derivative",
                _where(self),
                tries=[
                    *_OF_A_LIST,
                    "an array made inside the traced function, if this writes into one made outside",
                    "np.array(a)[i], if a traced i stands in the brackets of an array that is not traced",
                    "wg.primitive, for code that is not NumPy",
                ],
            )
        )

    def memory(self) -> Any:
        """Return the array for code of C that asks for a buffer: see functions/buffers.py."""
        if self.weak is not None:
            raise TypeError(f"a bytes-like object is required, not {self.weak.__name__!r}")
        if self._trace.is_open and not self.is_settled():
            what = f"the bytes of a traced {self.aval} are asked for, which would cut its derivative"
            tries = ["the value returned from the function, and its bytes outside", "wg.primitive around what asks"]
            raise ConcretizationError(message(what, _where(self), tries=tries))
        return self.__array__()

    def __bytes__(self) -> bytes:
        """Return the bytes, for code of C that asks for no buffer: ``int.from_bytes``."""
        data: bytes = self.memory().tobytes()
        return data

    def _lend(self, copy: np.ndarray[Any, Any]) -> None:
        """Note who has a copy where NumPy shares memory: as long as it lives, or a view of it, writes are refused."""
        if not self._trace.is_open:
            return  # nothing that reads or writes this array is recorded any more
        root, trace = self.root(), current_trace()
        is_read = root._constant is None  # it is a value of the tape's
        lent = lend(self._trace, copy, None if trace is None else trace.locate(), is_read)
        root._lent = (*[other for other in root._lent if other.array is not None], lent)

    def _check_unlent(self) -> None:
        """Raise if code that is not traced still has a copy of this root, in which a write to it would not be seen."""
        for lent in self._lent:
            lent.note_read()
            if lent.is_held():
                raise MutationError(
                    message(
                        f"{self.aval} cannot be written: a function that is not traced has been given it as NumPy's"
                        " array, and what it made of that may share the memory",
                        _where(self),
                        notes=[("given", f"at {lent.place.where}")] if lent.place is not None else (),
                        tries=["np.array(x), a copy, given to that function"],
                    )
                )
        self._lent = ()

    def _refused_by(self, library: str) -> ConcretizationError:
        """Return the error for a function of a library that wanted a concrete array."""
        if getattr(np, library.removeprefix("np."), None) in HANDLED_FUNCTIONS:
            what = f"{library} takes traced arrays and lists of traced values, but no other sequence of them"
            tries = [f"{library}(list(...))"]
        else:
            what = f"{library} is not traced, and cannot take a traced {self.aval}"
            is_of_ufunc = library.endswith((".reduce", ".accumulate", ".reduceat", ".outer"))
            tries = [*libraries.instead_of(library), *(_OF_A_LIST if is_of_ufunc else ()), "wg.primitive around it"]
        error = ConcretizationError(message(what, _where(self), tries=tries))
        (current_trace() or self._trace).looking.refusal = (str(error), _where(self))
        return error

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return np

    # ------------------------------------------------------------------------------------- concrete questions

    def __bool__(self) -> bool:
        if self.aval.size != 1:
            raise ValueError(
                message(
                    f"the truth value of {self.aval} is ambiguous",
                    _where(self),
                    tries=["np.any(x) or np.all(x)", "np.where(x, a, b)"],
                )
            )
        if self.aval.dtype.kind != "b" and self.constant() is None:
            return bool(self != 0)  # only whether it is zero is looked at, and guarded
        seen = self.look("bool")
        return bool(seen) if type(seen) is np.bool_ else bool(np.reshape(seen, ()))

    def __index__(self) -> int:
        if self.aval.dtype.kind not in "iu" or self.aval.shape:
            raise TypeError(message(f"only an integer scalar can be an index; this is {self.aval}", _where(self)))
        return int(self.look("index"))

    def __int__(self) -> int:
        self._only_one("int")
        if self.aval.dtype.kind in "iub":
            return int(np.reshape(self.look("int"), ()))
        constant = self.constant()
        if constant is not None:
            return int(np.reshape(constant, ()))
        whole = np.trunc(self)
        if not np.abs(whole) < 2.0**63:  # beyond int64 the value itself is looked at; of NaN and infinity Python raises
            return int(np.reshape(self.look("int"), ()))
        return int(whole.astype(np.int64))  # only the integer part is looked at, and guarded

    def __float__(self) -> float:
        """Return the number for C code that asks for it; ``float(x)`` itself is a step (python_numbers.py)."""
        self._only_one("float")
        constant = self.constant()
        if constant is not None:
            return float(np.reshape(constant, ()))
        if self.aval.dtype.kind in "iub":
            return float(np.reshape(self.look("float"), ()))
        frame = calling_frame(1)
        if is_operator(place_of(frame)) and (self._trace.is_open or self._told is not None):
            return float(shown(self, frame))
        raise self._cut("C code asked for the number of")

    def __complex__(self) -> complex:
        self._only_one("complex")
        constant = self.constant()
        if constant is not None:
            return complex(np.reshape(constant, ()))
        if self.aval.dtype.kind in "iub":
            return complex(np.reshape(self.look("complex"), ()))
        raise self._cut("complex() of")

    def _cut(self, what: str) -> Exception:
        """Return the error for what takes a number out of a traced value, and hides what becomes of it."""
        if not self._trace.is_open:
            return escaped(self)
        library = libraries.library_function(calling_frame(2))
        if library is not None:
            return self._refused_by(library)
        return ConcretizationError(
            message(
                f"{what} a traced {self.aval}, which would cut its derivative, and be the same in later calls",
                _where(self),
                tries=[
                    *(_OF_A_MODULE if what.startswith("C code") else ()),
                    "the value as it is: a traced scalar works wherever a number does",
                    "a function of NumPy or of math; x + 0j for complex(x)",
                    "an array made inside the traced function, if this writes into one made outside",
                ],
            )
        )

    def __round__(self, digits: int | None = None) -> Any:
        if digits is None:
            return int(np.rint(self).astype(np.int64))
        rounded: Any = np.round(self, digits)
        return rounded if self.weak is None else hooks.python_number(rounded)

    def __floor__(self) -> int:
        return int(np.floor(self).astype(np.int64))

    def __ceil__(self) -> int:
        return int(np.ceil(self).astype(np.int64))

    def __trunc__(self) -> int:
        return int(self)

    def _only_one(self, kind: str) -> None:
        if self.aval.size != 1:
            raise TypeError(message(f"{kind}() takes an array of one element; this is {self.aval}", _where(self)))

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError("len() of unsized object")
        return self.aval.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.aval.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[k] for k in range(self.aval.shape[0]))

    def __contains__(self, value: Any) -> bool:
        return bool(np.any(self == value))

    def __hash__(self) -> int:
        """Return the hash of the value, looked at as ``int(k)`` looks; a float as a key would lose its derivative."""
        if not self.is_scalar:
            raise TypeError("unhashable type: 'numpy.ndarray'")
        if self._hashed is None:
            if self.aval.dtype.kind not in "iub" and self.constant() is None and self._trace.is_open:
                raise ConcretizationError(
                    message(
                        f"a traced {self.aval} cannot be a key of a dict, an element of a set or an argument of a "
                        "function with a cache: its derivative would be lost",
                        _where(self),
                        tries=["an integer as the key: int(round(x * 1000))", "x in (a, b) instead of x in {a, b}"],
                    )
                )
            self._hashed = self.as_python(self.look("hash"))
        return hash(self._hashed)

    def __repr__(self) -> str:
        return text_of(self, repr, calling_frame(1))

    def __str__(self) -> str:
        return text_of(self, str, calling_frame(1))

    def __format__(self, spec: str) -> str:
        return text_of(self, lambda value: format(value, spec), calling_frame(1))

    def as_python(self, value: Any) -> Any:
        """Return a concrete value as the user's code would have it: a number of Python's, a scalar or an array."""
        array = np.asarray(value)
        if self.weak is not None:
            return array.item()
        return array[()] if self.is_scalar else array

    @property
    def __dict__(self) -> Any:
        """Raise AttributeError, as NumPy's arrays do: ``vars(x)`` must not show what a tracer is made of."""
        raise AttributeError(f"{self.seen_class().__name__!r} object has no attribute '__dict__'")

    def __dir__(self) -> list[str]:
        return dir(self.seen_class())

    def __copy__(self) -> Tracer:
        return self.copy("K")

    def __deepcopy__(self, memo: dict[int, Any]) -> Tracer:
        return self.copy("K")

    def __reduce__(self) -> Any:
        if self.weak is None and self.is_settled():
            return self.as_python(self.look("pickle")).__reduce__()
        what = "a traced value lives only while its function is traced, and cannot be pickled"
        raise TypeError(message(what, _where(self), tries=["the value returned from the function, pickled outside"]))

    # ----------------------------------------------------------------------------------------------- operators

    # fmt: off
    def __divmod__(self, other: ArrayLike) -> Any: return self // other, self % other
    def __rdivmod__(self, other: ArrayLike) -> Any: return other // self, other % self

    # fmt: on

    # --------------------------------------------------------------------------------------- indexing, writing

    def __setitem__(self, key: Any, value: Any) -> None:
        if self.is_scalar:
            raise TypeError(f"'{self.aval.dtype.name}' scalar does not support item assignment")
        hooks.setitem(self, key, value)

    def assign(self, value: Any) -> None:
        """Write ``value`` into the whole array, broadcast and cast to its dtype: ``self[...] = value``."""
        hooks.setitem(self, ..., value)

    def rebind(self, atom: Atom) -> None:
        """Give this array the value ``atom``, and so every array that shares memory with it."""
        if self._base is None:
            self._atom, self._constant = atom, None
            self._version += 1
            return
        base = self._base
        base.rebind(self._trace.formula(self._lens.write, base.atom(), atom))
        self._atom, self._seen = atom, self.root()._version

    def writable_constant(self) -> np.ndarray[Any, Any] | None:
        """Return the private array behind a constant, ready to be written; copied if a tape already refers to it."""
        root = self.root()
        if root._constant is None:
            return None
        if root._is_shared:
            root._constant, root._is_shared = np.array(root._constant), False
        root._version += 1
        return self.constant()

    def check_writable(self) -> None:
        at: Tracer | None = self
        while at is not None:
            if at._base is not None and at._lens.is_ambiguous:
                below = at
                while below._base is not None and sys.getrefcount(below._base) <= 2:  # by ``below`` and by this call
                    below = below._base  # a view that nobody holds may be of an array that somebody does
                if below._base is not None:
                    raise MutationError(
                        message(
                            f"{layouts.AMBIGUOUS}, so it cannot be written", _where(self), tries=[layouts.MADE_PLAIN]
                        )
                    )
                at._lent = at.root()._lent
                at._atom, at._base = at.atom(), None  # nobody can see whether memory is shared
                if at.aval.ndim > 1:
                    at.reorder(layouts.UNKNOWN_ORDER)
            if at._why_readonly or (at._base is not None and at._lens.is_readonly):
                error = SharedMemoryError if at._why_readonly in SHARED else MutationError
                raise error(
                    message(
                        at._why_readonly or "assignment destination is read-only",
                        _where(self),
                        tries=["a copy: np.array(x), made inside the traced function"],
                    )
                )
            if at._lent:
                at._check_unlent()
            at = at._base
        if not self._trace.is_open and self.constant() is None:
            raise escaped(self)
        body = innermost_body()
        if body is not None and body.is_from_outside(self.root()):
            raise MutationError(
                message(
                    f"{body.name}: the body writes into {self.aval}, made outside of it, which would happen only once",
                    _where(self),
                    tries=["the array as a part of the carry", "an array made in the body"],
                )
            )

    # -------------------------------------------------------------------------------- attributes of an ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        raise MutationError(message("x.shape = ... is not traced", _where(self), tries=["x = x.reshape(...)"]))

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return self.aval.ndim

    @property
    def size(self) -> int:
        return self.aval.size

    @property
    def itemsize(self) -> int:
        return self.aval.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.aval.nbytes

    @property
    def strides(self) -> tuple[int, ...]:
        return self.laid_out("strides").strides

    def laid_out(self, attribute: str) -> np.ndarray[Any, Any]:
        """Return an array without memory that lies as this one does in NumPy, for an ``attribute`` that tells it."""
        at = layouts.layout(self)
        if at is layouts.UNKNOWN_ORDER:
            raise UnsupportedFunctionError(
                message(
                    f"ndarray.{attribute} tells the order of an array in memory, here of a result whose order is not"
                    " known",
                    _where(self),
                    tries=["np.ascontiguousarray(y), and ask for it there"],
                )
            )
        return at

    @property
    def flags(self) -> Any:
        return hooks.Flags(self)

    @property
    def device(self) -> str:
        return "cpu"

    @property
    def T(self) -> Any:
        return np.transpose(self)

    @property
    def mT(self) -> Any:
        return np.matrix_transpose(self)

    @property
    def real(self) -> Any:
        return np.real(self)

    @real.setter
    def real(self, values: Any) -> None:
        np.real(self)[...] = values

    @property
    def imag(self) -> Any:
        return np.imag(self)

    @imag.setter
    def imag(self, values: Any) -> None:
        if self.aval.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        np.imag(self)[...] = values

    @property
    def flat(self) -> Any:
        return hooks.Flat(self)

    @flat.setter
    def flat(self, values: Any) -> None:
        self.flat[:] = values

    def __getattr__(self, name: str) -> Any:
        """Find a method of ndarray's by its name in one table."""
        method = METHODS.get(name)
        if method is None and self.is_scalar and not name.startswith("__") and hasattr(self.seen_class(), name):
            if self.aval.dtype.kind in "iub":
                return getattr(self.seen_class()(int(self)), name)  # of an integer all may be told, under a guard
            method = SCALAR_METHODS.get(name)
        if method is None:
            if name.startswith("__"):
                raise AttributeError(f"Tracer has no {name}")
            if hasattr(np.ndarray, name):
                library = libraries.library_function(calling_frame(1))
                if library is not None:
                    raise self._refused_by(library)
                what = f"ndarray.{name} is not traced by wengert"
                raise UnsupportedFunctionError(message(what, _where(self), tries=["wg.primitive around what needs it"]))
            from wengert.other_names import unknown_attribute  # tables that only errors need

            what = unknown_attribute(self.seen_class().__name__, name)
            if what is not None:
                raise UnknownNameError(what)
            raise AttributeError(f"{self.seen_class().__name__!r} object has no attribute {name!r}")
        return _steps.method(method, self)

    def copy(self, order: str = "C") -> Tracer:
        """Return the same value under a name of its own. Nothing is recorded: values are immutable."""
        trace = current_trace() or self._trace  # the function that copies it may write what it knows into the copy
        constant = self.constant()
        if constant is not None:
            return hooks.new_constant(trace, np.array(constant), self.is_scalar).reorder_like(self, order)
        return Tracer(trace, lift(trace, self), self.aval, self.is_scalar).reorder_like(self, order)

    def astype(
        self, dtype: Any, order: str = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        dtype = np.dtype(dtype)
        if not np.can_cast(self.aval.dtype, dtype, casting):
            raise TypeError(
                f"Cannot cast array data from {self.aval.dtype!r} to {dtype!r} according to the rule '{casting}'"
            )
        dtype = dtype.newbyteorder("=")
        if dtype == self.aval.dtype and not copy:
            return self
        if dtype == self.aval.dtype:
            return self.copy(order)
        out = hooks.record(convert, (self,), {"dtype": dtype})
        out.is_scalar = self.is_scalar
        return out.reorder_like(self, order)

    def item(self, *index: Any) -> Any:
        if index:
            return hooks.python_number(self[index] if len(index) > 1 else self.reshape(-1)[index[0]])
        self._only_one("item")
        return hooks.python_number(self.reshape(()))

    def tolist(self) -> Any:
        return [row.tolist() for row in self] if self.shape else hooks.python_number(self)

    def fill(self, value: Any) -> None:
        if not self.is_scalar:  # of a scalar NumPy's fill does nothing
            self.assign(value)


hooks.Tracer = Tracer

TAKES_ARRAYS = set[Any]()
"""The functions to which an array that is not traced is an operand as a traced one is: they ask for no value of it."""


def _answer_ufunc(x: Tracer, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Answer a call of a ufunc for ``x``, one of its operands."""
    if method == "__call__" and not kwargs:
        op = UFUNCS.get(ufunc)
        if op is not None:
            return hooks.apply_ufunc(ufunc, op, inputs)
    for other in inputs:
        if not (type(other) is Tracer or isinstance(other, np.ndarray | np.generic | bool | int | float | complex)):
            if hasattr(type(other), "__array_ufunc__") and type(other).__array_ufunc__ is not None:
                return NotImplemented  # a container such as xarray's: its turn
    return hooks.call_ufunc(ufunc, method, inputs, kwargs)


def _answer_function(x: Tracer, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Answer a call of one of NumPy's array functions for ``x``, unless a container has its turn."""
    for t in types:
        if not issubclass(t, Tracer | np.ndarray):
            return NotImplemented
    return answer_function(func, args, kwargs)


def _power(x: Tracer, other: Any, modulus: Any = None) -> Any:
    """Record a power: for some exponents NumPy's operator takes a short way, and so does the tape."""
    if modulus is not None:  # of Python's integers alone, by their values
        return pow(int(x), other, modulus) if x.weak is int else NotImplemented
    if type(other) is int and other == 2 and x.aval.dtype.kind == "b" and SQUARES_BOOLEANS and not x.is_scalar:
        return hooks.unary(np.square, x)
    if type(other) in (int, float) and x.aval.dtype.kind in "fc":
        if other == 2:
            return hooks.unary(np.square, x)
        if other == 1:
            return hooks.unary(np.positive, x)
        if other == 0.5:
            return hooks.unary(np.sqrt, x)
        if other == -1:
            return hooks.unary(np.reciprocal, x)
    return hooks.binary(np.power, x, other)


def answer_function(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Answer a call of one of NumPy's array functions with traced arrays, or with lists that hold traced values."""
    handler = HANDLED_FUNCTIONS.get(func)
    if handler is not None:
        return layouts.in_doubt(handler, args, kwargs)
    of_constants = hooks.of_constants(func, args, kwargs)
    if of_constants is not NotImplemented:
        return of_constants
    trace = current_trace()
    raise UnsupportedFunctionError(
        message(
            f"{function_name(func)} is not traced by wengert",
            trace.locate() if trace else None,
            tries=["a formula in functions that are (docs/coverage.md)", "wg.primitive around it"],
        )
    )


def _where(x: Tracer) -> Any:
    return x._trace.locate() if x._trace.is_open else None


def function_name(func: Any) -> str:
    module = (getattr(func, "__module__", "") or "numpy").removeprefix("numpy").lstrip(".")
    return f"np.{module + '.' if module else ''}{getattr(func, '__name__', func)}"


_steps.setup(
    Tracer,
    np.ndarray,
    np.number,
    np.dtype,
    Lit,
    hooks,
    layouts.layout,
    lift,
    _answer_function,
    _answer_ufunc,
    _power,
    layouts.in_doubt,
    UFUNCS,
    HANDLED_FUNCTIONS,
    TAKES_ARRAYS,
    (
        *(np.add, np.subtract, np.multiply, np.divide, np.floor_divide, np.remainder),
        *(np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.left_shift, np.right_shift, np.matmul, np.power),
        *(np.negative, np.positive, np.absolute, np.invert),
        *(np.less, np.less_equal, np.equal, np.not_equal, np.greater, np.greater_equal),
    ),
)
