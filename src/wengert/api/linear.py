"""Derivatives at one point, as linear functions of the tangents or cotangents that the user gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert import tree
from wengert.api.chosen import is_number
from wengert.errors import DTypeError, ShapeError, StructureError, message
from wengert.runtime.execute import execute
from wengert.tape import Aval, Tape
from wengert.tracebacks import fold
from wengert.tracing import foreign
from wengert.tracing.record import Recording
from wengert.tracing.tracer import Tracer


class Linear:
    """The second part of a partitioned tape with its residuals: a linear function that can be called many times."""

    def __init__(self, tape: Tape, residuals: Sequence[Any], names: str, in_def: Any, out_def: Any) -> None:
        self._recording = Recording(tape, out_def, programs={})
        self._residuals = list(residuals)
        self._avals = tape.in_avals[len(self._residuals) :]
        self._in_def = in_def
        self._names = names

    def __wengert_parts__(self) -> dict[str, Any]:
        """The arrays that a call reads, for the search through the environment of an enclosing compiled function."""
        return {f"residual {k}": x for k, x in enumerate(self._residuals)}

    def __call__(self, given: Any) -> Any:
        try:
            difference = tree.mismatch(self._in_def, given)
            if difference is not None:
                raise StructureError(message(f"{self._names}: {difference}"))
            leaves = foreign.flatten(given)[0]
            values = [
                checked_like(x, aval, lambda k=k: f"{self._names}{tree.path(self._in_def, k)}")
                for k, (x, aval) in enumerate(zip(leaves, self._avals, strict=True))
            ]
            outs = execute(self._recording, (), self._residuals, values)
            return tree.unflatten(self._recording.out_treedef, outs)
        except Exception as error:  # any: it goes on, with a shorter traceback
            fold(error)
            raise


def checked_like(x: Any, aval: Aval, path: Callable[[], str]) -> Any:
    """Return ``x`` with the dtype of ``aval``.

    Raises ShapeError if the shape differs, DTypeError if ``x`` is no number or the cast would change its kind.
    """
    if not is_number(x):
        raise DTypeError(message(f"{path()}: expected {aval}, got a {type(x).__name__}"))
    if np.shape(x) != aval.shape:
        raise ShapeError(message(f"{path()}: expected {aval}, got shape {list(np.shape(x))}"))
    if type(x) is Tracer:
        return x if x.dtype == aval.dtype else x.astype(aval.dtype)
    kind = x.dtype if hasattr(type(x), "dtype") else np.asarray(x).dtype
    if not np.can_cast(kind, aval.dtype, "same_kind"):
        raise DTypeError(message(f"{path()}: expected {aval}, got {kind}"))
    return np.asarray(x, aval.dtype)
