"""pandas' ``Series`` and ``DataFrame`` are nodes: a column of numbers is a child; index and names are structure.

pandas keeps its numbers in memory, or in an extension array, which is its door for others. :class:`TracedArray` is such
an array around a traced value. So a traced function computes with real Series, aligned by pandas itself; what of pandas
needs memory (``rolling``, ``to_csv``) asks the array for it, and is refused as any library is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.extensions import ExtensionArray, ExtensionDtype

from wengert.errors import StructureError, UnsupportedFunctionError, message
from wengert.tracing.arguments import array
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.tracer import Tracer
from wengert.tree import register
from wengert.tree.nodes import note_while_traced

DType = np.dtype[Any] | type | str | None

FRAMES = (pd.Series, pd.DataFrame, pd.Index)
_REDUCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "sum": (np.nansum, np.sum),
    "mean": (np.nanmean, np.mean),
    "prod": (np.nanprod, np.prod),
    "min": (np.nanmin, np.min),
    "max": (np.nanmax, np.max),
    "median": (np.nanmedian, np.median),
    "std": (np.nanstd, np.std),
    "var": (np.nanvar, np.var),
    "any": (np.any, np.any),
    "all": (np.all, np.all),
}
"""pandas' reductions: without what is missing, and with it."""

_ACCUMULATIONS = {"cumsum": np.cumsum, "cumprod": np.cumprod}


class TracedDtype(ExtensionDtype):
    """The dtype of a :class:`TracedArray`: that of its numbers."""

    _metadata = ("numbers",)
    na_value = np.nan

    def __init__(self, numbers: np.dtype[Any]) -> None:
        self.numbers = np.dtype(numbers)

    @property
    def name(self) -> str:
        return f"traced {self.numbers.name}"

    @property
    def type(self) -> type:
        return self.numbers.type

    @property
    def kind(self) -> str:
        return self.numbers.kind

    @property
    def _is_numeric(self) -> bool:
        return True

    @property
    def _is_boolean(self) -> bool:
        return self.numbers.kind == "b"

    def construct_array_type(self) -> Any:
        return TracedArray

    def __hash__(self) -> int:
        return hash(self.numbers)


class TracedArray(ExtensionArray):
    """A column of traced numbers; or of anything that a tree is rebuilt around, which pandas only carries."""

    __array_priority__ = 2000.0

    def __init__(self, x: Any, length: int | None = None) -> None:
        self.x = x
        self._length = len(x) if length is None else length
        self._dtype = TracedDtype(getattr(x, "dtype", np.dtype(float)) if type(x) is Tracer else np.dtype(float))

    # ------------------------------------------------------------------------------------ what pandas asks of all

    @property
    def dtype(self) -> Any:
        return self._dtype

    def __len__(self) -> int:
        return self._length

    @property
    def nbytes(self) -> int:
        return self._length * self._dtype.numbers.itemsize

    @classmethod
    def _from_sequence(cls, scalars: Iterable[Any], *, dtype: object = None, copy: bool = False) -> TracedArray:
        return scalars if isinstance(scalars, TracedArray) else cls(array(list(scalars)))

    def __getitem__(self, item: object) -> Any:
        found = self.x[item.x if isinstance(item, TracedArray) else item]
        return TracedArray(found) if np.ndim(found) else found

    def __setitem__(self, key: object, value: object) -> None:
        x = self.x.copy()
        x[key] = _numbers(value)
        self.x = x

    def isna(self) -> Any:
        if self._dtype.kind not in "fc":
            return np.zeros(self._length, bool)
        return np.asarray(np.isnan(self.x))  # a look, guarded

    def take(self, indices: Sequence[int], *, allow_fill: bool = False, fill_value: Any = None) -> TracedArray:
        places = np.asarray(indices, np.intp)
        if not allow_fill or not (places < 0).any():
            return TracedArray(self.x[places])
        fill = np.nan if fill_value is None or fill_value is pd.NA else fill_value
        return TracedArray(np.where(places < 0, fill, self.x[np.maximum(places, 0)]))

    def copy(self) -> TracedArray:
        return TracedArray(self.x, self._length)

    @classmethod
    def _concat_same_type(cls, to_concat: Sequence[TracedArray]) -> TracedArray:
        return cls(np.concatenate([one.x for one in to_concat]))

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        if isinstance(dtype, TracedDtype):
            dtype = dtype.numbers
        if isinstance(dtype, ExtensionDtype) or np.dtype(dtype).kind not in "fiubc":
            return np.asarray(self, dtype=dtype)
        return TracedArray(self.x.astype(dtype))

    def to_numpy(self, dtype: DType = None, copy: bool = False, na_value: object = None) -> Any:
        return self.x if dtype is None else self.x.astype(dtype)

    def __array__(self, dtype: DType = None, copy: bool | None = None) -> Any:
        return self.x.__array__(dtype)

    def _formatter(self, boxed: bool = False) -> Callable[[Any], str | None]:
        return str

    # ---------------------------------------------------------------------------------------------- computing

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(isinstance(x, FRAMES) for x in inputs):
            return NotImplemented
        return _column(getattr(ufunc, method)(*map(_numbers, inputs), **kwargs))

    def __array_function__(
        self, function: Callable[..., Any], types: Collection[type], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        return function(*[_unwrapped(x) for x in args], **{name: _unwrapped(x) for name, x in kwargs.items()})

    def _reduce(self, name: str, *, skipna: bool = True, keepdims: bool = False, **kwargs: Any) -> Any:
        if name not in _REDUCTIONS:
            raise UnsupportedFunctionError(
                message(f"pandas' {name} of a traced column is not traced", tries=["np functions of x.to_numpy()"])
            )
        options = {key: value for key, value in kwargs.items() if key == "ddof"}
        found = _REDUCTIONS[name][0 if skipna else 1](self.x, **options)
        return TracedArray(np.reshape(found, (1,))) if keepdims else found

    def _accumulate(self, name: str, *, skipna: bool = True, **kwargs: Any) -> Any:
        if name not in _ACCUMULATIONS:
            raise UnsupportedFunctionError(message(f"pandas' {name} of a traced column is not traced"))
        if skipna and self.isna().any():
            what = f"pandas' {name} of a traced column skips what is missing, which is not traced"
            raise UnsupportedFunctionError(message(what, tries=["skipna=False, or x.fillna(0) before"]))
        return TracedArray(_ACCUMULATIONS[name](self.x))

    def _where(self, mask: object, value: object) -> TracedArray:
        return TracedArray(np.where(_numbers(mask), self.x, _numbers(value)))

    def fillna(self, value: object = None, *args: object, **kwargs: object) -> Any:
        return TracedArray(np.where(np.isnan(self.x), _numbers(value), self.x))

    def __neg__(self) -> TracedArray:
        return TracedArray(-self.x)

    def __pos__(self) -> TracedArray:
        return self

    def __abs__(self) -> TracedArray:
        return TracedArray(abs(self.x))

    def __invert__(self) -> TracedArray:
        return TracedArray(~self.x)


def _binary(apply: Callable[[Any, Any], Any], is_reflected: bool) -> Any:
    def method(self: TracedArray, other: object) -> Any:
        if isinstance(other, FRAMES):
            return NotImplemented
        x = _numbers(other)
        return _column(apply(x, self.x) if is_reflected else apply(self.x, x))

    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor"):
    _apply = getattr(operator, _name)
    setattr(TracedArray, f"__{_name.strip('_')}__", _binary(_apply, False))
    setattr(TracedArray, f"__r{_name.strip('_')}__", _binary(_apply, True))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(TracedArray, f"__{_name}__", _binary(getattr(operator, _name), False))


def _numbers(x: Any) -> Any:
    """Return the numbers of a column, traced or not."""
    if isinstance(x, TracedArray):
        return x.x
    return x.to_numpy() if isinstance(x, ExtensionArray) else x


def _unwrapped(x: object) -> Any:
    return type(x)([_unwrapped(one) for one in x]) if isinstance(x, list | tuple) else _numbers(x)


def _column(x: object) -> Any:
    if isinstance(x, tuple):
        return tuple([_column(one) for one in x])
    return TracedArray(x) if type(x) is Tracer and x.ndim == 1 else x


@intercepts("pandas.core.construction:sanitize_array")
def sanitize_array(
    data: object, index: pd.Index | None, dtype: np.dtype[Any] | None = None, copy: bool = False, **options: Any
) -> Any:
    """Return a traced array, of which pandas is to make a column, as an extension array."""
    from pandas.core import construction

    if isinstance(data, list | tuple):
        data = array(data)
    if type(data) is not Tracer or data.ndim > 1:
        return construction.sanitize_array(np.asarray(data), index, dtype, copy, **options)
    if data.ndim == 0 and index is not None:
        data = np.broadcast_to(data, (len(index),))
    column = TracedArray(data if dtype is None else data.astype(dtype))
    return construction.sanitize_array(column, index, None, False, **options)


# -------------------------------------------------------------------------- what a traced function gets for arguments


_BY_METHODS = frozenset(
    ["sum", "prod", "max", "min", "amax", "amin", "any", "all", "mean", "std", "var", "cumsum", "cumprod", "round"]
    + ["clip", "take", "repeat", "argmax", "argmin", "argsort", "sort", "squeeze"]
)
"""NumPy's functions that call the method of the same name, which of pandas' objects skips what is missing."""


def _array_function(
    self: object, function: Callable[..., Any], types: Collection[type], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Answer a function of NumPy's: by the method that NumPy would call, or on the numbers, as NumPy converts them."""
    if function.__name__ in _BY_METHODS:
        original: Any = function
        return original._implementation(*args, **kwargs)
    given = [_bare(x) for x in args]
    return function(*given, **{name: _bare(x) for name, x in kwargs.items()})


def _bare(x: Any) -> Any:
    if isinstance(x, list | tuple):
        return type(x)([_bare(one) for one in x])
    return _numbers(x.to_numpy()) if isinstance(x, FRAMES) else _numbers(x)


class TracedSeries(pd.Series):
    """A Series of traced numbers, which NumPy's functions take too."""

    __array_function__ = _array_function

    @property
    def _constructor(self) -> Any:
        return TracedSeries

    @property
    def _constructor_expanddim(self) -> Any:
        return TracedFrame

    @property
    def values(self) -> Any:
        return self.to_numpy()


class TracedFrame(pd.DataFrame):
    """A DataFrame with columns of traced numbers, which NumPy's functions take too."""

    __array_function__ = _array_function

    @property
    def _constructor(self) -> Any:
        return TracedFrame

    @property
    def _constructor_sliced(self) -> Any:
        return TracedSeries

    def to_numpy(self, dtype: DType = None, copy: bool = False, na_value: object = None) -> Any:
        columns = [self.iloc[:, k] for k in range(self.shape[1])]
        if not all(_is_number(column.dtype) for column in columns):
            return super().to_numpy(dtype, copy)
        made = np.stack([_child(column) for column in columns], 1)
        return made if dtype is None else made.astype(dtype)

    @property
    def values(self) -> Any:
        return self.to_numpy()


# ---------------------------------------------------------------------------------------------------------- nodes


class TableLabels:
    """The structure of a Series or DataFrame: its index and names, and the columns that are no numbers."""

    __slots__ = ("_hash", "cls", "columns", "index", "name", "others", "places")

    def __init__(self, x: pd.Series | pd.DataFrame, places: tuple[int, ...], others: tuple[pd.Series, ...]) -> None:
        self.cls = pd.DataFrame if isinstance(x, pd.DataFrame) else pd.Series
        self.index, self.places, self.others = x.index, places, others
        self.columns = x.columns if isinstance(x, pd.DataFrame) else None
        self.name = None if isinstance(x, pd.DataFrame) else x.name
        names = None if self.columns is None else tuple(map(str, self.columns))
        self._hash = hash((self.cls, len(self.index), places, names, str(self.name)))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TableLabels) or (self.cls, self.places) != (other.cls, other.places):
            return False
        if (type(self.name), self.name) != (type(other.name), other.name) or not _is_same(self.index, other.index):
            return False
        if self.columns is not None and not _is_same(self.columns, other.columns):
            return False
        return all(x.equals(y) for x, y in zip(self.others, other.others, strict=True))


def _is_same(x: pd.Index, y: pd.Index) -> bool:
    return x is y or x.identical(y)


def _is_number(dtype: object) -> bool:
    return isinstance(dtype, TracedDtype) or (
        pd.api.types.is_numeric_dtype(dtype) and getattr(dtype, "kind", "") in "fiubc"
    )


def _child(x: pd.Series) -> Any:
    held = x.array
    return held.x if isinstance(held, TracedArray) else x.to_numpy()


def _held(child: Any, index: pd.Index) -> Any:
    """Return what a Series of that index is made of around ``child``."""
    if hasattr(child, "shape") and np.shape(child) != (len(index),):
        raise StructureError(
            message(
                f"an array of shape {np.shape(child)} does not fit the {len(index)} labels of a column: a Jacobian "
                "has more axes than its argument, and vmap takes one away",
                tries=["x.to_numpy() as the argument, and pd.Series(x, index=...) within the function"],
            )
        )
    return child if type(child) is np.ndarray else TracedArray(child, len(index))


def _flatten_series(x: pd.Series) -> tuple[Any, ...]:
    if not _is_number(x.dtype):
        return (), TableLabels(x, (), (x.copy(deep=True),)), ()
    return (_child(x),), TableLabels(x, (0,), ()), ("values",)


def _unflatten_series(labels: TableLabels, children: Sequence[Any]) -> Any:
    if not labels.places:
        return labels.others[0].copy()
    column = _held(children[0], labels.index)
    made = TracedSeries if type(children[0]) is Tracer else pd.Series
    return made(column, index=labels.index, name=labels.name, copy=False)


def _flatten_frame(x: pd.DataFrame) -> tuple[Any, ...]:
    columns = [x.iloc[:, k] for k in range(x.shape[1])]
    places = tuple([k for k, column in enumerate(columns) if _is_number(column.dtype)])
    others = tuple([column.copy(deep=True) for k, column in enumerate(columns) if k not in places])
    names = tuple([str(x.columns[k]) for k in places])
    return tuple([_child(columns[k]) for k in places]), TableLabels(x, places, others), names


def _unflatten_frame(labels: TableLabels, children: Sequence[Any]) -> Any:
    numbers, others = iter(children), iter(labels.others)
    assert labels.columns is not None
    made = {
        k: pd.Series(_held(next(numbers), labels.index), index=labels.index, copy=False)
        if k in labels.places
        else next(others).copy()
        for k in range(len(labels.columns))
    }
    is_traced = any(type(child) is Tracer for child in children)
    frame = (TracedFrame if is_traced else pd.DataFrame)(made, index=labels.index, copy=False)
    frame.columns = labels.columns
    return frame


def enroll(cls: type) -> None:
    """Make the objects of a class nodes, if they are Series or DataFrames, or a column of either that is traced."""
    if cls in (TracedSeries, TracedFrame):
        note_while_traced(cls)
    if cls in (pd.Series, TracedSeries):
        register(cls, _flatten_series, _unflatten_series)
    elif cls in (pd.DataFrame, TracedFrame):
        register(cls, _flatten_frame, _unflatten_frame)
    elif cls is TracedArray:
        register(cls, lambda column: ((column.x,), None, ("values",)), lambda _, children: children[0])
