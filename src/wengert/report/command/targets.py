"""The function that ``FILE:FUNCTION`` names, and its arguments."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

import wengert as wg

OURS = Path(wg.__file__).parent


class UsageError(Exception):
    """A mistake in how a command was called; the text says what to write instead."""


class UserError(Exception):
    """An error of the user's own code, with its traceback as text."""


class TargetCall(NamedTuple):
    """A function and the arguments to call it with."""

    function: Callable[..., Any]
    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def loaded(target: str) -> Callable[..., Any]:
    """Return the function that ``FILE:FUNCTION`` or ``package.module:function`` names.

    Raises UsageError where there is none, and UserError if the file fails.

    Examples
    --------
    >>> loaded("math:cos")(0.0)
    1.0
    """
    where, colon, name = target.rpartition(":")
    if not colon or not where or not name:
        raise UsageError(f"{target!r} does not name a function; write FILE:FUNCTION, such as model.py:loss")
    module = _module(where)
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if callable(found):
        return found
    known = [k for k, x in vars(module).items() if callable(x) and getattr(x, "__module__", None) == module.__name__]
    close = difflib.get_close_matches(name, known, n=3) or sorted(known)
    instead = f"it has {', '.join(close)}" if close else "it has no functions"
    what = "no function" if found is None else f"a {type(found).__name__}, no function,"
    raise UsageError(f"{where} has {what} {name}; {instead}")


def _module(where: str) -> ModuleType:
    path = Path(where)
    if not where.endswith(".py") and not path.exists():
        try:
            if importlib.util.find_spec(where) is None:
                raise UsageError(f"there is no file and no module {where}; write the path of a .py file")
        except (ModuleNotFoundError, ValueError) as error:
            raise UsageError(f"there is no file and no module {where}: {error}") from None
        return _imported(lambda: importlib.import_module(where))
    if not path.is_file():
        near = difflib.get_close_matches(path.name, [p.name for p in path.parent.glob("*.py")], n=3)
        raise UsageError(f"there is no file {where}" + (f"; there is {', '.join(near)}" if near else ""))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{where} is no Python file")
    module, loader = importlib.util.module_from_spec(spec), spec.loader
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent.resolve()))  # where the file's own imports are
    _imported(lambda: loader.exec_module(module))
    return module


def _imported(load: Callable[[], Any]) -> Any:
    try:
        return load()
    except (Exception, SystemExit) as error:  # whatever the user's file raises
        raise UserError(told(error)) from None


def called(f: Callable[..., Any], name: str, expression: str | None, file: Path | None) -> TargetCall:
    """Return ``f`` with the arguments that an expression gives ("np.ones(3), 2.0"), or the arrays of an ``.npz`` file
    whose names are those of its parameters.

    Raises UsageError where they do not fit the parameters.

    Examples
    --------
    >>> called(max, "max", "3, 4", None).args
    (3, 4)
    """
    if expression is not None and file is not None:
        raise UsageError("--args and --args-from exclude each other")
    args, kwargs = _evaluated(expression) if expression is not None else ((), {})
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):  # a builtin
        return TargetCall(f, name, args, kwargs)
    if file is not None:
        kwargs = _read(file, name, signature)
        plain = [p for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        while plain and plain[0].name in kwargs:  # by position, which derivatives are taken by
            args += (kwargs.pop(plain.pop(0).name),)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        given = "--args-from" if file is not None else "--args"
        raise UsageError(f"{name}{signature}: {error}; give the arguments by {given}") from None
    return TargetCall(f, name, args, kwargs)


def _evaluated(expression: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    def given(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return args, kwargs

    try:
        return eval(f"given({expression})", {"np": np, "wg": wg, "given": given})
    except Exception as error:  # whatever the expression raises
        raise UsageError(
            f"--args {expression!r} cannot be evaluated: {type(error).__name__}: {error}; "
            "write Python, with np and wg, as in --args 'np.ones(3), 2.0'"
        ) from None


def _read(file: Path, name: str, signature: inspect.Signature) -> dict[str, Any]:
    try:
        content = np.load(file, allow_pickle=False)
        if not isinstance(content, np.lib.npyio.NpzFile):
            raise ValueError("it is one array; np.savez writes several by their names")
        with content:
            arrays = {key: content[key][()] for key in content}
    except (OSError, ValueError) as error:
        raise UsageError(f"--args-from {file}: {error}") from None
    parameters = signature.parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return arrays
    extra = [key for key in arrays if key not in parameters]
    single = [p for p in parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    missing = [p.name for p in single if p.default is p.empty and p.name not in arrays]
    if extra or missing:
        parts = [f"no parameter {', '.join(extra)}"] * bool(extra) + [f"no array {', '.join(missing)}"] * bool(missing)
        raise UsageError(
            f"--args-from {file}: there is {' and '.join(parts)}; it has {', '.join(arrays) or 'nothing'}, "
            f"and {name} takes {', '.join(parameters)}"
        )
    return arrays


def told(error: BaseException) -> str:
    """Return the traceback of an error as text, without the frames of wengert's own code."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [f for f in frames if OURS not in Path(f.filename).parents and not f.filename.startswith("<frozen ")]
    lines = ["Traceback (most recent call last):\n", *traceback.format_list(theirs)] if theirs else []
    return "".join([*lines, *traceback.format_exception_only(error)]).rstrip()
