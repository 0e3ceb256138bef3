"""Random programs and random keys: what NumPy computes, and its differences, say what is right.

The programs are written by :mod:`tests.programs`. Here NumPy runs them as they are, on copies of the arguments, and
wengert traces them; values must agree, derivatives must agree with differences of NumPy's values and with each other.
``HYPOTHESIS_PROFILE=thorough`` runs many more, other every time. A failure prints the program: it runs as it stands.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given, settings

import wengert as wg
from tests import programs
from tests.comparisons import leaves, same
from tests.programs import (
    ALL_STATEMENTS,
    PLAIN_STATEMENTS,
    SHAPES,
    SMOOTH_STATEMENTS,
    STATEMENTS,
    Program,
    arguments,
    build,
    random_program,
)
from tests.random_programs.check import Run, Skipped, chosen, direction, in_every_way, inner, moved
from tests.random_programs.module import MIX, write
from tests.random_programs.plain import stand_in
from wengert import passes, tree
from wengert.ad.reverse import vjp as vjp_of_tape
from wengert.edit import merge_common
from wengert.passes.fold_constants import fold_constants
from wengert.passes.simplify import drop_dead
from wengert.runtime.program import Program as Compiled
from wengert.tape import Tape, check

strictly = wg.jit(strict=True)  # what cannot be traced raises, instead of being answered by NumPy

FLOATS = (0, 1, 2, 3)  # the arguments to differentiate; the other two are integers


def examples(share: float) -> Any:
    """So many of the profile's examples: a gradient costs more than a value."""
    return settings(max_examples=max(1, int(settings().max_examples * share)))


@st.composite
def some_programs(draw: Any, names: tuple[str, ...] = ALL_STATEMENTS, length: int = 24) -> Program:
    shapes = draw(st.tuples(*[st.sampled_from(SHAPES)] * 3))
    one = st.tuples(st.sampled_from(names), st.integers(0, 2**16 - 1))
    program = Program(shapes, draw(st.integers(0, 2**20)), tuple(draw(st.lists(one, min_size=length, max_size=length))))
    assume(not is_refused(program))
    return program


def is_refused(program: Program) -> bool:
    """Whether it writes through a reshape of a result that NumPy does not keep in C order: docs/limits-in-full.md."""
    try:
        for seed in (None, 1, 2):  # the arguments that the tests use, which take different branches
            wg.trace(build(program).f)(*arguments(program, seed))
    except wg.errors.MutationError as error:
        return "order of an array in memory" in str(error)
    except Exception:  # NumPy may refuse these arguments, and whatever else it is, a test will meet it
        return False
    return False


@pytest.fixture(autouse=True)
def _through_references(monkeypatch: pytest.MonkeyPatch) -> None:
    """These properties are of tracing and derivatives; each example is another program, which would be compiled."""
    monkeypatch.setattr(wg.config, "native", False)


def numpy_says(f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """What ``f`` returns on copies of the arguments; rejects the example where NumPy refuses, or warns."""
    try:
        with np.errstate(all="raise"):
            return f(*copy.deepcopy(args))
    except (FloatingPointError, TypeError):  # TypeError: a write into what is a scalar for these arguments
        assume(False)


# ---------------------------------------------------------------------------------------------------- programs


def test_the_programs_are_long_and_nearly_every_statement_fits() -> None:
    lengths, fits = [], dict.fromkeys(ALL_STATEMENTS, 0)
    tried = dict(fits)
    from random import Random

    for seed in range(40):
        program = random_program(Random(seed))
        writer = programs.Writer(program)
        for name, n in program.statements:
            before = len(writer.lines)
            writer.write(name, n)
            tried[name] += 1
            fits[name] += len(writer.lines) > before
        lengths.append(len(wg.trace(build(program).f)(*arguments(program))))
    assert np.quantile(lengths, 0.05) >= 20
    rare = {n: f"{fits[n]} of {tried[n]}" for n in ALL_STATEMENTS if n != "pass" and fits[n] < 0.5 * tried[n]}
    assert not rare
    assert len(SMOOTH_STATEMENTS) > 15 and len(STATEMENTS) > 30


@given(some_programs())
@examples(4)
def test_values_are_those_of_numpy(program: Program) -> None:
    built, args = build(program), arguments(program)
    given = copy.deepcopy(args)
    jitted = strictly(built.f)
    same(jitted(*given), built.f(*copy.deepcopy(args)))
    same(wg.compile(wg.trace(built.f)(*given))(*given), built.f(*copy.deepcopy(args)))
    for seed in (1, 2):  # which take other branches
        others = arguments(program, seed)
        want = numpy_says(built.f, others)
        same(jitted(*others), want)
    assert all(np.array_equal(a, b) for a, b in zip(leaves(given), leaves(args), strict=True)), "arguments written to"


@given(some_programs())
@examples(0.75)
def test_captured_arrays_are_read_at_every_call(program: Program) -> None:
    built, args = build(program), arguments(program)
    jitted = strictly(built.f)
    jitted(*args)
    built.namespace["TABLE"][...] *= 0.5
    built.namespace["SETTINGS"]["shift"][1] = 0.125
    built.namespace["SETTINGS"]["scale"] = 0.25
    same(jitted(*args), numpy_says(built.f, args))


class Differences:
    """Central differences at two steps. Where they disagree, or the one-sided ones do, a kink or a branch is near,
    and the point is skipped."""

    def __init__(self) -> None:
        self.tried = self.skipped = 0

    def check(self, of: Callable[[float], Any], derivative: Any, scale: float) -> None:
        h = 2.5e-6
        here, above, below, far_above, far_below = (leaves(of(n * h)) for n in (0, 1, -1, 4, -4))
        self.tried += 1
        wanted = []
        for y, a, b, fa, fb in zip(here, above, below, far_above, far_below, strict=True):
            wanted.append((a - b) / (2 * h))
            jump, kink = (fa - fb) / (8 * h) - wanted[-1], (a - 2 * y + b) / h
            if not (np.all(np.abs(jump) <= 1e-5 * (1 + scale)) and np.all(np.abs(kink) <= 1e-4 * (1 + scale))):
                self.skipped += 1
                return
        for d, w in zip(leaves(derivative), wanted, strict=True):
            np.testing.assert_allclose(d, w, rtol=1e-4, atol=1e-4 * (1 + scale))

    def check_share(self) -> None:
        assert self.skipped <= 0.3 * self.tried, f"{self.skipped} of {self.tried} points skipped"


@pytest.mark.hypothesis  # as hypothesis marks those that are properties all over
def test_forward_reverse_and_differences_agree() -> None:
    differences = Differences()

    @given(some_programs())
    @examples(2.5)
    def agree(program: Program) -> None:
        built, args = build(program), arguments(program)
        value, gradient = wg.value_and_grad(built.loss, FLOATS)(*args)
        same(value, built.loss(*copy.deepcopy(args)))
        dx = direction(args)
        along, scale = inner(gradient, dx)
        _, tangent = wg.jvp(lambda *xs: built.loss(*xs, *args[4:]), args[:4], dx)
        assert abs(tangent - along) <= 1e-9 * (1 + scale), "forward and reverse mode differ"
        differences.check(lambda h: np.float64(built.loss(*copy.deepcopy(moved(args, dx, h)))), along, scale)

    agree()
    differences.check_share()


@given(some_programs())
@examples(1.5)
def test_a_compiled_gradient_takes_the_branches_of_its_arguments(program: Program) -> None:
    built = build(program)
    gradient = wg.grad(built.loss, FLOATS)
    compiled = strictly(gradient)
    for seed in (None, 1, 2):
        args = arguments(program, seed)
        numpy_says(built.loss, args)
        same(compiled(*args), gradient(*args), 1e-10)


@pytest.mark.hypothesis  # as hypothesis marks those that are properties all over
def test_second_derivatives_are_differences_of_the_gradient() -> None:
    differences = Differences()

    @given(some_programs(SMOOTH_STATEMENTS, length=20))
    @examples(1.5)
    def agree(program: Program) -> None:
        built, args = build(program), arguments(program)
        at = lambda *xs: built.loss(*xs, *args[4:])
        dx = direction(args)
        product = wg.hvp(at, args[:4], dx)
        scale = max(float(np.max(np.abs(x), initial=0.0)) for x in leaves(product))
        differences.check(lambda h: wg.grad(at, FLOATS)(*moved(args, dx, h)[:4]), product, scale)

    agree()
    differences.check_share()


@given(some_programs(PLAIN_STATEMENTS))
@examples(2)
def test_vmap_is_a_loop(program: Program) -> None:
    built = build(program)
    each = [examples_of(program, seed) for seed in (None, 1, 2)]
    want = [numpy_says(built.f, args) for args in each]
    stacked = tree.map(lambda *xs: np.stack(xs), *each)
    same(wg.vmap(built.f)(*stacked), tree.map(lambda *ys: np.stack(ys), *want))


def examples_of(program: Program, seed: int | None) -> tuple[Any, ...]:
    """Arguments as a loop over stacked ones sees them: what has shape () is a scalar, which nobody can write into."""
    return tree.map(lambda x: np.asarray(x)[()], arguments(program, seed))


@given(some_programs(PLAIN_STATEMENTS))
@examples(1)
def test_vmap_of_a_gradient_is_a_loop(program: Program) -> None:
    built = build(program)
    each = [examples_of(program, seed) for seed in (None, 1)]
    for args in each:
        numpy_says(built.loss, args)
    gradient = wg.grad(built.loss, FLOATS)
    want = [gradient(*args) for args in each]
    stacked = tree.map(lambda *xs: np.stack(xs), *each)
    same(wg.vmap(gradient)(*stacked), tree.map(lambda *ys: np.stack(ys), *want), 1e-10)


@given(some_programs())
@examples(1.5)
def test_float32_arguments_have_float32_gradients(program: Program) -> None:
    built, args = build(program), arguments(program, dtype=np.float32)
    want = numpy_says(built.f, args)
    got = strictly(built.f)(*args)
    assert [np.asarray(y).dtype for y in leaves(got)] == [np.asarray(y).dtype for y in leaves(want)]
    for argument, gradient in zip(args[:3], wg.grad(built.loss, (0, 1, 2))(*args), strict=True):
        for x, g in zip(leaves(argument), leaves(gradient), strict=True):
            assert g.dtype == x.dtype == np.float32 and g.shape == x.shape


@given(some_programs(), st.permutations([merge_common, drop_dead, fold_constants]))
@examples(1.5)
def test_passes_keep_values(program: Program, order: list[passes.Pass]) -> None:
    built, args = build(program), arguments(program)
    inputs = [np.asarray(x) for x in leaves(args)]
    tape = wg.trace(built.loss)(*args)
    inexact = tuple(k for k, v in enumerate(tape.inputs) if v.aval.is_inexact)
    for one in (wg.trace(built.f)(*args), vjp_of_tape(tape, inexact, (0,), "one")):
        before = run(one, inputs)
        for run_pass in order:
            changed = check(run_pass(one), after=run_pass.__name__)
            assert len(changed) <= len(one)
            assert len(run_pass(changed)) == len(changed), f"{run_pass.__name__} is not idempotent"
            one = changed
            for a, b in zip(run(one, inputs), before, strict=True):
                np.testing.assert_array_equal(a, b, err_msg=run_pass.__name__)


def run(tape: Tape, inputs: list[Any]) -> list[Any]:
    return Compiled(tape).run([np.copy(x) for x in inputs])


# ------------------------------------------------------------------------------------------------------ machine code


@contextmanager
def natively() -> Iterator[None]:
    before, wg.config.native = wg.config.native, True
    try:
        yield
    finally:
        wg.config.native = before


@pytest.mark.machine_code("it is compared with the references")
@given(some_programs())
@examples(0.5)
def test_machine_code_computes_what_the_references_do(program: Program) -> None:
    """Values and gradients; for other arguments too, which take other branches; and nobody writes to the arguments."""
    built = build(program)
    for f in (built.f, wg.grad(built.loss, FLOATS)):
        by_references = strictly(f)
        with natively():
            by_machine = strictly(f)
        for seed in (None, 1):
            args = arguments(program, seed)
            numpy_says(built.loss, args)
            kept = copy.deepcopy(args)
            want = by_references(*args)
            with natively():
                same(by_machine(*args), want, 1e-10)
            assert all(np.array_equal(a, b) for a, b in zip(leaves(args), leaves(kept), strict=True))


@pytest.mark.machine_code("it is compared with the references")
@given(some_programs())
@examples(0.25)
def test_machine_code_for_float32(program: Program) -> None:
    built, args = build(program), arguments(program, dtype=np.float32)
    want = numpy_says(built.f, args)
    with natively():
        got = strictly(built.f)(*args)
    for a, b in zip(leaves(got), leaves(want), strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype and np.shape(a) == np.shape(b)


@pytest.mark.machine_code("it is compared with the references")
@given(some_programs(PLAIN_STATEMENTS))
@examples(0.25)
def test_machine_code_of_a_batch_is_a_loop(program: Program) -> None:
    built = build(program)
    each = [examples_of(program, seed) for seed in (None, 1)]
    want = [numpy_says(built.f, args) for args in each]
    stacked = tree.map(lambda *xs: np.stack(xs), *each)
    with natively():
        same(strictly(wg.vmap(built.f))(*stacked), tree.map(lambda *ys: np.stack(ys), *want), 1e-10)


# ----------------------------------------------------------------------------------------------------------- modules


@pytest.mark.sampled(9, "half a second each")
@pytest.mark.parametrize("kind", MIX)
def test_modules_with_state_are_right_in_every_way(kind: str) -> None:
    modules_are_right(kind, range(20, 20 + {"solver": 0, "transform": 2, "bodies": 4}.get(kind, 8)))


@pytest.mark.deep("random programs by the hundred")
@pytest.mark.parametrize("kind", MIX)
def test_more_modules_with_state_are_right_in_every_way(kind: str) -> None:
    modules_are_right(kind, range(1000, 1000 + {"solver": 5, "transform": 40, "bodies": 40}.get(kind, 200)))


def modules_are_right(kind: str, seeds: range) -> None:
    """Programs of that kind, of these numbers: ``python -m tests.random_programs`` runs more, and makes them small."""
    skipped = 0
    for seed in seeds:
        run = Run(write(kind, seed, stand_in(kind)), kind)
        try:
            in_every_way(run, chosen(seed))
        except Skipped:
            skipped += 1
        except Exception as error:  # any: it is raised again, with the program
            error.add_note(f"{run.written.text}\nedits {run.written.edits}")
            raise
    assert skipped <= 1 + 0.1 * len(seeds)


# -------------------------------------------------------------------------------------------------------- keys


@st.composite
def keys(draw: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Any key, valid or not: basic, advanced and mixed, at times with too many entries or out of bounds."""
    if draw(st.booleans()):
        key = draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True, max_dims=4))
        return key if isinstance(key, tuple) else (key,)
    common = draw(st.sampled_from([(), (2,), (1,), (2, 1), (3,), (0,), (2, 2)]))
    entries: list[Any] = []
    axis, beyond = 0, draw(st.sampled_from([0, 0, 0, 0, 0, 0, 1]))
    while axis < len(shape) + beyond and (not entries or draw(st.integers(0, 5))):
        n = shape[axis] if axis < len(shape) else 2
        kind = draw(st.sampled_from(["int", "slice", "array", "mask", "none", "list", "ellipsis", "scalar"]))
        if kind == "mask" and 0 in shape:
            kind = "int"  # where nothing is selected NumPy does not always look whether a mask fits
        low, high = (-n - beyond, n - 1 + beyond) if n + beyond else (0, 0)
        if kind == "int":
            entries.append(draw(st.integers(low, max(high, low))))
        elif kind == "scalar":
            entries.append(np.int64(draw(st.integers(low, max(high, low)))))
        elif kind == "slice":
            entries.append(draw(st.slices(n)))
        elif kind in ("array", "list"):
            index = draw(hnp.arrays(np.intp, common, elements=st.integers(low, max(high, low))))
            entries.append(index.tolist() if kind == "list" and index.ndim else index)
        elif kind == "mask":
            wide = draw(st.integers(1, min(2, max(len(shape) - axis, 1))))
            entries.append(draw(hnp.arrays(bool, shape[axis : axis + wide] or (2,))))
            axis += wide - 1
        elif kind == "none":
            entries.append(None)
            axis -= 1
        elif not any(e is Ellipsis for e in entries):
            entries.append(Ellipsis)
            continue
        axis += 1
    return tuple(entries)


@st.composite
def shapes_and_keys(draw: Any) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    return shape, draw(keys(shape))


def numbered(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return np.arange(1.0, 1.0 + int(np.prod(shape))).reshape(shape)


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    """The value, or the type of the error."""
    try:
        return f(*args)
    except (IndexError, ValueError, TypeError) as error:
        return next(t for t in (IndexError, ValueError, TypeError) if isinstance(error, t))


def agree(got: Any, want: Any) -> None:
    if isinstance(want, type):
        assert got is want
    else:
        assert not isinstance(got, type), f"{got.__name__}, where NumPy has a value"
        same(got, want)


def is_data(entry: Any) -> bool:
    """What may be passed as an argument of its own: index arrays and integers; a mask of shape () may not."""
    return isinstance(entry, np.ndarray | np.int64) and (entry.dtype != bool or entry.ndim > 0)


@given(shapes_and_keys())
@examples(10)
def test_reading_at_any_key(case: tuple[tuple[int, ...], tuple[Any, ...]]) -> None:
    shape, key = case
    x = numbered(shape)
    want = outcome(lambda: np.array(x[key]))
    agree(outcome(strictly(lambda x: np.array(x[key])), x), want)  # the key belongs to the program
    data = {k: e for k, e in enumerate(key) if is_data(e)}
    fixed = tuple(None if is_data(e) else e for e in key)

    def read(x: Any, data: Any) -> Any:
        return np.array(x[tuple(data.get(k, e) for k, e in enumerate(fixed))])

    agree(outcome(strictly(read), x, data), want)  # the key belongs to the arguments
    if isinstance(want, type) or not want.size:
        return
    w = np.cos(numbered(want.shape))
    gradient = np.zeros(shape)
    np.add.at(gradient, key, w)
    same(wg.grad(lambda x: np.sum(w * x[key]))(x), gradient)
    same(strictly(wg.grad(lambda x, data: np.sum(w * read(x, data))))(x, data), gradient)


@given(shapes_and_keys(), st.data())
@examples(10)
def test_writing_at_any_key(case: tuple[tuple[int, ...], tuple[Any, ...]], data: Any) -> None:
    shape, key = case
    x = numbered(shape)
    region = outcome(lambda: np.shape(x[key]))
    if isinstance(region, type):
        v: Any = 0.5
    else:
        keep = data.draw(st.lists(st.booleans(), min_size=len(region), max_size=len(region)), label="not repeated")
        v_shape = tuple(n if k else 1 for n, k in zip(region, keep, strict=True))[
            data.draw(st.integers(0, len(region))) :
        ]
        if data.draw(st.integers(0, 9)) == 0:
            v_shape = (*v_shape, 3)  # mostly does not fit
        v = -numbered(v_shape)

    def write(x: Any, v: Any) -> Any:
        y = x.copy()
        y[key] = v
        return y

    want = outcome(write, x, v)
    assume(want is not TypeError)  # to write (1, 3) at a mask is refused by NumPy, and is not by us
    agree(outcome(strictly(write), x, v), want)
    arrays = {k: e for k, e in enumerate(key) if is_data(e)}
    fixed = tuple(None if is_data(e) else e for e in key)

    def write_at(x: Any, v: Any, arrays: Any) -> Any:
        y = x.copy()
        y[tuple(arrays.get(k, e) for k, e in enumerate(fixed))] = v
        return y

    agree(outcome(strictly(write_at), x, v, arrays), want)
    if isinstance(want, type):
        return
    w = np.cos(numbered(shape))
    for f in (write, lambda x, v: write_at(x, v, arrays)):
        ct_x, ct_v = wg.grad(lambda x, v, f=f: np.sum(w * f(x, v)), (0, 1))(x, v)
        dx, dv = np.array(np.sin(x)), np.sin(3.0 * np.asarray(v))  # writing is linear: it is its own derivative
        np.testing.assert_allclose(
            np.sum(ct_x * dx) + np.sum(ct_v * dv), np.sum(w * write(dx, dv)), rtol=1e-10, atol=1e-10
        )


# ------------------------------------------------------------------------------------------------------- views

VIEWS = (
    "{x}.reshape(-1)",
    "{x}.T",
    "np.swapaxes({x}, 0, -1)",
    "{x}[::-1]",
    "{x}[..., 1:]",
    "{x}.ravel()",
    "np.squeeze({x})",
    "{x}[None]",
    "{x}.reshape(2, -1)",
    "np.moveaxis({x}, 0, -1)",
    "{x}[..., ::2]",
    "np.atleast_2d({x})",
    "{x}[0]",
    "{x}[-1:]",
    "np.expand_dims({x}, -1)",
    "np.flip({x}, 0)",
    "np.split({x}, [1])[1]",
    "{x}.reshape(-1, 2)",
    "{x}.reshape(3, -1, order='F')",
    "np.ravel({x}, order='F')",
    "{x}[:, 1]",
    "{x}.transpose()",
    "{x}[k % 2]",
    "{x}[k % 2, ...]",
    "np.rot90({x})",
    "{x}.view()",
    "{x}[()]",
    "np.asarray({x})",
    "{x}[k % 2, :1]",
    "np.array({x})",
    "{x}[[1, 0]]",
    "{x} * 1.0",
    "np.broadcast_to({x}, (2, *{x}.shape))",
    "np.einsum('ij->ji', {x})",
    "np.diagonal({x})",
    "{x}[idx % 2]",
    "np.array_split({x}, 2)[0]",
    "{x}.swapaxes(-1, 0)",
    "np.array(k % 2) + 0 * k and {x} or {x}",
    "{x}.squeeze()",
)
WRITES = (
    "{x}[...] = 7.0",
    "{x} *= 2.0",
    "{x}[0] = -1.0",
    "{x}[-1:] += 0.5",
    "{x}[..., ::2] = 3.0",
    "{x}.fill(t)",
    "np.add({x}, 1.0, out={x})",
    "{x}[{x} > 4] = 0.0",
)


@given(
    st.sampled_from([(4,), (2, 3), (4, 2), (2, 3, 2), (1, 4), (6,), (3, 1, 2), (1,), (2, 2)]),
    st.lists(st.sampled_from(VIEWS), min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from(WRITES)), min_size=1, max_size=4),
    st.integers(0, 3),
)
@examples(10)
def test_a_write_reaches_what_shares_memory(
    shape: Any, chain: list[str], writes: list[tuple[int, str]], k: int
) -> None:
    """A chain of views, some of them copies after all; then writes into any of them; then all of them are compared."""
    lines = ["v0 = x * 1.0"]
    names = {"np": np, "k": k, "idx": np.array([1, 0, 1]), "t": 0.25, "x": numbered(shape)}
    exec(lines[0], names)
    n = 0
    for text in chain:
        line = f"v{n + 1} = {text.format(x=f'v{n}')}"
        try:
            exec(line, names)
        except (ValueError, IndexError, TypeError):
            continue
        y, old = names[f"v{n + 1}"], names[f"v{n}"]
        if not isinstance(y, np.ndarray) or y.size == 0:
            continue
        if not np.shares_memory(y, old) and not y.flags.c_contiguous:
            continue  # K order: see programs.py
        lines.append(line)
        n += 1
    for at, text in writes:
        line = text.format(x=f"v{at % (n + 1)}")
        try:
            exec(line, names)
        except (ValueError, IndexError):  # read-only, or no such axis
            continue
        lines.append(line)
    body = "\n    ".join([*lines, f"return {', '.join(f'v{j}' for j in range(n + 1))},"])
    namespace: dict[str, Any] = {"__name__": "program"}
    exec(f"import numpy as np\ndef f(x, k, idx, t):\n    {body}", namespace)
    args = (numbered(shape), k, np.array([1, 0, 1]), 0.25)
    want = namespace["f"](*args)
    try:
        same(strictly(namespace["f"])(*args), want)
    except wg.errors.MutationError as error:
        assume(
            "order of an array in memory" not in str(error)
        )  # refused where it is not worked out: docs/limits-in-full.md
        raise
    except AssertionError as error:
        raise AssertionError(f"{body}\n{error}") from None


SHARED = (
    "np.roll(x, 0)",
    "np.tile(x, 1)",
    "np.repeat(x, 1, 0)",
    "np.sort(x)",
    "np.real(x)",
    "x.real",
    "np.conj(x)",
    "x.conj()",
    "+x",
    "np.array(x)",
    "np.asarray(x)",
    "np.ascontiguousarray(x)",
    "np.atleast_1d(x)",
    "np.atleast_3d(x)",
    "np.broadcast_to(x, x.shape)",
    "np.concatenate([x])",
    "np.stack([x])",
    "np.split(x, 1)[0]",
    "np.delete(x, [])",
    "np.diff(x, n=0)",
    "np.sum(x, axis=())",
    "np.max(x[None], 0)",
    "np.where(True, x, x)",
    "np.nan_to_num(x, copy=False)",
    "np.diag(x)",
    "np.diagonal(x)",
    "np.tril(x)",
    "np.pad(x, 0)",
    "np.take(x, [0], 0)",
    "x[...]",
    "x[()]",
    "x[[0]]",
    "x[x > 0]",
    "x[np.array(0)]",
    "x[np.int64(0)]",
    "x.reshape(-1)",
    "x.ravel()",
    "x.flatten()",
    "x.T",
    "x.astype(float)",
    "x.astype(float, copy=False)",
    "np.resize(x, x.shape)",
    "np.rot90(x, 0)",
    "np.rot90(x)",
    "np.einsum('ij->ji', x)",
    "np.einsum('ii->i', x)",
    "np.moveaxis(x, 0, 0)",
    "x ** 1",
    "np.squeeze(x[None], 0)",
    "np.copy(x)",
    "x.view()",
    "np.unstack(x)[0]",
    "np.linalg.diagonal(x)",
    "np.partition(x, 0)",
    "x.swapaxes(0, 1)",
    "np.hsplit(x, 1)[0]",
    "np.ediff1d(x)",
    "np.cumsum(x)",
    "x.clip(-1, 1)",
    "x.take([0])",
    "list(x)[0]",
    "np.matrix_transpose(x)",
)
STRIDES = {
    "whole": "x",
    "transposed": "x.T",
    "every second": "x[:, ::2]",
    "one": "x[:1, :1]",
    "row": "x[1:2]",
    "reversed": "x[::-1]",
}


@pytest.mark.parametrize("expression", SHARED)
def test_results_share_memory_where_those_of_numpy_do(expression: str) -> None:
    for name, view in STRIDES.items():

        def shares(x: Any, view: str = view) -> bool:
            base = x * 1.0
            namespace = {"__name__": "program", "np": np, "x": base}
            namespace["x"] = eval(view, namespace)
            return bool(np.shares_memory(eval(expression, namespace), base))

        x = numbered((3, 3))
        try:
            want = shares(x)
        except (ValueError, IndexError):
            continue
        seen: list[bool] = []

        def traced(x: Any, shares: Any = shares, seen: list[bool] = seen) -> Any:
            seen.append(shares(x))
            return np.sum(x)

        wg.grad(traced)(x)
        assert seen == [want], name
