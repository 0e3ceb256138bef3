"""``known_root``: solutions of equations, with the derivatives of the implicit function theorem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wengert import tree
from wengert.api.derivatives import stop_gradient
from wengert.api.recording import record_body
from wengert.errors import DTypeError, ShapeError, StructureError, message
from wengert.expect import checked
from wengert.higher.implicit import Equation, root
from wengert.higher.recording import RecordedBody, aval_of
from wengert.tape import Aval
from wengert.tracing.emit import record
from wengert.tracing.stack import current_trace

Array = ArrayLike


@checked
def known_root(f: Callable[[Any], Any], y: Array, jac: Callable[[Any], Any] | None = None) -> Any:
    """Return ``y``, which the caller knows to be a solution of f(y) = 0, with the derivatives of that solution.

    This is for code that finds y by an iteration, or by a library: how it was found is not differentiated. Derivatives,
    forward and reverse, of any order, are those of the implicit function theorem, in all that ``f`` captures. They are
    as accurate as y is. A value that is not a solution has derivatives that mean nothing, and nobody can see that: an
    iteration that did not converge is for the caller to notice.

    Parameters
    ----------
    f : takes an array of y's shape ``s``, and returns one of the same shape and dtype. The unknowns are one system: of
        n unknowns the derivative solves linear equations with a matrix of n by n. Equations that do not depend on each
        other are best mapped over (:func:`vmap`).
    y : the solution, an array or number of float64 or float32.
    jac : takes y, returns ∂f/∂y, an array of shape ``(*s, *s)``, where it is known in a cheaper way than by the n
        directions of forward mode.

    Raises
    ------
    DTypeError : y is complex (solve for its real and imaginary part), or an integer.
    StructureError, ShapeError, DTypeError : ``f`` or ``jac`` return something of another type; with its line.
    LinAlgError : a derivative is computed where the matrix ∂f/∂y is singular.

    Examples
    --------
    Kepler's equation E − e sin E = M, solved by Newton's iteration:

    >>> import numpy as np, wengert as wg
    >>> def kepler(e, M):
    ...     E = M
    ...     for _ in range(10):
    ...         E = E - (E - e * np.sin(E) - M) / (1 - e * np.cos(E))
    ...     return wg.known_root(lambda E: E - e * np.sin(E) - M, E)
    >>> by_e, by_M = wg.grad(kepler, argnums=(0, 1))(0.5, 0.1)
    >>> E = kepler(0.5, 0.1)
    >>> bool(np.isclose(by_M, 1 / (1 - 0.5 * np.cos(E)))), bool(np.isclose(by_e, np.sin(E) * by_M))
    (True, True)
    """
    aval = aval_of(y)
    if aval.dtype.kind != "f":
        tries = ["the real and the imaginary part as unknowns"] if aval.dtype.kind == "c" else ["a float"]
        raise DTypeError(message(f"known_root: y is {aval}; expected real numbers of a float's dtype", tries=tries))
    if current_trace() is None:
        return y.copy() if isinstance(y, np.ndarray) else y  # an array of its own, as in a trace
    function = _recorded("f", f, aval, aval)
    jacobian = None if jac is None else _recorded("jac", jac, aval, Aval((*aval.shape, *aval.shape), aval.dtype))
    equation = Equation(function.tape, len(function.constants), None if jacobian is None else jacobian.tape, 0)
    constants = [*function.constants, *([] if jacobian is None else jacobian.constants)]
    return record(root, [stop_gradient(y), *constants], {"equation": equation, "wrt": None})


def _recorded(name: str, f: Callable[[Any], Any], y: Aval, wanted: Aval) -> RecordedBody:
    """``f`` as a body that takes an array like y, or a raised error if it does not return what is wanted."""
    one = tree.flatten((0.0,))[1]
    body = record_body("known_root", f, [y], one)
    found = [a.aval for a in body.tape.outputs]
    if body.treedef != tree.flatten(0.0)[1]:
        what = f"known_root: {name} returned {tree.describe(tree.unflatten(body.treedef, found))}; expected one array"
        raise StructureError(message(what, body.source, tries=["np.concatenate or np.stack of the parts"]))
    if found[0] is not wanted:
        error = DTypeError if found[0].shape == wanted.shape else ShapeError
        raise error(message(f"known_root: {name} returned {found[0]}; expected {wanted}, as y is {y}", body.source))
    return body
