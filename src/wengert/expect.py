"""Check the arguments of public functions when they are called.

The annotations of a function say what it takes. :func:`checked` reads them once, and raises for any other argument
before work starts: with the function, the argument's name, what was given and what is taken. So no unexpected value
gets inside, where it would be an AttributeError at the first line that meets it. The wrapper around a function that
does this is its *door*.

    @checked
    def softmax(x: Array, axis: Axes = -1) -> Array:

``KINDS`` has a row for each annotation that may be written there, beside classes, ``Literal`` and aliases of these;
``Any`` is not checked. Whether arguments fit each other (an axis of this array, equal shapes) the function checks
itself. Doors are passed by calls in Python; a compiled call passes none.
"""

from __future__ import annotations

import functools
import inspect
import math
import os
import re
import sys
import types
import typing
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast

import numpy as np

from wengert.errors import ArgumentError, ShapeError, UnknownImportError, UnknownNameError, in_short, message
from wengert.tracebacks import fold

_Kind = tuple[Callable[[Any], Any], str]
"""A check, which returns the value as the function takes it or raises, and words for the values that it takes."""

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)


class _Other(Exception):
    """A value is of another kind than the check takes; the text says how, if the words of the check do not."""


# ------------------------------------------------------------------------------------------------------------ words


def given(x: Any) -> str:
    """Return a few words that describe a value that was passed, whatever it is.

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
    if id(cls) in _ARRAYS:
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

_ARRAYS = {id(np.ndarray)}  # by their ids, since a traced array notices a look at its class


def is_array_type(cls: C) -> C:
    """Decorate a class whose instances are arrays as they are: the traced ones."""
    _ARRAYS.add(id(cls))
    return cls


_stack: list[Callable[[Any], Any]] = []  # the function that makes an array of a list with traced values


def stacks(f: Callable[[Any], Any]) -> None:
    """Register the function that makes an array of a list with traced values; it is in a layer above this one."""
    _stack.append(f)


def _holds_traced(x: Any, depth: int = 4) -> bool:
    if isinstance(x, list | tuple):
        return depth > 0 and any(_holds_traced(part, depth - 1) for part in x)
    return type(x) is not np.ndarray and id(type(x)) in _ARRAYS


def array(x: Any) -> Any:
    """Return an array, traced or not, as it is; anything of which NumPy makes an array of numbers, as that array."""
    cls = type(x)
    if id(cls) in _ARRAYS:
        if cls is np.ndarray and x.dtype.kind not in "fiubc":
            raise _Other
        return x
    if x is None or cls is str or cls is bytes or issubclass(cls, type):
        raise _Other
    if issubclass(cls, np.matrix | np.ma.MaskedArray):
        raise _Other("it has an arithmetic of its own: np.asarray(x), or x.filled(...)")
    if issubclass(cls, np.ndarray):
        if x.dtype.kind not in "fiubc":
            raise _Other
        return x
    if hasattr(cls, "shape") and hasattr(cls, "dtype") and hasattr(cls, "__array__"):
        found: Any = x if isinstance(x, np.generic) else np.asarray(x)  # a NumPy number, or another library's array
    elif _holds_traced(x):
        return _stack[0](x)
    else:
        try:
            found = np.asarray(x)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise _Other(str(error).partition("\n")[0]) from error
    if id(type(found)) in _ARRAYS and type(found) is not np.ndarray:
        return found
    if found.dtype.kind not in "fiubc":
        raise _Other
    return found[()] if found.ndim == 0 else found


def count(x: Any) -> Any:
    n = integer(x)
    if isinstance(n, int) and n < 1:
        raise _Other
    return n


def real_array(x: Any) -> Any:
    found = array(x)
    if found.dtype.kind in "cb" or found.dtype.itemsize > 8:
        raise _Other
    return found


def _is_one(x: Any, kinds: str) -> bool:
    """Whether it is an array of shape (), traced or not, of a dtype of these kinds."""
    return id(type(x)) in _ARRAYS and x.shape == () and x.dtype.kind in kinds


def integer(x: Any) -> Any:
    """An integer of Python's, whose arithmetic does not overflow and which is hashed; or a traced one."""
    if _is_one(x, "iu") and type(x) is not np.ndarray:
        return x
    if type(x) is int or (isinstance(x, int | np.integer) and type(x) is not bool) or _is_one(x, "iu"):
        n = int(x)
        if not -(2**63) <= n < 2**63:
            raise _Other
        return x if isinstance(x, int) else n
    raise _Other


def number(x: Any) -> Any:
    """A real number, or an array of shape () of one, traced or not."""
    if type(x) is float:
        return x
    if isinstance(x, int | float | np.integer | np.floating) and type(x) is not bool:
        if isinstance(x, int) and x.bit_length() > 63:
            raise _Other
        return x
    if _is_one(x, "fiub"):
        return x
    raise _Other


def boolean(x: Any) -> Any:
    if x is True or x is False:
        return x
    if isinstance(x, np.bool_) or (isinstance(x, int | np.integer) and x in (0, 1)):
        return bool(x)
    if _is_one(x, "biu"):
        return bool(x) if type(x) is np.ndarray else x
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
    return several_integers(x) if isinstance(x, list | tuple | range) or np.ndim(x) == 1 else integer(x)


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
    if isinstance(x, list | tuple):
        for each in x:
            integers(each)
        return x
    return x if isinstance(x, str) else integer(x)


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
    if not isinstance(x, Iterable) or isinstance(x, str | bytes) or (isinstance(x, np.ndarray) and x.ndim == 0):
        raise _Other
    return x


def mapping(x: Any) -> Any:
    if type(x) is not dict and not isinstance(x, Mapping):
        raise _Other
    return x


_NESTED = (dict, list, tuple)


def nested(x: Any) -> Any:
    """A tree of containers of Python's that code may walk by itself: not deeper than 100 levels."""
    level = [x]
    for _ in range(100):
        inner = []
        for one in level:
            if id(type(one)) not in _ARRAYS and isinstance(one, _NESTED):
                inner += one.values() if isinstance(one, dict) else one
        level = inner
        if not level:
            return x
        if len(level) > 1_000_000:  # of itself, many times over
            break
    raise _Other("it is deeper than 100 levels, or holds itself")


def params(x: Any) -> Any:
    """Nested dicts of arrays, by names."""
    is_flat = type(x) is dict
    for name in mapping(x):
        if type(name) is not str and not isinstance(name, str):
            raise _Other
        if is_flat and id(type(x[name])) not in _ARRAYS:
            is_flat = False
    return x if is_flat else nested(x)


def path(x: Any) -> Any:
    if not isinstance(x, str | os.PathLike) or "\0" in os.fspath(x):
        raise _Other
    return x


def shape(x: Any) -> Any:
    """Lengths, none of them negative, of an array that an address space can hold."""
    known = [int(n) for n in several_integers(x) if type(n) is int or isinstance(n, np.integer)]
    if any(n < 0 for n in known) or math.prod(known) >= 2**62:
        raise _Other
    return x


def dtype(x: Any) -> Any:
    """A dtype of numbers, by any of its names."""
    try:
        found = np.dtype(x)
    except (TypeError, ValueError, RecursionError) as error:
        raise _Other from error
    if x is None or found.kind not in "fiubc":
        raise _Other
    return found


def seed(x: Any) -> Any:
    if not (isinstance(x, int | np.integer) and type(x) is not bool and 0 <= x < 2**64):
        raise _Other
    return int(x)


def generator(x: Any) -> Any:
    """The arguments of ``np.random.default_rng`` except None, so that the numbers drawn can be drawn again."""
    if isinstance(x, np.random.Generator | np.random.BitGenerator | np.random.SeedSequence):
        return x
    seeds = x if isinstance(x, list | tuple) and x else (x,)
    if not all(isinstance(seed, int | np.integer) and seed >= 0 for seed in seeds):
        raise _Other
    return x


def key(x: Any) -> Any:
    if getattr(type(x), "dtype", None) is None or x.dtype != np.uint64 or x.shape not in ((), (1,)):
        raise _Other
    return x


_FUNCTION = (function, "a function")
_PATH = (path, "a path")
_INTEGERS = (integers, "an integer, or one for each axis")

KINDS: dict[str, _Kind] = {
    "callable": _FUNCTION,
    "Array": (array, "an array of numbers"),
    "RealArray": (real_array, "an array of real numbers"),
    "int": (integer, "an integer of 64 bits"),
    "Count": (count, "an integer, 1 or more"),
    "float": (number, "a real number"),
    "bool": (boolean, "True or False"),
    "str": (text, "a str"),
    "F": _FUNCTION,
    "Activation": _FUNCTION,
    "Params": (params, "a mapping of arrays by names"),
    "PerAxis": _INTEGERS,
    "Tree": (nested, "a tree"),
    "Axes": (integers, "an axis, or several"),
    "Padding": (padding, "a name, an integer, or for each axis an integer or a pair"),
    "tuple[int, ...]": (several_integers, "a tuple of integers"),
    "Sequence[int]": (several_integers, "several integers"),
    "Sequence[float]": (numbers, "several numbers"),
    "DType": (dtype, "a dtype of numbers"),
    "Seed": (seed, "an integer from 0 to 2**64 - 1"),
    "Generator": (generator, "a seed, an integer of 0 or more, or a np.random.Generator"),
    "Key": (key, "a key of nn.random.key"),
    "Shape": (shape, "a shape: integers, 0 or more"),
    "os.PathLike[str]": _PATH,
    "Path": _PATH,
}
"""The check for each annotation, and the words for it in messages."""

_CONTAINERS: dict[str, _Kind] = {
    "Mapping": (mapping, "a mapping"),
    "dict": (mapping, "a mapping"),
    "tuple": (sequence, "a sequence"),
    "list": (sequence, "a sequence"),
    "Sequence": (sequence, "a sequence"),
    "Iterable": (iterable, "an iterable"),
}


def _container_of(part: str, names: Mapping[str, Any]) -> _Kind | None:
    """The kind of an annotation such as ``Sequence[int]``: a container with elements of a kind. None if it is not one.

    The elements of an iterator of batches, which may have no end, are not checked."""
    name, bracket, inner = part.partition("[")
    if name == "Callable":
        return _FUNCTION
    if not bracket or name not in _CONTAINERS:
        return None
    check, words = _CONTAINERS[name]
    parts = _split(inner[:-1], ",")
    if name == "tuple" and parts[-1] != "...":
        size, checks = len(parts), []
        words = "a pair" if size == 2 else f"a sequence of {size}"
    else:
        inner_kinds = [_kinds(one, names) for one in parts if one != "..."]
        size, checks = None, [None if kinds is None else _either(kinds) for kinds in inner_kinds]
    if size is None and all(found is None for found in checks):
        return check, words
    if size is None and len(checks) == 1 and checks[0] is not None:
        words = f"{words}, each {checks[0][1]}"

    def look(x: Any) -> Any:
        found = check(x)
        if size is not None and len(found) != size:
            raise _Other
        if len(checks) == 2:
            for one, values in zip(checks, (found.keys(), found.values()), strict=True):
                if one is not None:
                    for each in values:
                        one[0](each)
        elif checks and checks[0] is not None and not isinstance(found, str):
            if isinstance(found, Iterator):
                if parts[0].startswith("tuple["):  # batches, which may have no end
                    return found
                found = list(found)
            for each in found:
                checks[0][0](each)
        return found

    return look, words


def _either(kinds: list[_Kind | None]) -> _Kind:
    """The kind that takes a value of any of these kinds."""
    every = [kind for kind in kinds if kind is not None]
    takes_none = None in kinds

    def check(x: Any) -> Any:
        if x is None and takes_none:
            return x
        why = ""
        for look, _ in every:
            try:
                return look(x)
            except _Other as error:
                why = why or str(error)
        raise _Other(why)

    words = " or ".join(dict.fromkeys(words for _, words in every)) + " or None" * takes_none
    return (every[0][0] if len(every) == 1 and not takes_none else check), words


def _known(kinds: list[_Kind | None]) -> frozenset[int]:
    """The ids of classes whose every instance is taken as it is: most arguments are of these, and need no check.

    If there are several kinds, only those of the first, since an earlier kind may convert a value that a later one
    takes as it is.
    """
    look = next((kind[0] for kind in kinds if kind is not None), None)
    known = _TAKEN.get(look, frozenset())
    if look is array:
        known = frozenset(_ARRAYS - {id(np.ndarray)})  # an ndarray may hold anything
    return known | {id(types.NoneType)} if None in kinds else known


def _ids(*classes: type) -> frozenset[int]:
    return frozenset(map(id, classes))


_TAKEN: dict[Any, frozenset[int]] = {
    number: _ids(float),
    boolean: _ids(bool),
    text: _ids(str),
    mapping: _ids(dict),
    function: _ids(types.FunctionType, types.BuiltinFunctionType, np.ufunc),
}


def instance_of(classes: type | tuple[type, ...]) -> Callable[[Any], Any]:
    """Return the check that a value is an instance of a class, or of one of several."""

    def check(x: Any) -> Any:
        if not isinstance(x, classes):
            raise _Other
        return x

    _TAKEN[check] = _ids(*(classes if isinstance(classes, tuple) else (classes,)))
    return check


def _words_of(cls: type) -> str:
    return f"{'an' if cls.__name__[0] in 'AEIOU' else 'a'} {cls.__name__}"


def one_of(values: Sequence[Any]) -> Callable[[Any], Any]:
    """Return the check that a value is one of ``values``."""

    def check(x: Any) -> Any:
        if not any(type(x) is type(value) and x == value for value in values):
            raise _Other
        return x

    return check


def _split(annotation: str, at: str) -> list[str]:
    """``"int | Callable[[A | B], C] | None"`` taken apart at the bars, or commas, that stand outside of brackets."""
    depth, parts = 0, [""]
    for letter in annotation:
        depth += {"[": 1, "]": -1}.get(letter, 0)
        if letter == at and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _kinds(annotation: str, names: Mapping[str, Any]) -> list[_Kind | None] | None:
    """The kinds that an annotation allows, with None among them if it allows None; None if it allows every value."""
    found: list[_Kind | None] = []
    for part in _split(annotation, "|"):
        known = KINDS.get(part) or _container_of(part, names)
        if part == "None":
            found.append(None)
        elif known is not None:
            found.append(known)
        else:
            meant = eval(part, dict(names))  # a class, or another name for kinds, of the module the function is in
            more = _kinds_of(meant, names)
            if more is None:
                return None
            found += more
    if _PATH in found:  # a str is one, and not each
        found = [row for row in found if row is not KINDS["str"]]
    return found


def _kinds_of(meant: Any, names: Mapping[str, Any]) -> list[_Kind | None] | None:
    if meant is Any or isinstance(meant, TypeVar):
        return None
    if isinstance(meant, types.UnionType) or typing.get_origin(meant) is typing.Union:
        parts = [_kinds_of(part, names) for part in meant.__args__]
        return None if None in parts else [kind for part in parts if part is not None for kind in part]
    if meant is types.NoneType:
        return [None]
    if typing.get_origin(meant) is typing.Literal:
        return [(one_of(meant.__args__), ", ".join(map(repr, meant.__args__)))]
    if isinstance(meant, type) and meant.__name__ not in KINDS and typing.get_origin(meant) is None:
        return [(instance_of(meant), _words_of(meant))]
    origin = typing.get_origin(meant)
    if origin is None:
        return _kinds(meant.__name__, names)
    if origin.__name__ not in _CONTAINERS and origin.__name__ != "Callable":  # re.Pattern[str]
        return [(instance_of(origin), _words_of(origin))]
    return _kinds(
        re.sub(r"\b(typing|collections\.abc|numpy\.random|builtins)\.", "", repr(meant)),
        {**names, "Literal": typing.Literal, "Union": typing.Union, "Optional": typing.Optional},
    )


def _check_of(where: str, name: str, kind: _Kind) -> Callable[[Any], Any]:
    """The check of one parameter, whose message names the function and the parameter."""
    look, expected = kind

    def check(x: Any) -> Any:
        try:
            return look(x)
        except _Other as error:
            why = f" ({error})" if str(error) else ""
        tries = _meant(where, name, x)
        raise ArgumentError(message(f"{where}: {name} is {given(x)}; expected {expected}{why}", tries=tries))

    return check


_AT_ONCE = frozenset({"grad", "value_and_grad", "jacobian", "hessian", "vmap", "jit", "checkpoint", "trace", "spec_of"})
"""The functions of a function that return a function, which is then called."""

_DIRECTED = {
    "jvp": "wg.jvp(f, (x,), (dx,)): a tuple of arguments, and one of their tangents",
    "hvp": "wg.hvp(f, (x,), (v,)): a tuple of arguments, and one of their tangents",
    "vjp": "wg.vjp(f, x), with the function f itself and not its result",
    "linearize": "wg.linearize(f, x), with the function f itself and not its result",
}


def _meant(where: str, name: str, value: Any) -> list[str]:
    """Return what a call of a transform probably meant that gives it a ``value`` of another kind."""
    if name == "f" and (where in _AT_ONCE or where in _DIRECTED) and not isinstance(value, str):
        return [_DIRECTED.get(where) or f"wg.{where}(f)(x), with the function f itself and not its result"]
    if where in _DIRECTED and name in ("primals", "tangents"):
        return [_DIRECTED[where]]
    is_value = id(type(value)) in _ARRAYS or isinstance(value, np.ndarray | np.generic | float | complex)
    if where in _AT_ONCE and (is_value or name in ("argnums", "in_axes")):
        return [f"wg.{where}(f)(x): it returns a function, which takes the arguments"]
    return []


def meant_as_argument(where: str, name: str, value: Any, expected: str) -> ArgumentError:
    """Return the error for a second argument of a transform such as ``vmap(f, x)``, which may be meant for ``f``."""
    return refused(where, name, value, expected, *_meant(where, name, value))


# ------------------------------------------------------------------------------------------------------------ doors


def checked(f: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function so that its arguments are checked by its annotations."""
    return _door(f, f.__name__)


def checked_class(cls: C) -> C:
    """Decorate a class, also a dataclass, so that the arguments of its constructor and public methods are checked."""
    for name, f in list(vars(cls).items()):
        if isinstance(f, types.FunctionType) and (name == "__init__" or not name.startswith("_")):
            where = cls.__name__ if name == "__init__" else f"{cls.__name__}.{name}"
            setattr(cls, name, _door(f, where, method=True))
    return cls


def kind(name: str, takes: Callable[[Any], bool], words: str) -> None:
    """Give the annotation ``name`` a meaning: values for which ``takes`` is true, in messages called ``words``."""

    def check(x: Any) -> Any:
        if not takes(x):
            raise _Other
        return x

    KINDS[name] = check, words


def require(where: str, name: str, value: Any, annotation: str) -> Any:
    """Return ``value``, or what it stands for, if it is of a kind; raise as a door does otherwise."""
    look, expected = KINDS[annotation]
    try:
        return look(value)
    except _Other as error:
        why = f" ({error})" if str(error) else ""
    raise ArgumentError(message(f"{where}: {name} is {given(value)}; expected {expected}{why}"))


def outdated(what: str, instead: str) -> None:
    """Warn, at the user's line, of a spelling that has changed: it is understood for one release more."""
    frame, level = sys._getframe(1), 3
    while frame.f_back is not None and str(frame.f_back.f_globals.get("__name__")).partition(".")[0] == "wengert":
        frame, level = frame.f_back, level + 1
    warnings.warn(f"{what} is outdated, and goes with the next release: {instead}", DeprecationWarning, level)


def leaves_of(flatten: Callable[[Any], Any], path: Callable[[Any, int], str]) -> None:
    """Register the functions that take trees apart, which are in a layer above; so ``Arrays`` are checked by leaves."""

    def arrays(x: Any) -> Any:
        leaves, treedef = flatten(x)
        for k, leaf in enumerate(leaves):
            cls = type(leaf)
            is_array = id(cls) in _ARRAYS or isinstance(leaf, np.ndarray | np.generic)
            if is_array and leaf.dtype.kind in "fiubc":
                continue
            if isinstance(leaf, int | float | complex) and not (isinstance(leaf, int) and leaf.bit_length() > 64):
                continue
            if not is_array and hasattr(cls, "shape") and hasattr(cls, "dtype"):
                continue
            where = path(treedef, k)
            raise _Other(f"{where} is {given(leaf)}" if where else "")
        return x

    KINDS["Arrays"] = arrays, "an array, or a tree of arrays"


kind("Model", lambda x: hasattr(type(x), "apply") and hasattr(type(x), "init"), "a layer, with init and apply")


def is_kind(cls: C) -> C:
    """Decorate a class whose name stands in annotations of modules that cannot import it."""
    KINDS[cls.__name__] = instance_of(cls), _words_of(cls)
    return cls


class _Check(NamedTuple):
    """The check of one parameter."""

    place: int
    """The position of the parameter among all, ``self`` included."""
    known: frozenset[int]
    """The ids of the classes whose instances need no check."""
    check: Callable[[Any], Any]


class _Checks(NamedTuple):
    """The checks of a function's parameters, except those that take every value: by position, by name, and ``every``
    for each further positional argument, from number ``rest`` on."""

    places: list[_Check]
    names: dict[str, _Check]
    every: _Check | None
    rest: int
    known: frozenset[str] | None
    """The names that may be given by keyword; None if all may."""
    most: int | None
    """The number of positional arguments that there may be; None if any."""


_doors: list[tuple[Any, str, int]] = []
"""The function behind each door, its name in messages, and the number of arguments that are its ``self``."""


@functools.cache
def _checks_of(number: int) -> _Checks:
    """The checks of a door, made at its first call, so that an import makes none. The key is its number, since a
    function that is traced may be a copy."""
    f, where, first = _doors[number]
    names = inspect.unwrap(f).__globals__
    parameters = list(inspect.signature(f).parameters.values())
    checks: dict[str, _Check] = {}
    for k, p in enumerate(parameters[first:], first):
        kinds = None if p.kind is p.VAR_KEYWORD else _kinds(p.annotation, names)
        if kinds is not None:
            checks[p.name] = _Check(k, _known(kinds), _check_of(where, p.name, _either(kinds)))
    every = next((checks.pop(p.name, None) for p in parameters if p.kind is p.VAR_POSITIONAL), None)
    placed = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD or p.kind is p.POSITIONAL_ONLY]
    takes = {p.kind for p in parameters}
    named = [p.name for p in parameters[first:] if p.kind is p.POSITIONAL_OR_KEYWORD or p.kind is p.KEYWORD_ONLY]
    known = None if inspect.Parameter.VAR_KEYWORD in takes else frozenset(named)
    most = None if inspect.Parameter.VAR_POSITIONAL in takes else len(placed)
    return _Checks([checks[name] for name in placed if name in checks], checks, every, len(placed), known, most)


def _door(f: Any, where: str, method: bool = False) -> Any:
    if all(kind == "Any" for name, kind in f.__annotations__.items() if name != "return"):
        return f
    number = len(_doors)
    _doors.append((f, where, int(method)))

    @functools.wraps(f)
    def door(*args: Any, **kwargs: Any) -> Any:
        try:
            places, names, every, rest, known_names, most = _checks_of(number)
            n = len(args)
            if most is not None and n > most:
                raise _too_many(number, args)
            for k, known, check in places:
                if k >= n:
                    break
                x = args[k]
                if id(type(x)) not in known and (found := check(x)) is not x:
                    args = (*args[:k], found, *args[k + 1 :])
            if every is not None and n > rest:
                _, known, check = every
                for x in args[rest:]:
                    if id(type(x)) not in known:
                        args = (*args[:rest], *map(check, args[rest:]))
                        break
            if not kwargs:
                return f(*args)
            for name, x in kwargs.items():
                one = names.get(name)
                if one is None:
                    if known_names is not None and name not in known_names:
                        raise _unknown_keyword(number, name)
                elif id(type(x)) not in one.known:
                    kwargs[name] = one.check(x)
            return f(*args, **kwargs)
        except Exception as error:  # any: it goes on, with a shorter traceback
            fold(error)
            raise

    return door


def _too_many(number: int, args: tuple[Any, ...]) -> ArgumentError:
    _, where, first = _doors[number]
    most, n = cast(int, _checks_of(number).most) - first, len(args) - first
    takes = f"{most} positional argument{'s' * (most != 1)} but {n} {'was' if n == 1 else 'were'} given"
    return ArgumentError(message(f"{where}() takes {takes}", tries=_meant(where, "", args[-1])))


def _unknown_keyword(number: int, name: str) -> ArgumentError:
    from wengert.other_names import unknown_keyword  # tables that only errors need

    return ArgumentError(unknown_keyword(_doors[number][1], name, sorted(_checks_of(number).known or ())))


def missing(module: str, known: Iterable[str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module: it raises, and says what to write instead of other libraries' names.

    ``known`` are the names that are there, for what is misspelt.

    >>> missing("wengert.nn", ["relu", "gelu"])("Linear")
    Traceback (most recent call last):
        ...
    wengert.errors.UnknownNameError: module 'wengert.nn' has no attribute 'Linear'
      try    nn.Dense(width): what comes in is seen at init
    """

    def get(name: str) -> Any:
        try:
            if name.startswith("__"):
                raise AttributeError(f"module {module!r} has no attribute {name!r}")
            from wengert.other_names import unknown_name  # tables that only errors need

            what = unknown_name(module, name, known)
            if _is_import() and find_spec(f"{module}.{name}") is None:
                raise UnknownImportError(what, name=module)  # of an AttributeError Python would show its own message
            raise UnknownNameError(what, name=name)
        except Exception as error:  # any: it goes on, with a shorter traceback
            fold(error)
            raise

    return get


def _is_import() -> bool:
    """Whether a module is asked for a name by ``from module import name``."""
    frame = sys._getframe(2)  # behind the module's __getattr__, which may be of wengert's own
    if frame.f_globals.get("__name__") == "wengert" and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_globals.get("__name__") == "importlib._bootstrap"


def is_door(f: types.FunctionType) -> bool:
    """Whether a function is a door and nothing more: it calls the ``f`` of its closure and has no other attributes."""
    return f.__globals__ is globals() and vars(f).keys() == {"__wrapped__"}


# ------------------------------------------------------------------------- checks that depend on another argument


def _shape_of(x: Any) -> tuple[int, ...]:
    return x.shape if id(type(x)) in _ARRAYS else np.shape(x)


def axes(where: str, x: Any, axis: int | Sequence[int], name: str = "x") -> None:
    """Raise unless ``axis`` is an axis of the array ``x``, or several different ones."""
    ndim = len(_shape_of(x))
    if type(axis) is int and -ndim <= axis < ndim:
        return
    several: list[Any] = [axis] if np.ndim(axis) == 0 else list(cast(Sequence[int], axis))
    if all(-ndim <= k < ndim for k in several) and len({k % ndim for k in several}) == len(several):
        return
    has = f"axes {-ndim} ... {ndim - 1}" if ndim else "no axis"
    raise ShapeError(message(f"{where}: axis is {in_short(axis)}; {name}, {given(x)}, has {has}, each once"))


def ndim(where: str, name: str, x: Any, least: int, shown: str) -> None:
    """Raise unless the array ``x`` has at least ``least`` axes, which are called ``shown``."""
    if len(_shape_of(x)) < least:
        raise ShapeError(message(f"{where}: {name} is {given(x)}; expected {shown}"))


def fits(where: str, name: str, x: Any, to: str, shape: tuple[int, ...]) -> None:
    """Raise unless the array ``x`` broadcasts to ``shape``, which is that of ``to``."""
    own = _shape_of(x)
    if own == shape or own == shape[-1:]:
        return
    if len(own) > len(shape) or any(n not in (1, m) for n, m in zip(own[::-1], shape[::-1], strict=False)):
        what = f"{where}: {name} is {given(x)}; expected an array that broadcasts to {to} {list(shape)}"
        raise ShapeError(message(what))


__all__ = [
    "checked",
    "checked_class",
    "kind",
    "is_kind",
    "require",
    "refused",
    "given",
    "axes",
    "ndim",
    "fits",
    "missing",
    "outdated",
]


def __dir__() -> list[str]:
    return list(__all__)
