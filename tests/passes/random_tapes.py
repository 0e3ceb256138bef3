"""Random short tapes, of every kind of step that the last passes treat each in its own way."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

from wengert.ops import elementwise as e
from wengert.ops.contract import contract
from wengert.ops.index import add_slice, embed, gather, scatter_add, scatter_set, set_slice, slice_
from wengert.ops.reduce import cumsum, max_, sum_
from wengert.ops.shape import broadcast_to, concatenate, iota, reshape, transpose
from wengert.tape import Atom, Aval, Builder, Capture, Lit, Tape, Var, building, check

FLOAT, INT = np.dtype(float), np.dtype(np.intp)
SHAPES = [(), (1,), (3,), (4,), (2, 3), (3, 4), (4, 3), (1, 4), (2, 3, 2)]
Step = Callable[[Random, list[Atom]], Any]


def aval(shape: tuple[int, ...], dtype: np.dtype[Any] = FLOAT) -> Aval:
    return Aval(shape, dtype)


def _index(r: Random, n: int) -> Any:
    """A whole axis, a part of it, backwards, or one element."""
    start = r.randrange(n)
    length = r.randint(1, n - start)
    return r.choice([(0, n, 1), (start, length, 1), (n - 1, n, -1), start, (0, (n + 1) // 2, 2)])


def _same(r: Random, values: list[Atom], shape: tuple[int, ...]) -> Atom:
    return r.choice([v for v in values if v.aval.shape == shape])


def _vector(r: Random, values: list[Atom]) -> Atom | None:
    found = [v for v in values if v.aval.ndim > 0]
    return r.choice(found) if found else None


def unary(r: Random, values: list[Atom]) -> Any:
    return r.choice([e.sin, e.cos, e.negative, e.square, e.tanh])(r.choice(values))


def binary(r: Random, values: list[Atom]) -> Any:
    x = r.choice(values)
    y = r.choice(
        [_same(r, values, x.aval.shape), Lit(r.choice([1.0, 2.0, 0.37]), x.aval.dtype), _same(r, values, x.aval.shape)]
    )
    return r.choice([e.add, e.multiply, e.subtract, e.maximum])(*r.choice([(x, y), (y, x)]))


def broadcasting(r: Random, values: list[Atom]) -> Any:
    x, y = r.choice(values), r.choice(values)
    try:
        np.broadcast_shapes(x.aval.shape, y.aval.shape)
    except ValueError:
        return None
    return r.choice([e.add, e.multiply])(x, y)


def reduction(r: Random, values: list[Atom]) -> Any:
    x = r.choice(values)
    axes = tuple(k for k in range(x.aval.ndim) if r.random() < 0.6)
    return r.choice([sum_, sum_, max_])(x, axis=axes)


def turned(r: Random, values: list[Atom]) -> Any:
    x = r.choice(values)
    axes = list(range(x.aval.ndim))
    r.shuffle(axes)
    return transpose(x, axes=tuple(axes))


def reshaped(r: Random, values: list[Atom]) -> Any:
    x = r.choice(values)
    fits = [s for s in [*SHAPES, (x.aval.size,), (1, x.aval.size)] if np.prod(s) == x.aval.size]
    return reshape(x, shape=r.choice(fits))


def spread(r: Random, values: list[Atom]) -> Any:
    x = r.choice(values)
    return broadcast_to(x, shape=(2, *x.aval.shape)) if x.aval.ndim < 3 else None


def part(r: Random, values: list[Atom]) -> Any:
    x = _vector(r, values)
    return x and slice_(x, index=tuple(_index(r, n) for n in x.aval.shape))


def written(r: Random, values: list[Atom]) -> Any:
    x = _vector(r, values)
    if x is None:
        return None
    index = tuple(_index(r, n) for n in x.aval.shape)
    shape = tuple(i[1] for i in index if isinstance(i, tuple))
    fits = [v for v in values if v.aval.shape in ((), shape) and v.aval.dtype == x.aval.dtype]
    return r.choice([set_slice, add_slice])(x, r.choice([*fits, Lit(0.25, x.aval.dtype)]), index=index)


def embedded(r: Random, values: list[Atom]) -> Any:
    x = r.choice(values)
    if x.aval.ndim != 1:
        return None
    return embed(x, shape=(2 * x.aval.size,), index=((r.choice([0, 1]), x.aval.size, r.choice([1])),))


def joined(r: Random, values: list[Atom]) -> Any:
    x = _vector(r, values)
    if x is None:
        return None
    fits = [v for v in values if v.aval is x.aval]
    return concatenate(x, r.choice(fits), axis=r.randrange(x.aval.ndim))


def product(r: Random, values: list[Atom]) -> Any:
    found = [v for v in values if v.aval.ndim == 2]
    if not found:
        return None
    x = r.choice(found)
    fits = [v for v in values if v.aval.ndim == 2 and v.aval.shape[0] == x.aval.shape[1]]
    fits += [v for v in values if v.aval.shape == (x.aval.shape[1],)]
    if not fits:
        return None
    y = r.choice(fits)
    return contract(x, y, a=(0, 1), b=(1, 2)[: y.aval.ndim], out=(0, 2)[: y.aval.ndim])


def _indices(r: Random, n: int) -> Any:
    return e.remainder(iota(size=r.randint(1, 5), dtype=INT), Lit(n, INT))


def gathered(r: Random, values: list[Atom]) -> Any:
    x = _vector(r, values)
    return x and gather(x, _indices(r, x.aval.shape[0]))


def scattered(r: Random, values: list[Atom]) -> Any:
    x = _vector(r, values)
    return x and r.choice([scatter_set, scatter_add])(x, Lit(0.5, x.aval.dtype), _indices(r, x.aval.shape[0]))


def running(r: Random, values: list[Atom]) -> Any:
    x = _vector(r, values)
    return x and cumsum(x, axis=r.randrange(x.aval.ndim))


STEPS: list[Step] = [
    unary, unary, binary, binary, binary, broadcasting, reduction, reduction, turned, reshaped, spread, part, part,
    written, written, written, embedded, joined, joined, product, gathered, scattered, running,
]  # fmt: skip


def random_tape(
    seed: int, length: int = 14, shapes: Sequence[tuple[int, ...]] = SHAPES, dtype: np.dtype[Any] = FLOAT
) -> Tape:
    """Arguments, a captured array, ``length`` steps, and some of the values as results, repeated or not."""
    r = Random(seed)
    largest = 4 * max([math.prod(shape) for shape in shapes])
    inputs = tuple([Var(aval(r.choice(shapes), dtype)) for _ in range(r.randint(1, 3))])
    fixed = np.linspace(-1, 1, 4).astype(dtype)
    captures = (Capture(Var(aval((4,), dtype)), fixed, "c"),)
    values: list[Atom] = [*inputs, captures[0].var]
    with building(Builder()) as builder:
        while len(builder) < length:
            made = r.choice(STEPS)(r, values if r.random() < 0.4 else values[-4:])
            if made is not None and isinstance(made, Var) and made.aval.size <= largest and made not in values:
                values.append(made)
    outputs = tuple(r.choice(values[-6:] if r.random() < 0.8 else values) for _ in range(r.randint(1, 4)))
    return check(Tape(inputs, captures, builder.instrs, outputs, name="random"))


def arguments(tape: Tape, seed: int = 0) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1, 1, v.aval.shape).astype(v.aval.dtype) for v in tape.inputs]
