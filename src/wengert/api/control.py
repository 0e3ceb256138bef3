"""Branches and loops as single steps: ``cond``, ``switch``, ``scan``, ``fori_loop``, ``while_loop``.

Names, the order of arguments and results are those that users of JAX know. Outside of a traced function they are
Python's own branches and loops. In one, the body is recorded once, whatever the number of iterations: what it reads of
its surroundings becomes an operand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert import tree
from wengert.api.named import F, function_name, made_by
from wengert.api.recording import record_body
from wengert.errors import ConcretizationError, DTypeError, MutationError, ShapeError, StructureError, message
from wengert.expect import checked, given, refused
from wengert.higher.bodies import alive
from wengert.higher.branches import cond as cond_op
from wengert.higher.chain import Recurrence
from wengert.higher.chain import chain as chain_op
from wengert.higher.loops import TapeLoop, TapeWhile
from wengert.higher.loops import scan as scan_op
from wengert.higher.loops import while_ as while_op
from wengert.higher.recording import RecordedBody, aval_of, calling, leaves_of, source_of
from wengert.higher.revolve import Kept, carried_bytes, kept_within, schedule
from wengert.higher.revolve import revolve as revolve_op
from wengert.passes.hoist import hoist
from wengert.source import Source
from wengert.tape import Aval, Var
from wengert.tracing.stack import current_trace
from wengert.tracing.tracer import Tracer, inlined, record

Array = Any

BUDGET = 1 << 30  # bytes that the way back may find stored of one scan
NO_LIMIT = 1 << 62
MOST_SCHEDULED = 1 << 22  # iterations of which a table is made: a microsecond each
MOST_COUNTED = BUDGET // 8  # iterations of a loop whose counters are an array

ONE_TRUTH = ["np.all(...) or np.any(...) of it"]


def _check_carry(
    name: str, source: Source, given: Sequence[Aval], found: Sequence[Aval], before: Any, after: Any
) -> None:
    """Raise unless a carry comes back as it went in, of the structures ``before`` and ``after``."""
    if before != after:
        what = f"{name}: the carry came back with another structure"
        notes = [("given", str(before)), ("back", str(after))]
        raise StructureError(message(what, source, notes=notes, tries=["a body that returns what it was given"]))
    for k, (a, b) in enumerate(zip(given, found, strict=True)):
        if a is not b:
            error = DTypeError if a.dtype != b.dtype else ShapeError
            what = f"{name}: the carry{tree.path(before, k)} went in as {a} and came back as {b}"
            tries = [f"an initial value of dtype {b.dtype}"] if a.dtype != b.dtype else []
            raise error(message(what, source, tries=[*tries, "a body that returns what it was given"]))


def _checked(name: str, f: Callable[..., Any], avals: Sequence[Aval], treedef: Any) -> Callable[..., Any]:
    """``f``, the user's body in one of ours, of which the last argument must come back as it was: of these types."""

    def checked(*args: Any) -> Any:
        back = f(*args)
        leaves, after = leaves_of(back)
        _check_carry(name, source_of(name, f), avals, [aval_of(x) for x in leaves], treedef, after)
        return back

    return checked


def _result(outs: Any) -> list[Any]:
    return list(outs) if isinstance(outs, tuple) else [outs]


# ------------------------------------------------------------------------------------------------------------ loops


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
    return _scanned("scan", f, init, xs, length, reverse, checkpoint, budget)


def _scanned(
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
    _check_carry(name, body.source, avals, found[: len(back)], carry_def, back_def)
    loop = TapeLoop(body.tape, len(body.constants), len(carry), count, reverse)
    if checkpoint is None:
        checkpoint = kept_within(loop, budget)
    if isinstance(checkpoint, int | np.integer) and checkpoint < count:
        return _in_segments(f, init, xs, count, reverse, int(checkpoint))
    operands = [*body.constants, *carry, *stacks]
    if checkpoint == "binomial" and count > 1:
        outs = _result(_revolved(loop, operands, budget, body.source))
    else:
        outs = _result(record(scan_op, operands, {"loop": loop, "pull": None}))
    return tree.unflatten(carry_def, outs[: len(carry)]), tree.unflatten(y_def, outs[len(carry) :])


def _no_pair(source: Source) -> StructureError:
    return StructureError(
        message("scan: the body must return a pair, the carry and y", source, tries=["return carry, y"])
    )


def _revolved(loop: TapeLoop, operands: Sequence[Any], budget: int, source: Source) -> Any:
    """The results of a scan whose way back keeps as many carries as ``budget`` has room for: one fewer, since one is on
    its way."""
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
    """A scan over segments of ``size`` iterations, each checkpointed, and one over those that are left at the end."""
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
    length = None if length is None else _checked_length(name, length)
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


def _checked_length(name: str, length: Any) -> int:
    if type(length) is Tracer and length.constant() is None:
        what = f"{name}: the length is a traced {length.aval}, and decides the shape of what is stacked"
        tries = ["wg.fori_loop(0, n, ...), whose bounds may be traced", "length=int(n), a program for each length"]
        raise ConcretizationError(message(what, tries=tries))
    if not isinstance(length, int | np.integer | Tracer) or length < 0:
        error = DTypeError if not isinstance(length, int | np.integer) else ShapeError
        raise error(message(f"{name}: the length is {given(length)}; expected an integer, 0 or more"))
    return int(length)


def _scan_now(f: Callable[..., Any], init: Any, xs: Any, length: int, reverse: bool) -> tuple[Any, Any]:
    """Python's loop. What an iteration returns is asked of one even where there is none."""
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
    """Run ``f`` as it is where it is traced, which says the types of what has no iteration.

    A body that cannot be recorded is refused here as it is there: nothing else says what it would return.
    """
    from wengert.api.programs import compile, trace  # which stand beside this file

    return compile(trace(f)(*args))(*args)


@checked
def checkpoint(f: F) -> F:
    """Return ``f`` so that the way back keeps its arguments alone: it runs again where its derivative is computed.

    Less memory for more time: nothing within is stored.

    Parameters
    ----------
    f : takes and returns pytrees of arrays and numbers; what it reads of its surroundings counts as an argument. An
        ``if`` on a traced value in it is a branch of the program, as for :func:`joined`.

    Raises
    ------
    ConcretizationError : at a call within a traced function, ``f`` asks for a value otherwise, ``int(x)`` say.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> layer = wg.checkpoint(lambda w, x: np.tanh(w * np.exp(-(x**2))))
    >>> wg.grad(lambda x: layer(2.0, layer(0.5, x)))(1.0).round(6)
    np.float64(0.020049)
    """

    @made_by(checkpoint, f)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        if current_trace() is None:
            return f(*args, **kwargs)
        return _chosen("checkpoint", np.int64(0), [lambda *operands: f(*operands, **kwargs)], args)

    return checkpointed


@checked
def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any) -> Any:
    """Compute ``val = body_fun(i, val)`` for i from ``lower`` up to, not including, ``upper``; return the last ``val``.

    Parameters
    ----------
    lower, upper : integers. Python's numbers make a :func:`scan`; traced ones a :func:`while_loop`, whose number of
        iterations is decided when the program runs.
    body_fun : takes i and the carry; returns the next carry, of the same structure, shapes and dtypes.
    init_val : the first carry, a pytree of arrays and numbers.

    Raises
    ------
    DTypeError : a bound is no integer.
    StructureError, DTypeError, ShapeError : the carry changes.

    Examples
    --------
    >>> import wengert as wg
    >>> wg.grad(lambda x: wg.fori_loop(0, 3, lambda i, y: y * x, 1.0))(2.0)
    np.float64(12.0)
    """
    lower, upper = _bound("lower", lower), _bound("upper", upper)
    is_traced = type(lower) is Tracer or type(upper) is Tracer
    if not is_traced and upper - lower <= MOST_COUNTED:
        at: Any = np.arange(int(lower), max(int(lower), int(upper)), dtype=np.int64)
        step = calling(body_fun, lambda val, i: (body_fun(i, val), None))
        return _scanned("fori_loop", step, init_val, at, None, False, None, BUDGET)[0]
    if not is_traced and current_trace() is None:
        return _repeated("fori_loop", lambda s: s[0] < upper, lambda s: (s[0] + 1, body_fun(*s)), (lower, init_val))[1]
    leaves, treedef = leaves_of(init_val)
    body = _checked("fori_loop", body_fun, [aval_of(x) for x in leaves], treedef)
    step = calling(body_fun, lambda state: (state[0] + 1, body(state[0], state[1])))
    start = lower if type(lower) is Tracer else np.int64(lower)
    return _repeated("fori_loop", lambda state: state[0] < upper, step, (start, init_val))[1]


def _bound(which: str, x: Any) -> Any:
    """A bound of a loop as one that fits the counter, which is int64: a number of Python's, or traced."""
    if type(x) is int and not -(2**63) <= x < 2**63:
        raise DTypeError(message(f"fori_loop: the {which} bound is {x}; expected an integer that fits into int64"))
    if isinstance(x, list | tuple):  # which may be ragged, or hold itself
        raise DTypeError(message(f"fori_loop: the {which} bound is {given(x)}; expected an integer of shape ()"))
    aval = aval_of(x)
    if aval.shape or aval.dtype.kind not in "iub" or aval.dtype == np.uint64:
        what = f"fori_loop: the {which} bound is {aval}; expected an integer of shape () that fits into int64"
        tries = ["n.astype(np.int64)"] if aval.dtype.kind == "u" else ["int(n)", "a bound of one number"]
        raise DTypeError(message(what, tries=tries))
    if type(x) is Tracer and x.constant() is None:
        return x.astype(np.int64)
    return int(x)


@checked
def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any, *, max_steps: int | None = None
) -> Any:
    """Compute ``val = body_fun(val)`` while ``cond_fun(val)``, as one step; return the last ``val``.

    The number of iterations is decided when the program runs. Reverse mode runs the loop again, and keeps its carries,
    one for each iteration. Ctrl-C stops a loop that does not end.

    Parameters
    ----------
    cond_fun : takes the carry; returns a boolean of shape ().
    body_fun : takes the carry; returns the next, of the same structure, shapes and dtypes.
    init_val : the first carry, a pytree of arrays and numbers.
    max_steps : raise RuntimeError if the condition still holds after so many iterations.

    Raises
    ------
    DTypeError : the condition is no boolean of shape ().
    StructureError, DTypeError, ShapeError : the carry changes.
    RuntimeError : see ``max_steps``.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> root = lambda a: wg.while_loop(lambda x: np.abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, a)
    >>> wg.grad(root)(4.0)
    np.float64(0.25)
    """
    if max_steps is not None:
        return _bounded(cond_fun, body_fun, init_val, max_steps)
    return _repeated("while_loop", cond_fun, body_fun, init_val)


def _repeated(name: str, cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any) -> Any:
    if current_trace() is None:
        val = init_val
        while _condition(cond_fun, val):
            val = body_fun(val)
        return val
    carry, treedef = leaves_of(init_val)
    avals = [aval_of(x) for x in carry]
    one = tree.flatten((tree.unflatten(treedef, [0.0] * len(carry)),))[1]
    test = record_body(name, cond_fun, avals, one, is_certain=True)
    if [a.aval for a in test.tape.outputs] != [Aval((), np.dtype(bool))]:
        found = ", ".join(str(a.aval) for a in test.tape.outputs) or "None"
        what = f"while_loop: the condition is {found}; expected bool[]"
        raise DTypeError(message(what, test.source, tries=ONE_TRUTH))
    body = record_body(name, body_fun, avals, one)
    found = [a.aval for a in body.tape.outputs]
    _check_carry(name, body.source, avals, found, treedef, body.treedef)
    body = _with_constants_before(body, lambda: inlined(test.tape, [*test.constants, *carry]))
    loop = TapeWhile(test.tape, body.tape, len(test.constants), len(body.constants))
    outs = _result(record(while_op, [*test.constants, *body.constants, *carry], {"loop": loop}))
    return tree.unflatten(treedef, outs)


def _with_constants_before(body: RecordedBody, begins: Callable[[], Sequence[Any]]) -> RecordedBody:
    """Take heavy steps that are the same in every iteration before the loop, if that ``begins``."""
    found = hoist(body.tape, len(body.constants))
    if found is None or not any(type(x) is Tracer for x in body.constants):
        return body
    (goes_on,) = begins()
    operands = [goes_on.astype(np.int64), *body.constants]
    values = _result(record(cond_op, operands, {"branches": (found.without, found.before), "wrt": None}))
    return body._replace(tape=found.body, constants=[*body.constants, *values])


def _bounded(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any, most: int) -> Any:
    leaves, treedef = leaves_of(init_val)
    is_traced = current_trace() is not None
    body = _checked("while_loop", body_fun, [aval_of(x) for x in leaves], treedef) if is_traced else body_fun
    goes_on = calling(cond_fun, lambda s: _condition(cond_fun, s[0]) & (s[1] < most))
    step = calling(body_fun, lambda s: (body(s[0]), s[1] + 1))
    val, count = _repeated("while_loop", goes_on, step, (init_val, np.int64(0)))
    if count >= most and cond_fun(val):  # where this is traced, a guard: another path, on which it is raised
        what = f"while_loop: the condition still holds after max_steps={most}"
        tries = ["a condition that ends", "a larger max_steps"]
        raise RuntimeError(message(what, source_of("while_loop", cond_fun), tries=tries))
    return val


def _condition(cond_fun: Callable[[Any], Any], val: Any) -> Any:
    """Whether the loop goes on, which is one boolean."""
    holds = cond_fun(val)
    if tree.flatten(holds)[1] != _ONE_LEAF or aval_of(holds) is not Aval((), np.dtype(bool)):
        found = ", ".join(str(aval_of(x)) for x in tree.flatten(holds)[0]) or "None"
        what = f"while_loop: the condition is {found}; expected bool[]"
        raise DTypeError(message(what, source_of("while_loop", cond_fun), tries=ONE_TRUTH))
    return holds


_ONE_LEAF = tree.flatten(0.0)[1]


@checked
def known_states(step: Callable[..., Any], init: Array, xs: Sequence[Array], states: Array, count: Array) -> Any:
    """Return ``states``, which the caller knows to be those of a recurrence, with the recurrence's derivatives.

    They are ``states[0] = init`` and ``states[k+1] = step(states[k], *xs[k])``. This is for code that finds the steps
    of a recurrence as it goes, and rejects some: nothing is computed again, and derivatives, forward and reverse, of
    any order, are those of the recurrence, in ``init``, ``xs`` and what ``step`` captures, one step at a time.

    Parameters
    ----------
    step : takes a state, an array of shape ``s``, and a slice of each of ``xs``; returns the next state.
    init : the first state, an array of shape ``s``.
    xs : arrays with a first axis of at least ``count``.
    states : array of shape ``(m, *s)``, m > count. What lies behind number ``count`` is not looked at.
    count : how many steps there are, an integer, traced or not.

    Raises
    ------
    ShapeError, DTypeError : within a traced function, the step gives another type than the state's.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> def cube(x):
    ...     states = np.array([2.0, 4.0, 8.0])  # found elsewhere
    ...     return wg.known_states(lambda y, _: y * x, x, [np.zeros(2)], states, 2)[2]
    >>> wg.grad(cube)(2.0)
    np.float64(12.0)
    """
    init, states, *stacks = [x if type(x) is Tracer else np.asarray(x) for x in (init, states, *xs)]
    if current_trace() is None:
        return states.copy()  # an array of its own, as in a trace
    avals = [aval_of(init), *[Aval(a.shape[1:], a.dtype) for a in map(aval_of, stacks)]]
    body = record_body("known_states", step, avals, tree.flatten(tuple([0.0] * len(avals)))[1], is_certain=True)
    _check_carry("known_states", body.source, avals[:1], [a.aval for a in body.tape.outputs], 0, 0)
    chain = Recurrence(body.tape, len(body.constants))
    number = count.astype(np.intp) if type(count) is Tracer else np.intp(count)
    operands = [states, number, *body.constants, init, *stacks]
    return record(chain_op, operands, {"chain": chain, "wrt": None})


# --------------------------------------------------------------------------------------------------------- branches


@checked
def cond(pred: Array, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> Any:
    """Return ``true_fun(*operands)`` if ``pred``, else ``false_fun(*operands)``, decided when the program runs.

    Within a traced function both are recorded, as one step; the one that is not taken costs nothing. Within
    :func:`vmap`, where examples choose for themselves, both are computed. Of a plain ``pred`` only the one that is
    taken is called.

    Parameters
    ----------
    pred : a boolean of shape ().
    true_fun, false_fun : take the operands; return the same structure, shapes and dtypes.
    operands : pytrees of arrays and numbers.

    Raises
    ------
    DTypeError : ``pred`` is no boolean of shape ().
    StructureError, ShapeError, DTypeError : the branches differ; with both types.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> f = wg.jit(lambda x: wg.cond(x > 0, np.sqrt, lambda x: -x, x))
    >>> f(4.0), f(-3.0), wg.grad(f)(4.0)
    (np.float64(2.0), np.float64(3.0), np.float64(0.25))
    """
    if aval_of(pred) is not Aval((), np.dtype(bool)):
        raise DTypeError(message(f"cond: the predicate is {aval_of(pred)}; expected bool[]", tries=ONE_TRUTH))
    if type(pred) is not Tracer:
        return true_fun(*operands) if pred else false_fun(*operands)
    return _chosen("cond", pred, (false_fun, true_fun), operands)


@checked
def switch(index: Array, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """Return ``branches[index](*operands)``, with ``index`` clipped to those there are; else it is as :func:`cond`.

    Parameters
    ----------
    index : an integer of shape ().
    branches : functions that take the operands, and return the same structure, shapes and dtypes.
    operands : pytrees of arrays and numbers.

    Raises
    ------
    DTypeError : ``index`` is no integer of shape ().
    StructureError, ShapeError, DTypeError : there are no branches, or they differ.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> wg.jit(lambda k: wg.switch(k, [np.sin, np.cos, np.exp], 0.0))(2)
    np.float64(1.0)
    """
    if not branches:
        raise StructureError(message("switch: there are no branches", tries=["wg.switch(index, [f, g], x)"]))
    if aval_of(index).shape != () or aval_of(index).dtype.kind not in "iu":
        raise DTypeError(message(f"switch: the index is {aval_of(index)}; expected an integer of shape ()"))
    if type(index) is not Tracer:
        return branches[min(max(int(index), 0), len(branches) - 1)](*operands)
    if index.dtype == np.uint64:  # which int64 need not hold
        index = np.minimum(index, np.uint64(len(branches) - 1))
    return _chosen("switch", index, branches, operands)


def _chosen(name: str, index: Any, functions: Sequence[Callable[..., Any]], operands: Sequence[Any]) -> Any:
    leaves, treedef = leaves_of(tuple(operands))
    avals = [aval_of(x) for x in leaves]
    bodies = [record_body(name, f, avals, treedef) for f in functions]
    for body in bodies:
        _check_unwritten(name, body)
    for body in bodies[1:]:
        _check_alike(name, bodies[0], body)
    constants = [c for body in bodies for c in body.constants]
    at = 0
    branches = []
    for body in bodies:  # each takes what all of them read
        n = len(body.constants)
        others = [Var(aval_of(c)) for c in constants]
        others[at : at + n] = body.tape.inputs[:n]
        branches.append(alive(body.tape.replace(inputs=(*others, *body.tape.inputs[n:]))))
        at += n
    params = {"branches": tuple(branches), "wrt": None}
    outs = _result(
        record(
            cond_op,
            [np.int64(index) if type(index) is not Tracer else index.astype(np.int64), *constants, *leaves],
            params,
        )
    )
    return tree.unflatten(bodies[0].treedef, outs)


@checked
def joined(f: F) -> F:
    """Return ``f`` so that its paths join where it returns: an ``if`` in it is a branch of the recorded program.

    Within a traced function ``f`` is recorded by itself, and where it looks at the truth of a traced value, for both
    outcomes: instead of a guard, one program for either, and in the body of a loop, fewer paths, since what follows is
    recorded once.

    Parameters
    ----------
    f : takes and returns pytrees, and writes none of its arguments; the results of all paths, of which there are at
        most 32, have the same structure, shapes and dtypes.

    Examples
    --------
    >>> import wengert as wg
    >>> clipped = wg.joined(lambda x: min(max(x, 0.0), 1.0))
    >>> f = wg.jit(lambda x: clipped(x) * 2)
    >>> f(0.5), f(-3.0), f(7.0), f.stats()["traces"]
    (np.float64(1.0), np.float64(0.0), np.float64(2.0), 1)
    """

    @made_by(joined, f)
    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, treedef = tree.flatten((args, kwargs))
        traced = [k for k, x in enumerate(leaves) if type(x) is Tracer and x.constant() is None]
        if not traced:
            return f(*args, **kwargs)

        def of_traced(*given: Any) -> Any:
            new = list(leaves)
            for k, x in zip(traced, given, strict=True):
                new[k] = x
            args, kwargs = tree.unflatten(treedef, new)
            return f(*args, **kwargs)

        given = [leaves[k] for k in traced]
        body = record_body(
            function_name(f), of_traced, [x.aval for x in given], tree.flatten(tuple(given))[1], is_certain=True
        )
        if body.written:
            raise MutationError(
                message(f"joined: {function_name(f)} writes an argument", tries=["a copy: np.array(x)"])
            )
        return tree.unflatten(body.treedef, inlined(body.tape, [*body.constants, *given]))

    return call


def _check_unwritten(name: str, body: RecordedBody) -> None:
    """Raise if a function writes an argument, which its caller would not see."""
    if body.written:
        what = f"{name}: {body.source.function} writes an array that it was given"
        raise MutationError(message(what, body.source, tries=["a copy: np.array(x)"]))


def _check_alike(name: str, first: RecordedBody, other: RecordedBody) -> None:
    tries = ["branches that return the same structure, shapes and dtypes"]
    if first.treedef != other.treedef:
        notes = [("one", str(first.treedef)), ("other", str(other.treedef))]
        what = f"{name}: branches return different structures"
        raise StructureError(message(what, other.source, notes=notes, tries=tries))
    for k, (a, b) in enumerate(zip(first.tape.out_avals, other.tape.out_avals, strict=True)):
        if a is not b:
            error = DTypeError if a.dtype != b.dtype else ShapeError
            what = f"{name}: one branch returns {a} and another {b} at result{tree.path(first.treedef, k)}"
            raise error(message(what, other.source, tries=tries))
