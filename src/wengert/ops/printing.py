"""The op behind ``wg.print``: values are shown to people when the program runs, and nothing is computed.

The op *shows*: it has no results, stays on the tape in its place, and is left out of every copy of the steps that is
run again (a pullback that repeats the forward steps of a loop, a value that is evaluated while tracing). A run that may
turn out to take another path holds what it shows until it has ended, see :func:`held`.
"""

from __future__ import annotations

import builtins
import string
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np

from wengert._contexts import replaced
from wengert.ops.control import GuardMiss
from wengert.ops.index import CountMiss
from wengert.ops.kernels import Callback, free
from wengert.ops.op import Op, named
from wengert.tape import Atom
from wengert.tree import TreeDef, exact_key, unflatten

P = ParamSpec("P")
R = TypeVar("R")


class _Holding(threading.local):
    def __init__(self) -> None:
        self.held: list[Callable[[], Any]] | None = None
        """The calls that wait, which show something; None: each is made at once."""


_holding = _Holding()


def held(run: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Return ``run(*args)``. What it shows is shown when it has ended, and dropped if it turns out to take another
    path: it is run again there."""
    mine: list[Callable[[], Any]] = []
    try:
        with replaced(_holding, "held", mine):
            return run(*args, **kwargs)
    except (GuardMiss, CountMiss):
        mine.clear()
        raise
    finally:
        for show in mine:
            deliver(show)


def quietly(run: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Return ``run(*args, **kwargs)``, and drop what it shows: these steps are run once more, elsewhere."""
    with replaced(_holding, "held", []):
        return run(*args, **kwargs)


def deliver(show: Callable[[], Any]) -> None:
    """Call ``show`` now, or when the run is known to be on the right path."""
    if _holding.held is None:
        show()
    else:
        _holding.held.append(show)


class _Formatter(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> Any:
        if isinstance(value, np.ndarray) and value.ndim and format_spec:
            return np.array2string(value, formatter={"all": lambda x: format(x, format_spec)})
        return format(value, format_spec)


def formatted(template: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Return ``template.format(*args, **kwargs)``, where a format of numbers holds for each element of an array."""
    return _Formatter().vformat(template, args, kwargs)


class Form:
    """A template and the structure of what is put into it: forms of equal text and structure are equal.

    ``given`` has for each leaf None where it is an operand, with the type if that is a Python number; other leaves are
    given as they are."""

    __slots__ = ("given", "key", "template", "treedef")

    def __init__(self, template: str, treedef: TreeDef, given: Sequence[Any]) -> None:
        self.template, self.treedef, self.given = template, treedef, tuple(given)
        self.key = (template, treedef, exact_key(self.given))

    def text(self, operands: Sequence[Any]) -> str:
        """Return the text for these values of the operands."""
        rest = iter(operands)
        leaves = [g.of(next(rest)) if type(g) is Field else g for g in self.given]
        args, kwargs = unflatten(self.treedef, leaves)
        return formatted(self.template, args, kwargs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return repr(self.template)


class Field:
    """The place of an operand among the leaves; ``number`` is the type of a Python number, else None."""

    __slots__ = ("number",)

    def __init__(self, number: type | None) -> None:
        self.number = number

    def of(self, x: Any) -> Any:
        """Return a value as the user has it: a number, or an array that stays as it is."""
        x = np.asarray(x)
        if x.ndim:
            return x.copy()
        return x[()] if self.number is None else self.number(x[()])

    def __eq__(self, other: object) -> bool:
        return type(other) is Field and self.number is other.number

    def __hash__(self) -> int:
        return hash((Field, self.number))


def _print(*operands: Any, form: Form) -> tuple[()]:
    text = form.text(operands)
    deliver(lambda: builtins.print(text))
    return ()


def _batch(xs: Sequence[Atom], batched: Sequence[bool], size: int, *, form: Form) -> tuple[()]:
    """The whole batch is shown: an operand that is one number for each example is an array."""
    given, flags = [], iter(batched)
    for g in form.given:
        is_batched = type(g) is Field and next(flags)
        given.append(Field(None) if is_batched else g)
    print_(*xs, form=Form(form.template, form.treedef, given))
    return ()


print_ = named(
    Op(
        name="print",
        reference=_print,
        type=lambda *avals, form: (),
        kernel=Callback("Python's print"),
        cost=free,
        batch=_batch,
        is_variadic=True,
        effects=True,
        shows=True,
    )
)
