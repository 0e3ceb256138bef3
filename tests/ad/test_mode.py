"""The mode of a derivative: what it is taken in, and that both give the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg


def halved(x: Any) -> Any:
    """Loop while a number is large; its derivative is 2**-n."""
    return wg.while_loop(lambda z: z > 1.0, lambda z: 0.5 * z, x)


def ops(f: Any, *args: Any) -> set[str]:
    return {i.op.name for i in wg.trace(f)(*args).instrs}


def test_a_loop_that_repeats_is_followed_forward() -> None:
    """Along one number, nothing is kept, and nothing runs twice."""
    assert "while_pull" not in ops(wg.value_and_grad(halved), 5.0)
    assert "while_pull" in ops(wg.grad(lambda x: np.sum(halved(x[0]) * x)), np.ones(2))
    value, slope = wg.value_and_grad(halved)(5.0)
    assert (float(value), float(slope)) == (0.625, 0.125)
    assert type(slope) is np.float64


@pytest.mark.parametrize("f", [lambda x: halved(x) ** 2, lambda x: halved(x * x) * np.exp(-x)])
def test_both_modes_agree(f: Any) -> None:
    pullback = wg.vjp(f, 5.0)[1]
    np.testing.assert_allclose(wg.jit(wg.grad(f))(5.0), pullback(np.float64(1.0))[0], rtol=1e-14)
    by_both = wg.grad(lambda x: wg.vjp(f, x)[1](1.0)[0])(5.0)
    np.testing.assert_allclose(wg.grad(wg.grad(f))(5.0), by_both, rtol=1e-14)


def test_dtypes_and_further_results() -> None:
    """The gradient has the type of its argument, and what is returned beside the value stays."""
    slope = wg.grad(lambda x: np.float64(1) * halved(x) ** 2)(np.float32(5.0))
    assert slope.dtype == np.float32
    (value, aux), slope = wg.value_and_grad(lambda x: (halved(x), x > 2), has_aux=True)(5.0)
    assert (float(value), bool(aux), float(slope)) == (0.625, True, 0.125)
    assert wg.grad(lambda x: halved(2.0) + 0 * x)(1.0) == 0.0


def test_a_primitive_with_a_pullback_alone() -> None:
    """Its tangent is the transpose of that."""

    @wg.primitive
    def triple(x: Any) -> Any:
        return 3.0 * x

    @triple.def_pullback
    def _(ct: Any, y: Any, x: Any) -> Any:
        return (3.0 * ct,)

    assert wg.grad(lambda x: halved(triple(x)))(1.0) == 3 * 0.25


def test_a_jacobian_of_such_a_loop() -> None:
    """A pullback costs as much as a few tangents."""
    f = lambda p: np.stack([halved(p[0]) * p[1], halved(p[2]) * p[3]])
    p = np.array([5.0, 2.0, 3.0, 4.0])
    assert "while_pull" not in ops(wg.jacobian(f), p)
    np.testing.assert_allclose(wg.jacobian(f)(p), wg.jacobian(f, mode="reverse")(p), rtol=1e-14)
