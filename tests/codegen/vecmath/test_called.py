"""Functions that are called: the bits of the inlined ones, for every function, dtype and kind of processor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.codegen.kernel import HOST, compiled, target
from wengert.codegen import vecmath
from wengert.codegen.vecmath import called

TARGETS = {
    "16 bytes, no FMA": target(16, has_fma=False),
    "32 bytes": target(32),
    **({"64 bytes": target(64)} if HOST.vector_bytes == 64 else {}),
}
ARITY = {
    "float_power": 2,
    "power": 2,
    "arctan2": 2,
    "hypot": 2,
    "nextafter": 2,
    "huber": 2,
    "pseudo_huber": 2,
    "ldexp": 2,
} | dict.fromkeys(
    ["logaddexp", "logaddexp2", "xlogy", "xlog1py", "rel_entr", "kl_div", "floor_divide", "remainder", "fmod"], 2
)


def is_called(name: str, dtype: str) -> bool:
    dtypes = [dtype] * ARITY.get(name, 1)
    return called.is_called(name, dtypes, dtype) and vecmath.is_supported(name, tuple(dtypes), dtype)


FUNCTIONS = [name for name in vecmath.FUNCTIONS if is_called(name, "f8")]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 1e300, -1e300, 5e-324, 710.0, -745.0, 2.0**31, 1e10]


def bits(x: np.ndarray) -> np.ndarray:
    """Of what floats are; every NaN is one, as LLVM says nothing about its sign."""
    return np.where(np.isnan(x), np.nan, x).astype(x.dtype).view(f"u{x.itemsize}")


def test_what_is_called() -> None:
    assert {"sin", "exp", "tanh", "erf", "power", "float_power"} <= {*FUNCTIONS}
    assert not {"sqrt", "add", "select", "isnan", "maximum"} & {*FUNCTIONS}
    assert not called.is_called("exp", ["f8"], "f4") and not called.is_called("floor_divide", ["i8", "i8"], "i8")
    assert not called.is_called("ldexp", ["f8", "i4"], "f8")


@pytest.mark.sampled(25, "every function on every processor")
@pytest.mark.parametrize("where", TARGETS.values(), ids=TARGETS.keys())
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_callee_gives_the_bits_of_the_inlined_function(name: str, dtype: str, where: Any) -> None:
    if not is_called(name, dtype):
        assert name == "float_power"  # of float32 it is in float64
        return
    rng = np.random.default_rng(5)
    lanes = where.lanes(int(dtype[1]))
    with np.errstate(over="ignore"):
        values = np.concatenate([SPECIAL, rng.normal(size=150) * 10.0 ** rng.integers(-5, 5, 150)]).astype(dtype)
    operands = [rng.permutation(values) for _ in range(ARITY.get(name, 1))]
    for width in (1, lanes):
        inlined = compiled(lambda *xs: vecmath.apply(name, [*xs], dtype), [dtype] * len(operands), dtype, width, where)
        callee = compiled(lambda *xs: called.call(name, [*xs], False), [dtype] * len(operands), dtype, width, where)
        got, want = callee(*operands), inlined(*operands)
        np.testing.assert_array_equal(bits(got), bits(want))


@pytest.mark.parametrize("where", TARGETS.values(), ids=TARGETS.keys())
@pytest.mark.parametrize("name", vecmath.FAST)
def test_so_do_the_fast_versions(name: str, where: Any) -> None:
    x = np.random.default_rng(6).normal(size=(ARITY.get(name, 1), 100)) * 3
    dtypes = ["f8"] * len(x)
    inlined = compiled(lambda *xs: vecmath.apply(name, [*xs], "f8", True), dtypes, "f8", 2, where)
    callee = compiled(lambda *xs: called.call(name, [*xs], True), dtypes, "f8", 2, where)
    np.testing.assert_array_equal(bits(callee(*x)), bits(inlined(*x)))


@pytest.mark.parametrize("where", TARGETS.values(), ids=TARGETS.keys())
@pytest.mark.parametrize("name", called.TOGETHER)
def test_so_does_one_that_gives_both(name: str, where: Any) -> None:
    x = np.array([*SPECIAL, *np.random.default_rng(7).normal(size=100) * 50])
    inlined = compiled(lambda x: vecmath.apply(name, [x], "f8"), ["f8"], "f8", 2, where)
    callee = compiled(lambda x: called.call(name, [x], False, are_together=True), ["f8"], "f8", 2, where)
    np.testing.assert_array_equal(bits(callee(x)), bits(inlined(x)))


def test_a_module_says_which_callees_it_calls() -> None:
    text = called.text_of("wengert.sin_cos.f8.4.1.exact", "both", target(32))
    assert called.symbols_in(text) == ()  # but for the runtime's, which is linked to all
    text += "declare <4 x double> @wengert.exp.f8.4.1.exact(<4 x double>) nounwind\n"
    text += "declare double @wengert.tanh.f8.1.1.fast(double)\n"
    assert called.symbols_in(text) == ("wengert.exp.f8.4.1.exact", "wengert.tanh.f8.1.1.fast")
