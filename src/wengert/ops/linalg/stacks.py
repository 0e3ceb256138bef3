"""References that run a routine for one matrix, of SciPy's, on each matrix of a stack."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from wengert.tape import Aval

Array = np.ndarray[Any, Any]


def scipy_linalg() -> Any:
    """The module ``scipy.linalg``, which is heavy to import, and needed only where a reference runs."""
    return import_module("scipy.linalg")


def over_stack(one: Callable[..., Any], type: Callable[..., Any], cores: int | tuple[int, ...] = 2) -> Any:
    """Return the reference that calls ``one`` on each example, and fills arrays of the types that the type rule says.

    ``cores`` is the number of axes of an example, for each operand or for all; further axes in front are a stack, which
    is the same for all operands. Where a result has no elements, or operand 0 has none, nothing is called, and the
    results are zeros.
    """

    def reference(*xs: Array, **params: Any) -> Any:
        avals = type(*[Aval(x.shape, x.dtype) for x in xs], **params)
        are_several = isinstance(avals, tuple)
        outs = [np.zeros(a.shape, a.dtype) for a in (avals if are_several else (avals,))]
        of_first = cores if isinstance(cores, int) else cores[0]
        lead = xs[0].shape[: xs[0].ndim - of_first]
        if xs[0].size and any(out.size for out in outs):
            for k in np.ndindex(lead):
                results = one(*[x[k] for x in xs], **params)
                for out, result in zip(outs, results if are_several else (results,), strict=True):
                    out[k] = result
        return tuple(outs) if are_several else outs[0]

    return reference
