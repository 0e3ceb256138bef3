"""A function of arrays and numbers as a function of C: what Numba's and SciPy's compiled code calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

import wengert as wg


class ArraySpec(Protocol):
    """The shape and dtype of an array, as ``wg.spec`` makes them."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class OfC(NamedTuple):
    """A compiled function: its addresses, the specs of what it takes, and of what it returns."""

    name: str
    function: Any
    """The result of ``Program.c_function``, which keeps the program while it lives."""
    takes: tuple[ArraySpec, ...]
    gives: tuple[ArraySpec, ...]
    is_tuple: bool
    """Whether it returns a tuple, rather than one array or number."""


def of_c(f: Callable[..., Any], example: Sequence[Any]) -> OfC:
    """Compile ``f`` for arguments like the example.

    Raises StructureError where an argument is no array or number, where ``f`` returns another structure than one of
    these or a tuple of them, and where a step calls Python.
    """
    name = getattr(f, "__name__", type(f).__name__)
    for k, x in enumerate(example):
        if not isinstance(x, np.ndarray | np.generic | bool | int | float | complex):
            raise wg.errors.StructureError(
                wg.errors.message(
                    f"{name}: argument {k} is {wg.expect.given(x)}; compiled code gives arrays and numbers alone",
                    tries=["functools.partial(f, ...), for what stays as it is"],
                )
            )
    tape = wg.trace(f)(*example)
    specs = tuple([v.aval for v in tape.inputs]), tuple([a.aval for a in tape.outputs])
    numbers = list(range(len(tape.outputs)))
    structure = wg.tree.unflatten(tape.out_tree, numbers)
    if structure != 0 and structure != tuple(numbers):
        raise wg.errors.StructureError(
            wg.errors.message(
                f"{name} returns {wg.tree.describe(structure)}; compiled code takes one array or number, or a "
                "tuple of them"
            )
        )
    return OfC(name, wg.compile(tape).c_function(), *specs, isinstance(structure, tuple))
