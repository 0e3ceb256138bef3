"""This file makes the callbacks of :mod:`wengert.hosts.casadi`; it imports CasADi.

Every function that CasADi asks for (a Jacobian, some directions forward or reverse) is a :class:`LeafFunction` of
arrays, and so a callback of the same class, which can be asked for the same.
"""

# Where the library is not installed pyright takes the module of its name in this folder for it.
# pyright: reportAttributeAccessIssue=false
from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import casadi
import numpy as np

import wengert as wg
from wengert.hosts._leaf_functions import LeafFunction

_kept: list[Any] = []
"""All callbacks: CasADi's functions do not own them, and would call what is gone."""

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


class _Callback(casadi.Callback):
    """A leaf function of arrays of given shapes."""

    def __init__(self, name: str, f: LeafFunction, ins: Sequence[Shape], outs: Sequence[Shape]) -> None:
        casadi.Callback.__init__(self)
        self._f, self._ins, self._outs = f, list(ins), list(outs)
        _kept.append(self)
        self.construct(name, {})

    def get_n_in(self) -> int:
        return len(self._ins)

    def get_n_out(self) -> int:
        return len(self._outs)

    def get_sparsity_in(self, k: int) -> Any:
        return casadi.Sparsity.dense(*_matrix(self._ins[k]))

    def get_sparsity_out(self, k: int) -> Any:
        return casadi.Sparsity.dense(*_matrix(self._outs[k]))

    def has_eval_buffer(self) -> bool:
        return True

    def eval_buffer(self, arg: Sequence[memoryview | None], res: Sequence[memoryview | None]) -> int:
        given = [np.zeros(s) if x is None else _of_columns(x, s) for x, s in zip(arg, self._ins, strict=True)]
        results, _ = self._f(*given)
        for y, memory, shape in zip(results, res, self._outs, strict=True):
            if memory is not None:  # nobody asks for this one
                _of_columns(memory, shape)[...] = y
        return 0

    def has_jacobian(self) -> bool:
        return True

    def get_jacobian(self, name: str, *_: Any) -> Any:
        blocks = [(math.prod(y), math.prod(x)) for y in self._outs for x in self._ins]
        made = _jacobian(self._f.f, len(self._ins))
        return _Callback(name, LeafFunction(made, name), [*self._ins, *self._outs], blocks)

    def has_forward(self, n: int) -> bool:
        return True

    def get_forward(self, n: int, name: str, *_: Any) -> Any:
        return self._along(n, name, self._ins, self._outs, LeafFunction.pushforward)

    def has_reverse(self, n: int) -> bool:
        return True

    def get_reverse(self, n: int, name: str, *_: Any) -> Any:
        return self._along(n, name, self._outs, self._ins, LeafFunction.pullback)

    def _along(
        self, n: int, name: str, seeds: list[Shape], results: list[Shape], derivative: Callable[..., LeafFunction]
    ) -> Any:
        """The derivative along n seeds. CasADi hands on the results too, and has n matrices beside one another."""
        linear = derivative(self._f, range(len(self._ins)), range(len(self._outs))).f
        made = _beside(linear, n, len(self._ins), len(self._outs), seeds)
        ins = [*self._ins, *self._outs, *[_beside_shape(s, n) for s in seeds]]
        return _Callback(name, LeafFunction(made, name), ins, [_beside_shape(s, n) for s in results])


def _matrix(shape: Shape) -> tuple[int, int]:
    """CasADi's shape for NumPy's: a vector is a column."""
    return (shape[0] if shape else 1), (shape[1] if len(shape) == 2 else 1)


def _of_columns(memory: memoryview, shape: Shape) -> Array:
    """Return what lies column by column as an array that shares its memory."""
    return np.frombuffer(memory, float).reshape(shape[::-1]).T


# What is traced: functions of arrays, which hold the user's function and what is fixed.


def _jacobian(f: Callable[..., Any], n_in: int) -> Callable[..., Any]:
    """The blocks of the Jacobian, a row for each element of a result and a column for each of an argument."""

    def blocks(*given: Any) -> tuple[Any, ...]:
        flat = lambda *xs: tuple(wg.tree.leaves(f(*xs)))
        found = wg.jacobian(flat, argnums=tuple(range(n_in)))(*given[:n_in])
        return tuple([_by_columns(block, x.ndim) for row in found for block, x in zip(row, given[:n_in], strict=True)])

    return blocks


def _by_columns(block: Array, ndim: int) -> Array:
    """float[*y, *x] as a matrix, where the elements of y and of x are counted column by column."""
    n = block.ndim - ndim
    flipped = block.transpose(*range(n)[::-1], *range(n, block.ndim)[::-1])
    return flipped.reshape(math.prod(block.shape[:n]), math.prod(block.shape[n:]))


def _beside(linear: Callable[..., Any], n: int, n_in: int, n_out: int, seeds: Sequence[Shape]) -> Callable[..., Any]:
    def along(*given: Any) -> Any:
        xs, directions = given[:n_in], given[n_in + n_out :]
        if n == 1:
            return linear(*xs, *directions)
        stacked = [_stacked(s, n, shape) for s, shape in zip(directions, seeds, strict=True)]
        mapped = wg.vmap(linear, [*[None] * n_in, *[0] * len(stacked)])(*xs, *stacked)
        return tuple([_unstacked(y) for y in mapped])

    return along


def _beside_shape(shape: Shape, n: int) -> Shape:
    rows, columns = _matrix(shape)
    return shape if n == 1 else (rows, columns * n)


def _stacked(matrix: Array, n: int, shape: Shape) -> Array:
    rows, columns = _matrix(shape)
    return matrix.reshape(rows, n, columns).transpose(1, 0, 2).reshape(n, *shape)


def _unstacked(stack: Array) -> Array:
    rows, columns = _matrix(stack.shape[1:])
    return stack.reshape(-1, rows, columns).transpose(1, 0, 2).reshape(rows, -1)


def function(f: Callable[..., Any], example: Sequence[Any], name: str | None) -> Any:
    called = re.sub(r"\W|^_+", "", name or getattr(f, "__name__", "")) or "wengert"
    leaf_function = LeafFunction(lambda *xs: f(*xs), called)
    arrays = [np.asarray(x, float) for x in example]
    results, _ = leaf_function(*arrays)
    for what, xs in (("argument", arrays), ("result", results)):
        for k, x in enumerate(xs):
            if x.ndim > 2 or x.dtype.kind == "c":
                shown = f"{x.dtype}[{', '.join(map(str, x.shape))}]"
                error = wg.errors.ShapeError if x.ndim > 2 else wg.errors.DTypeError
                raise error(wg.errors.message(f"{called}: {what} {k} is {shown}; CasADi has real matrices alone"))
    return _Callback(called, leaf_function, [x.shape for x in arrays], [y.shape for y in results])
