"""``vmap`` and ``broadcast``: a function mapped over an axis of arrays, or over their elements."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wengert import config, tree
from wengert.api.chosen import is_number
from wengert.api.named import F, P, function_name, made_by
from wengert.api.recording import record_for_transform
from wengert.batching import batch as batch_of_tape
from wengert.errors import DTypeError, ShapeError, StructureError, UnsupportedFunctionError, in_short, message
from wengert.expect import axes as check_axes
from wengert.expect import checked, given, meant_as_argument
from wengert.higher.mapped import map_scalar
from wengert.runtime.execute import execute
from wengert.tape import Aval, Lit, Tape, structure
from wengert.tracebacks import fold
from wengert.tracing import foreign
from wengert.tracing.emit import record
from wengert.tracing.looking import evaluate
from wengert.tracing.record import Input, record_call
from wengert.tracing.tracer import Tracer
from wengert.tracing.ways import Way, steps_of

Array = ArrayLike


@checked
def vmap(f: Callable[P, Any], in_axes: Any = 0, out_axes: int = 0) -> Callable[P, Any]:
    """Return the function that applies ``f`` to a whole batch of arguments at once, without a Python loop.

    Parameters
    ----------
    f : a function of pytrees of arrays, which returns such. It sees one example, and looks at no value of it.
    in_axes : which axis of each argument is the batch (an int), or that it has none (None): one for all, or a tuple
        with an entry an argument, each an int, None, or a pytree of them with the structure of the argument.
    out_axes : where the batch stands in the results.

    Raises
    ------
    ShapeError : at a call, batches are of different sizes, or an argument has no such axis.
    StructureError : at a call, no argument has a batch, or ``in_axes`` is not like the arguments.
    ConcretizationError : at a call, ``f`` branches on a value of an example: ``np.where`` or :func:`cond` instead.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> wg.vmap(np.dot, in_axes=(0, None))(np.eye(2), np.array([3.0, 4.0]))
    array([3., 4.])
    """

    _check_in_axes(in_axes)
    steps = steps_of(f)

    @made_by(vmap, f, in_axes=in_axes, out_axes=out_axes)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        try:
            leaves, treedef = foreign.flatten((args, kwargs))
            axes = _leaf_axes(in_axes, args, kwargs)
            size = _batch_size(f, leaves, axes, treedef)
            inputs: list[Input] = []
            values: list[Any] = []
            traced: list[int] = []
            for k, (x, axis) in enumerate(zip(leaves, axes, strict=True)):
                if axis is None:
                    continue
                if not is_number(x) or (isinstance(x, np.ndarray) and x.dtype.kind not in "fiubc"):
                    where = tree.path(treedef, k)
                    what = f"vmap of {function_name(f)}: the arguments{where} are {given(x)}, which is not a batch"
                    raise DTypeError(message(what))
                array: Any = x if type(x) is Tracer else np.asarray(x)
                moved = np.moveaxis(array, axis, 0)
                # One example, for code that needs to see a value's type. It is a scalar where the batch is a vector.
                first: Any = None
                if size:
                    first = partial(_first_of, moved) if type(moved) is Tracer else moved[0]
                lent = x if type(x) is Tracer else None
                inputs.append(Input(Aval(moved.shape[1:], moved.dtype), first, None, moved.ndim == 1, lent=lent))
                values.append(moved)
                traced.append(k)
            shared = [x if axis is None else None for x, axis in zip(leaves, axes, strict=True)]

            def run(way: Way) -> F:
                def call(*tracers: Any) -> Any:
                    function, given, _ = way(f, shared, {})
                    new = list(given)
                    for k, t in zip(traced, tracers, strict=True):
                        new[k] = t
                    a, kw = tree.unflatten(treedef, new)
                    return function(*a, **kw)

                return call

            recording = record_for_transform(
                f, run, inputs, concrete=False, why_abstract="vmap runs all examples at once", steps=steps
            )
            flags = (*[True] * len(values), *[False] * len(recording.implicit))
            outs = execute(recording, ((batch_of_tape, (flags, size)),), values, call=(f, args, kwargs))
            for x in outs if out_axes != 0 else ():
                check_axes(f"vmap of {function_name(f)}", x, out_axes, "a result")
            if out_axes != 0:
                outs = [np.moveaxis(x, 0, out_axes) for x in outs]
            return tree.unflatten(recording.out_treedef, outs)
        except Exception as error:  # any: it goes on, with a shorter traceback
            fold(error)
            raise

    return mapped


def _check_in_axes(in_axes: Any) -> None:
    for axis in tree.leaves(in_axes):
        if axis is not None and not isinstance(axis, int | np.integer):
            raise meant_as_argument("vmap", "in_axes", axis, "an integer, None, or a tuple with one for each argument")


def _first_of(batch: Tracer) -> Any:
    """Compute the first example of a batch that is itself traced; called only if the example is needed."""
    return evaluate(batch._trace, batch.atom(), is_example=True)[0]


def _leaf_axes(in_axes: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int | None]:
    per_arg = list(in_axes) if isinstance(in_axes, tuple | list) else [in_axes] * len(args)
    if len(per_arg) != len(args):
        raise StructureError(message(f"vmap: in_axes has {len(per_arg)} entries for {len(args)} arguments"))
    axes: list[int | None] = []
    for spec, arg in zip(per_arg, args, strict=True):
        axes += _spread_axes(spec, arg)
    return axes + [0] * len(tree.flatten(kwargs)[0])


def _spread_axes(spec: Any, arg: Any) -> list[int | None]:
    """Return one axis for each leaf of ``arg``, from a spec that has the structure of ``arg`` or a prefix of it."""
    if spec is None or isinstance(spec, int):
        return [spec] * len(tree.flatten(arg)[0])
    if isinstance(spec, dict) and isinstance(arg, dict) and spec.keys() == arg.keys():
        keys = list(arg) if isinstance(arg, OrderedDict) else sorted(arg)  # the order in which tree takes the leaves
        return [a for k in keys for a in _spread_axes(spec[k], arg[k])]
    if isinstance(spec, tuple | list) and isinstance(arg, tuple | list) and len(spec) == len(arg):
        return [a for s, x in zip(spec, arg, strict=True) for a in _spread_axes(s, x)]
    raise StructureError(message(f"vmap: in_axes {in_short(spec)} does not fit the argument {tree.describe(arg)}"))


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


_bodies: dict[Any, Tape] = {}  # equal scalar tapes are one object, so that tapes which hold them are equal too


@checked
def broadcast(f: F, *arrays: Array) -> Any:
    """Apply ``f``, a function of scalars, to each element of the broadcast arrays: one instruction on the tape.

    Parameters
    ----------
    f : ordinary Python with NumPy's ufuncs on numbers; it runs once, and must not branch on its arguments.
    arrays : of shapes that broadcast to one.

    Raises
    ------
    ShapeError, ValueError : the shapes do not broadcast.
    ConcretizationError : ``f`` branches on an argument: ``np.where`` instead.

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
    captured = [c.array for c in tape.captures]  # arrays that the function captured are further operands
    body = tape.replace(inputs=(*tape.inputs, *[c.var for c in tape.captures]), captures=(), name=function_name(f))
    if len(_bodies) > config.max_programs:
        _bodies.clear()
    body = _bodies.setdefault(structure(body), body)
    operands = [*given, *recording.implicit, *captured]
    if any(type(x) is Tracer for x in operands):
        if any(v.aval.dtype.kind == "c" for instr in body.instrs for v in (*instr.ins, *instr.outs)):
            return _step_by_step(body, operands)
        return record(map_scalar, operands, {"body": body})
    return map_scalar.reference(*operands, body=body)[()]


def _step_by_step(body: Tape, operands: Sequence[Any]) -> Any:
    """Record the steps of a scalar function one by one, each on whole arrays.

    ``map_scalar`` takes each partial derivative to be one factor; that of a function which is not holomorphic is not.
    """
    values: dict[Any, Any] = dict(zip(body.inputs, operands, strict=True))
    for op, ins, (out,), params, _ in body.instrs:
        values[out] = record(op, [a.value if type(a) is Lit else values[a] for a in ins], dict(params))
    (y,) = body.outputs
    result = y.value if type(y) is Lit else values[y]
    return np.broadcast_to(result, np.broadcast_shapes(*[np.shape(x) for x in operands])).copy()
