"""``has_aux=True``: the values that a function returns beside the one that is differentiated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert import tree
from wengert.api.chosen import is_number
from wengert.api.named import F, function_name
from wengert.errors import StructureError, message
from wengert.tracing.record import Recording


class Aux:
    """The auxiliary value of one call: its arrays go through the tape, anything else is kept here as it is."""

    def __init__(self) -> None:
        self.treedef: Any = None
        self.static: dict[int, Any] = {}
        self.count = 0

    def take(self, aux: Any) -> list[Any]:
        """Return the arrays and numbers of ``aux``, and keep the rest here."""
        leaves, self.treedef = tree.flatten(aux)
        self.static = {k: x for k, x in enumerate(leaves) if not is_number(x)}
        self.count = len(leaves)
        return [x for k, x in enumerate(leaves) if k not in self.static]

    def give(self, arrays: Sequence[Any]) -> Any:
        """Return the value that :meth:`take` was given, with ``arrays`` in the place of its arrays and numbers."""
        rest = iter(arrays)
        return tree.unflatten(
            self.treedef, [self.static[k] if k in self.static else next(rest) for k in range(self.count)]
        )


def with_aux(f: F, call: F, aux: Aux) -> F:
    """Return ``call``, which runs ``f``, as a function that returns a list: the value, then the arrays of ``aux``."""

    def call_with_aux(*args: Any) -> Any:
        out = call(*args)
        if not (isinstance(out, tuple) and len(out) == 2):
            raise StructureError(
                message(f"{function_name(f)}: has_aux=True, so it must return (value, aux); got {tree.describe(out)}")
            )
        return [out[0], *aux.take(out[1])]

    return call_with_aux


def with_aux_tree(f: F, call: F, aux: Aux) -> F:
    """Return ``call`` as :func:`with_aux` does, but for a value that is a pytree: it gives the value and the arrays."""

    def call_with_aux(*args: Any) -> Any:
        value, *rest = with_aux(f, call, aux)(*args)
        return value, rest

    return call_with_aux


def split_aux(recording: Recording, has_aux: bool) -> tuple[int, Any]:
    """Return how many outputs of the tape belong to the value, and the structure of the value."""
    if not has_aux:
        return len(recording.tape.outputs), recording.out_treedef
    value, _ = tree.unflatten(recording.out_treedef, list(range(len(recording.tape.outputs))))
    leaves, treedef = tree.flatten(value)
    return len(leaves), treedef
