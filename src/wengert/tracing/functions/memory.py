"""An array as it lies in memory: its flags, and views that strides say.

Where an array that is traced would lie is known as far as NumPy makes it plain (see layouts.py). The elements of an
argument of one axis are taken to lie side by side: the same code runs for those that do and those that do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wengert.ops.shape import broadcast_to, reshape
from wengert.ops.windows import windows
from wengert.tape import Atom, Aval
from wengert.tracing import hooks
from wengert.tracing.arguments import ShapeLike, Traced, array, refuse, unsupported
from wengert.tracing.inplace import view
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.interception.python_functions import original
from wengert.tracing.read_only import is_readonly
from wengert.tracing.tracer import METHODS, Tracer

LOCKED = "assignment destination is read-only"  # as NumPy says it

_FLAGS = {
    **dict.fromkeys(["C", "C_CONTIGUOUS", "CONTIGUOUS"], "c_contiguous"),
    **dict.fromkeys(["F", "F_CONTIGUOUS", "FORTRAN"], "f_contiguous"),
    **dict.fromkeys(["A", "ALIGNED"], "aligned"),
    **dict.fromkeys(["W", "WRITEABLE"], "writeable"),
    **dict.fromkeys(["O", "OWNDATA"], "owndata"),
    **dict.fromkeys(["X", "WRITEBACKIFCOPY"], "writebackifcopy"),
    **dict.fromkeys(["B", "BEHAVED"], "behaved"),
    **dict.fromkeys(["CA", "CARRAY"], "carray"),
    **dict.fromkeys(["FA", "FARRAY"], "farray"),
    "FNC": "fnc",
    "FORC": "forc",
}
"""The names that NumPy's flags have as keys."""

_OF_ORDER = frozenset(["c_contiguous", "f_contiguous", "contiguous", "fortran", "fnc", "forc", "carray", "farray"])


class Flags:
    """``x.flags`` of a traced array. Whether it owns its memory is not known."""

    _array: Tracer

    def __init__(self, x: Tracer) -> None:
        object.__setattr__(self, "_array", x)

    def __getattr__(self, name: str) -> bool:
        x = self._array
        if name in _OF_ORDER and not getattr(x.laid_out("flags").flags, name):
            return False
        if name in ("writeable", "behaved", "carray"):  # not "farray", of which NumPy asks for one of three
            return _is_writeable_to_numpy(x)
        if name in _OF_ORDER or name == "aligned":
            return True
        if name == "writebackifcopy":
            return False
        if name in ("owndata", "num"):
            raise unsupported(f"x.flags.{name} of a traced {x.aval} is not known", "np.array(x), which owns its memory")
        raise AttributeError(f"'numpy._core.multiarray.flagsobj' object has no attribute {name!r}")

    def __setattr__(self, name: str, value: object) -> None:
        if name != "writeable":
            raise unsupported(f"x.flags.{name} of a traced array cannot be set")
        setflags(self._array, write=bool(value))

    def __getitem__(self, key: str) -> bool:
        if key not in _FLAGS:
            raise KeyError("Unknown flag")
        return getattr(self, _FLAGS[key])

    def __setitem__(self, key: str, value: object) -> None:
        if key not in _FLAGS:
            raise KeyError("Unknown flag")
        setattr(self, _FLAGS[key], value)


hooks.Flags = Flags


def is_writeable(x: Tracer) -> bool:
    return not _is_locked(x.root()) and _has_writeable_views(x)


def _has_writeable_views(x: Tracer) -> bool:
    """Whether neither ``x`` nor what it is a view of, but for the root, is locked."""
    while x._base is not None:
        if _is_locked(x):
            return False
        x = x._base
    return True


def _is_locked(x: Tracer) -> bool:
    return x.is_scalar or bool(x._why_readonly) or (x._base is not None and x._lens.is_readonly)


def _is_writeable_to_numpy(x: Tracer) -> bool:
    """Return what NumPy says: of a captured array, which may be locked at any time, what its owner has said last."""
    root = x.root()
    array = next((c.array for c in root._trace.lifted.captures.values() if c.var is root._atom), None)
    if array is None or root._why_readonly == LOCKED:
        return is_writeable(x)
    root._trace.run.depends(f"the flags of the array at {id(array)}", lambda: is_readonly(array))
    return not is_readonly(array) and _has_writeable_views(x)


def setflags(x: Tracer, write: bool | None = None, align: bool | None = None, uic: bool | None = None) -> None:
    """A locked array locks its views too, also those made before, which NumPy would let one write."""
    if align is not None or uic is not None:
        raise unsupported("x.setflags: of a traced array write= alone is traced")
    if write is None:
        return
    if not write:
        x._why_readonly = x._why_readonly or LOCKED
        return
    if x._why_readonly == LOCKED:
        x._why_readonly = ""
    if not is_writeable(x):
        raise ValueError("cannot set WRITEABLE flag to True of this array")


def to_device(x: Tracer, device: str | None, /, *, stream: object = None) -> Tracer:
    if stream is not None:
        raise ValueError("The stream argument in to_device() is not supported")
    if device != "cpu":
        raise ValueError(f"Unsupported device: {device}. Only 'cpu' is accepted.")
    return x


METHODS.update(setflags=setflags, to_device=to_device)


@intercepts("numpy.lib._stride_tricks_impl:as_strided")
def as_strided(
    x: ArrayLike,
    shape: ShapeLike | None = None,
    strides: Sequence[int] | None = None,
    subok: bool = False,
    writeable: bool = True,
    *,
    check_bounds: bool | None = None,
) -> Any:
    """Return elements at these strides of the array in C order that ``x`` is, or is a view of.

    The result is read-only, for an element may stand several times. Strides that would read beside that array are
    refused, whatever ``check_bounds`` says, which NumPy has since 2.5.
    """
    z = array(x)
    name = "lib.stride_tricks.as_strided"
    shape = z.shape if shape is None else tuple([int(n) for n in shape])
    strides = z.strides if strides is None else tuple([int(s) for s in strides])
    if len(strides) != len(shape):
        raise ValueError("mismatch in length of strides and shape")
    if 0 in shape:
        return np.zeros_like(z, shape=shape)
    root = z
    while root._base is not None and not root._lens.is_traced:  # whose layout says not where it looks
        root = root._base
    whole, part = root.laid_out("strides"), z.laid_out("strides")
    if not whole.flags.c_contiguous or root.dtype != z.dtype:
        raise refuse(name, "strides of x", part.strides, "np.ascontiguousarray(x), and its strides")
    first = part.ctypes.data - whole.ctypes.data
    reaches = [s * (n - 1) for s, n in zip(strides, shape, strict=True)]
    low, high = first + sum([min(r, 0) for r in reaches]), first + sum([max(r, 0) for r in reaches])
    if any(s % z.itemsize for s in strides) or low < 0 or high > root.nbytes - z.itemsize:
        raise unsupported(
            f"np.{name}: shape {shape} at strides {strides} reads what is not an element of {root.aval}",
            "strides that stay within x",
            "np.take(x, indices)",
        )
    steps = [s // z.itemsize for s in strides]
    out = view(
        root,
        Aval(shape, z.dtype),
        lambda a: _strided(a, low // z.itemsize, shape, steps),
        lambda base, new: base,  # never called: the view is read-only
        lambda a: _own_as_strided(a.reshape(-1)[first // z.itemsize :], shape, strides),
        is_readonly=True,
    )
    out._why_readonly = "a view by np.lib.stride_tricks.as_strided, in which elements may stand several times"
    return out


def _own_as_strided(a: Traced, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    return original(np.lib.stride_tricks.as_strided)(a, shape, strides)


def _strided(a: Atom, low: int, shape: tuple[int, ...], steps: list[int]) -> Atom:
    """Windows of windows, an axis that moves after the other: [where it is, what lies behind it]. The others repeat,
    and those that go down are turned round."""
    moving = [k for k, s in enumerate(steps) if s and shape[k] > 1]
    behind = 1 + sum([abs(steps[k]) * (shape[k] - 1) for k in moving])
    y = windows(reshape(a, shape=(a.aval.size,)), shape=(behind,), axes=(0,), steps=(1,), start=(low,))
    for done, k in enumerate(moving):
        behind -= abs(steps[k]) * (shape[k] - 1)
        y = windows(
            y,
            shape=(*y.aval.shape[:done], shape[k], behind),
            axes=(*range(done + 1), done),
            steps=(*[1] * done, abs(steps[k]), 1),
            start=(0,) * (done + 1),
        )
    y = reshape(y, shape=tuple([n if k in moving else 1 for k, n in enumerate(shape)]))
    turned = [-1 if k in moving and s < 0 else 1 for k, s in enumerate(steps)]
    start = tuple([n - 1 if t < 0 else 0 for t, n in zip(turned, y.aval.shape, strict=True)])
    y = windows(y, shape=y.aval.shape, axes=tuple(range(len(shape))), steps=tuple(turned), start=start)
    return broadcast_to(y, shape=shape)
