"""A program in the runtime's terms: which arguments and surroundings it fits, so that it runs without asking Python."""

from __future__ import annotations

from functools import partial
from typing import Any

from wengert import tree
from wengert.runtime import _native
from wengert.runtime.specialisation import Compiled
from wengert.tracing.signature import Array, Leaf, Scalar, Signature, Static
from wengert.tracing.surroundings.slots import native_slots
from wengert.tree.nodes import is_named_tuple


def entry_of(compiled: Compiled, signature: Signature, keywords: tuple[str, ...]) -> _native.Entry | None:
    """The conditions under which the runtime may run ``compiled`` by itself, and with which arguments; None if it may
    not. ``keywords`` are in the call's order."""
    executable = compiled.program.executable
    numbered = tree.unflatten(signature.treedef, range(len(signature.leaves)))
    if keywords:  # they follow the positional ones, as in a call
        numbered = (*numbered[0], *[numbered[1][name] for name in keywords])
    structure = native_structure(numbered)
    if executable is None or structure is None or compiled.program.holds:
        return None
    outputs = range(len(compiled.tape.outputs))
    result = native_structure(tree.unflatten(compiled.tape.out_tree, outputs))
    return _native.Entry(
        structure,
        [native_leaf(leaf) for leaf in signature.leaves],
        native_slots(compiled.environment.slots),
        executable,
        [k for k, leaf in enumerate(signature.leaves) if leaf.is_traced],
        partial(tree.unflatten, compiled.tape.out_tree) if result is None else result,
        compiled,
        keywords,
        (*compiled.written, *compiled.donated),
    )


def native_structure(numbered: Any) -> Any:
    """A tree whose leaves are their numbers, in the runtime's terms; None if it is not of plain containers and
    named tuples."""
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
    if is_named_tuple(cls):
        children = [native_structure(v) for v in numbered]
        return None if any(v is None for v in children) else ("named", cls, children)
    return None


def native_leaf(leaf: Leaf) -> tuple[Any, ...]:
    """A leaf of a signature, in the runtime's terms."""
    if isinstance(leaf, Static):
        return ("same", leaf.value)
    if isinstance(leaf, Array):
        return ("array", leaf.dtype, leaf.shape, leaf.strides)
    if isinstance(leaf, Scalar):
        return ("scalar", leaf.dtype)
    return (leaf.type.__name__,)
