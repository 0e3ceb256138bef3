"""``argnums`` and ``wrt``: they choose the leaves of a call to differentiate, and make a function of those alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert import tree
from wengert.api.named import F, function_name
from wengert.errors import DTypeError, StructureError, message
from wengert.tracing import foreign
from wengert.tracing.tracer import Tracer
from wengert.tracing.ways import Way
from wengert.tree.nodes import has_units


class Chosen(NamedTuple):
    """The leaves of a call that are differentiated, and the function of those alone, made for either ``Way``."""

    call: Callable[[Way], F]
    leaves: list[Any]
    treedef: Any


def is_number(leaf: Any) -> bool:
    """Whether a leaf is an array or a number, traced or not, and so something that a tape can hold."""
    return isinstance(leaf, np.ndarray | np.generic | bool | int | float | complex) or type(leaf) is Tracer


def choose(f: F, args: tuple[Any, ...], kwargs: dict[str, Any], argnums: Any, wrt: F | None) -> Chosen:
    """Return the leaves that ``argnums`` or ``wrt`` chooses, and the function of them.

    Raises DTypeError if one of them has no derivative, StructureError if the choice does not fit the arguments.
    """
    if wrt is not None:
        every, everything = tree.flatten(args)
        numbers, treedef = tree.select(args, wrt)
        if len(set(numbers)) < len(numbers):
            raise StructureError(message(f"wrt= of {function_name(f)} picks a leaf of its arguments twice"))
        others = [None if k in set(numbers) else x for k, x in enumerate(every)]

        def call_selected(way: Way) -> F:
            def call(*chosen: Any) -> Any:
                function, given, by_keyword = way(f, others, kwargs)
                new = list(given)
                for k, x in zip(numbers, chosen, strict=True):
                    new[k] = x
                return function(*tree.unflatten(everything, new), **by_keyword)

            return call

        leaves = foreign.numbers([every[k] for k in numbers])
        _check_leaves(f, leaves, lambda k: f"argument{tree.path(everything, numbers[k])}")
        return Chosen(call_selected, leaves, treedef)
    if type(argnums) is int and 0 <= argnums < len(args):
        return _choose_one(f, args, kwargs, argnums)
    if isinstance(argnums, np.integer):
        argnums = int(argnums)
    positions = [argnums] if isinstance(argnums, int) else list(argnums) if np.iterable(argnums) else [argnums]
    for position in positions:
        if not isinstance(position, int | np.integer):
            raise StructureError(
                message(f"argnums={argnums!r}; expected the position of an argument, or several positions")
            )
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
    leaves = foreign.numbers(leaves)
    _check_leaves(f, leaves, lambda k: f"argument {argnums}{tree.path(treedef, k)}")

    others = [None if k in positions else x for k, x in enumerate(args)]

    def call_positions(way: Way) -> F:
        def call(*chosen: Any) -> Any:
            function, rest, by_keyword = way(f, others, kwargs)
            new = list(rest)
            given = tree.unflatten(treedef, list(chosen))
            for position, x in zip(positions, [given] if isinstance(argnums, int) else given, strict=True):
                new[position] = x
            return function(*new, **by_keyword)

        return call

    return Chosen(call_positions, leaves, treedef)


def _choose_one(f: F, args: tuple[Any, ...], kwargs: dict[str, Any], position: int) -> Chosen:
    """Return what ``choose`` does for one argument, as in nearly every call."""
    leaves, treedef = tree.flatten(args[position])
    leaves = foreign.numbers(leaves)
    if not all(type(x) is np.ndarray and x.dtype.kind in "fc" for x in leaves):
        _check_leaves(f, leaves, lambda k: f"argument {position}{tree.path(treedef, k)}")
    others = list(args)
    others[position] = None

    def call_position(way: Way) -> F:
        def call(*chosen: Any) -> Any:
            function, rest, by_keyword = way(f, others, kwargs)
            new = list(rest)
            new[position] = tree.unflatten(treedef, chosen)
            return function(*new, **by_keyword)

        return call

    return Chosen(call_position, leaves, treedef)


def check_no_units(f: F, chosen: tree.TreeDef, value: tree.TreeDef) -> None:
    """Raise if an argument that ``f`` is differentiated by, or its value, has units: the derivative would have others,
    and its structure cannot say so."""
    for treedef, what in ((chosen, "is differentiated by"), (value, "returns")):
        if has_units(treedef):
            raise DTypeError(
                message(
                    f"{function_name(f)} {what} quantities with units, and a derivative has units of its own",
                    tries=[
                        "wg.hosts.pint.value_and_grad, which gives the gradient in its units",
                        "x.m_as(unit) within the function for its value, and numbers for its arguments",
                    ],
                )
            )


def _check_leaves(f: F, leaves: Sequence[Any], path: Callable[[int], str]) -> None:
    """Raise unless the leaves have derivatives.

    Nothing is converted here. ``input_of`` (tracing/record.py) decides how the function sees a leaf, and ``execute``
    (runtime/execute.py) what its program is given; both also serve leaves without derivatives, those of ``jit`` and
    ``vmap``."""
    for k, leaf in enumerate(leaves):
        dtype = leaf.dtype if hasattr(type(leaf), "dtype") else np.asarray(leaf).dtype if is_number(leaf) else None
        if dtype is None:
            raise DTypeError(
                message(
                    f"{function_name(f)}: {path(k)} is a {type(leaf).__name__}, which has no derivative",
                    tries=["wrt=lambda args: ..., to differentiate with respect to the numbers alone"],
                )
            )
        if dtype.kind not in "fc":
            shown = repr(leaf) if isinstance(leaf, int) else "x.astype(float)"
            raise DTypeError(
                message(
                    f"{function_name(f)}: {path(k)} is {dtype.name}, and an integer has no derivative",
                    tries=[
                        f"float({shown})" if isinstance(leaf, int) else shown,
                        "argnums= or wrt=, to differentiate with respect to something else",
                    ],
                )
            )
