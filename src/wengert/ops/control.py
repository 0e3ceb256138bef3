"""Ops that steer: guards, ``stop_gradient``, which no derivative passes, and ``only_where``, which some pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.ops.kernels import Check, View, free, whole
from wengert.ops.op import NONE, ZERO, front, op
from wengert.ops.structured import Masked
from wengert.tape import Atom, Aval, Instr


class Expected:
    """The value that a guard saw when it was recorded: hashable and compared by bytes, so that a tape can carry it."""

    __slots__ = ("key", "value")

    def __init__(self, value: Any) -> None:
        array = np.asarray(value)
        self.value = array[()] if array.ndim == 0 else array
        self.key = (array.shape, array.dtype.str, array.tobytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expected) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return (
            repr(self.value.item()) if np.ndim(self.value) == 0 else f"<{Aval(*self.key[:1], np.dtype(self.key[1]))}>"
        )


class GuardMiss(Exception):
    """A running program met a guard whose value differs: ``position`` and the ``value`` seen instead."""

    def __init__(self, position: int, value: Expected) -> None:
        super().__init__(position, value)
        self.position = position
        self.value = value


MOST_ITERATIONS = 1 << 20
"""The largest count of a ``for`` over a traced range whose iterations are recorded: each of them is on the tape."""

EACH = "each"
"""The kind of a guard that stands for one guard per element, in C order: those of all iterations of a loop."""


def miss_of(x: np.ndarray[Any, Any], expected: Expected, position: int, kind: str) -> GuardMiss:
    """Return the exception of a guard that saw ``x`` in the place of ``expected``."""
    if kind != EACH:
        return GuardMiss(position, Expected(x))
    seen = np.asarray(x).reshape(-1)
    first = next(k for k, wanted in enumerate(np.asarray(expected.value).flat) if Expected(seen[k]) != Expected(wanted))
    return GuardMiss(position + first, Expected(seen[first]))


def values_of(guard: Instr) -> tuple[Expected, ...]:
    """Return the value that a guard expects; for a guard of the kind EACH, one value for every element."""
    expected = guard.params["expected"]
    return (expected,) if guard.params["kind"] != EACH else tuple(map(Expected, expected.value.flat))


def _guard_reference(x: np.ndarray[Any, Any], *, expected: Expected, position: int, kind: str) -> tuple[()]:
    if np.ndim(x) == 0:
        if x == expected.value:
            return ()
    elif Expected(x) == expected:
        return ()
    raise miss_of(x, expected, position, kind)


def describe_guard(instr: Instr) -> str:
    expected = instr.params["expected"]
    return f"{instr.params['kind']} -> {expected!r}"


guard = op(  # a concrete look at a value: the tape holds only for inputs that give the same look
    _guard_reference,
    name="guard",
    type=lambda x, *, expected, position, kind: (),
    kernel=Check(),
    cost=free,
    effects=True,
    describe=describe_guard,
    batch=lambda xs, batched, size, **params: NotImplemented,  # a batch has no single value to look at
)

stop_gradient = op(  # the identity; a constant to every derivative
    lambda x: x,
    name="stop_gradient",
    type=lambda x: x,
    kernel=View(whole),
    cost=free,
    pushforward=ZERO,  # by decree
    pullback=[ZERO],
    batch=lambda xs, batched, size: stop_gradient(xs[0]),
)


def _only_where_batch(xs: Sequence[Atom], batched: Sequence[bool], size: int) -> Any:
    return only_where(*[front(x, is_batched, size) for x, is_batched in zip(xs, batched, strict=True)])


only_where = op(
    # The identity of x, whose cotangent counts only where the mask does; that has the axes of x, some of length one. It
    # is for the examples of a batch that take a branch, and for the elements that somebody reads. Whatever a pullback
    # behind it makes of zeros elsewhere stays there: no number, but a structural zero, comes out.
    lambda x, mask: x,
    name="only_where",
    type=lambda x, mask: x,
    kernel=View(whole),
    cost=free,
    pushforward=lambda xs, dxs, y: dxs[0],
    pullback=[lambda ct, x, mask, y: Masked(mask, ct), NONE],
    batch=_only_where_batch,
    expansion=lambda x, mask: x,
)
