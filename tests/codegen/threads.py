"""What does not depend on the number of threads."""

from collections.abc import Callable
from typing import Any

import wengert as wg
from wengert.tree import flatten


def same_bits(f: Callable[..., Any], *args: Any) -> Any:
    """The value of a compiled function; fails if one thread, two and three do not all give its bits."""
    compiled = wg.jit(f)
    before = wg.get_threads()
    results = []
    try:
        for n in (1, 2, 3):
            wg.set_threads(n)
            results.append(compiled(*args))
    finally:
        wg.set_threads(before)
    assert len({b"".join([x.tobytes() for x in flatten(result)[0]]) for result in results}) == 1
    return results[0]
