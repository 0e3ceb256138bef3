"""Loops over slices as single steps: ``scan``.

Outside of a traced function it is Python's own loop. In one, the body is recorded once, whatever the number of
iterations: what it reads of its surroundings becomes an operand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert import tree
from wengert.api.branches import checkpoint
from wengert.api.carries import check_carry
from wengert.api.recording import record_body, results_of
from wengert.errors import ConcretizationError, DTypeError, ShapeError, StructureError, message
from wengert.expect import checked, given, refused
from wengert.higher.loops import TapeLoop
from wengert.higher.loops import scan as scan_op
from wengert.higher.recording import aval_of, leaves_of, source_of
from wengert.higher.revolve import Kept, carried_bytes, kept_within, schedule
from wengert.higher.revolve import revolve as revolve_op
from wengert.source import Source
from wengert.tape import Aval
from wengert.tracing.emit import record
from wengert.tracing.stack import current_trace
from wengert.tracing.tracer import Tracer

BUDGET = 1 << 30  # bytes that the way back may find stored of one scan
NO_LIMIT = 1 << 62
MOST_SCHEDULED = 1 << 22  # iterations of which a table is made: a microsecond each


@checked
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: Any = None,
    reverse: bool = False,
    *,
    checkpoint: Kept = None,
    budget: int = BUDGET,
) -> tuple[Any, Any]:
    """Compute ``carry, ys[k] = f(carry, xs[k])`` for each k, as one step; return the last carry, and the stacked ys.

    Parameters
    ----------
    f : takes the carry and a slice of ``xs``; returns the next carry, of the same structure, shapes and dtypes, and
        what is to be stacked: any pytrees, None for nothing.
    init : the first carry, a pytree of arrays and numbers.
    xs : a pytree of arrays with a common first axis, along which they are sliced; or None.
    length : the number of iterations, where ``xs`` is None.
    reverse : from the last slice to the first.
    checkpoint : keep for the way back only what every so many iterations begin with, and run those in between again
        (:func:`checkpoint`). "binomial": as many carries as the budget has room for, and those in between again, some
        more than once, by the schedule that takes the fewest iterations (revolve). None: keep what the way back reads,
        unless that is more than
    budget : bytes (1 GiB); then what every so many iterations begin with, as many as make what is kept least; and by
        the binomial schedule if that is too much as well.

    Raises
    ------
    StructureError, DTypeError, ShapeError : the carry changes; with the body's line and both types. Of plain values,
        outside of a traced function, a loop in Python is run, and the carry may change.
    ShapeError : the lengths of ``xs`` differ, or neither ``xs`` nor ``length`` is given.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> def step(y, x):
    ...     y = 0.5 * y + x
    ...     return y, y
    >>> total = wg.grad(lambda x: wg.scan(step, 0.0, x)[0])
    >>> total(np.ones(4))
    array([0.125, 0.25 , 0.5  , 1.   ])
    """
    is_number = isinstance(checkpoint, int | np.integer) and checkpoint >= 1
    if not (checkpoint is None or checkpoint == "binomial" or is_number):
        expected = "a number of iterations, 1 or more, or 'binomial'"
        raise refused("scan", "checkpoint", checkpoint, expected)
    return scanned("scan", f, init, xs, length, reverse, checkpoint, budget)


def scanned(
    name: str,
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any,
    length: Any,
    reverse: bool,
    checkpoint: Kept,
    budget: int,
) -> tuple[Any, Any]:
    stacks, stack_def = leaves_of(xs)
    count = _length(name, [np.shape(x) for x in stacks], length)
    if current_trace() is None:
        return _scan_now(f, init, xs, count, reverse)
    carry, carry_def = leaves_of(init)
    avals = [aval_of(x) for x in carry]
    slices = [Aval(a.shape[1:], a.dtype) for a in map(aval_of, stacks)]
    both = tree.flatten((tree.unflatten(carry_def, [0.0] * len(carry)), tree.unflatten(stack_def, [0.0] * len(stacks))))
    body = record_body(name, f, [*avals, *slices], both[1], is_certain=count > 0)
    leaves = tree.unflatten(body.treedef, list(range(len(body.tape.outputs))))
    if not isinstance(leaves, tuple) or len(leaves) != 2:
        raise _no_pair(body.source)
    back, back_def = tree.flatten(leaves[0])
    found, y_def = [a.aval for a in body.tape.outputs], tree.flatten(leaves[1])[1]
    check_carry(name, body.source, avals, found[: len(back)], carry_def, back_def)
    loop = TapeLoop(body.tape, len(body.constants), len(carry), count, reverse)
    if checkpoint is None:
        checkpoint = kept_within(loop, budget)
    if isinstance(checkpoint, int | np.integer) and checkpoint < count:
        return _in_segments(f, init, xs, count, reverse, int(checkpoint))
    operands = [*body.constants, *carry, *stacks]
    if checkpoint == "binomial" and count > 1:
        outs = results_of(_revolved(loop, operands, budget, body.source))
    else:
        outs = results_of(record(scan_op, operands, {"loop": loop, "pull": None}))
    return tree.unflatten(carry_def, outs[: len(carry)]), tree.unflatten(y_def, outs[len(carry) :])


def _no_pair(source: Source) -> StructureError:
    return StructureError(
        message("scan: the body must return a pair, the carry and y", source, tries=["return carry, y"])
    )


def _revolved(loop: TapeLoop, operands: Sequence[Any], budget: int, source: Source) -> Any:
    """Record a scan whose reverse mode keeps as many carries as ``budget`` has room for, less the one that it works on;
    return its results."""
    each = max(1, carried_bytes(loop))
    slots = min(loop.length, budget // each - 1)
    if slots < 1:
        what = f"scan: a budget of {budget} bytes has no room for two carries of {each} bytes"
        raise ValueError(message(what, source, tries=[f"budget={2 * each} or more"]))
    if loop.length > MOST_SCHEDULED:
        what = f"scan: checkpoint='binomial' is for at most {MOST_SCHEDULED} iterations, and there are {loop.length}"
        raise ValueError(message(what, source, tries=["checkpoint=k, which keeps every k-th carry", "a scan of scans"]))
    table = schedule(loop.length, slots, loop.is_reversed)
    return record(revolve_op, [*table, *operands], {"loop": loop, "slots": slots, "wrt": None})


def _in_segments(f: Callable[..., Any], init: Any, xs: Any, count: int, reverse: bool, size: int) -> tuple[Any, Any]:
    """Scan over segments of ``size`` iterations, each checkpointed, and over those that are left at the end."""
    full = count // size
    stacks, treedef = tree.flatten(xs)
    many = [x[: full * size].reshape((full, size, *np.shape(x)[1:])) for x in stacks]
    rest = tree.unflatten(treedef, [x[full * size :] for x in stacks])
    segment = checkpoint(lambda carry, part: scan(f, carry, part, size, reverse, budget=NO_LIMIT))
    whole = lambda carry: scan(segment, carry, tree.unflatten(treedef, many), full, reverse, budget=NO_LIMIT)
    last = lambda carry: scan(f, carry, rest, count - full * size, reverse, budget=NO_LIMIT)
    if count == full * size:
        carry, ys = whole(init)
        return carry, tree.map(_joined, ys)
    if reverse:
        carry, end = last(init)
        carry, ys = whole(carry)
    else:
        carry, ys = whole(init)
        carry, end = last(carry)
    return carry, tree.map(lambda a, b: np.concatenate([_joined(a), b]), ys, end)


def _joined(y: Any) -> Any:
    return y.reshape((-1, *np.shape(y)[2:]))


def _length(name: str, shapes: Sequence[tuple[int, ...]], length: Any) -> int:
    length = None if length is None else _length_of(name, length)
    if any(not shape for shape in shapes):
        raise ShapeError(
            message(
                f"{name}: an array of shape () in xs has no axis to slice",
                tries=["read it in the body, without passing it"],
            )
        )
    lengths = {shape[0] for shape in shapes} | ({length} if length is not None else set())
    if len(lengths) != 1:
        what = (
            f"the first axes of xs, and length=, differ: {sorted(lengths)}"
            if lengths
            else "the number of iterations is not known, since there are neither xs nor length="
        )
        raise ShapeError(message(f"{name}: {what}", tries=["arrays of xs with equal first axes", "length=n"]))
    (count,) = lengths
    return count


def _length_of(name: str, length: Any) -> int:
    if type(length) is Tracer and length.constant() is None:
        what = f"{name}: the length is a traced {length.aval}, and decides the shape of what is stacked"
        tries = ["wg.fori_loop(0, n, ...), whose bounds may be traced", "length=int(n), a program for each length"]
        raise ConcretizationError(message(what, tries=tries))
    if not isinstance(length, int | np.integer | Tracer) or length < 0:
        error = DTypeError if not isinstance(length, int | np.integer) else ShapeError
        raise error(message(f"{name}: the length is {given(length)}; expected an integer, 0 or more"))
    return int(length)


def _scan_now(f: Callable[..., Any], init: Any, xs: Any, length: int, reverse: bool) -> tuple[Any, Any]:
    """Run Python's own loop. With no iterations the body is traced, which says the types of what it would return."""
    if length == 0:
        return _traced_once(lambda init, xs: scan(f, init, xs, length, reverse), init, xs)
    carry, ys = init, []
    slices, treedef = tree.flatten(xs)
    for k in reversed(range(length)) if reverse else range(length):
        back = f(carry, tree.unflatten(treedef, [np.asarray(x)[k] for x in slices]))
        if not isinstance(back, tuple) or len(back) != 2:
            raise _no_pair(source_of("scan", f))
        carry, y = back
        ys.append(y)
    ordered = ys[::-1] if reverse else ys

    def stacked(*parts: Any) -> Any:
        arrays = [np.asarray(part) for part in parts]
        other = next((a for a in arrays if a.shape != arrays[0].shape), None)
        if other is not None:
            what = (
                f"scan: y has shape {arrays[0].shape} in one iteration and {other.shape} in another; expected the same"
            )
            raise ShapeError(message(what, source_of("scan", f)))
        return np.stack(arrays)

    return carry, tree.map(stacked, *ordered)


def _traced_once(f: Callable[..., Any], *args: Any) -> Any:
    """Trace ``f`` and run its program, so that a loop without iterations returns what the types say.

    A body that cannot be recorded is refused here as it is there: nothing else says what it would return.
    """
    from wengert.api.programs import compile, trace  # which stand beside this file

    return compile(trace(f)(*args))(*args)
