"""A kernel over indices, a search or a running sum whose code does something else than it says is found; one that does
what it says is not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.codegen.verification.made import address_of
from wengert.codegen.ir import Value
from wengert.codegen.specs.extremes import Extreme
from wengert.codegen.specs.indexed import Indexed
from wengert.codegen.specs.nonzero import NonzeroSpec
from wengert.codegen.specs.running import Running
from wengert.codegen.specs.search import SearchSpec
from wengert.codegen.specs.spec import Spec, SpecWriter
from wengert.codegen.verification import specs

pytestmark = pytest.mark.machine_code("there are no kernels")


class LastExtreme(Extreme):
    """Of equal elements the last one."""

    def _is_better(self, x: Value, best: Value) -> Value:
        return x >= best


class Careless(NonzeroSpec):
    """It does not say that there are more or less than expected."""

    def write(self, code: SpecWriter) -> None:
        code.fail_if = lambda condition: None
        super().write(code)


class OutOfBounds(Indexed):
    """It takes any index."""

    def write(self, code: SpecWriter) -> None:
        is_bad = code.fail_if
        code.fail_if = lambda condition: is_bad(condition & code.f.constant(0, "b1"))
        super().write(code)


MAXIMUM = Extreme("maximum", "f8", (None, 1), (1,), "axis")
CUMSUM = Running("add", "f8", ((1, None),), (1, None), True)
FOUND = SearchSpec("left", "f8", (1,), (1,), True)
GATHER, ROWS = Indexed("gather", "u8", ((1,),), (), (1,)), Indexed("gather", "u4", ((1,),), (1,), (None, 1))
WRITTEN, ADDED = [Indexed(what, "f8", ((1,),), (1,), (None, 1)) for what in ("set", "add")]
NONZERO = NonzeroSpec("f8", (None, 1))
RIGHT: dict[str, Spec] = {
    "extremes along an axis": MAXIMUM,
    "extremes of columns": Extreme("minimum", "f4", (1, None), (1,), "kept"),
    "an extreme, one by one": Extreme("maximum", "u1", (None,), (), ""),
    "running sums": CUMSUM,
    "one running product": Running("multiply", "i4", ((1,),), (1,), False),
    "a recurrence": Running("multiply_add", "f8", ((None, 1), (None, 1)), (None, 1), False),
    "places in a table": FOUND,
    "places of bytes": SearchSpec("right", "i1", (None,), (1,), False),
    "elements": GATHER,
    "rows": ROWS,
    "pairs": Indexed("gather", "u8", ((None, 0), (0, 1)), (None,), (None, None, 1)),
    "one number written": Indexed("set", "u8", ((1,),), (), (0,)),
    "rows written": WRITTEN,
    "rows added": ADDED,
    "what is not zero": NONZERO,
    "of columns": NonzeroSpec("i2", (1, None)),
}


@pytest.mark.parametrize("spec", RIGHT.values(), ids=RIGHT.keys())
def test_what_is_right_is_verified(spec: Spec) -> None:
    found = list(specs.differences(spec, address_of(spec)))
    assert found
    assert not any(found)


def like(spec: Any, kind: type[Spec] | None = None, **changed: Any) -> Spec:
    return (kind or type(spec))(**{**vars(spec), **changed})


@pytest.mark.sampled(2, "a tenth of a second each")
@pytest.mark.parametrize(
    ("said", "does"),
    [
        (MAXIMUM, like(MAXIMUM, compare="minimum")),
        (MAXIMUM, like(MAXIMUM, LastExtreme)),
        (MAXIMUM, like(MAXIMUM, dtype="i8")),
        (CUMSUM, like(CUMSUM, combine="multiply")),
        (CUMSUM, like(CUMSUM, dtype="i8")),
        (FOUND, like(FOUND, side="right")),
        (FOUND, like(FOUND, dtype="i8")),
        (GATHER, like(GATHER, indices=((0,),))),
        (GATHER, like(GATHER, OutOfBounds)),
        (ROWS, like(ROWS, dtype="u2", what="gather")),
        (WRITTEN, like(WRITTEN, what="add")),
        (ADDED, like(ADDED, what="set")),
        (NONZERO, like(NONZERO, dtype="u8")),
        (NONZERO, like(NONZERO, Careless)),
    ],
    ids=["extreme", "tie", "NaN", "running", "integers", "side", "order", "index", "bounds", "half", "added", "set",
         "negative zero", "count"],
)  # fmt: skip
def test_what_is_wrong_is_found(said: Spec, does: Spec) -> None:
    assert any(specs.differences(said, address_of(does)))
