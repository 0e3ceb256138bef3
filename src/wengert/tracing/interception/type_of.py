"""``type(x)`` of a traced value, in the user's code: the class that NumPy's value has, as ``x.__class__`` says.

``type`` asks nobody. But whether a function calls it stands in its code, so while a function is traced, the functions
of the user's that it can reach, and that call ``type``, have code that calls :func:`type_of` in its place: of
everything that is not traced that gives the same. What the walk does not reach (a function found at run time, a
library's) still gets the class ``Tracer``: comparing that with ``==`` or looking it up is an error (tracer.py).

Only a call of the builtin by its name is another's: ``isinstance(c, type)`` and ``type`` as a value stay what they are.
"""

from __future__ import annotations

import dis
import functools
import sys
import types
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from wengert.attributes import held
from wengert.tracing import hooks
from wengert.tracing.callers import is_on_top, is_the_users, module_of
from wengert.tracing.interception import _opened
from wengert.tracing.interception.intercept import lists
from wengert.tracing.interception.names_in_code import NAMES, call_by_name
from wengert.tracing.python import names

_PLAIN = (np.ndarray, np.generic, int, float, complex, str, bytes, types.ModuleType, types.NoneType)
_MANY = 20_000  # objects that are walked: what lies behind more is left to the error of tracer.py
_LONG = 100  # items of a list that are looked at: functions are kept in short ones


def type_of(*args: Any) -> Any:
    """``type(*args)``, but of a traced value the class of what it stands for."""
    cls = type(*args)
    return args[0].seen_class() if cls is hooks.Tracer and len(args) == 1 else cls


lists(
    "type",
    "name in the code of the user's functions",
    type_of,
    why_always_on="a function that asks whether type(x) is float would go on as if x were none",
)
call_by_name(type, type_of)

_answering: dict[int, tuple[types.CodeType, types.CodeType]] = {}  # by the id of a code, which is kept


def answering(code: types.CodeType) -> types.CodeType:
    """The code with its calls of ``type`` exchanged, its inner functions' too; itself where there are none."""
    known = _answering.get(id(code))
    if known is None:
        if len(_answering) > 10_000:  # bounded: code may be made up at run time
            _answering.clear()
        known = _answering[id(code)] = (_exchanged(code), code)
    return known[0]


def code_for(f: types.FunctionType) -> types.CodeType:
    """The code of a copy of ``f``, which is made to be traced."""
    return answering(f.__code__) if asks(f) else f.__code__


def _exchanged(code: types.CodeType) -> types.CodeType:
    constants = tuple([answering(c) if isinstance(c, types.CodeType) else c for c in code.co_consts])
    if any(new is not old for new, old in zip(constants, code.co_consts, strict=True)):
        code = code.replace(co_consts=constants)
    for own, other in NAMES.items():
        if own in code.co_names and own not in code.co_varnames:
            code = _called_by(code, own, other)
    return code


def _called_by(code: types.CodeType, own: str, other: str) -> types.CodeType:
    """Return the code with its calls of the name ``own`` as calls of ``other``."""
    place = len(code.co_names)
    if place > 126:  # its number would not fit beside the bit that says that the name is called
        return code
    content = bytearray(code.co_code)
    calls = [i.offset for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL" and i.argval == own]
    calls = [at for at in calls if content[at + 1] & 1]  # the bit is set where the name is called
    if not calls:
        return code
    for at in calls:
        content[at + 1] = 2 * place + 1
    return code.replace(co_code=bytes(content), co_names=(*code.co_names, other))


_silent: dict[int, Any] = {}
"""Code of functions, and classes of objects, by id, from which nothing was reached that calls ``type``."""


def answered(functions: Iterable[types.FunctionType]) -> AbstractContextManager[None]:
    """A context in which calls of ``type`` in these functions are answered by :func:`type_of`."""
    given = tuple(functions)
    return _opened.answered(given, tuple([answering(f.__code__) for f in given]))


def asking(*roots: Any) -> Sequence[types.FunctionType]:
    """The functions of the user's that ``roots`` reach, and that call ``type``."""
    found, classes = reached(roots)
    functions = [f for f in found if asks(f)]
    if not functions:
        if len(_silent) > 10_000:
            _silent.clear()
        _silent.update([(id(f.__code__), f.__code__) for f in found])
        _silent.update([(id(cls), cls) for cls in classes])
    return functions


def asks(f: types.FunctionType) -> bool:
    """Whether a function of the user's calls ``type``; or did, before an enclosing trace exchanged it."""
    code = f.__code__
    is_asking = answering(code) is not code or not names.mentioned(code).isdisjoint(NAMES.values())
    return (
        is_asking
        and is_the_users(f.__globals__)
        and not _knows_tracers(f)
        and not _is_ours(f)
        and NAMES.keys().isdisjoint(f.__globals__.keys() & names.mentioned(code))  # a module may have its own `type`
    )


def _is_ours(f: types.FunctionType) -> bool:
    """Whether a function is of what is built on top of wengert, which asks ``type`` of no traced value: its layers'
    methods would be exchanged for each of them that is traced."""
    return is_on_top(str(f.__globals__.get("__name__")))


def _knows_tracers(f: types.FunctionType) -> bool:
    """Whether a function names the class Tracer: then that is what it asks for."""
    return any(f.__globals__.get(name) is hooks.Tracer for name in names.mentioned(f.__code__))


def asking_in(call: Any) -> Sequence[types.FunctionType]:
    """Return what :func:`asking` does, for ``call`` of wengert's, which calls its ``f`` and is traced at every call.

    That nothing calls ``type`` is remembered by code. 0.3 µs, for it is done at every un-jitted call.
    """
    code = held(call, "__code__")
    if code is None:  # a function of NumPy's, given as it is
        return asking(call)
    place = _places.get(id(code))
    if place is None:
        free = code.co_freevars
        place = _places[id(code)] = free.index("f") if "f" in free else -1
        _codes.append(code)
    f = call if place < 0 else call.__closure__[place].cell_contents
    if type(f) in _OF_NUMPY:
        return ()
    if type(f) is types.MethodType:
        if not _is_silent_within(f.__self__):
            return asking(f)
        f = f.__func__
    if type(f) is types.FunctionType and id(f.__code__) in _silent:
        for cell in f.__closure__ or ():
            if not _is_silent(_contents(cell)):
                break
        else:
            return ()
    return asking(f)


_OF_NUMPY = frozenset({np.ufunc, type(np.sum), types.BuiltinFunctionType})
_places: dict[int, int] = {}  # by the id of a code of wengert's, which cell holds the user's function
_codes: list[types.CodeType] = []  # of those, kept so that no id is used again


def _is_silent(value: Any, depth: int = 8) -> bool:
    """Whether nothing that calls ``type`` is reached from what a cell holds, as far as is known: in containers of
    containers to some depth, for one may hold itself."""
    cls = type(value)
    if cls is types.FunctionType:
        return id(value.__code__) in _silent
    if cls is list or cls is tuple or cls is dict:
        parts = value.values() if cls is dict else value
        return len(value) > _LONG or (depth > 0 and all(_is_silent(part, depth - 1) for part in parts))
    return cls is np.ndarray or id(cls) in _silent or cls in _OF_NUMPY or isinstance(value, _PLAIN)


def _is_silent_within(owner: Any) -> bool:
    """Whether the object of a method is silent as in :func:`_is_silent`, and whatever it holds is, too."""
    return id(type(owner)) in _silent and all(map(_is_silent, _attributes(owner).values()))


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not yet assigned
        return None


def reached(roots: Iterable[Any]) -> tuple[list[types.FunctionType], list[type]]:
    """The functions that can be called by way of ``roots``, as far as names, cells and items tell; and the classes."""
    return _visited(roots)[:2]


def reached_of(cls: type, roots: Iterable[Any]) -> list[Any]:
    """The objects of a class that are reached as those functions are."""
    return [x for x in _visited(roots)[2] if isinstance(x, cls)]


def _visited(roots: Iterable[Any]) -> tuple[list[types.FunctionType], list[type], list[Any]]:
    """The functions and the classes that are reached, and all that was looked at on the way."""
    stack, seen = list(roots), dict[int, Any]()
    found: list[types.FunctionType] = []
    classes: list[type] = []
    while stack and len(seen) < _MANY:
        value = stack.pop()
        if id(value) in seen or isinstance(value, _PLAIN):
            continue
        seen[id(value)] = value  # kept, so that its id is
        if isinstance(value, types.FunctionType):
            if not is_the_users(value.__globals__):
                if value.__globals__.get("__name__", "").startswith("wengert."):  # a transform, of what its cells hold
                    stack.extend(map(_contents, value.__closure__ or ()))
                    found.append(value)
                continue
            found.append(value)
        elif isinstance(value, type) and _is_class_of_the_users(value):
            classes.append(value)
        stack.extend(_parts(value))
    return found, classes, list(seen.values())


def _is_class_of_the_users(cls: type) -> bool:
    module = sys.modules.get(module_of(cls))
    return is_the_users({"__name__": cls.__module__} if module is None else vars(module))


def _parts(value: Any) -> Iterator[Any]:
    """Yield what can be reached from a value in one step."""
    if isinstance(value, types.FunctionType):
        yield from map(_contents, value.__closure__ or ())
        yield from value.__defaults__ or ()
        yield from (value.__kwdefaults__ or {}).values()
        yield from list(vars(value).values())
        asked = names.mentioned(value.__code__)
        for name in asked & value.__globals__.keys():
            variable = value.__globals__[name]
            if not isinstance(variable, types.ModuleType):
                yield variable
            elif is_the_users(vars(variable)):
                yield from [vars(variable)[n] for n in asked & vars(variable).keys()]
    elif isinstance(value, types.MethodType):
        yield from (value.__func__, value.__self__)
    elif isinstance(value, functools.partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, staticmethod | classmethod):
        yield value.__func__
    elif isinstance(value, property):
        yield from (value.fget, value.fset, value.fdel)
    elif isinstance(value, functools.cached_property):
        yield value.func
    elif isinstance(value, type):
        if _is_class_of_the_users(value):
            yield from list(vars(value).values())
            yield from value.__bases__
    elif isinstance(value, list | tuple | set | frozenset) and len(value) <= _LONG:
        yield from value
    elif isinstance(value, dict) and len(value) <= _LONG:
        yield from list(value.values())
    elif type(value) is types.SimpleNamespace or _is_class_of_the_users(type(value)):
        yield type(value)
        yield from list(_attributes(value).values())
    else:  # of a cache, of a compiled function
        yield _attributes(value).get("__wrapped__")


def _attributes(value: Any) -> dict[str, Any]:
    """Those that an object holds itself; nothing of the user's is asked for them."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found if isinstance(found, dict) else {}
