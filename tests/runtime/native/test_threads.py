import os
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
