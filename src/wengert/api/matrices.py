"""Matrices of derivatives: Jacobians, Hessians, and Hessian times vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert import tree
from wengert.ad.activity import first_not_holomorphic
from wengert.ad.forward import jvp as jvp_of_tape
from wengert.ad.mode import is_forward
from wengert.ad.partition import keep_outputs
from wengert.ad.reverse import vjp as vjp_of_tape
from wengert.api.chosen import check_no_units, choose
from wengert.api.derivatives import grad, jvp
from wengert.api.named import F, P, function_name, made_by
from wengert.api.recording import record_for_transform
from wengert.batching import batch as batch_of_tape
from wengert.errors import DTypeError, message
from wengert.expect import checked
from wengert.runtime.execute import Transform, execute
from wengert.tape import Aval, Tape
from wengert.tracebacks import fold
from wengert.tracing.emit import new_constant
from wengert.tracing.record import input_of
from wengert.tracing.stack import current_trace
from wengert.tracing.ways import Way, steps_of


@checked
def jacobian(
    f: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    *,
    wrt: F | None = None,
    mode: str | None = None,
    real: bool = False,
    nan_safe: bool = False,
) -> Callable[P, Any]:
    """Return the function that computes the Jacobian of ``f``: for each output ``y`` and input ``x``, float[*y, *x].

    The structure is that of the value, with that of the argument in place of each leaf.

    With respect to complex numbers it is the complex derivative, complex[*y, *x], and a function that has none, since
    it conjugates or takes a real part on the way, is refused.

    Parameters
    ----------
    f : a function of pytrees of arrays, which returns such.
    argnums, wrt, nan_safe : as for :func:`value_and_grad`.
    mode : "forward" (one batched pass with as many tangents as there are inputs) or "reverse" (as many cotangents as
        outputs); by default the one with fewer, where a cotangent counts for three if a loop runs an unknown number of
        times: its way back runs it again.
    real : take a complex array for two real ones, its real and its imaginary part, in values and arguments:
        float[2, *y, 2, *x], without the 2 where one is real.

    Raises
    ------
    DTypeError : a value or argument is an integer; ``f`` is not holomorphic; ``mode="reverse"`` of complex values of
        real arguments, of which it would see half.
    ValueError : another mode.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> wg.jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    if mode not in (None, "forward", "reverse"):
        raise ValueError(f"mode={mode!r}: expected 'forward', 'reverse' or None")

    steps = steps_of(f)

    @made_by(jacobian, f, argnums=argnums, wrt=wrt, mode=mode, real=real, nan_safe=nan_safe)
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        try:
            call, leaves, treedef = choose(f, args, kwargs, argnums, wrt)
            if real:
                call, leaves = _of_parts(call, leaves)
            recording = record_for_transform(f, call, [input_of(x) for x in leaves], steps=steps)
            check_no_units(f, treedef, recording.out_treedef)
            tape = recording.tape
            ins, outs = tape.in_avals[: len(leaves)], tape.out_avals
            _check_inexact(f, outs)
            _check_holomorphic(f, tape, len(leaves))
            n_in, n_out = sum(a.size for a in ins), sum(a.size for a in outs)
            forward = is_forward(tape, n_in, n_out) if mode is None else mode == "forward"
            if any(a.dtype.kind == "c" for a in outs) and any(a.dtype.kind != "c" for a in ins):
                if mode == "reverse":
                    raise DTypeError(
                        message(
                            f"jacobian: {function_name(f)} returns complex numbers for real arguments, and "
                            "mode='reverse' gives the derivative of their real parts alone",
                            tries=["mode='forward'", "real=True, for real and imaginary parts"],
                        )
                    )
                forward = True
            along, size = (ins, n_in) if forward else (outs, n_out)
            wrt_inputs = tuple(range(len(leaves)))
            if forward:
                transform: Transform = (jvp_of_tape, (wrt_inputs, None, nan_safe))
            else:
                transform = (vjp_of_tape, (wrt_inputs, tuple(range(len(outs))), "given", False, nan_safe))
            flags = (*[False] * len(tape.inputs), *[True] * len(along))
            transforms = (transform, (keep_outputs, (len(outs),)), (batch_of_tape, (flags, size)))
            rows = execute(recording, transforms, leaves, _basis(along, size), (f, args, kwargs))
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
        except Exception as error:  # any: it goes on, with a shorter traceback
            fold(error)
            raise

    return jacobian_of


def _of_parts(call: Callable[[Way], F], leaves: Sequence[Any]) -> tuple[Callable[[Way], F], list[Any]]:
    """The function of real leaves whose complex arguments and results are two real ones, stacked."""

    def split(z: Any) -> Any:
        return np.stack([np.real(z), np.imag(z)]) if np.iscomplexobj(z) else z

    def joined(x: Any, is_complex: bool) -> Any:
        return x[0] + 1j * x[1] if is_complex else x

    are_complex = [bool(np.iscomplexobj(x)) for x in leaves]

    def call_parts(way: Way) -> F:
        function = call(way)

        def of_parts(*parts: Any) -> Any:
            value = function(*[joined(x, c) for x, c in zip(parts, are_complex, strict=True)])
            return tree.map(split, value)

        return of_parts

    return call_parts, [split(x) for x in leaves]


def _check_holomorphic(f: F, tape: Tape, n: int) -> None:
    instr = first_not_holomorphic(tape, tape.inputs[:n])
    if instr is not None:
        raise DTypeError(
            message(
                f"jacobian: {function_name(f)} is not holomorphic, so it has no complex derivative: {instr.op.name}",
                instr.source,
                tries=[
                    f"wg.jacobian({function_name(f)}, real=True), of real and imaginary parts",
                    "wg.grad, for a real loss of complex numbers",
                ],
            )
        )


def _check_inexact(f: F, outs: Sequence[Aval]) -> None:
    for aval in outs:
        if not aval.is_inexact:
            raise DTypeError(message(f"jacobian: {function_name(f)} returns {aval}, and an integer has no derivative"))


def _basis(avals: Sequence[Aval], size: int) -> list[Any]:
    """The unit tangents of several arrays together: float[size, *shape] each; constants of a trace that is open."""
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


@checked
def hessian(
    f: Callable[P, Any], argnums: int | Sequence[int] = 0, *, wrt: F | None = None, nan_safe: bool = False
) -> Callable[P, Any]:
    """Return the function that computes the second derivatives of ``f``, which returns one real number.

    It is float[*x, *x] for an argument float[*x]; for pytrees it has the structure of the argument, with that of the
    argument in place of each leaf. Computed forward over reverse: as many tangents as there are inputs.

    Parameters
    ----------
    f : returns one real number (shape ``()``).
    argnums, wrt, nan_safe : as for :func:`value_and_grad`.

    Raises
    ------
    ScalarOutputError : at a call, the value is not one real number.
    DTypeError : at a call, an argument is an integer.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> wg.hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    return jacobian(grad(f, argnums, wrt=wrt, nan_safe=nan_safe), argnums, wrt=wrt, mode="forward", nan_safe=nan_safe)


@checked
def hvp(f: F, primals: Sequence[Any], tangents: Sequence[Any], *, nan_safe: bool = False) -> Any:
    """Return the Hessian of ``f`` times a vector, at the cost of a few gradients; no matrix is formed.

    Parameters
    ----------
    f : returns one real number (shape ``()``).
    primals : a tuple or list of its arguments, pytrees of arrays.
    tangents : the vector, of the structure and shapes of ``primals``.
    nan_safe : as for :func:`value_and_grad`.

    Returns
    -------
    The product, with the structure of ``primals``; for one primal, that one alone.

    Raises
    ------
    ScalarOutputError : the value is not one real number.
    ShapeError, StructureError : the tangents are not like the primals.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> wg.hvp(lambda x: np.sum(x**3), (np.array([1.0, 2.0]),), (np.array([1.0, 1.0]),))
    array([ 6., 12.])
    """
    argnums = 0 if len(primals) == 1 else tuple(range(len(primals)))
    return jvp(grad(f, argnums, nan_safe=nan_safe), primals, tangents, nan_safe=nan_safe)[1]
