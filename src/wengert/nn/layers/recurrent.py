"""Recurrent layers: a cell, in a plain Python loop over time. Inputs are [batch, time, features].

What a step needs of its input alone is one product for all times, before the loop.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import special

import wengert as wg
from wengert.nn.layers.base import Array, DType, Generator, Layer, Params, Spec, entry


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class Recurrent(Layer):
    """This base class has ``layers`` cells one above the other, for both directions of time if ``bidirectional``.

    ``apply(params, state, x)`` returns [batch, time, width] (twice the width, if bidirectional): what the last layer
    carried after each time. ``apply(params, state, x, carry)`` begins with a carry and returns ``(y, carry)``: a tuple
    with one a layer and direction, each of what the cell carries, [batch, width].

    ``params["layers"]["0"]`` are ``w`` [gates · width, in], ``u`` [gates · width, width] and ``b``; of the way back in
    time, under ``"0 reversed"``. They begin uniform in ±1/√width.
    """

    width: int
    layers: int = 1
    bidirectional: bool = False

    GATES: ClassVar[int] = 1
    CARRIED: ClassVar[int] = 1

    def names(self) -> list[str]:
        """Return the names of the cells, in the order of the carry."""
        ways = ["", " reversed"] if self.bidirectional else [""]
        return [f"{k}{way}" for k in range(self.layers) for way in ways]

    def init(self, rng: Generator, *xs: Array | Spec, dtype: DType = "float32") -> tuple[Params, Params]:
        x, rng = xs[0], np.random.default_rng(rng)
        if x.ndim != 3:
            raise wg.errors.ShapeError(
                wg.errors.message(f"{self}: x is [{', '.join(map(str, x.shape))}]; expected [batch, time, features]")
            )
        bound = 1 / math.sqrt(self.width)
        rows, made = self.GATES * self.width, {}
        for name in self.names():
            width = x.shape[2] if name.startswith("0") else self.width * (1 + self.bidirectional)
            shapes = {"w": (rows, width), "u": (rows, self.width), **self._biases()}
            made[name] = {k: rng.uniform(-bound, bound, shape).astype(dtype) for k, shape in shapes.items()}
        return {"layers": made}, {}

    def _biases(self) -> dict[str, tuple[int, ...]]:
        return {"b": (self.GATES * self.width,)}

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        x, *begins = xs
        names = self.names()
        if begins and len(begins[0]) != len(names):
            raise wg.errors.StructureError(
                wg.errors.message(f"{self}: a carry of {len(begins[0])} cells; expected {len(names)}")
            )
        carried = dict(zip(names, begins[0], strict=True)) if begins else {}
        ways = ["", " reversed"] if self.bidirectional else [""]
        ends = []
        for k in range(self.layers):
            outputs = []
            for way in ways:
                cell = entry(self, params, "layers")[f"{k}{way}"]
                y, end = self._along(cell, x, carried.get(f"{k}{way}"), way != "")
                outputs.append(y)
                ends.append(end)
            x = outputs[0] if len(outputs) == 1 else np.concatenate(outputs, -1)
        return ((x, tuple(ends)) if begins else x), state

    def _along(self, cell: Params, x: Array, carry: Any, is_reversed: bool) -> tuple[Array, Any]:
        """Return what one cell gives over all times, and its last carry."""
        if carry is None:
            zeros = np.zeros((x.shape[0], self.width), x.dtype)
            carry = zeros if self.CARRIED == 1 else (zeros,) * self.CARRIED
        of_x = x @ cell["w"].T + cell["b"]
        times = range(x.shape[1])
        found = []
        for t in reversed(times) if is_reversed else times:
            carry = self.step(cell, of_x[:, t], carry)
            found.append(carry if self.CARRIED == 1 else carry[0])
        return np.stack(found[::-1] if is_reversed else found, 1), carry

    def step(self, cell: Params, of_x: Array, carry: Any) -> Any:
        """Return the next carry; ``of_x`` is what the cell's weights and bias make of the input."""
        raise NotImplementedError


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class RNN(Recurrent):
    """This layer computes h' = activation(w x + u h + b) of one time after another, with the x of each time.

    float[batch, time, in] -> float[batch, time, width]. Source: Elman (1990), Finding structure in time.

    Parameters
    ----------
    width : how many numbers a cell carries.
    layers : how many cells stand one above the other.
    bidirectional : whether there are cells backward in time as well, whose outputs stand beside the others.
    activation : an elementwise function.

    With a carry as second input the result is ``(y, carry)``: a tuple with h [batch, width] for each cell.

    Raises
    ------
    ShapeError : the input is not [batch, time, features].
    StructureError : the carry has another number of cells.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> cell = {"w": np.ones((1, 1)), "u": np.ones((1, 1)), "b": np.zeros(1)}
    >>> x = np.array([[[1.0], [2.0], [3.0]]])
    >>> nn.RNN(1, activation=nn.identity).apply({"layers": {"0": cell}}, {}, x)[0]  # adds up
    array([[[1.],
            [3.],
            [6.]]])
    """

    activation: Callable[[Any], Any] = np.tanh

    def step(self, cell: Params, of_x: Array, carry: Any) -> Any:
        return self.activation(of_x + carry @ cell["u"].T)


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class LSTM(Recurrent):
    """This layer is a long short-term memory: float[batch, time, in] -> float[batch, time, width].

    i, f, g, o = w x + u h + b;  c' = σ(f) c + σ(i) tanh(g);  h' = σ(o) tanh(c').  It carries (h, c).
    Source: Hochreiter & Schmidhuber (1997); with a forget gate, Gers et al. (2000).

    Parameters
    ----------
    width : how many numbers h has.
    layers : how many cells stand one above the other.
    bidirectional : whether there are cells backward in time as well, whose outputs stand beside the others.

    With a carry as second input the result is ``(y, carry)``: a tuple with (h, c), each [batch, width], for each cell.

    Raises
    ------
    ShapeError : the input is not [batch, time, features].
    StructureError : the carry has another number of cells.

    Examples
    --------
    >>> import wengert as wg
    >>> from wengert import nn
    >>> layer = nn.LSTM(14, layers=2)
    >>> params, state = layer.init(0, wg.spec((1, 100, 5), "float32"))
    >>> wg.spec_of(layer.apply)(params, state, wg.spec((32, 10, 5), "float32"))[0]
    float32[32, 10, 14]
    """

    GATES: ClassVar[int] = 4
    CARRIED: ClassVar[int] = 2

    def step(self, cell: Params, of_x: Array, carry: Any) -> Any:
        h, c = carry
        gates = of_x + h @ cell["u"].T
        i, f, g, o = [gates[:, k * self.width : (k + 1) * self.width] for k in range(4)]
        c = special.expit(f) * c + special.expit(i) * np.tanh(g)
        return special.expit(o) * np.tanh(c), c


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class GRU(Recurrent):
    """This layer has gated recurrent units: float[batch, time, in] -> float[batch, time, width].

    r, z = σ(w x + u h + b);  n = tanh(wₙ x + bₙ + r (uₙ h + c));  h' = (1 − z) n + z h.  ``c`` is a parameter too.
    Source: Cho et al. (2014), arXiv:1406.1078, with the reset after the product.

    Parameters
    ----------
    width : how many numbers h has.
    layers : how many cells stand one above the other.
    bidirectional : whether there are cells backward in time as well, whose outputs stand beside the others.

    With a carry as second input the result is ``(y, carry)``: a tuple with h [batch, width] for each cell.

    Raises
    ------
    ShapeError : the input is not [batch, time, features].
    StructureError : the carry has another number of cells.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> from wengert import nn
    >>> layer = nn.GRU(4)
    >>> params, state = layer.init(0, wg.spec((2, 5, 3), "float32"))
    >>> x, h = np.ones((2, 5, 3), np.float32), np.zeros((2, 4), np.float32)
    >>> (y, (h,)), state = layer.apply(params, state, x, (h,))
    >>> y.shape, bool(np.all(y[:, -1] == h))
    ((2, 5, 4), True)
    """

    GATES: ClassVar[int] = 3

    def _biases(self) -> dict[str, tuple[int, ...]]:
        return {"b": (3 * self.width,), "c": (self.width,)}

    def step(self, cell: Params, of_x: Array, carry: Any) -> Any:
        n = 2 * self.width
        of_h = carry @ cell["u"].T
        gates = special.expit(of_x[:, :n] + of_h[:, :n])
        r, z = gates[:, : self.width], gates[:, self.width :]
        new = np.tanh(of_x[:, n:] + r * (of_h[:, n:] + cell["c"]))
        return (1 - z) * new + z * carry
