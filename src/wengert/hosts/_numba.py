"""This file makes the functions of :mod:`wengert.hosts.numba`; it imports Numba.

A call is LLVM code of Numba's that puts the addresses of arguments and results into two arrays on the stack, and calls
the program's C function. Around it stands a function under ``@njit`` that makes the results.
"""

# Where the library is not installed pyright takes the module of its name in this folder for it.
# pyright: reportAttributeAccessIssue=false
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numba.np.numpy_support import from_dtype

from wengert.hosts._c_functions import ArraySpec, OfC, of_c

_kept: list[Any] = []
"""These keep the programs: their addresses are in code of Numba's, which does not say when it goes."""

_ADDRESS = ir.IntType(8).as_pointer()
_CALL = ir.FunctionType(ir.IntType(32), [_ADDRESS, _ADDRESS.as_pointer(), _ADDRESS.as_pointer()])


def function(f: Callable[..., Any], example: Sequence[Any]) -> Any:
    made = of_c(f, example)
    _kept.append(made.function)
    run, new, taken = _run(made), _new(made.gives), _taken(made.gives)
    shapes = f"{made.name}: expected arguments {', '.join(map(str, made.takes))}, got arrays of other shapes"
    missed = f"{made.name}: a branch goes another way than with the example; np.where or wg.cond takes both"
    refused = f"{made.name}: a step refused its operands, such as a singular matrix"
    changed = f"{made.name}: a captured array has changed its shape, or a read-only one can be written"
    is_tuple = made.is_tuple

    @numba.njit
    def call(*args):
        results = new()
        status = run(args, results)
        if status == -1:
            raise ValueError(shapes)
        if status == 1:
            raise ValueError(missed)
        if status == 2:
            raise ValueError(refused)
        if status == 3:
            raise MemoryError
        if status != 0:
            raise ValueError(changed)
        return taken(results)

    if is_tuple:
        return call

    @numba.njit
    def single(*args):
        return call(*args)[0]

    return single


def _new(gives: Sequence[Any]) -> Any:
    """A function of Numba's that makes a tuple of arrays."""
    if not gives:
        return numba.njit(lambda: ())
    shape, dtype, others = gives[0].shape, gives[0].dtype, _new(gives[1:])
    return numba.njit(lambda: (np.empty(shape, dtype), *others()))


def _taken(gives: Sequence[Any]) -> Any:
    """A function of Numba's that takes the numbers out of those that have no dimensions."""
    if not gives:
        return numba.njit(lambda results: ())
    others = _taken(gives[1:])
    if gives[0].shape == ():
        return numba.njit(lambda results: (results[0][()], *others(results[1:])))
    return numba.njit(lambda results: (results[0], *others(results[1:])))


def _run(made: OfC) -> Any:
    """The intrinsic that runs a program: ``run(args, results) -> status``, -1 for arrays of another shape."""
    takes, call, data = made.takes, made.function.call, made.function.data

    @intrinsic
    def run(typing_context: object, args: types.BaseTuple, results: types.BaseTuple) -> Any:
        if len(args) != len(takes):
            raise TypingError(f"{made.name} takes {len(takes)} arguments, got {len(args)}")
        for k, (given, spec) in enumerate(zip(args, takes, strict=True)):
            if not _fits(given, spec):
                why = " in C order: np.ascontiguousarray(x)" if isinstance(given, types.Array) else ""
                raise TypingError(f"{made.name}: argument {k}: expected {spec}{why}, got {given}")

        def write(context: Any, builder: ir.IRBuilder, signature: object, values: Sequence[ir.Value]) -> Any:
            fits = cgutils.true_bit
            addresses = []
            for k, (given, spec) in enumerate(zip(args, takes, strict=True)):
                value = builder.extract_value(values[0], k)
                if isinstance(given, types.Array):
                    array = context.make_array(given)(context, builder, value)
                    for n, length in zip(cgutils.unpack_tuple(builder, array.shape), spec.shape, strict=True):
                        fits = builder.and_(fits, builder.icmp_signed("==", n, ir.Constant(n.type, length)))
                    addresses.append(array.data)
                else:
                    wanted = from_dtype(spec.dtype)
                    number = context.cast(builder, value, given, wanted)
                    memory = context.data_model_manager[wanted].as_data(builder, number)
                    addresses.append(cgutils.alloca_once_value(builder, memory))
            arrays = [
                context.make_array(t)(context, builder, builder.extract_value(values[1], k))
                for k, t in enumerate(results)
            ]
            status = cgutils.alloca_once_value(builder, ir.Constant(ir.IntType(32), -1))
            with builder.if_then(fits, likely=True):
                run = builder.bitcast(context.add_dynamic_addr(builder, call, "wengert_call"), _CALL.as_pointer())
                given = context.add_dynamic_addr(builder, data, f"wengert_{data:x}")
                ins, outs = _listed(builder, addresses), _listed(builder, [a.data for a in arrays])
                builder.store(builder.call(run, [given, ins, outs]), status)
            return builder.load(status)

        return types.int32(args, results), write

    return run


def _fits(given: types.Type, spec: ArraySpec) -> bool:
    """Whether a value of a type of Numba's can be an argument of a spec: numbers are converted as arithmetic does."""
    wanted = from_dtype(spec.dtype)
    if isinstance(given, types.Array):
        return given.dtype == wanted and given.ndim == len(spec.shape) and given.layout == "C" and given.aligned
    kinds = [types.Boolean, types.Integer, types.Float, types.Complex]
    rank = [next((k for k, kind in enumerate(kinds) if isinstance(t, kind)), -1) for t in (given, wanted)]
    return spec.shape == () and 0 <= rank[0] <= rank[1]


def _listed(builder: ir.IRBuilder, addresses: Sequence[Any]) -> Any:
    """The addresses, in an array on the stack."""
    listed = cgutils.alloca_once(builder, _ADDRESS, size=max(len(addresses), 1))
    for k, address in enumerate(addresses):
        builder.store(builder.bitcast(address, _ADDRESS), cgutils.gep_inbounds(builder, listed, k))
    return listed
