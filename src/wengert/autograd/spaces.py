"""Vector spaces: what ``vspace(x)`` says of an array, a number, or a container of these."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from wengert.tracing.tracer import Tracer
from wengert.tree.containers import flatten_containers, map_containers


class VSpace:
    """The vector space that a value lies in; complex numbers are pairs of reals here."""

    mappings: ClassVar[dict[type, Callable[..., Any]]] = {}
    iscomplex: Any = False
    shape: Any = ()

    def __init__(self, value: object) -> None:
        pass

    zeros: Any = lambda self: 0.0
    add: Any = lambda self, x, y: x + y
    mut_add: Any = lambda self, x, y: self.add(self.zeros() if x is None else x, y)
    scalar_mul: Any = lambda self, x, a: x * a
    inner_prod: Any = lambda self, x, y: np.real(np.dot(np.conj(np.ravel(x)), np.ravel(y)))
    covector: Any = lambda self, x: np.conj(x) if self.iscomplex else x
    __eq__: Any = lambda self, other: type(self) is type(other) and self.__dict__ == other.__dict__
    __repr__ = lambda self: f"{type(self).__name__}_{self.__dict__}"

    @classmethod
    def register(cls, value_type: type, vspace_maker: Callable[..., Any] | None = None) -> None:
        """Let values of a type lie in this space, or in the one that ``vspace_maker(value)`` returns."""
        VSpace.mappings[value_type] = vspace_maker or cls


class ArrayVSpace(VSpace):
    """The real arrays of one shape and dtype."""

    units: tuple[complex, ...] = (1.0,)

    def __init__(self, value: Any) -> None:
        self.shape, self.dtype = np.shape(value), np.result_type(value)

    ndim = property(lambda self: len(self.shape))
    size: Any = property(lambda self: int(np.prod(self.shape)) * len(self.units))
    zeros = lambda self: np.zeros(self.shape, self.dtype)
    ones = lambda self: np.full(self.shape, sum(self.units), self.dtype)
    _normal = lambda self: np.array(np.random.randn(*self.shape))  # noqa: NPY002  # which np.random.seed seeds
    randn = lambda self: np.asarray(sum([self._normal() * unit for unit in self.units])).astype(self.dtype)

    def standard_basis(self) -> Iterator[Any]:
        """Yield the unit vectors."""
        for index in np.ndindex(*self.shape):
            for unit in self.units:
                vector = np.zeros(self.shape, self.dtype)
                vector[index] = unit
                yield vector


class ComplexArrayVSpace(ArrayVSpace):
    """The complex arrays of one shape and dtype."""

    iscomplex, units = True, (1.0, 1.0j)


class ContainerVSpace(VSpace):
    """The product of the spaces of what a container holds; ``shape`` is the container of these."""

    def __init__(self, value: Any) -> None:
        self.shape = map_containers(vspace, value)

    _map = lambda self, f, *values: map_containers(f, self.shape, *values)
    _parts: Any = lambda self, f, *values: flatten_containers(self._map(f, *values))[0]
    size: Any = property(lambda self: sum(self._parts(lambda vs: vs.size)))
    iscomplex = property(lambda self: any(self._parts(lambda vs: vs.iscomplex)))
    zeros = lambda self: self._map(lambda vs: vs.zeros())
    ones = lambda self: self._map(lambda vs: vs.ones())
    randn = lambda self: self._map(lambda vs: vs.randn())
    add = lambda self, x, y: self._map(lambda vs, a, b: vs.add(a, b), x, y)
    scalar_mul = lambda self, x, a: self._map(lambda vs, b: vs.scalar_mul(b, a), x)
    inner_prod = lambda self, x, y: sum(self._parts(lambda vs, a, b: vs.inner_prod(a, b), x, y))
    covector = lambda self, x: self._map(lambda vs, a: vs.covector(a), x)

    def standard_basis(self) -> Iterator[Any]:
        """Yield the unit vectors."""
        spaces: list[Any] = self._parts(lambda vs: vs)
        for k, vs in enumerate(spaces):
            for unit in vs.standard_basis():
                parts = [unit if j == k else other.zeros() for j, other in enumerate(spaces)]
                yield flatten_containers(self.shape)[1].unflatten(parts)


class SparseObject:
    """A cotangent that adds itself to an array: ``mut_add(x)`` returns the sum."""

    def __init__(self, vs: VSpace, mut_add: Callable[[Any], Any]) -> None:
        self.vs, self.mut_add = vs, mut_add


def vspace(value: object) -> Any:
    """Return the vector space of a value: an array, a float or complex number, or a list, tuple or dict of these."""
    maker = VSpace.mappings.get(value.seen_class() if type(value) is Tracer else type(value))
    if maker is None and not (isinstance(value, tuple) and hasattr(value, "_fields")):
        types = VSpace.mappings.keys()
        raise TypeError(f"Can't find vector space for value {value} of type {type(value)}. Valid types are {types}")
    return (maker or ContainerVSpace)(value)


VSpace.register(SparseObject, lambda x: x.vs)
VSpace.register(np.ndarray, lambda x: ComplexArrayVSpace(x) if np.iscomplexobj(x) else ArrayVSpace(x))
for _type in (float, np.longdouble, np.float64, np.float32, np.float16):
    ArrayVSpace.register(_type)
for _type in (complex, np.clongdouble, np.complex64, np.complex128):
    ComplexArrayVSpace.register(_type)
for _type in (list, tuple, dict):
    ContainerVSpace.register(_type)
