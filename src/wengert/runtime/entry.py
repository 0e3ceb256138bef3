"""A program in the runtime's terms: which arguments and surroundings it fits, so that it runs without asking Python."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from wengert import tree
from wengert.runtime import _native
from wengert.runtime.specialisation import Compiled
from wengert.tracing.surroundings.slots import native_slots


def entry_of(
    compiled: Compiled, treedef: Any, kinds: Sequence[tuple[Any, ...]], keywords: tuple[str, ...]
) -> _native.Entry | None:
    """When, and with which arguments, the runtime may run ``compiled`` by itself. ``keywords`` in the call's order."""
    executable = compiled.program.executable
    numbered = tree.unflatten(treedef, range(len(kinds)))
    if keywords:  # they follow the positional ones, as in a call
        numbered = (*numbered[0], *[numbered[1][name] for name in keywords])
    structure = native_structure(numbered)
    if executable is None or structure is None:
        return None
    outputs = range(len(compiled.program.tape.outputs))
    result = native_structure(tree.unflatten(compiled.out_tree, outputs))
    return _native.Entry(
        structure,
        [native_leaf(kind) for kind in kinds],
        native_slots(compiled.environment.slots, _native.type_version),
        executable,
        [k for k, kind in enumerate(kinds) if kind[0]],
        partial(tree.unflatten, compiled.out_tree) if result is None else result,
        compiled,
        keywords,
        compiled.written,
    )


def native_structure(numbered: Any) -> Any:
    """A tree whose leaves are their numbers, in the runtime's terms; None if it is not of plain containers."""
    cls = type(numbered)
    if cls is int:
        return numbered
    if numbered is None:
        return ("none",)
    if cls is dict:
        items = [(k, native_structure(v)) for k, v in numbered.items()]
        return None if any(v is None for _, v in items) else ("dict", items)
    if cls is tuple or cls is list:
        children = [native_structure(v) for v in numbered]
        return None if any(v is None for v in children) else (cls.__name__, children)
    return None


def native_leaf(kind: tuple[Any, ...]) -> tuple[Any, ...]:
    """A leaf of a signature, in the runtime's terms."""
    if kind[0] == 0:
        return ("same", kind[1])
    if kind[0] == 1:
        return ("array", kind[2], kind[1], kind[3] if len(kind) > 3 else None)
    if kind[0] == 2:
        return ("scalar", kind[2])
    return (kind[1].__name__,)
