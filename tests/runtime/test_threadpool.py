"""threadpoolctl knows and limits our threads."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import threadpoolctl

import wengert as wg


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = wg.get_threads()
    wg.jit(lambda x: x + 1)(np.ones(3))
    wg.set_threads(3)
    yield
    wg.set_threads(before)


def ours() -> list[dict[str, Any]]:
    return [x for x in threadpoolctl.threadpool_info() if x["user_api"] == "wengert"]


@pytest.mark.machine_code("the extension has the threads")
def test_listed_once() -> None:
    wg.jit(lambda x: x + 2)(np.ones(3))
    (found,) = ours()
    assert found["num_threads"] == 3
    assert found["prefix"] == "_native"


@pytest.mark.machine_code("the extension has the threads")
@pytest.mark.parametrize("api", [None, "wengert"])
def test_limited_and_restored(api: str | None) -> None:
    with threadpoolctl.threadpool_limits(2, user_api=api):
        assert wg.get_threads() == ours()[0]["num_threads"] == 2
    assert wg.get_threads() == 3


def test_limits_of_others_leave_ours() -> None:
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        assert wg.get_threads() == 3


def test_limited_among_results_that_do_not_change() -> None:
    x = np.random.default_rng(0).normal(size=200_000)
    f = wg.jit(lambda x: np.sin(x) * x)
    free = f(x)
    with threadpoolctl.threadpool_limits(1):
        assert f(x).tobytes() == free.tobytes()


def test_never_imported_by_us() -> None:
    code = (
        "import sys, numpy as np, wengert as wg; wg.jit(lambda x: x + 1)(np.ones(3)); "
        "assert 'threadpoolctl' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
