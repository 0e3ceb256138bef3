"""Two ops in a row, of all kinds that may meet, with every kind of structured cotangent: reverse against forward mode.

The first op's pullback is given what the second one's made of a structure: a mask that moved, parts at indices, a
diagonal. A rule that is right for each kind that a test thought of may be wrong for what its neighbour makes.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.ops.check_op import evaluate, normal_like
from tests.ops.structures import COTANGENTS, Given, every_cotangent
from wengert.ad.cotangents import densify
from wengert.ad.forward import jvp
from wengert.ad.reverse import cotangents
from wengert.ops import OPS
from wengert.ops import elementwise as e
from wengert.ops import index as ix
from wengert.ops import reduce as r
from wengert.ops import shape as s
from wengert.ops.contract import contract, matmul
from wengert.ops.fourier import fft, irfft, real_transform, rfft
from wengert.ops.linalg.determinants import det
from wengert.ops.linalg.factorisations import cholesky, qr
from wengert.ops.linalg.solutions import inv, solve, triangular_solve
from wengert.ops.linalg.spectra import eigh, svd
from wengert.ops.windows import windows
from wengert.tape import Atom, Aval, Builder, Lit, Tape, Var, building, check, current_builder, splice

FLOAT, INTP = np.dtype(float), np.dtype(np.intp)
Step = Callable[[Any], Any]
"""One op on a value, of whatever shape; with parts of the value, or with constants, for its other operands."""

STEPS: dict[str, Step] = {}


def step(name: str, ndim: int = 0, is_real: bool = False, is_square: bool = False) -> Callable[[Step], Step]:
    """Enter a step that takes values of ``ndim`` or more axes, none of them empty."""

    def enter(f: Step) -> Step:
        def guarded(x: Any) -> Any:
            shape = x.aval.shape
            is_bad = x.aval.ndim < ndim or not x.aval.size or (is_real and x.aval.dtype.kind == "c")
            is_bad = is_bad or (is_square and (shape[-1] != shape[-2] or shape[-1] < 2))
            return None if is_bad else f(x)

        STEPS[name] = guarded
        return f

    return enter


def numbers(shape: tuple[int, ...]) -> Any:
    """Constants between 0.5 and 1.5, no two of them equal, made by steps."""
    flat = s.iota(size=int(np.prod(shape)), dtype=INTP)
    odd = e.convert(e.remainder(flat * Lit(7, INTP), Lit(13, INTP)), dtype=FLOAT)
    return s.reshape(odd / 13 + 0.5 + e.convert(flat, dtype=FLOAT) / 1000, shape=shape)


def like(x: Atom, shape: tuple[int, ...] | None = None) -> Any:
    return e.convert(numbers(x.aval.shape if shape is None else shape), dtype=x.aval.dtype)


def places(n: int) -> Any:
    """Index arrays with one element twice: 0, n - 1, n // 2, 0."""
    return ix.join([Lit(k, INTP) for k in (0, n - 1, n // 2, 0)], 0)


def entries(x: Atom, **by_axis: Any) -> tuple[Any, ...]:
    """A static index of all of ``x`` but for some axes: ``first=`` and ``last=``."""
    index: list[Any] = [(0, n, 1) for n in x.aval.shape]
    for name, entry in by_axis.items():
        k = 0 if name == "first" else -1
        index[k] = entry(x.aval.shape[k])
    return tuple(index)


# ------------------------------------------------------------------------------------------------ element by element

step("multiply by constants")(lambda x: x * like(x))
step("square")(lambda x: x * x)
step("multiply by a number of its own", 1)(lambda x: x * ix.slice_(x, index=tuple(0 for _ in x.aval.shape)))
step("add to its own row", 2)(lambda x: x + ix.element(x, 0, 0))
step("tanh")(lambda x: e.tanh(x * 0.3))
step("select it")(lambda x: e.select(e.greater(numbers(x.aval.shape), 1), x, e.convert(Lit(0.0), dtype=x.aval.dtype)))
step("select the other")(lambda x: e.select(e.greater(numbers(x.aval.shape), 1), like(x), x))
step("select of two")(lambda x: e.select(e.greater(numbers(x.aval.shape), 1), x * 2, x))
step("select rows", 2)(
    lambda x: e.select(e.greater(numbers((x.aval.shape[0], *[1] * (x.aval.ndim - 1))), 1), x, like(x))
)
step("maximum", is_real=True)(lambda x: e.maximum(x, numbers(x.aval.shape) - 1))
step("convert to complex")(lambda x: e.convert(x, dtype=np.dtype(complex)))
step("convert to float32", is_real=True)(lambda x: e.convert(e.convert(x, dtype=np.dtype("f4")), dtype=FLOAT))
step("conjugate")(lambda x: e.conjugate(x))
step("absolute")(lambda x: e.absolute(x))
step("real part")(lambda x: OPS["real"](x) if x.aval.dtype.kind == "c" else None)
step("imaginary part")(lambda x: OPS["imag"](x) if x.aval.dtype.kind == "c" else None)
step("compose", is_real=True)(lambda x: OPS["compose"](x, x * like(x)))

# ---------------------------------------------------------------------------------------------- moved and repeated

step("reshape")(lambda x: s.reshape(x, shape=(x.aval.size,)))
step("reshape to a column", 1)(lambda x: s.reshape(x, shape=(x.aval.size // x.aval.shape[-1], 1, x.aval.shape[-1])))
step("transpose", 2)(lambda x: s.transpose(x, axes=tuple(reversed(range(x.aval.ndim)))))
step("broadcast along a new axis")(lambda x: s.broadcast_to(x, shape=(3, *x.aval.shape)))
step("broadcast", 1)(
    lambda x: s.broadcast_to(s.expand(x, [1], x.aval.ndim + 1), shape=(x.aval.shape[0], 2, *x.aval.shape[1:]))
)
step("concatenate in front", 1)(lambda x: s.concatenate(x, like(x), axis=0))
step("concatenate behind", 1)(lambda x: s.concatenate(like(x), x, axis=x.aval.ndim - 1))
step("concatenate with itself", 1)(lambda x: s.concatenate(x, x * 2, axis=0))
step("diagonal", 2, is_square=True)(lambda x: s.diagonal(x))
step("embed a diagonal", 1)(lambda x: s.embed_diagonal(x))
step("slice the start", 1)(lambda x: ix.slice_(x, index=entries(x, first=lambda n: (0, (n + 1) // 2, 1))))
step("slice the middle", 1)(lambda x: ix.slice_(x, index=entries(x, last=lambda n: (n // 4, max(n // 2, 1), 1))))
step("slice the end", 1)(lambda x: ix.slice_(x, index=entries(x, last=lambda n: (n // 2, n - n // 2, 1))))
step("slice with steps", 1)(lambda x: ix.slice_(x, index=entries(x, first=lambda n: ((n - 1) % 2, (n + 1) // 2, 2))))
step("reverse", 1)(lambda x: ix.reverse(x, 0))
step("reverse with steps", 1)(lambda x: ix.slice_(x, index=entries(x, last=lambda n: (n - 1, (n + 1) // 2, -2))))
step("one element", 1)(lambda x: ix.slice_(x, index=tuple(n // 2 for n in x.aval.shape)))
step("one row", 1)(lambda x: ix.element(x, 0, x.aval.shape[0] - 1))
step("sum of elements", 1)(lambda x: ix.element(x, 0, 0) + ix.element(x, 0, x.aval.shape[0] // 2) * 2)
step("gather", 1)(lambda x: ix.gather(x, places(x.aval.shape[0])))
step("gather pairs", 2)(lambda x: ix.gather(x, places(x.aval.shape[0]), places(x.aval.shape[1])))
step("gather one", 1)(lambda x: ix.gather(x, Lit(0, INTP)))
step("embed", 1)(
    lambda x: ix.embed(
        x, shape=tuple(2 * n + 1 for n in x.aval.shape), index=tuple((2 * n - 1, n, -2) for n in x.aval.shape)
    )
)
step("embed a number")(lambda x: ix.embed(x, shape=(*x.aval.shape, 4), index=(*[(0, n, 1) for n in x.aval.shape], 1)))
step("windows", 1)(
    lambda x: windows(
        x,
        shape=(*x.aval.shape[:-1], (x.aval.shape[-1] + 1) // 2, x.aval.shape[-1] // 2 + 1),
        axes=(*range(x.aval.ndim), x.aval.ndim - 1),
        steps=(1,) * (x.aval.ndim + 1),
        start=(0,) * x.aval.ndim,
    )
)
step("sort", 1, is_real=True)(lambda x: ix.sort(x, axis=0))

# ------------------------------------------------------------------------------------------------- written and added


def half(n: int) -> tuple[int, int, int]:
    return ((n - 1) % 2, (n + 1) // 2, 2)


step("write into it", 1)(lambda x: ix.set_slice(x, Lit(0.5, x.aval.dtype), index=entries(x, last=half)))
step("write a row into it", 2)(
    lambda x: ix.set_slice(x, like(x, x.aval.shape[1:]), index=entries(x, first=lambda n: n - 1))
)
step("write it", 1)(
    lambda x: ix.set_slice(
        like(x, (*x.aval.shape[:-1], 2 * x.aval.shape[-1])), x, index=entries(x, last=lambda n: (2 * n - 1, n, -2))
    )
)
step("write its own row", 2)(lambda x: ix.set_slice(x, ix.element(x, 0, 0), index=entries(x, first=lambda n: n - 1)))
step("add to it", 1)(lambda x: ix.add_slice(x, like(x, ()), index=entries(x, last=half)))
step("add it", 1)(lambda x: ix.add_slice(like(x), ix.element(x, 0, 0), index=entries(x, first=lambda n: n // 2)))
step("scatter into it", 1)(lambda x: ix.scatter_set(x, like(x, (4, *x.aval.shape[1:])), places(x.aval.shape[0])))
step("scatter it", 1)(
    lambda x: ix.scatter_set(like(x), ix.gather(x * 2, places(x.aval.shape[0])), places(x.aval.shape[0]))
)
step("scatter one", 1)(lambda x: ix.scatter_set(x, ix.element(x, 0, 0), Lit(x.aval.shape[0] - 1, INTP)))
step("add at indices", 1)(lambda x: ix.scatter_add(x, ix.gather(x, places(x.aval.shape[0])), places(x.aval.shape[0])))

# -------------------------------------------------------------------------------------------------------- reduced

step("sum")(lambda x: r.sum_(x, axis=tuple(range(x.aval.ndim))))
step("sum of rows", 1)(lambda x: r.sum_(x, axis=(x.aval.ndim - 1,)))
step("prod", 1)(lambda x: r.prod(x, axis=(0,)))
step("max", 1, is_real=True)(lambda x: r.max_(x, axis=(x.aval.ndim - 1,)))
step("min", is_real=True)(lambda x: r.min_(x, axis=tuple(range(x.aval.ndim))))
step("cumsum", 1)(lambda x: r.cumsum(x, axis=0))
step("cumprod", 1)(lambda x: r.cumprod(x, axis=x.aval.ndim - 1))
step("cummax", 1, is_real=True)(lambda x: r.cummax(x, axis=0))
step("recurrence", 1)(lambda x: r.recurrence(x * 0.5, x, axis=0))

# -------------------------------------------------------------------------------------------------------- contracted


def labels(x: Atom) -> tuple[int, ...]:
    return tuple(range(x.aval.ndim))


step("matrix, vector", 1)(
    lambda x: contract(x, like(x, x.aval.shape[-1:]), a=labels(x), b=labels(x)[-1:], out=labels(x)[:-1])
)
step("vector, matrix", 1)(lambda x: contract(like(x, x.aval.shape[:1]), x, a=(0,), b=labels(x), out=labels(x)[1:]))
step("matrix with itself", 2)(
    lambda x: contract(x, x, a=labels(x), b=(*labels(x)[:-1], 9), out=(*labels(x)[1:], 9)) if x.aval.size < 99 else None
)
step("outer")(
    lambda x: contract(x, like(x, (3,)), a=labels(x), b=(9,), out=(9, *labels(x))) if x.aval.size < 99 else None
)
step("inner")(lambda x: contract(x, x, a=labels(x), b=labels(x), out=()))
step("product of matrices", 2, is_square=True)(lambda x: matmul(x, like(x)))

# -------------------------------------------------------------------------------------------------------- transformed

step("fft", 1)(lambda x: fft(e.convert(x, dtype=np.dtype(complex)), axes=(x.aval.ndim - 1,), forward=True, norm=0))
step("rfft", 1, is_real=True)(lambda x: rfft(x, axis=x.aval.ndim - 1, forward=True, norm=0))
step("irfft", 1)(
    lambda x: irfft(e.convert(x, dtype=np.dtype(complex)), axis=0, n=2 * x.aval.shape[0] - 1, forward=False, norm=2)
)
step("irfft of even length", 1)(
    lambda x: (
        irfft(e.convert(x, dtype=np.dtype(complex)), axis=0, n=2 * x.aval.shape[0] - 2, forward=False, norm=2)
        if x.aval.shape[0] > 1
        else None
    )
)
step("cosines", 1, is_real=True)(lambda x: real_transform(x, kind="dct", type=2, axis=0, norm=0, orthogonal=False))
step("sines", 1, is_real=True)(
    lambda x: real_transform(x, kind="dst", type=3, axis=x.aval.ndim - 1, norm=0, orthogonal=False)
)

# ----------------------------------------------------------------------------------------------------- linear algebra


def regular(x: Any) -> Any:
    """``x`` made small, plus a matrix whose eigenvalues and singular values are far apart."""
    n = x.aval.shape[-1]
    far = s.embed_diagonal(e.convert(s.iota(size=n, dtype=INTP) + Lit(2, INTP), dtype=x.aval.dtype))
    return e.tanh(x * 0.1) * 0.3 + far


def gram(x: Any) -> Any:
    y, axes = regular(x), tuple(range(x.aval.ndim))
    return y + s.transpose(y, axes=(*axes[:-2], axes[-1], axes[-2]))


matrices = dict(ndim=2, is_real=True, is_square=True)
step("inverse", **matrices)(lambda x: inv(regular(x)))
step("determinant", **matrices)(lambda x: det(regular(x)))
step("solve", **matrices)(lambda x: solve(regular(x), x, transpose=True))
step("solve for it", **matrices)(lambda x: solve(regular(like(x)), x, transpose=False))
step("triangular solve", **matrices)(lambda x: triangular_solve(regular(x), x, lower=True, transpose=False))
step("cholesky", **matrices)(lambda x: cholesky(gram(x)))
step("eigenvalues", **matrices)(lambda x: eigh(gram(x), lower=True, any_vectors=False)[0])
step("vectors", **matrices)(lambda x: eigh(gram(x), lower=True, any_vectors=False)[1])
step("singular values", **matrices)(lambda x: svd(regular(x), full=False)[1])
step("left vectors", **matrices)(lambda x: svd(regular(x), full=False)[0])
step("q", **matrices)(lambda x: qr(regular(x), complete=False)[0])
step("r", **matrices)(lambda x: qr(regular(x), complete=False)[1])

# ------------------------------------------------------------------------------------------------------ bodies


def body(name: str, ndim: int = 0) -> Callable[[Callable[[Any], Any]], Any]:
    """Enter a function of NumPy's arrays whose tape has an op with a body."""

    def enter(f: Callable[[Any], Any]) -> Any:
        @lru_cache
        def tape_of(x: Aval) -> Tape:
            return wg.trace(f)(np.ones(x.shape, x.dtype))

        @step(name, ndim, is_real=True)
        def spliced(x: Atom) -> Any:
            tape = tape_of(x.aval)
            assert not tape.captures
            return splice(current_builder(), tape, [x], [])[0]

        return f

    return enter


body("checkpoint")(lambda x: wg.checkpoint(lambda x: np.sin(x) * x)(x))
body("branch")(lambda x: wg.cond(np.sum(x) > 0, lambda x: x[..., None] * 2, lambda x: np.sin(x)[..., None], x))
body("scan", 1)(lambda x: wg.scan(lambda c, row: (np.sin(c) + row, c * row), x[0], x)[1])
body("scan of rows", 1)(lambda x: wg.scan(lambda c, row: (c, np.cumsum(row * c)), 2.0, x)[1])
body("scan with a constant", 1)(lambda x: wg.scan(lambda c, row: (np.sin(c) * x, c[:1]), x, x)[0])
body("map")(lambda x: wg.broadcast(lambda a: a * np.sin(a), x))

SHAPES = {"vector": (6,), "matrix": (4, 4)}
SOME = 12
"""So many second steps follow each first one in the quick run."""


def follows(first: str, seconds: list[str], shape: tuple[int, ...], kinds: int) -> None:
    for second in seconds:
        rng = np.random.default_rng(zlib.crc32(f"{first} {second}".encode()))
        x = Var(Aval(shape, FLOAT))
        with building(Builder()) as builder:
            y = STEPS[first](x)
            z = None if y is None or y.aval.size > 999 else STEPS[second](y)
        if z is None or z.aval.size > 2000 or not z.aval.is_inexact:
            continue
        tape = check(Tape((x,), (), builder.instrs, (z,)))
        number, dx = normal_like(rng, [x.aval, x.aval])
        (dz,) = evaluate(jvp(tape, [0]), [number, dx])[1:]
        given = Given(rng)
        chosen, seeds, found = rng.permutation(list(COTANGENTS)), list[Any](), list[Any]()
        with building(Builder(start=tape.instrs)) as builder:
            for name, ct in every_cotangent(given, z.aval, chosen):
                (pulled,) = cotangents(tape, [x], [z], [ct])
                seeds.append((name, densify(ct, z.aval)))
                found.append(densify(pulled, x.aval))
                if len(seeds) == kinds:
                    break
        joint = check(Tape((x, *given.inputs), (), builder.instrs, (*[ct for _, ct in seeds], *found)))
        values = evaluate(joint, [number, *given.arrays])
        for (name, _), ct, gradient in zip(seeds, values, values[len(seeds) :], strict=False):
            left, right = float(np.sum(ct * dz).real), float(np.sum(gradient * dx))
            scale = float(np.sum(np.abs(ct * dz)) + np.sum(np.abs(gradient * dx)))
            scale += 1e-6 * float(np.sum(np.abs(ct)))  # the value may be a constant: Qᵀ Q
            precision = 1e-5 if "float32" in first + second else 1e-10
            assert abs(left - right) <= precision * scale, f"{first}, then {second}, cotangent: {name}\n{tape}"


@pytest.mark.sampled(5, "many that are alike")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("first", STEPS)
def test_some_two_ops_in_a_row(first: str, shape: str) -> None:
    rng = np.random.default_rng(zlib.crc32(first.encode()))
    follows(first, list(rng.choice(list(STEPS), SOME, replace=False)), SHAPES[shape], 2)


@pytest.mark.deep("all pairs, each with a few kinds of cotangent")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("first", STEPS)
def test_any_two_ops_in_a_row(first: str, shape: str) -> None:
    follows(first, list(STEPS), SHAPES[shape], 5)
