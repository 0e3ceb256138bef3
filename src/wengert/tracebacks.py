"""Tracebacks that end at the user's line: the frames of wengert's own code are folded away.

Each function that users call passes its errors through :func:`fold`, which the outermost of them does. The frames that
are left are the user's and other libraries', in the order in which they called; an error that begins in wengert ends at
the line that called it. ``WENGERT_TRACEBACK=full``, or ``wg.config.traceback = "full"``, leaves them as they are, and
so does an :class:`~wengert.errors.InternalError`. A call without an error costs nothing more.
"""

from __future__ import annotations

import sys
from types import FrameType, TracebackType

from wengert import config
from wengert.errors import InternalError

_BETWEEN = frozenset(["contextlib", "functools"])
"""Modules whose frames go with ours that called them."""


def fold(error: BaseException) -> None:
    """Leave wengert's frames out of the traceback of an error, and of those behind it.

    The function that caught it calls this, and raises it again by a bare ``raise``, which adds no frame.
    """
    if config.traceback == "full" or isinstance(error, InternalError):
        return
    caller = sys._getframe(1).f_back
    while caller is not None:
        if _is_ours(caller):
            return  # one of ours further out does it; in between, frames tell where an error comes from
        caller = caller.f_back
    seen, behind = set[int](), [error]
    while behind:
        one = behind.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        one.__traceback__ = _folded(one.__traceback__)
        behind += [other for other in (one.__cause__, one.__context__) if other is not None]


def _is_ours(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__")
    return type(name) is str and (name == "wengert" or name.startswith("wengert."))


def _folded(at: TracebackType | None) -> TracebackType | None:
    kept: list[TracebackType] = []
    is_behind_ours = False
    while at is not None:
        is_ours = _is_ours(at.tb_frame) or (is_behind_ours and at.tb_frame.f_globals.get("__name__") in _BETWEEN)
        if not is_ours:
            kept.append(at)
        is_behind_ours = is_ours
        at = at.tb_next
    for k, one in enumerate(kept):
        one.tb_next = kept[k + 1] if k + 1 < len(kept) else None
    return kept[0] if kept else None
