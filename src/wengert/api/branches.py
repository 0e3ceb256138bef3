"""Branches as single steps: ``cond``, ``switch``, functions whose paths are ``joined``, and a ``checkpoint``, which is
a branch with one choice.

Names, the order of arguments and results are those that users of JAX know. Outside of a traced function they are
Python's own branches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from wengert import tree
from wengert.api.named import F, P, R, function_name, made_by
from wengert.api.recording import record_body, results_of
from wengert.errors import DTypeError, MutationError, ShapeError, StructureError, message
from wengert.expect import checked
from wengert.higher.bodies import alive
from wengert.higher.branches import cond as cond_op
from wengert.higher.recording import RecordedBody, aval_of, leaves_of
from wengert.tape import Aval, Var
from wengert.tracebacks import fold
from wengert.tracing.emit import inlined, record
from wengert.tracing.stack import current_trace
from wengert.tracing.tracer import Tracer

Array = Any
ONE_TRUTH = ["np.all(...) or np.any(...) of it"]


@checked
def checkpoint(f: Callable[P, R]) -> Callable[P, R]:
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
        try:
            if current_trace() is None:
                return f(*args, **kwargs)
            return choose("checkpoint", np.int64(0), [lambda *operands: f(*operands, **kwargs)], args)
        except Exception as error:  # any: it goes on, with a shorter traceback
            fold(error)
            raise

    return checkpointed


@checked
def cond(pred: Array, true_fun: Callable[..., R], false_fun: Callable[..., R], *operands: Any) -> R:
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
    return choose("cond", pred, (false_fun, true_fun), operands)


@checked
def switch(index: Array, branches: Sequence[Callable[..., R]], *operands: Any) -> R:
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
    return choose("switch", index, branches, operands)


def choose(name: str, index: Any, functions: Sequence[Callable[..., Any]], operands: Sequence[Any]) -> Any:
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
    outs = results_of(
        record(
            cond_op,
            [np.int64(index) if type(index) is not Tracer else index.astype(np.int64), *constants, *leaves],
            params,
        )
    )
    return tree.unflatten(bodies[0].treedef, outs)


@checked
def joined(f: Callable[P, R]) -> Callable[P, R]:
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
        try:
            leaves, treedef = tree.flatten((args, kwargs))
            traced = [k for k, x in enumerate(leaves) if type(x) is Tracer and x.constant() is None]
            if not traced:
                return f(*args, **kwargs)

            def of_traced(*given: Any) -> Any:
                new = list(leaves)
                for k, x in zip(traced, given, strict=True):
                    new[k] = x
                new_args, new_kwargs = tree.unflatten(treedef, new)
                return cast(F, f)(*new_args, **new_kwargs)

            given = [leaves[k] for k in traced]
            body = record_body(
                function_name(f), of_traced, [x.aval for x in given], tree.flatten(tuple(given))[1], is_certain=True
            )
            if body.written:
                raise MutationError(
                    message(f"joined: {function_name(f)} writes an argument", tries=["a copy: np.array(x)"])
                )
            return tree.unflatten(body.treedef, inlined(body.tape, [*body.constants, *given]))
        except Exception as error:  # any: it goes on, with a shorter traceback
            fold(error)
            raise

    return call


def _check_unwritten(name: str, body: RecordedBody) -> None:
    """Raise if a function writes an argument, which its caller would not see."""
    if body.written:
        what = f"{name}: {body.source.function} writes an array that it was given"
        raise MutationError(message(what, body.source, tries=["a copy: np.array(x)"]))


def _check_alike(name: str, first: RecordedBody, other: RecordedBody) -> None:
    tries = ["branches that return the same structure, shapes and dtypes"]
    if first.treedef != other.treedef:
        sides = [tree.describe(tree.unflatten(side.treedef, side.tape.out_avals)) for side in (first, other)]
        notes = [("one", sides[0]), ("other", sides[1])]
        what = f"{name}: branches return different structures"
        raise StructureError(message(what, other.source, notes=notes, tries=tries))
    for k, (a, b) in enumerate(zip(first.tape.out_avals, other.tape.out_avals, strict=True)):
        if a is not b:
            error = DTypeError if a.dtype != b.dtype else ShapeError
            what = f"{name}: one branch returns {a} and another {b} at result{tree.path(first.treedef, k)}"
            raise error(message(what, other.source, tries=tries))
