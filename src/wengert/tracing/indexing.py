"""``x[key]`` and ``x[key] = value`` for every key that NumPy takes.

A key falls into a *basic* part (integers, slices, None, an ellipsis), which is a static index and gives a view, and
an *advanced* part (index arrays, boolean masks, traced integers), which gathers. A traced integer is an operand of
the gather, not a guard: ``x[i]`` runs for any i. A traced mask is guarded only in how many elements it selects.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from wengert.errors import EscapedTracerError, message
from wengert.ops.elementwise import select
from wengert.ops.index import (
    INTP,
    gather,
    is_everything,
    nonzero,
    region_shape,
    scatter_set,
    set_slice,
    slice_,
    to_numpy,
)
from wengert.ops.shape import broadcast_to, inverse_permutation, reshape, transpose
from wengert.tape import Atom, Aval
from wengert.tracing import hooks
from wengert.tracing.emit import new_constant, record, unwrap
from wengert.tracing.inplace import view, write
from wengert.tracing.layouts import UNKNOWN_ORDER, layout
from wengert.tracing.lifting import check_dtype, lift
from wengert.tracing.operators import converted
from wengert.tracing.stack import current_trace
from wengert.tracing.trace import Trace
from wengert.tracing.tracer import Tracer


class Basic(NamedTuple):
    """The basic part of a key: a static index, then a reshape that puts in the new axes."""

    index: tuple[Any, ...]
    shape: tuple[int, ...]


class Key(NamedTuple):
    """A whole key. ``arrays`` index the axes ``axes`` of what the basic part gives; ``lead`` is where their
    common shape stands in the result."""

    basic: Basic
    arrays: tuple[Any, ...]
    axes: tuple[int, ...]
    lead: int


def _as_index(entry: Any) -> Any:
    """An entry of the key as an int, a slice, None, an Ellipsis, or an index array or tracer."""
    if entry is None or entry is Ellipsis or isinstance(entry, slice):
        return entry
    if isinstance(entry, bool | np.bool_):
        return np.asarray(entry)
    if isinstance(entry, int | np.integer):
        return int(entry)
    if type(entry) is Tracer:
        constant = entry.constant()
        if constant is None:
            return entry
        if constant.ndim == 0 and constant.dtype.kind in "iu":
            return int(constant)
        return entry
    if isinstance(entry, list | tuple | range):
        array = hooks.array(list(entry)) if _has_tracer(entry) else np.asarray(entry)
        if type(array) is not Tracer and array.size == 0:
            array = array.astype(INTP)
        return _as_index(array) if type(array) is Tracer else new_constant(_open_trace(), array, False)
    if isinstance(entry, np.ndarray):
        if type(entry) is not np.ndarray:
            check_dtype(entry)  # which refuses masked arrays
        return int(entry) if entry.ndim == 0 and entry.dtype.kind in "iu" else entry
    if hasattr(entry, "__index__"):
        return entry.__index__()
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays "
        "are valid indices"
    )


def _open_trace() -> Trace:
    trace = current_trace()
    if trace is None:
        raise EscapedTracerError("a traced array is indexed after the function that made it has been traced")
    return trace


def _has_tracer(entry: Any) -> bool:
    if isinstance(entry, list | tuple):
        return any(_has_tracer(e) for e in entry)
    return type(entry) is Tracer


def _mask_indices(mask: Any) -> list[Any]:
    """A boolean array as index arrays: of a traced mask only the number of true elements is looked at."""
    if type(mask) is Tracer:
        found = record(nonzero, (mask,), {"size": int(np.count_nonzero(mask))})
        return list(found) if isinstance(found, tuple) else [found]
    return list(np.nonzero(mask))


_parsed: dict[Any, Key] = {}  # of integers and slices alone, by the shape of the array
MOST_PARSED = 10_000


def parse(x: Tracer, key: Any) -> Key:
    """Take ``key`` apart for an array of ``x``'s shape. Raises IndexError as NumPy does."""
    form = _form(key)
    if form is None:
        return _parse(x, key)
    found = _parsed.get((x.aval.shape, form))
    if found is None:
        if len(_parsed) > MOST_PARSED:
            _parsed.clear()
        found = _parsed[x.aval.shape, form] = _parse(x, key)
    return found


def _form(key: Any) -> tuple[Any, ...] | None:
    """Return what is equal for equal keys, of integers and slices of such; None for any other key."""
    form = list[Any]()
    for e in key if type(key) is tuple else (key,):
        if type(e) is int:
            form.append(e)
        elif type(e) is slice:
            parts = (e.start, e.stop, e.step)
            for part in parts:
                if part is not None and type(part) is not int:
                    return None
            form.append(parts)
        else:
            return None
    return tuple(form)


def _parse(x: Tracer, key: Any) -> Key:
    entries = [_as_index(e) for e in (key if isinstance(key, tuple) else (key,))]
    shape = x.aval.shape
    consumed = 0
    for e in entries:
        if e is None or e is Ellipsis:
            continue
        consumed += e.ndim if not isinstance(e, int | slice) and e.dtype.kind == "b" else 1
    if sum(e is Ellipsis for e in entries) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if consumed > len(shape):
        raise IndexError(f"too many indices for array: array is {len(shape)}-dimensional, but {consumed} were indexed")
    if not any(e is Ellipsis for e in entries):
        entries.append(Ellipsis)
    has_arrays = any(not (e is None or e is Ellipsis or isinstance(e, int | slice)) for e in entries)

    static: list[Any] = []  # one entry an axis of x
    new_shape: list[int] = []  # of what the basic part gives
    arrays: list[Any] = []
    axes: list[int] = []
    of_x: list[tuple[int, int]] = []  # the axes that the arrays index: their numbers in x, and their lengths
    groups: list[int] = []  # positions in the key of the advanced entries, to see whether they are adjacent
    for position, e in enumerate(entries):
        axis = len(static)
        if e is None:
            new_shape.append(1)
        elif e is Ellipsis:
            for n in shape[axis : axis + len(shape) - consumed]:
                static.append((0, n, 1))
                new_shape.append(n)
        elif isinstance(e, slice):
            start, stop, step = e.indices(shape[axis])
            length = len(range(start, stop, step))
            static.append((start if length else 0, length, step if length else 1))
            new_shape.append(length)
        elif isinstance(e, int) and not has_arrays:
            static.append(_position(e, shape[axis], axis))
        elif not isinstance(e, int) and e.dtype.kind == "b" and e.ndim == 0:
            # All or nothing of a new axis. A traced one is looked at, as the count of a mask's true elements is.
            arrays.append(np.zeros(int(bool(e)), INTP))
            of_x.append((axis, 1))
            axes.append(len(new_shape))
            groups.append(position)
            new_shape.append(1)
        else:
            if isinstance(e, int):
                parts = [new_constant(x._trace, np.asarray(_position(e, shape[axis], axis)), False)]
            else:
                parts = [e]
            if not isinstance(e, int) and e.dtype.kind == "b":
                if e.shape != shape[axis : axis + e.ndim]:
                    raise IndexError(
                        f"boolean index did not match indexed array along axis {axis}; size is "
                        f"{shape[axis : axis + e.ndim]} but the boolean is {e.shape}"
                    )
                parts = _mask_indices(e)
            for part in parts:
                if part.dtype.kind not in "iu":
                    raise IndexError("arrays used as indices must be of integer (or boolean) type")
                arrays.append(_as_intp(part))
                of_x.append((len(static), shape[len(static)]))
                axes.append(len(new_shape))
                groups.append(position)
                static.append((0, shape[len(static)], 1))
                new_shape.append(static[-1][1])
    if arrays:
        _check_arrays(arrays, of_x)
    adjacent = all(b - a <= 1 for a, b in zip(groups, groups[1:], strict=False))
    return Key(Basic(tuple(static), tuple(new_shape)), tuple(arrays), tuple(axes), axes[0] if adjacent and axes else 0)


def _check_arrays(arrays: list[Any], of_x: list[tuple[int, int]]) -> None:
    """Shapes must broadcast, and values that are known now be in bounds, unless nothing is selected anyway."""
    shapes = [a.shape for a in arrays]
    try:
        selects_nothing = 0 in np.broadcast_shapes(*shapes)
    except ValueError:
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {' '.join(map(str, shapes))}"
        ) from None
    for index, (axis, n) in zip(arrays, of_x, strict=True):
        known = index.constant() if type(index) is Tracer else index
        if known is None or known.size == 0 or (selects_nothing and known.ndim):
            continue
        if not (-n <= known.min() and known.max() < n):
            bad = known[(known < -n) | (known >= n)].flat[0]
            raise IndexError(f"index {bad} is out of bounds for axis {axis} with size {n}")


def _position(k: int, n: int, axis: int) -> int:
    if not -n <= k < n:
        raise IndexError(f"index {k} is out of bounds for axis {axis} with size {n}")
    return k + n if k < 0 else k


def _as_intp(index: Any) -> Any:
    return index if index.dtype == INTP else index.astype(INTP)


# ------------------------------------------------------------------------------------------------------ reading


def _basic_view(x: Tracer, basic: Basic, key: Any) -> Tracer:
    index, shape = basic
    region = region_shape(index)

    def put_back(base: Atom, new: Atom) -> Atom:
        return set_slice(base, reshape(new, shape=region), index=index)

    return view(
        x,
        Aval(shape, x.aval.dtype),
        lambda a: reshape(slice_(a, index=index), shape=shape),
        put_back,
        lambda array: array[(*to_numpy(index), ...)].reshape(shape),
    )


def front_order(ndim: int, axes: tuple[int, ...]) -> tuple[int, ...]:
    return (*axes, *[k for k in range(ndim) if k not in axes])


def lead_order(n_index: int, ndim: int, lead: int) -> tuple[int, ...]:
    """The permutation that moves the first ``n_index`` of ``ndim`` axes to position ``lead``."""
    rest = list(range(n_index, ndim))
    return (*rest[:lead], *range(n_index), *rest[lead:])


def getitem(x: Tracer, key: Any) -> Any:
    if type(key) is int and x.aval.ndim == 1:  # the commonest key of all, the short way
        k = _position(key, x.aval.shape[0], 0)
        if x._atom is not None and x._base is None:
            return record(slice_, (x,), {"index": (k,)})
    if isinstance(key, str):
        raise IndexError("only structured arrays have fields, and those are not traced")
    if x.is_scalar:  # s[...] of a NumPy scalar is a new array, not a view of it
        x = x.copy()
        x.is_scalar = False
    basic, arrays, axes, lead = parse(x, key)
    if not arrays:
        if basic.shape == () and not _has_ellipsis(key):
            constant = x.constant()
            if constant is not None:
                return new_constant(x._trace, constant[to_numpy(basic.index)], True)
            return record(slice_, (x,), {"index": basic.index})
        out = _basic_view(x, basic, key)
        return out.copy() if _has_array(key) else out
    if (
        all(a.ndim == 0 for a in arrays)
        and not _has_array(key)
        and (len(basic.shape) > len(arrays) or _has_ellipsis(key))
    ):
        return _traced_view(x, basic, arrays, axes)
    part = x if is_everything(basic.index, x.shape) and basic.shape == x.shape else _basic_view(x, basic, key)
    order = front_order(part.aval.ndim, axes)
    if order != tuple(range(len(order))):
        part = record(transpose, (part,), {"axes": order})
    taken = record(gather, (part, *arrays), {})
    n_index = taken.ndim - (part.ndim - len(arrays))
    order = lead_order(n_index, taken.ndim, lead)
    if order != tuple(range(len(order))):
        order_in_memory = layout(taken)
        taken = record(transpose, (taken,), {"axes": order})
        taken.reorder(order_in_memory if order_in_memory is UNKNOWN_ORDER else order_in_memory.transpose(order))
    return taken


hooks.getitem = getitem


def _traced_view(x: Tracer, basic: Basic, arrays: tuple[Any, ...], axes: tuple[int, ...]) -> Tracer:
    """``x[i, 1:]`` with a traced integer ``i``: a view, as with any other integer."""
    inner = [a for a in arrays if type(a) is Tracer and a.constant() is None and a._trace.level > x._trace.level]
    region = region_shape(basic.index)
    front = front_order(len(basic.shape), axes)
    at_zero = tuple([0 if k in axes else slice(None) for k in range(len(basic.shape))])

    def part(base: Atom) -> Atom:
        return transpose(reshape(slice_(base, index=basic.index), shape=basic.shape), axes=front)

    def put_back(base: Atom, new: Atom) -> Atom:
        done = scatter_set(part(base), new, *[base_lift(x, a) for a in arrays])
        return set_slice(
            base, reshape(transpose(done, axes=inverse_permutation(front)), shape=region), index=basic.index
        )

    def lies(array: Any) -> Any:
        return array[to_numpy(basic.index)].reshape(basic.shape)[at_zero]

    if inner:  # the array belongs to an enclosing trace, which cannot know where: a copy, not to be written
        taken = record(
            gather, (Tracer(x._trace, x._trace.formula(part, x.atom()), _part_aval(x, basic, front)), *arrays), {}
        )
        taken.is_scalar = False
        at = layout(x)
        at = at if at is UNKNOWN_ORDER else lies(at)
        taken.reorder(None if at is not UNKNOWN_ORDER and at.flags.c_contiguous else at)
        taken._why_readonly = f"a part of {x.aval} at an index that is traced by an inner function"
        return taken
    return view(
        x,
        Aval(tuple([n for k, n in enumerate(basic.shape) if k not in axes]), x.aval.dtype),
        lambda base: gather(part(base), *[base_lift(x, a) for a in arrays]),
        put_back,
        lies,
        is_traced=True,
    )


def _part_aval(x: Tracer, basic: Basic, front: tuple[int, ...]) -> Aval:
    return Aval(tuple([basic.shape[k] for k in front]), x.aval.dtype)


def _has_array(key: Any) -> bool:
    """Whether there is an index array of shape () in the key: NumPy then copies."""
    entries = key if isinstance(key, tuple) else (key,)
    return any(isinstance(e, np.ndarray) or (type(e) is Tracer and not e.is_scalar) for e in entries)


def _has_ellipsis(key: Any) -> bool:
    return key is Ellipsis or (isinstance(key, tuple) and any(e is Ellipsis for e in key))


# ------------------------------------------------------------------------------------------------------ writing


def _is_concrete(value: Any) -> bool:
    return type(value) is not Tracer or value.constant() is not None


def _key_is_concrete(key: Any) -> bool:
    if isinstance(key, tuple | list):
        return all(_key_is_concrete(e) for e in key)
    if isinstance(key, slice):
        return all(_key_is_concrete(e) for e in (key.start, key.stop, key.step))
    return _is_concrete(key)


def _concrete_key(key: Any) -> Any:
    if isinstance(key, tuple):
        return tuple(_concrete_key(e) for e in key)
    if isinstance(key, list) and _has_tracer(key):
        return [_concrete_key(e) for e in key]
    if type(key) is Tracer:
        return key.constant()
    return key


def setitem(x: Tracer, key: Any, value: Any) -> None:
    """``x[key] = value``, cast to x's dtype and broadcast, as NumPy does; recorded as a functional update."""
    x.check_writable()
    if key is ... and type(value) is Tracer and value.is_bare() and x.is_bare() and value.aval is x.aval:
        write(x, lambda base: base_lift(x, value), value)  # all of it, as ``x += y`` does
        return
    if isinstance(value, list | tuple) or type(value) is hooks.Flat:
        value = hooks.array(value, x.dtype)
    if x.constant() is not None and _is_concrete(value) and _key_is_concrete(key):
        concrete = unwrap(value, x._trace)
        array = x.writable_constant()
        assert array is not None
        array[_concrete_key(key)] = concrete
        return
    value = _cast(value, x)
    mask = _whole_mask(x, key)
    if mask is not None and value.size == 1 and value.ndim <= min(x.ndim, 1 + x.ndim - mask.ndim):
        _write_masked(x, mask, value)
        return
    basic, arrays, axes, lead = parse(x, key)
    region = region_shape(basic.index)
    if not arrays:
        value = fit(value, basic.shape, x)
        write(
            x,
            lambda base: set_slice(base, shaped(base_lift(x, value), basic.shape, region), index=basic.index),
            value,
        )
        return
    index_shape = np.broadcast_shapes(*[a.shape for a in arrays])
    rest = [n for k, n in enumerate(basic.shape) if k not in axes]
    result_shape = (*rest[:lead], *index_shape, *rest[lead:])
    value = fit(value, result_shape, x)
    front = front_order(len(basic.shape), axes)
    to_front = inverse_permutation(lead_order(len(index_shape), len(result_shape), lead))

    def scattered(base: Atom) -> Atom:
        part = transpose(reshape(slice_(base, index=basic.index), shape=basic.shape), axes=front)
        v = base_lift(x, value)
        if v.aval.shape != ():
            v = transpose(broadcast_to(v, shape=result_shape), axes=to_front)
        done = scatter_set(part, v, *[base_lift(x, a) for a in arrays])
        done = reshape(transpose(done, axes=inverse_permutation(front)), shape=region)
        return set_slice(base, done, index=basic.index)

    write(x, scattered, value, *arrays)


hooks.setitem = setitem


def base_lift(x: Tracer, value: Any) -> Atom:
    return lift(x.root()._trace, value)


def _cast(value: Any, x: Tracer) -> Any:
    """``value`` in x's dtype, as a tracer or an ndarray."""
    if type(value) is Tracer:
        return value if value.dtype == x.dtype else converted(value, x.dtype)
    if isinstance(value, np.ndarray | np.generic):
        return value if value.dtype == x.dtype else value.astype(x.dtype)
    return new_constant(x._trace, np.asarray(value, x.dtype), True)


def fit(value: Any, shape: tuple[int, ...], x: Tracer) -> Any:
    """``value`` without superfluous leading axes of length 1; raises if it does not broadcast to ``shape``."""
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = np.reshape(value, value.shape[1:])
    try:
        if np.broadcast_shapes(value.shape, shape) == shape:
            return value
    except ValueError:
        pass
    raise ValueError(
        message(f"could not broadcast input array from shape {value.shape} into shape {shape}", x._trace.locate())
    )


def shaped(v: Atom, shape: tuple[int, ...], region: tuple[int, ...]) -> Atom:
    """A value that broadcasts to ``shape`` (with new axes) as one that broadcasts to ``region`` (without)."""
    if shape == region or v.aval.shape == ():
        return v
    return reshape(broadcast_to(v, shape=shape), shape=region)


def _whole_mask(x: Tracer, key: Any) -> Any:
    """The key as a mask over x's leading axes, if it is one."""
    if isinstance(key, tuple) and len(key) == 1:
        key = key[0]
    if isinstance(key, list) and key and isinstance(key[0], bool | list):
        key = np.asarray(key) if not _has_tracer(key) else key
    if isinstance(key, Tracer | np.ndarray) and key.dtype.kind == "b":
        if key.shape != x.shape[: key.ndim]:
            raise IndexError(f"boolean index of shape {key.shape} does not match an array of shape {x.shape}")
        return key
    return None


def _write_masked(x: Tracer, mask: Any, value: Any) -> None:
    """One number where a mask holds: a selection, so the mask need not be looked at."""

    def selected(base: Atom) -> Atom:
        m = base_lift(x, mask)
        m = reshape(m, shape=(*m.aval.shape, *[1] * (x.ndim - m.aval.ndim)))
        return select(m, broadcast_to(base_lift(x, value), shape=base.aval.shape), base)

    write(x, selected, mask, value)
