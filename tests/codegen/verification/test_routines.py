"""A routine that copies, sorts or multiplies wrongly is found; those that there are are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.codegen.kernel import tiled_as_with_vectors_of
from tests.codegen.verification.made import address_in_python, nothing
from wengert.codegen.calls import KernelCall
from wengert.codegen.lowered import lowered_tape
from wengert.codegen.target import target
from wengert.codegen.verification import routines
from wengert.runtime.routines import address

pytestmark = pytest.mark.machine_code("there are no kernels")
X = np.random.default_rng(0).normal(size=(3, 16))
CALLS: dict[str, tuple[Callable[..., Any], Any]] = {
    "copy": (lambda x: x.T.copy(), X[:, :4]),
    "sort_f64": (lambda x: np.sort(x), X),
    "argsort_f64": (lambda x: np.argsort(x), X),
    "argselect_f64": (lambda x: np.median(x), X[0]),
    "gemm_f64": (lambda x: x @ x[:, :3], np.ones((40, 40))),
}


def call_of(name: str) -> KernelCall:
    function, x = CALLS[name]
    calls = lowered_tape(wg.jit(function).program(x).tape, target()).calls
    (call,) = [call for call in calls if isinstance(call, KernelCall) and call.kernel == name]
    return call


@pytest.mark.parametrize("name", CALLS)
def test_what_is_right_is_verified_and_what_is_wrong_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "gemm_f64":  # where vectors are short, a nest multiplies these matrices
        tiled_as_with_vectors_of(64, monkeypatch)
    call = call_of(name)
    found = list(routines.differences(call, name, address(name)))
    assert found
    assert not any(found)
    assert any(routines.differences(call, name, address_in_python(nothing)))


@pytest.mark.parametrize(("name", "other"), [("sort_f64", "sort_i64"), ("argsort_f64", "argsort_i64")])
def test_an_order_of_other_numbers_is_found(name: str, other: str) -> None:
    assert any(routines.differences(call_of(name), name, address(other)))
