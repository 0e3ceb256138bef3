"""Activations, norms, attention and losses against PyTorch, values and gradients, where it is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import nn

torch = pytest.importorskip("torch")
F = torch.nn.functional

RNG = np.random.default_rng(0)
X = RNG.standard_normal((4, 6, 8)) * 3


def agree(ours: Callable[..., Any], theirs: Callable[..., Any], *args: Any) -> None:
    """Values, gradients of Σ sin y with respect to the arrays of floats, and dtypes: called in float64, and compiled in
    float32."""
    for dtype, tolerance, way in (("float64", 1e-12, lambda f: f), ("float32", 2e-5, wg.jit)):
        xs = [x.astype(dtype) if x.dtype.kind == "f" else x for x in args]
        floats = tuple(k for k, x in enumerate(xs) if x.dtype.kind == "f")
        tensors = [torch.tensor(x, requires_grad=x.dtype.kind == "f") for x in xs]
        want = theirs(*tensors)
        torch.sum(torch.sin(want)).backward()
        got = way(ours)(*xs)
        assert got.dtype == dtype
        np.testing.assert_allclose(got, want.detach().numpy(), tolerance, tolerance)
        gradients = way(wg.grad(lambda *xs: np.sum(np.sin(ours(*xs))), floats))(*xs)
        for k, gradient in zip(floats, gradients, strict=True):
            assert gradient.dtype == dtype
            np.testing.assert_allclose(gradient, tensors[k].grad.numpy(), 10 * tolerance, 10 * tolerance)


ACTIVATIONS = {
    "relu": F.relu, "relu6": F.relu6, "leaky_relu": F.leaky_relu, "rrelu": F.rrelu, "hard_tanh": F.hardtanh,
    "hard_sigmoid": lambda x: F.relu6(x + 3) / 6, "hard_swish": F.hardswish,
    "soft_shrink": F.softshrink, "hard_shrink": F.hardshrink,
    "elu": F.elu, "celu": F.celu, "selu": F.selu, "sigmoid": torch.sigmoid, "log_sigmoid": F.logsigmoid,
    "softplus": lambda x: F.softplus(x, threshold=1000), "tanh": torch.tanh, "softsign": F.softsign,
    "tanhshrink": F.tanhshrink, "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "swish": F.silu,
    "mish": F.mish, "glu": F.glu, "trelu": lambda x: F.threshold(x, 1.0, 0.0),
}  # fmt: skip


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name: str) -> None:
    agree(getattr(nn, name), ACTIVATIONS[name], X)


@pytest.mark.parametrize("name", ["relu", "relu6", "leaky_relu", "rrelu", "hard_tanh", "hard_sigmoid", "trelu", "elu"])
def test_kinks(name: str) -> None:
    """The derivatives that PyTorch has there, as users will compare them."""
    kinks = np.array([-3.0, -1, -0.5, -0.0, 0.0, 0.5, 1, 3, 6])
    x = torch.tensor(kinks, requires_grad=True)
    ACTIVATIONS[name](x).sum().backward()
    np.testing.assert_allclose(wg.grad(lambda x: np.sum(getattr(nn, name)(x)))(kinks), x.grad.numpy(), rtol=1e-15)


SCALE, BIAS = RNG.standard_normal(8), RNG.standard_normal(8)
IMAGE = RNG.standard_normal((3, 8, 5, 4)) + 1


def test_layer_and_rms_norm() -> None:
    agree(nn.layer_norm, lambda x, s, b: F.layer_norm(x, (8,), s, b), X, SCALE, BIAS)
    agree(lambda x: nn.layer_norm(x, axis=(-2, -1)), lambda x: F.layer_norm(x, (6, 8)), X)
    agree(nn.rms_norm, lambda x, s: F.rms_norm(x, (8,), s, 1e-6), X, SCALE)


def test_group_and_instance_norm() -> None:
    agree(lambda x, s, b: nn.group_norm(x, 4, s, b), lambda x, s, b: F.group_norm(x, 4, s, b), IMAGE, SCALE, BIAS)
    agree(nn.instance_norm, lambda x, s, b: F.instance_norm(x, weight=s, bias=b), IMAGE, SCALE, BIAS)


@pytest.mark.parametrize("shape", [(9, 8), (3, 8, 5), (3, 8, 5, 4)])
@pytest.mark.parametrize("train", [False, True])
def test_batch_norm(shape: tuple[int, ...], train: bool) -> None:
    x = RNG.standard_normal(shape)
    mean, var = RNG.standard_normal(8), RNG.uniform(1, 2, 8)

    def theirs(x: Any, s: Any, b: Any) -> Any:
        running = [torch.tensor(a, dtype=x.dtype) for a in (mean, var)]
        return F.batch_norm(x, *running, s, b, train)

    ours = lambda x, s, b: nn.batch_norm(x, s, b, mean.astype(x.dtype), var.astype(x.dtype), train)[0]
    agree(ours, theirs, x, SCALE, BIAS)
    running = [torch.tensor(mean), torch.tensor(var)]
    F.batch_norm(torch.tensor(x), *running, training=train)
    for new, want in zip(nn.batch_norm(x, None, None, mean, var, train)[1], running, strict=True):
        np.testing.assert_allclose(new, want.numpy(), rtol=1e-12)


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_softmax_and_its_logarithm(axis: int) -> None:
    agree(lambda x: nn.softmax(x, axis), lambda x: F.softmax(x, axis), X)
    agree(lambda x: nn.log_softmax(x, axis), lambda x: F.log_softmax(x, axis), X)
    agree(lambda x: nn.logsumexp(x, axis), lambda x: torch.logsumexp(x, axis), X)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_attention(causal: bool, bias: bool) -> None:
    q, k, v = [RNG.standard_normal((2, 3, 5, 8)) for _ in range(3)]
    b = RNG.standard_normal((5, 5))
    if bias and not causal:
        agree(
            lambda q, k, v, b: nn.attention(q, k, v, bias=b),
            lambda q, k, v, b: F.scaled_dot_product_attention(q, k, v, attn_mask=b),
            q, k, v, b,
        )  # fmt: skip
    agree(
        lambda q, k, v: nn.attention(q, k, v, causal=causal),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal),
        q, k, v,
    )  # fmt: skip


def test_attention_of_heads_with_a_mask() -> None:
    q, k, v = RNG.standard_normal((2, 4, 12)), RNG.standard_normal((2, 7, 12)), RNG.standard_normal((2, 7, 6))
    mask = RNG.random((2, 4, 7)) < 0.7
    mask[:, :, 0] = True

    def theirs(q: Any, k: Any, v: Any, mask: Any) -> Any:
        heads = [x.unflatten(-1, (3, -1)).transpose(1, 2) for x in (q, k, v)]
        return F.scaled_dot_product_attention(*heads, attn_mask=mask[:, None]).transpose(1, 2).flatten(2)

    agree(lambda q, k, v, mask: nn.attention(q, k, v, mask, heads=3), theirs, q, k, v, mask)


def test_dense_and_embedding() -> None:
    w, x, b = RNG.standard_normal((5, 8)), RNG.standard_normal((2, 3, 8)), RNG.standard_normal(5)
    agree(lambda w, x, b: nn.elu(nn.linear(x, w, b)), lambda w, x, b: F.elu(F.linear(x, w, b)), w, x, b)
    at = RNG.integers(0, 5, (4, 3))
    agree(lambda table, at: nn.embedding(at, table), lambda table, at: F.embedding(at, table), w, at)


Z, CLASSES = RNG.standard_normal((6, 5)) * 3, np.array([0, 3, 3, 1, 2, 4])
P, WEIGHTS = RNG.dirichlet(np.ones(5), 6), np.arange(1.0, 6)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy(reduction: str, smoothing: float) -> None:
    common = {"reduction": reduction, "label_smoothing": smoothing}
    agree(lambda z, y: nn.cross_entropy(z, y, **common), lambda z, y: F.cross_entropy(z, y, **common), Z, CLASSES)
    agree(lambda z, p: nn.cross_entropy(z, p, **common), lambda z, p: F.cross_entropy(z, p, **common), Z, P)
    space = RNG.standard_normal((2, 5, 3, 4))
    labels = RNG.integers(0, 5, (2, 3, 4))
    agree(
        lambda z, y: nn.cross_entropy(z, y, axis=1, **common),
        lambda z, y: F.cross_entropy(z, y, **common),
        space,
        labels,
    )
    if not smoothing:  # with which PyTorch weighs by the classes, not by the labels
        for target in (CLASSES, P) if reduction != "mean" else (CLASSES,):
            agree(
                lambda z, y: nn.cross_entropy(z, y, weights=WEIGHTS.astype(z.dtype), reduction=reduction),
                lambda z, y: F.cross_entropy(z, y, torch.tensor(WEIGHTS, dtype=z.dtype), reduction=reduction),
                Z, target,
            )  # fmt: skip


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_the_other_losses(reduction: str) -> None:
    how = {"reduction": reduction}
    agree(lambda a, b: nn.squared_error(a, b, **how), lambda a, b: F.mse_loss(a, b, **how), Z, P)
    agree(lambda a, b: nn.absolute_error(a, b, **how), lambda a, b: F.l1_loss(a, b, **how), Z, P)
    agree(lambda a, b: nn.huber(a, b, 0.7, **how), lambda a, b: F.huber_loss(a, b, delta=0.7, **how), Z, P)
    ours, theirs = nn.binary_cross_entropy, F.binary_cross_entropy_with_logits
    agree(lambda z, y: ours(z, y, **how), lambda z, y: theirs(z, y, **how), Z, P)
    signs = np.where(RNG.random((6, 5)) < 0.5, -1, 1)
    hinges = lambda s, y: torch.clamp(1 - y * s, min=0)
    reduced = {"mean": torch.mean, "sum": torch.sum, "none": lambda x: x}[reduction]
    agree(lambda s, y: nn.hinge(s, y.astype(s.dtype), **how), lambda s, y: reduced(hinges(s, y)), Z, signs)
    agree(lambda a, b: nn.cosine(a, b, **how), lambda a, b: reduced(1 - F.cosine_similarity(a, b)), Z, P)
    kl = lambda q, p: reduced(F.kl_div(q, p, reduction="none").sum(-1))
    agree(lambda q, p: nn.kl_divergence(q, p, **how), kl, np.log(RNG.dirichlet(np.ones(5), 6)), P)


def test_far_from_the_middle() -> None:
    far = np.array([[800.0, -800, 0, 3, -3], [-800, -800, -800, -800, -800], [1e30, 0, 0, 0, -1e30]])
    agree(nn.softmax, lambda x: F.softmax(x, -1), far)
    agree(nn.logsumexp, lambda x: torch.logsumexp(x, -1), far[:2])
    agree(nn.cross_entropy, F.cross_entropy, far, np.array([1, 0, 0]))
    agree(nn.binary_cross_entropy, F.binary_cross_entropy_with_logits, far[:2], np.full((2, 5), 0.25))


@pytest.mark.parametrize("reduction", ["sum", "none"])
def test_ctc_loss(reduction: str) -> None:
    logits, labels = RNG.standard_normal((3, 9, 5)), RNG.integers(1, 5, (3, 4))
    lengths, label_lengths = np.array([9, 8, 9]), np.array([4, 2, 3])

    def theirs(z: Any, y: Any) -> Any:
        log_p = F.log_softmax(z, -1).transpose(0, 1)
        return F.ctc_loss(log_p, y, torch.tensor(lengths), torch.tensor(label_lengths), reduction=reduction)

    ours = lambda z, y: nn.ctc_loss(nn.log_softmax(z), y, lengths, label_lengths, reduction=reduction)
    agree(ours, theirs, logits, labels)
