"""The methods of ``np.random.Generator``, drawn at every call of a compiled function.

Each is the arithmetic of its parameters on numbers that are drawn without any, where NumPy's is: ``loc + scale * z``.
Such a number has derivatives in ``loc`` and ``scale`` without a word here. Shape parameters move the numbers by the
implicit rule (ops/random.py). What is discrete has no derivative.

A generator is drawn from at once where the numbers are those of this very run: without ``wg.jit``, and of a generator
that the function has made. See :mod:`wengert.tracing.generators` for when it is not.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from wengert import extension
from wengert.errors import ConcretizationError, UnsupportedFunctionError, message
from wengert.ops.control import stop_gradient
from wengert.ops.random import Drawing, OperandRef, draw, implicit
from wengert.tape import Aval
from wengert.tracing.arguments import ShapeLike, Traced
from wengert.tracing.callers import is_library, is_ours
from wengert.tracing.emit import record, wrap
from wengert.tracing.interception.asking import AT_OBJECT
from wengert.tracing.interception.intercept import TABLE, intercepts, when_imported
from wengert.tracing.interception.type_of import reached_of
from wengert.tracing.lifting import lift
from wengert.tracing.looking import evaluate
from wengert.tracing.python.frames import calling_frame
from wengert.tracing.stack import current_trace, is_in_body, recorder, recorder_of_none
from wengert.tracing.trace import Trace
from wengert.tracing.tracer import Tracer

METHODS: dict[str, Callable[..., Any]] = {}
"""The function that each method of a generator becomes where an argument is traced, by the method's name."""


def method(f: Callable[..., Any]) -> Callable[..., Any]:
    METHODS[f.__name__] = f
    return f


@when_imported("numpy.random")
def _enroll() -> None:
    for name, callee in vars(np.random.Generator).items():
        if not name.startswith("_") or name in ("__reduce__", "__getstate__", "__setstate__"):
            if callable(callee):
                if f"numpy.random.Generator.{name}" not in TABLE:  # as it may be where this was interrupted
                    intercepts(callee, AT_OBJECT)(partial(_answer, name))


@intercepts("numpy.random:RandomState.shuffle", AT_OBJECT)
def legacy_shuffle(generator: np.random.RandomState, x: ArrayLike | None = None, *others: Any) -> Any:
    """NumPy exchanges views of rows, each a copy where the array is traced. It draws as for the order of as many."""
    if type(x) is not Tracer or others:
        return NotImplemented
    x[...] = x[generator.permutation(len(x))]
    return None


DRAWN_WITHOUT_TRACED = frozenset(
    [
        "random",
        "standard_normal",
        "standard_exponential",
        "standard_cauchy",
        "multinomial",
        "multivariate_hypergeometric",
    ]
)
"""Methods that are recorded, but take no traced parameters."""


def _answer(name: str, generator: np.random.Generator, *args: Any, **kwargs: Any) -> Any:
    """Return what a method of a generator gives while a trace is open; NotImplemented where it is NumPy's affair."""
    trace = current_trace()
    if trace is None:
        return NotImplemented
    frame = calling_frame(1)
    if is_ours(frame):
        return NotImplemented
    if is_in_body():
        raise drawn_once(f"Generator.{name}", trace)
    generators = trace.run.generators
    is_followed = generators is not None and generators.has(generator)
    if generators is not None and id(generator) in generators.at_once and not is_library(frame):
        trace.unrepeatable = trace.unrepeatable or f"{name}() at {trace.where()} draws numbers that are needed there"
    is_traced = any(type(x) is Tracer or _holds_tracer(x) for x in (*args, *kwargs.values()))
    if name == "spawn":  # what it counts is no part of the state
        trace.unrepeatable = trace.unrepeatable or f"spawn() at {trace.where()} makes a new generator at every call"
        return NotImplemented
    if is_followed and (is_library(frame) or not (name in METHODS or name in DRAWN_WITHOUT_TRACED)):
        assert generators is not None
        raise generators.need()
    if is_traced and name in METHODS:
        return METHODS[name](generator, *args, **kwargs)
    if is_traced and "out" not in kwargs:
        raise UnsupportedFunctionError(
            message(
                f"Generator.{name} is not traced with a traced argument",
                trace.locate(),
                tries=["numbers drawn without traced parameters, and scaled after: mean + sigma * rng.normal(size=n)"],
            )
        )
    out = kwargs.pop("out", None) if is_traced or is_followed else None
    if out is None:
        return _drawn(generator, name, args, kwargs) if is_followed else NotImplemented
    if "size" not in kwargs and not args:
        kwargs["size"] = out.shape
    out[...] = _drawn(generator, name, args, kwargs)
    return out


def drawn_once(what: str, trace: Trace | None) -> UnsupportedFunctionError:
    """Return the error for a draw in a body, which is recorded once."""
    return UnsupportedFunctionError(
        message(
            f"{what} in the body of a loop or a branch would be drawn once, for all iterations",
            None if trace is None else trace.locate(),
            tries=["numbers drawn before the loop, a row an iteration: scan(f, init, rng.normal(size=(n, ...)))"],
        )
    )


@contextmanager
def undrawn(body: Callable[..., Any]) -> Iterator[None]:
    """Raise UnsupportedFunctionError if a generator that ``body`` reaches has been drawn from in this context, where
    the draws themselves are not seen, since the extension is not there."""
    found = [] if _IS_SEEN else reached_of(np.random.Generator, [body])
    before = [pickle.dumps(one.bit_generator.state) for one in found]
    yield
    if any(pickle.dumps(one.bit_generator.state) != state for one, state in zip(found, before, strict=True)):
        raise drawn_once("a random generator", current_trace())


_IS_SEEN = extension.is_compiled("_c_functions")


def _holds_tracer(x: Any) -> bool:
    return type(x) in (list, tuple) and any(type(item) is Tracer or _holds_tracer(item) for item in x)


# ------------------------------------------------------------------------------------------------------- drawing


def _drawn(
    generator: np.random.Generator, name: str, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
) -> Any:
    """Return what is drawn, some of the arguments being traced: recorded, or at once."""
    trace = current_trace()
    assert trace is not None
    operands: list[Any] = []

    def stand_in(x: Traced) -> Any:
        if type(x) is not Tracer:
            return x
        operands.append(x)
        return OperandRef(len(operands) - 1)

    drawing = Drawing(name, [stand_in(x) for x in args], {key: stand_in(x) for key, x in (kwargs or {}).items()})
    if trace.run.generators is None or not trace.run.generators.has(generator):
        return drawing.by(generator, [_value(trace, x, name) for x in operands])
    return _record(trace, generator, drawing, [record(stop_gradient, [x], {}) for x in operands])


def _value(trace: Trace, x: Tracer, name: str) -> Any:
    """A parameter as it is in this run, which is not to be repeated."""
    if trace.run.known is not None and not trace.unrepeatable:
        raise UnsupportedFunctionError(
            message(
                f"Generator.{name} takes a traced parameter, of a generator that the compiled function makes itself",
                trace.locate(),
                tries=["the generator as an argument", "one that was made outside"],
            )
        )
    if not x._trace.concrete:
        raise ConcretizationError(
            message(
                f"Generator.{name} needs the value of a parameter, which has none: {x._trace.why_abstract}",
                trace.locate(),
                tries=["wg.jit around the mapped function", "a Python loop over examples"],
            )
        )
    value = evaluate(x._trace, x.atom())
    return value[()] if x.is_scalar else value


def _record(trace: Trace, generator: np.random.Generator, drawing: Drawing, operands: Sequence[Tracer]) -> Any:
    assert trace.run.generators is not None
    trace.run.generators.has_drawn = True
    innermost = max((x._trace for x in operands), key=lambda t: t.level, default=None)
    target = recorder_of_none() if innermost is None else recorder(innermost)
    examples = [evaluate(x._trace, lift(x._trace, x), is_example=True) for x in operands]
    example = drawing.by(np.random.Generator(np.random.PCG64(0)), examples)
    array = np.asarray(example)
    params = {"generator": generator, "drawing": drawing, "out": Aval(array.shape, array.dtype)}
    atom: Any
    (atom,) = target.builder.emit(draw, tuple([lift(target, x) for x in operands]), params)
    target.looking.values[atom] = array  # of the right type: nobody looks at what was not drawn yet
    result = wrap(target, atom, is_scalar=not isinstance(example, np.ndarray))
    if type(example) in (float, int, bool):
        result.weak = type(example)
    return result


def _size(size: Any, *parameters: Any) -> Any:
    """The shape of what is drawn: as NumPy, which takes the broadcast one of the parameters if none is given."""
    shape = np.broadcast_shapes(*map(np.shape, parameters))
    if size is None:
        return shape or None
    size = tuple(np.atleast_1d(size).tolist()) if np.ndim(size) else (int(size),)
    if np.broadcast_shapes(shape, size) != size:
        raise ValueError(f"Output size {size} is not compatible with broadcast dimensions of inputs {shape}.")
    return size


# --------------------------------------------------------------------------------------------- location and scale


def _scaled(name: str, *standard: float) -> None:
    def scaled(
        generator: np.random.Generator, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: ShapeLike | None = None
    ) -> Any:
        return loc + scale * _drawn(generator, name, standard, {"size": _size(size, loc, scale)})

    METHODS[{"standard_normal": "normal"}.get(name, name)] = scaled


_scaled("standard_normal")
_scaled("laplace", 0.0, 1.0)
_scaled("logistic", 0.0, 1.0)
_scaled("gumbel", 0.0, 1.0)


@method
def uniform(
    generator: np.random.Generator, low: float | Traced = 0.0, high: float | Traced = 1.0, size: ShapeLike | None = None
) -> Any:
    return low + (high - low) * _drawn(generator, "random", (), {"size": _size(size, low, high)})


@method
def exponential(generator: np.random.Generator, scale: ArrayLike = 1.0, size: ShapeLike | None = None) -> Any:
    return scale * _drawn(generator, "standard_exponential", (), {"size": _size(size, scale)})


@method
def rayleigh(generator: np.random.Generator, scale: ArrayLike = 1.0, size: ShapeLike | None = None) -> Any:
    return scale * _drawn(generator, "rayleigh", (1.0,), {"size": _size(size, scale)})


@method
def lognormal(
    generator: np.random.Generator, mean: ArrayLike = 0.0, sigma: ArrayLike = 1.0, size: ShapeLike | None = None
) -> Any:
    return np.exp(METHODS["normal"](generator, mean, sigma, size))


@method
def weibull(generator: np.random.Generator, a: float | Traced, size: ShapeLike | None = None) -> Any:
    return _drawn(generator, "standard_exponential", (), {"size": _size(size, a)}) ** (1.0 / a)


@method
def pareto(generator: np.random.Generator, a: ArrayLike, size: ShapeLike | None = None) -> Any:
    return np.expm1(_drawn(generator, "standard_exponential", (), {"size": _size(size, a)}) / a)


@method
def power(generator: np.random.Generator, a: float | Traced, size: ShapeLike | None = None) -> Any:
    return (-np.expm1(-_drawn(generator, "standard_exponential", (), {"size": _size(size, a)}))) ** (1.0 / a)


@method
def triangular(
    generator: np.random.Generator,
    left: float | Traced,
    mode: float | Traced,
    right: float | Traced,
    size: ShapeLike | None = None,
) -> Any:
    """Draw by the inverse of the distribution function, as NumPy does."""
    u = _drawn(generator, "random", (), {"size": _size(size, left, mode, right)})
    width, below, above = right - left, mode - left, right - mode
    is_below = u * width <= below
    lower = left + np.sqrt(np.where(is_below, u * below * width, 1.0))
    return np.where(is_below, lower, right - np.sqrt(np.where(is_below, 1.0, (1 - u) * above * width)))


@method
def multivariate_normal(
    generator: np.random.Generator,
    mean: Any,
    cov: Traced,
    size: ShapeLike | None = None,
    check_valid: str = "warn",
    tol: float = 1e-8,
    *,
    method: str = "svd",
) -> Any:
    """A root of the covariance times standard normal numbers, the one that NumPy takes. Of "svd" and "eigh" it has no
    derivative where eigenvalues are equal; "cholesky" has."""
    shape = () if size is None else _size(size, 0.0)
    z = _drawn(generator, "standard_normal", (), {"size": (*shape, len(mean))})
    if method == "cholesky":
        root = np.linalg.cholesky(cov).T
    elif method == "eigh":
        w, v = np.linalg.eigh(cov)
        root = (v * np.sqrt(w)).T
    else:
        _, w, vt = np.linalg.svd(cov)
        root = np.sqrt(w)[:, None] * vt
    return mean + z @ root


# ------------------------------------------------------------------------------------------------ shape parameters


def _implicit(generator: np.random.Generator, family: str, parameters: Sequence[Any], size: ShapeLike | None) -> Any:
    z = _drawn(generator, family, parameters, {"size": _size(size, *parameters)})
    doubles = [x.astype(float) if type(x) is Tracer and x.dtype != float else x for x in parameters]
    return record(implicit, [z, *doubles], {"family": family})


@method
def standard_gamma(generator: np.random.Generator, shape: ArrayLike, size: ShapeLike | None = None) -> Any:
    return _implicit(generator, "standard_gamma", (shape,), size)


@method
def gamma(
    generator: np.random.Generator, shape: ArrayLike, scale: ArrayLike = 1.0, size: ShapeLike | None = None
) -> Any:
    return scale * _implicit(generator, "standard_gamma", (shape,), _size(size, shape, scale))


@method
def chisquare(generator: np.random.Generator, df: float | Traced, size: ShapeLike | None = None) -> Any:
    return 2.0 * _implicit(generator, "standard_gamma", (df / 2.0,), size)


@method
def beta(generator: np.random.Generator, a: ArrayLike, b: ArrayLike, size: ShapeLike | None = None) -> Any:
    return _implicit(generator, "beta", (a, b), size)


@method
def standard_t(generator: np.random.Generator, df: ArrayLike, size: ShapeLike | None = None) -> Any:
    return _implicit(generator, "standard_t", (df,), size)


@method
def f(generator: np.random.Generator, dfnum: ArrayLike, dfden: ArrayLike, size: ShapeLike | None = None) -> Any:
    return _implicit(generator, "f", (dfnum, dfden), size)


@method
def dirichlet(generator: np.random.Generator, alpha: ArrayLike, size: ShapeLike | None = None) -> Any:
    """Gamma numbers over their sum. (NumPy draws other ones where every parameter is below 0.1.)"""
    shape = () if size is None else _size(size, 0.0)
    z = _implicit(generator, "standard_gamma", (alpha,), (*shape, *np.shape(alpha)))
    return z / z.sum(axis=-1, keepdims=True)


# -------------------------------------------------------------------------------------------- without a derivative


def _without_derivative(name: str, *names: str, is_discrete: bool = True) -> None:
    """A method of elementwise parameters that is drawn as it is."""

    def drawn(generator: np.random.Generator, *args: Any, **kwargs: Any) -> Any:
        given = {"size": None, **dict(zip((*names, "size"), args, strict=False)), **kwargs}
        size = given.pop("size")
        parameters = [given.pop(n) for n in names if n in given]
        if not is_discrete:
            return _implicit(generator, name, parameters, size)
        return _drawn(generator, name, parameters, {"size": _size(size, *parameters), **given})

    METHODS[name] = drawn


_without_derivative("binomial", "n", "p")
_without_derivative("negative_binomial", "n", "p")
_without_derivative("poisson", "lam")
_without_derivative("geometric", "p")
_without_derivative("hypergeometric", "ngood", "nbad", "nsample")
_without_derivative("logseries", "p")
_without_derivative("zipf", "a")
_without_derivative("wald", "mean", "scale", is_discrete=False)
_without_derivative("vonmises", "mu", "kappa", is_discrete=False)
_without_derivative("noncentral_chisquare", "df", "nonc", is_discrete=False)
_without_derivative("noncentral_f", "dfnum", "dfden", "nonc", is_discrete=False)


@method
def integers(
    generator: np.random.Generator,
    low: ArrayLike,
    high: ArrayLike | None = None,
    size: ShapeLike | None = None,
    dtype: DTypeLike | None = np.int64,
    endpoint: bool = False,
) -> Any:
    bounds = (low,) if high is None else (low, high)
    kwargs = {"size": _size(size, *bounds), "dtype": dtype, "endpoint": endpoint}
    return _drawn(generator, "integers", bounds, kwargs)


# --------------------------------------------------------------------------------------------------- what is given


@method
def choice(
    generator: np.random.Generator,
    a: int | Traced,
    size: ShapeLike | None = None,
    replace: bool = True,
    p: ArrayLike | None = None,
    axis: int = 0,
    shuffle: bool = True,
) -> Any:
    """Elements of ``a`` at places that are drawn."""
    if np.ndim(a) == 0:
        return _drawn(generator, "choice", (a, size, replace, p, axis, shuffle))
    at = _drawn(generator, "choice", (np.shape(a)[axis], size, replace, p, 0, shuffle))
    return _taken(a, at, axis)


@method
def permutation(generator: np.random.Generator, x: int | Traced, axis: int = 0) -> Any:
    if np.ndim(x) == 0:
        return _drawn(generator, "permutation", (x,))
    return _taken(x, _drawn(generator, "permutation", (np.shape(x)[axis],)), axis)


@method
def permuted(generator: np.random.Generator, x: Traced, *, axis: int | None = None, out: Traced | None = None) -> Any:
    flat = x if axis is not None else x.reshape(-1)
    along = axis if axis is not None else 0
    places = np.arange(flat.shape[along]).reshape([-1 if k == along % flat.ndim else 1 for k in range(flat.ndim)])
    at = _drawn(generator, "permuted", (np.broadcast_to(places, flat.shape),), {"axis": along})
    y = np.take_along_axis(flat, at, along).reshape(x.shape)
    if out is None:
        return y
    out[...] = y
    return out


@method
def shuffle(generator: np.random.Generator, x: Traced, axis: int = 0) -> None:
    x[...] = _taken(x, _drawn(generator, "permutation", (np.shape(x)[axis],)), axis)


def _taken(x: Any, at: ArrayLike, axis: int) -> Any:
    return x[(*[slice(None)] * (axis % np.ndim(x)), at)]
