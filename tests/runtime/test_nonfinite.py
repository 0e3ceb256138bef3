"""Steps of a tape that make a NaN or an infinity, and those that only hand it on, lose it or leave it out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.runtime.nonfinite import in_words, raise_if_made, replayed


def made(f: Callable[..., Any], *args: Any, infinities: bool = True) -> str | None:
    tape = wg.trace(f)(*args)
    found = replayed(tape, wg.tree.flatten(args)[0], [c.array for c in tape.captures], infinities).made
    return None if found is None else found.instr.op.name


X = np.array([0.0, 1.0, 2.0])
DATA = np.array([np.inf, 1.0, np.nan])


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (lambda x: np.exp(np.log(x) - 1), X, "log"),  # the infinity is gone from the result, by arithmetic
        (lambda x: np.where(x > 0, np.log(x), 0), X, None),
        (lambda x: np.where(np.isfinite(np.log(x)), 1.0, 2.0), X, None),  # it is asked about
        (lambda x: np.log(x)[1:], X, None),  # nobody reads it
        (lambda x: np.sum(np.log(x)[::-1].reshape(3, 1)), X, "log"),
        (lambda x: x + 1, DATA, None),
        (lambda x: x[:2] - x[:2], DATA, "subtract"),  # a NaN of infinities that are data
        (lambda x: np.sum(np.stack([x[0], -x[0]])), DATA, "sum"),
        (lambda x: x @ np.full(3, 1e308), X, "matmul"),
        (lambda x: x.astype("float32") * 0, X * 1e39, "convert"),
        (lambda x: np.linalg.inv(np.outer(x, x) * 0 + 1e-320 * np.eye(3)), X, "inv"),
    ],
)
def test_first_step_that_made_something(f: Callable[..., Any], x: Any, expected: str | None) -> None:
    found = made(f, x)
    assert found == expected or (expected in ("matmul", "inv") and found is not None)


def test_derivative_that_does_not_exist_by_its_rule() -> None:
    f = wg.grad(lambda a: np.sum(np.linalg.svd(a)[0][0] * np.array([1.0, 2.0])))
    assert made(f, np.eye(2)) == "select" and made(f, np.diag([1.0, 2.0]) + 0.1) is None
    with wg.find_nans(), pytest.raises(wg.errors.NonFiniteError, match=r"derivative of svd is a NaN, by its rule"):
        f(np.eye(2))
    with wg.find_nans():
        wg.hessian(lambda x: np.nansum(np.where(x > 0, x * x, np.nan)))(X)  # the user's own is data


@pytest.mark.machine_code("a run is repeated where a kernel has made a NaN")
def test_function_that_gives_something_else_each_time() -> None:
    n_calls = 0

    @wg.primitive
    def unsteady(x: Any) -> Any:
        nonlocal n_calls
        n_calls += 1
        return x * (np.nan if n_calls == 2 else 1.0)

    program = wg.jit(unsteady).program(X)
    n_calls = 1
    with wg.find_nans(), pytest.raises(wg.errors.NonFiniteError, match="not when it was run again"):
        program(X)


def test_only_nans_where_infinities_do_not_count() -> None:
    assert made(lambda x: np.log(x) * 0, X, infinities=False) == "multiply"
    assert made(lambda x: np.log(x), X, infinities=False) is None


def test_step_of_a_scalar_function_is_found_in_its_body() -> None:
    assert made(lambda x: wg.broadcast(lambda a: np.log(a) + 1, x), X) == "log"


def test_outputs_and_argument_are_told() -> None:
    tape = wg.trace(lambda x: 2 * x)(DATA)
    replay = replayed(tape, [DATA])
    assert replay.made is None and replay.argument == (0, (2,)) and replay.has_any
    np.testing.assert_array_equal(replay.outputs[0], 2 * DATA)


def test_captured_array_with_a_nan_is_named() -> None:
    gaps = np.array([1.0, np.nan])
    with wg.find_nans(), pytest.raises(wg.errors.NonFiniteError, match=r"gaps\[1\] is NaN"):
        wg.jit(lambda x: x * gaps)(np.ones(2))


def test_kernel_is_named_where_numpy_makes_nothing() -> None:
    tape = wg.trace(lambda x: 2 * x)(X)
    with pytest.raises(wg.errors.NonFiniteError, match="machine code made a NaN or an infinity") as error:
        raise_if_made(tape, [X], [], True, None, tape.instrs[0])
    assert "test_nonfinite.py" in str(error.value)


def test_end_by_an_error_still_tells_who_made_a_nan() -> None:
    assert made(lambda x: np.linalg.cholesky(np.diag(np.log(-x))), X) is not None


def test_words_for_numbers_and_arrays() -> None:
    assert in_words(np.zeros((2, 0))) == "float64[2, 0]" and in_words(np.array([True])) == "bool[1]"
