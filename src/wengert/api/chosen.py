"""What is differentiated: the leaves of a call that were chosen, and the function of those alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import WRAPPER_UPDATES, wraps
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from wengert import tree
from wengert.errors import (
    DTypeError,
    StructureError,
    message,
)
from wengert.tracing.record import Recording, input_of, record_call
from wengert.tracing.trace import current_trace
from wengert.tracing.tracer import Tracer

F = Callable[..., Any]


class Chosen(NamedTuple):
    """The leaves of a call that are differentiated, and the function of those alone."""

    call: F
    leaves: list[Any]
    treedef: Any


def function_name(f: F) -> str:
    return getattr(f, "__name__", type(f).__name__)


def named_like(f: F) -> Callable[[F], F]:
    """``functools.wraps``; but what an object holds, the programs of a jit or the weights of a model, stays with it."""
    return wraps(f, updated=WRAPPER_UPDATES if isinstance(f, FunctionType) else ())


def is_number(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray | np.generic | bool | int | float | complex) or type(leaf) is Tracer


def choose(f: F, args: tuple[Any, ...], kwargs: dict[str, Any], argnums: Any, wrt: F | None) -> Chosen:
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
        return Chosen(call_selected, leaves, treedef)
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

    return Chosen(call, leaves, treedef)


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


class Aux:
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


def with_aux(f: F, call: F, aux: Aux) -> F:
    def call_with_aux(*args: Any) -> Any:
        out = call(*args)
        if not (isinstance(out, tuple) and len(out) == 2):
            raise StructureError(
                message(f"{function_name(f)}: has_aux=True, so it must return (value, aux); got {tree.describe(out)}")
            )
        return [out[0], *aux.take(out[1])]

    return call_with_aux


def record_primals(f: F, primals: Sequence[Any], has_aux: bool) -> tuple[Chosen, Aux, Recording]:
    chosen = choose(f, tuple(primals), {}, tuple(range(len(primals))), None)
    aux = Aux()
    call = with_aux_tree(f, chosen.call, aux) if has_aux else chosen.call
    recording = record_call(call, [input_of(x) for x in chosen.leaves], name=function_name(f))
    return chosen, aux, recording


def with_aux_tree(f: F, call: F, aux: Aux) -> F:
    def call_with_aux(*args: Any) -> Any:
        value, *rest = with_aux(f, call, aux)(*args)
        return value, rest

    return call_with_aux


def split_aux(recording: Recording, has_aux: bool) -> tuple[int, Any]:
    """How many outputs belong to the value, and its structure."""
    if not has_aux:
        return len(recording.tape.outputs), recording.out_treedef
    value, _ = tree.unflatten(recording.out_treedef, list(range(len(recording.tape.outputs))))
    leaves, treedef = tree.flatten(value)
    return len(leaves), treedef
