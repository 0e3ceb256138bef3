"""Functions of SciPy's that are refused for a reason of their own, which the error and ``docs/scipy.md`` say.

What nobody has written yet needs no entry: it is refused by its name wherever its code asks for an ndarray.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, NoReturn

from wengert.tracing.arguments import unsupported
from wengert.tracing.interception.asking import AT_ARGUMENTS
from wengert.tracing.interception.intercept import intercepts

REASONS: dict[str, str] = {}
"""Why a function is refused, by its name in the table of interceptions."""


def refuses(module: str, names: Iterable[str], why: str, *tries: str, looks: int = AT_ARGUMENTS) -> None:
    """Refuse functions, classes or methods of a module where an argument is traced.

    ``why`` follows the name and a colon; ``tries`` are what to write instead. ``looks`` is as in :func:`intercepts`.
    """
    for name in names:
        full = f"{module}.{name}"
        REASONS[full] = why
        intercepts(f"{module}:{name}", looks)(functools.partial(_refuse, full, why, tries))


def _refuse(name: str, why: str, tries: tuple[str, ...], *args: Any, **kwargs: Any) -> NoReturn:
    raise unsupported(f"{name}: {why}", *tries)
