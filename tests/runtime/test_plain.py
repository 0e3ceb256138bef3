"""What works without ``jit`` works with it: calls that cannot be traced are the function's own, and it is heard."""

from __future__ import annotations

import array
import random
import sys
import time
import warnings
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import linalg, ndimage
from scipy.interpolate import CubicSpline
from scipy.signal import lfilter
from scipy.spatial.distance import cdist
from scipy.stats.qmc import discrepancy

import wengert as wg
from wengert import config
from wengert.runtime.plain import OwnArrays

X = np.array([0.5, -1.0, 2.0])
HERE = r"test_plain\.py"


def test_a_loop_to_convergence_with_too_many_paths_is_answered() -> None:
    """Each count of iterations is a path of a loop that counts them; after the last that is kept, the call raised."""

    def root(a: Any) -> Any:
        x, iterations = a, 0
        while abs(x * x - a) > 1e-12 * a:
            x, iterations = 0.5 * (x + a / x), iterations + 1
        return x

    f = wg.jit(wg.grad(root))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config, "max_paths", 3)
        numbers = 2.0 * 10.0 ** np.arange(-6, 7)
        with pytest.warns(wg.PerformanceWarning, match=rf"without machine code(.|\n)*3 different(.|\n)*{HERE}") as w:
            got = [f(a) for a in numbers]
        np.testing.assert_allclose(got, 0.5 / np.sqrt(numbers), rtol=1e-6)
    assert len(w) == 1 and w[0].filename == __file__
    stats = f.stats()
    assert stats["specialisations"] == stats["traces"] == 3 and stats["plain"] > 0 and HERE[:-4] in stats["why_plain"]


class Solver:
    """Counts its calls, as scipy's do."""

    def __init__(self) -> None:
        self.nfev, self.history, self.data = 0, [], np.arange(3.0)

    def loss(self, x: Any) -> Any:
        self.nfev += 1
        return np.sum((x - self.data) ** 2)

    def remembers(self, x: Any) -> Any:
        self.history.append(float(np.max(self.data)))
        return np.sum(x**2)


def test_a_counter_that_a_method_writes_counts_each_call_once() -> None:
    solver = Solver()
    f = wg.jit(wg.grad(solver.loss))
    with pytest.warns(wg.PerformanceWarning, match=rf"writes the attributes|nfev(.|\n)*{HERE}(.|\n)*nfev \+= 1") as w:
        got = [f(X * k) for k in range(4)]
    np.testing.assert_array_equal(got, [2 * (X * k - solver.data) for k in range(4)])
    assert solver.nfev == 4 and len(w) == 1
    with pytest.warns(wg.PerformanceWarning):
        wg.jit(solver.remembers)(X)
    assert solver.history == [2.0]
    with pytest.raises(wg.errors.CaptureError, match=HERE):
        wg.jit(solver.loss, strict=True)(X)
    assert solver.nfev == 4


def test_a_write_into_a_captured_buffer_is_python_s() -> None:
    buffer = np.zeros(3)

    def f(x: Any) -> Any:
        buffer[:] = x * 2
        return buffer.sum()

    compiled = wg.jit(f)
    with pytest.warns(wg.PerformanceWarning, match="buffer"):
        assert compiled(X) == 3.0
    np.testing.assert_array_equal(buffer, 2 * X)
    with pytest.raises(wg.errors.WengertError, match=HERE):  # what does not work without jit does not work with it
        wg.jit(wg.grad(f))(X)


def test_a_function_of_a_library_that_takes_no_traced_value() -> None:
    """Its data is an argument, which is not differentiated: NumPy's own array without jit, traced with it."""

    def f(p: Any, data: Any) -> Any:
        return p * discrepancy(data)

    data = np.arange(9.0).reshape(3, 3) / 9
    want = discrepancy(data)
    compiled = wg.jit(wg.grad(f))
    with pytest.warns(wg.PerformanceWarning, match="without machine code") as w:
        np.testing.assert_allclose([compiled(2.0, data), compiled(3.0, data)], [want, want])
    assert len(w) == 1
    with pytest.raises(wg.errors.WengertError):
        wg.jit(wg.grad(lambda p: f(1.0, p)))(data)  # here a derivative would be lost


POINTS = np.random.default_rng(0).standard_normal((4, 3))
GRAM = POINTS.T @ POINTS + np.eye(3)
KNOTS, HEIGHTS = np.arange(4.0), np.array([0.0, 1.0, 4.0, 9.0])

OF_CONSTANTS = {
    "cdist": lambda p: np.sum(cdist(POINTS, POINTS) * p),
    "eigvalsh": lambda p: np.sum(np.linalg.eigvalsh(GRAM) * p),
    "a spline": lambda p: CubicSpline(KNOTS, HEIGHTS)(0.5) * p,
    "a filter": lambda p: np.sum(lfilter([1.0, 2.0], [1.0, 0.5], HEIGHTS) * p),
    "a factorisation": lambda p: np.sum(linalg.cho_solve(linalg.cho_factor(GRAM), POINTS[0]) * p),
    "an image": lambda p: np.sum(ndimage.gaussian_filter(POINTS, 1.0) * p),
    "of what is computed of captured arrays": lambda p: np.sum(cdist(2 * POINTS, POINTS[::2]) * p),
    "np.unique": lambda p: np.sum(np.unique(np.round(POINTS)) * p),
    "np.fft": lambda p: np.sum(np.abs(np.fft.rfft(HEIGHTS)) * p),
}


@pytest.mark.filterwarnings("ignore::wengert.PerformanceWarning")
@pytest.mark.parametrize("name", OF_CONSTANTS)
def test_library_calls_on_captured_arrays_alone_are_the_library_s_affair(name: str) -> None:
    """They worked without jit, and with it they were refused: the captured arrays were traced."""
    f = OF_CONSTANTS[name]
    for transformed in (wg.grad(f), wg.jit(wg.grad(f)), wg.jit(wg.grad(f), strict=name in ("eigvalsh", "np.fft"))):
        for p in (0.3, 2.0):
            np.testing.assert_allclose(transformed(p), f(1.0), rtol=1e-12)


def test_what_a_library_made_of_a_captured_array_is_not_old() -> None:
    data = np.array([[0.0, 0.4], [0.0, 0.0]])
    f = wg.jit(lambda p: discrepancy(data) * p, strict=True)
    first = discrepancy(data)
    assert f(1.0) == first
    data[0, 1] = 0.9
    assert f(1.0) == discrepancy(data) != first
    data[0, 1] = 0.4
    assert f(2.0) == 2 * first and f.stats()["traces"] == 2


def test_a_library_never_gets_a_number_in_place_of_a_derivative() -> None:
    """Only what captured arrays alone have gone into, and whole numbers, may be looked at."""
    outer = np.ones(2)
    for f in (
        lambda x: discrepancy(np.outer(x, x)),
        lambda x: discrepancy(np.outer(x * outer, outer)),
        lambda x: wg.grad(lambda y: y * discrepancy(np.outer(x, x)))(2.0),
    ):
        for transformed in (wg.grad(f), wg.jit(wg.grad(f))):
            with pytest.raises(wg.errors.WengertError, match=HERE):
                transformed(np.array([0.5, 0.25]))


def test_arguments_are_not_written_where_python_answers() -> None:
    counter = SimpleNamespace(n=0)

    def f(x: Any, y: Any) -> Any:
        counter.n += 1
        x[0] = 5.0
        return np.sum(x * y)

    x, y = np.ones(2), np.array([2.0, 3.0])
    compiled = wg.jit(f)
    with pytest.warns(wg.PerformanceWarning):
        assert compiled(x, y) == 13.0
    np.testing.assert_array_equal(x, [1.0, 1.0])
    both = np.ones(4)
    with pytest.raises(ValueError, match=r"same memory|read-only"):
        compiled(both[:2], both[1:3])
    np.testing.assert_array_equal(both, np.ones(4))


def test_arrays_of_one_memory_are_lent_and_others_copied() -> None:
    whole, alone = np.arange(4.0), np.ones(2)
    readonly = wg.constant(np.ones(2))
    a, b, c, d, text = OwnArrays().of([whole[:3], whole[1:], alone, readonly, "text"])
    assert not a.flags.writeable and np.shares_memory(a, b)
    assert c.flags.writeable and not np.shares_memory(c, alone)
    assert d is readonly and text == "text"


def test_an_error_of_the_function_is_the_function_s() -> None:
    """If Python fails too, that is what is raised: ours where it tells more, the user's where it is the user's."""

    def f(x: Any) -> Any:
        if x[0] > 0:
            raise TypeError("of the user's")
        return x

    with pytest.raises(TypeError, match="of the user's"):
        wg.jit(f)(X)
    with pytest.raises(wg.errors.DTypeError, match="no derivative"):
        wg.jit(wg.grad(lambda n: n * 2.0))(3)
    with pytest.raises(wg.errors.ShapeError, match=HERE):
        wg.jit(lambda x: x @ np.ones((2, 2)))(X)
    assert wg.jit(f)(-X)[0] == -0.5


def test_out_is_written_where_python_answers() -> None:
    counter = SimpleNamespace(n=0)

    def f(x: Any) -> Any:
        counter.n += 1
        return x * counter.n

    compiled, out = wg.jit(f), np.empty(3)
    with pytest.warns(wg.PerformanceWarning):
        assert compiled(X, out=out) is out
    np.testing.assert_array_equal(out, X)
    compiled(X, out=out)
    np.testing.assert_array_equal(out, 2 * X)


def test_strict_raises_for_whatever_would_be_said() -> None:
    items = iter(range(9))
    scale = 1.0
    with pytest.raises(wg.errors.CaptureError, match=r"as it is without wg\.jit: items is an iterator"):
        wg.jit(lambda x: x * next(items), strict=True)(X)
    rebound = wg.jit(strict=True)(lambda x: x * scale)
    for k in range(8):
        scale = float(k)
        rebound(X)
    scale = 8.0
    with pytest.raises(wg.errors.CaptureError, match="rebound"):
        rebound(X)


def test_a_warning_that_is_an_error_leaves_the_function_as_it_was() -> None:
    counter = SimpleNamespace(n=0)

    def f(x: Any) -> Any:
        counter.n += 1
        return x * 2

    compiled = wg.jit(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(wg.PerformanceWarning):
            compiled(X)
        np.testing.assert_array_equal(compiled(X), 2 * X)


def _complex(x: Any) -> Any:
    """What cannot be traced."""
    return complex(x).real


DRAWS = {
    "of NumPy": lambda: np.random.default_rng(0),
    "of NumPy, the old one": lambda: np.random.RandomState(0),
    "of Python": lambda: random.Random(0),
}


@pytest.mark.filterwarnings("ignore::wengert.PerformanceWarning")
@pytest.mark.parametrize("kind", DRAWS)
def test_a_run_that_ended_early_drew_from_the_generator_that_python_draws_from_again(kind: str) -> None:
    rng, again = DRAWS[kind](), DRAWS[kind]()
    compiled = wg.jit(lambda x: rng.uniform(0.0, 1.0) * _complex(x))
    assert [compiled(x) for x in (1.0, 2.0, 3.0)] == [again.uniform(0.0, 1.0) * x for x in (1.0, 2.0, 3.0)]
    assert rng.uniform(0.0, 1.0) == again.uniform(0.0, 1.0)


def test_a_run_that_ended_early_had_written_what_python_writes_again() -> None:
    """It wrote the set, Python wrote it again, and the answer was 2; an iterator was advanced twice."""
    seen = set[int]()
    steps = map(float, range(10))
    counts = array.array("d", [0.0])

    def f(x: Any) -> Any:
        seen.add(len(seen))
        return len(seen) * _complex(x)

    def g(x: Any) -> Any:
        return next(steps) * _complex(x)

    def h(x: Any) -> Any:
        counts[0] += 1
        return counts[0] * _complex(x)

    for function, what in ((f, "writes seen"), (g, rf"advanced steps(.|\n)*complex\(\)(.|\n)*{HERE}"), (h, "counts")):
        with pytest.raises(wg.errors.WrittenError, match=what):
            wg.jit(function)(2.0)


@pytest.mark.filterwarnings("ignore::wengert.PerformanceWarning")
def test_an_exception_of_the_function_s_own_leaves_what_it_wrote_before() -> None:
    """The list stayed empty, so that every call raised what only the first should."""
    calls = list[int]()

    def f(x: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise ValueError("the first")
        return x * len(calls)

    compiled = wg.jit(f)
    with pytest.raises(ValueError, match="the first"):
        compiled(2.0)
    assert compiled(2.0) == 4.0 and len(calls) == 2


@pytest.mark.filterwarnings("ignore::wengert.PerformanceWarning")
def test_what_is_printed_into_a_file_does_not_keep_python_from_running_the_function() -> None:
    def f(x: Any) -> Any:
        sys.stdout.write("a\n")
        return _complex(x)

    assert wg.jit(f)(2.0) == 2.0


@pytest.mark.filterwarnings("ignore::wengert.PerformanceWarning")
def test_a_counter_that_hangs_on_the_function_counts() -> None:
    """It was written on the copy that was traced, and stayed 1 for ever."""

    def count() -> int:
        count.n = getattr(count, "n", 0) + 1
        return count.n

    compiled = wg.jit(lambda x: x * count())
    assert [compiled(2.0) for _ in range(3)] == [2.0, 4.0, 6.0]
    assert count() == 4


def test_the_memory_of_a_large_copy_is_used_again_unless_somebody_has_kept_it() -> None:
    own, x = OwnArrays(), np.arange(100_000.0)
    kept: list[Any] = []

    def call(keep: bool) -> int:
        made = own.of([x, 1.0])
        np.testing.assert_array_equal(made[0], x)
        assert made[0] is not x
        made[0][:] = 0.0
        address = made[0].ctypes.data
        if keep:
            kept.append(made[0][::2])
        own.take_back([x, 1.0], made)
        return address

    first = call(keep=False)
    assert call(keep=True) == first
    assert call(keep=False) != first and not kept[0].any()
    x = x.reshape(100, 1000).T
    assert own.of([x])[0].strides == x.strides


def test_a_function_that_cannot_be_repeated_gets_arrays_of_its_own_and_gives_its_result_away() -> None:
    @wg.jit
    def f(x: Any) -> Any:
        x[0] = time.time()
        return x

    x, found = np.zeros(100_000), []
    with pytest.warns(wg.PerformanceWarning, match="reads the clock"):
        f(x)
    for _ in range(3):
        found.append(f(x))
    assert not x.any() and found[0][0] < found[1][0] < found[2][0]
    gone = weakref.ref(found.pop())
    assert gone() is None  # nobody waits for the collector of garbage
    assert f.stats()["plain"] == 3
    f(list(x[:2]))  # other arguments: perhaps they are no reason
    assert f.stats()["traces"] == 2


@pytest.mark.machine_code("the runtime's entries are looked at")
def test_an_iterator_among_the_arguments_says_nothing_of_calls_without_one() -> None:
    f = wg.jit(lambda x, *more: x * sum(next(m) for m in more))
    with pytest.warns(wg.PerformanceWarning, match="iterator"):
        assert f(2.0, iter([1.0])) == 2.0
    assert f(2.0, iter([3.0])) == 6.0
    for _ in range(3):
        f(2.0)
    assert f.stats()["traces"] == 3 and f._entries


def test_a_list_of_arguments_is_not_taken_for_them() -> None:
    f = wg.jit(lambda *xs: xs[0] * time.time() if isinstance(xs[0], float) else xs[0][0] * 2.0)
    with pytest.warns(wg.PerformanceWarning, match="reads the clock"):
        f([3.0])
    assert not f._bare
    f(3.0)
    assert f._bare and f(3.0) > 3.0
