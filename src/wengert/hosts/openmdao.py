"""OpenMDAO: components whose partial derivatives are wengert's, exact and compiled, in the place of approximations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import wengert as wg

__all__ = ["component", "exact"]


@wg.expect.checked
def exact(component: type) -> type:
    """Return a subclass whose approximated partials are wengert's: those declared with ``method="cs"`` or ``"fd"``.

    The partials that the component computes itself stay its own. With ``rows`` and ``cols``, or ``diagonal``, columns
    that share no row are differentiated together, so a diagonal block costs one pass. ``declare_coloring`` stands for
    dense partials with respect to the same inputs.

    Parameters
    ----------
    component : a subclass of OpenMDAO's ``ExplicitComponent`` or ``ImplicitComponent``. Its ``compute``, or
        ``apply_nonlinear``, is traced as any function is: it reads ``inputs["x"]``, options and attributes, and writes
        ``outputs["y"]``.

    Returns
    -------
    A subclass of ``component`` with the same name. Values are computed by ``component``'s own code, not compiled.

    Raises
    ------
    ModuleNotFoundError : OpenMDAO is not installed.
    ArgumentError : it is no such class.
    StructureError : at the first partials, the declared rows and cols leave out an entry that is not zero.

    Examples
    --------
    >>> import numpy as np, openmdao.api as om
    >>> import wengert as wg
    >>> @wg.hosts.openmdao.exact
    ... class Area(om.ExplicitComponent):
    ...     def setup(self):
    ...         self.add_input("r", 2.0)
    ...         self.add_output("area")
    ...         self.declare_partials("area", "r", method="cs")
    ...
    ...     def compute(self, inputs, outputs):
    ...         outputs["area"] = np.pi * inputs["r"] ** 2
    >>> problem = om.Problem(reports=False)
    >>> _ = problem.model.add_subsystem("disc", Area())
    >>> problem.setup().run_model()
    >>> problem.compute_totals("disc.area", "disc.r")["disc.area", "disc.r"]
    array([[12.56637061]])
    """
    from wengert.hosts import _openmdao

    return _openmdao.exact(component)


@wg.expect.checked
def component(
    f: Callable[..., Any],
    inputs: Mapping[str, Any] | None = None,
    outputs: str | Sequence[str] | None = None,
    units: Mapping[str, str] | None = None,
    matrix_free: bool = False,
) -> Any:
    """Return an explicit component of OpenMDAO that computes ``f``, with its partials, all compiled.

    Parameters
    ----------
    f : takes arrays and numbers by name, and returns a dict of outputs by name; or one output, or a tuple, named by
        ``outputs``. It is called once to see which shapes come out.
    inputs : the values at the start, by the names of the arguments, each with the shape that it keeps; by default the
        defaults of the arguments. An argument without either is 1.0.
    outputs : the name of the output, or the names, where ``f`` returns no dict.
    units : of inputs and outputs, by name.
    matrix_free : no Jacobian is made; OpenMDAO gets products with it, for iterative solvers and few responses.

    Raises
    ------
    ModuleNotFoundError : OpenMDAO is not installed.
    ArgumentError : ``inputs`` or ``units`` has a name that is none of the component's; ``f`` returns no dict and
        ``outputs`` has not as many names as there are outputs.

    Examples
    --------
    >>> import openmdao.api as om
    >>> import wengert as wg
    >>> def paraboloid(x=3.0, y=-4.0):
    ...     return {"f": (x - 3) ** 2 + x * y + (y + 4) ** 2 - 3}
    >>> problem = om.Problem(reports=False)
    >>> _ = problem.model.add_subsystem("p", wg.hosts.openmdao.component(paraboloid), promotes=["*"])
    >>> problem.setup().run_model()
    >>> problem.compute_totals("f", ["x", "y"])
    {('f', 'x'): array([[-4.]]), ('f', 'y'): array([[3.]])}
    """
    from wengert.hosts import _openmdao

    return _openmdao.component(f, inputs, outputs, units, matrix_free)
