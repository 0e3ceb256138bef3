import gc
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from tests.runtime.native.executables import F4, F8, I8, TWICE_PLUS_ONE, Miss, executable, kernel, leaks
from tests.runtime.native_kernels import address
from wengert.runtime import _native
from wengert.runtime._native import Bound


@pytest.fixture(autouse=True)
def _guard_miss():
    _native.setup(guard_miss=lambda position, seen: Miss(position, seen))


def test_each_call_reads_and_writes_the_same_arrays():
    x, out = np.arange(8.0), np.empty(8)
    program = executable(steps=TWICE_PLUS_ONE)
    call = program.bind([x], None, [out])
    assert isinstance(call, Bound)
    assert call() is None
    assert np.array_equal(out, 2 * x + 1)
    x[:] = 5
    call()
    assert np.array_equal(out, [11] * 8)
    assert program.runs == 2
    assert call.executable is program
    assert call.outputs[0] is out


def test_result_and_fresh_outputs():
    marker = object()
    call = executable(steps=TWICE_PLUS_ONE).bind([np.ones(8)], result=marker)
    assert call() is marker
    assert np.array_equal(call.outputs[0], [3] * 8)


def test_values_of_shape_nothing():
    program = executable(
        inputs=[(F8, (), None), (F8, (), None)],
        outputs=[(F8, ()), (F8, ())],
        steps=[kernel("double", (1, 0), (3, 0), extent=1), kernel("double", (2, 0), (4, 0), extent=1)],
    )
    x = np.array(2.0)
    first, second = np.empty(()), np.empty(())
    call = program.bind([x, 3.0], out=[first, second])
    call()
    assert (first, second) == (4, 6)
    x[()] = 10  # an array is read where it lies
    call()
    assert (first, second) == (20, 6)


def test_captures():
    capture = np.arange(8.0)
    program = executable(captures=[capture], steps=[kernel("double", (2, 0), (3, 0))])
    own, other = program.bind([np.zeros(8)]), program.bind([np.zeros(8)], [np.ones(8)])
    own()
    other()
    assert np.array_equal(own.outputs[0], 2 * capture)
    assert np.array_equal(other.outputs[0], [2] * 8)


def test_guard():
    n = np.array(3)
    program = executable(inputs=[(I8, (), None)], outputs=[], steps=[("guard", (1, 0), 8, np.int64(3).tobytes(), 4)])
    call = program.bind([n])
    call()
    n[()] = 9
    with pytest.raises(Miss) as miss:
        call()
    assert miss.value.args == (4, np.int64(9).tobytes())
    n[()] = 3
    call()


@pytest.mark.parametrize(
    "x",
    [np.arange(16.0)[::2], np.zeros(7), np.zeros(8, F4), [0.0] * 8, np.frombuffer(b"." * 65, np.uint8)[1:].view(F8)],
)
def test_nothing_is_copied_behind_the_callers_back(x):
    with pytest.raises((ValueError, TypeError), match="input 0"):
        executable(steps=TWICE_PLUS_ONE).bind([x])


def test_outputs_are_checked():
    program = executable(steps=TWICE_PLUS_ONE)
    x = np.zeros(16)
    for out in ([np.zeros(7)], [np.zeros(8, F4)], [x[1:9]], [None], []):
        with pytest.raises((ValueError, TypeError)):
            program.bind([x[:8]], None, out)


def test_it_is_called_without_arguments():
    call = executable(steps=TWICE_PLUS_ONE).bind([np.zeros(8)])
    with pytest.raises(TypeError):
        call(1)
    with pytest.raises(TypeError):
        call(out=None)
    with pytest.raises(TypeError):
        Bound()


def test_its_lists_may_change():
    inputs, out = [np.ones(8)], [np.empty(8)]
    call = executable(steps=TWICE_PLUS_ONE).bind(inputs, None, out)
    inputs.clear()
    result = out.pop()
    gc.collect()
    call()
    assert np.array_equal(result, [3] * 8)


def test_a_call_inside_a_call():
    calls: list[Any] = []

    def function(x):
        if len(calls) < 2:
            calls.append(None)
            calls[0]()
        return x

    steps = [
        kernel("double", (1, 0), (0, 0)),
        ("callback", function, [((0, 0), F8, (8,), None, False)], [((2, 0), F8, (8,), None)]),
    ]
    call = executable(steps=steps).bind([np.ones(8)])
    calls.append(call)
    call()
    assert np.array_equal(call.outputs[0], [2] * 8)


def test_a_guard_miss_inside_a_call():
    n = np.array(3)
    misses: list[Any] = []

    def function():
        if not misses:
            misses.append(None)
            n[()] = 4
            with pytest.raises(Miss) as miss:
                call()
            misses.append(miss.value.args)

    steps = [("guard", (1, 0), 8, np.int64(3).tobytes(), 1), ("callback", function, [], [])]
    call = executable(inputs=[(I8, (), None)], outputs=[], steps=steps).bind([n])
    call()
    assert misses[1] == (1, np.int64(4).tobytes())


@pytest.mark.parametrize("is_long", [False, True])
def test_eight_threads(is_long):
    x = np.arange(8.0)
    steps = [*TWICE_PLUS_ONE[:1], *[kernel("increment", (0, 0), (0, 0))] * 20, kernel("increment", (0, 0), (2, 0))]
    program = executable(steps=steps, is_long=is_long)
    call = program.bind([x])
    wrong = []

    def work():
        for _ in range(500):
            call()
            if not np.array_equal(call.outputs[0], 2 * x + 21):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert program.runs == 8 * 500


def test_a_view_kept_by_its_callback_stays():
    kept: list[Any] = []
    x = np.ones(8)
    steps = [
        kernel("double", (1, 0), (0, 0)),
        ("callback", kept.append, [((0, 0), F8, (8,), None, False)], []),
        kernel("increment", (0, 0), (2, 0)),
    ]
    call = executable(steps=steps).bind([x])
    for k in range(5):
        x[:] = k
        call()
        assert np.array_equal(call.outputs[0], [2 * k + 1] * 8)
    assert [v[0] for v in kept] == [0, 2, 4, 6, 8]


@pytest.mark.deep("thousands of calls: 4 s")
def test_references():
    x, out = np.arange(8.0), np.empty(8)
    program = executable(steps=TWICE_PLUS_ONE)
    marker = object()
    before = [sys.getrefcount(v) for v in (x, out, program, marker)]
    call = program.bind([x], None, [out], marker)
    assert leaks(call) < 2000
    during = [sys.getrefcount(v) for v in (x, out, program, marker)]
    assert during == [n + 1 for n in before]
    del call
    assert [sys.getrefcount(v) for v in (x, out, program, marker)] == before


def test_a_cycle_through_the_result_is_collected():
    class Holder:
        pass

    holder = Holder()
    holder.call = executable(steps=TWICE_PLUS_ONE).bind([np.zeros(8)], result=holder)
    alive = weakref.ref(holder)
    del holder
    gc.collect()
    assert alive() is None


def test_failure_of_a_kernel():
    call = executable(steps=[("kernel", address("fail"), [], [], 1, 0, None)]).bind([np.zeros(8)])
    for _ in range(2):
        with pytest.raises(RuntimeError, match="status 7"):
            call()
