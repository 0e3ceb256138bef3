"""What the functions of control flow refuse, and what they are outside of a trace."""

from __future__ import annotations

import signal
import threading
import time
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import errors

LINE = "test_control.py"

REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "another dtype": (lambda x: wg.scan(lambda c, t: (c + 0.5, None), 0, x)[0], errors.DTypeError,
                      r"scan: the carry went in as int64\[\] and came back as float64\[\]"),
    "another shape": (lambda x: wg.scan(lambda c, t: (np.stack([c, t]), None), 0.0, x)[0], errors.ShapeError,
                      r"went in as float64\[\] and came back as float64\[2\]"),
    "another structure": (lambda x: wg.scan(lambda c, t: ((c, t), None), 0.0, x)[0], errors.StructureError,
                          "another structure"),
    "no pair": (lambda x: wg.scan(lambda c, t: c + t, 0.0, x)[0], errors.StructureError, "no pair"),
    "a leaf of many": (lambda x: wg.while_loop(lambda s: s["a"] > 0, lambda s: {**s, "b": 1}, {"a": x[0], "b": 0.5}),
                       errors.DTypeError, r"the carry\[.b.\] went in as float64\[\] and came back as int64\[\]"),
    "a condition of many": (lambda x: wg.while_loop(lambda c: c > 0, lambda c: c - 1, x), errors.DTypeError,
                            r"the condition is bool\[3\]; expected bool\[\]"),
    "a condition of numbers": (lambda x: wg.while_loop(lambda c: c, lambda c: c - 1, x[0]), errors.DTypeError,
                               r"the condition is float64\[\]; expected bool\[\]"),
    "branches of two shapes": (lambda x: wg.cond(x[0] > 0, lambda: x, lambda: x[0]), errors.ShapeError,
                               r"one branch returns float64\[\] and another float64\[3\]"),
    "branches of two structures": (lambda x: wg.cond(x[0] > 0, lambda: x, lambda: (x, x)), errors.StructureError,
                                   "different structures"),
    "a predicate of many": (lambda x: wg.cond(x > 0, np.sin, np.cos, x), errors.DTypeError, "the predicate is bool"),
    "an index that is none": (lambda x: wg.switch(x[0], [np.sin], x), errors.DTypeError, "expected an integer"),
    "no branches": (lambda x: wg.switch(0, [], x), errors.StructureError, "no branches"),
    "lengths that differ": (lambda x: wg.scan(lambda c, t: (c, None), 0.0, (x, x[:2]))[0], errors.ShapeError, "differ"),
    "no length": (lambda x: wg.scan(lambda c, t: (c, None), x[0])[0], errors.ShapeError, "no length"),
    "no axis": (lambda x: wg.scan(lambda c, t: (c, None), 0.0, x[0])[0], errors.ShapeError, "no axis"),
    "a look in a body": (lambda x: wg.scan(lambda c, t: (c + t if t > 0 else c, None), 0.0, x)[0],
                         errors.ConcretizationError, "recorded once for all"),
    "a draw in a body": (lambda x: wg.scan(lambda c, t: (c + RNG.normal(), None), 0.0, x)[0],
                         errors.UnsupportedFunctionError, "drawn once, for all iterations"),
}  # fmt: skip
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_name_both_types_and_the_line(name: str) -> None:
    f, error, text = REFUSED[name]
    with pytest.raises(error, match=text) as caught:
        wg.jit(f, strict=True)(np.ones(3))
    if name not in ("no branches", "lengths that differ", "no length", "no axis", "a predicate of many"):
        assert LINE in str(caught.value)


def test_outside_of_a_trace_they_are_pythons_own() -> None:
    seen: list[Any] = []

    def step(c: Any, x: Any) -> Any:
        seen.append(x)
        return c + x, {"twice": 2 * x}

    carry, ys = wg.scan(step, 0, {"only": np.arange(3)}["only"])
    assert carry == 3 and ys["twice"].tolist() == [0, 2, 4] and seen == [0, 1, 2]
    assert wg.scan(lambda c, _: (c * 2, None), 1, length=5) == (32, None)
    assert wg.fori_loop(2, 5, lambda k, s: s + k, 0) == 9 and wg.fori_loop(5, 2, lambda k, s: s + k, 7) == 7
    assert wg.while_loop(lambda x: x < 100, lambda x: x * 3, 1) == 243
    assert wg.cond(True, lambda: "yes", lambda: "no") == "yes" and wg.switch(5, [lambda: 0, lambda: 1]) == 1
    with pytest.raises(errors.DTypeError, match="expected bool"):
        wg.while_loop(lambda x: x, lambda x: x, 1)
    carry, ys = wg.scan(lambda c, x: (c + x, np.stack([c, x])), 0.0, np.zeros(0))
    assert carry == 0.0 and ys.shape == (0, 2)


def test_a_traced_predicate_beside_a_static_one() -> None:
    """A branch on what is known is taken while tracing, and no step is recorded."""
    tape = wg.trace(lambda x: wg.cond(len(x) > 2, np.sin, np.cos, x))(np.ones(3))
    assert [i.op.name for i in tape.instrs] == ["sin"]


def test_what_does_not_change_is_computed_before_the_loop() -> None:
    f = lambda x, w: wg.scan(lambda c, t: (c + np.sum(np.exp(w)) * t, None), 0.0, x)[0]
    tape = wg.trace(f)(np.ones(3), np.ones(100))
    assert [i.op.name for i in tape.instrs] == ["exp", "sum", "scan"]


def test_an_endless_loop_is_stopped() -> None:
    import _thread

    f = wg.jit(lambda x: wg.while_loop(lambda c: c > 0, lambda c: c * 1.0, x))
    assert f(-1.0) == -1.0
    timer = threading.Timer(0.3, _thread.interrupt_main)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background may ignore it
    try:
        start = time.monotonic()
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            f(1.0)
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() > start
    assert f(-1.0) == -1.0
