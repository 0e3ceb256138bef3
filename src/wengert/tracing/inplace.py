"""Views and writes: NumPy's memory, told as values.

A view shares memory with its base. Here it is a recipe: how to read it from the base's present value, and how to
put a new value of it back into the base. Writes are functional updates of the root; whoever shares its memory
sees them, because views read again after a write. Whether NumPy itself would make a view (``reshape`` of a
transposed array copies) is asked of NumPy, on a dummy array of the same strides and no memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.errors import MutationError, message
from wengert.ops.op import Op
from wengert.tape import Atom, Aval, infer
from wengert.tracing.layouts import UNKNOWN_ORDER, layout
from wengert.tracing.lifting import escaped, lift
from wengert.tracing.trace import Trace
from wengert.tracing.tracer import Lens, Tracer


def view(
    x: Tracer,
    aval: Aval,
    read: Callable[[Atom], Atom],
    write: Callable[[Atom, Atom], Atom],
    read_constant: Callable[[Any], Any],
    is_readonly: bool = False,
    is_traced: bool = False,
    is_ambiguous: bool = False,
) -> Tracer:
    """A tracer that shares memory with ``x``. ``read`` and ``write`` are formulas in ops on atoms.

    ``read_constant`` does to an ndarray what NumPy does, and returns a view of it (of its layout, if ``is_traced``).
    """
    out = Tracer(x._trace, None, aval)
    out._base = x
    x.is_viewed = True
    out._lens = Lens(read, write, read_constant, is_readonly, is_ambiguous, is_traced)
    return out


def op_view(
    x: Tracer,
    op: Op,
    params: dict[str, Any],
    write: Callable[[Atom, Atom], Atom],
    read_constant: Callable[[Any], Any],
    is_readonly: bool = False,
    is_ambiguous: bool = False,
) -> Tracer:
    """A view that one op reads. The result's type is worked out, and refused, now; the op when it is read."""
    (aval,) = infer(op, (x.aval,), params)
    out = view(x, aval, lambda a: op(a, **params), write, read_constant, is_readonly, is_ambiguous=is_ambiguous)
    if is_ambiguous:  # read now: if the base is written later, nobody can say whether this would show it
        out._seen = x.root()._version
        if out.constant() is None:
            out.atom()
    return out


def reshape_shares(x: Tracer, shape: tuple[int, ...]) -> bool | None:
    """Whether NumPy gives ``x`` another shape without a copy, so that memory is shared; None if nobody can say."""
    if x._base is None and not x._is_reordered:
        return True
    at = layout(x)
    is_known = at is not UNKNOWN_ORDER
    if not is_known:  # of axes none of which can be joined: what is shared there, is in every order
        one = np.ndarray(1, x.aval.dtype)
        at = np.lib.stride_tricks.as_strided(one, x.aval.shape, x.aval.ndim * one.strides)
    try:
        np.reshape(at, shape, copy=False)
    except ValueError:
        return False if is_known else None
    return True


def write(x: Tracer, new: Callable[[Atom], Atom], *others: Any) -> None:
    """Replace ``x`` by ``new(x's atom)``; ``others`` are the values that go into it.

    Raises MutationError if a value of an inner trace would leak into an array of an enclosing one.
    """
    x.check_writable()
    for other in others:
        if type(other) is Tracer and other.constant() is None:
            if not other._trace.is_open:
                raise escaped(other)
            if other._trace.level > x._trace.level:
                _take_over(x, other._trace)
    if not x._trace.is_open:
        raise escaped(x)
    x.rebind(x._trace.formula(new, x.atom()))


def _take_over(x: Tracer, inner: Trace) -> None:
    """Let ``x``, of an enclosing trace, belong to ``inner``, if the inner function made it and nobody shares it."""
    if x._base is None and not x.is_viewed and x._version == 0 and x._atom is not None:
        if inner.saw_made(x._atom, x._trace):
            x._atom, x._trace = lift(inner, x), inner
            return
    raise MutationError(
        message(
            f"a value that is being differentiated would be written into {x.aval}, made outside of it",
            inner.locate(),
            tries=["make the array inside the inner function, and return it"],
        )
    )
