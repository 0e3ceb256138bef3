"""The names of functions: a user's function in errors and on tapes, and the functions that transforms return."""

from __future__ import annotations

from collections.abc import Callable
from functools import WRAPPER_ASSIGNMENTS, WRAPPER_UPDATES, partial, wraps
from types import FunctionType, MethodType
from typing import Any, ParamSpec, TypeVar

from wengert.attributes import held
from wengert.runtime.jit import Jit, standing_name

F = Callable[..., Any]
P = ParamSpec("P")
R = TypeVar("R")
AuxValue = TypeVar("AuxValue")


def function_name(f: F) -> str:
    return held(f, "__name__", type(f).__name__)


TITLES = {
    "grad": "gradient",
    "value_and_grad": "value and gradient",
    "jacobian": "Jacobian",
    "hessian": "Hessian",
}
"""Transforms by the words for what they compute; others are called by their names."""


def title(f: F) -> str:
    """Return a function in words: its name, and the transforms that it has been through: "gradient of loss"."""
    if isinstance(f, Transformed):
        transform, inner, _ = f._made_by
        name = function_name(transform)
        text = f"{TITLES.get(name, name)} of {title(inner)}"
        return text.replace("Jacobian of gradient of", "Hessian of")
    return title(f.__wrapped__) if isinstance(f, Jit) else function_name(f)


class Transformed(partial):
    """The function that a transform returns. It can be pickled even where no module holds it by a name.

    Its pickle holds the transform, the function and the options, which make it again. It is a ``partial`` without
    arguments, which the interpreter calls as fast as the function inside.
    """

    __wengert_function__ = True  # tells the search through an enclosing function's environment to look at ``func``
    _made_by: tuple[F, F, dict[str, Any]]
    __name__ = property(lambda self: self.func.__name__)
    __doc__ = property(lambda self: self.func.__doc__)  # type: ignore[assignment]  # of an instance it is a text
    __wrapped__ = property(lambda self: self.func.__wrapped__)

    def __get__(self, owner: Any, cls: type | None = None) -> Any:
        return self if owner is None else MethodType(self, owner)

    def __reduce__(self) -> Any:
        return standing_name(self) or (_made_again, self._made_by)

    def __copy__(self) -> Transformed:
        return self

    def __deepcopy__(self, memo: Any) -> Transformed:
        return self

    def __repr__(self) -> str:
        return f"<wengert.{self._made_by[0].__name__} of {self.__name__}>"


def _made_again(transform: F, f: F, options: dict[str, Any]) -> Any:
    return transform(f, **options)


def made_by(transform: F, f: F, **options: Any) -> Callable[[F], F]:
    """Decorate the function that ``transform(f, **options)`` is to return: it gets the name of ``f``.

    It does as ``functools.wraps``, but copies no attributes of an object that is callable: the programs of a jit or the
    weights of a model stay where they are.
    """

    def decorate(call: F) -> F:
        is_plain = isinstance(f, FunctionType) and held(f, "registry") is None  # of a generic function: its cache, too
        assigned = [name for name in WRAPPER_ASSIGNMENTS if held(f, name, f) is not f]
        named = wraps(f, assigned, WRAPPER_UPDATES if is_plain else ())(call)
        if held(f, "__name__") is None:  # an object that is callable
            named.__name__ = function_name(f)
        result = Transformed(named)
        vars(result).update(__module__=named.__module__, __qualname__=named.__qualname__)  # a class has its own
        result._made_by = transform, f, options
        return result

    return decorate
