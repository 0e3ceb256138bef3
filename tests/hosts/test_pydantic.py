"""pydantic's models are nodes: their fields, what is given beside them and what is private."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pydantic
import pytest

import wengert as wg

B = np.array([0.1, 0.4])


class Inner(pydantic.BaseModel):
    scale: float


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)
    a: float = pydantic.Field(gt=0)
    b: np.ndarray
    inner: Inner = Inner(scale=3.0)
    name: str = "m"


class Open(Model):
    model_config = pydantic.ConfigDict(extra="allow", frozen=True)
    _secret: float = pydantic.PrivateAttr(5.0)


class Cached(pydantic.BaseModel):
    x: float

    @pydantic.computed_field
    @functools.cached_property
    def twice(self) -> float:
        return 2 * self.x


def cost(m: Any) -> Any:
    return -m.a * m.inner.scale * np.sum(np.sin(m.b))


@pytest.mark.parametrize("cls", [Model, Open])
@pytest.mark.parametrize("wrap", [lambda f: f, wg.jit], ids=["plain", "jit"])
def test_the_gradient_is_an_instance(cls: Any, wrap: Any) -> None:
    m = cls(a=2.0, b=B)
    slope = wrap(wg.grad(cost))(m)
    assert type(slope) is cls and type(slope.inner) is Inner and slope.name == "m"
    assert slope.a < 0  # no validator is asked
    np.testing.assert_allclose(slope.b, -6 * np.cos(B), rtol=1e-14)
    assert slope.model_fields_set == {"a", "b"} and set(slope.model_dump()) == {"a", "b", "inner", "name"}


def test_what_is_given_beside_the_fields_and_what_is_private_are_held() -> None:
    m = Open(a=2.0, b=B, more=np.array([1.0, 2.0]))
    slope = wg.jit(wg.grad(lambda m: m._secret * np.sum(m.more * m.b) * m.a))(m)
    np.testing.assert_allclose(slope.more, 10 * B, rtol=1e-14)
    np.testing.assert_allclose(slope._secret, 2 * (B @ [1.0, 2.0]), rtol=1e-14)
    assert wg.tree.paths(m) == [".a", ".b", ".inner.scale", "._secret", ".more"]
    assert "more" in slope.__pydantic_extra__ and m.__pydantic_private__ == {"_secret": 5.0}


def test_a_rebuilt_model_is_the_model() -> None:
    for m in (Model(a=1.0, b=B), Open(a=1.0, b=B, more=2.0), Cached(x=2.0)):
        leaves, treedef = wg.tree.flatten(m)
        again = wg.tree.unflatten(treedef, leaves)
        assert wg.tree.flatten(again)[1] == treedef and type(again) is type(m)
        assert again.model_fields_set == m.model_fields_set
        assert again.model_copy(deep=True).__pydantic_private__ == m.__pydantic_private__
        assert repr(again) == repr(m)


def test_cached_properties_are_computed_again() -> None:
    m = Cached(x=3.0)
    assert m.twice == 6.0
    slope = wg.grad(lambda m: m.x * m.twice)(m)
    assert slope.x == 12.0 and slope.twice == 24.0 and wg.tree.paths(m) == [".x"]


def test_another_text_is_another_structure() -> None:
    f = wg.jit(lambda m: m.a * (2 if m.name == "double" else 1))
    assert [float(f(Model(a=1.5, b=B, name=name))) for name in ("m", "double", "m")] == [1.5, 3.0, 1.5]


class Point(pydantic.BaseModel):
    x: float
    y: float


def test_a_model_made_inside_of_the_function() -> None:
    with pytest.raises((wg.errors.WengertError, pydantic.ValidationError)):
        wg.grad(lambda x: Point(x=x, y=1.0).x ** 2)(3.0)
    assert wg.grad(lambda x: Point.model_construct(x=x, y=1.0).x ** 2)(3.0) == 6.0
    made = wg.jit(lambda x: Point.model_construct(x=x, y=2 * x))(3.0)
    assert type(made) is Point and made.y == 6.0


@pydantic.dataclasses.dataclass
class Pair:
    x: float
    y: float


def test_dataclasses_of_pydantic_are_dataclasses() -> None:
    assert wg.grad(lambda p: p.x * p.y)(Pair(2.0, 3.0)) == Pair(3.0, 2.0)
