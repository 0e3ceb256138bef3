"""Programs: in place where nobody looks, results that share no memory, refusals before work."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import DTypeError, GuardError, ShapeError, StructureError


def test_results_share_memory_with_nothing() -> None:
    c = np.arange(3.0)
    x = np.ones(3)
    a, b, captured, view = wg.jit(lambda x: (x, x, c, c[1:]))(x)
    results = [a, b, captured, view]
    for k, one in enumerate(results):
        assert one.flags.writeable
        assert not any(np.shares_memory(one, other) for other in [x, c, *results[:k]])


def test_writes_are_in_place_only_when_the_old_value_is_dead() -> None:
    def f(x: Any) -> Any:
        y = np.array(x)
        old = y.copy()
        y[0] = 10.0
        return old, y

    old, new = wg.jit(f)(np.ones(3))
    np.testing.assert_array_equal(old, [1, 1, 1])
    np.testing.assert_array_equal(new, [10, 1, 1])


def test_a_view_keeps_its_memory_from_being_overwritten() -> None:
    def f(x: Any) -> Any:
        y = x * 2.0
        tail = y[1:] + 0.0
        z = np.array(y)
        z[1] = 5.0
        return tail, z, y

    x = np.ones(3)
    for got, wanted in zip(wg.jit(f)(x), f(x), strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_a_tape_is_refused_other_types_and_structures() -> None:
    program = wg.compile(wg.trace(lambda p, flag=True: p["a"] * 2 if flag else p["a"])({"a": np.ones(3)}, True))
    np.testing.assert_array_equal(program({"a": np.arange(3.0)}, True), [0, 2, 4])
    with pytest.raises(ShapeError, match=r'\[0\]\["a"\]: expected float64\[3\], got float64\[4\]'):
        program({"a": np.ones(4)}, True)
    with pytest.raises(DTypeError, match="float32"):
        program({"a": np.ones(3, np.float32)}, True)
    with pytest.raises(StructureError):
        program([np.ones(3)], True)
    with pytest.raises(StructureError, match="expected True, got False"):
        program({"a": np.ones(3)}, False)


def test_a_tape_on_another_branch_raises_with_the_line() -> None:
    program = wg.compile(wg.trace(lambda x: x if x > 0 else -x)(2.0))
    assert program(3.0) == 3.0
    with pytest.raises(GuardError, match=r"bool was True, and here it is False(.|\n)*test_program\.py"):
        program(-3.0)


def test_an_argument_behind_one_that_is_not_traced_is_named() -> None:
    program = wg.compile(wg.trace(lambda name, x, flag, y: x * y)("mean", np.ones(3), None, np.ones(3)))
    with pytest.raises(ShapeError, match=r"argument\[3\]: expected float64\[3\], got float64\[4\]"):
        program("mean", np.ones(3), None, np.ones(4))
    with pytest.raises(ShapeError, match=r"argument\[1\]: expected float64\[3\], got float64\[4\]"):
        program("mean", np.ones(4), None, np.ones(3))


def test_out_is_written_and_checked() -> None:
    f = wg.jit(lambda x: {"y": x * 2})
    out = {"y": np.zeros(3)}
    assert f(np.ones(3), out=out) is out
    np.testing.assert_array_equal(out["y"], [2, 2, 2])
    with pytest.raises(StructureError, match=r'out\["y"\]'):
        f(np.ones(3), out={"y": np.zeros(4)})


def test_threads_run_one_program_at_once() -> None:
    gradient = wg.jit(wg.grad(lambda x: np.sum(np.sin(x) * np.cumsum(x))))
    xs = [np.random.default_rng(k).standard_normal(50) for k in range(8)]
    wanted = [wg.grad(lambda x: np.sum(np.sin(x) * np.cumsum(x)))(x) for x in xs]
    wrong: list[int] = []

    def work(k: int) -> None:
        for _ in range(50):
            if not np.array_equal(gradient(xs[k]), wanted[k]):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_a_cached_program_keeps_no_data_alive() -> None:
    import gc
    import weakref

    class Owned(np.ndarray):
        pass

    data = np.ones(100_000).view(Owned)
    alive = weakref.ref(data)
    wg.grad(lambda x, data=data: np.sum(x * data))(np.ones(100_000))
    del data
    gc.collect()
    assert alive() is None


def test_a_program_refuses_what_is_traced() -> None:
    program = wg.jit(lambda x: x * 2).program(np.ones(3))
    with pytest.raises(wg.errors.ConcretizationError, match="arrays alone"):
        wg.grad(lambda x: np.sum(program(x)))(np.ones(3))


@pytest.mark.parametrize("is_view", [False, True])
def test_compile_did_not_notice_that_a_constant_was_made_writable(is_view: bool) -> None:
    """What depends on a read-only array alone is computed once; written later, it would be another number."""
    owner = np.ones(3)
    owner.flags.writeable = False
    c = owner[::-1] if is_view else owner
    x = np.arange(3.0)
    program = wg.compile(wg.trace(lambda x: x * np.sin(c))(x))
    np.testing.assert_array_equal(program(x), x * np.sin(c))
    owner.flags.writeable = True
    for call in (program, program.bind):
        with pytest.raises(wg.errors.GuardError, match="c was read-only when this was compiled"):
            call(x)
    owner.flags.writeable = False
    np.testing.assert_array_equal(program(x), x * np.sin(c))


def test_an_array_that_was_writable_is_read_at_every_call() -> None:
    c, x = np.ones(3), np.arange(3.0)
    program = wg.compile(wg.trace(lambda x: x * np.sin(c))(x))
    for _ in range(2):
        c += 1
        np.testing.assert_allclose(program(x), x * np.sin(c), rtol=1e-15)
    c.flags.writeable = False
    np.testing.assert_allclose(program(x), x * np.sin(c), rtol=1e-15)
    c.flags.writeable = True
    np.testing.assert_allclose(program(x), x * np.sin(c), rtol=1e-15)


@pytest.mark.machine_code("the bytes of a planned arena are compared")
def test_the_memory_of_bodies_is_counted() -> None:
    """A loop with checkpoints keeps few states in the arena, and the steps between two of them in its body's."""
    n, every = 1000, 10

    def loss(x: Any) -> Any:
        end, _ = wg.scan(lambda x, _: (np.sin(x) * np.roll(x, 1), None), x, None, length=100, checkpoint=every)
        return np.sum(end)

    program = wg.jit(wg.grad(loss)).program(np.ones(n))
    assert program.arena_bytes < 20 * 8 * n
    assert program.peak_bytes >= program.arena_bytes + every * 8 * n
    straight = wg.jit(wg.grad(lambda x: np.sum(np.cumsum(np.sin(x)) ** 2))).program(np.ones(n))
    assert straight.peak_bytes == straight.arena_bytes
