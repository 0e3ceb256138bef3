"""Classes of a user's: plain, data, abstract, generic, with operators, with descriptors."""

from __future__ import annotations

import abc
import enum
import functools
import logging
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from scipy.special import logsumexp

from tests.tracing.surroundings.ways import constants
from tests.tracing.surroundings.ways.constants import RATE, TABLE

T = TypeVar("T")
log = logging.getLogger(__name__)


class Kind(enum.Enum):
    NORMAL = "normal"
    LAPLACE = "laplace"


class Order(enum.IntEnum):
    FIRST = 1
    SECOND = 2


class Flags(enum.Flag):
    LOG = enum.auto()
    SCALED = enum.auto()


class Unit(enum.Enum):
    METRE = 1.0
    FOOT = 0.3048

    @property
    def factor(self) -> Any:
        return np.sqrt(self.value)

    def to(self, other: Unit) -> float:
        return self.value / other.value


class Plain:
    scale: ClassVar[float] = 2.0

    def __init__(self, width: int = 3) -> None:
        self.width = width

    def __call__(self, x: Any) -> Any:
        return x * self.factor

    @property
    def factor(self) -> Any:
        return self.scale / np.sqrt(self.width)

    @staticmethod
    def norm(d: int) -> Any:
        return np.log(2 * np.pi) * d

    @classmethod
    def make(cls, width: int) -> Plain:
        return cls(width)

    @functools.cached_property
    def weights(self) -> Any:
        return np.sqrt(np.arange(1.0, self.width + 1))

    def evaluate(self, x: Any) -> Any:
        return x * self.scale + np.log(self.width)


class Derived(Plain):
    scale = 3.0

    def __init__(self, width: int = 3, shift: float = 1.0) -> None:
        super().__init__(width)
        self.shift = shift

    def __call__(self, x: Any) -> Any:
        return super().__call__(x) + self.shift * np.exp(0.5)


class Mixin:
    def scaled(self, x: Any) -> Any:
        return x * np.sqrt(self.width)


class Both(Mixin, Derived):
    pass


class Base(abc.ABC):
    @abc.abstractmethod
    def density(self, x: Any) -> Any: ...

    def loss(self, x: Any) -> Any:
        return -self.density(x) + 0.5 * np.log(2 * np.pi)


class Normal(Base):
    def __init__(self, sigma: float = 1.5) -> None:
        self.sigma = sigma

    def density(self, x: Any) -> Any:
        return -0.5 * (x / self.sigma) ** 2 - np.log(self.sigma)


class Density(Protocol):
    def density(self, x: Any) -> Any: ...


class Box(Generic[T]):
    def __init__(self, value: T) -> None:
        self.value = value

    def get(self) -> T:
        return self.value


@dataclass
class Options:
    rate: float = 0.25
    orders: list[int] = field(default_factory=lambda: [1, 2])
    kind: Kind = Kind.NORMAL
    scale: Any = field(init=False, default=1.0)

    def __post_init__(self) -> None:
        self.scale = np.sqrt(len(self.orders) + 1.0)


@dataclass(frozen=True)
class Frozen:
    rate: float = 0.25

    def with_rate(self, rate: float) -> Frozen:
        return replace(self, rate=rate)


@dataclass(slots=True)
class Slotted:
    rate: float = 0.25

    def factor(self) -> Any:
        return np.sqrt(self.rate)


class ByHand:
    __slots__ = ("rate",)

    def __init__(self, rate: float) -> None:
        self.rate = rate


class Pair(NamedTuple):
    a: float = 1.0
    b: float = 2.0

    def total(self) -> Any:
        return np.sqrt(self.a + self.b)


class Vector:
    """A class with operators."""

    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y

    def __add__(self, other: Vector) -> Vector:
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, k: Any) -> Vector:
        return Vector(self.x * k, self.y * k)

    __rmul__ = __mul__

    def __matmul__(self, other: Vector) -> Any:
        return self.x * other.x + self.y * other.y

    def __neg__(self) -> Vector:
        return Vector(-self.x, -self.y)

    def __iter__(self) -> Iterator[Any]:
        yield self.x
        yield self.y

    def __len__(self) -> int:
        return 2

    def __getitem__(self, k: int) -> Any:
        return (self.x, self.y)[k]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vector) and self.x is other.x

    def __hash__(self) -> int:
        return 1

    def __abs__(self) -> Any:
        return np.sqrt(self @ self + 1e-3)


class Positive:
    """A descriptor."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = "_" + name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return abs(getattr(instance, self.name))

    def __set__(self, instance: Any, value: float) -> None:
        setattr(instance, self.name, value)


class Described:
    rate: Any = Positive()

    def __init__(self, rate: float) -> None:
        self.rate = rate


class Lazy:
    """A class whose attributes are computed."""

    def __init__(self) -> None:
        self.table = {"width": 4.0}

    def __getattr__(self, name: str) -> Any:
        if name == "width":
            return self.table["width"]
        raise AttributeError(name)


class Scope:
    """A context manager."""

    def __init__(self, scale: float = 2.0) -> None:
        self.scale = scale

    def __enter__(self) -> float:
        return np.sqrt(self.scale)

    def __exit__(self, *error: object) -> None:
        return None


class Node:
    """A tree of objects."""

    def __init__(self, value: float, *children: Node) -> None:
        self.value, self.children = value, children

    def total(self, x: Any) -> Any:
        return np.sqrt(self.value) * x + sum(child.total(x) for child in self.children)


class Chain(list):
    """A list of layers."""

    def __call__(self, x: Any) -> Any:
        for layer in self:
            x = layer(x)
        return x / np.sqrt(len(self))


class Config(dict):
    """A dict whose items are attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Registered:
    registry: ClassVar[dict[str, type]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Registered.registry[cls.__name__] = cls

    def apply(self, x: Any) -> Any:
        return x * np.sqrt(2)


class One(Registered):
    def apply(self, x: Any) -> Any:
        return super().apply(x) + np.log(3)


class ModelError(ValueError):
    def __init__(self, why: str, code: int = 3) -> None:
        super().__init__(why)
        self.code = code


def loss(x: Any) -> Any:
    return np.sum(x**2) * RATE + np.log(2 * np.pi) + constants.LOG_TWO_PI


def mixture(x: Any) -> Any:
    return logsumexp(np.array([0.0, 1.0])) * x * TABLE["a"]


def checked(x: Any) -> Any:
    if x.ndim != 1:
        raise ModelError(f"one dimension expected, {x.ndim} came")
    log.debug("checked %s", x.shape)
    if x.shape[0] > 100:
        warnings.warn("long", stacklevel=2)
    return x * np.sqrt(8)


def numbers(n: int) -> Iterator[Any]:
    for k in range(n):
        yield np.sqrt(k + 1.0)


def handled(x: Any, table: dict[str, Any]) -> Any:
    try:
        width = table["width"]
    except KeyError:
        width = np.sqrt(table["model"]["width"])
    finally:
        pass
    assert width > 0, f"{width} is not positive"
    return checked(x) * width
