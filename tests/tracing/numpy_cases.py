"""One checker for NumPy functions: the recorded tape, played back, gives what NumPy gives, and its derivatives hold.

A case is a function of arrays, written in plain NumPy, and the arguments to call it with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import edit, tree
from wengert.tape import Tape, check
from wengert.tracing.layouts import layout
from wengert.tracing.record import input_of, record_call
from wengert.tracing.signature import signature_of
from wengert.tracing.tracer import Tracer
from wengert.tracing.whole import trace_whole

Function = Callable[..., Any]


def case(name: str, f: Function, *args: Any, order: int = 2) -> Any:
    """``order``: up to which order derivatives are compared with differences; 0 where there are none."""
    return pytest.param(f, args, order, id=name)


def floats(*shape: int, seed: int = 0, low: float = -2.0, high: float = 2.0) -> np.ndarray[Any, Any]:
    return np.random.default_rng([seed, *shape]).uniform(low, high, shape)


def integers(*shape: int, seed: int = 0, low: int = -4, high: int = 5) -> np.ndarray[Any, Any]:
    return np.random.default_rng([seed, *shape]).integers(low, high, shape)


def booleans(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng([seed, *shape]).integers(0, 2, shape).astype(bool)


def record(f: Function, args: Sequence[Any]) -> tuple[Tape, Any, list[Any]]:
    """The tape, the structure of the results, and the order in memory that each is taken to have."""
    orders: list[Any] = []

    def noted(*xs: Any) -> Any:
        results = f(*xs)
        orders.extend([layout(x) if type(x) is Tracer else x for x in tree.flatten(results)[0]])
        return results

    recording = record_call(noted, [input_of(a) for a in args], name="f")
    return check(recording.tape), recording.out_treedef, orders


def play(tape: Tape, args: Sequence[Any]) -> list[Any]:
    """Each instruction's reference in turn, for nothing but the tape is on trial here."""
    values = edit.play(tape, *[np.asarray(a) for a in args])
    return [values[a] for a in tape.outputs]


def same_as_numpy(f: Function, args: Sequence[Any]) -> Tape:
    with np.errstate(all="ignore"):
        expected, expected_tree = tree.flatten(f(*[np.array(a) if isinstance(a, np.ndarray) else a for a in args]))
        tape, out_tree, orders = record(f, args)
        found = play(tape, args)
    assert out_tree == expected_tree
    for e, y, aval, order in zip(expected, found, tape.out_avals, orders, strict=True):
        e = np.asarray(e)
        if isinstance(order, np.ndarray) and e.size:  # a reshape is a view or a copy, as this decides
            longer = [k for k, n in enumerate(e.shape) if n != 1]
            assert len(longer) < 2 or [order.strides[k] for k in longer] == [e.strides[k] for k in longer]
        assert aval.shape == np.shape(y) == e.shape
        assert aval.dtype == e.dtype
        tolerance = 1e-3 if e.dtype == np.float16 else 2e-6 if e.dtype.itemsize == 4 else 1e-13
        np.testing.assert_allclose(y, e, rtol=tolerance, atol=tolerance)
    return tape


def verify(f: Function, args: Sequence[Any], order: int) -> None:
    """Values and dtypes in float64 and float32; derivatives in float64; and that a compiled function is traced once."""
    same_as_numpy(f, args)
    singles = [a.astype(np.float32) if isinstance(a, np.ndarray) and a.dtype == np.float64 else a for a in args]
    same_as_numpy(f, singles)
    leaves, treedef = tree.flatten(tuple(args))
    why_traced_again = trace_whole(lambda *xs: f(*xs), "f", leaves, signature_of(leaves, treedef, False)).unrepeatable
    assert not why_traced_again
    if order:
        wg.check_derivatives(f, *args, order=order)
    as_data(f, args)


@contextmanager
def by_references() -> Iterator[None]:
    """Without machine code, which is not on trial, and takes its time to make."""
    before, wg.config.native = wg.config.native, False
    try:
        yield
    finally:
        wg.config.native = before


def as_data(f: Function, args: Sequence[Any]) -> None:
    """``f`` of arguments that are traced, not differentiated, within transforms of another: steps on the outer tape.

    With s, c = f(args) in s³ Σ c, the first derivative at 2 is 12 Σ c, and so is the second.
    """
    total = lambda ys: sum([np.sum(np.real(y), dtype=np.float64) for y in tree.flatten(ys)[0]])
    axes = (0, *[None] * len(args))

    def g(s: Any, *data: Any) -> Any:
        return s**3 * total(f(*data))

    def nested(s: Any, *data: Any) -> Any:
        rows = np.stack([s, s])
        return (
            wg.grad(g)(s, *data),
            wg.hvp(lambda s: g(s, *data), (s,), (1.0,)),
            wg.vmap(wg.grad(g), in_axes=axes)(rows, *data)[1],
            wg.grad(lambda s: wg.vmap(g, in_axes=axes)(np.stack([0.0, s]), *data)[1])(s),
            wg.jvp(lambda s: g(s, *data), (s,), (1.0,))[1],
        )

    with np.errstate(all="ignore"), by_references():
        want = 12 * total(f(*[np.array(a) if isinstance(a, np.ndarray) else a for a in args]))
        for run in (wg.jit(nested), nested):
            for got in run(2.0, *args):
                np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10)
