"""``wg.explain(f)(*args)``: what became of a function, as a report that prints, and answers questions."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Sequence
from typing import Any

import wengert as wg
from wengert.report.data import Advice, ReportData
from wengert.report.gather import Gatherer, empty


def explain(f: Any) -> Callable[..., Explanation]:
    """Return the function that explains what a call of ``f`` runs: ``wg.explain(f)(*args)``.

    The function is traced and compiled as ``wg.jit`` does it. Nothing else of it runs, and a jit's own programs and
    counts stay as they are.

    Parameters
    ----------
    f : a function, or what ``wg.grad``, ``wg.jit`` and the like return; or a tape or a program, which are explained
        without arguments.

    Returns
    -------
    A function of the arguments of ``f`` that returns an :class:`Explanation`.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> explanation = wg.explain(wg.grad(lambda x: np.sum(np.exp(x))))(np.ones(3))
    >>> [kernel.name for kernel in explanation.report.kernels]
    ['exp']
    """

    look = wg.look(f)

    def explained(*args: Any, **kwargs: Any) -> Explanation:
        found = look(*args, **kwargs)
        name = f.name if isinstance(f, wg.Tape) else getattr(f, "__name__", None)
        if name is None:
            name = found.program.tape.name if found.program is not None else type(f).__name__
        return Explanation(found, name, _parameters(f))

    return explained


class Explanation:
    """A report of what a function became for arguments of these types: ``print`` it, or ``save`` it as a page."""

    def __init__(self, look: Any, title: str, parameters: Sequence[str] = ()) -> None:
        self.look = look
        if look.program is None:
            why = look.why_plain
            self.report: ReportData = empty(title, [Advice("plain call", -1, 0, why, "")])
        else:
            self.report = Gatherer(look, title, _names(look.program.tape, parameters)).report()

    def as_json(self) -> dict[str, Any]:
        """Return the report as dicts, lists, text and numbers."""
        return self.report.as_json()

    def json(self) -> str:
        """Return the report as JSON."""
        return json.dumps(self.as_json(), separators=(",", ":"))


def _parameters(f: Any) -> list[str]:
    """The names of the positional parameters of a function, as far as it says them."""
    try:
        found = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):  # a builtin
        return []
    names = []
    for p in found:
        if p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            break
        names.append(p.name)
    return names


def _names(tape: Any, parameters: Sequence[str]) -> list[str]:
    """The names of a tape's inputs: ``x``, ``W[0]``; "v0" where they are not known."""
    if tape.in_tree is None:
        return []
    paths = wg.tree.paths(tape.in_tree)
    static = {k for k, _ in tape.in_static}
    paths = [path for k, path in enumerate(paths) if k not in static]
    is_positional = all(path.startswith("[") for path in paths)
    names = []
    for path in paths:
        head, _, rest = path[1:].partition("]")
        known = is_positional and head.isdigit() and int(head) < len(parameters)
        names.append(parameters[int(head)] + rest if known else f"argument{path}")
    return names
