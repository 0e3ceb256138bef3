import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from tests.runtime.native.executables import F8, executable, kernel
from tests.runtime.native_kernels import address, python_kernel
from wengert.runtime._native import get_threads, set_threads

N = 100_000


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = get_threads()
    yield
    set_threads(before)


def program(grain=1024, is_long=False, name="double"):
    steps = [kernel(name, (1, 0), (2, 0), extent=N, grain=grain)]
    return executable(inputs=[(F8, (N,), None)], outputs=[(F8, (N,))], steps=steps, is_long=is_long)


def test_at_least_one():
    assert get_threads() >= 1
    set_threads(3)
    assert get_threads() == 3
    for n in (0, -1):
        with pytest.raises(ValueError, match="at least 1"):
            set_threads(n)
    assert get_threads() == 3


@pytest.mark.parametrize("is_long", [False, True])
@pytest.mark.parametrize("grain", [0, 1, 7, 1024, N // 2, N])
def test_equal_bits_for_any_number(grain, is_long):
    x = np.random.default_rng(0).normal(size=N)
    for n in (1, 2, 3, 8):
        set_threads(n)
        assert program(grain, is_long).run([x])[0].tobytes() == (2 * x).tobytes()


def test_parts_are_multiples_of_the_grain_and_cover_all():
    parts = []
    lock = threading.Lock()

    def note(pointers, sizes, begin, end):
        with lock:
            parts.append((begin, end))
        return 0

    steps = [("kernel", python_kernel(note), [], [], 1000, 64, None)]
    for n in (1, 2, 5):
        set_threads(n)
        parts.clear()
        executable(inputs=[], outputs=[], steps=steps, is_long=True).run([])
        parts.sort()
        assert parts[0][0] == 0
        assert parts[-1][1] == 1000
        assert all(b == c and b % 64 == 0 for (_, b), (c, _) in zip(parts, parts[1:], strict=False))
        assert n == 1 or len(parts) > 1


def test_what_is_too_small_is_not_split():
    parts = []

    def note(pointers, sizes, begin, end):
        parts.append((begin, end))
        return 0

    set_threads(4)
    for grain in (0, 501):
        steps = [("kernel", python_kernel(note), [], [], 1000, grain, None)]
        executable(inputs=[], outputs=[], steps=steps).run([])
    assert parts == [(0, 1000)] * 2


def test_a_part_that_fails():
    set_threads(2)
    x = np.ones(N)
    x[70_000] = -1
    with pytest.raises(RuntimeError, match="status 3"):
        program(name="refuse_negative").run([x])
    assert program(name="refuse_negative").run([np.abs(x)])[0].sum() == N


def test_several_runs_at_once():
    set_threads(2)
    shared = program(is_long=True)
    wrong = []

    def work(k):
        for i in range(30):
            x = np.full(N, float(k + i))
            if not (shared.run([x])[0] == 2 * x).all():
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # a fork beside threads, which is what is tested
def test_a_forked_child_has_threads_of_its_own():
    set_threads(2)
    x = np.ones(N)
    program().run([x])
    child = os.fork()
    if child == 0:
        is_right = bool((program().run([x])[0] == 2).all())
        os._exit(0 if is_right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (program().run([x])[0] == 2).all()


def test_every_element_is_done_once():
    counter = np.zeros(1, np.int64)
    step = ("kernel", address("count_calls"), [(1, 0)], [], 64, 1, None)
    set_threads(2)
    executable(captures=[counter], inputs=[], outputs=[], steps=[step]).run([])
    assert 2 <= counter[0] <= 64


# --------------------------------------------------------------------------------------------------------- interrupted

PARTS = """
import signal, sys
import numpy as np
from tests.runtime.native_kernels import address
from wengert.runtime import _native

signal.signal(signal.SIGINT, signal.default_int_handler)
_native.set_threads({threads})

def bound(n):
    steps = [("kernel", address("interrupted"), [(1, 0), (2, 0)], [], n, {grain}, None)]
    program = _native.Executable(arena_bytes=0, inputs=[(np.dtype(float), (n,), None)], captures=[], constants=[],
                                 outputs=[(np.dtype(float), (n,))], steps=steps, is_long={is_long})
    out = np.zeros(n)
    return program, program.bind([np.zeros(n)], None, [out], out), out

program, call, out = bound(10_000)
x = np.zeros(10_000)
counts = sys.getrefcount(x), sys.getrefcount(out)
for _ in range(2):
    try:
        program.run([x], None, [out])
        print("it had finished")
    except KeyboardInterrupt:
        pass
assert (sys.getrefcount(x), sys.getrefcount(out)) == counts
out[:] = 0
try:
    call()
except KeyboardInterrupt:
    assert 3 < np.sum(out) < 1000, np.sum(out)
    _, call, out = bound(3)
    call()
    assert np.all(out == 1)  # as if nothing had been
    print("stopped")
"""


@pytest.mark.sampled(9, "half a second each")
@pytest.mark.parametrize("is_long", [False, True])
@pytest.mark.parametrize(("threads", "grain"), [(1, 1), (1, -1), (1, -3), (2, 1), (2, -1)])
def test_ctrl_c_waited_for_the_running_kernel(threads, grain, is_long):
    """A step of 20 s is left between two of its parts, whoever runs them."""
    code = PARTS.format(threads=threads, grain=grain, is_long=is_long)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert run.stdout == "stopped\n", run.stderr


@pytest.mark.parametrize("extent", [1, 2, 63, 64, 1000])
def test_ordered_parts_follow_each_other(extent):
    """Of a negative grain: by one thread, though there are four."""
    parts, threads = [], set()

    def note(pointers, sizes, begin, end):
        parts.append((begin, end))
        threads.add(threading.get_ident())
        return 0

    set_threads(4)
    steps = [("kernel", python_kernel(note), [], [], extent, -16, None)]
    executable(inputs=[], outputs=[], steps=steps, is_long=True).run([])
    assert [begin for begin, _ in parts] == [0, *[end for _, end in parts[:-1]]]
    assert parts[-1][1] == extent
    assert len(threads) == 1


def test_a_status_ends_ordered_parts():
    done = []

    def fail(pointers, sizes, begin, end):
        done.append(begin)
        return 7 if len(done) == 2 else 0

    steps = [("kernel", python_kernel(fail), [], [], 1000, -1, None)]
    with pytest.raises(RuntimeError, match="status 7"):
        executable(inputs=[], outputs=[], steps=steps).run([])
    assert len(done) == 2


WHOLE = """
import os, signal, sys, threading, time
import numpy as np, wengert as wg

signal.signal(signal.SIGINT, signal.default_int_handler)

def tower(x):
    for _ in range(30):
        x = np.sin(x) * x + np.exp(-x)
    return x

f, x = {{
    "elementwise": (tower, np.linspace(0, 1, 2_000_000)),
    "product": (lambda x: x @ x, np.full((2600, 2600), 0.5)),
    "batch": (lambda x: np.linalg.inv(x), np.tile(np.eye(200), (1000, 1, 1))),
}}[{what!r}]
program = wg.jit(f).program(x)
out = np.full(x.shape, np.nan)
call = program.bind(x, out=out)

def interrupt():
    while np.isnan(out.flat[0]):  # until it is under way
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    call()
except KeyboardInterrupt:
    assert np.isnan(out.flat[-1]), "it had finished"
    small = np.linspace(0, 1, 100)
    assert wg.jit(lambda x: x * 2)(small).tobytes() == (small * 2).tobytes()
    print("stopped")
"""


@pytest.mark.sampled(3, "more than a second each")
@pytest.mark.parametrize("what", ["elementwise", "product", "batch"])
def test_ctrl_c_waited_for_an_array_a_product_a_batch(what):
    run = subprocess.run(
        [sys.executable, "-c", WHOLE.format(what=what)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert run.stdout == "stopped\n", run.stderr
