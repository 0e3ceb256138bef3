"""xarray's ``DataArray``, ``Dataset`` and ``Variable`` are nodes; dimensions, coordinates, names and attributes are
structure.

A coordinate is structure even if it is made of numbers: a function that was compiled for it is recorded anew where it
differs. A gradient has the labels of what it is taken by, and its attributes too, as xarray's arithmetic keeps them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import xarray as xr

from wengert.errors import StructureError, message
from wengert.tracing.tracer import Tracer
from wengert.tree import register

Names = tuple[Any, ...]
XArray: TypeAlias = xr.DataArray | xr.Dataset | xr.Variable


class GridLabels:
    """The structure of an object of xarray's: the object itself around numbers that take no memory."""

    __slots__ = ("_hash", "names", "template")

    def __init__(self, template: XArray, names: Names) -> None:
        self.template, self.names = template, names
        self._hash = hash((type(template), names, tuple(template.sizes.items()), tuple(map(str, _coords(template)))))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GridLabels) or (self._hash, self.names) != (other._hash, other.names):
            return False
        a, b = self.template, other.template
        if a.attrs != b.attrs or getattr(a, "name", None) != getattr(b, "name", None):
            return False
        if type(a) is xr.Dataset and any(a[n].dims != b[n].dims or a[n].attrs != b[n].attrs for n in self.names):
            return False
        ours, theirs = _parts(a, self.names), _parts(b, self.names)
        return list(ours) == list(theirs) and all(_is_same(x, theirs[name]) for name, x in ours.items())


def _coords(x: XArray) -> dict[Any, Any]:
    return {} if isinstance(x, xr.Variable) else {name: x.coords[name].variable for name in x.coords}


def _parts(x: XArray, names: Names) -> dict[Any, Any]:
    """Return the variables that are structure: coordinates, and what is no array of numbers."""
    if isinstance(x, xr.Dataset):
        return {**_coords(x), **{name: one.variable for name, one in x.data_vars.items() if name not in names}}
    own = {} if names else {"data": x if isinstance(x, xr.Variable) else x.variable}
    return {**_coords(x), **own}


def _is_same(x: xr.Variable, y: xr.Variable) -> bool:
    return x is y or (x.dtype == y.dtype and x.identical(y))


def _blank(x: xr.Variable) -> Any:
    """Return numbers of the shape and dtype of ``x``, all of them one."""
    return np.broadcast_to(np.zeros((), x.dtype), x.shape)


def _is_number(x: xr.Variable) -> bool:
    return x.dtype.kind in "fiubc"


def _flatten_array(x: xr.DataArray | xr.Variable) -> tuple[Any, ...]:
    if not _is_number(x):
        return (), GridLabels(_with_own_coords(x.copy(deep=True)), ()), ()
    return (x.data,), GridLabels(_with_own_coords(x.copy(deep=False, data=_blank(x))), ("data",)), ("data",)


def _with_own_coords(x: XArray) -> Any:
    """Return ``x`` with copies of the coordinates that can be written: what they are now is the structure."""
    written = {} if isinstance(x, xr.Variable) else {n: c for n, c in x.coords.items() if n not in x.xindexes}
    for name, coordinate in written.items():
        if type(coordinate.data) is Tracer:
            raise StructureError(
                message(
                    f"the coordinate {name!r} is made of traced values, and a coordinate is structure",
                    tries=["the values as a DataArray of their own, beside it"],
                )
            )
    return x.assign_coords({n: c.copy(deep=True) for n, c in written.items()}) if written else x


def _unflatten_array(labels: GridLabels, children: Sequence[Any]) -> Any:
    made = labels.template.copy(deep=False)
    if labels.names:
        (child,) = children
        _put(made if isinstance(made, xr.Variable) else made.variable, child)
    return made


def _put(variable: xr.Variable, child: Any) -> None:
    if hasattr(child, "shape") and np.shape(child) != variable.shape:
        raise StructureError(
            message(
                f"an array of shape {np.shape(child)} does not fit under the labels {dict(variable.sizes)}: a "
                "Jacobian has more axes than its argument, and vmap takes one away",
                tries=["x.data as the argument, and xr.DataArray(x, ...) within the function"],
            )
        )
    variable._data = np.asarray(child) if isinstance(child, float | int | complex | np.generic) else child


def _flatten_dataset(x: xr.Dataset) -> tuple[Any, ...]:
    names = tuple([name for name, one in x.data_vars.items() if _is_number(one)])
    others = [name for name in x.data_vars if name not in names]
    blank = x.assign(
        {name: x[name].variable.copy(deep=False, data=_blank(x[name])) for name in names}
        | {name: x[name].variable.copy(deep=True) for name in others}
    )
    return tuple([x[name].data for name in names]), GridLabels(_with_own_coords(blank), names), tuple(map(str, names))


def _unflatten_dataset(labels: GridLabels, children: Sequence[Any]) -> Any:
    made = labels.template.copy(deep=False)
    for name, child in zip(labels.names, children, strict=True):
        _put(made.variables[name], child)
    return made


def enroll(cls: type) -> None:
    """Make the objects of a class nodes, if they are arrays of xarray's."""
    if issubclass(cls, xr.Dataset):
        register(cls, _flatten_dataset, _unflatten_dataset)
    elif issubclass(cls, xr.DataArray | xr.Variable):
        register(cls, _flatten_array, _unflatten_array)
