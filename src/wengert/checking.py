"""``wg.check_derivatives``: a user's function against finite differences, forward against reverse, both orders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert import edit, tree
from wengert.api.chosen import is_number
from wengert.api.derivatives import grad, jvp, vjp
from wengert.api.mapping import vmap
from wengert.api.named import function_name
from wengert.api.programs import jit, trace
from wengert.errors import MissingRuleError, StructureError, WengertError, message
from wengert.expect import checked
from wengert.higher.primitive import Primitive
from wengert.source import Source
from wengert.tape import Instr, Lit
from wengert.tracing.python.lines import definition

Seed = int


class DerivativeError(WengertError, AssertionError):
    """A derivative that differs from what differences, or the other mode, say."""


@checked
def check_derivatives(
    f: Callable[..., Any],
    *args: Any,
    order: int = 2,
    argnums: int | Sequence[int] | None = None,
    rtol: float = 1e-5,
    atol: float = 1e-6,
    seed: Seed = 0,
    all_modes: bool = False,
) -> None:
    """Raise :class:`DerivativeError` if the derivatives of ``f`` at ``args`` are wrong.

    Along a random direction ``dx`` and with a random cotangent ``ct`` it compares, at each order,

    - forward mode with central differences,  (f(x + h dx) - f(x - h dx)) / 2h, at two steps h;
    - reverse with forward mode: ⟨ct, J dx⟩ = ⟨Jᵀ ct, dx⟩;
    - with ``order=2``, the same for the gradient of ⟨ct, f⟩;
    - with ``all_modes``, also forward over reverse with reverse over forward mode, ``vmap`` of both modes with one
      direction after the other, and compiled derivatives with those that are not.

    Where they differ, the steps of the call are checked one by one, and the message names the step at fault, its line,
    and of a ``wg.primitive`` the rule; or the step that has a kink at ``args``, where differences mean nothing.

    Where forward mode has no rule, as of a ``wg.primitive`` whose adjoint has no pullback, reverse mode is compared
    with differences; with ``order=1`` that is enough.

    ``args`` are pytrees; real and complex arguments are differentiated (or those in ``argnums``), in double precision
    whatever their dtype, so that differences mean something; complex ones, and results, as their real and imaginary
    parts. Where ``f`` has a kink at ``args`` it will, rightly, fail.

    Raises
    ------
    DerivativeError : they differ, or there is nothing to differentiate.
    MissingRuleError : there is no rule for reverse mode, or with ``order=2`` none for second derivatives.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> wg.check_derivatives(lambda x: np.sum(np.tanh(x) ** 2), np.linspace(-1, 1, 5))
    """
    rng = np.random.default_rng(seed)
    numbers = _float_arguments(args) if argnums is None else np.atleast_1d(argnums).tolist()
    if not all(-len(args) <= k < len(args) for k in numbers):
        raise StructureError(message(f"check_derivatives: argnums is {argnums}; there are {len(args)} arguments"))
    name = function_name(f)
    if not numbers:
        raise DerivativeError(message(f"check_derivatives: {name} has no argument of real or complex numbers"))
    leaves, treedef = tree.flatten(tuple(args[k] for k in numbers))
    are_complex = [bool(np.iscomplexobj(x)) for x in leaves]
    chosen = tuple([x for leaf in leaves for x in _parts(leaf)])

    def floats(*xs: Any) -> list[Any]:
        parts = iter(xs)
        whole = [next(parts) + 1j * next(parts) if is_complex else next(parts) for is_complex in are_complex]
        new = list(args)
        for k, x in zip(numbers, tree.unflatten(treedef, whole), strict=True):
            new[k] = x
        return [part for y in tree.flatten(f(*new))[0] if _is_inexact(y) for part in _parts(y, as_they_are=True)]

    _check_first(name, floats, chosen, rng, rtol, atol)
    if order >= 2:
        ys = floats(*chosen)
        cts = [rng.standard_normal(np.shape(y)) for y in ys]

        def weighted(*xs: Any) -> Any:
            total: Any = 0.0
            for ct, y in zip(cts, floats(*xs), strict=True):
                total = total + np.sum(ct * y)
            return total

        every = tuple(range(len(chosen)))
        gradient = grad(weighted, every)
        try:
            _check_first(
                f"the gradient of {name}", lambda *xs: tree.flatten(gradient(*xs))[0], chosen, rng, 10 * rtol, 10 * atol
            )
        except MissingRuleError as error:
            error.add_note("The first derivatives are right; check_derivatives(..., order=1) checks these alone.")
            raise
        if all_modes:
            _check_mixed(name, weighted, chosen, rng, 10 * rtol, 10 * atol)
    if all_modes:
        _check_mapped_and_compiled(name, floats, chosen, rng, rtol, atol)


def _is_inexact(y: Any) -> bool:
    return (y.dtype if hasattr(y, "dtype") else np.asarray(y).dtype).kind in "fc"


def _float_arguments(args: Sequence[Any]) -> list[int]:
    return [
        k
        for k, arg in enumerate(args)
        if tree.flatten(arg)[0] and all(is_number(x) and _is_inexact(x) for x in tree.flatten(arg)[0])
    ]


def _parts(x: Any, as_they_are: bool = False) -> list[Any]:
    """The real and the imaginary part of complex numbers, or real ones; as float64, a number as a number."""
    parts = [np.real(x), np.imag(x)] if np.iscomplexobj(x) else [x]
    return parts if as_they_are else [np.array(y, np.float64) if np.ndim(y) else float(y) for y in parts]


def _direction(rng: np.random.Generator, xs: Any) -> Any:
    return tree.map(lambda x: rng.standard_normal(np.shape(x)) if np.ndim(x) else float(rng.standard_normal()), xs)


def _check_first(
    name: str, f: Callable[..., list[Any]], xs: tuple[Any, ...], rng: np.random.Generator, rtol: float, atol: float
) -> None:
    dxs = _direction(rng, xs)
    try:
        ys, dys = jvp(f, xs, dxs)
    except MissingRuleError:  # as of a foreign adjoint; reverse mode raises in its turn if it has no rule either
        gap, got, wanted = _reverse_gap(f, xs, rng, rtol, atol)
        if gap > 1:
            what = f"{name}: reverse mode differs from finite differences"
            raise _error(what, [("got", str(got)), ("wanted", str(wanted))], f, xs) from None
        return
    for k, dy in enumerate(dys):
        errors = []
        for h in (1e-4, 1e-6):
            above = f(*tree.map(lambda x, dx, h=h: x + h * dx, xs, dxs))[k]
            below = f(*tree.map(lambda x, dx, h=h: x - h * dx, xs, dxs))[k]
            difference = (above - below) / (2 * h)
            errors.append(_distance(dy, difference, rtol, atol))
        if not min(errors) <= 1:
            what = f"{name}: forward mode differs from finite differences in result {k}"
            raise _error(what, [("got", str(dy)), ("wanted", str(difference))], f, xs)
    _, pullback = vjp(f, *xs)
    cts = [rng.standard_normal(np.shape(y)) if np.ndim(y) else np.float64(rng.standard_normal()) for y in ys]
    back = pullback(cts)
    left = sum(float(np.sum(ct * dy)) for ct, dy in zip(cts, dys, strict=True))
    right = sum(float(np.sum(g * dx)) for g, dx in zip(tree.flatten(back)[0], tree.flatten(dxs)[0], strict=True))
    scale = sum(float(np.sum(np.abs(ct * dy))) for ct, dy in zip(cts, dys, strict=True))
    if not abs(left - right) <= atol + rtol * max(scale, abs(left)):
        what = f"{name}: reverse mode differs from forward mode"
        raise _error(what, [("ct·J dx", str(left)), ("Jᵀct·dx", str(right))], f, xs)


def _reverse_gap(
    f: Callable[..., list[Any]], xs: tuple[Any, ...], rng: np.random.Generator, rtol: float, atol: float
) -> tuple[float, float, float]:
    """How far reverse mode is from central differences, in units of what is allowed; and the two numbers."""
    dxs = _direction(rng, xs)
    ys, pullback = vjp(f, *xs)
    cts = [rng.standard_normal(np.shape(y)) if np.ndim(y) else np.float64(rng.standard_normal()) for y in ys]
    back = tree.flatten(pullback(cts))[0]
    got = sum([float(np.sum(g * dx)) for g, dx in zip(back, tree.flatten(dxs)[0], strict=True)])
    gaps, wanted = [], 0.0
    for h in (1e-4, 1e-6):
        above, below = [f(*tree.map(lambda x, dx, h=h, s=s: x + s * h * dx, xs, dxs)) for s in (1, -1)]
        slopes = [ct * (a - b) / (2 * h) for ct, a, b in zip(cts, above, below, strict=True)]
        wanted = float(sum([np.sum(slope) for slope in slopes]))
        scale = float(sum([np.sum(np.abs(slope)) for slope in slopes]))
        gap = abs(got - wanted) / (atol + rtol * scale)
        gaps.append(gap if gap == gap else np.inf)
    return min(gaps), got, wanted


def _distance(a: Any, b: Any, rtol: float, atol: float) -> float:
    """The largest difference, in units of what is allowed; NaN and infinity count as equal to themselves."""
    a, b = np.asarray(a), np.asarray(b)
    if a.size == 0:
        return 0.0
    with np.errstate(invalid="ignore"):
        gap = np.abs(a - b) / (atol + rtol * np.maximum(np.abs(b), np.max(np.abs(b))))
    gap = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, gap)
    return float(np.max(np.where(np.isnan(gap), np.inf, gap)))


# ------------------------------------------------------------------------------------------------- the other modes


def _compare(what: str, got: Any, wanted: Any, rtol: float, atol: float) -> None:
    for a, b in zip(tree.flatten(got)[0], tree.flatten(wanted)[0], strict=True):
        if not _distance(a, b, rtol, atol) <= 1:
            raise DerivativeError(message(what, notes=[("got", str(a)), ("wanted", str(b))]))


def _check_mixed(name: str, f: Any, xs: tuple[Any, ...], rng: np.random.Generator, rtol: float, atol: float) -> None:
    """Compare forward over reverse with reverse over forward mode, of a function with one real result."""
    dxs, every = _direction(rng, xs), tuple(range(len(xs)))
    forward = jvp(grad(f, every), xs, dxs)[1]
    backward = grad(lambda *xs: jvp(f, xs, dxs)[1], every)(*xs)
    _compare(f"{name}: forward over reverse differs from reverse over forward mode", forward, backward, rtol, atol)


def _check_mapped_and_compiled(
    name: str, f: Callable[..., list[Any]], xs: tuple[Any, ...], rng: np.random.Generator, rtol: float, atol: float
) -> None:
    """Compare both modes, mapped over two directions and compiled, with one direction after the other, un-jitted."""

    def push(dxs: Any) -> Any:
        return jvp(f, xs, dxs)[1]

    def pull(cts: Any) -> Any:
        return vjp(f, *xs)[1](cts)

    def draw(like: Any) -> list[Any]:
        return [tree.map(lambda x: rng.standard_normal(np.shape(x)), like) for _ in range(2)]

    for mode, run, given in [("forward", push, draw(xs)), ("reverse", pull, draw(f(*xs)))]:
        each = [run(v) for v in given]
        stacked = tree.map(lambda *vs: np.stack(vs), *given)
        wanted = tree.map(lambda *rs: np.stack(rs), *each)
        _compare(f"{name}: vmap of {mode} mode differs from one direction after the other", vmap(run)(stacked), wanted,
                 rtol, atol)  # fmt: skip
        _compare(f"{name}: jit of {mode} mode differs from {mode} mode", jit(run)(given[0]), each[0], rtol, atol)


# ------------------------------------------------------------------------------------------------ the step at fault


def _error(
    what: str, notes: list[tuple[str, str]], f: Callable[..., list[Any]], xs: tuple[Any, ...]
) -> DerivativeError:
    """Return the error for derivatives that differ, with the step at fault where one is found."""
    try:
        with np.errstate(all="ignore"):
            source, found = _fault(f, xs)
    except WengertError:  # the call cannot be recorded step by step; the error says what differs all the same
        source, found = None, ""
    if found:
        notes = [("step", found), *notes]
    return DerivativeError(message(what, source, notes=notes))


def _fault(f: Callable[..., list[Any]], xs: tuple[Any, ...]) -> tuple[Source | None, str]:
    """Return the line of the first step whose own rules disagree with its values, or that has a kink there, and what
    it is."""
    tape = trace(f)(*xs)
    tape = edit.unroll(tape, *[np.asarray(x, v.aval.dtype)[()] for x, v in zip(xs, tape.inputs, strict=True)])
    moved = edit.descendants(tape, tape.inputs)
    decided = [a for i in tape.instrs if i.op.effects for a in i.ins]
    needed = {i.outs for i in edit.ancestors(tape, [a for a in (*tape.outputs, *decided) if not isinstance(a, Lit)])}
    active = [i for i in moved if i.outs in needed]
    longer, margins = edit.margins(tape, active)
    values = edit.play(longer, *xs)
    kinks = {}
    for instr, margin in margins:
        scale = max([float(np.max(np.abs(values[a]), initial=0.0)) for a in instr.ins if a in values], default=0.0)
        if float(np.min(np.abs(values[margin]), initial=np.inf)) <= 1e-6 * max(scale, 1e-6):
            kinks[id(instr)] = instr
    moving = {*tape.inputs, *[v for i in moved for v in i.outs]}
    for instr in active:
        wrong = "" if id(instr) in kinks else _wrong_rule(instr, values, moving)
        if wrong:
            return instr.source, f"{_rule_name(instr, wrong)}"
    for instr in kinks.values():
        return instr.source, (
            f"{instr.op.name} has a kink, or jumps, at these arguments: there differences mean nothing, and what is "
            "taken is said in docs/kinks.md; wg.smooth(f)(*args) shows all"
        )
    return None, ""


def _wrong_rule(instr: Instr, values: dict[Any, Any], moving: set[Any]) -> str:
    """The rule of a step that is wrong at its recorded operands, "pushforward" or "pullback"; "" if none is."""
    op, ins, outs, params, _ = instr
    operands = [a.value if isinstance(a, Lit) else values[a] for a in ins]
    chosen = [k for k, a in enumerate(ins) if a in moving and a.aval.dtype.kind == "f"]
    if op.effects or not chosen or not any(v.aval.dtype.kind == "f" for v in outs):
        return ""

    def step(*xs: Any) -> list[Any]:
        every = list(operands)
        for k, x in zip(chosen, xs, strict=True):
            every[k] = x
        results = op(*every, **params)
        results = (results,) if len(outs) == 1 else results
        return [y for y, v in zip(results, outs, strict=True) if v.aval.dtype.kind == "f"]

    rng = np.random.default_rng(0)
    xs: tuple[Any, ...] = tuple([operands[k] for k in chosen])
    dxs = tuple([rng.standard_normal(np.shape(x)) for x in xs])
    try:
        ys, dys = jvp(step, xs, dxs)
    except MissingRuleError:
        return "pullback" if _reverse_gap(step, xs, rng, 1e-4, 1e-6)[0] > 1 else ""
    errors = []
    for h in (1e-4, 1e-6):
        above, below = [step(*[x + s * h * dx for x, dx in zip(xs, dxs, strict=True)]) for s in (1, -1)]
        errors.append(
            max(_distance(dy, (a - b) / (2 * h), 1e-4, 1e-6) for dy, a, b in zip(dys, above, below, strict=True))
        )
    if not min(errors) <= 1:
        return "pushforward"
    cts = [rng.standard_normal(np.shape(y)) for y in ys]
    back = vjp(step, *xs)[1](cts)
    left = sum(float(np.sum(ct * dy)) for ct, dy in zip(cts, dys, strict=True))
    right = sum(float(np.sum(g * dx)) for g, dx in zip(back, dxs, strict=True))
    scale = sum(float(np.sum(np.abs(ct * dy))) for ct, dy in zip(cts, dys, strict=True))
    return "" if abs(left - right) <= 1e-8 + 1e-6 * max(scale, abs(left)) else "pullback"


def _rule_name(instr: Instr, rule: str) -> str:
    """Return what is wrong, in words: of a primitive the function that is its rule."""
    name = instr.op.name
    if name == "stop_gradient":
        return "stop_gradient has the derivative 0 by decree, and its value moves"
    primitive = getattr(instr.op.reference, "__self__", None)
    if not isinstance(primitive, Primitive):
        return f"the {rule} of {name} is wrong at its operands"
    rules = {k: r for k, r in primitive.__wengert_parts__().items() if r is not None and k not in ("function", "batch")}
    if rule == "pushforward" and rule not in rules:
        rule = "pullback"  # of which the pushforward is then made
    found = [r for k, r in rules.items() if k.startswith(rule)]
    defined = definition(found[0]) if len(found) == 1 else None
    where = f" ({defined.where})" if defined else ""
    return f"the {rule} of {name}{where} is wrong at its operands"
