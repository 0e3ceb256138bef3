"""A recorded program that runs again is never wrong: branches, lengths, the user's rules, random programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.acceptance.differences import assert_gradient
from wengert import config
from wengert.errors import GuardError, ShapeError
from wengert.runtime import execute


def kinked(x: Any) -> Any:
    return x[0] if x.sum() > 0 else -(x[0] ** 3)


def test_a_replay_across_a_branch_is_a_guard_miss_and_then_a_hit() -> None:
    """Recorded where x.sum() > 0 and called where it is not: the gradient of the other branch, one miss, one trace."""
    gradient = wg.jit(wg.grad(kinked))
    right, left = np.array([1.0, 2.0]), np.array([-1.5, -2.0])
    np.testing.assert_array_equal(gradient(right), [1.0, 0.0])
    assert gradient.stats()["guard_misses"] == 0

    np.testing.assert_array_equal(gradient(left), wg.grad(kinked)(left))
    np.testing.assert_array_equal(gradient(left), [-6.75, 0.0])
    assert gradient.stats()["guard_misses"] == 1
    assert gradient.stats()["traces"] == 2

    gradient(left)  # the path that was right last time is tried first
    assert gradient.stats()["guard_misses"] == 1
    assert gradient.stats()["traces"] == 2

    np.testing.assert_array_equal(gradient(right), [1.0, 0.0])  # back: a miss that ends on the sibling
    assert gradient.stats()["guard_misses"] == 2
    assert gradient.stats()["sibling_hits"] == 1
    assert gradient.stats()["traces"] == 2


def test_a_tape_of_one_path_refuses_the_other() -> None:
    """wg.compile runs one path; off it, it raises and names the branch and its line."""
    program = wg.compile(wg.trace(wg.grad(kinked))(np.array([1.0, 2.0])))
    with pytest.raises(GuardError, match=r"bool was True(.|\n)*test_replay\.py"):
        program(np.array([-1.0, -2.0]))


def test_a_branch_on_a_nan_is_a_branch_like_any_other() -> None:
    """NaN compares false: the path of False is taken, and a number that compares true leaves it again."""
    gradient = wg.jit(wg.grad(lambda x: x * 2 if x > 0 else x * 3))
    assert gradient(np.nan) == 3.0
    assert gradient(1.0) == 2.0
    assert gradient(np.nan) == 3.0


def test_a_custom_rule_reads_the_new_values_on_replay() -> None:
    """sin(x) + cos(x) with the user's pullback for cos, recorded at π/6: cos(x) - sin(x) at π/6 + 0.1 too."""

    @wg.primitive
    def cosine(x: Any) -> Any:
        return np.cos(x)

    @cosine.def_pullback
    def _(ct: Any, y: Any, x: Any) -> Any:
        return (-ct * np.sin(x),)

    def f(x: Any) -> Any:
        return np.sin(x) + cosine(x)

    x = np.pi / 6
    gradient = wg.jit(wg.grad(f))
    program = wg.compile(wg.trace(wg.grad(f))(x))
    for at in (x, x + 0.1, x - 2.0):
        assert gradient(at) == pytest.approx(np.cos(at) - np.sin(at), abs=1e-14)
        assert program(at) == pytest.approx(np.cos(at) - np.sin(at), abs=1e-14)
        assert wg.grad(f)(at) == pytest.approx(np.cos(at) - np.sin(at), abs=1e-14)
    assert gradient.stats()["traces"] == 1


def test_a_tape_for_five_numbers_refuses_three() -> None:
    """A program is for the shapes it was recorded with; jit records another one instead."""
    f = wg.grad(lambda x: np.sum(x**2) / x.size)
    program = wg.compile(wg.trace(f)(np.ones(5)))
    with pytest.raises(ShapeError, match=r"expected float64\[5\], got float64\[3\]"):
        program(np.ones(3))
    jitted = wg.jit(f)
    jitted(np.ones(5))
    got = jitted(np.array([1.0, 2.0, 3.0]))
    assert got.shape == (3,)
    np.testing.assert_allclose(got, np.array([2.0, 4.0, 6.0]) / 3)
    assert jitted.stats()["traces"] == 2


def test_a_float32_argument_is_another_program() -> None:
    """Same shape, other dtype: recorded again, in the precision of the argument."""
    jitted = wg.jit(wg.grad(lambda x: np.sum(np.sin(x))))
    assert jitted(np.ones(3)).dtype == np.float64
    assert jitted(np.ones(3, np.float32)).dtype == np.float32


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_a_jacobian_is_one_batched_pass_however_many_inputs(mode: str) -> None:
    """f: R⁶ → R³ of three arguments: the function is recorded once, each pullback once, with all seeds as one array."""
    rng = np.random.default_rng(0)
    W, x, b = rng.standard_normal((3, 6)), rng.standard_normal(6), rng.standard_normal(3)

    def f(x: Any, b: Any, s: Any) -> Any:
        return np.tanh(W @ x + b) * s

    args = (x, b, 0.7)
    jacobian = wg.jacobian(f, argnums=(0, 1, 2), mode=mode)
    tape = wg.compile(wg.trace(jacobian)(*args)).tape
    names = [instr.op.name for instr in tape.instrs]
    assert names.count("tanh") == 1
    assert names.count("contract") <= 3  # W @ x, and one with every seed at once
    blocks = jacobian(*args)
    y = np.tanh(W @ x + b)
    inner = 0.7 * (1 - y**2)
    np.testing.assert_allclose(blocks[0], inner[:, None] * W, rtol=1e-12)
    np.testing.assert_allclose(blocks[1], np.diag(inner), rtol=1e-12)
    np.testing.assert_allclose(blocks[2], y, rtol=1e-12)


def test_the_number_of_passes_does_not_grow_with_outputs_or_inputs() -> None:
    """The Jacobian's tape for 2 inputs and 3 outputs is as long as that for 20 and 30."""

    def f(W: Any, x: Any) -> Any:
        return np.tanh(W @ x)

    lengths = {
        len(wg.compile(wg.trace(wg.jacobian(f, argnums=(0, 1)))(np.ones((k, m)), np.ones(m))).tape)
        for k, m in [(3, 2), (30, 20)]
    }
    assert len(lengths) == 1


# ----------------------------------------------------------------------------------- other lengths, branches and counts


def repeated(x: Any, n: int) -> Any:
    total = 0.0
    for k in range(n):
        total = total + np.sum(x ** (k + 1))
    return total


def test_another_length_branch_or_loop_count_is_another_program() -> None:
    """Same types throughout; each call has the gradient of what its own values make of the function."""
    gradient = wg.jit(wg.grad(repeated))
    rng = np.random.default_rng(1)
    for n in (1, 3, 2, 3, 1, 5):
        for size in (2, 4):
            x = rng.standard_normal(size)
            assert_gradient(gradient(x, n), lambda x, n=n: repeated(x, n), x)
    stats = gradient.stats()
    assert stats["calls"] == 12
    assert stats["traces"] == 11  # 2 lengths, 4 counts; tries of one for any count
    assert stats["specialisations"] == 11
    assert stats["sibling_hits"] > 0
    assert stats["guard_misses"] >= stats["sibling_hits"]


def test_a_loop_that_ends_on_a_value_takes_as_many_steps_as_each_call_needs() -> None:
    """Newton's iteration stops when it has converged; replayed where it needs more steps, it takes more steps."""

    def root(a: Any) -> Any:
        x = a
        while abs(x * x - a) > 1e-12 * a:
            x = (x + a / x) / 2
        return x

    gradient = wg.jit(wg.grad(root))
    for a in (4.0, 2.0, 1e6, 1e-6, 2.0, 1.0, 9.0):
        assert gradient(a) == wg.grad(root)(a)
        if a != 1.0:  # there the loop is never entered, and the derivative is that of x = a
            assert gradient(a) == pytest.approx(0.5 / np.sqrt(a), rel=1e-6)


def test_programs_of_a_jitted_function_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The least recently used signature is forgotten, and recorded again when it comes back."""
    monkeypatch.setattr(config, "max_programs", 4)
    gradient = wg.jit(wg.grad(lambda x: np.sum(x**2)))
    for size in range(1, 8):
        gradient(np.ones(size))
        gradient(np.ones(1))  # kept in use
    assert gradient.stats()["traces"] == 7
    assert gradient.stats()["specialisations"] <= 4
    gradient(np.ones(1))
    assert gradient.stats()["traces"] == 7
    np.testing.assert_array_equal(gradient(np.ones(2)), [2.0, 2.0])
    assert gradient.stats()["traces"] == 8


def test_programs_of_unjitted_calls_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many structures have been seen, at most config.max_programs are kept."""
    monkeypatch.setattr(config, "max_programs", 5)
    for size in range(1, 20):
        wg.grad(lambda x: np.sum(np.cos(x)))(np.ones(size))
    assert len(execute._programs) <= 5


# --------------------------------------------------------------------------------------------------- generated programs


class Writer:
    """Writes the source of a random function ``f(x, y, n)``: arithmetic, branches on values, loops with counts."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.lines: list[str] = []

    def pick(self, *choices: str) -> str:
        return choices[self.rng.integers(len(choices))]

    def term(self) -> str:
        v, w = self.pick("x", "y", "a", "b"), self.pick("x", "y", "a", "b")
        return self.pick(
            f"np.sin({v})", f"{v} * {w}", f"{v} + {w}", f"{v} - 0.5 * {w}", f"np.tanh({v}) * {w}",
            f"{v} / (1 + {w} * {w})", f"np.maximum({v}, {w})", f"abs({v})", f"-{v}", f"np.exp(-{v} * {v})",
            f"c[n % 3] * {v}", f"z[k % 3] + {v}",
        )  # fmt: skip

    def condition(self) -> str:
        v, w = self.pick("x", "y", "a", "b"), self.pick("x", "y", "a", "b")
        return self.pick(
            f"{v} > {w}", f"{v} < 0.3", f"n > {self.rng.integers(4)}", f"{v} * {w} > 0 and {v} < 1", f"not {v} >= 0"
        )  # fmt: skip

    def block(self, indent: str, depth: int) -> None:
        for _ in range(self.rng.integers(1, 4)):
            simple = ("assign", "assign", "write")
            kind = self.pick(*simple, "if", "for", "while") if depth else self.pick(*simple)
            if kind == "assign":
                self.lines.append(f"{indent}{self.pick('a', 'b')} = {self.term()}")
            elif kind == "write":
                self.lines.append(f"{indent}z[{self.rng.integers(3)}] {self.pick('=', '+=')} {self.term()}")
            elif kind == "if":
                self.lines.append(f"{indent}if {self.condition()}:")
                self.block(indent + "    ", depth - 1)
                if self.rng.random() < 0.7:
                    self.lines.append(f"{indent}else:")
                    self.block(indent + "    ", depth - 1)
            elif kind == "for":
                self.lines.append(f"{indent}for k in range({self.pick('n', '2', 'n % 2 + 1')}):")
                self.block(indent + "    ", depth - 1)
            else:
                turns = f"turns{depth}"  # a counter that no inner loop resets: the condition alone may hold for ever
                self.lines.append(f"{indent}{turns} = 0")
                self.lines.append(f"{indent}while {self.condition()} and {turns} < 3:")
                self.block(indent + "    ", depth - 1)
                self.lines.append(f"{indent}    {turns} += 1")

    def function(self) -> Any:
        self.lines = ["def f(x, y, n):", "    a, b, k, z = x, y, 0, np.zeros(3)"]
        self.block("    ", 2)
        self.lines.append("    return a + 0.5 * b + np.sum(z * z)")
        namespace: dict[str, Any] = {"np": np, "c": np.array([0.3, -1.2, 2.0])}
        exec("\n".join(self.lines), namespace)
        return namespace["f"]


@pytest.mark.sampled(10, "random programs at many arguments")
@pytest.mark.parametrize("group", range(10))
def test_generated_programs_replay_as_they_record(group: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """200 random programs with branches and loops, each at many random inputs: replayed values and gradients equal
    freshly recorded ones bit for bit, the value is NumPy's, and never a stale path. With loops rolled up sums have
    another order, and all else is equal."""
    monkeypatch.setattr(config, "max_paths", 100_000)
    monkeypatch.setattr(config, "check", False)  # the tapes are thousands; other tests check them
    mismatches = []
    for seed in range(20 * group, 20 * group + 20):
        writer = Writer(seed)
        f = writer.function()
        fresh = wg.value_and_grad(f, (0, 1))
        replay, rolled = wg.jit(fresh, reroll=False), wg.jit(fresh)
        rng = np.random.default_rng(seed)
        for _ in range(40):
            x, y, n = float(rng.normal()), float(rng.normal()), int(rng.integers(5))
            with np.errstate(all="ignore"):
                got, want, value = replay(x, y, n), fresh(x, y, n), f(x, y, n)
                again = rolled(x, y, n)
            same = np.array_equal([got[0], *got[1]], [want[0], *want[1]], equal_nan=True) and np.allclose(
                got[0], value, rtol=1e-13, equal_nan=True
            )
            same = same and np.allclose([again[0], *again[1]], [want[0], *want[1]], rtol=1e-12, equal_nan=True)
            if not same:
                mismatches.append(("\n".join(writer.lines), (x, y, n), got, want, value))
    assert not mismatches, f"{len(mismatches)} mismatches; the first:\n{mismatches[0][0]}\n{mismatches[0][1:]}"
