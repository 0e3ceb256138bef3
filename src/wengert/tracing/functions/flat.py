"""``x.flat``: the elements of an array in C order, whatever its axes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wengert.tracing import hooks
from wengert.tracing.arguments import as_written, detached
from wengert.tracing.tracer import Tracer


class Flat:
    """NumPy's ``flatiter`` of a traced array. What is read is a copy; what is written goes into the array."""

    def __init__(self, base: Tracer) -> None:
        self.base = base
        self.index = 0
        """How many elements have been given out by ``next``."""

    @property
    def coords(self) -> tuple[int, ...]:
        """Where the element is that ``next`` will give."""
        if self.index >= len(self):
            return self.base.shape
        return tuple([int(k) for k in np.unravel_index(self.index, self.base.shape)])

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.index >= len(self):
            raise StopIteration
        self.index += 1
        return np.ravel(self.base)[self.index - 1]

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self.base.ravel().__array__(*args, **kwargs)

    def copy(self) -> Any:
        return self.base.flatten()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*[x.copy() if type(x) is Flat else x for x in args], **kwargs)

    def __array_function__(
        self, function: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        return function(*[x.copy() if type(x) is Flat else x for x in args], **kwargs)

    def __getitem__(self, key: Any) -> Any:
        if key is None or isinstance(key, tuple | bool | np.bool_):
            raise IndexError("unsupported iterator index")
        part = np.ravel(self.base)[key]
        return part.copy() if part.ndim else part

    def __setitem__(self, key: object, values: ArrayLike) -> None:
        """Values are repeated, or left out, to as many as there are positions. A scalar is not written, silently."""
        if self.base.is_scalar:
            return
        raveled: Any = np.ravel(self.base)
        flat = detached(raveled)
        part = self[key]
        values = np.ravel(as_written(values, flat.dtype))
        if part.ndim == 0 and values.size != 1:
            raise ValueError("Error setting single item of array.")
        if not part.size or not values.size:
            return
        flat[key] = np.resize(values, part.shape) if part.ndim else values[0]
        self.base.assign(np.reshape(flat, self.base.shape))


hooks.Flat = Flat
