"""Loops with a condition or a counter as single steps: ``while_loop`` and ``fori_loop``.

Outside of a traced function they are Python's own loops. In one, the body is recorded once, whatever the number of
iterations: what it reads of its surroundings becomes an operand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert import tree
from wengert.api.branches import ONE_TRUTH
from wengert.api.carries import check_carry, with_carry_checked
from wengert.api.recording import record_body, results_of
from wengert.api.scans import BUDGET, scanned
from wengert.errors import DTypeError, message
from wengert.expect import checked, given
from wengert.higher.loops import TapeWhile
from wengert.higher.loops import while_ as while_op
from wengert.higher.recording import aval_of, calling, leaves_of, source_of
from wengert.tape import Aval
from wengert.tracing.emit import record
from wengert.tracing.stack import current_trace
from wengert.tracing.tracer import Tracer

MOST_COUNTED = BUDGET // 8  # iterations of a loop whose counters are an array
_ONE_LEAF = tree.flatten(0.0)[1]


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
        return scanned("fori_loop", step, init_val, at, None, False, None, BUDGET)[0]
    if not is_traced and current_trace() is None:
        return _repeated("fori_loop", lambda s: s[0] < upper, lambda s: (s[0] + 1, body_fun(*s)), (lower, init_val))[1]
    leaves, treedef = leaves_of(init_val)
    body = with_carry_checked("fori_loop", body_fun, [aval_of(x) for x in leaves], treedef)
    step = calling(body_fun, lambda state: (state[0] + 1, body(state[0], state[1])))
    start = lower if type(lower) is Tracer else np.int64(lower)
    return _repeated("fori_loop", lambda state: state[0] < upper, step, (start, init_val))[1]


def _bound(which: str, x: Any) -> Any:
    """Return the bound of a loop as a traced int64 or as Python's integer. Raise if it does not fit into int64."""
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
    check_carry(name, body.source, avals, found, treedef, body.treedef)
    loop = TapeWhile(test.tape, body.tape, len(test.constants), len(body.constants))
    outs = results_of(record(while_op, [*test.constants, *body.constants, *carry], {"loop": loop}))
    return tree.unflatten(treedef, outs)


def _bounded(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any, most: int) -> Any:
    leaves, treedef = leaves_of(init_val)
    is_traced = current_trace() is not None
    body = with_carry_checked("while_loop", body_fun, [aval_of(x) for x in leaves], treedef) if is_traced else body_fun
    goes_on = calling(cond_fun, lambda s: _condition(cond_fun, s[0]) & (s[1] < most))
    step = calling(body_fun, lambda s: (body(s[0]), s[1] + 1))
    val, count = _repeated("while_loop", goes_on, step, (init_val, np.int64(0)))
    if count >= most and cond_fun(val):  # where this is traced, a guard: another path, on which it is raised
        what = f"while_loop: the condition still holds after max_steps={most}"
        tries = ["a condition that ends", "a larger max_steps"]
        raise RuntimeError(message(what, source_of("while_loop", cond_fun), tries=tries))
    return val


def _condition(cond_fun: Callable[[Any], Any], val: Any) -> Any:
    """Return whether the loop goes on. Raise unless that is one boolean."""
    holds = cond_fun(val)
    if tree.flatten(holds)[1] != _ONE_LEAF or aval_of(holds) is not Aval((), np.dtype(bool)):
        found = ", ".join(str(aval_of(x)) for x in tree.flatten(holds)[0]) or "None"
        what = f"while_loop: the condition is {found}; expected bool[]"
        raise DTypeError(message(what, source_of("while_loop", cond_fun), tries=ONE_TRUTH))
    return holds
