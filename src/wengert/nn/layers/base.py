"""A layer is two pure functions, one that makes parameters and one that uses them.

``init(rng, *xs)`` returns ``(params, state)`` for inputs like ``xs``, arrays or :func:`wengert.spec`; ``apply(params,
state, *xs, train=False)`` returns ``(y, new_state)``. Both are nested dicts of arrays, ``{}`` where there are none. The
layer itself holds no array: it is a frozen dataclass, so that equal ones are equal, and can be a key.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

import wengert as wg
from wengert.nn.params import Array

DType = DTypeLike
"""A dtype, by any of its names."""
Spec = Any
"""Shape and dtype, as ``wg.spec`` returns them."""
Params = dict[str, Any]
Generator = np.random.Generator | int
"""A generator of random numbers, or the seed of one."""


class Layer:
    """This is the base class of layers: frozen dataclasses of what their author chose, widths, an activation, a stride.

    A class of your own has the methods ``init`` and ``apply``, or ``apply`` alone if it has no parameters.

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from wengert import nn
    >>> @dataclass(frozen=True, repr=False)
    ... class Shift(nn.Layer):
    ...     by: float = 1.0
    ...
    ...     def init(self, rng, *xs, dtype="float32"):
    ...         return {"b": np.full(xs[0].shape[-1], self.by, dtype)}, {}
    ...
    ...     def apply(self, params, state, *xs, train=False):
    ...         return xs[0] + params["b"], state
    >>> model = nn.Chain(nn.relu, Shift(3.0))
    >>> params, state = model.init(0, np.zeros((1, 2)), dtype="float64")
    >>> model, model.apply(params, state, np.array([[-1.0, 2.0]]))[0]
    (Chain(relu, Shift(by=3.0)), array([[3., 5.]]))
    """

    def init(self, rng: Generator, *xs: Array | Spec, dtype: DType = "float32") -> tuple[Params, Params]:
        """Return parameters and state for inputs of the shapes of ``xs``."""
        return {}, {}

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        """Return the output, and the state of the next call."""
        raise wg.errors.StructureError(
            wg.errors.message(
                f"{type(self).__name__} has no apply", tries=["def apply(self, params, state, *xs, train=False)"]
            )
        )

    def __repr__(self) -> str:
        """Return the layer as it is written: what has to be said, and what is not as usual."""
        shown = []
        for field in dataclasses.fields(self):  # pyright: ignore[reportArgumentType]
            value = getattr(self, field.name)
            if field.default is dataclasses.MISSING:
                shown.append(_words(value))
            elif _words(value) != _words(field.default):  # a function that is being traced is a copy
                shown.append(f"{field.name}={_words(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"


def entry(layer: Layer, params: Params, name: str) -> Any:
    """Return ``params[name]``. Raises where there is none, as in the parameters of another layer."""
    if name not in params:
        has = ", ".join(map(str, params)) or "nothing"
        what = f"{layer!r}: params has no {name!r}; it has {has}"
        raise wg.errors.StructureError(wg.errors.message(what, tries=["the params that its init returned"]))
    return params[name]


def _words(value: Any) -> str:
    return getattr(value, "__name__", repr(value))


@wg.expect.checked_class
@dataclasses.dataclass(frozen=True, repr=False)
class FunctionLayer(Layer):
    """This layer is a plain function, and has no parameters."""

    function: Callable[..., Any]

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        return self.function(*xs), state

    def __repr__(self) -> str:
        return _words(self.function)


@wg.expect.checked
def as_layer(part: Any) -> Any:
    """Return ``part`` if it has ``init`` and ``apply``, and a function as a layer without parameters.

    Raises
    ------
    StructureError : it is neither.

    Examples
    --------
    >>> from wengert import nn
    >>> nn.as_layer(nn.relu)
    relu
    >>> nn.as_layer(nn.max_pool(2))
    max_pool(2)
    """
    if hasattr(part, "init") and hasattr(part, "apply"):
        return part
    if callable(part):
        return FunctionLayer(part)
    raise wg.errors.StructureError(
        wg.errors.message(
            f"{wg.expect.given(part)} is no layer", tries=["a function of arrays", "an object with init and apply"]
        )
    )
