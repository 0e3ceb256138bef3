"""What wengert's transforms are in NumPy: differences of a step, and Python's own loops and branches."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert as wg
from tests.random_nesting import Differences, fine
from wengert import tree


class Plain(Differences):
    """:class:`Differences`, with control flow; carries and what is scanned over are trees of arrays."""

    def value_and_grad(self, f: Any) -> Any:
        return lambda x: (f(x), self.grad(f)(x))

    def hessian(self, f: Any) -> Any:
        return self.jacobian(self.grad(f))

    def checkpoint(self, f: Any) -> Any:
        return lambda *args: _owned(f(*args))

    def jit(self, f: Any) -> Any:
        return lambda *args, **kwargs: f(*tree.map(_owned, args), **kwargs)

    def broadcast(self, f: Any, x: Any) -> Any:
        return np.array([f(y) for y in x.flat]).reshape(x.shape)

    def stop_gradient(self, x: Any) -> Any:
        return x

    def constant(self, x: Any) -> Any:
        return x

    def cond(self, test: Any, one: Any, other: Any, *args: Any) -> Any:
        return _owned(one(*args) if test else other(*args))

    def switch(self, n: int, branches: Any, *args: Any) -> Any:
        return _owned(branches[min(max(n, 0), len(branches) - 1)](*args))

    def fori_loop(self, lo: int, hi: int, body: Any, carry: Any) -> Any:
        for i in range(lo, hi):
            carry = body(i, carry)
        return _owned(carry)

    def while_loop(self, goes_on: Any, body: Any, carry: Any) -> Any:
        while goes_on(carry):
            carry = body(carry)
        return _owned(carry)

    def scan(self, body: Any, carry: Any, xs: Any, length: int | None = None, reverse: bool = False, **_: Any) -> Any:
        rows = range(len(tree.flatten(xs)[0][0]) if length is None else length)
        made: list[Any] = [None] * len(rows)
        for k in reversed(rows) if reverse else rows:
            carry, made[k] = body(carry, None if xs is None else tree.map(lambda x, k=k: x[k], xs))
        if made[0] is None:
            return _owned(carry), None
        return _owned(carry), tree.map(lambda *ys: np.stack(ys), *made)


class Unrolled(Plain):
    """Python's loops and branches, and wengert's derivatives of them, which know nothing of bodies."""

    def __init__(self) -> None:
        super().__init__(0.0, {})

    def __getattribute__(self, name: str) -> Any:
        return getattr(wg, name) if name in DERIVATIVES else super().__getattribute__(name)


DERIVATIVES = ("grad", "value_and_grad", "jvp", "vjp", "jacobian", "hessian", "hvp", "linearize", "stop_gradient")


def _owned(results: Any) -> Any:
    """What control flow returns shares no memory with what it was given."""
    return tree.map(lambda x: x.copy() if hasattr(x, "ndim") else x, results)


def stand_in(kind: str) -> Plain:
    """What stands for wengert in programs of that kind."""
    return Unrolled() if kind == "bodies" else Plain(fine(2)[0].h, fine(2)[0].weights)
