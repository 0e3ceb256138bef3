"""The records of those who watch in a thread."""

from __future__ import annotations

import numpy as np

from wengert._contexts import replaced
from wengert.ops.watching import Watched, is_watching, seen, watchers


def test_all_who_watch_in_this_thread_get_a_copy() -> None:
    outer: dict[str, Watched] = {}
    inner: dict[str, Watched] = {}
    x = np.array([1.0, 2.0])
    with replaced(watchers, "open", (outer,)):
        seen("x", x, False)
        with replaced(watchers, "open", (outer, inner)):
            seen("x", x, True)
        x[0] = 5.0
        assert is_watching()
    seen("x", x, False)
    assert not is_watching() and repr(outer["x"]) == "<1 values, 1 cotangents>"
    assert outer["x"].value[0] == inner["x"].cotangent[0] == 1.0
    assert inner["x"].value is None and Watched().cotangent is None
