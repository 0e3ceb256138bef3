"""The tape as data and as text: what printing shows, what `check` refuses, what counts as the same tape, and that
nothing recurses or grows faster than the tape itself."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import wengert as wg
from wengert.ad.forward import jvp
from wengert.ad.reverse import vjp
from wengert.edit import format_tree
from wengert.errors import InternalError
from wengert.higher.mapped import map_scalar
from wengert.ops.contract import matmul
from wengert.ops.elementwise import add, cos, exp, multiply, sin, tanh
from wengert.ops.op import OPS
from wengert.ops.reduce import sum_
from wengert.passes import run
from wengert.source import Source
from wengert.tape import (
    Aval,
    Builder,
    Capture,
    Instr,
    Lit,
    Tape,
    Var,
    at_most,
    building,
    check,
    definitions,
    splice,
    structure,
)

F64 = np.dtype(float)


def vector(n: int = 3) -> Var:
    return Var(Aval((n,), F64))


def two_steps() -> Tape:
    x = vector()
    with building(Builder()) as builder:
        y = sin(x) * 2.0
    return Tape((x,), (), builder.instrs, (y,), name="f")


# ------------------------------------------------------------------------------------------------------ types


def test_equal_types_are_one_object() -> None:
    assert Aval((2, 3), F64) is Aval((2, 3), np.dtype("float64"))
    assert Aval((2, 3), F64) is not Aval((3, 2), F64)
    assert pickle.loads(pickle.dumps(Aval((2, 3), F64))) is Aval((2, 3), F64)


def test_a_type_says_its_size() -> None:
    aval = Aval((2, 3), np.dtype("float32"))
    assert (str(aval), aval.ndim, aval.size, aval.nbytes) == ("float32[2, 3]", 2, 6, 24)
    assert Aval((), F64).size == 1 and str(Aval((), F64)) == "float64[]"
    assert not Aval((), np.dtype(int)).is_inexact


def test_a_type_is_frozen() -> None:
    with pytest.raises(AttributeError):
        Aval((2,), F64).shape = (3,)


def test_literals_are_equal_by_bits() -> None:
    assert Lit(0.0).key != Lit(-0.0).key
    assert Lit(float("nan")).key == Lit(float("nan")).key
    assert Lit(1.0).key != Lit(1).key


# --------------------------------------------------------------------------------------------------- building


def test_formulas_are_instructions() -> None:
    x, y = Var(Aval((), F64)), Var(Aval((), F64))
    with building(Builder()) as builder:
        z = -(x + 1) * y / 2 - x**3
    names = [instr.op.name for instr in builder.instrs]
    assert names == ["add", "negative", "multiply", "divide", "power", "subtract"]
    assert builder.instrs[-1].outs == (z,)


def test_literals_are_folded_and_neutral_elements_vanish() -> None:
    x = Var(Aval((), F64))
    with building(Builder()) as builder:
        assert add(Lit(1.0), Lit(2.0)).value == 3.0
        assert x * 1 is x and x / 1 is x and x - 0 is x and x**1 is x
        assert x - (-0.0) is not x  # -0.0 - (-0.0) is 0.0
        assert (x * np.float32(1)).aval.dtype == F64
    assert len(builder.instrs) == 1


def test_numbers_take_the_dtype_of_the_atom_beside_them() -> None:
    x = Var(Aval((), np.dtype("float32")))
    with building(Builder()):
        assert (x * 2).aval.dtype == "float32"
        assert (0.1 + x).aval.dtype == "float32"


def test_ops_on_atoms_need_a_builder() -> None:
    with pytest.raises(InternalError, match="no tape being built"):
        sin(vector())


def test_a_builder_begins_with_the_steps_of_a_tape() -> None:
    tape = two_steps()
    with building(Builder(start=tape.instrs)) as builder:
        z = sin(tape.outputs[0])
    assert builder.instrs[:2] == tape.instrs and len(builder) == 3
    assert [i.outs for i in builder.since(2)] == [(z,)] and builder.since(3) == []
    check(tape.replace(instrs=builder.instrs, outputs=(z,)))


def test_what_a_builder_gives_out_is_a_copy() -> None:
    builder = Builder()
    for instr in two_steps().instrs:
        builder.append(instr)
    assert isinstance(builder.instrs, tuple) and builder.since(0) is not builder.since(0)


def test_builders_nest() -> None:
    x = vector()
    with building(Builder()) as outer:
        sin(x)
        with building(Builder()) as inner:
            cos(x)
        exp(x)
    assert [i.op.name for i in outer.instrs] == ["sin", "exp"]
    assert [i.op.name for i in inner.instrs] == ["cos"]


# --------------------------------------------------------------------------------------------------- printing


def test_a_tape_prints_as_a_wengert_list() -> None:
    line = Source("/home/ada/model.py", 12, "f")
    x, c = vector(), Capture(vector(), np.zeros(3), "w")
    with building(Builder()) as builder:
        builder.source = line
        y = sum_(multiply(sin(x), c.var), axis=(0,))
    tape = Tape((x,), (c,), builder.instrs, (y, x, Lit(1.0)), name="f")
    assert str(tape) == "\n".join(
        [
            "f(v0: float64[3]):",
            "  c0: float64[3] = captured w",
            "  v1: float64[3] = sin(v0)            # model.py:12",
            "  v2: float64[3] = multiply(v1, c0)   # model.py:12",
            "  v3: float64[] = sum(v2, axis=(0,))  # model.py:12",
            "  return v3, v0, 1.0",
        ]
    )


def test_what_a_transform_adds_is_marked() -> None:
    tape = two_steps()
    instrs = tuple(i._replace(source=Source("m.py", 3, "f")) for i in tape.instrs)
    text = str(vjp(tape.replace(instrs=instrs), [0], [0], runs_once=True))
    assert text.count("# m.py:3 cotangent") == 3
    assert text.startswith("vjp of f(v0: float64[3], v1: float64[3]):")
    assert text.endswith("# the backward part runs once")
    assert str(jvp(tape.replace(instrs=instrs), [0])).count("# m.py:3 tangent") == 3


def test_a_tape_within_a_tape_is_indented() -> None:
    s = Var(Aval((), F64))
    with building(Builder()) as builder:
        t = tanh(s)
    body = Tape((s,), (), builder.instrs, (t,), name="g")
    x = vector()
    with building(Builder()) as builder:
        y = map_scalar(x, body=body)
    assert str(Tape((x,), (), builder.instrs, (y,), name="f")).splitlines() == [
        "f(v0: float64[3]):",
        "  v1: float64[3] = map(v0, body=<g: 1 instructions>)",
        "    g(v0: float64[]):",
        "      v1: float64[] = tanh(v0)",
        "      return v1",
        "  return v1",
    ]


def test_the_tree_shows_the_calls_of_the_user() -> None:
    main = Source("m.py", 9, "main")
    inner = Source("m.py", 3, "layer", parent=main)
    x = vector()
    with building(Builder()) as builder:
        builder.source = inner
        y = sin(x)
        builder.source = inner._replace(line=4)
        y = cos(y)
        builder.source = main._replace(line=10)
        y = exp(y)
    tape = Tape((x,), (), builder.instrs, (y,), name="main")
    assert format_tree(tape).splitlines() == [
        "main",
        "  layer()   # called at m.py:9",
        "    sin -> float64[3]   # m.py:3",
        "    cos -> float64[3]   # m.py:4",
        "  exp -> float64[3]   # m.py:10",
    ]
    assert format_tree(tape, depth=0).splitlines() == [
        "main",
        "  ... 2 steps",
        "  exp -> float64[3]   # m.py:10",
    ]


# --------------------------------------------------------------------------------------------------- checking


def test_a_good_tape_passes() -> None:
    tape = two_steps()
    assert check(tape) is tape


def test_a_value_read_before_it_is_assigned() -> None:
    tape = two_steps()
    with pytest.raises(InternalError, match="instruction 0, multiply, reads a value that nothing has assigned"):
        check(tape.replace(instrs=tape.instrs[::-1]))


def test_a_value_assigned_twice() -> None:
    tape = two_steps()
    with pytest.raises(InternalError, match="instruction 1, sin, assigns a value again"):
        check(tape.replace(instrs=(tape.instrs[0], *tape.instrs)))


def test_an_output_that_is_never_assigned() -> None:
    with pytest.raises(InternalError, match="an output is never assigned"):
        check(two_steps().replace(outputs=(vector(),)))


def test_an_input_twice() -> None:
    tape = two_steps()
    with pytest.raises(InternalError, match="is an input twice"):
        check(tape.replace(inputs=tape.inputs * 2))


def test_a_type_that_the_op_does_not_give() -> None:
    x = vector()
    wrong = Instr(sin, (x,), (vector(4),), {}, None)
    with pytest.raises(InternalError, match=r"its type rule says \(float64\[3\],\)"):
        check(Tape((x,), (), (wrong,), wrong.outs))


def test_a_parameter_that_cannot_be_hashed() -> None:
    x = vector()
    wrong = Instr(OPS["sum"], (x,), (Var(Aval((), F64)),), {"axis": [0]}, None)
    with pytest.raises(InternalError, match=r"instruction 0, sum: .*hash"):
        check(Tape((x,), (), (wrong,), wrong.outs))


def test_a_captured_array_of_another_type() -> None:
    with pytest.raises(InternalError, match=r"captured w is float64\[4\]"):
        check(two_steps().replace(captures=(Capture(vector(3), np.zeros(4), "w"),)))


def test_an_ill_formed_tape_within_a_tape() -> None:
    s, t = Var(Aval((), F64)), Var(Aval((), F64))
    body = Tape((s,), (), (), (t,), name="body")
    x = vector()
    with building(Builder()) as builder:
        y = map_scalar(x, body=body)
    with pytest.raises(InternalError, match="ill-formed tape 'body' after fuse: an output"):
        check(Tape((x,), (), builder.instrs, (y,)), after="fuse")


# -------------------------------------------------------------------------------------------------- structure


def test_tapes_that_compute_the_same_have_one_structure() -> None:
    first, second = two_steps(), two_steps().replace(name="other")
    assert structure(first) == structure(second)
    assert hash(structure(first)) == hash(structure(second))


@pytest.mark.parametrize(
    "other",
    [
        lambda x: sin(x) * 3.0,
        lambda x: cos(x) * 2.0,
        lambda x: 2.0 * sin(x),
        lambda x: sin(x) * x,
        lambda x: sin(sin(x)) * 2.0,
    ],
)
def test_tapes_that_differ_in_anything_do_not(other) -> None:
    x = vector()
    with building(Builder()) as builder:
        y = other(x)
    assert structure(Tape((x,), (), builder.instrs, (y,))) != structure(two_steps())


def test_types_outputs_and_captures_count_and_captured_data_does_not() -> None:
    tape = two_steps()
    assert structure(tape) != structure(tape.replace(outputs=tape.instrs[0].outs))
    assert structure(tape) != structure(tape.replace(runs_once=True))
    var = vector()
    zeros, ones = Capture(var, np.zeros(3)), Capture(var, np.ones(3), "w")
    assert structure(tape.replace(captures=(zeros,))) != structure(tape)
    assert structure(tape.replace(captures=(zeros,))) == structure(tape.replace(captures=(ones,)))


def test_parameters_are_part_of_the_structure() -> None:
    x = Var(Aval((3, 3), F64))
    keys = set()
    for axis in [(0,), (1,)]:
        with building(Builder()) as builder:
            y = sum_(x, axis=axis)
        keys.add(structure(Tape((x,), (), builder.instrs, (y,))))
    assert len(keys) == 2


# ----------------------------------------------------------------------------------------------------- splice


def test_a_spliced_tape_has_values_of_its_own() -> None:
    tape, builder, x = two_steps(), Builder(), vector()
    (once,) = splice(builder, tape, [x], [])
    (twice,) = splice(builder, tape, [once], [])
    assert len(builder.instrs) == 4
    whole = check(Tape((x,), (), builder.instrs, (twice,)))
    assert not {v for i in tape.instrs for v in i.outs} & set(definitions(whole))


def test_splicing_replaces_captures_and_hands_arguments_through() -> None:
    x, c = vector(), Capture(vector(), np.zeros(3))
    with building(Builder()) as builder:
        y = x + c.var
    tape = Tape((x,), (c,), builder.instrs, (y, x, Lit(2.0)))
    a, b, target = vector(), vector(), Builder()
    outs = splice(target, tape, [a], [b])
    assert target.instrs[0].ins == (a, b)
    assert outs[1] is a and outs[2].value == 2.0


# ---------------------------------------------------------------------------------------------- long and deep


def chain(n: int) -> Tape:
    """x, sin(x), sin(sin(x)), ...: each value needed for the next, n deep."""
    x = y = Var(Aval((), F64))
    with building(Builder()) as builder:
        for _ in range(n):
            y = sin(y)
    return Tape((x,), (), builder.instrs, (y,), name="chain")


def fan(n: int) -> Tape:
    """Σ sin(x) w, n terms of one value: its cotangent has n parts."""
    x = Var(Aval((), F64))
    with building(Builder()) as builder:
        y = sin(x)
        for k in range(n - 1):
            y = y + sin(x * float(k))
    return Tape((x,), (), builder.instrs, (y,), name="fan")


@pytest.mark.deep("a hundred thousand steps")
@pytest.mark.parametrize("make", [chain, fan], ids=["deep", "wide"])
def test_a_hundred_thousand_steps_are_an_ordinary_tape(make) -> None:
    n = 100_000 if make is chain else 33_333
    tape = check(make(n))
    assert len(tape) >= n
    assert hash(structure(tape)) == hash(structure(make(n)))
    assert str(tape).count("\n") == len(tape) + 1
    assert format_tree(tape).count("\n") == len(tape)
    joint = run(vjp(tape, [0], [0], seed="one"))
    assert len(joint) < 5 * len(tape)
    assert len(run(jvp(tape, [0]))) < 5 * len(tape)
    assert len(splice_of(tape)) == len(tape)


def splice_of(tape: Tape) -> tuple[Instr, ...]:
    builder = Builder()
    splice(builder, tape, tape.inputs, [])
    return builder.instrs


@pytest.mark.sampled(3, "tapes of thousands of steps, twice transformed")
@pytest.mark.parametrize("make", [chain, fan], ids=["deep", "wide"])
@pytest.mark.parametrize(
    "transform",
    [
        lambda tape: vjp(tape, [0], [0]),
        lambda tape: jvp(tape, [0]),
        lambda tape: jvp(vjp(tape, [0], [0]), [0]),
        lambda tape: vjp(vjp(tape, [0], [0]), [0], [1]),
    ],
    ids=["vjp", "jvp", "jvp of vjp", "vjp of vjp"],
)
def test_transforms_are_linear_in_the_tape(make, transform) -> None:
    short, long = len(transform(make(200))), len(transform(make(2000)))
    assert long <= 10.5 * short


def test_a_long_recording_runs() -> None:
    """The whole road once: record, differentiate, run."""

    def iterate(x):
        for _ in range(5000):
            x = np.sin(x)
        return x

    y = x = 1.0
    slope = 1.0
    for _ in range(5000):
        slope *= np.cos(y)
        y = np.sin(y)
    np.testing.assert_allclose(wg.grad(iterate)(x), slope, rtol=1e-10)


def test_definitions_name_the_instruction_of_each_value() -> None:
    tape = two_steps()
    assert definitions(tape)[tape.outputs[0]] is tape.instrs[1]
    assert tape.inputs[0] not in definitions(tape)


def test_the_shapes_of_a_product_must_fit() -> None:
    with building(Builder()), pytest.raises(wg.errors.ShapeError, match="lengths differ, 4 and 2"):
        matmul(Var(Aval((3, 4), F64)), Var(Aval((2, 4), F64)))


@pytest.mark.machine_code("a program shows its kernels and their memory")
def test_a_tape_says_what_it_is_in_a_line_and_shows_its_steps_in_a_notebook() -> None:
    tape = wg.trace(lambda x: np.sum(np.where(x < 1, x, 2)))(np.ones(3))
    assert repr(tape) == f"<tape <lambda>: {len(tape)} steps, (float64[3]) -> (float64[])>"
    shown = tape._repr_html_()
    assert shown.startswith("<pre>") and "&lt;lambda&gt;" in shown and "<lambda>" not in shown
    program = wg.compile(tape)
    assert repr(program).startswith("<program <lambda>: ") and "bytes of memory" in repr(program)
    assert "<lambda>" not in program._repr_html_() and program._repr_html_().count("<tr>") == len(program.kernels)


def test_a_tape_may_be_given_so_many_steps_and_no_more() -> None:
    def f(x: float) -> float:
        for _ in range(20):
            x = np.sin(x)
        return x

    with at_most(20):
        assert len(wg.trace(f)(1.0)) == 20
    with at_most(19), pytest.raises(wg.errors.TooLongError, match="more than 19 steps"):
        wg.trace(f)(1.0)
    assert len(wg.trace(f)(1.0)) == 20
