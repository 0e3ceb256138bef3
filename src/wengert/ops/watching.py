"""The ops behind ``wg.watch``: a value and its cotangent are handed to whoever watches in the thread that runs.

``watched`` is the identity, and its pullback notes the cotangent by ``note``, which shows it (see ``printing.py``).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.ops.kernels import Callback, View, free, whole
from wengert.ops.op import Op, named
from wengert.ops.printing import deliver
from wengert.tape import Atom


class Watched:
    """The values seen at one place, in the order in which they came.

    ``values`` are those of the forward pass, one a call or iteration, and ``cotangents`` those of the backward pass.
    In a loop these come from the last iteration to the first. They are NumPy arrays and numbers."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.cotangents: list[Any] = []

    @property
    def value(self) -> Any:
        """The last value; None if none was seen."""
        return self.values[-1] if self.values else None

    @property
    def cotangent(self) -> Any:
        """The last cotangent; None if none was seen."""
        return self.cotangents[-1] if self.cotangents else None

    def __repr__(self) -> str:
        return f"<{len(self.values)} values, {len(self.cotangents)} cotangents>"


class _Watchers(threading.local):
    def __init__(self) -> None:
        self.open: tuple[dict[str, Watched], ...] = ()
        """The records of the contexts that are open in this thread."""


watchers = _Watchers()


def is_watching() -> bool:
    """Whether this thread is watching."""
    return bool(watchers.open)


def seen(name: str, value: Any, is_cotangent: bool) -> None:
    """Hand a value to all who watch in this thread."""
    value = np.array(value)[()]

    def show() -> None:
        for record in watchers.open:
            place = record.setdefault(name, Watched())
            (place.cotangents if is_cotangent else place.values).append(value)

    deliver(show)


def _note(x: Any, *, name: str) -> tuple[()]:
    seen(name, x, False)
    return ()


def _note_cotangent(x: Any, *, name: str) -> tuple[()]:
    seen(name, x, True)
    return ()


def _batch(xs: Sequence[Atom], batched: Sequence[bool], size: int, *, name: str) -> tuple[()]:
    note(*xs, name=name)
    return ()


def _batch_cotangent(xs: Sequence[Atom], batched: Sequence[bool], size: int, *, name: str) -> tuple[()]:
    note_cotangent(*xs, name=name)
    return ()


note = named(
    Op(
        name="note",
        reference=_note,
        type=lambda x, *, name: (),
        kernel=Callback("wg.watch"),
        cost=free,
        batch=_batch,
        effects=True,
        shows=True,
    )
)
note_cotangent = named(
    Op(
        name="note_cotangent",
        reference=_note_cotangent,
        type=lambda x, *, name: (),
        kernel=Callback("wg.watch"),
        cost=free,
        batch=_batch_cotangent,
        effects=True,
        shows=True,
        is_of_pullbacks=True,
    )
)


def _pullback(ct: Any, x: Atom, y: Atom, *, name: str) -> Any:
    note_cotangent(ct, name=name)
    return ct


watched = named(
    Op(
        name="watched",
        reference=lambda x, *, name: x,
        type=lambda x, *, name: x,
        kernel=View(whole),
        cost=free,
        pushforward=lambda xs, dxs, y, *, name: dxs[0],
        pullback=(_pullback,),
        batch=lambda xs, batched, size, *, name: watched(xs[0], name=name),
        is_watched=True,
    )
)
