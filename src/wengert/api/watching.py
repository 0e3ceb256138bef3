"""``wg.watch`` and ``wg.watching``: see a value and its cotangent at a named place of a function."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from wengert._contexts import replaced
from wengert.expect import checked
from wengert.ops.watching import Watched, is_watching, note, seen, watched, watchers
from wengert.tracing.emit import wrap
from wengert.tracing.lifting import lift
from wengert.tracing.stack import current_trace
from wengert.tracing.tracer import Tracer

X = TypeVar("X")


@checked
def watch(name: str, x: X) -> X:
    """Return ``x``; while this thread is :func:`watching`, its value and its cotangent are recorded under ``name``.

    A compiled function that is called while nobody watches has no step for this. While its thread watches, another
    program answers, which is compiled at the first such call.

    Parameters
    ----------
    name : the place, under which ``watching`` has what was seen.
    x : an array or a number.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> @wg.jit
    ... @wg.grad
    ... def slope(x):
    ...     y = wg.watch("y", np.sin(x))
    ...     return y**2
    >>> with wg.watching() as seen:
    ...     g = slope(0.5)
    >>> seen["y"].value.round(4), seen["y"].cotangent.round(4)
    (np.float64(0.4794), np.float64(0.9589))
    """
    trace = current_trace()
    if trace is not None:  # another program answers while this thread watches
        trace.run.depends("wg.watching()", is_watching)
    if not is_watching():
        return x
    if trace is None:
        seen(name, x, False)
        return x
    atom = lift(trace, x)
    trace.builder.emit(note, (atom,), {"name": name})
    (out,) = trace.builder.emit(watched, (atom,), {"name": name})
    result = wrap(trace, out, x.is_scalar if type(x) is Tracer else True)
    result.weak = x.weak if type(x) is Tracer else None
    same: Any = result
    return same


@contextmanager
@checked
def watching() -> Iterator[dict[str, Watched]]:
    """Record what :func:`watch` sees in this thread within the context: a dict from names to what was seen there.

    ``seen[name].values`` has one value for each call, and for each iteration of a loop, in order; ``.value`` is the
    last. ``.cotangents`` and ``.cotangent`` are those of the backward pass, which goes from the last iteration to the
    first. Under ``wg.vmap`` each is that of the whole batch.

    Examples
    --------
    >>> import wengert as wg
    >>> def newton(a):
    ...     return wg.fori_loop(0, 3, lambda k, x: wg.watch("x", 0.5 * (x + a / x)), a)
    >>> with wg.watching() as seen:
    ...     root = wg.jit(newton)(2.0)
    >>> [float(x.round(4)) for x in seen["x"].values]
    [1.5, 1.4167, 1.4142]
    """
    record: dict[str, Watched] = {}
    with replaced(watchers, "open", (*watchers.open, record)):
        yield record
