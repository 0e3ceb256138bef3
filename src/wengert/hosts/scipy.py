"""SciPy: a compiled program as a ``scipy.LowLevelCallable``, which SciPy's compiled code calls without Python."""

# pyright takes this module itself for its library.
# pyright: reportAttributeAccessIssue=false
from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import wengert as wg
from wengert.hosts._c_functions import of_c

__all__ = ["low_level"]

_SIGNATURES = {
    "of_number": (ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_void_p), "double (double, void *)"),
    "of_numbers": (
        ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int, ctypes.POINTER(ctypes.c_double), ctypes.c_void_p),
        "double (int, double *, void *)",
    ),
    "of_window": (
        ctypes.CFUNCTYPE(
            ctypes.c_int,
            ctypes.POINTER(ctypes.c_double),
            ctypes.c_ssize_t,
            ctypes.POINTER(ctypes.c_double),
            ctypes.c_void_p,
        ),
        "int (double *, intptr_t, double *, void *)",
    ),
}
_SIGNATURES["of_array"] = _SIGNATURES["of_numbers"]


@wg.expect.checked
def low_level(f: Callable[..., Any], *example: Any, window: bool = False) -> Any:
    """Return ``f``, compiled by wengert, as a ``scipy.LowLevelCallable``: ``quad`` and the like call it without Python.

    Parameters
    ----------
    f : a function of numbers, or of one vector, that returns a number, in float64; ``wg.grad`` makes such functions.
    example : arguments of the shapes that it is to take: a number for each of its parameters (``quad`` gives the
        variable, and then those of ``args=``), or a vector. Without one ``f`` takes one number.
    window : make a function for the filters of ``scipy.ndimage``, which give it the values of their window as a vector.

    Returns
    -------
    A ``scipy.LowLevelCallable``, which keeps the program. It is for ``quad``, ``dblquad`` and ``nquad``; with
    ``window``, for ``ndimage.generic_filter``. Where a run fails (a branch goes another way than for the example),
    SciPy raises a RuntimeError at its end, or a SystemError whose cause it is.

    Raises
    ------
    StructureError : ``f`` does not return one number; a step of the program calls Python.
    ShapeError, DTypeError : an argument or the result is neither a number nor a vector of float64.

    Examples
    --------
    >>> import numpy as np, scipy.integrate
    >>> import wengert as wg
    >>> bell = wg.hosts.scipy.low_level(lambda x, width: np.exp(-((x / width) ** 2)), 0.0, 1.0)
    >>> round(scipy.integrate.quad(bell, -np.inf, np.inf, args=(2.0,))[0] / np.sqrt(np.pi), 9)
    np.float64(2.0)
    """
    import numpy as np
    from scipy import LowLevelCallable

    made = of_c(f, [np.asarray(x, float) if np.ndim(x) else float(x) for x in example or (0.5,)])
    shapes = [spec.shape for spec in made.takes]
    is_vector = len(shapes) == 1 and len(shapes[0]) == 1
    if not (is_vector or (not window and not any(shapes) and len(shapes) <= 64)):
        taken = "one vector" if window else "numbers, or one vector"
        raise wg.errors.ShapeError(
            wg.errors.message(f"{made.name}: SciPy gives it {taken}; the example is {', '.join(map(str, made.takes))}")
        )
    if made.is_tuple or made.gives[0] != wg.spec(()):
        given = ", ".join(map(str, made.gives))
        raise wg.errors.DTypeError(wg.errors.message(f"{made.name}: SciPy takes one float64[]; it returns {given}"))
    kind = "of_window" if window else "of_array" if is_vector else "of_number" if len(shapes) == 1 else "of_numbers"
    prototype, signature = _SIGNATURES[kind]
    return LowLevelCallable(prototype(getattr(made.function, kind)), made.function.owner, signature)
