"""NumPy's functions are called with lists of traced values: the Python form of
wengert.tracing.interception._array_functions.

NumPy's functions that know ``__array_function__`` have stand-ins where modules hold them, which look into lists. Ufuncs
have none, for they are used as objects (``np.add.reduce``, ``isinstance(f, np.ufunc)``): ``np.exp([x, y])`` of traced
values is refused by the values themselves, and ``np.exp(np.array([x, y]))`` is what to write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wengert.pure import stand_ins

_DEEPEST_LIST = 64

_traced: Any = None
_asks: Any = None
_is_tracing: Any = None
_answer: Any = None
_dispatcher: Any = None
_has_begun = False


def setup(
    ufunc: type,
    dispatcher: type,
    tracer: type,
    asks: Callable[..., bool],
    libraries: set[str],
    is_tracing: object,
    answer: Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], Any],
    /,
) -> None:
    """Say whose calls are looked at, who knows who calls, and who answers those with a traced value in a list. Once a
    process."""
    global _answer, _asks, _dispatcher, _is_tracing, _traced
    are_classes = all(isinstance(cls, type) for cls in (ufunc, dispatcher, tracer))
    if not (are_classes and isinstance(libraries, set) and callable(is_tracing)):
        raise TypeError("setup takes three classes, who is asked, a set of names of modules, and _opened.is_tracing")
    if _answer is None:
        _dispatcher, _traced, _asks, _is_tracing, _answer = dispatcher, tracer, asks, is_tracing, answer


class EnrolledMaker:
    """A function that makes arrays, and what does so for the user's code."""

    __slots__ = ("converts", "is_on", "replacement")

    def __init__(self, replacement: Callable[..., Any], converts: bool) -> None:
        self.replacement, self.converts, self.is_on = replacement, converts, True


_makers: dict[int, EnrolledMaker] = {}  # by the id of the function, which is kept
_kept: dict[int, Any] = {}


def _holds_traced(x: object, depth: int = 0) -> bool:
    if type(x) is _traced:
        return True
    if not isinstance(x, list | tuple) or depth > _DEEPEST_LIST:
        return False
    return any(_holds_traced(one, depth + 1) for one in x)


def _is_list_of_traced(x: object) -> bool:
    return isinstance(x, list | tuple) and _holds_traced(x)


def _called(own: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Return what a call of one of NumPy's functions gives: what a stand-in does."""
    if _is_tracing():
        maker = _makers.get(id(own))
        if maker is not None and maker.is_on:
            converted = ((args[0] if args else None),) if maker.converts else ()
            if not stand_ins.is_called_within() and _asks(*converted, callee=own) is True:
                return maker.replacement(*args, **kwargs)
        if any(map(_is_list_of_traced, args)) or any(map(_is_list_of_traced, kwargs.values())):
            result = _answer(own, None, args, kwargs)
            if result is not NotImplemented:
                return result
    return own(*args, **kwargs)


def enroll(function: Any, replacement: Callable[..., Any], converts: bool = False, /) -> bool:
    """Let ``replacement`` be called in the place of a function that makes arrays, where the user's code calls it. False
    if it is not of NumPy's second type, of those with ``__array_function__``."""
    if _answer is None:
        raise RuntimeError("setup comes before enroll")
    if type(function) is not _dispatcher:
        return False
    maker = _makers.get(id(function))
    if maker is None:
        _makers[id(function)], _kept[id(function)] = EnrolledMaker(replacement, bool(converts)), function
    elif maker.replacement is not replacement:
        raise ValueError(f"{function!r} is enrolled already")
    return True


def _maker_of(function: Any) -> EnrolledMaker:
    if id(function) not in _makers:
        raise KeyError(f"{function!r} is not enrolled")
    return _makers[id(function)]


def withdraw(function: Any, /) -> None:
    """Take that back. KeyError if it was not enrolled."""
    _maker_of(function)
    del _makers[id(function)], _kept[id(function)]


def switch_on(function: Any, is_on: bool, /) -> None:
    """Say whether the replacement is called."""
    _maker_of(function).is_on = bool(is_on)


def begin() -> None:
    """Answer such calls from now on."""
    global _has_begun
    if _answer is None:
        raise RuntimeError("setup comes before begin")
    if not _has_begun:
        stand_ins.add_class(_dispatcher, _called)
        _has_begun = True
    stand_ins.begin()


def end() -> None:
    """Put the functions back."""
    stand_ins.end()
