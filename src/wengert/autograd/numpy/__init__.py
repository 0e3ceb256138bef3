"""``import wengert.autograd.numpy as np``: NumPy itself, which wengert traces, with what autograd adds to it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as _np
from numpy import *  # type: ignore[assignment]  # noqa: F403  # ``where`` is autograd's, below
from numpy._core.einsumfunc import _parse_einsum_input  # type: ignore[attr-defined]  # NumPy's own, for NumPy alone
from numpy.typing import ArrayLike, DTypeLike

import wengert.autograd.numpy.fft
import wengert.autograd.numpy.linalg
import wengert.autograd.numpy.random  # noqa: F401
from wengert.autograd.core import *  # noqa: F403
from wengert.autograd.core import Box as ArrayBox  # noqa: F401
from wengert.autograd.core import F, flatten_containers, wraps
from wengert.autograd.spaces import ArrayVSpace, ComplexArrayVSpace  # noqa: F401

for _name, _value in vars(_np).items():
    if not _name.startswith("_"):
        globals().setdefault(_name, _value)


def _of_iterables(f: F) -> F:
    """A function of a sequence of arrays, which may be any iterable, as autograd's may."""
    return wraps(f)(lambda arrays, *args, **kwargs: f([*arrays], *args, **kwargs))


for _name in ("concatenate", "stack", "vstack", "hstack", "column_stack"):
    globals()[_name] = _of_iterables(getattr(_np, _name))

numpy_version = __version__ = _np.__version__
metadata: F = lambda A: (_np.shape(A), _np.ndim(A), _np.result_type(A), _np.iscomplexobj(A))
concatenate_args: F = lambda axis, *args: _np.concatenate(args, axis)
array_from_args: F = lambda array_args, array_kwargs, *args: _np.array(args, *array_args, **array_kwargs)
parse_einsum_input: F = lambda *args: _parse_einsum_input(args)
unbroadcast_f: F = lambda target, f: lambda g: unbroadcast(f(g), metadata(target))
balanced_eq: F = lambda x, z, y: (x == z) / (1.0 + (x == y))
replace_zero: F = lambda x, val: _np.where(x, x, val)


def wrap_namespace(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Put the public names of a namespace into another: wengert traces functions as they are."""
    new.update({name: x for name, x in old.items() if not name.startswith("_")})


def where(condition: ArrayLike, x: ArrayLike | None = None, y: ArrayLike | None = None) -> Any:
    """Return NumPy's ``where``, as a list or number if the arguments are of Python's alone, as autograd does."""
    if x is None and y is None:
        return _np.where(condition)
    if x is None or y is None:
        raise ValueError("either both or neither of x and y should be given")
    found = _np.where(condition, x, y)
    arrays = [leaf for leaf in flatten_containers((condition, x, y))[0] if hasattr(leaf, "dtype")]
    return found if arrays else found.tolist()


def make_diagonal(D: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return arrays with ``D`` on their diagonals."""
    if not (offset == 0 and axis1 == -1 and axis2 == -2):
        raise NotImplementedError("Currently make_diagonal only supports offset=0, axis1=-1, axis2=-2")
    return D[..., None] * _np.eye(_np.shape(D)[-1])


def unbroadcast(x: Any, target_meta: tuple[Any, ...], broadcast_idx: int = 0) -> Any:
    """Return the sum of ``x`` over the axes along which the target was broadcast."""
    while _np.ndim(x) > target_meta[1]:
        x = _np.sum(x, axis=broadcast_idx)
    for axis, size in enumerate(target_meta[0]):
        x = _np.sum(x, axis=axis, keepdims=True) if size == 1 else x
    return x if target_meta[3] or not _np.iscomplexobj(x) else _np.real(x)


def match_complex(target: ArrayLike, x: Any) -> Any:
    """Return ``x`` as real or complex as ``target``."""
    if _np.iscomplexobj(target):
        return x if _np.iscomplexobj(x) else x + 0j
    return _np.real(x) if _np.iscomplexobj(x) else x


def repeat_to_match_shape(
    g: ArrayLike, shape: tuple[int, ...], dtype: DTypeLike, axis: ArrayLike | None, keepdims: bool
) -> tuple[Any, Any]:
    """Return ``g``, of a reduction over ``axis``, broadcast to the shape before it, and how often each is repeated."""
    axes = range(len(shape)) if axis is None else _np.atleast_1d(axis) % len(shape)
    kept = [1 if k in axes else n for k, n in enumerate(shape)]
    return _np.zeros(shape, dtype) + _np.reshape(g, kept), _np.prod([shape[a] for a in axes], dtype=int)


for _name in ("boxes", "jvps", "vjps", "vspaces", "wrapper"):
    import_module(f"{__name__}.numpy_{_name}")  # which give on what stands above
