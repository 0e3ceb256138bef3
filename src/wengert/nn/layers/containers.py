"""Layers made of layers. Each part finds its parameters and its state under its name; one that has none is left out.

An error in a part says where it stands, what it is, and what it said.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import wengert as wg
from wengert.nn.initialisers import initialiser
from wengert.nn.layers.base import Array, DType, Generator, Layer, Params, Spec, as_layer


class AppliedParts:
    """This object applies the parts of one call, finds their parameters by name, and places their errors."""

    def __init__(self, params: Params, state: Params, train: bool, owner: Any, names: Any, prefix: str = "") -> None:
        self.params, self.state, self.train, self.prefix = params, state, train, prefix
        self.new_state: Params = {}
        self.has_warned = False
        unknown = [name for name in params if name not in names]
        if unknown:
            raise wg.errors.StructureError(
                wg.errors.message(
                    f"{type(owner).__name__}: params has {', '.join(map(repr, unknown))}, and there is no such part",
                    notes=[("parts", ", ".join(names))],
                    tries=["parameters that this model's init made"],
                )
            )

    def apply(self, name: str, part: Any, *xs: Array) -> Any:
        """Return what a part makes of its inputs."""
        params, state, watch = self.params.get(name, {}), self.state.get(name, {}), _watch.get()
        if not self.has_warned and not _is_inside.get():
            self.has_warned = _warned_of_promotion(self.prefix + name, part, params, xs)
        if watch is not None:
            watch.path.append(self.prefix + name)
        with Placed(self.prefix + name, part, xs), _inside():
            y, new = part.apply(params, state, *xs, train=self.train)
            if watch is not None:
                watch.see(".".join(watch.path), part, params, state, xs, y)
                watch.path.pop()
        if new:
            self.new_state[name] = new
        return y


_is_inside: ContextVar[bool] = ContextVar("whether a part of a container is being applied", default=False)


@contextmanager
def _inside() -> Iterator[None]:
    token = _is_inside.set(True)
    try:
        yield
    finally:
        _is_inside.reset(token)


def _warned_of_promotion(path: str, part: Any, params: Params, xs: tuple[Any, ...]) -> bool:
    """Return whether a part's input and its parameters are floats of different precision, and warn if they are.

    Such a part makes the wider one of both of everything that follows.
    """
    narrow = {x.dtype.name for x in xs if hasattr(x, "dtype") and x.dtype.kind == "f"}
    own = {x.dtype.name for x in wg.tree.leaves(params) if hasattr(x, "dtype") and x.dtype.kind == "f"}
    if not narrow or not own or narrow | own == narrow & own:
        return False
    warnings.warn(
        f"{path} {part!r}: the input is {', '.join(sorted(narrow))}, the parameters are {', '.join(sorted(own))}, so "
        "all that follows is float64: write x.astype(np.float32), or init(..., dtype=)",
        wg.PerformanceWarning,
        stacklevel=_to_the_user(),
    )
    return True


def _to_the_user() -> int:
    """Return how many frames up the first caller stands that is none of these files."""
    frame, level = sys._getframe(1), 1
    while frame is not None and frame.f_globals.get("__name__", "").startswith("wengert."):
        frame, level = frame.f_back, level + 1
    return level


class Watch:
    """This object is told of every part that is applied within :func:`watching`: where it stands, and what it made."""

    def __init__(self, see: Callable[[str, Any, Params, Params, tuple[Any, ...], Any], None]) -> None:
        self.see, self.path = see, list[str]()


_watch: ContextVar[Watch | None] = ContextVar("who is told of the parts that are applied", default=None)


@contextmanager
def watching(see: Callable[[str, Any, Params, Params, tuple[Any, ...], Any], None]) -> Iterator[None]:
    """Call ``see(path, part, params, state, inputs, output)`` for each part that is applied, inner ones first."""
    token = _watch.set(Watch(see))
    try:
        yield
    finally:
        _watch.reset(token)


def check_finite(path: str, part: Any, params: Params, state: Params, xs: tuple[Any, ...], y: Any) -> None:
    """Raise NonFiniteError for a part whose output is not finite. Not for compiled code."""
    for x in as_inputs(y):
        if hasattr(x, "dtype") and x.dtype.kind in "fc" and not np.all(np.isfinite(x)):
            bad = int(np.sum(~np.isfinite(x)))
            raise wg.errors.NonFiniteError(wg.errors.message(f"{bad} of {x.size} numbers that it makes are not finite"))


class Placed:
    """This context adds to errors that come out of it in which part, by its path, they arose."""

    def __init__(self, name: str, part: Any, xs: tuple[Array, ...]) -> None:
        self.name, self.part, self.xs = name, part, xs

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: Any) -> None:
        if isinstance(error, KeyError) and not hasattr(error, "layer_path"):
            missing = wg.errors.StructureError(
                wg.errors.message(
                    f"params and state have no {error}", tries=["the params and state that this model's init returned"]
                )
            )
            self._place(missing)
            raise missing from None
        if isinstance(error, Exception):
            self._place(error)

    def _place(self, error: Any) -> None:
        inner = getattr(error, "layer_path", None)
        if inner is None:
            error.layer_said = str(error)
            error.layer_words = f"{self.part!r} of {', '.join(_words(x) for x in self.xs)}"
        error.layer_path = self.name if inner is None else f"{self.name}.{inner}"
        if isinstance(error, wg.errors.WengertError):
            placed: Any = error
            error.args = (f"{placed.layer_path} {placed.layer_words}: {placed.layer_said}",)
        elif inner is None:
            error.add_note(f"in the part {error.layer_words}")


def _words(x: Array) -> str:
    return f"{x.dtype}[{', '.join(map(str, x.shape))}]" if hasattr(x, "dtype") else repr(x)


def as_inputs(y: Any) -> tuple[Any, ...]:
    """Return the inputs of the next layer: several arrays if the one before made a tuple."""
    return y if isinstance(y, tuple) else (y,)


def specs(xs: Any) -> tuple[Any, ...]:
    return tuple([wg.spec(x.shape, x.dtype) if hasattr(x, "dtype") else x for x in xs])


class Inits:
    """This object makes parameters and state of parts, one after the other."""

    def __init__(self, rng: Generator, dtype: Any, prefix: str = "") -> None:
        self.rng, self.dtype, self.prefix = np.random.default_rng(rng), dtype, prefix
        self.params: Params = {}
        self.state: Params = {}
        self.made: set[str] = set()

    def init(self, name: str, part: Any, *xs: Array) -> Any:
        """Make the parameters and state of a part, and return the specs of its output."""
        with Placed(self.prefix + name, part, xs), _inside():
            params, state = part.init(self.rng, *xs, dtype=self.dtype)
            y, _ = wg.spec_of(part.apply)(params, state, *xs)
        self.made.add(name)
        if params:
            self.params[name] = params
        if state:
            self.state[name] = state
        return y

    def param(self, name: str, shape: Any, begins: Any) -> None:
        """Make one array."""
        self.made.add(name)
        self.params[name] = initialiser(begins)(self.rng, shape, self.dtype)

    def under(self, name: str) -> tuple[Params, Params]:
        return ({name: self.params} if self.params else {}), ({name: self.state} if self.state else {})


def _named(parts: tuple[Any, ...], by_name: dict[str, Any]) -> dict[str, Any]:
    if parts and by_name:
        raise wg.errors.StructureError(wg.errors.message("either all parts have names, or none of them has"))
    return {name: as_layer(part) for name, part in (by_name or {str(k): p for k, p in enumerate(parts)}).items()}


@wg.expect.checked_class
class _Container(Layer):
    """This layer has several parts, numbered or named, under ``layers``."""

    parts: dict[str, Any]

    def __init__(self, *parts: Any, **by_name: Any) -> None:
        object.__setattr__(self, "parts", _named(parts, by_name))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), *self.parts.items()))

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.parts.values())

    def __repr__(self) -> str:
        is_numbered = list(self.parts) == [str(k) for k in range(len(self.parts))]
        words = [repr(p) if is_numbered else f"{name}={p!r}" for name, p in self.parts.items()]
        return f"{type(self).__name__}({', '.join([*words, *self._options()])})"

    def _options(self) -> list[str]:
        return []

    def _parts(self, params: Params, state: Params, train: bool) -> AppliedParts:
        if params.keys() - {"layers"}:
            AppliedParts(params, state, train, self, ["layers"])
        return AppliedParts(params.get("layers", {}), state.get("layers", {}), train, self, self.parts, "layers.")


@wg.expect.checked_class
class Chain(_Container):
    """This layer applies its parts one after the other; a tuple is several inputs of the next.

    Parameters
    ----------
    parts : layers, and functions of arrays. All have names, or none has.

    ``params["layers"]["3"]`` are the parameters of part number 3; parts given by name have theirs under that.
    ``chain[1]``, ``chain["name"]`` is a part, ``chain[1:]`` a chain of parts, numbered anew.

    Raises
    ------
    StructureError : a part is no layer; some have names and some not; parameters are of another model.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> from wengert import nn
    >>> model = nn.Chain(nn.Dense(5, np.tanh), nn.Dense(2))
    >>> params, state = model.init(0, wg.spec((1, 3), "float32"))
    >>> y, state = model.apply(params, state, np.ones((4, 3), np.float32))
    >>> y.shape, list(nn.paths(params))
    ((4, 2), ['layers.0.w', 'layers.0.b', 'layers.1.w', 'layers.1.b'])
    """

    def init(self, rng: Generator, *xs: Array | Spec, dtype: DType = "float32") -> tuple[Params, Params]:
        made, given = Inits(rng, dtype, "layers."), specs(xs)
        for name, part in self.parts.items():
            given = as_inputs(made.init(name, part, *given))
        return made.under("layers")

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        parts = self._parts(params, state, train)
        y: Any = xs if len(xs) != 1 else xs[0]
        for name, part in self.parts.items():
            y = parts.apply(name, part, *as_inputs(y))
        return y, ({"layers": parts.new_state} if parts.new_state else {})

    def __getitem__(self, which: Any) -> Any:
        """Return a part by its number or name; of a slice, the chain of those parts, which are numbered anew."""
        if isinstance(which, slice):
            names = list(self.parts)[which]
            is_numbered = list(self.parts) == [str(k) for k in range(len(self.parts))]
            return Chain(*[self.parts[n] for n in names]) if is_numbered else Chain(**{n: self.parts[n] for n in names})
        return self.parts[which] if isinstance(which, str) else list(self.parts.values())[which]


@wg.expect.checked_class
class Branch(_Container):
    """This layer gives the same inputs to each part, and returns their outputs as a tuple, or combined.

    Parameters
    ----------
    parts : layers, and functions of arrays. All have names, or none has.
    combine : what makes one result of the outputs of all parts, ``combine(*ys)``.

    Raises
    ------
    StructureError : a part is no layer; some have names and some not; parameters are of another model.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.Branch(np.sin, np.cos, combine=np.add).apply({}, {}, np.zeros(2))[0]
    array([1., 1.])
    """

    combine: Callable[..., Any] | None

    def __init__(self, *parts: Any, combine: Callable[..., Any] | None = None, **by_name: Any) -> None:
        super().__init__(*parts, **by_name)
        object.__setattr__(self, "combine", combine)

    def _options(self) -> list[str]:
        return [] if self.combine is None else [f"combine={getattr(self.combine, '__name__', self.combine)}"]

    def _inputs(self, xs: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return [xs] * len(self.parts)

    def init(self, rng: Generator, *xs: Array | Spec, dtype: DType = "float32") -> tuple[Params, Params]:
        made = Inits(rng, dtype, "layers.")
        for (name, part), given in zip(self.parts.items(), self._inputs(specs(xs)), strict=True):
            made.init(name, part, *given)
        return made.under("layers")

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        parts = self._parts(params, state, train)
        ys = [
            parts.apply(name, part, *given)
            for (name, part), given in zip(self.parts.items(), self._inputs(xs), strict=True)
        ]
        new_state = {"layers": parts.new_state} if parts.new_state else {}
        return (tuple(ys) if self.combine is None else self.combine(*ys)), new_state


@wg.expect.checked_class
class Parallel(Branch):
    """This layer gives each part an input of its own, and returns their outputs as a tuple, or combined.

    Parameters
    ----------
    parts : layers, and functions of arrays. All have names, or none has.
    combine : what makes one result of the outputs of all parts, ``combine(*ys)``.

    Raises
    ------
    StructureError : there are not as many inputs as parts; and as :class:`Branch`.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.Parallel(np.negative, np.exp).apply({}, {}, np.ones(2), np.zeros(2))[0]
    (array([-1., -1.]), array([1., 1.]))
    """

    def _inputs(self, xs: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        if len(xs) != len(self.parts):
            raise wg.errors.StructureError(
                wg.errors.message(
                    f"Parallel: {len(xs)} inputs for {len(self.parts)} parts",
                    tries=["nn.Branch, which gives one input to all of its parts"],
                )
            )
        return [(x,) for x in xs]


@wg.expect.checked_class
class Maxout(Branch):
    """This layer returns the greatest of what its parts make of its inputs, elementwise.

    Source: Goodfellow et al. (2013), Maxout networks, arXiv:1302.4389.

    Parameters
    ----------
    parts : layers, and functions of arrays, whose outputs have one shape. All have names, or none has.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.Maxout(nn.identity, np.negative).apply({}, {}, np.array([-2.0, 1.0]))[0]
    array([2., 1.])
    """

    def __init__(self, *parts: Any, **by_name: Any) -> None:
        super().__init__(*parts, combine=_greatest, **by_name)

    def _options(self) -> list[str]:
        return []


def _greatest(*ys: Array) -> Array:
    y = ys[0]
    for other in ys[1:]:
        y = np.maximum(y, other)
    return y


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class SkipConnection(Layer):
    """This layer returns ``combine(layer(x), x)``: the output of another layer plus its input, if not told otherwise.

    Parameters
    ----------
    layer : a layer, or a function of arrays; its parameters are under ``layer``.
    combine : a function of the output and the input.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.SkipConnection(nn.relu).apply({}, {}, np.array([-1.0, 2.0]))[0]
    array([-1.,  4.])
    """

    layer: Any
    combine: Callable[..., Any] = np.add

    def init(self, rng: Generator, *xs: Array | Spec, dtype: DType = "float32") -> tuple[Params, Params]:
        made = Inits(rng, dtype)
        made.init("layer", as_layer(self.layer), *specs(xs))
        return made.params, made.state

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        parts = AppliedParts(params, state, train, self, ["layer"])
        y = parts.apply("layer", as_layer(self.layer), *xs)
        return self.combine(y, *xs), parts.new_state


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class Repeat(Layer):
    """This layer applies another one ``times`` times, each time to what it made before.

    Parameters
    ----------
    layer : a layer, or a function of arrays, whose outputs can be its inputs.
    times : how often.
    shared : whether all have one set of parameters, under ``layer``; otherwise each has its own, under ``layers``.

    Examples
    --------
    >>> import wengert as wg
    >>> from wengert import nn
    >>> params, state = nn.Repeat(nn.Dense(6), 2).init(0, wg.spec((5, 6), "float32"))
    >>> list(nn.paths(params))
    ['layers.0.w', 'layers.0.b', 'layers.1.w', 'layers.1.b']
    >>> params, state = nn.Repeat(nn.Dense(6), 2, shared=True).init(0, wg.spec((5, 6), "float32"))
    >>> list(nn.paths(params))
    ['layer.w', 'layer.b']
    """

    layer: Any
    times: int
    shared: bool = False

    def init(self, rng: Generator, *xs: Array | Spec, dtype: DType = "float32") -> tuple[Params, Params]:
        made, given = Inits(rng, dtype), specs(xs)
        if self.shared:
            made.init("layer", as_layer(self.layer), *given)
            return made.params, made.state
        for k in range(self.times):
            given = as_inputs(made.init(str(k), as_layer(self.layer), *given))
        return made.under("layers")

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        layer = as_layer(self.layer)
        y: Any = xs if len(xs) != 1 else xs[0]
        if self.shared:
            for _ in range(self.times):
                parts = AppliedParts(params, state, train, self, ["layer"])
                y = parts.apply("layer", layer, *as_inputs(y))
                state = parts.new_state
            return y, state
        names = [str(k) for k in range(self.times)]
        parts = AppliedParts(params.get("layers", {}), state.get("layers", {}), train, self, names, "layers.")
        for name in names:
            y = parts.apply(name, layer, *as_inputs(y))
        return y, ({"layers": parts.new_state} if parts.new_state else {})


# ------------------------------------------------------------------------------------------- a layer as a function


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class Compact(Layer):
    """This layer is a function that :func:`compact` decorates."""

    function: Callable[..., Any]
    name: str = field(default="")

    def init(self, rng: Generator, *xs: Array | Spec, dtype: DType = "float32") -> tuple[Params, Params]:
        made = Inits(rng, dtype)
        while True:  # once more for each part: what is made while a function is traced would be traced too
            try:
                wg.spec_of(lambda *given: self.function(_Making(made), *given))(*specs(xs))
                return made.params, made.state
            except _Missing as missing:
                missing.make(made)

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        using = _Using(params, state, train)
        y = self.function(using, *xs)
        return y, using.parts.new_state

    def __repr__(self) -> str:
        return self.function.__name__


class _Missing(Exception):
    """This is raised where a compact function asks for a part that has not been made; ``make`` makes it."""

    def __init__(self, make: Callable[[Inits], Any]) -> None:
        self.make = make


class _Making:
    """This is the first argument of a compact function while parameters are made."""

    train = False

    def __init__(self, made: Inits) -> None:
        self.made, self.seen = made, set[str]()

    def __call__(self, name: str, layer: Any, *xs: Array) -> Any:
        layer, given = as_layer(layer), specs(xs)
        self._see(name)
        if name not in self.made.made:
            raise _Missing(lambda made: made.init(name, layer, *given))
        return layer.apply(self.made.params.get(name, {}), self.made.state.get(name, {}), *xs)[0]

    def param(self, name: str, shape: Any, begins: Any = "zeros") -> Array:
        self._see(name)
        if name not in self.made.made:
            raise _Missing(lambda made: made.param(name, shape, begins))
        return self.made.params[name]

    def _see(self, name: str) -> None:
        if name in self.seen:
            raise wg.errors.StructureError(wg.errors.message(f"compact: two parts are called {name!r}"))
        self.seen.add(name)


class _Using:
    """This is the first argument of a compact function in every other call."""

    def __init__(self, params: Params, state: Params, train: bool) -> None:
        self.parts, self.train = AppliedParts(params, state, train, self, params), train

    def __call__(self, name: str, layer: Any, *xs: Array) -> Any:
        return self.parts.apply(name, as_layer(layer), *xs)

    def param(self, name: str, shape: Any, begins: Any = "zeros") -> Array:
        return self.parts.params[name]


@wg.expect.checked
def compact(function: Callable[..., Any]) -> Compact:
    """Return the layer that is written as a function ``f(part, *xs)``.

    In it ``part(name, layer, *xs)`` applies a layer with the parameters of that name, ``part.param(name, shape,
    "zeros")`` is one array of them, and ``part.train`` says whether it is training.

    Raises
    ------
    StructureError : two parts have one name.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> from wengert import nn
    >>> @nn.compact
    ... def block(part, x):
    ...     h = part("hidden", nn.Dense(8, np.tanh), x)
    ...     return x + part.param("gain", (), "ones") * part("out", nn.Dense(x.shape[-1]), h)
    >>> params, state = block.init(0, wg.spec((1, 3), "float32"))
    >>> sorted(params), block.apply(params, state, np.ones((2, 3), np.float32))[0].shape
    (['gain', 'hidden', 'out'], (2, 3))
    """
    return Compact(function)
