"""pint's quantities are nodes: the magnitude is the child, the units are structure.

A compiled function takes and returns quantities. A derivative has other units than its argument, so the transforms
that differentiate refuse quantities, and :mod:`wengert.hosts.pint` has gradients with theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pint.facets.plain import PlainQuantity

from wengert.tree import register
from wengert.tree.nodes import note_units


def enroll(cls: type) -> None:
    """Make the objects of a class nodes, if they are quantities; each registry of units has a class of its own."""
    if not issubclass(cls, PlainQuantity):
        return

    def flatten(x: PlainQuantity) -> tuple[Any, ...]:
        return (x._magnitude,), x._units, ("magnitude",)

    def unflatten(units: object, children: Sequence[Any]) -> Any:
        made: Any = object.__new__(cls)
        made._magnitude, made._units = children[0], units
        return made

    register(cls, flatten, unflatten)
    note_units(cls)
