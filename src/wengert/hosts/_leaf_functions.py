"""A function of the leaves of its arguments, and its derivatives as functions of the same kind.

What a host asks of a function (its values, cotangents, tangents, a batch) is again a function of arrays, of which the
host may ask the same. So a :class:`LeafFunction` gives its pullback, its pushforward and its batched form as further
``LeafFunction``\\ s, each traced and compiled when it is called first, and kept. That alone makes derivatives of every
order, in whatever order the host takes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import wengert as wg

Array = np.ndarray[Any, Any]


class LeafFunction:
    """A NumPy function of leaves, which are arrays, numbers or settings, compiled.

    ``f(*leaves)`` returns any tree. A call returns the arrays among its leaves, and the structure that they have.
    """

    def __init__(self, f: Callable[..., Any], name: str) -> None:
        self.name = name
        self.f = f
        f.__name__ = name  # which errors and warnings say
        self._compiled = wg.jit(f)
        self._derived: dict[Any, LeafFunction] = {}

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def __call__(self, *leaves: Any) -> tuple[list[Array], wg.tree.TreeDef]:
        results, treedef = wg.tree.flatten(self._compiled(*leaves))
        return [np.asarray(r) for r in results], treedef

    def is_traced_once(self) -> bool:
        """Return whether all calls were answered by one program, or there were none."""
        return len(self._compiled.programs()) <= 1

    def pullback(self, active: Sequence[int], results: Sequence[int]) -> LeafFunction:
        """Return the function ``(*leaves, *cts) -> cotangents`` of the leaves ``active``, where ``cts`` are those of
        the results ``results``."""
        wrt, outs = tuple(active), tuple(results)
        return self._kept(("pullback", wrt, outs), lambda: _pullback(self.f, wrt, outs))

    def pushforward(self, active: Sequence[int], results: Sequence[int]) -> LeafFunction:
        """Return the function ``(*leaves, *tangents) -> tangents`` of the results ``results``, where ``tangents`` are
        those of the leaves ``active``."""
        wrt, outs = tuple(active), tuple(results)
        return self._kept(("pushforward", wrt, outs), lambda: _pushforward(self.f, wrt, outs))

    def batched(self, axes: Sequence[int | None]) -> LeafFunction:
        """Return the function of leaves that have a batch along ``axes``, None where they are shared. Its results have
        it along their first axis."""
        in_axes = tuple(axes)
        return self._kept(("batched", in_axes), lambda: _batched(self.f, in_axes))

    def fixed(self, values: dict[int, Any]) -> LeafFunction:
        """Return the function of the other leaves, where those of the given numbers are settings."""
        key = tuple([(k, x.__class__, repr(x)) for k, x in values.items()])  # 1, 1.0 and True are different settings
        return self._kept(("fixed", key), lambda: _fixed(self.f, values), self.name) if values else self

    def _kept(self, key: tuple[Any, ...], make: Callable[[], Callable[..., Any]], name: str = "") -> LeafFunction:
        if key not in self._derived:
            self._derived[key] = LeafFunction(make(), name or f"the {key[0]} of {self.name}")
        return self._derived[key]


# What is traced below holds the user's function and what is fixed, and no LeafFunction: a compiled function watches
# what it holds, and these change.


def _fixed(f: Callable[..., Any], values: dict[int, Any]) -> Callable[..., Any]:
    def of_others(*given: Any) -> Any:
        others = iter(given)
        n = len(given) + len(values)
        return f(*[values[k] if k in values else next(others) for k in range(n)])

    return of_others


def _batched(f: Callable[..., Any], in_axes: tuple[int | None, ...]) -> Callable[..., Any]:
    def batched(*leaves: Any) -> Any:
        return wg.vmap(f, in_axes)(*leaves)

    return batched


def _of_some(f: Callable[..., Any], leaves: Sequence[Any], wrt: Sequence[int], outs: Sequence[int]) -> Any:
    """Return some results of ``f`` as a function of some of its leaves."""

    def of_some(*xs: Any) -> Any:
        given = list(leaves)
        for k, x in zip(wrt, xs, strict=True):
            given[k] = x
        results = wg.tree.leaves(f(*given))
        return tuple([results[k] for k in outs])

    return of_some


def _pullback(f: Callable[..., Any], wrt: Sequence[int], outs: Sequence[int]) -> Callable[..., Any]:
    def pulled(*given: Any) -> Any:
        n = len(given) - len(outs)
        leaves, cts = given[:n], given[n:]
        y, pull = wg.vjp(_of_some(f, leaves, wrt, outs), *[leaves[k] for k in wrt])
        return pull(tuple([_like(ct, v) for ct, v in zip(cts, y, strict=True)]))

    return pulled


def _pushforward(f: Callable[..., Any], wrt: Sequence[int], outs: Sequence[int]) -> Callable[..., Any]:
    def pushed(*given: Any) -> Any:
        n = len(given) - len(wrt)
        leaves, dxs = given[:n], given[n:]
        xs = [leaves[k] for k in wrt]
        return wg.jvp(_of_some(f, leaves, wrt, outs), xs, [_like(dx, x) for dx, x in zip(dxs, xs, strict=True)])[1]

    return pushed


def _like(ct: Array, x: Array) -> Array:
    """Return a cotangent or tangent in the dtype of ``x``: hosts may hold less digits than NumPy computes with."""
    return ct if ct.dtype == x.dtype else ct.astype(x.dtype)


class LeafFunctions:
    """The leaf functions of ``f``: one for each structure of its arguments that it is called with."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f = f
        self.name = getattr(f, "__name__", type(f).__name__)
        self._known: dict[wg.tree.TreeDef, LeafFunction] = {}

    def of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[LeafFunction, list[Any]]:
        """Return the leaf function of such arguments, and their leaves."""
        leaves, treedef = wg.tree.flatten((args, kwargs))
        if treedef not in self._known:
            self._known[treedef] = LeafFunction(_of_leaves(self.f, treedef), self.name)
        return self._known[treedef], leaves

    def of_arrays(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], arrays: tuple[type, ...]
    ) -> tuple[LeafFunction, list[Any]]:
        """Return the function of the leaves that are of the classes ``arrays``, and these. The others are settings."""
        function, leaves = self.of(args, kwargs)
        settings = {k: x for k, x in enumerate(leaves) if not isinstance(x, arrays)}
        return function.fixed(settings), [x for x in leaves if isinstance(x, arrays)]


def _of_leaves(f: Callable[..., Any], treedef: wg.tree.TreeDef) -> Callable[..., Any]:
    def of_leaves(*leaves: Any) -> Any:
        args, kwargs = wg.tree.unflatten(treedef, leaves)
        return f(*args, **kwargs)

    return of_leaves


def is_inexact(dtype: object) -> bool:
    """Return whether a dtype, by any of its names, is one of numbers that have a derivative."""
    return np.dtype(str(dtype)).kind in "fc"
