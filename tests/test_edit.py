"""Looking into tapes and changing them by hand: every edit is a new, well-formed tape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import edit
from wengert.errors import ShapeError, StructureError
from wengert.ops.elementwise import cos, exp, sin
from wengert.ops.reduce import sum_
from wengert.source import Source
from wengert.tape import Lit, Tape, tapes_in

X = np.array([0.5, -1.0, 2.0])


def helper(x: Any) -> Any:
    return np.exp(x)


def tape() -> Tape:
    """sum(sin x · exp x), and a third step that nobody reads."""

    def f(x: Any, y: Any) -> Any:
        s = np.sin(x)
        e = helper(x)
        _unread = np.cos(y)
        return np.sum(s * e)

    return wg.trace(f)(X, X)


def names(steps: Any) -> list[str]:
    return [i.op.name for i in steps]


def test_find() -> None:
    t = tape()
    assert names(edit.find(t)) == ["sin", "exp", "cos", "multiply", "sum"]
    assert names(edit.find(t, op="exp")) == names(edit.find(t, function="helper")) == ["exp"]
    (exp_step,) = edit.find(t, op="exp")
    assert exp_step.source is not None
    assert names(edit.find(t, line=exp_step.source.line)) == ["exp"]
    assert names(edit.find(t, where=lambda i: i.outs[0].aval.shape == ())) == ["sum"]
    assert edit.find(t, op="exp", function="f") == []


def test_ancestors_and_descendants() -> None:
    t = tape()
    (product,) = edit.find(t, op="multiply")
    assert names(edit.ancestors(t, product.outs[0])) == ["sin", "exp", "multiply"]
    assert names(edit.descendants(t, product.outs[0])) == ["sum"]
    assert names(edit.descendants(t, t.inputs[1])) == ["cos"]
    assert names(edit.descendants(t, t.inputs)) == names(t.instrs)
    assert edit.ancestors(t, t.inputs[0]) == []


def test_explain() -> None:
    t = tape()
    (product,), (cosine,) = edit.find(t, op="multiply"), edit.find(t, op="cos")
    text = edit.explain(t, product.outs[0])
    assert text.startswith("float64[3] is active: it depends on input 0\n")
    assert text.count("test_edit.py") == 3
    assert "input 1" in edit.explain(t, cosine.outs[0])
    assert "constant to every derivative" in edit.explain(t, cosine.outs[0], wrt=[0])


def test_insert_replace_and_delete() -> None:
    t = tape()
    (e,) = edit.find(t, op="exp")
    longer, new = edit.insert_after(t, e.outs[0], lambda x: cos(x) * 2.0, t.inputs[0])
    assert len(longer) == len(t) + 2 and len(t) == 5
    replaced = edit.replace_value(longer, e.outs[0], new)
    shorter = edit.delete(replaced, e.outs[0])
    assert names(shorter.instrs) == ["sin", "cos", "multiply", "cos", "multiply", "sum"]
    np.testing.assert_allclose(wg.compile(shorter)(X, X), np.sum(np.sin(X) * 2 * np.cos(X)))
    np.testing.assert_allclose(wg.compile(t)(X, X), np.sum(np.sin(X) * np.exp(X)))  # the old one is what it was


def test_insert_at_the_beginning() -> None:
    t = tape()
    for at in (None, t.inputs[0]):
        longer, _ = edit.insert_after(t, at, sin, t.inputs[1])
        assert names(longer.instrs)[0] == "sin" and len(longer) == 6


def test_replace_step() -> None:
    t = tape()
    (s,) = edit.find(t, op="sin")
    swapped = edit.replace_step(t, s.outs[0], cos, s.ins[0])
    np.testing.assert_allclose(wg.compile(swapped)(X, X), np.sum(np.cos(X) * np.exp(X)))


def test_replace_an_output_by_a_literal() -> None:
    t = tape()
    constant = edit.replace_value(t, t.outputs[0], Lit(3.0))
    assert wg.compile(constant)(X, X) == 3


def test_surgery_that_would_break_the_tape_is_refused() -> None:
    t = tape()
    (s,), (e,), (total,) = edit.find(t, op="sin"), edit.find(t, op="exp"), edit.find(t, op="sum")
    with pytest.raises(StructureError, match="multiply reads it"):
        edit.delete(t, s.outs[0])
    with pytest.raises(StructureError, match="output reads it"):
        edit.delete(t, total.outs[0])
    with pytest.raises(ShapeError, match=r"float64\[3\] cannot be replaced by one of type float64\[\]"):
        edit.replace_value(t, s.outs[0], total.outs[0])
    with pytest.raises(StructureError, match="no instruction"):
        edit.delete(t, t.inputs[0])
    longer, late = edit.insert_after(t, total.outs[0], exp, t.inputs[0])
    with pytest.raises(StructureError, match="multiply would read the new value before exp computes it"):
        edit.replace_value(longer, e.outs[0], late)


def test_notes_are_kept() -> None:
    t = tape()
    (s,) = edit.find(t, op="sin")
    noted = edit.annotate(edit.annotate(t, {s.outs[0]: "wave"}), {t.inputs[0]: "x"})
    assert dict(noted.metadata) == {s.outs[0]: "wave", t.inputs[0]: "x"}
    assert t.metadata == {}


def test_play_gives_every_value() -> None:
    t = tape()
    values = edit.play(t, X, X)
    (s,) = edit.find(t, op="sin")
    np.testing.assert_array_equal(values[s.outs[0]], np.sin(X))
    np.testing.assert_allclose(values[t.outputs[0]], np.sum(np.sin(X) * np.exp(X)))
    assert sum_ is wg.ops.OPS["sum"]
    with pytest.raises(ValueError):
        edit.play(t, X)


def test_play_gives_outputs_that_are_literals_and_what_was_captured() -> None:
    array = np.arange(3.0)
    t = wg.trace(lambda x: (x + array, 2.0))(X)
    values = edit.play(t, X)
    np.testing.assert_array_equal(values[t.outputs[0]], X + array)
    assert values[t.outputs[1]] == 2


def test_an_error_while_playing_has_a_note_of_the_line() -> None:
    t = wg.trace(np.linalg.inv)(np.eye(2))
    line = Source("model.py", 12, "f")
    t = t.replace(instrs=tuple([i._replace(source=line) for i in t.instrs]))
    with pytest.raises(np.linalg.LinAlgError) as caught:
        edit.play(t, np.zeros((2, 2)))
    assert [note.split(",")[0] for note in caught.value.__notes__] == ["  at     model.py:12"]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: wg.cond(x[0] > 0.5, np.sin, np.cos, x),
        lambda x: wg.switch(7, [np.sin, np.cos], x),
        lambda x: wg.scan(lambda c, v: (c * v + 1, (np.maximum(c, v), c)), 0.0, x),
        lambda x: wg.scan(lambda c, v: (c * v + 1, c), 0.0, x, reverse=True),
        lambda x: wg.scan(lambda c, v: (c + v, v), 0.0, x[:0]),
        lambda x: wg.while_loop(lambda c: c < 9, lambda c: c * 2 + x[1], x[2]),
        lambda x: wg.fori_loop(0, 3, lambda i, c: wg.cond(c[0] > 0.4, np.sin, np.cos, c), x),
        lambda x: wg.checkpoint(lambda x: np.sin(x) * x)(x),
        lambda x: wg.broadcast(lambda a, b: np.where(a > b, np.sin(a), b), x, 0.5),
        wg.grad(lambda x: np.sum(wg.scan(lambda c, v: (c * v + 1, c), 0.0, x)[1])),
        wg.grad(lambda x: wg.while_loop(lambda c: c < 9, lambda c: c * 2 + x[1], x[2])),
        wg.hessian(lambda x: wg.while_loop(lambda c: c < 9, lambda c: c * 2 + x[1], x[2])),
    ],
)
def test_unroll_leaves_neither_loops_nor_branches(f: Any) -> None:
    t = wg.trace(f)(X)
    flat = wg.check(edit.unroll(t, X))
    assert not any(tapes_in(p) for i in flat.instrs for p in i.params.values())
    given, wanted = edit.play(flat, X), edit.play(t, X)
    for a, b in zip(flat.outputs, t.outputs, strict=True):
        np.testing.assert_array_equal(given[a], wanted[b])
    with pytest.raises(ValueError):
        edit.unroll(t)


def test_what_decided_stays_as_a_guard_and_lines_are_kept() -> None:
    t = wg.trace(lambda x: wg.while_loop(lambda c: c < 9, lambda c: c * 2 + x[1], x[2]))(X)
    flat = edit.unroll(t, X)
    guards = edit.find(flat, op="guard")
    assert [g.params["expected"].value for g in guards] == [True] * (len(guards) - 1) + [False]
    assert all(i.source is not None for i in flat.instrs)


def test_margins_are_zero_where_a_step_switches() -> None:
    t = wg.trace(lambda x: np.sum(np.maximum(np.abs(x), np.round(2 * x))))(X)
    longer, found = edit.margins(t, t.instrs)
    wg.check(longer)
    values = edit.play(longer, X)
    assert [i.op.name for i, _ in found] == ["absolute", "rint", "maximum"]
    for (_, margin), wanted in zip(found, [X, 2 * X - np.floor(2 * X) - 0.5, np.abs(X) - np.round(2 * X)], strict=True):
        np.testing.assert_allclose(values[margin], wanted)
    assert edit.margins(t, edit.find(t, op="sum"))[1] == []


def test_whole_numbers_have_no_margins() -> None:
    n = np.arange(3)
    t = wg.trace(lambda n: np.max(np.maximum(n, 1)) + np.sort(n)[0] + np.argmax(n) + (n // 2)[0])(n)
    assert edit.margins(t, t.instrs)[1] == []


def test_unrolled_steps_print_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    def printing(x: Any) -> Any:
        def body(i: Any, c: Any) -> Any:
            wg.print("c is {}", c)
            return np.sin(c)

        return wg.fori_loop(0, 2, body, x)

    tape = wg.trace(printing)(1.0)
    capsys.readouterr()
    unrolled = wg.edit.unroll(tape, 1.0)
    assert [i.op.name for i in unrolled.instrs].count("sin") == 2
    assert all(not i.op.shows for i in unrolled.instrs) and capsys.readouterr().out == ""
