"""Classes that attrs and pydantic write are objects as dataclasses are: told by what the class has, without an import.

attrs adds attributes of its own to those of the user's: a hash that is kept, and in classes with slots the values of
cached properties. pydantic holds the attributes in three dicts, and the names of those that were given in a set.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_HASH = "_attrs_cached_hash"
_GIVEN = "__pydantic_fields_set__"


def is_attrs(cls: type) -> bool:
    """Whether attrs wrote the class, or a base of it."""
    return isinstance(getattr(cls, "__attrs_attrs__", None), tuple)


def attrs_fields(cls: type) -> tuple[str, ...]:
    """Return the names of the attributes that attrs knows, in their order."""
    return tuple([attribute.name for attribute in getattr(cls, "__attrs_attrs__", ())])


def kept_by_attrs(cls: type) -> set[str]:
    """Return the names of attributes that are computed from others: the hash, and cached properties that are slots."""
    made = {_HASH}
    for base in cls.__mro__:
        if "__attrs_attrs__" in vars(base):
            made.update(set(vars(base).get("__slots__", ())) - set(attrs_fields(base)))
    return made


def forget_hash(cls: type) -> Callable[[Any], None] | None:
    """Return what lets a new object compute its hash, if attrs keeps it; None if it does not."""
    hashed = getattr(cls, "__attrs_props__", None)
    is_kept = any(_HASH in vars(base) for base in cls.__mro__) or "CACHED" in str(getattr(hashed, "hashability", ""))
    return (lambda obj: object.__setattr__(obj, _HASH, None)) if is_kept else None


def is_pydantic(cls: type) -> bool:
    """Whether it is a model of pydantic's, of its second version or later."""
    return all(hasattr(cls, name) for name in ("__pydantic_fields__", _GIVEN, "__pydantic_extra__"))


def pydantic_fields(cls: type) -> tuple[str, ...]:
    """Return the names of a model's fields, in their order."""
    return tuple(getattr(cls, "__pydantic_fields__", None) or ())


def held_by_model(obj: Any) -> dict[str, Any]:
    """Return all that a model holds, by name: fields, what was given beside them, and private attributes."""
    extra, private = obj.__pydantic_extra__ or {}, obj.__pydantic_private__ or {}
    return {**vars(obj), **extra, **private, _GIVEN: frozenset(obj.__pydantic_fields_set__)}


def fill_model(obj: Any, held: dict[str, Any]) -> None:
    """Give a new model what :func:`held_by_model` returned of another, without a validator."""
    cls = type(obj)
    private_names, fields = cls.__private_attributes__, cls.__pydantic_fields__
    given = held.pop(_GIVEN)
    private = {name: held.pop(name) for name in list(held) if name in private_names}
    takes_others = cls.model_config.get("extra") == "allow"
    extra = {name: held.pop(name) for name in list(held) if name not in fields} if takes_others else None
    vars(obj).update(held)
    object.__setattr__(obj, _GIVEN, set(given))
    object.__setattr__(obj, "__pydantic_extra__", extra)
    object.__setattr__(obj, "__pydantic_private__", private if private_names else None)
