"""``np.nditer`` and ``np.broadcast`` of traced arrays: NumPy's own, over the positions of the elements.

Which element is next is a matter of shapes, and of the order in memory, and NumPy's to say: it iterates over arrays of
numbers, the places of elements, that lie in memory as the traced arrays would. What is given out are views of those.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wengert.ops.op import Op
from wengert.tracing.arguments import array, check_target, refuse
from wengert.tracing.functions.creation import asarray, constant
from wengert.tracing.functions.flat import Flat
from wengert.tracing.functions.memory import LOCKED
from wengert.tracing.inplace import reshape_shares
from wengert.tracing.interception.asking import AT_ANY
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.layouts import UNKNOWN_ORDER, layout
from wengert.tracing.tracer import Tracer

_PLACE = np.dtype(np.intp)


def places(x: Tracer) -> np.ndarray[Any, Any]:
    """The place of each element, counted in C order, in an array that lies in memory as ``x`` would in NumPy."""
    at = layout(x)
    if at is UNKNOWN_ORDER:
        raise refuse("nditer", "op", f"an {x.aval} whose order in memory is not known", "np.ascontiguousarray(x)")
    return _like(at, np.arange(x.size).reshape(x.shape))


def _like(at: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """``values`` at the strides that ``at`` has, counted in elements."""
    if not at.size:
        return values
    steps = [s // at.itemsize for s in at.strides]
    reaches = [s * (n - 1) for s, n in zip(steps, at.shape, strict=True)]
    before = -sum([r for r in reaches if r < 0])
    size = before + 1 + sum([r for r in reaches if r > 0])
    strides = [s * _PLACE.itemsize for s in steps]
    out = np.ndarray(at.shape, _PLACE, np.zeros(size, _PLACE), before * _PLACE.itemsize, strides)
    out[...] = values
    return out


class NDIter:
    """``np.nditer(op, ...)``. An operand that is None is made here, of zeros."""

    def __init__(
        self,
        op: Op,
        flags: Any = None,
        op_flags: Any = None,
        op_dtypes: Any = None,
        order: str = "K",
        casting: str = "safe",
        op_axes: Any = None,
        itershape: Any = None,
        buffersize: int = 0,
    ) -> None:
        given: list[Any] = list(op) if isinstance(op, list | tuple) else [op]
        self._writes = _writes(op_flags, [x is None for x in given])
        for x, is_written in zip(given, self._writes, strict=True):
            if is_written and x is not None:
                check_target(x, *given)
        known: list[Any] = [None if x is None else asarray(array(x, given)) for x in given]
        dtypes = list(op_dtypes) if isinstance(op_dtypes, list | tuple) else [op_dtypes] * len(given)
        for x, dtype in zip(known, dtypes, strict=True):
            if x is not None and dtype is not None and x.dtype != dtype:
                raise refuse("nditer", "op_dtypes", np.dtype(dtype), "x.astype(dtype), before")
        if "common_dtype" in (flags or ()):
            raise refuse("nditer", "flags", "common_dtype", "x.astype(dtype), before")
        options = {"order": order, "casting": casting, "op_axes": op_axes, "itershape": itershape}
        options = {name: value for name, value in options.items() if value is not None}
        own = [None if x is None else places(x) for x in known]
        if any(x is None for x in own):
            made = np.nditer(own, ["zerosize_ok", *(flags or ())], op_flags, **options).operands
            common = np.result_type(*[x for x in known if x is not None])
            for k, x in enumerate(known):
                if x is None:
                    dtype = common if dtypes[k] is None else dtypes[k]
                    known[k] = constant(np.zeros_like(made[k], dtype))
                    own[k] = places(known[k])
        self.operands: tuple[Any, ...] = tuple(known)
        self._it = np.nditer(own, list(flags or ()), op_flags, buffersize=buffersize, **options)

    def _value(self, k: int, at: Any) -> Any:
        """The elements of an operand at these places: a view, or a copy where there is none."""
        x = self.operands[k]
        if at.ndim == 0:
            out = x[(*[int(i) for i in np.unravel_index(int(at), x.shape)], ...)]
        else:
            out = self._run(x, at.tolist(), self._writes[k])
        if not self._writes[k]:
            out._why_readonly = out._why_readonly or LOCKED
        return out

    def _run(self, x: Tracer, at: list[int], is_written: bool) -> Any:
        step = at[1] - at[0] if len(at) > 1 else 1
        is_even = step > 0 and all(b - a == step for a, b in zip(at, at[1:], strict=False))
        if (not at or is_even) and (not is_written or reshape_shares(x, (x.size,))):
            return np.reshape(x, -1)[slice(at[0], at[-1] + 1, step) if at else slice(0)]
        if is_written and x.size:
            raise refuse("nditer", "flags", "external_loop", "op_flags=['readonly']", "a loop over single elements")
        return np.take(x, at)

    def _values(self, at: ArrayLike) -> Any:
        return tuple([self._value(k, one) for k, one in enumerate(at)]) if type(at) is tuple else self._value(0, at)

    @property
    def value(self) -> Any:
        return self._values(self._it.value)

    @property
    def dtypes(self) -> tuple[np.dtype[Any], ...]:
        return tuple([x.dtype for x in self.operands])

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self._values(next(self._it))

    def __len__(self) -> int:
        return len(self._it)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return tuple([self[k] for k in range(*key.indices(len(self)))])
        return self._value(range(len(self))[key], self._it[key])

    def __setitem__(self, key: object, value: ArrayLike) -> None:
        self[key][...] = value

    def __enter__(self) -> NDIter:
        self._it.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._it.close()

    def __getattr__(self, name: str) -> Any:
        """Where it is, how far it has to go, and ``iternext()`` and such."""
        if name in ("itviews", "copy", "debug_print") or name.startswith("__"):
            raise AttributeError(f"np.nditer of traced arrays has no {name}")
        return getattr(self._it, name)

    def __setattr__(self, name: str, value: object) -> None:
        if name in ("multi_index", "index", "iterindex", "iterrange"):
            setattr(self._it, name, value)
        else:
            object.__setattr__(self, name, value)


def _writes(op_flags: Sequence[Sequence[str]] | None, is_made: Sequence[bool]) -> list[bool]:
    """Whether each operand is given out to be written."""
    if op_flags is None:
        return list(is_made)
    each = [op_flags] * len(is_made) if not op_flags or isinstance(op_flags[0], str) else op_flags
    return ["readwrite" in flags or "writeonly" in flags for flags in each]


class Broadcast:
    """``np.broadcast(x, y)``: tuples of elements that stand together."""

    def __init__(self, *arrays: Any) -> None:
        xs = [array(x, arrays) for x in arrays]
        self._spread: Any = np.broadcast_arrays(*xs)
        self.shape = np.broadcast_shapes(*[x.shape for x in xs])
        self.nd = self.ndim = len(self.shape)
        self.numiter = len(xs)
        self.reset()

    def reset(self) -> None:
        self.iters = tuple([Flat(x) for x in self._spread])

    @property
    def index(self) -> int:
        return self.iters[0].index

    @property
    def size(self) -> int:
        return self._spread[0].size

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return tuple([next(flat) for flat in self.iters])


intercepts(np.nditer, AT_ANY)(NDIter)
intercepts(np.broadcast, AT_ANY)(Broadcast)
