"""``root``: a solution y of f(y, p) = 0 that has been computed already, with its derivatives.

How y was found, by whatever iteration, has no derivative. By the implicit function theorem the solution has one:

    dy = −(∂f/∂y)⁻¹ (∂f/∂p) dp

Both rules are written with the *output* of the op in the place of y. So the derivative of a rule is again that of a
solution, and every order is exact. The value is y as it is, and f is not run for it.

The equations of the examples of a batch do not depend on each other. Their function is the batch of f, and the op knows
how many leading axes of y count examples, so it solves many small systems and not one large one.

Source: Griewank and Walther (2008), Evaluating Derivatives, section 15.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from wengert.ad.activity import active_operands
from wengert.higher.bodies import batched, pulled, pushed, select_outputs
from wengert.ops.kernels import View, free, whole
from wengert.ops.linalg.solutions import solve
from wengert.ops.op import Op, named
from wengert.ops.shape import broadcast_to, embed_diagonal, full, reshape, transpose
from wengert.tape import Atom, Aval, Instr, Tape, current_builder, splice


class Equation(NamedTuple):
    """f(y, p) = 0 as a tape; the operands of the op are y, the constants of the function, those of the Jacobian."""

    function: Tape
    """f: it takes its constants and y, and gives an array of y's type."""
    constants: int
    """The number of the function's constants."""
    jacobian: Tape | None
    """∂f/∂y: it takes its own constants and y, and gives an array [..., *shape, *shape]; None: by forward mode."""
    axes: int
    """This many leading axes of y count examples, each of which has an equation of its own."""

    def size(self, y: Aval) -> int:
        """The number of unknowns of one example."""
        n = 1
        for length in y.shape[self.axes :]:
            n *= length
        return n


def _run(tape: Tape, args: Sequence[Atom]) -> Any:
    return splice(current_builder(), tape, args, ())[0]


def _matrix(equation: Equation, y: Atom, takes: Sequence[Atom]) -> Any:
    """∂f/∂y of each example, an array [..., n, n]."""
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
    return found[wrt.index(operand - 1)]


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
        jacobian = batched(jacobian, (*flags[1 + p :], True), size)
    return root(y, *xs[1:], equation=Equation(function, p, jacobian, equation.axes + 1), wrt=None)


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
