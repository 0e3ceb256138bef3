"""``root``: a solution y of f(y, p) = 0 that has been computed already, with its derivatives.

How y was found, by whatever iteration, has no derivative. By the implicit function theorem the solution has one:

    dy = −(∂f/∂y)⁻¹ (∂f/∂p) dp

Both rules are written with the *output* of the op in the place of y. So the derivative of a rule is again that of a
solution, and every order is exact. The value is y as it is, and f is not run for it.

Where it is not known that y is a solution, as where SciPy's routine says so, the equation has a name. Then the matrix
∂f/∂y is *judged*: if it is singular, or moves too much within the error of y, or if the solver says that y is none, a
warning says so, and the derivative is NaN.

The equations of the examples of a batch do not depend on each other. Their function is the batch of f, and the op knows
how many leading axes of y count examples, so it solves many small systems and not one large one.

Source: Griewank and Walther (2008), Evaluating Derivatives, section 15.2.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.ad.activity import active_operands
from wengert.errors import SolverWarning, message
from wengert.higher.bodies import batched, pulled, pushed, select_outputs
from wengert.ops.elementwise import cast, equal, select
from wengert.ops.kernels import Callback, View, flops, free, whole
from wengert.ops.linalg.solutions import solve
from wengert.ops.op import NONE, ZERO, Op, named
from wengert.ops.reduce import sum_
from wengert.ops.shape import broadcast_to, embed_diagonal, full, reshape, transpose
from wengert.tape import Atom, Aval, Instr, Lit, Tape, current_builder, splice

Array = np.ndarray[Any, Any]


class Equation(NamedTuple):
    """f(y, p) = 0 as a tape; the operands of the op are y, the constants of the function, those of the Jacobian, and
    where there is a name, the verdict of the solver."""

    function: Tape
    """f: it takes its constants and y, and gives an array of y's type."""
    constants: int
    """The number of the function's constants."""
    jacobian: Tape | None
    """∂f/∂y: it takes its own constants and y, and gives an array [..., *shape, *shape]; None: by forward mode."""
    axes: int
    """This many leading axes of y count examples, each of which has an equation of its own."""
    name: str = ""
    """The name and place of the solver, if the matrix is to be judged. Then the last operand is its verdict, an integer
    for each example: a number in ``VERDICTS``."""

    def size(self, y: Aval) -> int:
        """The number of unknowns of one example."""
        n = 1
        for length in y.shape[self.axes :]:
            n *= length
        return n


def _run(tape: Tape, args: Sequence[Atom]) -> Any:
    return splice(current_builder(), tape, args, ())[0]


def _matrix(equation: Equation, y: Atom, takes: Sequence[Atom]) -> Any:
    """∂f/∂y of each example, an array [..., n, n]; NaN where it does not tell a derivative."""
    if not equation.name:
        return _jacobian(equation, y, takes)
    matrix = _jacobian(equation, y, takes[:-1])
    constants = takes[: equation.constants]
    columns = (*y.aval.shape[: equation.axes], equation.size(y.aval))
    f = _run(equation.function, [*constants, y])
    step = reshape(newton_step(matrix, reshape(f, shape=columns)), shape=y.aval.shape)
    tangent = select_outputs(pushed(equation.function, (equation.constants,), (0,)), [1])
    moved = _run(tangent, [*constants, y - step, step])
    of_examples = [reshape(x, shape=columns) for x in (step, f, moved)]
    return judged(matrix, *of_examples, takes[-1], name=equation.name)


def _jacobian(equation: Equation, y: Atom, takes: Sequence[Atom]) -> Any:
    n, p = equation.size(y.aval), equation.constants
    examples, one = y.aval.shape[: equation.axes], y.aval.shape[equation.axes :]
    if equation.jacobian is not None:
        return reshape(_run(equation.jacobian, [*takes[p:], y]), shape=(*examples, n, n))
    tangent = select_outputs(pushed(equation.function, (p,), (0,)), [1])
    columns = batched(tangent, (*[False] * (p + 1), True), n)
    basis = embed_diagonal(full(1, Aval((n,), y.aval.dtype)))
    basis = reshape(basis, shape=(n, *[1] * len(examples), *one))
    found = _run(columns, [*takes[:p], y, broadcast_to(basis, shape=(n, *y.aval.shape))])
    axes = tuple(range(1, len(examples) + 2))
    return transpose(reshape(found, shape=(n, *examples, n)), axes=(*axes, 0))


# ------------------------------------------------------------------------------------------------------- judging

VERDICTS = (
    "",
    "the solver did not converge",
    "a bound or a constraint only just holds, with a multiplier of zero: which of them are active changes here",
    "the active constraints are not independent, or leave the solution open",
    "the solution is not the only one",
)
"""Why a solution has no derivative, by the number that a solver gives; 0: nothing is said against it."""

SINGULAR = "the Jacobian of the equations is singular"
MOVES = "the Jacobian of the equations moves too much within the error of the solution, as at a double root"


def _equilibrated(a: Array) -> tuple[Any, Any, Any]:
    """A matrix with its rows and columns divided by powers of 2 near their largest elements, and these two vectors."""
    largest = np.max(np.abs(a), axis=1, initial=0)
    rows = np.where(largest > 0, np.exp2(np.floor(np.log2(np.where(largest > 0, largest, 1)))), 1).astype(a.dtype)
    a = a / rows[:, None]
    largest = np.max(np.abs(a), axis=0, initial=0)
    columns = np.where(largest > 0, np.exp2(np.floor(np.log2(np.where(largest > 0, largest, 1)))), 1).astype(a.dtype)
    return a / columns, rows, columns


def _newton_step(a: Array, f: Array) -> Any:
    """a⁻¹ f of each example; NaN where ``a`` is singular to working precision, however its rows are scaled."""
    from scipy.linalg.lapack import get_lapack_funcs

    out = np.full(f.shape, np.nan, f.dtype)
    factorise, estimate, substitute = get_lapack_funcs(("getrf", "gecon", "getrs"), (a,))
    for at in np.ndindex(f.shape[:-1]):
        if not f.shape[-1] or not np.all(np.isfinite(a[at])):
            continue
        scaled, rows, columns = _equilibrated(a[at])
        factors, pivots, info = factorise(scaled)
        if info:
            continue
        rcond, info = estimate(factors, np.linalg.norm(scaled, 1))
        if rcond < 10 * len(scaled) * np.finfo(f.dtype).eps:
            continue
        out[at] = substitute(factors, pivots, f[at] / rows)[0] / columns
    return out


def _judged(a: Array, step: Array, f: Array, moved: Array, verdict: Array, *, name: str) -> Any:
    """The matrix ``a`` of each example, or NaN and a warning where it does not tell the derivative of a solution.

    ``step`` is Newton's, a⁻¹ f, about as long as the error of the solution, and ``moved`` is what the matrix at its end
    makes of it. So a step − moved says by how much the matrix changes within the error: by a half at a double root.
    """
    out = np.array(a)
    eps = np.finfo(a.dtype).eps
    for at in np.ndindex(f.shape[:-1]):
        why = VERDICTS[int(verdict[at])]
        if not why and not np.all(np.isfinite(step[at])):
            why = SINGULAR
        if not why:
            size = np.maximum(np.max(np.abs(a[at]), axis=-1, initial=0), np.finfo(a.dtype).tiny)
            change = np.max(np.abs(moved[at] - a[at] @ step[at]) / size, initial=0)
            rounding = 1e3 * eps * np.max(np.abs(a[at]) @ np.abs(step[at]) / size, initial=0)
            if not change <= 0.1 * np.max(np.abs(f[at]) / size, initial=0) + rounding:
                why = MOVES
        if why:
            out[at] = np.nan
            tries = ["a smaller tolerance or another start, if the solution is regular", "wg.stop_gradient around it"]
            text = message(f"{name}: the solution has no derivative here, which is NaN: {why}", tries=tries)
            warnings.warn(SolverWarning(text), stacklevel=2)
    return out


def _batched_steps(xs: Sequence[Atom], flags: Sequence[bool], size: int, op: Op, **params: Any) -> Any:
    wide = [x if b else broadcast_to(x, shape=(size, *x.aval.shape)) for x, b in zip(xs, flags, strict=True)]
    return op(*wide, **params)


newton_step = named(
    Op(  # matrices [..., n, n], vectors [..., n] -> vectors [..., n]
        name="newton_step",
        reference=_newton_step,
        type=lambda a, f: f,
        kernel=Callback("it looks at how well the system is conditioned"),
        cost=flops(100),
        pushforward=ZERO,
        pullback=(ZERO, ZERO),
        batch=lambda xs, flags, size: _batched_steps(xs, flags, size, newton_step),
    )
)

judged = named(
    Op(  # a matrix, and what is known of the solution -> the matrix, or NaN
        name="judged",
        reference=_judged,
        type=lambda a, *rest, name: a,
        kernel=Callback("it may warn"),
        cost=flops(10),
        pushforward=lambda xs, dxs, y, *, name: dxs[0],
        pullback=(lambda ct, *xs_y, name: ct, NONE, NONE, NONE, NONE),
        batch=lambda xs, flags, size, *, name: _batched_steps(xs, flags, size, judged, name=name),
    )
)


def _solved(equation: Equation, y: Atom, takes: Sequence[Atom], b: Atom, is_transposed: bool) -> Any:
    """−(∂f/∂y)⁻¹ b, or by its transpose, of each example; b has the shape of y."""
    if equation.size(y.aval) == 0:
        return b
    columns = reshape(b, shape=(*y.aval.shape[: equation.axes], equation.size(y.aval), 1))
    return -reshape(solve(_matrix(equation, y, takes), columns, transpose=is_transposed), shape=y.aval.shape)


def _pushforward(xs: Any, dxs: Any, y: Any, *, equation: Equation, wrt: Any) -> Any:
    """ẏ = −(∂f/∂y)⁻¹ (∂f/∂p) ṗ."""
    takes, d_takes = xs[1:], dxs[1 : 1 + equation.constants]
    moving = tuple([k for k, d in enumerate(d_takes) if d is not None])
    if not moving:
        return None
    tangent = select_outputs(pushed(equation.function, moving, (0,)), [1])
    rate = _run(tangent, [*takes[: equation.constants], y, *[d_takes[k] for k in moving]])
    return _solved(equation, y, takes, rate, False)


def _pullback(ct: Any, *xs_y: Any, operand: int, equation: Equation, wrt: tuple[int, ...] | None) -> Any:
    """p̄ = (∂f/∂p)ᵀ λ, λ = −(∂f/∂y)⁻ᵀ ȳ; λ is the same for all operands, so simplify shares it."""
    takes, y = xs_y[1:-1], xs_y[-1]
    if not 1 <= operand <= equation.constants:
        return None
    if wrt is None:
        wrt = tuple([k for k, x in enumerate(takes[: equation.constants]) if x.aval.is_inexact])
    ct_f = _solved(equation, y, takes, ct, True)
    joint = select_outputs(pulled(equation.function, wrt, (0,)), range(1, 1 + len(wrt)))
    found = splice(current_builder(), joint, [*takes[: equation.constants], y, ct_f], ())
    own = found[wrt.index(operand - 1)]
    if not equation.name or equation.axes:
        return own
    total = sum_(ct_f, axis=tuple(range(ct_f.aval.ndim)))  # NaN stays, also where f has the slope 0, as at a jump
    doubt = select(equal(total, total), Lit(0, total.aval.dtype), total)
    return own + broadcast_to(cast(doubt, own.aval.dtype), shape=own.aval.shape)


def _keep(instr: Instr, active: Any) -> Instr:
    count = instr.params["equation"].constants
    wrt = tuple([k - 1 for k in active_operands(instr, active) if 1 <= k <= count])
    return instr._replace(params={**instr.params, "wrt": wrt})


def _batch(xs: Sequence[Atom], flags: Sequence[bool], size: int, *, equation: Equation, wrt: Any) -> Any:
    y = xs[0] if flags[0] else broadcast_to(xs[0], shape=(size, *xs[0].aval.shape))
    p = equation.constants
    function = batched(equation.function, (*flags[1 : 1 + p], True), size)
    jacobian = equation.jacobian
    if jacobian is not None:
        jacobian = batched(jacobian, (*flags[1 + p : len(xs) - bool(equation.name)], True), size)
    rest = [*xs[1:]]
    if equation.name and not flags[-1]:
        rest[-1] = broadcast_to(rest[-1], shape=(size, *rest[-1].aval.shape))
    return root(y, *rest, equation=Equation(function, p, jacobian, equation.axes + 1, equation.name), wrt=None)


root = named(
    Op(  # y, constants of the function, constants of the Jacobian -> y
        name="root",
        reference=lambda y, *rest, equation, wrt: y,
        type=lambda y, *rest, equation, wrt: y,
        kernel=View(whole),
        cost=free,
        pushforward=_pushforward,
        pullback=(_pullback,),
        keep=_keep,
        kept_in="wrt",
        batch=_batch,
        expansion=lambda y, *rest, equation, wrt: y,
        is_variadic=True,
    )
)
