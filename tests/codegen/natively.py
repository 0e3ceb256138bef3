"""Functions as native programs, against what NumPy and the references of their ops give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
from wengert import config
from wengert.tape import Aval, Builder, Tape, Var, building

DTYPES = ["f8", "f4", "i8", "i4", "u1", "b1"]
NAN = float("nan")


def numbers(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    if dtype == "b1":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype[0] == "f":
        return rng.normal(size=shape).astype(dtype)
    return rng.integers(0 if dtype[0] == "u" else -9, 9, shape).astype(dtype)


def native(function: Callable[..., Any], *args: Any) -> Any:
    """A program of ``function``, none of whose kernels calls Python back."""
    program = wg.compile(wg.trace(function)(*args))
    assert [k for k in program.kernels if k.kind == "callback"] == []
    return program


def check(function: Callable[..., Any], *args: Any) -> None:
    """The program does bit for bit what its tape does through the references, and what NumPy does."""
    program = native(function, *args)
    config.native = False
    try:
        reference = wg.compile(program.tape)
    finally:
        config.native = True
    got, through_tape = np.asarray(program(*args)), np.asarray(reference(*args))
    with np.errstate(all="ignore"):
        wanted = np.asarray(function(*[np.array(a) for a in args]))
    for want in (through_tape, wanted):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


def of_op(make: Callable[..., Any], *args: np.ndarray[Any, Any]) -> Any:
    """A native program of one op, without its traced function."""
    inputs = tuple([Var(Aval(a.shape, a.dtype)) for a in args])
    builder = Builder()
    with building(builder):
        out = make(*inputs)
    program = wg.compile(Tape(inputs, (), builder.instrs, (out,)))
    assert [k for k in program.kernels if k.kind == "callback"] == []
    return program


def places(shape: tuple[int, ...], length: int, seed: int = 1) -> np.ndarray[Any, Any]:
    """Indices of an axis: repeated ones, and negative ones."""
    return np.random.default_rng(seed).integers(-length, length, shape)


def written(x: Any, v: Any, *indices: Any) -> Any:
    y = np.array(x)
    y[indices] = v
    return y


def added(x: Any, v: Any, *indices: Any) -> Any:
    y = np.array(x)
    np.add.at(y, indices, v)
    return y
