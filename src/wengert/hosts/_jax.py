"""This file makes the functions of :mod:`wengert.hosts.jax`; it imports JAX.

Among JAX's functions one primitive of JAX's runs every :class:`LeafFunction`. Its JVP is the primitive again, with the
pushforward, which is linear in the tangents; the transpose of that is the primitive with the pullback; and its batches
are those of ``wg.vmap``. In ``jax.custom_vjp`` a function has one mode, and no order beyond what was written down.

The other way, a derivative or a batch of a function of JAX's is a function of JAX's, so it is a primitive in its turn.
"""

# Where the library is not installed pyright takes the module of its name in this folder for it.
# pyright: reportAttributeAccessIssue=false
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

import wengert as wg
from wengert.hosts._leaf_functions import LeafFunction, LeafFunctions

Array = np.ndarray[Any, Any]
Types = tuple[jax.ShapeDtypeStruct, ...]


_run = Primitive("wengert")
"""Runs a leaf function.

Parameters: ``f``; ``types`` of the results; ``n_linear``, of how many of the last arguments it is a linear function,
and ``transpose``, the function of the others and of cotangents of the results that gives those of these.
"""
_run.multiple_results = True


@_run.def_impl
def _impl(*arrays: Any, f: LeafFunction, types: Types, **_: Any) -> Any:
    return [jnp.asarray(y) for y in _computed(f, types, arrays)]


def _computed(f: LeafFunction, types: Types, arrays: Sequence[Any]) -> list[Any]:
    results, _ = f(*[np.asarray(x) for x in arrays])
    return [y.astype(t.dtype, copy=False) for y, t in zip(results, types, strict=True)]


@_run.def_abstract_eval
def _abstract(*_: Any, types: Types, **__: Any) -> Any:
    return [jax.core.ShapedArray(t.shape, t.dtype) for t in types]


def _called_back(*arrays: Any, f: LeafFunction, types: Types, **_: Any) -> Any:
    return jax.pure_callback(lambda *xs: _computed(f, types, xs), list(types), *arrays)


mlir.register_lowering(_run, mlir.lower_fun(_called_back, multiple_results=True))


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    ys = _run.bind(*primals, **params)
    f = params["f"]
    active = [k for k, dx in enumerate(tangents) if type(dx) is not ad.Zero]
    numbers = [k for k, t in enumerate(params["types"]) if np.dtype(t.dtype).kind in "fc"]
    dys = _run.bind(
        *primals,
        *[tangents[k] for k in active],
        f=f.pushforward(active, numbers),
        types=tuple([params["types"][k] for k in numbers]),
        n_linear=len(active),
        transpose=f.pullback(active, numbers),
    )
    found: list[Any] = [ad.Zero(jax.typeof(y).to_tangent_aval()) for y in ys]
    for k, dy in zip(numbers, dys, strict=True):
        found[k] = dy
    return ys, found


ad.primitive_jvps[_run] = _jvp


def _transpose(cts: Sequence[Any], *args: Any, **params: Any) -> Any:
    n = len(args) - params["n_linear"]
    primals, linear = args[:n], args[n:]
    wanted = [x.aval if ad.is_undefined_primal(x) else jax.typeof(x) for x in linear]
    found = _run.bind(
        *primals,
        *[jnp.zeros(ct.aval.shape, ct.aval.dtype) if type(ct) is ad.Zero else ct for ct in cts],
        f=params["transpose"],
        types=tuple([jax.ShapeDtypeStruct(a.shape, a.dtype) for a in wanted]),
        n_linear=len(cts),
        transpose=params["f"],
    )
    return [None] * n + [ct if ad.is_undefined_primal(x) else None for ct, x in zip(found, linear, strict=True)]


ad.primitive_transposes[_run] = _transpose


def _batch(args: Sequence[Any], axes: Sequence[int | None], **params: Any) -> Any:
    f, transpose, n_linear = params["f"], params["transpose"], params["n_linear"]
    n = len(args) - n_linear
    size = next(x.shape[axis] for x, axis in zip(args, axes, strict=True) if axis is not None)
    # All of what it is linear in gets the batch, so that the transpose has as many cotangents for each.
    linear = [_in_front(x, axis, size) for x, axis in zip(args[n:], axes[n:], strict=True)]
    ys = _run.bind(
        *args[:n],
        *linear,
        f=f.batched([*axes[:n], *[0] * n_linear]),
        types=tuple([jax.ShapeDtypeStruct((size, *t.shape), t.dtype) for t in params["types"]]),
        n_linear=n_linear,
        transpose=None if transpose is None else transpose.batched([*axes[:n], *[0] * len(params["types"])]),
    )
    return ys, [0] * len(ys)


def _in_front(x: jax.Array, axis: int | None, size: int) -> jax.Array:
    return jnp.broadcast_to(x, (size, *x.shape)) if axis is None else jnp.moveaxis(x, axis, 0)


batching.primitive_batchers[_run] = _batch


def function(f: Callable[..., Any], type: Callable[..., Any] | None) -> Callable[..., Any]:
    known = LeafFunctions(f)
    results: dict[Any, tuple[Types, wg.tree.TreeDef]] = {}

    @functools.wraps(f)
    def of_arrays(*args: Any, **kwargs: Any) -> Any:
        leaf_function, arrays = known.of_arrays(args, kwargs, _ARRAYS)
        xs = [jnp.asarray(x) for x in arrays]
        key = leaf_function, tuple([(x.shape, x.dtype) for x in xs]), jax.config.jax_enable_x64
        if key not in results:
            results[key] = _types(f, type, args, kwargs)
        types, treedef = results[key]
        ys = _run.bind(*xs, f=leaf_function, types=types, n_linear=0, transpose=None)
        return wg.tree.unflatten(treedef, ys)

    return of_arrays


_ARRAYS = (jax.Array, np.ndarray, np.generic)


def _types(
    f: Callable[..., Any], type: Callable[..., Any] | None, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Types, wg.tree.TreeDef]:
    """The types of the results, and their structure."""
    specs = wg.tree.map(lambda x: wg.spec(x.shape, x.dtype) if isinstance(x, _ARRAYS) else x, (args, kwargs))
    try:
        found = (wg.spec_of(f) if type is None else type)(*specs[0], **specs[1])
    except wg.errors.ConcretizationError as error:
        error.add_note(
            "JAX has to know the shapes of the results before there are values: wg.hosts.jax.function(f, type=...), "
            "with a function of specs like the arguments that returns specs like the result"
        )
        raise
    leaves, treedef = wg.tree.flatten(found)
    dtypes = [jax.dtypes.canonicalize_dtype(x.dtype) for x in leaves]
    return tuple([jax.ShapeDtypeStruct(x.shape, t) for x, t in zip(leaves, dtypes, strict=True)]), treedef


# ------------------------------------------------------------------------------------------------------ the other way


def primitive(g: Callable[..., Any]) -> Callable[..., Any]:
    return _primitive(g, getattr(g, "__name__", g.__class__.__name__))


def _primitive(g: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return the primitive of ``g``, whose rules call primitives of ``g``'s derivatives and batches, and so on."""
    compiled = jax.jit(g)

    def of_arrays(*xs: Any) -> Any:
        with _bits(xs):
            ys = compiled(*xs)
        return tuple(map(np.asarray, ys)) if isinstance(ys, tuple | list) else np.asarray(ys)

    def types(*xs: Any) -> Any:
        with _bits(xs):
            ys = jax.eval_shape(compiled, *xs)
        empty = [np.empty(y.shape, y.dtype) for y in (ys if isinstance(ys, tuple | list) else (ys,))]
        return tuple(empty) if isinstance(ys, tuple | list) else empty[0]

    of_arrays.__name__ = of_arrays.__qualname__ = name
    of_arrays.__module__ = "jax"  # it is none of wengert's: it may read what it likes, so it is run at every call
    made: Any = wg.primitive(of_arrays, type=types)
    rules = _Rules(g, name)
    made.def_pullback(rules.pullback)
    made.def_pushforward(rules.pushforward)
    made.def_batch(rules.batch)
    return made


def _bits(xs: Sequence[Any]) -> AbstractContextManager[Any]:
    """Context in which JAX computes with 64 bits, if an argument has them: else it would drop half of the digits."""
    has_64 = any(np.asarray(x).dtype in (np.float64, np.complex128, np.int64, np.uint64) for x in xs)
    return jax.enable_x64(True) if has_64 else nullcontext()


class _Rules:
    """The rules of ``g``'s primitive, by primitives that are made when they are needed."""

    def __init__(self, g: Callable[..., Any], name: str) -> None:
        self._g = g
        self._name = name
        self._known: dict[Any, Callable[..., Any]] = {}

    def __wengert_parts__(self) -> dict[str, Any]:
        """Nothing: what ``g`` reads is read when JAX traces it, so a compiled function need not watch it."""
        return {}

    def _derived(self, key: tuple[Any, ...], h: Callable[..., Any]) -> Callable[..., Any]:
        if key not in self._known:
            self._known[key] = _primitive(h, f"the {key[0]} of {self._name}")
        return self._known[key]

    def pullback(self, ct: Array | tuple[Array, ...], y: object, *xs: Array) -> Any:
        wrt = tuple([k for k, x in enumerate(xs) if x.dtype.kind in "fc"])
        pulled = self._derived(("pullback", wrt), functools.partial(_pulled, self._g, wrt, len(xs)))
        cts = dict(zip(wrt, pulled(*xs, *(ct if isinstance(ct, tuple) else (ct,))), strict=True))
        return tuple([cts.get(k) for k in range(len(xs))])

    def pushforward(self, dxs: Sequence[Array | None], y: object, *xs: Array) -> Any:
        wrt = tuple([k for k, dx in enumerate(dxs) if dx is not None])
        pushed = self._derived(("pushforward", wrt), functools.partial(_pushed, self._g, wrt, len(xs)))
        return pushed(*xs, *[dxs[k] for k in wrt])

    def batch(self, batched: Sequence[bool], *xs: Any) -> Any:
        axes = tuple([0 if b else None for b in batched])
        return self._derived(("batch", axes), jax.vmap(self._g, axes))(*xs)


def _of_some(g: Callable[..., Any], xs: Sequence[Any], wrt: Sequence[int]) -> Callable[..., Any]:
    def of_some(*values: Any) -> Any:
        given = list(xs)
        for k, value in zip(wrt, values, strict=True):
            given[k] = value
        return g(*given)

    return of_some


def _pulled(g: Callable[..., Any], wrt: Sequence[int], n: int, *given: Any) -> Any:
    xs, cts = given[:n], given[n:]
    y, pull = jax.vjp(_of_some(g, xs, wrt), *[xs[k] for k in wrt])
    return pull(y.__class__(cts) if isinstance(y, tuple | list) else cts[0])


def _pushed(g: Callable[..., Any], wrt: Sequence[int], n: int, *given: Any) -> Any:
    xs, dxs = given[:n], given[n:]
    return jax.jvp(_of_some(g, xs, wrt), tuple([xs[k] for k in wrt]), dxs)[1]
