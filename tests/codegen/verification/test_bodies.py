"""A loop or a branch that does something else than its kernels one by one is found; one that does the same is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.codegen.verification.made import address_of
from wengert.codegen import loops
from wengert.codegen.calls import KernelCall
from wengert.codegen.lowered import lowered_tape
from wengert.codegen.target import target
from wengert.codegen.verification import bodies

pytestmark = pytest.mark.machine_code("there are no kernels")
X = np.linspace(0.5, 1.5, 7)


def repeated(x: Any) -> Any:
    return wg.while_loop(lambda y: y < 5.0, lambda y: y * 1.5 + 0.1, x[0])


LOOPS: dict[str, Callable[..., Any]] = {
    "a scan": lambda x: wg.scan(lambda y, x: (0.7 * y + np.sin(x), y), 0.3, x),
    "a scan of vectors": lambda x: wg.scan(lambda y, _: (np.cumsum(y) * 0.1, y[::-1]), x, np.arange(3.0)),
    "with an index": lambda x: wg.fori_loop(0, 5, lambda i, y: y + x[i], 0.0),
    "a while": repeated,
    "back over a while": wg.grad(repeated),
    "a branch": lambda x: wg.cond(x[0] > 1.0, lambda y: y * 2.0, lambda y: y - 1.0, x),
}


def call_of(what: str) -> KernelCall:
    calls = lowered_tape(wg.jit(LOOPS[what]).program(X).tape, target()).calls
    return next(c for c in calls if isinstance(c, KernelCall) and isinstance(c.kernel, loops.Whole))


def differences(call: KernelCall, does: Any) -> list[str]:
    whole: Any = call.kernel
    inner = {kernel: address_of(kernel) for kernel in bodies.inner_kernels(whole)}
    return list(bodies.differences(call, whole, address_of(does), inner.__getitem__))


@pytest.mark.parametrize("what", LOOPS)
def test_what_is_right_is_verified(what: str) -> None:
    call = call_of(what)
    found = differences(call, call.kernel)
    assert found
    assert not any(found)


def with_other_numbers(body: loops.LoweredBody) -> loops.LoweredBody:
    """A body with other constants."""
    changed = [(2 * np.frombuffer(data)).tobytes() for data in body.literals]
    segments = [s._replace(kernel=_changed(s.kernel)) for s in body.segments]
    return body._replace(literals=tuple(changed), segments=tuple(segments))


def _changed(kernel: Any) -> Any:
    literals = getattr(kernel, "literals", ())
    changed = [(dtype, (2 * np.frombuffer(data, dtype)).tobytes()) for dtype, data in literals]
    return kernel._replace(literals=tuple(changed)) if changed else kernel


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("a scan", lambda whole: whole._replace(is_reversed=True)),
        ("a scan", lambda whole: whole._replace(body=with_other_numbers(whole.body))),
        ("a while", lambda whole: whole._replace(condition=with_other_numbers(whole.condition))),
        ("a while", lambda whole: whole._replace(body=with_other_numbers(whole.body))),
        ("back over a while", lambda whole: whole._replace(back=with_other_numbers(whole.back))),
        ("a branch", lambda whole: whole._replace(branches=whole.branches[::-1])),
    ],
    ids=["order", "scan", "condition", "body", "back", "branches"],
)
def test_what_is_wrong_is_found(what: str, change: Callable[[Any], Any]) -> None:
    call = call_of(what)
    assert any(differences(call, change(call.kernel)))


def test_a_loop_that_does_not_end_says_nothing() -> None:
    call = call_of("a while")
    endless = call.kernel
    assert isinstance(endless, loops.While)
    inner = {kernel: address_of(kernel) for kernel in bodies.inner_kernels(endless)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bodies, "MOST_ITERATIONS", 0)
        assert not list(bodies.differences(call, endless, 0, inner.__getitem__))
