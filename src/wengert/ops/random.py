"""Random numbers that a generator draws at each run of a tape, and their derivatives in the distribution's parameters.

``draw`` asks a ``np.random.Generator``, so the numbers are NumPy's, in NumPy's order, and the generator's state moves
as NumPy's would. It has no derivative. Location and scale are arithmetic on the numbers drawn
(tracing/functions/drawing.py).
For other parameters ``implicit`` wraps it: it returns the same numbers z, with the derivative that keeps F(z; θ)
constant while θ moves, dz/dθ = −(∂F/∂θ) / (∂F/∂z), F being the distribution function (Figurnov, Mohamed, Mnih 2018,
Implicit Reparameterization Gradients, eq. 5).
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from wengert.ops.kernels import Callback, flops
from wengert.ops.op import broadcast_shapes, elementwise, not_implemented, op
from wengert.ops.shape import broadcast_to, reshape
from wengert.tape import Atom, Aval, Instr


class OperandRef(NamedTuple):
    """Stands in the arguments of a :class:`Drawing` for an operand."""

    k: int


class Drawing:
    """A call of one of a generator's methods: its name and arguments. Hashable, and equal by value."""

    __slots__ = ("args", "key", "kwargs", "method")

    def __init__(self, method: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        self.method, self.args, self.kwargs = method, tuple(args), dict(kwargs)
        self.key = (method, pickle.dumps((self.args, self.kwargs)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Drawing) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        given = [*map(repr, self.args), *[f"{name}={value!r}" for name, value in self.kwargs.items()]]
        return f"{self.method}({', '.join(given)})"

    def by(self, generator: np.random.Generator, operands: Sequence[Any]) -> Any:
        """Call the method of ``generator`` and return the numbers that it draws."""

        def given(x: np.ndarray[Any, Any]) -> Any:
            return operands[x.k] if type(x) is OperandRef else x

        return getattr(generator, self.method)(
            *map(given, self.args), **{name: given(x) for name, x in self.kwargs.items()}
        )


def _draw(*operands: Any, generator: np.random.Generator, drawing: Drawing, out: Aval) -> Any:
    return np.asarray(drawing.by(generator, operands), out.dtype)


WRITING = frozenset(["standard_normal", "random", "standard_exponential"])
"""Methods that write into an array that they are given."""


def _draw_into(*operands_result: Any, generator: np.random.Generator, drawing: Drawing, out: Aval) -> None:
    *operands, result = operands_result
    if drawing.method in WRITING and not drawing.args and set(drawing.kwargs) <= {"size"} and out.dtype == float:
        getattr(generator, drawing.method)(out=result)
    else:
        result[...] = drawing.by(generator, operands)


def _draw_batch(
    xs: Sequence[Atom],
    batched: Sequence[bool],
    size: int,
    *,
    generator: np.random.Generator,
    drawing: Drawing,
    out: Aval,
) -> Any:
    if "size" not in drawing.kwargs:  # each example would have to be drawn on its own
        return NotImplemented
    shape = (size, *out.shape)
    each = Drawing(drawing.method, drawing.args, {**drawing.kwargs, "size": shape})
    whole = [x if b else broadcast_to(x, shape=(size, *x.aval.shape)) for x, b in zip(xs, batched, strict=True)]
    return draw(*[_spread(x, len(shape)) for x in whole], generator=generator, drawing=each, out=Aval(shape, out.dtype))


def _spread(x: Atom, ndim: int) -> Atom:
    """Reshape a batched operand to ``ndim`` axes, the number of axes of the batched result."""
    size, *rest = x.aval.shape
    return reshape(x, shape=(size, *[1] * (ndim - x.aval.ndim), *rest))


def describe(instr: Instr) -> str:
    return repr(instr.params["drawing"])


draw = op(
    _draw,
    name="draw",
    type=lambda *avals, generator, drawing, out: out,
    kernel=Callback("a generator of NumPy's"),
    cost=flops(20),
    batch=_draw_batch,
    into=_draw_into,
    is_variadic=True,
    effects=True,
    describe=describe,
)

# ------------------------------------------------------------------------------------------- implicit derivatives


NUMBER_OF_PARAMETERS = {"standard_gamma": 1, "beta": 2, "standard_t": 1, "f": 2}
"""The number of parameters of each family whose distribution function has derivatives that are known here."""


def _slopes(family: str) -> Sequence[Callable[..., Any]]:
    """The derivatives of a distribution function F(θ..., z), the last one being the density."""
    from wengert.ops.special import distributions as d  # with scipy.special, which takes its time

    return {
        "standard_gamma": (d.gammainc_by_a, d.gamma_density),
        "beta": (d.betainc_by_a, d.betainc_by_b, d.beta_density),
        "standard_t": d.student_slopes,
        "f": d.ratio_slopes,
    }[family]


def _by_parameter(k: int, family: str, z: Atom, *parameters_y: Atom) -> Any:
    """dz/dθₖ = −(∂F/∂θₖ) / (∂F/∂z), taken at the output y. It equals z, but it moves with θ, so that this partial can
    be differentiated again."""
    slopes = _slopes(family)
    return -slopes[k](*parameters_y) / slopes[-1](*parameters_y)


def _implicit_partials(family: str) -> list[Any]:
    count = NUMBER_OF_PARAMETERS.get(family)
    if count is None:
        return [lambda *xs_y: 1, not_implemented(f"no derivative of {family} numbers in their parameters is known")]
    return [lambda *xs_y: 1, *[partial(_by_parameter, k, family) for k in range(count)]]


def _implicit_type(z: Aval, *parameters: Aval, family: str) -> Aval:
    return Aval(broadcast_shapes("implicit", z, *parameters), z.dtype)


implicit = elementwise(  # z, drawn with parameters θ: z itself, that moves with θ as its quantile does
    lambda z, *parameters, family: np.array(np.broadcast_to(z, np.broadcast_shapes(*map(np.shape, (z, *parameters))))),
    name="implicit",
    type=_implicit_type,
    partials=_implicit_partials,
    kernel=Callback("its expansion has a kernel"),
    expansion=lambda z, *parameters, family: broadcast_to(
        z, shape=_implicit_type(z.aval, *[p.aval for p in parameters], family=family).shape
    ),
    is_variadic=True,
    cost=flops(1),
)
