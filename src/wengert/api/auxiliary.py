"""``has_aux=True``: what a function returns beside the value that is differentiated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert import tree
from wengert.api.chosen import is_number
from wengert.api.named import F, function_name
from wengert.errors import StructureError, message
from wengert.tracing.record import Recording


class Aux:
    """What a function returned beside its value: arrays go through the tape, anything else stays as it is."""

    def __init__(self) -> None:
        self.treedef: Any = None
        self.static: dict[int, Any] = {}
        self.count = 0

    def take(self, aux: Any) -> list[Any]:
        """The arrays, and numbers, of ``aux``; the rest is kept here."""
        leaves, self.treedef = tree.flatten(aux)
        self.static = {k: x for k, x in enumerate(leaves) if not is_number(x)}
        self.count = len(leaves)
        return [x for k, x in enumerate(leaves) if k not in self.static]

    def give(self, arrays: Sequence[Any]) -> Any:
        """What was taken, with these arrays for its own."""
        rest = iter(arrays)
        return tree.unflatten(
            self.treedef, [self.static[k] if k in self.static else next(rest) for k in range(self.count)]
        )


def with_aux(f: F, call: F, aux: Aux) -> F:
    """``call``, of ``f``, returning a list: its value, then the arrays that ``aux`` took of the rest."""

    def call_with_aux(*args: Any) -> Any:
        out = call(*args)
        if not (isinstance(out, tuple) and len(out) == 2):
            raise StructureError(
                message(f"{function_name(f)}: has_aux=True, so it must return (value, aux); got {tree.describe(out)}")
            )
        return [out[0], *aux.take(out[1])]

    return call_with_aux


def with_aux_tree(f: F, call: F, aux: Aux) -> F:
    """The same for a value that is a pytree: it returns the value, and a list of the arrays."""

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
