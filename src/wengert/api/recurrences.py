"""``known_states``: the states of a recurrence, which the caller knows, with the recurrence's derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert import tree
from wengert.api.carries import check_carry
from wengert.api.recording import record_body
from wengert.expect import checked
from wengert.higher.chain import Recurrence
from wengert.higher.chain import chain as chain_op
from wengert.higher.recording import aval_of
from wengert.tape import Aval
from wengert.tracing.emit import record
from wengert.tracing.stack import current_trace
from wengert.tracing.tracer import Tracer

Array = Any


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
    check_carry("known_states", body.source, avals[:1], [a.aval for a in body.tape.outputs], 0, 0)
    chain = Recurrence(body.tape, len(body.constants))
    number = count.astype(np.intp) if type(count) is Tracer else np.intp(count)
    operands = [states, number, *body.constants, init, *stacks]
    return record(chain_op, operands, {"chain": chain, "wrt": None})
