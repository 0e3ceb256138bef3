"""Masks of selections: asked of what was selected, where that answers alike, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.edit import merge_common
from wengert.passes import PIPELINE, run
from wengert.passes.output_masks import output_masks
from wengert.passes.simplify import drop_dead

X = np.array([-2.0, -0.0, 0.0, 1e-310, 3.0, np.inf, -np.inf, np.nan, -1e-310])

RECTIFIERS: dict[str, Callable[[Any], Any]] = {
    "relu": lambda x: np.where(x <= 0, 0, x),
    "the other way round": lambda x: np.where(x > 0, x, 0),
    "below": lambda x: np.where(x < 0, x, 0),
    "from above": lambda x: np.where(x >= 0.5, 0.5, x),
    "leaky": lambda x: np.where(x > 0, x, 0.01 * x),
    "flat": lambda x: np.where(x > 0, x, x * 0.0),
}
OTHERS: dict[str, Callable[[Any], Any]] = {
    "not at the limit": lambda x: np.where(x < 0, 0, x),
    "another number": lambda x: np.where(x <= 0, 1, x),
    "steep": lambda x: np.where(x > 0, x, -0.5 * x),
    "of something else": lambda x: np.where(x <= 0, 0, x + 1),
    "exchanged": lambda x: np.where(x <= 0, x, 0),
    "shifted": lambda x: np.where(x > 0, x, x + 0.5),
    "divided": lambda x: np.where(x > 0, x, x / -2),
}


def masked_twice(f: Callable[[Any], Any], mask: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The selection, and what its derivative asks again."""
    return lambda x: (f(x), np.where(mask(x), x * 2, x * 3))


MASKS = {"below": lambda x: x < 0, "from above": lambda x: x >= 0.5}


@pytest.mark.parametrize("name", RECTIFIERS)
def test_the_result_is_asked(name: str) -> None:
    mask = MASKS.get(name, (lambda x: x <= 0) if name == "relu" else (lambda x: x > 0))
    f = masked_twice(RECTIFIERS[name], mask)
    tape = drop_dead(output_masks(merge_common(wg.trace(f)(X))))
    (y,) = [i.outs[0] for i in tape.instrs if i.op.name == "select"][:1]
    assert [i for i in tape.instrs if i.ins and i.ins[0] is y and i.op.name.startswith(("less", "greater"))]
    with np.errstate(all="ignore"):
        for a, b in zip(wg.jit(f)(X), f(X), strict=True):
            np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(np.signbit(a)[~np.isnan(a)], np.signbit(b)[~np.isnan(b)])


@pytest.mark.parametrize("name", OTHERS)
def test_what_answers_otherwise_is_not_asked(name: str) -> None:
    mask = (lambda x: x < 0) if name.startswith("not") else (lambda x: x <= 0)
    mask = mask if name in ("not at the limit", "another number", "of something else", "exchanged") else lambda x: x > 0
    f = masked_twice(OTHERS[name], mask)
    tape = merge_common(wg.trace(f)(X))
    assert output_masks(tape) is tape
    with np.errstate(all="ignore"):
        for a, b in zip(wg.jit(f)(X), f(X), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", RECTIFIERS)
def test_gradients_are_what_they_were(name: str) -> None:
    f = RECTIFIERS[name]
    x = X[np.isfinite(X)]
    loss = lambda x: np.sum(np.tanh(f(x)) * f(x))
    tape = wg.trace(wg.grad(loss))(x)
    after = run(tape, PIPELINE)
    np.testing.assert_array_equal(wg.compile(after)(x), wg.grad(loss)(x))
