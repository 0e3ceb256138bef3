"""PyMC: a NumPy function among the variables of PyTensor, with derivatives of every order, and batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import wengert as wg

__all__ = ["function"]


@wg.expect.checked
def function(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``f`` as a function of PyTensor's variables, which a ``pymc.Model`` calls as it calls PyTensor's own.

    Parameters
    ----------
    f : a NumPy function of trees of arrays, which returns such. It is traced and compiled once for the shapes and
        dtypes of its arguments, and so is each derivative and each batch that PyTensor asks for.

    Returns
    -------
    A function of trees of variables, and of whatever else ``f`` takes: Python's numbers and strings are handed to it as
    they are. The results are variables. ``pytensor.grad``, ``Rop`` and ``vectorize_graph`` go through it, so does what
    PyMC does with them.

    Raises
    ------
    ModuleNotFoundError : PyTensor is not installed.
    ShapeError : at a call, a variable has no static shape.

    Examples
    --------
    >>> import numpy as np, pytensor, pytensor.tensor as pt
    >>> import wengert as wg
    >>> norm = wg.hosts.pymc.function(lambda x: np.sqrt(np.sum(x**2)))
    >>> x = pt.vector("x", shape=(2,))
    >>> pytensor.function([x], pytensor.grad(norm(x), x))(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    """
    from wengert.hosts import _pymc

    return _pymc.function(f)
