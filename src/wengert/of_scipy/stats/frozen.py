"""Multivariate distributions of SciPy's that are frozen, and what all of them draw by: parameters may be traced."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import stats

from wengert.tracing.arguments import holds_traced, unsupported
from wengert.tracing.functions.drawing import METHODS as METHODS_OF_GENERATORS
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.interception.python_functions import original
from wengert.tracing.stack import is_in_body

PLACE = "scipy.stats._multivariate:"


class Frozen:
    """A distribution with its parameters, some of which are traced; its methods are those of the distribution."""

    def __init__(self, dist: Any, name: str, args: Sequence[Any], kwds: dict[str, Any]) -> None:
        given = dict(zip((*PARAMETERS[name], "seed"), args, strict=False)) | kwds
        seed = given.pop("seed", None)
        self._dist, self._name, self._kwds = (dist if seed is None else type(dist)(seed)), name, given

    def __getattr__(self, name: str) -> Any:
        if name in self._kwds:
            return self._kwds[name]
        if name == "random_state":
            return self._dist.random_state
        if name not in METHODS[self._name]:
            raise AttributeError(f"a frozen {self._name} of traced parameters has no attribute {name!r}")
        of_frozen, taken = METHODS[self._name][name]
        method = getattr(self._dist, name)
        parameters = {key: value for key, value in self._kwds.items() if key in taken}

        def bound(*args: Any, **kwds: Any) -> Any:
            given = dict(zip(of_frozen, args, strict=False)) | kwds
            if len(args) > len(of_frozen) or len(given) != len(args) + len(kwds):
                raise TypeError(f"{self._name}.{name}() takes {', '.join(of_frozen) or 'no arguments'}")
            return method(**given, **parameters)

        return bound


PARAMETERS: dict[str, tuple[str, ...]] = {
    "multivariate_normal": ("mean", "cov", "allow_singular"),
    "multivariate_t": ("loc", "shape", "df", "allow_singular"),
    "matrix_normal": ("mean", "rowcov", "colcov"),
    "matrix_t": ("mean", "row_spread", "col_spread", "df"),
    "dirichlet": ("alpha",),
    "wishart": ("df", "scale"),
    "invwishart": ("df", "scale"),
    "multinomial": ("n", "p"),
    "dirichlet_multinomial": ("alpha", "n"),
    "vonmises_fisher": ("mu", "kappa"),
    "normal_inverse_gamma": ("mu", "lmbda", "a", "b"),
}
"""Parameters of the distributions that can be frozen, as attributes of what SciPy freezes, too."""

METHODS: dict[str, dict[str, tuple[list[str], list[str]]]] = {}
"""Methods of the frozen distributions: their own arguments, and those of the distribution's method."""


def _arguments(function: Callable[..., Any]) -> list[str]:
    return [*inspect.signature(function).parameters][1:]


def _freezes(name: str) -> None:
    module: Any = stats._multivariate
    own, frozen = getattr(module, f"{name}_gen"), getattr(module, f"{name}_frozen")
    METHODS[name] = {
        method: (_arguments(f), _arguments(getattr(own, method)))
        for method, f in vars(frozen).items()
        if inspect.isfunction(f) and hasattr(own, method) and not method.startswith("_")
    }

    @intercepts(f"{PLACE}{name}_gen.__call__")
    def freeze(self: object, *args: Any, **kwds: Any) -> Any:
        return Frozen(self, name, args, kwds)

    for method, (of_frozen, _) in METHODS[name].items():
        if of_frozen and method not in ("rvs", "marginal"):  # what may be traced
            _takes_traced(name, method)


def _takes_traced(name: str, method: str) -> None:
    """Let a method of a distribution that was frozen without traced values take some."""

    @intercepts(f"{PLACE}{name}_frozen.{method}")
    def of_frozen(self: Any, *args: Any, **kwds: Any) -> Any:
        taken = METHODS[name][method][1]
        parameters = {p: parameter_of(self, p) for p in PARAMETERS[name] if p in taken}
        return getattr(Frozen(self._dist, name, (), parameters), method)(*args, **kwds)


def parameter_of(frozen: Any, name: str) -> Any:
    """A parameter of what SciPy has frozen."""
    if name == "allow_singular":
        return frozen.allow_singular if hasattr(frozen, "allow_singular") else True
    if name == "cov":
        return frozen.cov_object.covariance if hasattr(frozen, "cov_object") else frozen.cov
    if hasattr(frozen, name):
        return getattr(frozen, name)
    return {"row_spread": "rowspread", "col_spread": "colspread"}.get(name) or frozen._dist_params[name]


def drawn(rng: object, name: str, method: str, *parameters: Any, size: Any) -> Any:
    """Numbers of a generator, as the user's code would draw them. Of a RandomState, without traced parameters."""
    if is_in_body():
        raise unsupported(
            f"scipy.stats.{name}.rvs in the body of a loop or a branch would be drawn once, for all iterations",
            "numbers drawn before the loop",
        )
    if isinstance(rng, np.random.Generator):
        return METHODS_OF_GENERATORS[method](rng, *parameters, size=size)
    if holds_traced(parameters):
        raise unsupported(
            f"scipy.stats.{name}.rvs of traced parameters draws from a np.random.Generator alone",
            "random_state=np.random.default_rng(seed)",
        )
    return getattr(rng, method)(*parameters, size=size)


def _refuses_rvs(name: str, parameters: Sequence[str], why: str) -> None:
    """Refuse ``rvs`` where one of these parameters is traced."""
    own = getattr(stats._multivariate, f"{name}_gen").rvs
    places = [_arguments(own).index(p) for p in parameters]

    @intercepts(f"{PLACE}{name}_gen.rvs")
    def rvs(self: Any, *args: Any, **kwds: Any) -> Any:
        refused = [args[k] for k in places if k < len(args)] + [kwds[p] for p in parameters if p in kwds]
        if holds_traced(refused):
            raise unsupported(f"scipy.stats.{name}.rvs of a traced {' or '.join(parameters)}: {why}")
        return original(own)(self, *args, **kwds)


def has(name: str) -> bool:
    """Whether this SciPy has a distribution."""
    return hasattr(stats, name)


for _name, _parameters, _why in (
    ("matrix_t", ("row_spread", "col_spread", "df"), "SciPy draws it by factors of another distribution"),
    ("multinomial", ("n", "p"), "discrete numbers have no derivative"),
):
    if has(_name):
        _refuses_rvs(_name, _parameters, _why)

for _name in filter(has, PARAMETERS):
    _freezes(_name)
