"""First derivatives: gradients, and the products of a Jacobian with a vector on either side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from wengert import tree
from wengert.ad.forward import jvp as jvp_of_tape
from wengert.ad.mode import gradient as gradient_of_tape
from wengert.ad.partition import first_part, second_part
from wengert.ad.reverse import vjp as vjp_of_tape
from wengert.api.auxiliary import Aux, split_aux, with_aux, with_aux_tree
from wengert.api.chosen import Chosen, check_no_units, choose
from wengert.api.linear import Linear, checked_like
from wengert.api.named import AuxValue, F, P, R, function_name, made_by
from wengert.api.recording import record_for_transform
from wengert.errors import DTypeError, ScalarOutputError, StructureError, message
from wengert.expect import checked
from wengert.ops.control import stop_gradient as stop_gradient_op
from wengert.passes.number_guards import without_guards
from wengert.runtime.execute import Transform, execute, transformed
from wengert.tracebacks import fold
from wengert.tracing import foreign
from wengert.tracing.emit import record
from wengert.tracing.record import Recording, input_of
from wengert.tracing.tracer import Tracer
from wengert.tracing.ways import steps_of


@overload
def value_and_grad(
    f: Callable[P, tuple[R, AuxValue]],
    argnums: int | Sequence[int] = 0,
    *,
    wrt: F | None = None,
    has_aux: Literal[True],
    nan_safe: bool = False,
) -> Callable[P, tuple[tuple[R, AuxValue], Any]]: ...
@overload
def value_and_grad(
    f: Callable[P, R],
    argnums: int = 0,
    *,
    wrt: F | None = None,
    has_aux: Literal[False] = False,
    nan_safe: bool = False,
) -> Callable[P, tuple[R, Any]]: ...
@overload
def value_and_grad(
    f: Callable[P, R],
    argnums: Sequence[int],
    *,
    wrt: None = None,
    has_aux: Literal[False] = False,
    nan_safe: bool = False,
) -> Callable[P, tuple[R, tuple[Any, ...]]]: ...
@overload
def value_and_grad(
    f: Callable[P, R],
    argnums: int | Sequence[int] = 0,
    *,
    wrt: F | None = None,
    has_aux: bool = False,
    nan_safe: bool = False,
) -> Callable[P, tuple[R, Any]]: ...
@checked
def value_and_grad(
    f: F, argnums: int | Sequence[int] = 0, *, wrt: F | None = None, has_aux: bool = False, nan_safe: bool = False
) -> Any:
    """Return the function that computes the value of ``f`` and its gradient.

    Parameters
    ----------
    f : returns one real number (shape ``()``), or ``(number, aux)`` with ``has_aux``.
    argnums : the positional argument, or the arguments, to differentiate with respect to: pytrees of real or complex
        numbers. With respect to z = x + iy the gradient is ∂f/∂x − i ∂f/∂y: ``z - rate * np.conj(gradient)`` descends.
    wrt : selects leaves instead, ``wrt=lambda args: args[0].c2``; all others are constants.
    has_aux : ``f`` returns ``(value, aux)``; ``aux`` is any pytree, returned beside the value.
    nan_safe : a cotangent of exactly zero stays zero whatever derivative it meets (0 · ∞ = 0).

    Returns
    -------
    function of ``f``'s arguments giving ``(value, gradient)``, or ``((value, aux), gradient)``. The gradient has
    the structure of what it is taken with respect to, and each leaf the shape and dtype of its primal.

    Raises
    ------
    ScalarOutputError : at a call, the value is not one real number.
    DTypeError : at a call, an argument to differentiate with respect to is neither real nor complex.
    StructureError : at a call, there is no argument of that number, ``wrt`` selects nothing, or ``f`` returns no
        ``(value, aux)``.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> value, gradient = wg.value_and_grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    >>> float(value), gradient
    (5.0, array([2., 4.]))
    """

    return _value_and_gradient(f, argnums, wrt, has_aux, nan_safe, with_value=True)


def _value_and_gradient(f: F, argnums: Any, wrt: F | None, has_aux: bool, nan_safe: bool, with_value: bool) -> F:
    steps = steps_of(f)

    options = {"argnums": argnums, "wrt": wrt, "has_aux": has_aux, "nan_safe": nan_safe}

    @made_by(value_and_grad if with_value else grad, f, **options)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        try:
            call, leaves, treedef = choose(f, args, kwargs, argnums, wrt)
            aux = Aux()
            inputs = [input_of(x) for x in leaves]
            run = (lambda way: with_aux(f, call(way), aux)) if has_aux else call
            recording = record_for_transform(f, run, inputs, steps=steps)
            check_no_units(f, treedef, recording.out_treedef)
            _check_scalar(f, recording, has_aux)
            n = len(leaves)
            transform = (gradient_of_tape, (tuple(range(n)), nan_safe))
            outs = execute(recording, (transform,), leaves, call=(f, args, kwargs))
            first = len(outs) - n
            gradient = tree.unflatten(treedef, outs[first:])
            if not with_value:
                return (gradient, aux.give(outs[1:first])) if has_aux else gradient
            if has_aux:
                return (outs[0], aux.give(outs[1:first])), gradient
            return tree.unflatten(recording.out_treedef, outs[:first]), gradient
        except Exception as error:  # any: it goes on, with a shorter traceback
            fold(error)
            raise

    return value_and_gradient


def _check_scalar(f: F, recording: Recording, has_aux: bool) -> None:
    outputs = recording.tape.outputs
    ok = bool(outputs) if has_aux else len(outputs) == 1
    if ok and outputs[0].aval.shape == () and outputs[0].aval.dtype.kind == "f":
        return
    what = str(outputs[0].aval) if len(outputs) == 1 or (has_aux and outputs) else f"{len(outputs)} values"
    tries = ["wg.jacobian or wg.vjp, for a function with several outputs"]
    if ok and outputs[0].aval.shape == () and outputs[0].aval.dtype.kind == "c":
        tries = ["np.real or np.abs of it", "wg.jvp, wg.vjp or wg.jacobian, which take complex values"]
    elif ok and outputs[0].aval.dtype.kind == "f":
        tries.insert(0, "np.sum of it, or one element")
    elif not ok:
        tries.insert(0, "has_aux=True, to return values beside the one that is differentiated")
    raise ScalarOutputError(
        message(f"grad needs one real number from {function_name(f)}, float64[]; it returned {what}", tries=tries)
    )


@overload
def grad(
    f: Callable[P, tuple[Any, AuxValue]],
    argnums: int | Sequence[int] = 0,
    *,
    wrt: F | None = None,
    has_aux: Literal[True],
    nan_safe: bool = False,
) -> Callable[P, tuple[Any, AuxValue]]: ...
@overload
def grad(
    f: Callable[P, Any],
    argnums: int = 0,
    *,
    wrt: F | None = None,
    has_aux: Literal[False] = False,
    nan_safe: bool = False,
) -> Callable[P, Any]: ...
@overload
def grad(
    f: Callable[P, Any],
    argnums: Sequence[int],
    *,
    wrt: None = None,
    has_aux: Literal[False] = False,
    nan_safe: bool = False,
) -> Callable[P, tuple[Any, ...]]: ...
@overload
def grad(
    f: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    *,
    wrt: F | None = None,
    has_aux: bool = False,
    nan_safe: bool = False,
) -> Callable[P, Any]: ...
@checked
def grad(
    f: F, argnums: int | Sequence[int] = 0, *, wrt: F | None = None, has_aux: bool = False, nan_safe: bool = False
) -> Any:
    """Return the function that computes the gradient of ``f``, a function that returns one real number.

    Parameters
    ----------
    f : returns one real number (shape ``()``), or ``(number, aux)`` with ``has_aux``.
    argnums : the positional argument, or the arguments, to differentiate with respect to: pytrees of real or complex
        numbers.
    wrt : selects leaves instead, ``wrt=lambda args: args[0].c2``; all others are constants.
    has_aux : ``f`` returns ``(value, aux)``, and what is returned here gives ``(gradient, aux)``.
    nan_safe : a cotangent of exactly zero stays zero whatever derivative it meets (0 · ∞ = 0).

    Returns
    -------
    function of ``f``'s arguments giving the gradient, in the structure of what it is taken with respect to. Errors, and
    the gradient with respect to complex numbers, are those of :func:`value_and_grad`.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> wg.grad(lambda x: x**3)(2.0)
    np.float64(12.0)
    >>> loss = lambda p, x: np.sum(p["w"] * x)
    >>> wg.grad(loss)({"w": np.ones(2)}, np.array([3.0, 4.0]))
    {'w': array([3., 4.])}
    >>> wg.grad(loss, argnums=1)({"w": np.ones(2)}, np.array([3.0, 4.0]))
    array([1., 1.])
    """
    return _value_and_gradient(f, argnums, wrt, has_aux, nan_safe, with_value=False)


@checked
def stop_gradient(x: Any) -> Any:
    """Return ``x`` as a constant to every derivative. A pytree gives a pytree.

    >>> import numpy as np, wengert as wg
    >>> wg.grad(lambda x: x * wg.stop_gradient(x))(3.0)
    np.float64(3.0)
    """
    return tree.map(lambda leaf: record(stop_gradient_op, (leaf,), {}) if type(leaf) is Tracer else leaf, x)


# ------------------------------------------------------------------------------------------------- vjp and jvp


def record_primals(f: F, primals: Sequence[Any], has_aux: bool) -> tuple[Chosen, Aux, Recording]:
    """Record ``f`` at ``primals``, all of which are differentiated."""
    chosen = choose(f, tuple(primals), {}, tuple(range(len(primals))), None)
    aux = Aux()
    run = (lambda way: with_aux_tree(f, chosen.call(way), aux)) if has_aux else chosen.call
    recording = record_for_transform(f, run, [input_of(x) for x in chosen.leaves], steps=steps_of(f))
    check_no_units(f, chosen.treedef, recording.out_treedef)
    return chosen, aux, recording


@overload
def vjp(
    f: Callable[..., R], *primals: Any, has_aux: Literal[False] = False, nan_safe: bool = False
) -> tuple[R, Callable[[Any], tuple[Any, ...]]]: ...
@overload
def vjp(
    f: Callable[..., tuple[R, AuxValue]], *primals: Any, has_aux: Literal[True], nan_safe: bool = False
) -> tuple[R, Callable[[Any], tuple[Any, ...]], AuxValue]: ...
@overload
def vjp(f: F, *primals: Any, has_aux: bool, nan_safe: bool = False) -> Any: ...
@checked
def vjp(f: F, *primals: Any, has_aux: bool = False, nan_safe: bool = False) -> Any:
    """Return ``f(*primals)`` and its pullback, ``ct -> (cotangent of each primal, ...)``.

    Parameters
    ----------
    f : a function of pytrees of real or complex arrays, which returns such.
    primals : its arguments.
    has_aux : ``f`` returns ``(value, aux)``, and then so is the result: ``value, pullback, aux``.
    nan_safe : a cotangent of exactly zero stays zero whatever derivative it meets (0 · ∞ = 0).

    Returns
    -------
    value, pullback
        The pullback takes a cotangent of the structure, shapes and dtypes of the value, may be called many times, and
        keeps what it needs as it was: later writes to the primals do not reach it. Of complex numbers it transposes and
        does not conjugate: f'(z) · ct for a holomorphic f; always Re(pullback(ct) · dz) = Re(ct · df).

    Raises
    ------
    DTypeError : a primal is neither real nor complex.
    ShapeError, StructureError : of the pullback, whose cotangent is not like the value.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> y, pullback = wg.vjp(np.sin, np.array([0.0, 1.0]))
    >>> pullback(np.array([1.0, 0.0]))
    (array([1., 0.]),)
    """
    chosen, aux, recording = record_primals(f, primals, has_aux)
    n, n_out = len(chosen.leaves), len(recording.tape.outputs)
    n_value, out_def = split_aux(recording, has_aux)
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
    outs = execute(recording, (pull, (first_part, (n_in, n_out))), chosen.leaves, call=(f, primals, {}))
    tape = transformed(without_guards(recording.tape), (pull, (second_part, (n_in, n_out))))
    pullback = Linear(tape, outs[n_out:], "the cotangent", out_def, chosen.treedef)
    value = tree.unflatten(out_def, outs[:n_value])
    return (value, pullback, aux.give(outs[n_value:n_out])) if has_aux else (value, pullback)


@checked
def linearize(f: Callable[..., R], *primals: Any, nan_safe: bool = False) -> tuple[R, Callable[..., R]]:
    """Return ``f(*primals)`` and the linear function of tangents ``(*dprimals) -> dvalue`` at that point.

    The function keeps what it needs, so each call costs no run of ``f``: for many tangents it is cheaper than
    :func:`jvp`.

    Parameters
    ----------
    f : a function of pytrees of real or complex arrays, which returns such.
    primals : its arguments.
    nan_safe : a tangent of exactly zero stays zero whatever derivative it meets (0 · ∞ = 0).

    Raises
    ------
    DTypeError : a primal is neither real nor complex.
    ShapeError, StructureError : of the linear function, whose tangents are not like the primals.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> y, push = wg.linearize(lambda x: x**3, 2.0)
    >>> push(1.0)
    np.float64(12.0)
    """
    chosen, _, recording = record_primals(f, primals, False)
    n_in, n_out = len(recording.tape.inputs), len(recording.tape.outputs)
    push: Transform = (jvp_of_tape, (tuple(range(len(chosen.leaves))), None, nan_safe))
    outs = execute(recording, (push, (first_part, (n_in, n_out))), chosen.leaves, call=(f, primals, {}))
    tape = transformed(without_guards(recording.tape), (push, (second_part, (n_in, n_out))))
    linear = Linear(tape, outs[n_out:], "the tangent", chosen.treedef, recording.out_treedef)

    def pushforward(*tangents: Any) -> Any:
        try:
            return linear(tangents)
        except Exception as error:  # any: it goes on, with a shorter traceback
            fold(error)
            raise

    return tree.unflatten(recording.out_treedef, outs[:n_out]), pushforward


@checked
def jvp(f: Callable[..., R], primals: Sequence[Any], tangents: Sequence[Any], *, nan_safe: bool = False) -> tuple[R, R]:
    """Return ``f(*primals)`` and its derivative in the direction ``tangents``.

    Parameters
    ----------
    f : a function of pytrees of real or complex arrays, which returns such.
    primals : a tuple or list of its arguments.
    tangents : of the structure and shapes of ``primals``.
    nan_safe : a tangent of exactly zero stays zero whatever derivative it meets (0 · ∞ = 0).

    Returns
    -------
    value, dvalue
        Both have the structure, shapes and dtypes of the value.

    Raises
    ------
    DTypeError : a primal is neither real nor complex.
    ShapeError, StructureError : the tangents are not like the primals.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> wg.jvp(lambda x, y: x * y, (2.0, 3.0), (1.0, 0.0))
    (np.float64(6.0), np.float64(3.0))
    """
    primals, tangents = tuple(primals), tuple(tangents)
    chosen, _, recording = record_primals(f, primals, False)
    difference = tree.mismatch(chosen.treedef, tangents)
    if difference is not None:
        raise StructureError(message(f"jvp: tangents {difference}"))
    avals = recording.tape.in_avals
    values = [
        checked_like(x, avals[k], lambda k=k: f"tangents{tree.path(chosen.treedef, k)}")
        for k, x in enumerate(foreign.flatten(tangents)[0])
    ]
    n_out = len(recording.tape.outputs)
    push: Transform = (jvp_of_tape, (tuple(range(len(values))), None, nan_safe))
    outs = execute(recording, (push,), chosen.leaves, values, (f, primals, {}))
    return tree.unflatten(recording.out_treedef, outs[:n_out]), tree.unflatten(recording.out_treedef, outs[n_out:])
