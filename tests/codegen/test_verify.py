"""A kernel that computes something else than its nest says is found; one that does what it says is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import config
from wengert.codegen import compiler, verify
from wengert.codegen.lower import text_of
from wengert.codegen.nests.nest import Fold, Load, Nest, Operation, Store
from wengert.errors import InternalError

pytestmark = pytest.mark.skipif(not config.native, reason="there are no kernels")


def elementwise(*steps: Operation, extents: tuple[int | None, ...] = (None,), n_loads: int = 2) -> Nest:
    """Steps of float64 operands in C order; the last one is stored."""
    row = (*[None] * (len(extents) - 1), 1)
    loads = tuple([Load("f8", row)] * n_loads)
    last = Store(n_loads + len(steps) - 1, steps[-1].dtype, row)
    return Nest(extents, len(extents), len(extents) - 1, loads, (), steps, (last,))


def summed(combine: str, *steps: Operation) -> Nest:
    """Rows of a matrix, folded."""
    fold = Fold(combine, len(steps), "f8")
    post = (Store(len(steps) + 1, "f8", (1, 0)),)
    return Nest((None, None), 1, 1, (Load("f8", (None, 1)),), (), steps, (), (fold,), (), post)


def code_of(nest: Nest) -> compiler.Code:
    key = compiler.key_of(nest)
    code = compiler.machine_code({key: lambda name: text_of(nest, name)})[key]
    assert isinstance(code, compiler.Code)
    return code


ADD, SUBTRACT = Operation("add", (0, 1), "f8"), Operation("subtract", (0, 1), "f8")
EXP = Operation("exp", (0,), "f8")
RIGHT = {
    "a sum of two": elementwise(ADD),
    "in rows": elementwise(ADD, extents=(None, None)),
    "of known lengths": elementwise(SUBTRACT, extents=(5,)),
    "transcendental": elementwise(EXP, Operation("sin", (1,), "f8"), n_loads=1),
    "a comparison": elementwise(Operation("less", (0, 1), "b1")),
    "sums of rows": summed("add"),
    "greatest of rows": summed("maximum"),
    "sums of squares": summed("add", Operation("square", (0,), "f8")),
}


@pytest.mark.parametrize("nest", RIGHT.values(), ids=RIGHT.keys())
def test_what_is_right_is_verified(nest: Nest) -> None:
    before = verify.Counters.verified
    code = code_of(nest)
    verify.verify(nest, code.address)
    assert verify.Counters.verified == before + 1


@pytest.mark.parametrize(
    ("said", "does"),
    [
        (elementwise(ADD), elementwise(SUBTRACT)),
        (elementwise(SUBTRACT), elementwise(Operation("subtract", (1, 0), "f8"))),
        (elementwise(EXP, n_loads=1), elementwise(Operation("exp2", (0,), "f8"), n_loads=1)),
        (elementwise(EXP, n_loads=1), elementwise(EXP, n_loads=1)._replace(extents=(7,))),
        (elementwise(Operation("maximum", (0, 1), "f8")), elementwise(Operation("fmax", (0, 1), "f8"))),
        (elementwise(EXP, n_loads=1), elementwise(ADD._replace(operands=(0, 0)), n_loads=1)),
        (
            elementwise(Operation("negative", (0,), "f8"), n_loads=1),
            Nest((None,), 1, 0, (Load("f8", (1,)),), (("f8", np.float64(0).tobytes()),),
                 (Operation("subtract", (1, 0), "f8"),), (Store(2, "f8", (1,)),)),
        ),
        (elementwise(Operation("less", (0, 1), "b1")), elementwise(Operation("less_equal", (0, 1), "b1"))),
        (summed("add"), summed("maximum")),
        (summed("add", Operation("square", (0,), "f8")), summed("add", Operation("absolute", (0,), "f8"))),
    ],
    ids=["sign", "order", "function", "length", "NaN", "a step", "sign of zero", "at a tie", "fold", "in a fold"],
)  # fmt: skip
def test_what_is_wrong_is_found(said: Nest, does: Nest) -> None:
    code = code_of(does)
    with pytest.raises(InternalError, match="something else than its steps"):
        verify.verify(said, code.address)


def test_last_digits_of_what_is_transcendental_may_differ_and_no_more() -> None:
    x = np.array([1.0, 2.0, 0.0])
    near, far = x + 4 * np.spacing(x), x + 40 * np.spacing(x)
    references = [x, x + 4 * np.spacing(x), x - 4 * np.spacing(x)]
    assert not verify._mismatch(near, references) and verify._mismatch(far, references)
    assert verify._mismatch(near, [x])
    assert verify._mismatch(np.array([-0.0]), [np.array([0.0])])
    assert verify._mismatch(np.array([np.nan]), [np.array([1.0])])
    assert not verify._mismatch(np.array([np.nan]), [np.array([np.nan])])


def test_a_kernel_is_verified_once_and_that_is_kept_beside_it(folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "verify", True)
    monkeypatch.setattr(verify, "_known", set())

    def verified() -> int:
        before = verify.Counters.verified
        wg.jit(lambda x: np.sinh(x) - 0.4321 * x)(np.ones(5000))
        return verify.Counters.verified - before

    assert verified() == 1
    assert verified() == 0
    verify._known.clear()  # as in another process
    assert verified() == 0


def test_a_wrong_kernel_is_an_error_where_it_is_made(folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "verify", True)
    monkeypatch.setattr(verify, "_known", set())
    monkeypatch.setattr(verify, "_references", lambda: {"multiply": np.add})
    with pytest.raises(InternalError, match="something else than its steps"):
        wg.jit(lambda x: x * 2.5)(np.ones(5000))
