"""A copy of a Python function, with everything that a function has.

``types.FunctionType`` takes five of a function's parts and leaves out the others: a copy made by it alone has no
keyword-only defaults, no attributes, no annotations. So every copy is made here.
"""

from __future__ import annotations

import types
from typing import Any


def copied(
    f: types.FunctionType,
    code: types.CodeType,
    namespace: dict[str, Any],
    closure: tuple[types.CellType, ...] | None,
) -> types.FunctionType:
    """Return a copy of ``f`` that runs ``code`` in ``namespace`` with the cells of ``closure``.

    The defaults and annotations are the same objects as those of ``f``; the dict of its attributes is the copy's own.
    """
    new = types.FunctionType(code, namespace, f.__name__, f.__defaults__, closure)
    new.__kwdefaults__ = f.__kwdefaults__
    new.__qualname__, new.__module__, new.__doc__ = f.__qualname__, f.__module__, f.__doc__
    for name in ("__type_params__", "__annotate__"):  # since Python 3.12; since 3.14, where reading would evaluate them
        if getattr(f, name, None):
            setattr(new, name, getattr(f, name))
    if not getattr(f, "__annotate__", None):
        new.__annotations__ = f.__annotations__
    vars(new).update(vars(f))
    return new
