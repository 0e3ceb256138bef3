"""Executables count the runs and steps that they time, in loops and branches too, and give the same results."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from tests.runtime.native.executables import F8, I8, TWICE_PLUS_ONE, Miss, N, executable, kernel, store
from wengert.runtime import _native
from wengert.runtime._native import Executable

ONES = np.ones(N)


def rows(timed: Executable) -> Any:
    times = timed.times()
    assert times is not None
    return np.frombuffer(times[1], np.uint64).reshape(timed.n_steps + 1, -1)


def test_each_step_is_counted_in_the_runs_that_are_timed() -> None:
    program = executable(steps=TWICE_PLUS_ONE)
    assert program.times() is None and program.n_steps == 2
    program.start_timing()
    for _ in range(100):
        assert (program.run([ONES])[0] == 3).all()
    program.stop_timing()
    program.run([ONES])  # not any more
    runs, _, events = program.times() or (0, b"", b"")
    table = rows(program)
    timed = int(table[-1, 0])
    assert runs == 100 and 10 <= timed <= 98  # the first two are left out
    assert (table[:, 0] == timed).all()
    assert table[0, 1] + table[1, 1] <= table[2, 1] * 2 + 1000
    assert (table[:, 2] <= table[:, 1]).all() and (table[:, 3] >= 1).all() and (table[:, 3] <= 64).all()
    begin, end, step, thread = np.frombuffer(events, np.uint64).reshape(-1, 4).T
    assert list(step[:6]) == [0, 1, 2, 0, 1, 2] and (begin <= end).all()
    assert set(thread.tolist()) == {threading.get_native_id()}


def test_two_runs_are_kept_though_they_are_cold() -> None:
    program = executable(steps=TWICE_PLUS_ONE)
    program.start_timing()
    program.run([ONES])
    assert rows(program)[:, 0].tolist() == [1, 1, 1]
    program.run([ONES])
    assert rows(program)[:, 0].tolist() == [2, 2, 2]
    program.run([ONES])
    assert rows(program)[:, 0].tolist() == [1, 1, 1]


def test_timing_begins_anew() -> None:
    program = executable(steps=TWICE_PLUS_ONE)
    program.start_timing()
    with pytest.raises(RuntimeError, match="timed already"):
        program.start_timing()
    program.run([ONES])
    program.stop_timing()
    program.start_timing()
    assert (program.times() or (1,))[0] == 0 and not rows(program)[:, 0].any()


def test_steps_of_branches_are_counted_where_they_are_taken() -> None:
    branches = [[kernel("double", (1, 0), (3, 0))], [kernel("increment", (1, 0), (3, 0))]]
    program = executable(
        inputs=[(F8, (N,), None), (I8, (), None)],
        steps=[kernel("double", (1, 0), (0, 0)), ("switch", (2, 0), branches)],
    )
    assert program.n_steps == 4
    program.start_timing()
    for k in (0, 1, 1, 1):
        program.run([ONES, np.int64(k)])
    assert rows(program)[:, 0].tolist() == [2, 0, 2, 2, 2]  # double, both branches, the switch, the run


def test_a_run_that_fails_is_counted_as_far_as_it_went() -> None:
    def fails(x: Any) -> Any:
        raise Miss

    program = executable(steps=[*TWICE_PLUS_ONE, ("callback", fails, [((2, 0), F8, (N,), None, True)], [])])
    program.start_timing()
    with pytest.raises(Miss):
        program.run([ONES])
    assert rows(program)[:, 0].tolist() == [1, 1, 0, 1]


@pytest.mark.parametrize("is_long", [False, True])
def test_threads_time_one_program(is_long: bool) -> None:
    program = executable(steps=TWICE_PLUS_ONE, is_long=is_long)
    program.start_timing()
    wrong: list[Any] = []

    def call() -> None:
        for _ in range(200):
            if not (program.run([ONES])[0] == 3).all():
                wrong.append(1)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    program.stop_timing()
    runs, *_ = program.times() or (0,)
    table = rows(program)
    assert not wrong and runs == 800 and (table[:, 0] == table[-1, 0]).all() and table[-1, 0] >= 1


def test_the_clock_goes_on() -> None:
    (ticks, ns, _), (later, later_ns, _) = _native.now(), _native.now()
    assert later >= ticks and later_ns >= ns


def test_a_store_is_a_step() -> None:
    program = executable(steps=[store((0, 0), 3), *TWICE_PLUS_ONE])
    assert program.n_steps == 3
