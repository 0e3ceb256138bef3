"""What public functions take, checked at their doors.

A function says by its annotations what it takes; :func:`checked` reads them once, and refuses anything else before
work starts: with the function, the argument's name, what was given and what is taken. So no odd value gets inside,
where it would be an AttributeError of whatever line meets it first.

    @checked
    def softmax(x: Array, axis: Axes = -1) -> Array:

``KINDS`` has a row for each annotation that may be written there. What a value must be *for another one* (an axis of
this array, shapes that fit) the function checks itself. Doors are for calls of Python's: a compiled call passes none.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np

from wengert.errors import ArgumentError, in_short, message

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)


class _Other(Exception):
    """A value is of another kind than asked for; the text says how, where its words alone do not."""


# ------------------------------------------------------------------------------------------------------------ words


def given(x: Any) -> str:
    """Return a few words on a value that somebody passed, whatever it is.

    >>> given(None), given("relu"), given(np.ones((2, 3))), given([1, 2]), given(10**400), given(np.ones)
    ('None', "'relu', a str", 'float64[2, 3]', 'a list of 2', 'an integer of 401 digits', 'the function ones')
    """
    cls = type(x)
    if x is None or cls is bool or cls is int or cls is float or cls is complex:
        return in_short(x)
    if cls is str or cls is bytes:
        return f"{in_short(x)}, a {cls.__name__}"
    if cls is np.ndarray or issubclass(cls, np.generic):
        return f"{x.dtype.name if x.dtype.names is None else 'fields'}[{', '.join(map(str, x.shape))}]"
    if issubclass(cls, list | tuple | dict | set | frozenset):
        return f"a {cls.__name__} of {len(x)}"
    if cls in _ARRAYS:
        return f"a traced {x.aval}"
    if issubclass(cls, type):
        return f"the class {x.__name__}"
    if callable(x) and isinstance(name := getattr(cls, "__name__", None) and _name_of(x), str):
        return f"the function {name}"
    return f"{'an' if cls.__name__[:1] in 'AEIOUaeiou' else 'a'} {cls.__name__}"


def _name_of(x: Any) -> Any:
    try:
        return x.__name__
    except Exception:  # whatever an object's __getattr__ raises: it is asked for words alone
        return None


def refused(function: str, name: str, value: Any, expected: str, *tries: str) -> ArgumentError:
    """Return the error for an argument of another kind than ``expected``."""
    return ArgumentError(message(f"{function}: {name} is {given(value)}; expected {expected}", tries=tries))


# ------------------------------------------------------------------------------------------------------------ kinds

_ARRAYS: set[type] = {np.ndarray}


def is_array_type(cls: C) -> C:
    """Decorate a class whose instances are arrays as they are: the traced ones."""
    _ARRAYS.add(cls)
    return cls


def array(x: Any) -> Any:
    """An array, traced or not, as it is; anything that NumPy makes an array of numbers of, as that array."""
    cls = type(x)
    if cls in _ARRAYS:
        if cls is np.ndarray and x.dtype.kind not in "fiubc":
            raise _Other
        return x
    if x is None or cls is str or cls is bytes or issubclass(cls, type):
        raise _Other
    if issubclass(cls, np.ndarray):
        if x.dtype.kind not in "fiubc":
            raise _Other
        return x
    if hasattr(cls, "shape") and hasattr(cls, "dtype") and hasattr(cls, "__array__"):
        found: Any = x if isinstance(x, np.generic) else np.asarray(x)  # a NumPy number, or another library's array
    else:
        try:
            found = np.asarray(x)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise _Other(str(error).partition("\n")[0]) from error
    if type(found) in _ARRAYS and type(found) is not np.ndarray:
        return found
    if found.dtype.kind not in "fiubc":
        raise _Other
    return found[()] if found.ndim == 0 else found


def integer(x: Any) -> Any:
    if type(x) is int or isinstance(x, int | np.integer):
        n = int(x)
        if not -(2**63) <= n < 2**63:
            raise _Other
        return x
    if type(x) in _ARRAYS and x.shape == () and x.dtype.kind in "iu":
        return integer(int(x))
    raise _Other


def number(x: Any) -> Any:
    """A real number, or an array of one, traced or not."""
    if type(x) is float:
        return x
    if isinstance(x, int | float | np.integer | np.floating | np.bool_):
        if isinstance(x, int) and x.bit_length() > 1000:
            raise _Other
        return x
    if type(x) in _ARRAYS and x.dtype.kind in "fiub":
        return x
    raise _Other


def boolean(x: Any) -> Any:
    if x is True or x is False:
        return x
    if isinstance(x, np.bool_) or (isinstance(x, int | np.integer) and x in (0, 1)):
        return bool(x)
    raise _Other


def text(x: Any) -> Any:
    if not isinstance(x, str):
        raise _Other
    return x


def function(x: Any) -> Any:
    if not callable(x):
        raise _Other
    return x


def integers(x: Any) -> Any:
    """One integer, or several."""
    if isinstance(x, int | np.integer):
        return integer(x)
    return several_integers(x)


def several_integers(x: Any) -> Any:
    if isinstance(x, np.ndarray) and x.ndim == 1 and x.dtype.kind in "iu":
        return x
    if not isinstance(x, list | tuple | range):
        raise _Other
    for each in x:
        integer(each)
    return x


def padding(x: Any) -> Any:
    """A name, an integer, or for each axis an integer or a pair of them."""
    if isinstance(x, str | int | np.integer):
        return x if isinstance(x, str) else integer(x)
    if not isinstance(x, list | tuple):
        raise _Other
    for each in x:
        integers(each)
    return x


def numbers(x: Any) -> Any:
    if not isinstance(x, list | tuple | np.ndarray):
        raise _Other
    for each in x:
        number(each)
    return x


def sequence(x: Any) -> Any:
    if not isinstance(x, Sequence) or isinstance(x, str | bytes):
        raise _Other
    return x


def iterable(x: Any) -> Any:
    if not isinstance(x, Iterable) or isinstance(x, str | bytes):
        raise _Other
    return x


def mapping(x: Any) -> Any:
    if not isinstance(x, Mapping):
        raise _Other
    return x


def path(x: Any) -> Any:
    if not isinstance(x, str | os.PathLike):
        raise _Other
    return x


def shape(x: Any) -> Any:
    """Lengths, none of them negative, of an array that an address space can hold."""
    several_integers(x)
    if any(n < 0 for n in x):
        raise _Other
    return x


_FUNCTION = (function, "a function")
_INTEGERS = (integers, "an integer, or one for each axis")

KINDS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "Array": (array, "an array of numbers"),
    "int": (integer, "an integer of 64 bits"),
    "float": (number, "a real number"),
    "bool": (boolean, "True or False"),
    "str": (text, "a str"),
    "F": _FUNCTION,
    "Activation": _FUNCTION,
    "PerAxis": _INTEGERS,
    "Axes": (integers, "an axis, or several"),
    "Padding": (padding, "a name, an integer, or for each axis an integer or a pair"),
    "tuple[int, ...]": (several_integers, "a tuple of integers"),
    "Sequence[int]": (several_integers, "several integers"),
    "Sequence[float]": (numbers, "several numbers"),
    "Shape": (shape, "a shape: integers, 0 or more"),
    "os.PathLike[str]": (path, "a path"),
    "Path": (path, "a path"),
}
"""What each annotation asks for, and how messages call it."""

_BY_BEGINNING = (
    ("Callable[", _FUNCTION),
    ("Mapping[", (mapping, "a mapping")),
    ("dict[", (mapping, "a mapping")),
    ("Sequence[", (sequence, "a sequence")),
    ("Iterable[", (iterable, "an iterable")),
)


def kind(name: str, check: Callable[[Any], Any], words: str) -> None:
    """Add the annotation ``name``, for a package's own classes."""
    KINDS[name] = check, words


def instance_of(*classes: type) -> Callable[[Any], Any]:
    """Return the check that a value is an instance of one of ``classes``."""

    def check(x: Any) -> Any:
        if not isinstance(x, classes):
            raise _Other
        return x

    return check


def _kind(annotation: str) -> tuple[Callable[[Any], Any], str] | None:
    if annotation in KINDS:
        return KINDS[annotation]
    return next((found for beginning, found in _BY_BEGINNING if annotation.startswith(beginning)), None)


def _alternatives(annotation: str) -> list[str]:
    """``"int | Callable[[A | B], C] | None"`` taken apart at the bars that stand outside of brackets."""
    depth, parts = 0, [""]
    for letter in annotation:
        depth += {"[": 1, "]": -1}.get(letter, 0)
        if letter == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _check_of(where: str, name: str, annotation: Any) -> Callable[[Any], Any] | None:
    """The check of one parameter, in whose messages stands what it belongs to; None where anything is taken."""
    parts = _alternatives(annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "Any"))
    if "Any" in parts or "Tree" in parts:
        return None
    takes_none = "None" in parts
    kinds = [_kind(part) for part in parts if part != "None"]
    if None in kinds:
        raise TypeError(f"{where}: no check for {name}: {annotation}")
    checks = [found[0] for found in kinds if found is not None]
    expected = " or ".join(dict.fromkeys(found[1] for found in kinds if found is not None)) + " or None" * takes_none
    first, others = checks[0], checks[1:]

    def check(x: Any) -> Any:
        if x is None and takes_none:
            return x
        try:
            return first(x)
        except _Other as error:
            why = str(error)
        for other in others:
            try:
                return other(x)
            except _Other as error:
                why = why or str(error)
        what = f"{where}: {name} is {given(x)}; expected {expected}"
        raise ArgumentError(message(what + (f" ({why})" if why else "")))

    return check


# ------------------------------------------------------------------------------------------------------------ doors


def checked(f: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function whose arguments are to be what its annotations say."""
    return _door(f, f.__name__)


def checked_class(cls: C) -> C:
    """Decorate a class, a dataclass too, that is made of such arguments."""
    own = vars(cls)["__init__"]
    cls.__init__ = _door(own, cls.__name__, method=True)
    return cls


def _door(f: Any, where: str, method: bool = False) -> Any:
    parameters = list(inspect.signature(f).parameters.values())[int(method) :]
    checks = {p.name: _check_of(where, p.name, p.annotation) for p in parameters}
    every = next((checks.pop(p.name) for p in parameters if p.kind is p.VAR_POSITIONAL), None)
    for p in parameters:
        if p.kind is p.VAR_KEYWORD:
            del checks[p.name]
    places = [checks[p.name] for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD or p.kind is p.POSITIONAL_ONLY]
    first = int(method)

    @functools.wraps(f)
    def door(*args: Any, **kwargs: Any) -> Any:
        new = list(args)
        for k, check in enumerate(places[: len(args) - first], first):
            if check is not None:
                new[k] = check(new[k])
        if every is not None:
            new[first + len(places) :] = [every(x) for x in new[first + len(places) :]]
        for name in kwargs:
            check = checks.get(name)
            if check is not None:
                kwargs[name] = check(kwargs[name])
        return f(*new, **kwargs)

    return door
