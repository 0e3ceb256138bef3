from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import scipy.optimize  # so that it is intercepted


def line(x: Any) -> Any:
    return x - 0.5


def bowl(x: Any) -> Any:
    return np.sum((x - 0.25) ** 2)


def square(x: Any) -> Any:
    return (x - 0.25) ** 2


def slope(x: Any) -> Any:
    return 2 * (x - 0.25)


def product(x: Any, v: Any) -> Any:
    return 2 * v


def system(x: Any) -> Any:
    return np.asarray(x) - 0.5


def half(x: Any) -> Any:
    return x / 2 + 1


def model(x: Any, a: Any) -> Any:
    return a * x


def last(x: Any, *args: Any) -> Any:
    return x[-1]


X = np.array([1.0, 2.0, 3.0])
A = np.array([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]])
BOX = [(0.0, 1.0), (0.0, 1.0)]
SYSTEMS = ("broyden1", "broyden2", "anderson", "linearmixing", "diagbroyden", "excitingmixing", "newton_krylov")
BRACKETED = ("brentq", "brenth", "ridder", "bisect", "toms748")

CALLS: dict[str, list[Any]] = {
    "root": [((system, X), {}), ((system, X, ()), {"method": "?"})],
    "fsolve": [((system, X), {"xtol": 1e-6}), ((system,), {})],
    **{name: [((system, X), {"iter": 2})] for name in SYSTEMS},
    "fixed_point": [((half, 1.0), {})],
    **{name: [((line, 0.0, 2.0), {"full_output": True}), ((line, 1.0, 2.0), {})] for name in BRACKETED},
    "newton": [((line, 1.0), {"tol": 1e-6}), ((line, X), {})],
    "root_scalar": [((line,), {"bracket": (0.0, 2.0)})],
    "minimize": [((bowl, X), {"method": "BFGS"}), ((bowl, A), {})],
    "minimize_scalar": [((bowl,), {"bounds": (0.0, 1.0)})],
    "fminbound": [((bowl, 0.0, 1.0), {})],
    "brent": [((bowl,), {"brack": (0.0, 1.0)})],
    "golden": [((bowl,), {"brack": (0.0, 1.0)})],
    "fmin": [((bowl, X), {"disp": 0})],
    "fmin_powell": [((bowl, X), {"disp": 0})],
    "fmin_bfgs": [((bowl, X), {"disp": 0})],
    "fmin_cg": [((bowl, X), {"disp": 0})],
    "fmin_ncg": [((bowl, X, slope), {"fhess_p": product, "disp": 0})],
    "fmin_l_bfgs_b": [((bowl, X), {"approx_grad": True})],
    "fmin_tnc": [((bowl, X), {"approx_grad": True, "messages": 0})],
    "fmin_slsqp": [((bowl, X), {"disp": 0})],
    "differential_evolution": [((bowl, BOX), {"maxiter": 3, "rng": 1})],
    "dual_annealing": [((bowl, BOX), {"maxiter": 3, "rng": 1})],
    "shgo": [((bowl, BOX), {})],
    "direct": [((bowl, BOX), {"maxiter": 5})],
    "basinhopping": [((bowl, X), {"niter": 1, "rng": 1})],
    "least_squares": [((system, X), {}), ((system, A), {})],
    "leastsq": [((system, X), {})],
    "curve_fit": [((model, X, 2 * X + 0.1), {})],
    "nnls": [((A, X), {}), ((X, X), {})],
    "lsq_linear": [((A, X), {"bounds": (0.0, 1.0)})],
    "isotonic_regression": [((X[::-1],), {"increasing": False})],
    "linprog": [((X,), {"A_ub": A, "b_ub": X, "bounds": (0.0, None)})],
    "linear_sum_assignment": [((A,), {"maximize": True}), ((X,), {})],
    "milp": [((X,), {"bounds": (0.0, 2.5), "integrality": np.array([1, 0, 1])})],
    "brute": [((bowl, ((0.0, 1.0), (0.0, 1.0))), {"Ns": 3})],
    "approx_fprime": [((X, bowl), {}), ((X, bowl, 1e-3), {})],
    "check_grad": [((bowl, slope, X), {})],
    "rosen_hess": [((X,), {})],
    "rosen_hess_prod": [((X, X), {})],
    "quadratic_assignment": [((A, A), {})],
}
CALLS = {f"scipy.optimize.{name}": calls for name, calls in CALLS.items() if hasattr(scipy.optimize, name)}
if importlib.util.find_spec("scipy.optimize.elementwise") is not None:
    importlib.import_module("scipy.optimize.elementwise")
    CALLS["scipy.optimize.elementwise.find_root"] = [((line, (0.0, 2.0)), {})]
    CALLS["scipy.optimize.elementwise.find_minimum"] = [((square, (0.0, 0.3, 2.0)), {})]
