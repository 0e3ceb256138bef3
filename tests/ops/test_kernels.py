"""Kernels as values: their fields are bound as those of a dataclass are, and equal ones are one key."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from wengert.ops.kernels import Callback, Iota, Kernel, Map, Reduce, Region, Routine, Write, identity


def layout(shape: tuple[int, ...], strides: tuple[int, ...]) -> Region:
    return Region(0, shape, strides)


class Base(Kernel):
    first: str
    second: int


class Derived(Base):
    third: tuple[int, ...] = ()


def test_fields_are_bound_in_their_order_and_by_name() -> None:
    assert vars(Write("set", layout)) == vars(Write(layout=layout, combine="set"))
    assert list(vars(Write(layout=layout, combine="set"))) == ["combine", "layout"]
    assert Routine("lapack.det", True).needs_room and not Routine("lapack.det", True).is_partial
    assert vars(Iota()) == {}


def test_defaults_are_filled_in() -> None:
    for same in (Routine("a", False), Routine("a", is_partial=False), Routine(routine="a", needs_room=False)):
        assert same == Routine("a") and hash(same) == hash(Routine("a")) and repr(same) == repr(Routine("a"))
    assert (
        repr(Routine("a"))
        == "Routine(routine='a', needs_room=False, further_rows=0, is_partial=False, is_of_complex=False, "
        "takes_complex=False, gufunc=None, needs_finite=False)"
    )
    assert Callback() == Callback("no native lowering") != Callback("another reason")


def test_what_cannot_be_bound_is_refused() -> None:
    """With the class and its fields, so that a misspelt name shows."""
    signature = (
        r"Routine\(routine, needs_room=False, further_rows=0, is_partial=False, is_of_complex=False, "
        r"takes_complex=False, gufunc=None, needs_finite=False\): "
    )
    with pytest.raises(TypeError, match=signature + "no such field: need_room$"):
        Routine("lapack.potrf", need_room=True)
    with pytest.raises(TypeError, match=signature + "no value given: routine$"):
        Routine(needs_room=True)
    with pytest.raises(TypeError, match=signature + "given twice: routine$"):
        Routine("lapack.potrf", routine="lapack.det")
    with pytest.raises(TypeError, match=r"Map\(function, loop=None\): values without a field: 4$"):
        Map("tanh", None, 4)
    with pytest.raises(TypeError, match=r"Iota\(\): values without a field: 1, 2$"):
        Iota(1, 2)
    with pytest.raises(TypeError, match=r"Write\(combine, layout\): no value given: combine, layout$"):
        Write()


def test_fields_are_inherited() -> None:
    x = Derived("a", 3, (4,))
    assert (x.first, x.second, x.third) == ("a", 3, (4,))
    assert Derived("a", 3) == Derived("a", second=3, third=()) != x
    with pytest.raises(TypeError, match=r"Derived\(first, second, third=\(\)\): no value given: second$"):
        Derived("a")
    assert list(vars(Base("a", 3))) == ["first", "second"]  # a derived class adds nothing to its base


def test_a_kernel_is_immutable_and_equal_by_value() -> None:
    x = Reduce("add")
    with pytest.raises(AttributeError, match="Reduce is immutable"):
        x.combine = "multiply"
    assert x == Reduce("add") and x != Reduce("multiply")
    assert Map("add") != Reduce("add")  # another kind
    assert len({Map("add"), Map("add"), Map("multiply")}) == 2
    for other in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert other == x and hash(other) == hash(x)


NUMBERS = [-3, 0, 1, 7]


@pytest.mark.parametrize("combine", ["add", "multiply", "maximum", "minimum", "logical_or", "logical_and"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i1", "u2", "b1"])
def test_the_identity_changes_nothing(combine: str, dtype: str) -> None:
    special = [-0.0, 0.0, np.inf, -np.inf] if dtype[0] == "f" else []
    xs = np.array([*NUMBERS, *special]).astype(dtype)
    combined = getattr(np, combine)(np.array(identity(combine, np.dtype(dtype)), dtype), xs)
    np.testing.assert_array_equal(combined.astype(dtype), xs != 0 if combine.startswith("logical") else xs)
    if not combine.startswith("logical"):
        np.testing.assert_array_equal(np.signbit(combined.astype("f8")), np.signbit(xs.astype("f8")))
