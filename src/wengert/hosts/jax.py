"""JAX: a NumPy function among JAX's, and a function of JAX's among NumPy's.

Both ways derivatives of every order go through, forward and reverse, and batches are computed as such.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import wengert as wg

__all__ = ["function", "primitive"]


@wg.expect.checked
def function(f: Callable[..., Any], *, type: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Return ``f`` as a function that ``jax.jit``, ``grad``, ``jvp``, ``vmap`` and the like take.

    Parameters
    ----------
    f : a NumPy function of trees of arrays, which returns such. It is called back from JAX, traced and compiled by
        wengert once for the shapes and dtypes of its arguments, and so is each derivative that JAX asks for. It should
        depend on nothing but its arguments, since JAX may call it more or less often than the program says.
    type : takes the arguments as :func:`specs <wengert.spec>`, and returns a tree of specs like the result. It is
        needed where the shapes of the results cannot be found without values: where ``f`` branches on them.

    Returns
    -------
    A function of trees of JAX's arrays, and of whatever else ``f`` takes; Python's own numbers and strings are handed
    to ``f`` as they are. The results are JAX's arrays, in float32 where JAX has not enabled 64 bits.

    Raises
    ------
    ModuleNotFoundError : JAX is not installed.
    ConcretizationError : at a call, ``f`` looks at values, and there is no ``type``.

    Examples
    --------
    >>> import jax, numpy as np
    >>> import wengert as wg
    >>> norm = wg.hosts.jax.function(lambda x: np.sqrt(np.sum(x**2)))
    >>> print(jax.jit(jax.grad(norm))(jax.numpy.array([3.0, 4.0])))
    [0.6 0.8]
    """
    from wengert.hosts import _jax

    return _jax.function(f, type)


@wg.expect.checked
def primitive(g: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of JAX's as a primitive of wengert's, whose derivatives are JAX's own.

    Parameters
    ----------
    g : takes arrays, and returns one or a tuple of them; ``jax.jit`` compiles it.

    Returns
    -------
    A function of arrays and numbers, given by position, that may be called in traced functions. It computes with 64
    bits if an argument has them, whatever JAX's own setting is.

    Raises
    ------
    ModuleNotFoundError : JAX is not installed.

    Examples
    --------
    >>> import jax, numpy as np
    >>> import wengert as wg
    >>> softplus = wg.hosts.jax.primitive(jax.nn.softplus)
    >>> wg.grad(lambda x: np.sum(softplus(x) ** 2))(np.zeros(2))
    array([0.69314718, 0.69314718])
    """
    from wengert.hosts import _jax

    return _jax.primitive(g)
