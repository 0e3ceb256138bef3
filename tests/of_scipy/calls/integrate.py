from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.integrate  # so that it is intercepted


def decay(t: Any, y: Any) -> Any:
    return -np.asarray(y)


def bell(t: Any) -> Any:
    return np.exp(-(t**2))


def oscillator(x: Any, y: Any) -> Any:
    return np.vstack([y[1], -y[0]])


def ends(a: Any, b: Any) -> Any:
    return np.array([a[0], b[0] - 1.0])


def product(*xs: Any) -> Any:
    return np.prod(np.asarray(xs))


def powers(k: Any) -> Any:
    return 1 / k**2


Y = np.array([1.0, 3.0, 2.0, 5.0, 4.0])

CALLS: dict[str, list[Any]] = {
    "solve_ivp": [((decay, (0.0, 1.0), [1.0, 2.0]), {}), ((decay, (0.0, 1.0), [1.0]), {"method": "?"})],
    "odeint": [((decay, [1.0], [0.0, 0.5]), {"tfirst": True}), ((decay, [1.0]), {})],
    "quad": [((bell, 0.0, np.inf), {"epsrel": 1e-6}), ((bell, 0.0), {})],
    "nquad": [((product, [(0.0, 1.0), (0.0, 2.0)]), {})],
    "dblquad": [((product, 0.0, 1.0, 0.0, 2.0), {})],
    "tplquad": [((product, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0), {"epsabs": 1e-3})],
    "quad_vec": [((bell, 0.0, 1.0), {"epsrel": 1e-6})],
    "fixed_quad": [((bell, 0.0, 1.0), {"n": 3})],
    "tanhsinh": [((bell, 0.0, 1.0), {"rtol": 1e-6})],
    "nsum": [((powers, 1, np.inf), {})],
    "solve_bvp": [
        ((oscillator, ends, np.linspace(0.0, 1.0, 3), np.zeros((2, 3))), {}),
        ((oscillator, ends, Y, np.zeros(2)), {}),
    ],
    "simpson": [((Y,), {"dx": 0.5}), ((Y, Y[:2]), {})],
    "cumulative_trapezoid": [((Y,), {"initial": 0})],
    "romb": [((Y,), {"dx": 0.5}), ((Y[:4],), {})],
}
CALLS = {f"scipy.integrate.{name}": calls for name, calls in CALLS.items() if hasattr(scipy.integrate, name)}
_SOLVER = scipy.integrate.ode(decay).set_integrator("vode").set_initial_value([1.0, 2.0], 0.0)
_SUMS: Any = getattr(scipy.integrate._quadrature, "_cumulatively_sum_simpson_integrals", None)
_USED = {name: getattr(np, name) for name in ("flip", "empty", "result_type", "cumulative_sum") if hasattr(np, name)}
if _SUMS is not None:
    _XP = () if _SUMS.__code__.co_argcount == 3 else (SimpleNamespace(**_USED),)  # an older SciPy takes no namespace
    _RULE = lambda y, dx: y[2:] * dx[1:]
    CALLS[f"scipy.integrate._quadrature.{_SUMS.__name__}"] = [((Y, 0.5 * Y[1:], _RULE, *_XP), {})]
CALLS["scipy.integrate.ode.integrate"] = [((_SOLVER, 0.5), {}), ((_SOLVER, 0.5), {"step": True})]
