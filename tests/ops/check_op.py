"""What "correct" means for an op, whatever the op is. A case says which op, with which operands and parameters.

:func:`check_op` builds the tape of that one instruction and compares

* the value with NumPy, and its type with the type rule, for every dtype the op takes, contiguous or not;
* the tangent with differences, the cotangent with the tangent: <ct, J dx> = <Jᵀ ct, dx>, for every choice of active
  operands, and that no choice pays for an operand that is not in it;
* the same once more for the tape of the pullback: second order;
* cotangents and tangents of every kind known by structure (:mod:`tests.ops.structures`) with the same written out;
* for an op that only adds, its matrix: of zeros and ones;
* a batch with a loop over its examples, of the op and of its pullback;
* what the case says of special points: the derivative at a kink, at infinity, at a pole;
* the native program of the instruction with the reference, for every dtype, contiguous or not, 0-d and empty.

Tapes run here by :func:`evaluate`, which knows nothing but references, and looks at the type of every result.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from tests.ops.structures import COTANGENTS, Given, every_cotangent, every_tangent
from wengert.ad.activity import has_derivative
from wengert.ad.cotangents import densify, project, support
from wengert.ad.forward import jvp, push
from wengert.ad.reverse import cotangents, vjp
from wengert.batching import batch
from wengert.errors import ConcretizationError, MissingRuleError
from wengert.ops import OPS, Op
from wengert.ops.elementwise import select
from wengert.runtime.program import Program
from wengert.tape import Atom, Aval, Builder, Instr, Lit, Tape, Var, building, check, infer

Array = np.ndarray[Any, Any]

# --------------------------------------------------------------------------------------------------- the table


@dataclass(frozen=True)
class Operand:
    """Where an operand's values come from: ``draw(rng, shape)``; an elementwise op is tried at other shapes too."""

    draw: Callable[[np.random.Generator, tuple[int, ...]], Any]
    shape: tuple[int, ...] = (3, 4)
    project: Callable[[Any], Any] = lambda dx: dx
    """The directions in which it may move: a matrix that is symmetric by promise stays so."""
    is_literal: bool = False
    """Written into the tape rather than passed in: rules may look at its value."""


@dataclass(frozen=True)
class Case:
    name: str
    operands: tuple[Operand, ...]
    kw: dict[str, Any] = field(default_factory=dict)
    at: Sequence[tuple[Any, Any]] = ()
    """Special points of an elementwise op and its derivatives there: (x, dy), or ((x1, x2), (dy1, dy2))."""
    numpy: Callable[..., Any] | None = None
    """The value in other words, as an expression of the operands."""
    dtypes: str = ""
    """Type codes that float operands are cast to, for value and type. By default float64 and float32, and for a ufunc
    every type it takes."""
    analytic: bool = False
    """NumPy computes it for complex numbers as well, so that a complex step gives the derivative to the last digits."""
    unwritten: tuple[int, ...] = ()
    """Operands in which there is a derivative, but nobody has written it."""
    moving: tuple[int, ...] = ()
    """Operands that the value moves with by its derivative alone: no difference of values says how."""
    has_second: bool = True
    """Whether the derivative has one that is written."""
    once: tuple[int, ...] = ()
    """Operands in which the first derivative is written, and its own derivatives are not."""
    keeps_reals: bool = False
    """Real operands stay real where others are complex."""
    is_narrow: bool = True
    """Whether float32 can be compared; False: SciPy's own has NaN there."""
    is_detached: bool = False
    """A constant to every derivative on purpose, although it moves with its operand."""
    batchable: bool = True
    rtol: float = 1e-8
    """Of derivatives against differences; the other comparisons are tighter."""
    note: str = ""
    """What sets this case apart from others of the same op."""

    def __str__(self) -> str:
        return f"{self.name}-{self.note}" if self.note else self.name

    @property
    def op(self) -> Op:
        return OPS[self.name]

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(zlib.crc32(str(self).encode()))

    def draw(self, rng: np.random.Generator, shapes: Sequence[tuple[int, ...]] | None = None) -> list[Any]:
        shapes = shapes or [o.shape for o in self.operands]
        return [o.draw(rng, shape) for o, shape in zip(self.operands, shapes, strict=True)]


def case(name: str, *operands: Operand, **facts: Any) -> Case:
    return Case(name, operands, **facts)


# ------------------------------------------------------------------------------------------------- small tapes


def tape_of(case: Case, xs: Sequence[Any]) -> tuple[Tape, list[Any], list[int]]:
    """The tape of one instruction, the values of its inputs, and which operand each input is."""
    op, params = case.op, case.kw
    ins: list[Atom] = [
        Lit(x) if o.is_literal else Var(Aval(np.shape(x), np.asarray(x).dtype))
        for o, x in zip(case.operands, xs, strict=True)
    ]
    outs = tuple(Var(aval) for aval in infer(op, [a.aval for a in ins], params))
    inputs = tuple(a for a in ins if isinstance(a, Var))
    number = [k for k, a in enumerate(ins) if isinstance(a, Var)]
    tape = Tape(inputs, (), (Instr(op, tuple(ins), outs, params, None),), outs, name=op.name)
    return check(tape), [xs[k] for k in number], number


def formula(f: Callable[..., Any], *avals: Aval) -> Tape:
    """The tape that ``f`` writes when it is called on variables."""
    inputs = tuple(map(Var, avals))
    with building(Builder()) as builder:
        y = f(*inputs)
    return check(Tape(inputs, (), builder.instrs, y if isinstance(y, tuple) else (y,)))


def evaluate(tape: Tape, xs: Sequence[Any]) -> list[Any]:
    """The outputs of ``tape`` by the references of its ops alone; each result has the type that its rule promised.

    A player of its own, beside :func:`wengert.edit.play`: what judges the ops shares no code with what they run by.
    """
    env: dict[Atom, Any] = dict(zip(tape.inputs, xs, strict=True))
    env.update((c.var, c.array) for c in tape.captures)
    with np.errstate(all="ignore"):
        for op, ins, outs, params, _ in tape.instrs:
            y = op.reference(*[a.value if isinstance(a, Lit) else env[a] for a in ins], **params)
            for v, value in zip(outs, y if len(outs) != 1 else (y,), strict=True):
                got = Aval(np.shape(value), np.asarray(value).dtype)
                assert got is v.aval, f"{op.name}{params or ''} of {ins} is {got}, its type rule says {v.aval}"
                env[v] = value
    return [a.value if isinstance(a, Lit) else env[a] for a in tape.outputs]


def active_inputs(case: Case, tape: Tape, number: Sequence[int]) -> list[int]:
    """The inputs that the op has a written derivative in."""
    if not any(v.aval.is_inexact for v in tape.outputs):
        return []
    return [
        i
        for i, (v, k) in enumerate(zip(tape.inputs, number, strict=True))
        if v.aval.is_inexact and has_derivative(case.op, k, case.kw) and k not in (*case.unwritten, *case.moving)
    ]


def inexact_outputs(tape: Tape) -> list[int]:
    return [k for k, v in enumerate(tape.outputs) if v.aval.is_inexact]


def subsets(items: Sequence[int]) -> list[tuple[int, ...]]:
    """All but the empty one."""
    return [s for n in range(1, len(items) + 1) for s in itertools.combinations(items, n)]


def normal_like(rng: np.random.Generator, avals: Sequence[Aval]) -> list[Any]:
    return [normal(rng, a.shape, a.dtype) for a in avals]


def normal(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype.kind == "c" else x).astype(dtype)


def close(actual: Sequence[Any], expected: Sequence[Any], rtol: float, what: str, smallest: float = 0) -> None:
    """Equal to ``rtol`` of the largest finite element (or of ``smallest``); NaN and infinities at the same places."""
    assert len(actual) == len(expected)
    for a, b in zip(actual, expected, strict=True):
        finite = np.abs(np.asarray(b)[np.isfinite(b)])
        atol = rtol * float(finite.max(initial=smallest)) if finite.dtype != bool else 0
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=what)


# -------------------------------------------------------------------------------------------------- the checker


def check_op(case: Case) -> None:
    for one_check in CHECKS:
        one_check(case)


def check_value(case: Case) -> None:
    """NumPy's value and type, for each dtype; no operand is written to, whatever its strides."""
    for code in dtypes_of(case):
        xs = [cast(x, code, case) for x in case.draw(case.rng())]
        tape, inputs, _ = tape_of(case, xs)
        before = [np.copy(x) for x in inputs]
        ys = evaluate(tape, inputs)
        if case.numpy is not None:
            with np.errstate(all="ignore"):
                expected = case.numpy(*xs)
            expected = expected if isinstance(expected, tuple) else (expected,)
            close(ys, expected, 1e-3 if code == "e" else 1e-5 if code in "fF" else 1e-13, f"value, {code}")
        close(evaluate(tape, [strided(x) for x in inputs]), ys, 1e-5 if code in "efF" else 1e-13, "strided")
        for x, kept in zip(inputs, before, strict=True):
            np.testing.assert_array_equal(x, kept, err_msg="an operand was written to")
    assert hash(tuple(case.kw.items())) is not None  # parameters are hashable
    assert case.op.cost(*tape.in_avals, **case.kw) >= 0


def dtypes_of(case: Case) -> str:
    reference = case.op.reference
    if case.dtypes or not isinstance(reference, np.ufunc):
        return case.dtypes or "df"
    known = ""
    for code in "?bBhilefdD":
        try:
            reference.resolve_dtypes((*[np.dtype(code)] * reference.nin, *[None] * reference.nout))
        except TypeError:
            continue
        known += code
    return known or "df"


def cast(x: Any, code: str, case: Case) -> Any:
    """An operand as another dtype. Where the case chooses the types, integers (an index, a shift) stay."""
    is_free = not case.dtypes and isinstance(case.op.reference, np.ufunc)
    if case.keeps_reals and np.asarray(x).dtype.kind == "f":
        code = code.lower()
    if np.asarray(x).dtype.kind in "fc" or is_free:
        with np.errstate(all="ignore"):
            return np.asarray(x).astype(code)
    return x


def strided(x: Any) -> Array:
    """The same values, with a negative stride, a gap between elements, and an address that is no multiple of 16."""
    x = np.asarray(x)
    if x.ndim == 0:
        return x
    wide = np.zeros(tuple(2 * n + 1 for n in x.shape), x.dtype)
    view = wide[tuple(slice(2 * n - 1, None, -2) if n else slice(0, 0) for n in x.shape)]
    view[...] = x
    return view


def check_variants(case: Case) -> None:
    """What else computes the op agrees with its reference: in place, bound to types, and shortened."""
    xs = case.draw(case.rng())
    tape, inputs, _ = tape_of(case, xs)
    ys = evaluate(tape, inputs)
    op, params = case.op, case.kw
    if op.in_place is not None:
        copies = [np.copy(x) for x in xs]
        result = op.in_place(*copies, **params)
        assert result is copies[0]
        close([result], ys, 0, "in place")
        for copy, x in zip(copies[1:], xs[1:], strict=True):
            np.testing.assert_array_equal(copy, x, err_msg="in place: another operand was written to")
    if op.bind is not None:
        avals = [Aval(np.shape(x), np.asarray(x).dtype) for x in xs]
        close([op.bind(avals, **params)(*xs)], ys, 0, "bind")
    if op.shortcut is not None:
        (instr,) = tape.instrs
        short = op.shortcut(*instr.ins, **params)
        if short is not None:
            assert short.aval is instr.outs[0].aval
            value = short.value if isinstance(short, Lit) else inputs[tape.inputs.index(short)]
            np.testing.assert_array_equal(value, ys[0], err_msg="shortcut")


def check_derivatives(case: Case) -> None:
    """First and second order for every choice of active operands, at every shape the case stands for."""
    for shapes in shapes_of(case):
        rng = case.rng()
        tape, xs, number = tape_of(case, case.draw(rng, shapes))
        projections = [case.operands[k].project for k in number]
        wrt = active_inputs(case, tape, number)
        if not wrt:
            continue
        outputs = inexact_outputs(tape)
        for chosen in subsets(wrt):
            first_order(tape, chosen, outputs, xs, rng, case.rtol, [projections[i] for i in chosen])
            if not case.has_second or any(number[i] in case.once for i in chosen):
                continue
            joint = vjp(tape, chosen, outputs)
            cts = normal_like(rng, [tape.outputs[k].aval for k in outputs])
            seeds = range(len(tape.inputs), len(joint.inputs))
            gradients = range(len(tape.outputs), len(joint.outputs))
            all_projections = [*[projections[i] for i in chosen], *[lambda ct: ct for _ in seeds]]
            both = (*chosen, *seeds)
            first_order(joint, both, gradients, [*xs, *cts], rng, 10 * case.rtol, all_projections)


def shapes_of(case: Case) -> list[tuple[tuple[int, ...], ...]]:
    """The operands' own shapes; for an elementwise op also 0-d, empty, and shapes that broadcast."""
    own = tuple(o.shape for o in case.operands)
    if not case.op.is_elementwise:
        return [own]
    out = [own, ((),) * len(own), ((2, 0),) * len(own)]
    if len(own) > 1:
        rest = ((),) * (len(own) - 2)
        pairs = [((3, 1), (1, 4)), ((), (2, 3)), ((2, 3), ()), ((3,), (2, 3)), ((1, 3), (2, 1)), ((1, 3), (0, 1))]
        out += [(*pair, *rest) for pair in pairs]
    return [tuple(() if o.is_literal else s for o, s in zip(case.operands, shapes, strict=True)) for shapes in out]


def first_order(
    tape: Tape,
    wrt: Sequence[int],
    outputs: Sequence[int],
    xs: Sequence[Any],
    rng: np.random.Generator,
    rtol: float,
    projections: Sequence[Callable[[Any], Any]],
) -> None:
    """J dx against differences, and Jᵀ ct against J dx: Re(ct · J dx) = Re(Jᵀ ct · dx), without conjugation."""
    avals = [tape.inputs[i].aval for i in wrt]
    dxs = [p(dx) for p, dx in zip(projections, normal_like(rng, avals), strict=True)]
    dys = evaluate(jvp(tape, wrt, outputs), [*xs, *dxs])[len(tape.outputs) :]

    def along(t: float) -> list[Any]:
        moved = list(xs)
        for i, dx in zip(wrt, dxs, strict=True):
            moved[i] = moved[i] + t * dx
        ys = evaluate(tape, moved)
        return [ys[k] for k in outputs]

    close(dys, differences(along), rtol, f"tangent of {tape.name} in {wrt}", smallest=1e-3)

    cts = normal_like(rng, [tape.outputs[k].aval for k in outputs])
    gradients = evaluate(vjp(tape, wrt, outputs), [*xs, *cts])[len(tape.outputs) :]
    for gradient, aval in zip(gradients, avals, strict=True):
        assert Aval(np.shape(gradient), np.asarray(gradient).dtype) is aval
    pairs = [*zip(cts, dys, strict=True), *zip(gradients, dxs, strict=True)]
    scale = sum(float(np.sum(np.abs(a * b))) for a, b in pairs)
    left = sum(float(np.sum(ct * dy).real) for ct, dy in zip(cts, dys, strict=True))
    right = sum(float(np.sum(g * dx).real) for g, dx in zip(gradients, dxs, strict=True))
    assert abs(left - right) <= 1e-11 * scale, f"cotangent of {tape.name} in {wrt}: {left} and {right}"


def differences(f: Callable[[float], list[Any]]) -> list[Any]:
    """df/dt at 0 by central differences of halving steps, extrapolated to step 0; each element from the steps that
    agree best, so that neither a kink nearby nor rounding decides.  Source: Ridders (1982), Advances in Engineering
    Software 4, 75."""
    best: list[Any] = []
    errors: list[Any] = []
    last: list[list[Any]] = []
    for n in range(8):
        h = 0.02 / 2**n
        rows = [[(np.asarray(a) - b) / (2 * h)] for a, b in zip(f(h), f(-h), strict=True)]
        if n == 0:
            best, errors = [r[0] for r in rows], [np.full(np.shape(r[0]), np.inf) for r in rows]
        for j, row in enumerate(rows):
            for m, older in enumerate(last[j] if last else [], 1):
                row.append(row[-1] + (row[-1] - older) / (4**m - 1))
                error = np.maximum(np.abs(row[m] - row[m - 1]), np.abs(row[m] - older))
                best[j] = np.where(error < errors[j], row[m], best[j])
                errors[j] = np.minimum(error, errors[j])
        last = rows
    return best


def check_flat(case: Case) -> None:
    """An operand that is declared to have no derivative has none: the value stays when the operand moves."""
    tape, xs, number = tape_of(case, case.draw(case.rng()))
    active, outputs = active_inputs(case, tape, number), inexact_outputs(tape)
    if case.is_detached or not outputs:
        return
    for i, (v, k) in enumerate(zip(tape.inputs, number, strict=True)):
        if not v.aval.is_inexact or i in active or k in (*case.unwritten, *case.moving):
            continue

        def along(t: float, i: int = i, step: Any = 1 + 1j if v.aval.dtype.kind == "c" else 1) -> list[Any]:
            ys = evaluate(tape, [*xs[:i], xs[i] + t * step, *xs[i + 1 :]])
            return [ys[k] for k in outputs]

        for slope in differences(along):
            np.testing.assert_allclose(slope, np.zeros_like(slope), atol=1e-8, err_msg=f"operand {k} is not flat")


def check_complex_step(case: Case) -> None:
    """f(x + ih) = f(x) + ih f'(x): no difference is taken, so every digit of the derivative counts."""
    if not case.analytic:
        return
    tape, xs, number = tape_of(case, case.draw(case.rng()))
    for i in active_inputs(case, tape, number):
        dxs = [1e-30j * (j == i) for j in range(len(xs))]
        (dy,) = evaluate(jvp(tape, [i]), [*xs, np.ones_like(xs[i])])[1:]
        moved = [x + dx if dx else x for x, dx in zip(xs, dxs, strict=True)]
        exact = case.op.reference(*moved, **case.kw).imag * 1e30
        np.testing.assert_allclose(dy, exact, rtol=1e-12, err_msg=f"complex step in operand {i}")


def check_each_pays_for_itself(case: Case) -> None:
    """The instructions for several cotangents are those for each alone: none is built for an inactive operand."""
    tape, _, number = tape_of(case, case.draw(case.rng()))
    wrt, outputs = active_inputs(case, tape, number), inexact_outputs(tape)
    extra = {i: len(vjp(tape, [i], outputs)) - len(tape) for i in wrt}
    for chosen in subsets(wrt):
        assert len(vjp(tape, chosen, outputs)) - len(tape) == sum(extra[i] for i in chosen)
    inactive = [i for i in range(len(tape.inputs)) if i not in wrt and number[i] not in (*case.unwritten, *case.moving)]
    for i in inactive:  # nothing at all, but for the zero that is returned
        joint = vjp(tape, [i], outputs)
        assert len(joint) - len(tape) <= 1
        assert not np.any(evaluate(joint, [*case_inputs(case), *seeds_like(tape, outputs)])[-1])
        assert len(jvp(tape, [i])) - len(tape) <= len(tape.outputs)


def case_inputs(case: Case) -> list[Any]:
    return tape_of(case, case.draw(case.rng()))[1]


def seeds_like(tape: Tape, outputs: Sequence[int]) -> list[Any]:
    return [np.ones(tape.outputs[k].aval.shape, tape.outputs[k].aval.dtype) for k in outputs]


def check_unwritten(case: Case) -> None:
    """A derivative that nobody has written says so, in both modes, and only when it is asked for."""
    tape, _, number = tape_of(case, case.draw(case.rng()))
    for i in [i for i, k in enumerate(number) if k in case.unwritten]:
        with pytest.raises(MissingRuleError, match=case.name):
            vjp(tape, [i], inexact_outputs(tape))
        with pytest.raises(MissingRuleError):
            jvp(tape, [i])


NARROW = {"d": "f", "D": "F"}
WIDE = {"f": "d", "F": "D"}


def check_float32(case: Case) -> None:
    """Of float32 the tangents and cotangents are float32, and so is everything they are computed from."""
    rng = case.rng()
    narrow = [x.astype(NARROW.get(x.dtype.char, x.dtype)) for x in map(np.asarray, case.draw(rng))]
    tape, xs, number = tape_of(case, narrow)
    wrt, outputs = active_inputs(case, tape, number), inexact_outputs(tape)
    if not wrt or not case.is_narrow or any(v.aval.dtype.char in WIDE.values() for v in tape.outputs):
        return
    wide_tape, wide_xs, _ = tape_of(case, [x.astype(WIDE.get(x.dtype.char, x.dtype)) for x in narrow])
    for transform, extra in [
        (jvp, normal_like(rng, [tape.inputs[i].aval for i in wrt])),
        (vjp, normal_like(rng, [tape.outputs[k].aval for k in outputs])),
    ]:
        joint = transform(tape, wrt, outputs)
        for op, ins, outs, _, _ in joint.instrs:
            for a in (*ins, *outs):
                assert a.aval.dtype.char not in "dD", f"{op.name} of {ins} works in float64:\n{joint}"
        wide = transform(wide_tape, wrt, outputs)
        expected = evaluate(wide, [*wide_xs, *[x.astype(WIDE[x.dtype.char]) for x in extra]])
        close(evaluate(joint, [*xs, *extra]), expected, 2e-3, "float32")


def check_structured(case: Case) -> None:
    """A cotangent known by structure, of any kind, gives what the same one gives written out; so do tangents."""
    rng = case.rng()
    tape, xs, number = tape_of(case, case.draw(rng))
    wrt, outputs = active_inputs(case, tape, number), inexact_outputs(tape)
    if not wrt:
        return
    seeded = evaluate(vjp(tape, wrt, outputs, seed="one"), xs)
    close(seeded, evaluate(vjp(tape, wrt, outputs), [*xs, *seeds_like(tape, outputs)]), 1e-12, "seed one")
    kinds = list(COTANGENTS)
    if case.op.is_elementwise:  # one rule for all of them, and many of them
        kinds = list(rng.choice(kinds, 4, replace=False))
    y, dense = [tape.outputs[k] for k in outputs], Given(rng)
    beside = [dense.normal(a.aval.shape, a.aval.dtype) for a in y]
    for k in range(len(y)):
        with comparing(tape, xs, dense) as (given, same):
            for n, (name, ct) in enumerate(every_cotangent(given, y[k].aval, kinds)):
                others = beside if n % 2 else [None] * len(y)  # nothing has reached the other outputs, or all of them
                pulled, expected = [
                    cotangents(tape, [tape.inputs[i] for i in wrt], y, [*others[:k], one, *others[k + 1 :]])
                    for one in (ct, densify(ct, y[k].aval))
                ]
                for i, a, b in zip(wrt, pulled, expected, strict=True):
                    aval = tape.inputs[i].aval
                    same(f"cotangent of {i}: {name}", written_out(a, aval), densify(b, aval))
    (instr,) = tape.instrs
    for x in [tape.inputs[i] for i in wrt]:
        with comparing(tape, xs, Given(rng)) as (given, same):
            for name, dx in every_tangent(given, x.aval):
                operands = [k for k, a in enumerate(instr.ins) if a is x]
                pushed, expected = [push(instr, operands, {x: one}) for one in (dx, densify(dx, x.aval))]
                for v, a, b in zip(instr.outs, pushed, expected, strict=True):
                    same(f"tangent: {name}", written_out(project(a, v.aval), v.aval), densify(b, v.aval))


@contextmanager
def comparing(tape: Tape, xs: Sequence[Any], given: Given) -> Iterator[tuple[Given, Callable[[str, Atom, Atom], None]]]:
    """A block that continues the instructions of ``tape``, and may read inputs of ``given``.

    It calls ``same(what, a, b)`` for each two values that are to be equal; they are evaluated all at once, in the end.
    """
    asked: list[tuple[str, Atom, Atom]] = []
    with building(Builder(start=tape.instrs)) as builder:
        yield given, lambda what, a, b: asked.append((what, a, b))
    outputs = tuple([a for _, *pair in asked for a in pair])
    got = evaluate(check(Tape((*tape.inputs, *given.inputs), (), builder.instrs, outputs)), [*xs, *given.arrays])
    for (what, _, _), a, b in zip(asked, got[::2], got[1::2], strict=True):
        close([a], [b], 1e-11, what)


def written_out(ct: Any, aval: Aval) -> Any:
    """A dense cotangent that is zero wherever its structure says that it does not count, also if its value is not."""
    counts = support(ct, aval)
    return densify(ct, aval) if counts is None else select(counts.mask, counts.value, Lit(0, aval.dtype))


def check_only_adds(case: Case) -> None:
    """The matrix of an op that only adds is of zeros and ones, so that nothing in it can cancel."""
    if not case.op.only_adds:
        return
    tape, xs, number = tape_of(case, case.draw(case.rng()))
    active = active_inputs(case, tape, number)
    zeros = [np.zeros_like(x) if i in active else x for i, x in enumerate(xs)]
    for i in active:
        for place in np.ndindex(np.shape(xs[i])):
            one_hot = np.zeros_like(xs[i])
            one_hot[place] = 1
            (column,) = evaluate(tape, [*zeros[:i], one_hot, *zeros[i + 1 :]])
            assert np.all((column == 0) | (column == 1)), f"operand {i} at {place}: {column}"


def check_batch(case: Case) -> None:
    """Every combination of batched operands, against a loop; of the pullback too."""
    size, rng = 3, case.rng()
    draws = [case.draw(rng) for _ in range(size)]
    tape, _, number = tape_of(case, draws[0])
    examples = [tape_of(case, xs)[1] for xs in draws]
    if not case.batchable:
        for flags in combinations(len(tape.inputs)):
            with pytest.raises(ConcretizationError, match=case.name):
                batch(tape, flags, size)
        return
    compare_batch(tape, examples, combinations(len(tape.inputs)))
    wrt, outputs = active_inputs(case, tape, number), inexact_outputs(tape)
    if wrt:
        joint = vjp(tape, wrt, outputs)
        seeds = [v.aval for v in joint.inputs[len(tape.inputs) :]]
        only_seeds = tuple(i >= len(tape.inputs) for i in range(len(joint.inputs)))
        every = (True,) * len(joint.inputs)
        compare_batch(joint, [[*xs, *normal_like(rng, seeds)] for xs in examples], [only_seeds, every])


def combinations(n: int) -> list[tuple[bool, ...]]:
    return [flags for flags in itertools.product([False, True], repeat=n) if any(flags)]


def compare_batch(tape: Tape, examples: Sequence[Sequence[Any]], choices: Sequence[tuple[bool, ...]]) -> None:
    for flags in choices:
        mapped = batch(tape, flags, len(examples))
        args = [
            np.stack([xs[i] for xs in examples]) if is_batched else examples[0][i] for i, is_batched in enumerate(flags)
        ]
        loop = [
            evaluate(tape, [x if f else x0 for x, x0, f in zip(xs, examples[0], flags, strict=True)]) for xs in examples
        ]
        expected = [np.stack(ys) for ys in zip(*loop, strict=True)]
        close(evaluate(mapped, args), expected, 1e-12, f"batch {flags} of {tape.name}")
        batch(tape, flags, 0)  # no example at all: still a tape


def check_special_points(case: Case) -> None:
    """NumPy's value, and the derivative that the case says, forward and in reverse."""
    if not case.at:
        return
    points = [np.atleast_1d(np.array(x, float)) for x, _ in case.at]
    xs = [np.array(column) for column in zip(*points, strict=True)]
    slopes = [np.array(c) for c in zip(*[np.atleast_1d(np.array(d, float)) for _, d in case.at], strict=True)]
    tape, inputs, number = tape_of(case, xs)
    for i in range(len(inputs)):
        expected = slopes[number[i]]
        ones = [np.ones(len(case.at))]
        tangent = evaluate(jvp(tape, [i]), [*inputs, *ones])[-1]
        cotangent = evaluate(vjp(tape, [i], [0]), [*inputs, *ones])[-1]
        for name, got in [("forward", tangent), ("reverse", cotangent)]:
            np.testing.assert_allclose(got, expected, rtol=1e-12, err_msg=f"{name}, operand {i} at {case.at}")


MAX_ULPS = 2
ULPS = {
    "map": 8,  # of a body of several functions, one after the other
    "exp_minus": 8,
    # SciPy's own are off by so much: ours are within an ulp of the true value (tests/codegen/vecmath/test_table.py).
    "erfc": 4, "erfcx": 8, "ndtr": 8, "log_ndtr": 8, "xlog1py": 4, "expm1": 4,
}  # fmt: skip
CANCELLING = frozenset(["kl_div", "logaddexp", "logaddexp2", "rel_entr", "entr", "boxcox", "boxcox1p"])
"""A difference of nearly equal numbers at some points: exact to the rounding of those, not of the result."""


def check_native(case: Case) -> None:
    """The machine code gives what the reference gives: for elementwise ops to some units in the last place, else to
    the rounding of the largest element. It raises what the reference raises, and writes to no operand."""
    for code in dtypes_of(case):
        for shapes in shapes_of(case)[:4]:
            xs = [cast(x, code, case) for x in case.draw(case.rng(), shapes)]
            tape, inputs, _ = tape_of(case, xs)
            layouts = [[np.asarray(x) for x in inputs]]
            if shapes == shapes_of(case)[0]:
                layouts.append([strided(x) for x in inputs])
            for arrays in layouts:
                compare_native(case, tape, arrays, code)


def compare_native(case: Case, tape: Tape, arrays: Sequence[Array], code: str) -> None:
    strides = [x.strides if x.ndim > 1 and not x.flags.c_contiguous else None for x in arrays]
    program = Program(tape, in_strides=strides)
    before = [np.copy(x) for x in arrays]
    try:
        expected = evaluate(tape, before)
    except (ValueError, np.linalg.LinAlgError) as error:
        with pytest.raises(type(error)):
            program.run(arrays)
        return
    got = program.run(arrays)
    is_near = 1e-4 if code in "efF" else 1e-12
    for a, b in zip(got, expected, strict=True):
        assert (np.shape(a), np.asarray(a).dtype) == (np.shape(b), np.asarray(b).dtype)
        if case.name in CANCELLING or not case.op.is_elementwise:
            close([a], [b], is_near, f"native, {code}", smallest=1)
        elif np.asarray(b).dtype.char in "fd":
            assert ulps_apart(a, b) <= ULPS.get(case.name, MAX_ULPS), f"native, {code}: {a} and {b}"
        else:
            close([a], [b], is_near if np.asarray(b).dtype.kind == "c" else 0, f"native, {code}")
    for x, kept in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(x, kept, err_msg="an operand was written to")


def ulps_apart(a: Any, b: Any) -> int:
    """How many floats lie between two arrays at most; without limit where one is NaN or infinite and the other not."""
    a, b = np.asarray(a), np.asarray(b)
    is_same = (a == b) | (np.isnan(a) & np.isnan(b))
    if np.all(is_same):
        return 0
    if not np.all(np.isfinite(a[~is_same]) & np.isfinite(b[~is_same])):
        return 2**62
    number = np.int64 if a.dtype.itemsize == 8 else np.int32
    return max(abs(in_order(x, number) - in_order(y, number)) for x, y in zip(a.flat, b.flat, strict=True) if x == x)


def in_order(x: Any, number: Any) -> int:
    """The number of a float among all floats in order."""
    bits = int(x.view(number))
    return bits if bits >= 0 else -(bits & np.iinfo(number).max)


CHECKS = (
    check_value,
    check_variants,
    check_derivatives,
    check_flat,
    check_complex_step,
    check_each_pays_for_itself,
    check_unwritten,
    check_float32,
    check_structured,
    check_only_adds,
    check_batch,
    check_special_points,
    check_native,
)
