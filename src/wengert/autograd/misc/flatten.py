"""Containers of arrays as one vector, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wengert.autograd.core import F, flatten_containers


def flatten(value: object) -> tuple[Any, F]:
    """Return the numbers in nested tuples, lists and dicts as one vector, and the function that puts them back."""
    leaves, treedef = flatten_containers(value)
    ends = np.cumsum([np.size(x) for x in leaves])[:-1]
    like = [(np.shape(x), np.asarray if np.iscomplexobj(x) else np.real) for x in leaves]

    def unflatten(vector: ArrayLike) -> Any:
        parts = np.split(vector, ends) if leaves else []
        return treedef.unflatten([np.reshape(kind(x), shape)[()] for x, (shape, kind) in zip(parts, like, strict=True)])

    return np.concatenate([np.ravel(x) for x in leaves]) if leaves else np.array([]), unflatten


def flatten_func(func: F, example: object) -> tuple[F, F, Any]:
    """Return ``func`` as a function of vectors, what makes its argument of one, and the vector of ``example``."""
    _ex, unflatten = flatten(example)
    return lambda _x, *args: flatten(func(unflatten(_x), *args))[0], unflatten, _ex
