"""``integral``: the integral of a function f(p, t) from a to b, which a routine has computed, with its derivatives.

By Leibniz's rule the derivative is an integral too, computed by the same routine to the same tolerance:

    dI = f(p, b) db − f(p, a) da + ∫ (∂f/∂p) dp dt

Both modes emit the same op again, for the derivative of f, so every order is there. The value that the routine found is
operand 0; the op returns it as it is.
Source: Flanders (1973), Differentiation under the integral sign, Amer. Math. Monthly 80:6.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.errors import SolverWarning, message
from wengert.higher.bodies import alive, batched, pulled, pushed, select_outputs
from wengert.higher.solvers import Routine, SolvedFunction, solver
from wengert.ops.elementwise import absolute, greater, isinf, logical_not, select
from wengert.ops.kernels import Callback, View, flops, free, whole
from wengert.ops.op import Op, named
from wengert.ops.reduce import sum_
from wengert.ops.shape import broadcast_to, reshape
from wengert.tape import Atom, Aval, Lit, Tape, current_builder, splice


class Integrand(NamedTuple):
    """f(p, t) as a tape, which takes its constants p and then t; and what integrates it."""

    function: Tape
    constants: int
    routine: Routine
    """It takes f, a and b, and further arrays that are no limits; it gives the integral and an estimate of its error,
    both of the shape that f returns."""
    others: int
    """The number of these further arrays."""
    has_limits: bool
    """Whether the integral moves with a and b. A sum over integers does not."""
    is_jump: bool
    """Whether the limits are the two sides of a jump of f, a rounding apart. There f is taken to be infinite where it
    is larger than at some distance: it has no limit at the jump."""
    name: str
    """Who integrates, and where, in a warning."""


def integrate(integrand: Integrand, operands: Sequence[Atom], maps: tuple[Any, ...] = ()) -> tuple[Any, Any]:
    """The integral and the estimate of its error; ``operands`` are the constants, a, b and the further arrays."""
    shape = integrand.function.outputs[0].aval.shape
    for size, _ in reversed(maps):
        shape = (size, *shape)
    out = Aval(shape, integrand.function.outputs[0].aval.dtype)
    functions = (SolvedFunction(integrand.function, integrand.constants),)
    value, error = solver(*operands, routine=integrand.routine, functions=functions, out=(out, out), maps=maps)
    return integral(value, *operands, integrand=integrand, maps=maps), error


FARTHER, GROWS = 32.0, 1.1
"""At 65 times the distance from the jump, f may be smaller by this factor."""


def _run(tape: Tape, args: Sequence[Atom]) -> Any:
    return splice(current_builder(), tape, args, ())[0]


def _at(integrand: Integrand, operands: Sequence[Atom], which: int, maps: Sequence[Any]) -> Any:
    """f at a limit, 0 where the limit is infinite, NaN and a warning where f is not finite."""
    n = integrand.constants
    tape, limit = integrand.function, operands[n + which]
    for size, flags in reversed(maps):
        tape = batched(tape, (*flags[:n], flags[n + which]), size)
    is_there = logical_not(isinf(limit))
    value = _run(tape, [*operands[:n], select(is_there, limit, Lit(0.0, limit.aval.dtype))])
    if integrand.is_jump and value.aval.dtype.kind == "f":
        farther = _run(tape, [*operands[:n], limit + FARTHER * (limit - operands[n + 1 - which])])
        infinite = broadcast_to(Lit(np.inf, value.aval.dtype), shape=value.aval.shape)
        value = select(greater(absolute(value), GROWS * absolute(farther)), infinite, value)
    wide = _beside(is_there, value.aval, maps, [m[1][n + which] for m in maps])
    found = select(wide, value, broadcast_to(Lit(0.0, value.aval.dtype), shape=value.aval.shape))
    return finite_at_a_limit(found, name=integrand.name)


def _beside(x: Atom, to: Aval, maps: Sequence[Any], flags: Sequence[bool]) -> Any:
    """A number for each example, broadcast to an array for each; ``flags`` say which of the batches x has."""
    lengths = [size if flag else 1 for (size, _), flag in zip(maps, flags, strict=True)]
    ones = [1] * (len(to.shape) - len(maps))
    return broadcast_to(reshape(x, shape=(*lengths, *ones)), shape=to.shape)


def _pushforward(xs: Any, dxs: Any, y: Any, *, integrand: Integrand, maps: Any) -> Any:
    n, operands, tangents = integrand.constants, xs[1:], dxs[1:]
    total = None
    moving = tuple([k for k in range(n) if tangents[k] is not None])
    if moving:
        tape = select_outputs(pushed(integrand.function, moving, (0,)), [1])
        inputs = tape.inputs  # constants, t, tangents: t goes to the end
        tape = alive(tape.replace(inputs=(*inputs[:n], *inputs[n + 1 :], inputs[n])))
        further = [tangents[k] for k in moving]
        more = integrand._replace(function=tape, constants=n + len(moving))
        wider = tuple([(size, (*f[:n], *[f[k] for k in moving], *f[n:])) for size, f in maps])
        total = integrate(more, [*operands[:n], *further, *operands[n:]], wider)[0]
    for which, sign in ((0, -1), (1, 1)):
        d = tangents[n + which]
        if d is None or not integrand.has_limits:
            continue
        value = _at(integrand, operands, which, maps)
        d = select(isinf(operands[n + which]), Lit(0.0, d.aval.dtype), d)  # an infinite limit does not move
        term = value * _beside(d, value.aval, maps, [m[1][n + which] for m in maps])
        term = -term if sign < 0 else term
        total = term if total is None else total + term
    return total


def _pullback(ct: Any, *xs_y: Any, operand: int, integrand: Integrand, maps: Any) -> Any:
    n, operands, k = integrand.constants, xs_y[1:-1], operand - 1
    if operand == 0 or k >= n + 2:
        return None
    if k >= n:
        if not integrand.has_limits:
            return None
        found = ct * _at(integrand, operands, k - n, maps)
        axes = tuple(range(len(maps), found.aval.ndim))
        found = sum_(found, axis=axes) if axes else found
        found = -found if k == n else found
    else:
        tape = select_outputs(pulled(integrand.function, (k,), (0,)), [1])
        inputs = tape.inputs  # constants, t, the cotangent: t goes to the end
        tape = alive(tape.replace(inputs=(*inputs[:n], inputs[n + 1], inputs[n])))
        more = integrand._replace(function=tape, constants=n + 1)
        wider = tuple([(size, (*f[:n], True, *f[n:])) for size, f in maps])
        found = integrate(more, [*operands[:n], ct, *operands[n:]], wider)[0]
    shared = tuple([i for i, (_, flags) in enumerate(maps) if not flags[k]])
    return sum_(found, axis=shared) if shared else found


def _batch(xs: Sequence[Atom], flags: Sequence[bool], size: int, *, integrand: Integrand, maps: tuple[Any, ...]) -> Any:
    y = xs[0] if flags[0] else broadcast_to(xs[0], shape=(size, *xs[0].aval.shape))
    return integral(y, *xs[1:], integrand=integrand, maps=((size, tuple(flags[1:])), *maps))


def _finite(x: Any, *, name: str) -> Any:
    out = np.array(x)
    is_bad = ~np.isfinite(out)
    if np.any(is_bad):
        out[is_bad] = np.nan
        tries = ["fixed limits by a substitution that smooths the end q: t = q * (1 - u**2), u from 0 to 1"]
        what = f"{name}: the integrand is not finite at a limit or a point that moves; the derivative by this is NaN"
        warnings.warn(SolverWarning(message(what, tries=tries)), stacklevel=2)
    return out


def _unless_infinite(d: Atom, x: Atom) -> Any:
    """d, or NaN where x is not finite."""
    return d + (x - x)


finite_at_a_limit = named(
    Op(  # numbers -> the same, or NaN
        name="finite_at_a_limit",
        reference=_finite,
        type=lambda x, *, name: x,
        kernel=Callback("it may warn"),
        cost=flops(10),
        pushforward=lambda xs, dxs, y, *, name: _unless_infinite(dxs[0], xs[0]),
        pullback=(lambda ct, x, y, *, name: _unless_infinite(ct, x),),
        batch=lambda xs, flags, size, *, name: finite_at_a_limit(*xs, name=name),
    )
)

integral = named(
    Op(  # the value, constants, a, b, further arrays -> the value
        name="integral",
        reference=lambda y, *rest, integrand, maps: y,
        type=lambda y, *rest, integrand, maps: y,
        kernel=View(whole),
        cost=free,
        pushforward=_pushforward,
        pullback=(_pullback,),
        batch=_batch,
        expansion=lambda y, *rest, integrand, maps: y,
        is_variadic=True,
    )
)
