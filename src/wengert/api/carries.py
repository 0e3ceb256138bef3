"""The carry of a loop must come back from its body as it went in: of one structure, and of the same types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert import tree
from wengert.errors import DTypeError, ShapeError, StructureError, message
from wengert.higher.recording import aval_of, leaves_of, source_of
from wengert.source import Source
from wengert.tape import Aval


def check_carry(
    name: str, source: Source, given: Sequence[Aval], found: Sequence[Aval], before: Any, after: Any
) -> None:
    """Raise unless a carry comes back as it went in, of the structures ``before`` and ``after``."""
    if before != after:
        notes = [("given", tree.describe(tree.unflatten(before, given)))]
        notes.append(("back", tree.describe(tree.unflatten(after, found))))
        what = f"{name}: the carry came back with another structure"
        raise StructureError(message(what, source, notes=notes, tries=["a body that returns what it was given"]))
    for k, (a, b) in enumerate(zip(given, found, strict=True)):
        if a is not b:
            error = DTypeError if a.dtype != b.dtype else ShapeError
            what = f"{name}: the carry{tree.path(before, k)} went in as {a} and came back as {b}"
            tries = [f"an initial value of dtype {b.dtype}"] if a.dtype != b.dtype else []
            raise error(message(what, source, tries=[*tries, "a body that returns what it was given"]))


def with_carry_checked(name: str, f: Callable[..., Any], avals: Sequence[Aval], treedef: Any) -> Callable[..., Any]:
    """Return ``f``, the user's body, as one that raises unless what it returns has the structure and types of its
    carry."""

    def checked(*args: Any) -> Any:
        back = f(*args)
        leaves, after = leaves_of(back)
        check_carry(name, source_of(name, f), avals, [aval_of(x) for x in leaves], treedef, after)
        return back

    return checked
