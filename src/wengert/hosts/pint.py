"""pint: gradients of functions of quantities, in their units: those of the value by those of the argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg

__all__ = ["grad", "value_and_grad"]


def grad(f: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """Return the gradient of a function of quantities, in units of the value by units of the argument.

    Parameters
    ----------
    f, argnums : as for :func:`value_and_grad`.

    Returns
    -------
    A function of ``f``'s arguments that returns the gradient.

    Raises
    ------
    ArgumentError, ScalarOutputError : as for :func:`value_and_grad`.

    Examples
    --------
    >>> import pint
    >>> import wengert as wg
    >>> unit = pint.UnitRegistry()
    >>> wg.hosts.pint.grad(lambda v: 0.5 * (2 * unit.kg) * v**2)(3.0 * unit.m / unit.s)
    <Quantity(6.0, 'kilogram * meter / second')>
    """
    both = value_and_grad(f, argnums)
    return lambda *args: both(*args)[1]


@wg.expect.checked
def value_and_grad(f: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """Return the function that computes the value of ``f`` and its gradient, both with their units.

    Parameters
    ----------
    f : a function of quantities and other arguments, which returns one real number with or without units.
    argnums : the argument to differentiate by, or a tuple of such: each a quantity, or an array or number. The others
        may be anything.

    Returns
    -------
    A function of ``f``'s arguments that returns ``(value, gradient)``. The gradient of a quantity has the unit of the
    value by its unit, of differences where a scale has an offset (degrees Celsius); of several arguments it is a tuple.

    Raises
    ------
    ArgumentError : at a call, an argument to differentiate by is missing, or a unit is a logarithm (dB).
    ScalarOutputError : at a call, the value is not one real number.

    Examples
    --------
    >>> import numpy as np, pint
    >>> import wengert as wg
    >>> unit = pint.UnitRegistry()
    >>> def energy(height, mass):
    ...     return np.sum(mass * (9.81 * unit.m / unit.s**2) * height).to("kJ")
    >>> value, slope = wg.hosts.pint.value_and_grad(energy)(np.array([1.0, 2.0]) * unit.km, 3.0 * unit.kg)
    >>> print(f"{value:.2f}, {slope:.2f}")
    88.29 kilojoule, [29.43 29.43] kilojoule / kilometer
    """
    numbers = (argnums,) if isinstance(argnums, int) else argnums

    def both(*args: Any) -> Any:
        if any(not -len(args) <= k < len(args) for k in numbers):
            what = f"argnums={argnums}, but {getattr(f, '__name__', 'f')} was called with {len(args)} arguments"
            raise wg.errors.ArgumentError(wg.errors.message(what))
        chosen = [args[k] for k in numbers]
        positions = [k % len(args) for k in numbers]

        def of_magnitudes(magnitudes: list[Any]) -> Any:
            given = list(args)
            for k, x, m in zip(positions, chosen, magnitudes, strict=True):
                given[k] = _like(x, m)
            value = f(*given)
            return _magnitude(value), value

        (_, value), gradient = wg.value_and_grad(of_magnitudes, has_aux=True)([_magnitude(x) for x in chosen])
        slopes = [_slope(value, x, g) for x, g in zip(chosen, gradient, strict=True)]
        return value, slopes[0] if isinstance(argnums, int) else tuple(slopes)

    return both


def _is_quantity(x: object) -> bool:
    return hasattr(x, "magnitude") and hasattr(x, "units")


def _magnitude(x: Any) -> Any:
    magnitude = x.magnitude if _is_quantity(x) else x
    return float(magnitude) if isinstance(magnitude, int) else magnitude


def _like(x: Any, magnitude: object) -> Any:
    return type(x)(magnitude, x.units) if _is_quantity(x) else magnitude


def _slope(value: Any, x: Any, slope: object) -> Any:
    if not (_is_quantity(value) or _is_quantity(x)):
        return slope
    quantity = type(value) if _is_quantity(value) else type(x)
    return quantity(np.asarray(slope)[()], _unit(value, quantity) / _unit(x, quantity))


def _unit(x: Any, quantity: Callable[..., Any]) -> Any:
    """Return the unit of a difference of such values."""
    if not _is_quantity(x):
        return quantity(1.0).units
    if not getattr(x, "_is_multiplicative", True):
        if any(x._REGISTRY._units[name].is_logarithmic for name in x._units):
            what = f"the derivative by a logarithm, {x.units}, has no unit"
            raise wg.errors.ArgumentError(wg.errors.message(what, tries=["x.to_base_units() first"]))
        return (x - x).units
    return x.units
