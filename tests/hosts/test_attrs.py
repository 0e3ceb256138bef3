"""Instances of attrs classes are nodes: with and without slots, frozen, with hashes and cached properties."""

from __future__ import annotations

import functools
import pickle
from typing import Any

import attr
import attrs
import numpy as np
import pytest

import wengert as wg


@attrs.define
class Slotted:
    a: float
    b: Any
    name: str = "s"


@attrs.define(slots=False)
class Plain:
    a: float
    b: Any
    name: str = "p"


@attrs.frozen
class Frozen:
    a: float = attrs.field(converter=float, validator=attrs.validators.gt(0))
    b: Any = None
    name: str = "f"


@attr.s(auto_attribs=True)
class Classic:
    a: float
    b: Any
    name: str = "c"


@attrs.define
class Base:
    a: float


@attrs.define
class Inheriting(Base):
    b: Any
    name: str = "i"


def cost(p: Any) -> Any:
    return -(p.a**2) * np.sum(np.sin(p.b))


B = np.array([0.1, 0.4])


@pytest.mark.parametrize("cls", [Slotted, Plain, Frozen, Classic, Inheriting])
@pytest.mark.parametrize("wrap", [lambda f: f, wg.jit], ids=["plain", "jit"])
def test_the_gradient_is_an_instance(cls: Any, wrap: Any) -> None:
    p = cls(2.0, B)
    slope = wrap(wg.grad(cost))(p)
    assert type(slope) is cls and slope.name == p.name and slope.a < 0  # Frozen's validator is not asked
    np.testing.assert_allclose(slope.a, -4 * np.sin(B).sum(), rtol=1e-14)
    np.testing.assert_allclose(slope.b, -4 * np.cos(B), rtol=1e-14)
    assert wg.tree.paths(p) == [".a", ".b"]
    leaves, treedef = wg.tree.flatten(p)
    again = wg.tree.unflatten(treedef, leaves)
    assert again.a == p.a and again.b is p.b and wg.tree.flatten(again)[1] == treedef
    assert type(pickle.loads(pickle.dumps(again))) is cls


def test_another_name_is_another_structure() -> None:
    f = wg.jit(lambda p: p.a * (2 if p.name == "double" else 1))
    assert [float(f(Slotted(1.5, None, name))) for name in ("s", "double", "s")] == [1.5, 3.0, 1.5]


@attrs.frozen(cache_hash=True)
class Hashed:
    x: float

    @functools.cached_property
    def twice(self) -> float:
        return 2 * self.x


@attrs.frozen(cache_hash=True, slots=False)
class HashedInDict:
    x: float

    @functools.cached_property
    def twice(self) -> float:
        return 2 * self.x


@pytest.mark.parametrize("cls", [Hashed, HashedInDict])
def test_what_is_computed_from_others_is_computed_again(cls: Any) -> None:
    p = cls(3.0)
    assert p.twice == 6.0 and hash(p) == hash(cls(3.0))
    slope = wg.grad(lambda p: p.x * p.twice)(p)
    assert slope.x == 12.0 and slope.twice == 24.0 and hash(slope) == hash(cls(12.0))
    assert wg.tree.paths(p) == [".x"]


def test_nested_in_other_containers() -> None:
    p = {"one": Slotted(1.0, [B, Plain(2.0, B)])}
    slope = wg.grad(lambda p: p["one"].a * p["one"].b[1].a * np.sum(p["one"].b[0]))(p)
    assert slope["one"].b[1].a == pytest.approx(0.5)
    assert wg.tree.paths(p) == [f'["one"]{end}' for end in (".a", ".b[0]", ".b[1].a", ".b[1].b")]


def test_an_attribute_without_a_hash_is_named() -> None:
    with pytest.raises(wg.errors.StructureError, match=r"Slotted .*\.b, a set"):
        wg.grad(cost)(Slotted(1.0, {1}))
