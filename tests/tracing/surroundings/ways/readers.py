"""Functions of another module, which reads what changes elsewhere."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

import wengert as wg

RATE: Any = 2.0
numbers: dict[str, Any] = {"a": 2.0}


def scaled(x: Any) -> Any:
    return np.sum(x) * RATE


gradient = wg.grad(scaled)
compiled = wg.jit(scaled)
mapped = wg.vmap(lambda x: x * RATE)


@functools.singledispatch
def kind_of(x: Any) -> Any:
    return 1.0


@contextlib.contextmanager
def scope() -> Iterator[Any]:
    yield RATE


@wg.primitive
def cubed(x: Any) -> Any:
    return x**3


@cubed.def_pullback
def _(ct: Any, y: Any, x: Any) -> Any:
    return (ct * x * RATE,)


part: Any = functools.partial(lambda x: x)
part.rate = 2.0


def counted(x: Any, counts: list[Any] = []) -> Any:  # noqa: B006
    return x * (1.0 + len(counts))


def defaulted(x: Any, scale: Any = 2.0) -> Any:
    return x * scale
