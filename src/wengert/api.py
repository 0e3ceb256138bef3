"""What users call: each a few lines over tracing, differentiation, batching and the runtime."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import WRAPPER_UPDATES, wraps
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from wengert import config, passes, tree
from wengert.ad.forward import jvp as jvp_of_tape
from wengert.ad.partition import first_part, keep_outputs, second_part
from wengert.ad.reverse import vjp as vjp_of_tape
from wengert.batching import batch as batch_of_tape
from wengert.errors import (
    DTypeError,
    NotDifferentiableError,
    ScalarOutputError,
    ShapeError,
    StructureError,
    UnsupportedFunctionError,
    message,
)
from wengert.ops.control import stop_gradient as stop_gradient_op
from wengert.ops.elementwise import map_scalar
from wengert.runtime.execute import Previous, Transform, execute, transformed, without_guards
from wengert.runtime.jit import Jit, trace_whole
from wengert.runtime.program import Program
from wengert.tape import Aval, Tape, structure
from wengert.tracing.guards import number_guards
from wengert.tracing.record import Input, Recording, input_of, record_call
from wengert.tracing.trace import current_trace
from wengert.tracing.tracer import Tracer, new_constant, record

F = Callable[..., Any]


class _Chosen(NamedTuple):
    """The leaves of a call that are differentiated, and the function of those alone."""

    call: F
    leaves: list[Any]
    treedef: Any


def function_name(f: F) -> str:
    return getattr(f, "__name__", type(f).__name__)


def _named_like(f: F) -> Callable[[F], F]:
    """``functools.wraps``; but what an object holds, the programs of a jit or the weights of a model, stays with it."""
    return wraps(f, updated=WRAPPER_UPDATES if isinstance(f, FunctionType) else ())


def is_number(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray | np.generic | bool | int | float | complex) or type(leaf) is Tracer


def _choose(f: F, args: tuple[Any, ...], kwargs: dict[str, Any], argnums: Any, wrt: F | None) -> _Chosen:
    if wrt is not None:
        every, everything = tree.flatten(args)
        numbers, treedef = tree.select(args, wrt)
        if len(set(numbers)) < len(numbers):
            raise StructureError(message(f"wrt= of {function_name(f)} picks a leaf of its arguments twice"))
        others = [x for k, x in enumerate(every) if k not in set(numbers)]

        def call_selected(*chosen: Any) -> Any:
            lend(others, kwargs)
            new = list(every)
            for k, x in zip(numbers, chosen, strict=True):
                new[k] = x
            return f(*tree.unflatten(everything, new), **kwargs)

        leaves = [every[k] for k in numbers]
        _check_leaves(f, leaves, lambda k: f"argument{tree.path(everything, numbers[k])}")
        return _Chosen(call_selected, leaves, treedef)
    if isinstance(argnums, np.integer):
        argnums = int(argnums)
    positions = [argnums] if isinstance(argnums, int) else list(argnums) if np.iterable(argnums) else [argnums]
    for position in positions:
        if not isinstance(position, int | np.integer):
            raise StructureError(message(f"argnums={argnums!r}: expected a position, or several"))
        if not -len(args) <= position < len(args):
            raise StructureError(
                message(
                    f"argnums={argnums}, but {function_name(f)} was called with {len(args)} positional arguments",
                    tries=["pass the argument by position", "wrt=lambda args: ..."],
                )
            )
    positions = [p % len(args) for p in positions]
    if len(set(positions)) < len(positions):
        raise StructureError(message(f"argnums={argnums} names an argument of {function_name(f)} twice"))
    chosen_args = args[positions[0]] if isinstance(argnums, int) else tuple(args[p] for p in positions)
    leaves, treedef = tree.flatten(chosen_args)
    _check_leaves(f, leaves, lambda k: f"argument {argnums}{tree.path(treedef, k)}")

    others = [x for k, x in enumerate(args) if k not in positions]

    def call(*chosen: Any) -> Any:
        lend(others, kwargs)
        new = list(args)
        given = tree.unflatten(treedef, list(chosen))
        for position, x in zip(positions, [given] if isinstance(argnums, int) else given, strict=True):
            new[position] = x
        return f(*new, **kwargs)

    return _Chosen(call, leaves, treedef)


def lend(others: list[Any], kwargs: dict[str, Any]) -> None:
    """What the function gets as it is, not as traced values, is still the caller's: nobody writes it while tracing."""
    if others or kwargs:
        trace = current_trace()
        assert trace is not None
        for x in tree.flatten((others, kwargs))[0]:
            if isinstance(x, np.ndarray):
                trace.lock(x)


def _check_leaves(f: F, leaves: Sequence[Any], path: Callable[[int], str]) -> None:
    for k, leaf in enumerate(leaves):
        dtype = leaf.dtype if hasattr(leaf, "dtype") else np.asarray(leaf).dtype if is_number(leaf) else None
        if dtype is None:
            raise DTypeError(
                message(
                    f"{function_name(f)}: {path(k)} is a {type(leaf).__name__}, which has no derivative",
                    tries=["wrt=lambda args: ..., to differentiate with respect to the numbers alone"],
                )
            )
        if dtype.kind == "c":
            raise DTypeError(
                message(
                    f"{function_name(f)}: {path(k)} is {dtype.name}; derivatives of complex numbers are not there yet",
                    tries=["the real and the imaginary part as two arguments"],
                )
            )
        if dtype.kind != "f":
            shown = repr(leaf) if isinstance(leaf, int) else f"x.astype(float), now {dtype.name}"
            raise DTypeError(
                message(
                    f"{function_name(f)}: {path(k)} is {dtype.name}, and an integer has no derivative",
                    tries=[
                        f"float({shown})" if isinstance(leaf, int) else shown,
                        "argnums= or wrt=, to differentiate with respect to something else",
                    ],
                )
            )


class _Aux:
    """What a function returned beside its value: arrays go through the tape, anything else stays as it is."""

    def __init__(self) -> None:
        self.treedef: Any = None
        self.static: dict[int, Any] = {}
        self.count = 0

    def take(self, aux: Any) -> list[Any]:
        leaves, self.treedef = tree.flatten(aux)
        self.static = {k: x for k, x in enumerate(leaves) if not is_number(x)}
        self.count = len(leaves)
        return [x for k, x in enumerate(leaves) if k not in self.static]

    def give(self, arrays: Sequence[Any]) -> Any:
        rest = iter(arrays)
        return tree.unflatten(
            self.treedef, [self.static[k] if k in self.static else next(rest) for k in range(self.count)]
        )


def _with_aux(f: F, call: F, aux: _Aux) -> F:
    def call_with_aux(*args: Any) -> Any:
        out = call(*args)
        if not (isinstance(out, tuple) and len(out) == 2):
            raise StructureError(
                message(f"{function_name(f)}: has_aux=True, so it must return (value, aux); got {tree.describe(out)}")
            )
        return [out[0], *aux.take(out[1])]

    return call_with_aux


def value_and_grad(
    f: F, argnums: int | Sequence[int] = 0, *, wrt: F | None = None, has_aux: bool = False, nan_safe: bool = False
) -> F:
    """The function that returns ``f``'s value and its gradient.

    Parameters
    ----------
    f : returns one real number (shape ``()``), or ``(number, aux)`` with ``has_aux``.
    argnums : the positional argument, or the arguments, to differentiate with respect to: pytrees of floats.
    wrt : selects leaves instead, ``wrt=lambda args: args[0].c2``; all others are constants.
    has_aux : ``f`` returns ``(value, aux)``; ``aux`` is any pytree, returned beside the value.
    nan_safe : a cotangent of exactly zero stays zero whatever derivative it meets (0 · ∞ = 0).

    Returns
    -------
    function of ``f``'s arguments giving ``(value, gradient)``, or ``((value, aux), gradient)``. The gradient has
    the structure of what it is taken with respect to, and each leaf the shape and dtype of its primal.

    Raises
    ------
    ScalarOutputError : the value is not one real number.
    DTypeError : an argument to differentiate with respect to is not a float.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> value, gradient = wg.value_and_grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    >>> float(value), gradient
    (5.0, array([2., 4.]))
    """

    return _value_and_gradient(f, argnums, wrt, has_aux, nan_safe, with_value=True)


def _value_and_gradient(f: F, argnums: Any, wrt: F | None, has_aux: bool, nan_safe: bool, with_value: bool) -> F:
    previous = Previous()

    @_named_like(f)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        call, leaves, treedef = _choose(f, args, kwargs, argnums, wrt)
        aux = _Aux()
        if has_aux:
            call = _with_aux(f, call, aux)
        recording = record_call(call, [input_of(x) for x in leaves], name=function_name(f), previous=previous.recording)
        previous.remember(recording)
        _check_scalar(f, recording, has_aux)
        n = len(leaves)
        transform = (vjp_of_tape, (tuple(range(n)), (0,), "one", True, nan_safe))
        outs = execute(recording, (transform,), leaves)
        first = len(outs) - n
        gradient = tree.unflatten(treedef, outs[first:])
        if not with_value:
            return (gradient, aux.give(outs[1:first])) if has_aux else gradient
        if has_aux:
            return (outs[0], aux.give(outs[1:first])), gradient
        return tree.unflatten(recording.out_treedef, outs[:first]), gradient

    return value_and_gradient


def _check_scalar(f: F, recording: Recording, has_aux: bool) -> None:
    outputs = recording.tape.outputs
    ok = bool(outputs) if has_aux else len(outputs) == 1
    if ok and outputs[0].aval.shape == () and outputs[0].aval.dtype.kind == "f":
        return
    what = str(outputs[0].aval) if len(outputs) == 1 or (has_aux and outputs) else f"{len(outputs)} values"
    tries = ["wg.jacobian or wg.vjp, for a function with several outputs"]
    if ok and outputs[0].aval.dtype.kind == "f":
        tries.insert(0, "np.sum of it, or one element")
    elif not ok:
        tries.insert(0, "has_aux=True, to return values beside the one that is differentiated")
    raise ScalarOutputError(
        message(f"grad needs one real number from {function_name(f)}, float64[]; it returned {what}", tries=tries)
    )


def grad(
    f: F, argnums: int | Sequence[int] = 0, *, wrt: F | None = None, has_aux: bool = False, nan_safe: bool = False
) -> F:
    """The gradient of a function that returns one real number; parameters as for :func:`value_and_grad`.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> wg.grad(lambda x: np.sin(x) * x)(0.0)
    np.float64(0.0)
    """
    return _value_and_gradient(f, argnums, wrt, has_aux, nan_safe, with_value=False)


def stop_gradient(x: Any) -> Any:
    """``x``, as a constant to every derivative. A pytree gives a pytree.

    >>> import numpy as np, wengert as wg
    >>> wg.grad(lambda x: x * wg.stop_gradient(x))(3.0)
    np.float64(3.0)
    """
    return tree.tree_map(lambda leaf: record(stop_gradient_op, (leaf,), {}) if type(leaf) is Tracer else leaf, x)


# ------------------------------------------------------------------------------------------------- vjp and jvp


def _record_primals(f: F, primals: Sequence[Any], has_aux: bool) -> tuple[_Chosen, _Aux, Recording]:
    chosen = _choose(f, tuple(primals), {}, tuple(range(len(primals))), None)
    aux = _Aux()
    call = _with_aux_tree(f, chosen.call, aux) if has_aux else chosen.call
    recording = record_call(call, [input_of(x) for x in chosen.leaves], name=function_name(f))
    return chosen, aux, recording


def _with_aux_tree(f: F, call: F, aux: _Aux) -> F:
    def call_with_aux(*args: Any) -> Any:
        value, *rest = _with_aux(f, call, aux)(*args)
        return value, rest

    return call_with_aux


def _split_aux(recording: Recording, has_aux: bool) -> tuple[int, Any]:
    """How many outputs belong to the value, and its structure."""
    if not has_aux:
        return len(recording.tape.outputs), recording.out_treedef
    value, _ = tree.unflatten(recording.out_treedef, list(range(len(recording.tape.outputs))))
    leaves, treedef = tree.flatten(value)
    return len(leaves), treedef


class _Linear:
    """The second part of a partitioned tape with its residuals: a linear function, to be called at will."""

    def __init__(self, tape: Tape, residuals: Sequence[Any], names: str, in_def: Any, out_def: Any) -> None:
        self._recording = Recording(tape, out_def, programs={})
        self._residuals = list(residuals)
        self._avals = tape.in_avals[len(self._residuals) :]
        self._in_def = in_def
        self._names = names

    def __call__(self, given: Any) -> Any:
        difference = tree.mismatch(self._in_def, given)
        if difference is not None:
            raise StructureError(message(f"{self._names}: {difference}"))
        leaves = tree.flatten(given)[0]
        values = [
            _checked_like(x, aval, lambda k=k: f"{self._names}{tree.path(self._in_def, k)}")
            for k, (x, aval) in enumerate(zip(leaves, self._avals, strict=True))
        ]
        outs = execute(self._recording, (), self._residuals, values)
        return tree.unflatten(self._recording.out_treedef, outs)


def _checked_like(x: Any, aval: Aval, path: Callable[[], str]) -> Any:
    """``x`` in the type of ``aval``; raises where the shape differs, or where a cast would lose something."""
    if not is_number(x):
        raise DTypeError(message(f"{path()}: expected {aval}, got a {type(x).__name__}"))
    if np.shape(x) != aval.shape:
        raise ShapeError(message(f"{path()}: expected {aval}, got shape {list(np.shape(x))}"))
    if type(x) is Tracer:
        return x if x.dtype == aval.dtype else x.astype(aval.dtype)
    kind = x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype
    if not np.can_cast(kind, aval.dtype, "same_kind"):
        raise DTypeError(message(f"{path()}: expected {aval}, got {kind}"))
    return np.asarray(x, aval.dtype)


def vjp(f: F, *primals: Any, has_aux: bool = False, nan_safe: bool = False) -> Any:
    """``f(*primals)`` and its pullback, ``ct -> (cotangent of each primal, ...)``.

    The pullback takes a cotangent of the structure, shapes and dtypes of the value, may be called many times, and
    keeps what it needs as it was: later writes to the primals do not reach it.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> y, pullback = wg.vjp(np.sin, np.array([0.0, 1.0]))
    >>> pullback(np.array([1.0, 0.0]))
    (array([1., 0.]),)
    """
    chosen, aux, recording = _record_primals(f, primals, has_aux)
    n, n_out = len(chosen.leaves), len(recording.tape.outputs)
    n_value, out_def = _split_aux(recording, has_aux)
    numbers = tuple(k for k in range(n_value) if recording.tape.outputs[k].aval.is_inexact)
    if len(numbers) < n_value:
        raise DTypeError(
            message(
                f"vjp: {function_name(f)} returns integers or booleans, which have no cotangent",
                tries=["has_aux=True, to return them beside the value"],
            )
        )
    n_in = len(recording.tape.inputs)
    pull: Transform = (vjp_of_tape, (tuple(range(n)), numbers, "given", False, nan_safe))
    outs = execute(recording, (pull, (first_part, (n_in, n_out))), chosen.leaves)
    tape = transformed(without_guards(recording.tape), (pull, (second_part, (n_in, n_out))))
    pullback = _Linear(tape, outs[n_out:], "the cotangent", out_def, chosen.treedef)
    value = tree.unflatten(out_def, outs[:n_value])
    return (value, pullback, aux.give(outs[n_value:n_out])) if has_aux else (value, pullback)


def linearize(f: F, *primals: Any, nan_safe: bool = False) -> tuple[Any, F]:
    """``f(*primals)`` and the linear function of tangents ``(*dprimals) -> dvalue`` at that point.

    >>> import numpy as np, wengert as wg
    >>> y, push = wg.linearize(lambda x: x**3, 2.0)
    >>> push(1.0)
    np.float64(12.0)
    """
    chosen, _, recording = _record_primals(f, primals, False)
    n_in, n_out = len(recording.tape.inputs), len(recording.tape.outputs)
    push: Transform = (jvp_of_tape, (tuple(range(len(chosen.leaves))), None, nan_safe))
    outs = execute(recording, (push, (first_part, (n_in, n_out))), chosen.leaves)
    tape = transformed(without_guards(recording.tape), (push, (second_part, (n_in, n_out))))
    linear = _Linear(tape, outs[n_out:], "the tangent", chosen.treedef, recording.out_treedef)

    def pushforward(*tangents: Any) -> Any:
        return linear(tangents)

    return tree.unflatten(recording.out_treedef, outs[:n_out]), pushforward


def jvp(f: F, primals: Sequence[Any], tangents: Sequence[Any], *, nan_safe: bool = False) -> tuple[Any, Any]:
    """``f(*primals)`` and its derivative in the direction ``tangents``.

    ``tangents`` has the structure, shapes and dtypes of ``primals``.

    >>> import numpy as np, wengert as wg
    >>> wg.jvp(lambda x, y: x * y, (2.0, 3.0), (1.0, 0.0))
    (np.float64(6.0), np.float64(3.0))
    """
    primals, tangents = tuple(primals), tuple(tangents)
    chosen, _, recording = _record_primals(f, primals, False)
    difference = tree.mismatch(chosen.treedef, tangents)
    if difference is not None:
        raise StructureError(message(f"jvp: tangents {difference}"))
    avals = recording.tape.in_avals
    values = [
        _checked_like(x, avals[k], lambda k=k: f"tangents{tree.path(chosen.treedef, k)}")
        for k, x in enumerate(tree.flatten(tangents)[0])
    ]
    n_out = len(recording.tape.outputs)
    push: Transform = (jvp_of_tape, (tuple(range(len(values))), None, nan_safe))
    outs = execute(recording, (push,), chosen.leaves, values)
    return tree.unflatten(recording.out_treedef, outs[:n_out]), tree.unflatten(recording.out_treedef, outs[n_out:])


# ------------------------------------------------------------------------------------------ matrices of derivatives


def jacobian(
    f: F, argnums: int | Sequence[int] = 0, *, wrt: F | None = None, mode: str | None = None, nan_safe: bool = False
) -> F:
    """The function that returns the Jacobian of ``f``: for each output ``y`` and input ``x``, float[*y, *x].

    The structure is that of the value, with that of the argument in place of each leaf. ``mode`` is "forward" (one
    batched pass with as many tangents as there are inputs) or "reverse" (as many cotangents as outputs); by default
    the one with fewer.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> wg.jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    if mode not in (None, "forward", "reverse"):
        raise ValueError(f"mode={mode!r}: expected 'forward', 'reverse' or None")

    @_named_like(f)
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        call, leaves, treedef = _choose(f, args, kwargs, argnums, wrt)
        recording = record_call(call, [input_of(x) for x in leaves], name=function_name(f))
        tape = recording.tape
        ins, outs = tape.in_avals[: len(leaves)], tape.out_avals
        _check_inexact(f, outs)
        n_in, n_out = sum(a.size for a in ins), sum(a.size for a in outs)
        forward = n_in <= n_out if mode is None else mode == "forward"
        along, size = (ins, n_in) if forward else (outs, n_out)
        wrt_inputs = tuple(range(len(leaves)))
        if forward:
            transform: Transform = (jvp_of_tape, (wrt_inputs, None, nan_safe))
        else:
            transform = (vjp_of_tape, (wrt_inputs, tuple(range(len(outs))), "given", False, nan_safe))
        flags = (*[False] * len(tape.inputs), *[True] * len(along))
        transforms = (transform, (keep_outputs, (len(outs),)), (batch_of_tape, (flags, size)))
        rows = execute(recording, transforms, leaves, _basis(along, size))
        blocks: list[list[Any]] = []
        for k, y in enumerate(outs):
            blocks.append([])
            for j, x in enumerate(ins):
                if forward:
                    block = np.moveaxis(_rows_of(rows[k], ins, j), 0, -1)
                else:
                    block = _rows_of(rows[j], outs, k)
                blocks[k].append(np.reshape(block, (*y.shape, *x.shape)))
        return tree.unflatten(recording.out_treedef, [tree.unflatten(treedef, row) for row in blocks])

    return jacobian_of


def _check_inexact(f: F, outs: Sequence[Aval]) -> None:
    for aval in outs:
        if not aval.is_inexact:
            raise DTypeError(message(f"jacobian: {function_name(f)} returns {aval}, and an integer has no derivative"))


def _basis(avals: Sequence[Aval], size: int) -> list[Any]:
    """The unit tangents of several arrays together: float[size, *shape] each; constants, while somebody is tracing."""
    basis, first, trace = [], 0, current_trace()
    for aval in avals:
        block = np.zeros((size, aval.size), aval.dtype)
        np.fill_diagonal(block[first : first + aval.size], 1)
        block = block.reshape(size, *aval.shape)
        basis.append(block if trace is None else new_constant(trace, block, is_scalar=False))
        first += aval.size
    return basis


def _rows_of(rows: Any, avals: Sequence[Aval], j: int) -> Any:
    first = sum(a.size for a in avals[:j])
    return rows[first : first + avals[j].size]


def hessian(f: F, argnums: int | Sequence[int] = 0, *, wrt: F | None = None, nan_safe: bool = False) -> F:
    """The function that returns the matrix of second derivatives of a scalar function, forward over reverse.

    >>> import numpy as np, wengert as wg
    >>> wg.hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    return jacobian(grad(f, argnums, wrt=wrt, nan_safe=nan_safe), argnums, wrt=wrt, mode="forward", nan_safe=nan_safe)


def hvp(f: F, primals: Sequence[Any], tangents: Sequence[Any], *, nan_safe: bool = False) -> Any:
    """The Hessian of a scalar function times a vector, at the cost of a few gradients; no matrix is formed.

    Returns the product with the structure of ``primals``; for one primal, that one alone.

    >>> import numpy as np, wengert as wg
    >>> wg.hvp(lambda x: np.sum(x**3), (np.array([1.0, 2.0]),), (np.array([1.0, 1.0]),))
    array([ 6., 12.])
    """
    argnums = 0 if len(primals) == 1 else tuple(range(len(primals)))
    return jvp(grad(f, argnums, nan_safe=nan_safe), primals, tangents, nan_safe=nan_safe)[1]


# ---------------------------------------------------------------------------------------------------------- vmap


def vmap(f: F, in_axes: Any = 0, out_axes: int = 0) -> F:
    """``f`` over a batch of arguments at once, without a Python loop.

    ``in_axes`` says which axis of each argument is the batch (an int), or that it has none (None): one for all, or a
    tuple with an entry an argument, each an int, None, or a pytree of them with the structure of the argument.
    ``out_axes`` is where the batch stands in the results.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> wg.vmap(np.dot, in_axes=(0, None))(np.eye(2), np.array([3.0, 4.0]))
    array([3., 4.])
    """

    @_named_like(f)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, treedef = tree.flatten((args, kwargs))
        axes = _leaf_axes(in_axes, args, kwargs)
        size = _batch_size(f, leaves, axes, treedef)
        inputs: list[Input] = []
        values: list[Any] = []
        traced: list[int] = []
        flags: list[bool] = []
        for k, (x, axis) in enumerate(zip(leaves, axes, strict=True)):
            if axis is None:
                continue
            array: Any = x if type(x) is Tracer else np.asarray(x)
            moved = np.moveaxis(array, axis, 0)
            first = (
                moved[0] if type(moved) is not Tracer and size else None
            )  # for what needs an example to see its type
            inputs.append(Input(Aval(moved.shape[1:], moved.dtype), first, None, moved.ndim == 1))
            values.append(moved)
            traced.append(k)
            flags.append(True)

        shared = [x for x, axis in zip(leaves, axes, strict=True) if axis is None]

        def call(*tracers: Any) -> Any:
            lend(shared, {})
            new = list(leaves)
            for k, t in zip(traced, tracers, strict=True):
                new[k] = t
            a, kw = tree.unflatten(treedef, new)
            return f(*a, **kw)

        recording = record_call(
            call, inputs, name=function_name(f), concrete=False, why_abstract="vmap runs all examples at once"
        )
        flags += [False] * len(recording.implicit)
        outs = execute(recording, ((batch_of_tape, (tuple(flags), size)),), values)
        if out_axes != 0:
            outs = [np.moveaxis(x, 0, out_axes) for x in outs]
        return tree.unflatten(recording.out_treedef, outs)

    return mapped


def _leaf_axes(in_axes: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int | None]:
    per_arg = list(in_axes) if isinstance(in_axes, tuple | list) else [in_axes] * len(args)
    if len(per_arg) != len(args):
        raise StructureError(message(f"vmap: in_axes has {len(per_arg)} entries for {len(args)} arguments"))
    axes: list[int | None] = []
    for spec, arg in zip(per_arg, args, strict=True):
        axes += _spread_axes(spec, arg)
    return axes + [0] * len(tree.flatten(kwargs)[0])


def _spread_axes(spec: Any, arg: Any) -> list[int | None]:
    """One axis a leaf of ``arg``, from a spec that has its structure or the beginning of it."""
    if spec is None or isinstance(spec, int):
        return [spec] * len(tree.flatten(arg)[0])
    if isinstance(spec, dict) and isinstance(arg, dict) and spec.keys() == arg.keys():
        keys = list(arg) if isinstance(arg, OrderedDict) else sorted(arg)  # the order in which tree takes the leaves
        return [a for k in keys for a in _spread_axes(spec[k], arg[k])]
    if isinstance(spec, tuple | list) and isinstance(arg, tuple | list) and len(spec) == len(arg):
        return [a for s, x in zip(spec, arg, strict=True) for a in _spread_axes(s, x)]
    raise StructureError(message(f"vmap: in_axes {spec!r} does not fit the argument {tree.describe(arg)}"))


def _batch_size(f: F, leaves: Sequence[Any], axes: Sequence[int | None], treedef: Any) -> int:
    size: int | None = None
    first = ""
    for k, (x, axis) in enumerate(zip(leaves, axes, strict=True)):
        if axis is None:
            continue
        shape = np.shape(x)
        if not -len(shape) <= axis < len(shape):
            raise ShapeError(
                message(
                    f"vmap: argument{tree.path(treedef, k)} has shape {list(shape)} and no axis {axis}",
                    tries=["in_axes=None for an argument that is not batched"],
                )
            )
        if size is None:
            size, first = shape[axis], tree.path(treedef, k)
        elif shape[axis] != size:
            raise ShapeError(
                message(
                    f"vmap: batch sizes differ, {size} in argument{first} "
                    f"and {shape[axis]} in argument{tree.path(treedef, k)}"
                )
            )
    if size is None:
        raise StructureError(message(f"vmap of {function_name(f)}: no argument is batched"))
    return size


# --------------------------------------------------------------------------------------------- tapes and programs


def trace(f: F) -> F:
    """The function that returns the tape of ``f`` for given arguments: ``print(wg.trace(f)(*args))``.

    >>> import numpy as np, wengert as wg
    >>> tape = wg.trace(lambda x: np.sum(np.exp(x)))(np.ones(3))
    >>> len(tape)
    2
    """

    @_named_like(f)
    def tape_of(*args: Any, **kwargs: Any) -> Tape:
        leaves, treedef = tree.flatten((args, kwargs) if kwargs else args)
        tape, *_ = trace_whole(f, function_name(f), leaves, treedef, bool(kwargs))
        return number_guards(tape)[0]

    return tape_of


def compile(tape: Tape) -> Program:
    """``tape``, optimised, as a program: ``program(*args)``. One path: raises GuardError off it."""
    return Program(passes.run(number_guards(tape)[0]))


def jit(f: F) -> Jit:
    """``f``, traced once for each signature and path, and run as compiled programs from then on.

    Branches on values are guards, captured arrays are read at every call; see :class:`~wengert.runtime.jit.Jit` for
    ``stats()``, ``program(*args)`` and ``clear()``. Calls take ``out=``, arrays to write the results into.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> @wg.jit
    ... def f(x):
    ...     return x if x > 0 else -(x**3)
    >>> f(2.0), f(-2.0)
    (np.float64(2.0), np.float64(8.0))
    """
    return Jit(f)


def fastmath() -> Callable[[F], Jit]:
    """A decorator as :func:`jit`, for programs that may compute some functions faster and a little less exactly.

    ``exp`` and ``expit`` are then within 2 units in the last place, ``tanh`` within 3 (float64) or 5 (float32),
    ``log_expit`` and ``logaddexp`` within 2; results that would be subnormal are 0. Everything else is as ever.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> step = wg.fastmath()(wg.grad(lambda x: np.sum(np.tanh(x))))
    >>> step(np.array([0.0, 1.0]))
    array([1.        , 0.41997434])
    """
    return lambda f: Jit(f, is_fast=True)


def constant(value: Any) -> Any:
    """A read-only copy of an array, or of each array of a pytree: what depends on it alone is computed once.

    >>> import numpy as np, wengert as wg
    >>> wg.constant(np.ones(3)).flags.writeable
    False
    """

    def freeze(leaf: Any) -> Any:
        if type(leaf) is Tracer and leaf.constant() is None:
            raise NotDifferentiableError(
                message(
                    f"constant: a traced {leaf.aval} is not promised to stay what it is",
                    leaf._trace.locate(),
                    tries=[
                        "wg.stop_gradient(x), for no derivative through x",
                        "wg.constant(x) outside of the traced function, for an array that it captures",
                    ],
                )
            )
        if not isinstance(leaf, np.ndarray):
            return leaf
        copy = leaf.copy()
        copy.flags.writeable = False
        return copy

    return tree.tree_map(freeze, value)


_bodies: dict[Any, Tape] = {}  # equal scalar tapes are one object, so that tapes which hold them are equal too


def broadcast(f: F, *arrays: Any) -> Any:
    """``f``, a function of scalars, for each element of the broadcast arrays: one instruction on the tape.

    ``f`` is ordinary Python with NumPy's ufuncs on numbers; it runs once, and must not branch on its arguments.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> wg.broadcast(lambda a, b: a * b + 1, np.array([1.0, 2.0]), 3.0)
    array([4., 7.])
    """
    given = [x if type(x) is Tracer else np.asarray(x) for x in arrays]
    inputs = [Input(Aval((), x.dtype), None, None, True) for x in given]
    recording = record_call(
        f, inputs, name=function_name(f), concrete=False, why_abstract="broadcast records one step for all elements"
    )
    tape = recording.tape
    if len(tape.outputs) != 1 or tape.outputs[0].aval.shape:
        raise ShapeError(message(f"broadcast: {function_name(f)} must return one number; it returned {tape.out_avals}"))
    for instr in tape.instrs:
        if not instr.op.is_elementwise:
            raise UnsupportedFunctionError(
                message(
                    f"broadcast: {instr.op.name} is not a function of numbers",
                    instr.source,
                    tries=["ufuncs and arithmetic in the function, arrays outside of it"],
                )
            )
    captured = [c.array for c in tape.captures]  # what the function captured are further operands
    body = tape.replace(inputs=(*tape.inputs, *[c.var for c in tape.captures]), captures=(), name=function_name(f))
    if len(_bodies) > config.max_programs:
        _bodies.clear()
    body = _bodies.setdefault(structure(body), body)
    operands = [*given, *recording.implicit, *captured]
    if any(type(x) is Tracer for x in operands):
        return record(map_scalar, operands, {"body": body})
    return map_scalar.reference(*operands, body=body)[()]
