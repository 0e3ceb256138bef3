from typing import Any

import numpy as np

import wengert as wg
from tests.differences import check, check_value
from wengert.passes.sum_products import sum_products


def contractions(tape: wg.Tape) -> list[Any]:
    return [i.params["out"] for i in tape.instrs if i.op.kernel.is_contraction]


def test_a_sum_of_a_batch_of_products_is_one_product():
    x, y = np.random.default_rng(0).standard_normal((2, 5, 6, 6))

    def f(x: Any, y: Any) -> Any:
        return np.sum(x @ y, axis=0)

    tape = sum_products(wg.trace(f)(x, y))
    assert len(tape) == 1
    np.testing.assert_allclose(wg.compile(tape)(x, y), f(x, y), rtol=1e-12)
    check(f, x, y)


def test_axes_of_one_operand_alone_are_summed_after_the_product():
    x, y = np.random.default_rng(0).standard_normal((2, 5, 6, 6))
    for axis in (1, (0, 1), 2):
        tape = wg.trace(lambda x, y, axis=axis: np.sum(x @ y, axis=axis))(x, y)
        assert len(sum_products(tape)) == len(tape)
        check(lambda x, y, axis=axis: np.sum(x @ y, axis=axis), x, y)


def test_what_others_read_too_stays():
    x, y = np.random.default_rng(0).standard_normal((2, 5, 6, 6))

    def f(x: Any, y: Any) -> Any:
        z = x @ y
        return np.sum(z, axis=0), z

    tape = wg.trace(f)(x, y)
    assert len(sum_products(tape)) == len(tape)
    check_value(f, x, y)


def test_sums_of_integers_and_truths_stay():
    x = np.arange(3 * 4 * 4).reshape(3, 4, 4)
    check_value(lambda x: np.sum(x @ x, axis=0), x)
    check_value(lambda x: np.sum(x @ x, axis=0), x > 5)


def convolved(x: Any, w: Any) -> Any:
    height, width = x.shape[1] - w.shape[0] + 1, x.shape[2] - w.shape[1] + 1
    total: Any = 0.0
    for i in range(w.shape[0]):
        for j in range(w.shape[1]):
            total = total + x[:, i : i + height, j : j + width, :] @ w[i, j]
    return total


def test_a_convolution_by_its_windows_stores_no_product_of_a_window():
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((4, 10, 9, 3)), rng.standard_normal((4, 4, 3, 5))
    check(convolved, x, w)
    step = wg.jit(wg.grad(lambda w, x: np.sum(convolved(x, w) ** 2)))
    program = step.program(w, x)
    windows = 16 * 4 * 7 * 6 * 3 * 8  # the bytes of all windows, side by side
    assert program.arena_bytes < 2 * windows  # the products of all windows would be 5 / 3 as large
    assert len(program.kernels) < 40
    np.testing.assert_allclose(step(w, x), wg.grad(lambda w: np.sum(convolved(x, w) ** 2))(w), rtol=1e-9)
    single = [a.astype(np.float32) for a in (w, x)]
    np.testing.assert_allclose(step(*single), step(w, x), rtol=1e-4, atol=1e-4)


def test_second_order_through_a_summed_product():
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((1, 6, 6, 1)), rng.standard_normal((3, 3, 1, 2))
    g = wg.grad(lambda w: np.sum(np.tanh(convolved(x, w))))
    check(wg.jit(lambda w: g(w)), w)
