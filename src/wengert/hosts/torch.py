"""PyTorch: a NumPy function among tensors, and a function of tensors among NumPy arrays.

Both ways derivatives of every order go through, and tensors on the processor share their memory with the arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import wengert as wg

__all__ = ["function", "primitive"]


@wg.expect.checked
def function(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``f`` as a function of tensors that PyTorch's autograd differentiates, through wengert's derivatives.

    Parameters
    ----------
    f : a NumPy function of trees of arrays, which returns such. It is traced and compiled once for each structure and
        for the shapes and dtypes of its arguments.

    Returns
    -------
    A function of trees of tensors, and of whatever else ``f`` takes. It reads tensors where they lie, and its results
    are tensors of the dtypes that ``f`` gives. ``torch.autograd.grad``, ``backward`` with ``create_graph``, forward
    mode and what is in ``torch.func`` (``vmap`` too) go through it, to any order.

    Raises
    ------
    ModuleNotFoundError : PyTorch is not installed.
    UnsupportedFunctionError : at a call, a tensor is not on the processor, or is sparse, quantised or a bfloat16.

    Examples
    --------
    >>> import numpy as np, torch
    >>> import wengert as wg
    >>> norm = wg.hosts.torch.function(lambda x: np.sqrt(np.sum(x**2)))
    >>> x = torch.tensor([3.0, 4.0], requires_grad=True)
    >>> norm(x).backward()
    >>> x.grad
    tensor([0.6000, 0.8000])
    """
    from wengert.hosts import _torch

    return _torch.function(f)


@wg.expect.checked
def primitive(g: Callable[..., Any], *, type: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Return a function of tensors as a primitive of wengert's, whose derivatives are PyTorch's own.

    Parameters
    ----------
    g : takes tensors, and returns one or a tuple of them, computed from these tensors alone. A module is such a
        function; its parameters are constants here (``torch.func.functional_call`` makes them arguments).
    type : as of :func:`wengert.primitive`: called with empty arrays of the arguments' shapes and dtypes, returns arrays
        of the results'. Without it ``g`` is run once to see what it returns.

    Returns
    -------
    A function of arrays and numbers, given by position, that may be called in traced functions. ``g`` gets tensors that
    share the memory of the arrays, so it must not write them.

    Raises
    ------
    ModuleNotFoundError : PyTorch is not installed.

    Examples
    --------
    >>> import numpy as np, torch
    >>> import wengert as wg
    >>> softplus = wg.hosts.torch.primitive(torch.nn.functional.softplus)
    >>> wg.grad(lambda x: np.sum(softplus(x) ** 2))(np.zeros(2))
    array([0.69314718, 0.69314718])
    """
    from wengert.hosts import _torch

    return _torch.primitive(g, type)
