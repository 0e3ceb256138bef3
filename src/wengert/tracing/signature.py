"""A signature says how a call's arguments look to a compiled function: equal signatures may run the same program.

A leaf of the arguments is an :class:`Array`, a NumPy :class:`Scalar` or a Python :class:`Number`, which are traced, or
:class:`Static`: a flag, a string, an object, for whose value the program is made. Signatures are keys, and made at
every call that the runtime does not answer by itself: they are tuples all the way down. Since tuples are equal where
their contents are, whatever their classes, each kind of leaf has its name among its contents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert import tree
from wengert.errors import StructureError, message
from wengert.tracing.record import check_integer, has_own_strides


class Static(NamedTuple):
    """A leaf that is not traced: the value itself, and what tells it from equal values of other types."""

    value: Any
    key: Any
    kind: str = "static"
    is_traced = False
    strides = None


class Array(NamedTuple):
    """An array, of any shape."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...] | None = None
    """The strides of an array that is not in C order, or has an axis that runs backwards. Whether a reshape is a view
    or a copy depends on them, and in which order its elements lie."""
    kind: str = "array"
    is_traced = True


class Scalar(NamedTuple):
    """One of NumPy's scalars, which is no array of shape () to NumPy, and so to the function."""

    dtype: np.dtype[Any]
    kind: str = "scalar"
    is_traced = True
    strides = None


class Number(NamedTuple):
    """A number of Python's, of exactly this type: it takes the dtype of what it meets."""

    type: type
    kind: str = "number"
    is_traced = True
    strides = None


Leaf = Static | Array | Scalar | Number


class Signature(NamedTuple):
    """The part of a call's arguments that must be equal for two calls to run the same program."""

    treedef: Any
    leaves: tuple[Leaf, ...]
    has_kwargs: bool
    """f((x,), {"s": y}) has the leaves and the tree of f(x, s=y)."""
    key_orders: Any
    """Dicts have one tree, whatever the order of their keys."""


def signature_of(leaves: Sequence[Any], treedef: Any, has_kwargs: bool) -> Signature:
    """The signature of a call whose arguments have these leaves; ``has_kwargs``: they are ``(args, kwargs)``."""
    kinds = tuple([leaf_of(x) for x in leaves])
    return _tuple(Signature, (treedef, kinds, has_kwargs, tree.key_orders(treedef)))


_tuple = tuple.__new__  # a named tuple's own __new__ is Python, and takes twice as long


def leaf_of(x: Any) -> Leaf:
    """Return what a signature says of a leaf. Raises StructureError if it cannot be compared with the next call's."""
    t = type(x)
    if t is np.ndarray or isinstance(x, np.ndarray):
        if has_own_strides(x):
            return Array(x.shape, x.dtype, x.strides)
        return _tuple(Array, (x.shape, x.dtype, None, "array"))
    if isinstance(x, np.generic):
        return _tuple(Scalar, (x.dtype, "scalar"))
    if t is float or t is int or t is complex:
        check_integer(x)
        return _NUMBERS[t]
    try:
        hash(x)
    except TypeError:
        raise StructureError(
            message(
                f"a {t.__name__} among the arguments can be neither traced nor compared with the next call's",
                tries=["a tuple or a frozenset of settings", "an array of numbers"],
            )
        ) from None
    return Static(x, tree.exact_key(x))


_NUMBERS = {t: Number(t) for t in (float, int, complex)}
