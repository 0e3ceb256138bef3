"""Convolutions against plain loops, their derivatives, and their adjoints."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import close
from wengert import nn
from wengert.errors import ShapeError
from wengert.nn.windows import paddings, per_axis, reach

SPACE = (7, 6, 5)


def loops(
    x: np.ndarray, w: np.ndarray, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> np.ndarray:
    """A convolution as its definition says it, element by element."""
    rank, outputs = x.ndim - 2, w.shape[0]
    stride, dilation = per_axis(stride, rank, "stride"), per_axis(dilation, rank, "dilation")
    lengths = reach(w.shape[2:], dilation)
    x = np.pad(x, [(0, 0), (0, 0), *paddings(padding, x.shape[2:], lengths, stride)])
    places = [(n - r) // s + 1 for n, r, s in zip(x.shape[2:], lengths, stride, strict=True)]
    y = np.zeros((len(x), outputs, *places))
    inputs, of_group = w.shape[1], outputs // groups
    for n, m, c in itertools.product(range(len(x)), range(outputs), range(inputs)):
        for place in np.ndindex(*places):
            for at in np.ndindex(*w.shape[2:]):
                here = [p * s + k * d for p, s, k, d in zip(place, stride, at, dilation, strict=True)]
                y[(n, m, *place)] += x[(n, m // of_group * inputs + c, *here)] * w[(m, c, *at)]
    return y


def problem(rank: int, groups: int = 1, dtype: str = "float64", kernel: Sequence[int] = (3, 2, 2)) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    shapes = [(2, 4, *SPACE[:rank]), (6, 4 // groups, *kernel[:rank]), (6,)]
    return tuple([rng.standard_normal(shape).astype(dtype) for shape in shapes])


WAYS = [
    {},
    dict(padding=1),
    dict(stride=2),
    dict(dilation=2),
    dict(stride=3, padding=2),
    dict(groups=2),
    dict(padding="same"),
    dict(stride=2, padding="same"),
    dict(stride=2, dilation=2, padding=2, groups=2),
]
in_ways = pytest.mark.parametrize("options", WAYS, ids=str)
in_dimensions = pytest.mark.parametrize("rank", [1, 2, 3])


@pytest.mark.sampled(3, "a tenth of a second each")
@in_dimensions
@in_ways
def test_conv_is_its_definition(rank: int, options: dict[str, Any]) -> None:
    x, w, b = problem(rank, options.get("groups", 1))
    want = loops(x, w, **options) + b.reshape(-1, *(1,) * rank)
    close(nn.conv(x, w, b, **options), want)
    close(wg.jit(lambda x, w, b: nn.conv(x, w, b, **options))(x, w, b), want)


def test_conv_with_other_numbers_an_axis() -> None:
    x, w, _ = problem(2)
    options = dict(stride=(1, 2), padding=((0, 1), (2, 0)), dilation=(2, 1))
    close(nn.conv(x, w, **options), loops(x, w, **options))


@pytest.mark.sampled(3, "a second each")
@pytest.mark.parametrize("options", [{}, dict(stride=2, padding="same"), dict(dilation=2, padding=2)], ids=str)
def test_depthwise(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((2, 3, 5, 6)), rng.standard_normal((6, 1, 3, 2))
    want = loops(x, w, groups=3, **options)
    close(nn.conv(x, w, groups=3, **options), want)
    close(wg.jit(lambda x, w: nn.conv(x, w, groups=3, **options))(x, w), want)
    wg.check_derivatives(lambda x, w: nn.conv(x, w, groups=3, **options), x, w)
    assert nn.conv(x[:0], w, groups=3, **options).shape == (0, *want.shape[1:])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("act", [np.tanh, lambda y: np.maximum(y, 0)], ids=["tanh", "relu"])
def test_bias_and_activation(act: Any, dtype: str) -> None:
    x, w, b = problem(2, dtype=dtype)
    want = act(loops(x, w, padding=1) + b[:, None, None])
    for y in (nn.conv_bias_act(act, x, w, b, padding=1), wg.jit(nn.conv_bias_act)(act, x, w, b, 1, 1)):
        assert y.dtype == dtype
        close(y, want, 1e-12 if dtype == "float64" else 1e-5)


@pytest.mark.sampled(15, "half a second each")
@pytest.mark.sampled(4, "every way in every dimension, compiled anew")
@in_dimensions
@in_ways
def test_derivatives_of_both_orders(rank: int, options: dict[str, Any]) -> None:
    x, w, b = problem(rank, options.get("groups", 1))
    wg.check_derivatives(lambda x, w, b: nn.conv_bias_act(np.tanh, x[:1], w, b, **options), x, w, b)


def test_a_gradient_keeps_float32() -> None:
    x, w, b = problem(2, dtype="float32")
    gradients = wg.grad(lambda x, w, b: np.sum(nn.conv(x, w, b, padding=1)), (0, 1, 2))(x, w, b)
    assert [g.dtype.name for g in gradients] == ["float32"] * 3
    assert [g.shape for g in gradients] == [x.shape, w.shape, b.shape]


def test_over_a_batch_of_filters() -> None:
    x, w, _ = problem(2)
    many = np.stack([w, 2 * w])
    close(wg.vmap(lambda w: nn.conv(x, w))(many), np.stack([loops(x, w), loops(x, 2 * w)]))


# ------------------------------------------------------------------------------------------------------- the adjoint


@pytest.mark.sampled(3, "a tenth of a second each")
@in_dimensions
@in_ways
def test_transpose_is_the_adjoint(rank: int, options: dict[str, Any]) -> None:
    x, w, _ = problem(rank, options.get("groups", 1))
    if options.get("padding") == "same":  # of which stride × places elements go back
        stride = options.get("stride", 1)
        x = x[(..., *[slice(n // stride * stride) for n in x.shape[2:]])]
    y = nn.conv(x, w, **options)
    ct = np.random.default_rng(1).standard_normal(y.shape)
    size = nn.conv_transpose(ct, w, **options).shape
    more = [n - m for n, m in zip(x.shape[2:], size[2:], strict=True)]
    back = nn.conv_transpose(ct, w, output_padding=more, **options)
    assert back.shape == x.shape
    close(np.sum(y * ct), np.sum(x * back), 1e-10)
    close(wg.jit(lambda ct, w: nn.conv_transpose(ct, w, output_padding=more, **options))(ct, w), back)
    close(wg.vjp(lambda x: nn.conv(x, w, **options), x)[1](ct)[0], back)


@pytest.mark.sampled(25, "every way in every dimension, compiled anew")
@in_dimensions
@in_ways
def test_derivatives_of_the_transpose(rank: int, options: dict[str, Any]) -> None:
    groups = options.get("groups", 1)
    x, w, b = problem(rank, groups)
    x = np.repeat(x, 2, 1)[:1, :6, :4]
    b = b[: w.shape[1] * groups]
    wg.check_derivatives(lambda x, w, b: np.tanh(nn.conv_transpose(x, w, b, **options)), x, w, b)


def test_transpose_of_more_padding_than_kernel() -> None:
    x, w = np.ones((1, 1, 6)), np.ones((1, 1, 2))
    assert nn.conv_transpose(x, w, padding=2).tolist() == nn.conv_transpose(x, w)[..., 2:-2].tolist()
    assert (
        nn.conv_transpose(x, w, stride=2, padding=5).tolist() == nn.conv_transpose(x, w, stride=2)[..., 5:-5].tolist()
    )


# ------------------------------------------------------------------------------------------------------ what it costs


def steps(f: Any, *args: Any) -> list[str]:
    """Those that ``f`` is recorded as, without their lines."""
    return [line.split("#")[0].strip() for line in str(wg.trace(f)(*args)).splitlines()[1:]]


def test_spelt_in_numpy_it_is_the_same() -> None:
    x, w, b = problem(2)

    def spelt(x: Any, w: Any, b: Any) -> Any:
        windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))
        return np.tanh(np.einsum("ncyxij,ocij->noyx", windows, w) + b.reshape(-1, 1, 1))

    named = lambda x, w, b: nn.conv_bias_act(np.tanh, x, w, b)
    assert steps(named, x, w, b) == steps(spelt, x, w, b)


@pytest.mark.sampled(2, "half a second each")
@pytest.mark.parametrize("act", [nn.identity, np.tanh])
def test_each_layer_keeps_one_array(act: Any) -> None:
    rng = np.random.default_rng(0)
    x, w, b = rng.standard_normal((4, 8, 40, 40)), rng.standard_normal((8, 8, 3, 3)), rng.standard_normal(8)

    def loss(layers: int) -> Any:
        def of(x: Any, w: Any, b: Any) -> Any:
            for _ in range(layers):
                x = nn.conv_bias_act(act, x, w, b, padding=1)
            return np.sum(x**2)

        return wg.grad(of, (0, 1, 2))

    shallow, deep = [wg.jit(loss(n)).program(x, w, b).arena_bytes for n in (3, 6)]
    among_zeros = 4 * 8 * 42 * 42 * 8  # bytes of what a layer reads, which is where that before it wrote
    assert deep - shallow <= 3.1 * among_zeros
    wg.check_derivatives(lambda x, w, b: np.sum(nn.conv_bias_act(act, x, w, b, padding=1) ** 2), x[:1], w, b, order=1)


@pytest.mark.parametrize("options", [{}, dict(padding=2), dict(stride=2, padding=2), dict(dilation=2)], ids=str)
def test_no_windows_are_written(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((4, 8, 40, 40)), rng.standard_normal((8, 8, 5, 5))
    program = wg.jit(wg.grad(lambda x, w: np.sum(nn.conv(x, w, **options) ** 2), (0, 1))).program(x, w)
    assert max(s.place.aval.nbytes for s in program.memory().stored) <= 2 * x.nbytes  # of all windows: 25 times
    assert all(kernel.kind != "callback" for kernel in program.kernels)


# ---------------------------------------------------------------------------------------------------------- bad input


def test_an_empty_batch() -> None:
    _, w, b = problem(2, groups=2)
    x = np.zeros((0, 4, 7, 6))
    assert nn.conv(x, w, b, stride=2, padding="same", groups=2).shape == (0, 6, 4, 3)
    assert nn.conv_transpose(x, w[:4], stride=2, groups=2).shape == (0, 4, 15, 12)
    gradient = wg.grad(lambda w: np.sum(nn.conv(x, w, b, groups=2)))(w)
    assert gradient.shape == w.shape and not gradient.any()


@pytest.mark.parametrize(
    ("x", "w", "b", "options", "text"),
    [
        ((2, 3, 8, 8), (4, 2, 3, 3), None, {}, r"x float64\[2, 3, 8, 8\] with w float64\[4, 2, 3, 3\]"),
        ((2, 4, 8, 8), (3, 2, 3, 3), None, dict(groups=2), "in 2 groups"),
        ((2, 3, 8, 8), (4, 3, 3), None, {}, "as many axes of space"),
        ((2, 3), (4, 3), None, {}, "one to three"),
        ((2, 3, 8, 8), (4, 3, 3, 3), (3,), {}, r"b \[4\], not float64\[3\]"),
        ((2, 3, 2, 2), (4, 3, 3, 3), None, {}, r"a window of \(3, 3\) is larger than the padded space \(2, 2\)"),
        ((2, 3, 8, 8), (4, 3, 3, 3), None, dict(stride=0), "stride is 0"),
        ((2, 3, 8, 8), (4, 3, 3, 3), None, dict(padding="full"), "padding is 'full'"),
        ((2, 3, 8, 8), (4, 3, 3, 3), None, dict(groups=0), "groups"),
    ],
)
def test_what_does_not_fit(x: Any, w: Any, b: Any, options: dict[str, Any], text: str) -> None:
    with pytest.raises(ShapeError, match=text):
        nn.conv(np.ones(x), np.ones(w), None if b is None else np.ones(b), **options)


@pytest.mark.parametrize(
    ("x", "w", "b", "options", "text"),
    [
        ((2, 3, 8), (4, 3, 3), None, {}, r"w \[in, out / groups, \*kernel\]"),
        ((2, 3, 8), (3, 3, 3), None, dict(groups=2), "in 2 groups"),
        ((2, 3, 8), (3, 4, 3), (3,), {}, r"b \[4\], not float64\[3\]"),
        ((2, 3, 1), (3, 4, 3), None, dict(padding=2), "removes all"),
    ],
)
def test_what_does_not_fit_the_transpose(x: Any, w: Any, b: Any, options: dict[str, Any], text: str) -> None:
    with pytest.raises(ShapeError, match=text):
        nn.conv_transpose(np.ones(x), np.ones(w), None if b is None else np.ones(b), **options)
