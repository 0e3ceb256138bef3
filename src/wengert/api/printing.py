"""``wg.print``: print values of a function at every run of what it was compiled to."""

from __future__ import annotations

import builtins
import string
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from wengert import tree
from wengert.errors import StructureError, message
from wengert.expect import checked
from wengert.ops.printing import Field, Form, formatted, print_
from wengert.tracing.lifting import lift
from wengert.tracing.stack import current_trace
from wengert.tracing.tracer import Tracer


@checked
def print(template: str, /, *args: Any, **kwargs: Any) -> None:
    """Print ``template.format(*args, **kwargs)`` at every call, with the values of that call.

    Python's ``print`` of a traced value runs while the function is traced: once, and not at the calls that the compiled
    function answers. This one is a step of the program. It prints in the order of the function's steps, at each
    iteration of a loop, and in the branch that is taken. It is printed once where a derivative is taken: the forward
    values. Under ``wg.vmap`` it prints the whole batch, also where some examples alone take a branch. Outside of a
    function that is traced it prints at once.

    A compiled function with branches on values prints when the run has ended, since it may turn out that another path
    is the right one.

    Parameters
    ----------
    template : text with fields, as for ``str.format``: ``"loss {} at {x:.3f}"``.
    args, kwargs : the values of the fields: arrays, numbers, containers of them, and constants with a hash.

    Raises
    ------
    StructureError : a value has no field in the template, or a field no value.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> @wg.jit
    ... def loss(x):
    ...     y = np.sum(x**2)
    ...     wg.print("loss {:.2f}", y)
    ...     return np.sqrt(y)
    >>> y = loss(np.array([3.0, 4.0]))
    loss 25.00
    >>> y = loss(np.array([1.0, 2.0]))
    loss 5.00
    """
    _check_fields(template, args, kwargs)
    trace = current_trace()
    if trace is None:
        builtins.print(formatted(template, args, kwargs))
        return
    leaves, treedef = tree.flatten((args, kwargs))
    operands: list[Any] = []
    given: list[Any] = []
    for x in leaves:
        if isinstance(x, Tracer | np.ndarray | np.generic | float | int | complex):
            is_number = type(x) in (bool, int, float, complex)
            given.append(Field(x.weak if type(x) is Tracer else type(x) if is_number else None))
            operands.append(x)
        elif isinstance(x, Hashable):
            given.append(x)
        else:
            raise StructureError(
                message(f"print: a {type(x).__name__} is neither an array nor a constant with a hash", trace.locate())
            )
    # The innermost trace records it, whatever it prints: so prints stay in their order.
    trace.builder.emit(print_, tuple([lift(trace, x) for x in operands]), {"form": Form(template, treedef, given)})


def _check_fields(template: str, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Raise StructureError if a value has no field in the template, or a field no value."""
    try:
        unused = _Fields(args, kwargs).unused(template)
    except ValueError as error:
        raise StructureError(
            message(f"print: {template!r} is no template: {error}", tries=["'{{' for a brace"])
        ) from None
    if unused:
        what = f"print: {', '.join(unused)} stands in no field of {template!r}"
        raise StructureError(message(what, tries=['wg.print("x is {}", x)']))


class _Fields(string.Formatter):
    """A reader of the fields of a template, without any values."""

    def __init__(self, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        self.args, self.kwargs = args, kwargs
        self.number = 0
        self.names = set[Any]()

    def unused(self, template: str) -> list[str]:
        self._read(template)
        missing = [n for n in self.names if (n >= len(self.args) if isinstance(n, int) else n not in self.kwargs)]
        if missing:
            what = f"print: {template!r} has a field {missing[0]}, for which there is no value"
            raise StructureError(message(what, tries=["'{{' for a brace"]))
        rest = [f"value {k}" for k in range(len(self.args)) if k not in self.names]
        return [*rest, *[name for name in self.kwargs if name not in self.names]]

    def _read(self, template: str) -> None:
        for _, field, spec, _ in self.parse(template):
            if field is None:
                continue
            name = field.partition(".")[0].partition("[")[0]
            if name == "":
                name, self.number = str(self.number), self.number + 1
            self.names.add(int(name) if name.isdigit() else name)
            if spec:
                self._read(spec)
