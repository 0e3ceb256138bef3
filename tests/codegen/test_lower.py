"""Which call does a step of the plan: a nest, a kernel over indices, a routine, a guard, or Python, which says why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft
from scipy import special

import wengert as wg
from wengert import passes
from wengert.codegen.calls import Call, CallbackCall, GuardCall, KernelCall
from wengert.codegen.lower import can_reach, lower, supports
from wengert.codegen.nests.nest import Nest
from wengert.codegen.specs.spec import Spec
from wengert.codegen.target import target
from wengert.passes.plan.planner import plan
from wengert.tape import Aval

X = np.linspace(0.1, 2, 300)
A = np.eye(3) + 0.1


def calls(f: Callable[..., Any], *args: Any) -> list[Any]:
    """What the program of ``f`` calls, in order."""
    tape = passes.run(wg.trace(f)(*args))
    return [lower(step, target()) for step in plan(passes.run(tape, passes.BEFORE_KERNELS, supports)).steps]


def what(call: Call) -> str:
    if not isinstance(call, KernelCall):
        return {GuardCall: "guard", CallbackCall: "callback"}[type(call)]
    return call.kernel if isinstance(call.kernel, str) else "nest" if isinstance(call.kernel, Nest) else "spec"


@pytest.mark.parametrize(
    ("f", "args", "want"),
    [
        pytest.param(lambda x: np.exp(x) * 2 + x, (X,), ["nest"], id="a map"),
        pytest.param(lambda x: wg.broadcast(lambda a: a * a + 1, x), (X,), ["nest"], id="a scalar function"),
        pytest.param(lambda x: np.sum(np.sin(x)), (X,), ["nest"], id="a reduction"),
        pytest.param(lambda x: x[::-1], (X,), ["nest"], id="a copy"),
        pytest.param(lambda x: x[::-1], (X[:5],), ["copy"], id="a copy of a few elements"),
        pytest.param(lambda x, i: x[i], (X, np.arange(5)), ["spec"], id="a gather"),
        pytest.param(lambda x: np.cumsum(x), (X,), ["spec"], id="a running sum"),
        pytest.param(lambda x: np.argmax(x), (X,), ["spec"], id="an extreme"),
        pytest.param(lambda x: np.searchsorted(X, x), (X,), ["spec"], id="a search"),
        pytest.param(lambda a: a @ a, (np.ones((600, 600)),), ["gemm_f64"], id="a large product"),
        pytest.param(lambda a: np.linalg.cholesky(a), (A,), ["potrf_f64"], id="LAPACK"),
        pytest.param(lambda x: x if x > 0 else -x, (1.0,), ["nest", "guard", "copy"], id="a guard"),
        pytest.param(lambda x: special.gammaln(x), (X,), ["elements"], id="a loop of SciPy's"),
        pytest.param(lambda x: x * 2, (X.astype(np.float16),), ["elements"], id="a loop of NumPy's"),
        pytest.param(lambda a: np.linalg.svd(a)[1], (A,), ["stacks"], id="a loop of numpy.linalg"),
        pytest.param(lambda x: np.fft.rfft(x), (X[:12],), ["transforms"], id="a loop of numpy.fft"),
        pytest.param(lambda x: scipy.fft.dct(x), (X,), ["callback"], id="no native code"),
        pytest.param(lambda x: x.astype(np.float16), (X,), ["callback"], id="no native dtype"),
    ],
)
def test_which_call_does_a_step(f: Callable[..., Any], args: tuple[Any, ...], want: list[str]) -> None:
    assert [what(call) for call in calls(f, *args)] == want


@pytest.mark.parametrize(
    ("f", "args", "why"),
    [
        (lambda x: scipy.fft.dct(x), (X,), "computed by scipy.fft"),
        (lambda x: x.astype(np.float16), (X,), "a dtype without native code"),
        (lambda x: wg.broadcast(special.gammaln, x), (X,), "gammaln: no native lowering"),
    ],
)
def test_python_says_why_it_is_asked(f: Callable[..., Any], args: tuple[Any, ...], why: str) -> None:
    (call,) = [c for c in calls(f, *args) if isinstance(c, CallbackCall)]
    assert call.why == why and call.instr is not None


def test_a_callback_of_ours_computes_quietly_and_the_users_gets_copies() -> None:
    (ours,) = calls(lambda x: x.astype(np.float16), X)
    assert isinstance(ours, CallbackCall) and not ours.copies
    assert ours.function()(np.array([1e9])) == np.inf  # warnings are errors here: there was none
    (users,) = calls(wg.primitive(lambda x: x * 2), X)
    assert isinstance(users, CallbackCall) and users.copies


def test_what_can_fail_says_so() -> None:
    """The reference then finds out which index it was."""
    (gather,) = calls(lambda x, i: x[i], X, np.arange(5))
    (total,) = calls(lambda x: np.sum(x), X)
    assert isinstance(gather, KernelCall) and gather.can_fail
    assert isinstance(total, KernelCall) and not total.can_fail


def test_one_kernel_of_any_length_has_sizes_at_run_time() -> None:
    (one,), (other,) = calls(lambda x: np.exp(x) * 2, np.ones(5000)), calls(lambda x: np.exp(x) * 3, np.ones(7001))
    assert isinstance(one, KernelCall) and isinstance(one.kernel, Nest)
    assert isinstance(other, KernelCall) and isinstance(other.kernel, Nest)
    assert one.kernel.extents == other.kernel.extents == (None,)
    assert (one.extent, other.extent) == (5000, 7001)
    (one,), (other,) = calls(np.cumsum, np.ones(5000)), calls(np.cumsum, np.ones(7001))
    assert isinstance(one, KernelCall) and isinstance(one.kernel, Spec)
    assert isinstance(other, KernelCall) and one.kernel == other.kernel


def test_native_places_are_whole_elements_of_known_dtypes() -> None:
    step = plan(wg.trace(lambda x: x * 2)(X)).steps[0]
    (place,) = step.outs
    assert can_reach([place])
    assert not can_reach([place._replace(strides=(4,))])
    for dtype in (">f8", "c16", "f2"):
        assert not can_reach([place, place._replace(aval=Aval(place.aval.shape, np.dtype(dtype)))])


def test_what_the_fusing_pass_may_ask() -> None:
    f8, c16, b1 = np.dtype("f8"), np.dtype("c16"), np.dtype("?")
    assert supports("tanh", (f8,), f8) and supports("less", (f8, f8), b1)
    assert not supports("tanh", (c16,), c16) and not supports("gammaln", (f8,), f8)
