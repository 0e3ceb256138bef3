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
from wengert.hosts._sparsity import JacobianPattern, pattern

_kept: list[Any] = []
"""All callbacks: CasADi's functions do not own them, and would call what is gone."""

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


class _Callback(casadi.Callback):
    """A leaf function of arrays of given shapes."""

    def __init__(
        self,
        name: str,
        f: LeafFunction,
        ins: Sequence[Shape],
        outs: Sequence[Shape],
        matrices: Sequence[Any] = (),
        of: _Callback | None = None,
    ) -> None:
        """``matrices`` are the sparsities of results that are vectors of their elements; ``of``: what it derives."""
        casadi.Callback.__init__(self)
        self._f, self._ins, self._outs, self._matrices, self._of = f, list(ins), list(outs), list(matrices), of
        self._found: JacobianPattern | None = None
        _kept.append(self)
        self.construct(name, {})

    def get_n_in(self) -> int:
        return len(self._ins)

    def get_n_out(self) -> int:
        return len(self._outs)

    def get_sparsity_in(self, k: int) -> Any:
        return casadi.Sparsity.dense(*_matrix(self._ins[k]))

    def get_sparsity_out(self, k: int) -> Any:
        return self._matrices[k] if self._matrices else casadi.Sparsity.dense(*_matrix(self._outs[k]))

    def has_eval_buffer(self) -> bool:
        return True

    def eval_buffer(self, arg: Sequence[memoryview | None], res: Sequence[memoryview | None]) -> int:
        given = [np.zeros(s[::-1]).T if x is None else _of_columns(x, s) for x, s in zip(arg, self._ins, strict=True)]
        results, _ = self._f(*given)
        for y, memory, shape in zip(results, res, self._outs, strict=True):
            if memory is not None:  # nobody asks for this one
                _of_columns(memory, shape)[...] = y
        self._check_patterns()
        return 0

    @property
    def _pattern(self) -> JacobianPattern | None:
        """The pattern of the Jacobian, found when it is first asked for; None of what is a Jacobian itself."""
        if self._found is None and not self._matrices:
            self._found = pattern(self._f.f, self._ins)
        return self._found

    def _check_patterns(self) -> None:
        """Raise if a function is not the one any more of which CasADi was told what its Jacobian's pattern is."""
        derived: list[_Callback] = [self]
        while (of := derived[-1]._of) is not None:
            derived.append(of)
        told = [p for one in derived if (p := one._found) is not None]
        if told and not (all(p.holds() for p in told) and all(one._f.is_traced_once() for one in derived)):
            raise wg.errors.CaptureError(
                wg.errors.message(
                    f"{derived[-1].name()}: what the function reads beside its arguments has changed, and so may have "
                    "the pattern of its Jacobian, which CasADi was told",
                    tries=["wg.hosts.casadi.function(...) anew", "an argument for what changes"],
                )
            )

    def has_jac_sparsity(self, result: int, argument: int) -> bool:
        return self._pattern is not None

    def get_jac_sparsity(self, result: int, argument: int, *_: bool) -> Any:
        assert self._pattern is not None
        return _sparsity(_by_columns(self._pattern.blocks[result][argument], len(self._ins[argument])))

    def has_jacobian(self) -> bool:
        return True

    def get_jacobian(self, name: str, *_: Any) -> Any:
        n_in, pairs = len(self._ins), [(y, x) for y in range(len(self._outs)) for x in range(len(self._ins))]
        if self._pattern is None:
            blocks = [(math.prod(self._outs[y]), math.prod(self._ins[x])) for y, x in pairs]
            made = _jacobian(self._f.f, n_in, None)
            return _Callback(name, LeafFunction(made, name), [*self._ins, *self._outs], blocks)
        matrices = [self.get_jac_sparsity(*pair) for pair in pairs]
        places = [(np.array(m.row()), np.array(m.get_col())) for m in matrices]
        made = _jacobian(self._f.f, n_in, places)
        lengths = [(m.nnz(),) for m in matrices]
        return _Callback(name, LeafFunction(made, name), [*self._ins, *self._outs], lengths, matrices, self)

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
        return _Callback(name, LeafFunction(made, name), ins, [_beside_shape(s, n) for s in results], (), self)


def _matrix(shape: Shape) -> tuple[int, int]:
    """CasADi's shape for NumPy's: a vector is a column."""
    return (shape[0] if shape else 1), (shape[1] if len(shape) == 2 else 1)


def _of_columns(memory: memoryview, shape: Shape) -> Array:
    """Return what lies column by column as an array that shares its memory."""
    return np.frombuffer(memory, float).reshape(shape[::-1]).T


# What is traced: functions of arrays, which hold the user's function and what is fixed.


def _jacobian(
    f: Callable[..., Any], n_in: int, places: Sequence[tuple[Array, Array]] | None
) -> Callable[..., tuple[Any, ...]]:
    """The blocks of the Jacobian, a row for each element of a result and a column for each of an argument; of these
    the elements at ``places``, rows and columns."""

    def blocks(*given: Any) -> tuple[Any, ...]:
        flat = lambda *xs: tuple(wg.tree.leaves(f(*xs)))
        found = wg.jacobian(flat, argnums=tuple(range(n_in)))(*given[:n_in])
        whole = [_by_columns(block, x.ndim) for row in found for block, x in zip(row, given[:n_in], strict=True)]
        return tuple(whole if places is None else [b[at] for b, at in zip(whole, places, strict=True)])

    return blocks


def _sparsity(matrix: Array) -> Any:
    rows, columns = np.nonzero(matrix)
    return casadi.Sparsity.triplet(*matrix.shape, rows.tolist(), columns.tolist())


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
    arrays = [np.array(np.asarray(x, float).T, order="C").T for x in example]  # as CasADi gives them
    results, _ = leaf_function(*arrays)
    for what, xs in (("argument", arrays), ("result", results)):
        for k, x in enumerate(xs):
            if x.ndim > 2 or x.dtype.kind == "c":
                shown = f"{x.dtype}[{', '.join(map(str, x.shape))}]"
                error = wg.errors.ShapeError if x.ndim > 2 else wg.errors.DTypeError
                raise error(wg.errors.message(f"{called}: {what} {k} is {shown}; CasADi has real matrices alone"))
    return _Callback(called, leaf_function, [x.shape for x in arrays], [y.shape for y in results])
