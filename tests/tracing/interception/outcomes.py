"""What two calls of one function have to have in common."""

from __future__ import annotations

import pickle
import threading
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np


def plain(x: Any) -> Any:
    """Something that is equal, with all its types and bits, where two results are."""
    if isinstance(x, np.ndarray | np.generic) and x.dtype.kind != "O":
        return type(x), x.dtype, x.shape, x.tobytes()
    if isinstance(x, list | tuple):
        return type(x), [plain(item) for item in x]
    if isinstance(x, dict):
        return type(x), [(key, plain(item)) for key, item in x.items()]
    if isinstance(x, np.nditer | np.broadcast):
        return type(x), x.shape, [plain(item) for item in x]
    if isinstance(x, np.errstate):
        with x:
            return type(x), np.geterr()
    if isinstance(x, warnings.catch_warnings):
        return type(x), x._filter, x._record
    if isinstance(x, memoryview):
        return type(x), x.format, x.shape, x.readonly, x.tobytes()
    if isinstance(x, float | complex):
        return type(x), repr(x)  # NaN is itself
    if isinstance(x, int | str | bytes | range | type | types.NoneType):
        return x
    if type(x).__name__ == "SuperLU":
        return type(x), x.shape, x.nnz
    if isinstance(x, types.BuiltinMethodType) and type(x.__self__).__name__ == "SuperLU":
        return x.__name__, plain(x.__self__)
    if type(x).__name__.endswith("_frozen"):  # a distribution of SciPy's, which may hold closures
        return type(x), [plain(value) for value in vars(x).values() if isinstance(value, np.ndarray | float | int)]
    return type(x), pickle.dumps(x)


def in_another_thread(f: Callable[[], Any]) -> Any:
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(f()))
    thread.start()
    thread.join()
    return results[0]
