"""Kernels are verified once, where they are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.codegen.kernel import tiled_as_with_vectors_of
from wengert import config
from wengert.codegen import verify
from wengert.codegen.verification import nests
from wengert.errors import InternalError

pytestmark = pytest.mark.machine_code("there are no kernels")


@pytest.fixture(autouse=True)
def verifying(folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "verify", True)
    monkeypatch.setattr(verify, "_known", set())


def test_a_kernel_is_verified_once_and_that_is_kept_beside_it() -> None:
    def verified() -> int:
        before = verify.verified.total()
        wg.jit(lambda x: np.sinh(x) - 0.4321 * x)(np.ones(5000))
        return verify.verified.total() - before

    assert verified() == 1
    assert verified() == 0
    verify._known.clear()  # as in another process
    assert verified() == 0


def test_a_wrong_kernel_is_an_error_where_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nests, "_references", lambda: {"multiply": np.add})
    with pytest.raises(InternalError, match="something else than its steps"):
        wg.jit(lambda x: x * 2.5)(np.ones(5000))


def test_a_wrong_kernel_within_a_loop_is_an_error_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nests, "_references", lambda: {"multiply": np.add})
    with pytest.raises(InternalError, match="something else than its steps"):
        wg.jit(lambda x: wg.scan(lambda y, x: (y * x, y), 1.0, x)[0])(np.ones(7))


X = np.linspace(0.1, 0.9, 40)
KINDS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "running": (lambda x: np.cumsum(x), (X,)),
    "extreme": (lambda x: np.argmax(x), (X,)),
    "search": (lambda x, y: np.searchsorted(x, y), (X, X)),
    "indexed": (lambda x, i: x[i], (X, np.array([3, 4]))),
    "nonzero": (lambda x: np.nonzero(x > 0.5)[0], (X,)),
    "sort": (lambda x: np.sort(x), (X[:16],)),
    "gemm": (lambda x: x @ x[:, :3], (np.ones((40, 40)),)),
    "scan": (lambda x: wg.scan(lambda y, x: (0.7 * y + np.sin(x), y), 0.3, x)[0], (X,)),
    "while": (lambda x: wg.while_loop(lambda y: y < 5.0, lambda y: y * 1.5 + 0.1, x[0]), (X,)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_kernel_is_verified(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind == "gemm":  # where vectors are short, a nest multiplies these matrices
        tiled_as_with_vectors_of(64, monkeypatch)
    function, args = KINDS[kind]
    before = verify.verified[kind]
    wg.jit(function)(*args)
    assert verify.verified[kind] > before
