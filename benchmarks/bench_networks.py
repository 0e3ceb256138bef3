"""Compare networks with PyTorch's and JAX's, in float32 and one thread, measured alternately in one process: steps of
training, gradients, and the same network written as a function, a chain of layers and a graph.

    python -m benchmarks.bench_networks [--quick] [name ...]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.alternating import Calls, Compared, Other, has, report  # first: it pins the threads
from benchmarks.checks import slope_error

import numpy as np  # isort: skip

import wengert as wg
from wengert import graph, nn, optimize

RNG = np.random.default_rng(0)
SINGLE = 1e-3
"""The greatest relative error of a right result in single precision."""


def drawn(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape).astype(np.float32)


# ------------------------------------------------------------------------------------------- a perceptron, with Adam


def perceptron(batch: int) -> Compared:
    """Take a step with Adam of a network 784-128-128-10 with relu and softmax cross-entropy."""
    x, y = RNG.random((batch, 784), dtype=np.float32), RNG.integers(0, 10, batch)
    model = nn.Chain(nn.Dense(128, nn.relu), nn.Dense(128, nn.relu), nn.Dense(10))
    params, _ = model.init(0, x)
    start = nn.mapped(np.copy, params)
    step = optimize.step(lambda p, x, y: nn.cross_entropy(model.apply(p, {}, x)[0], y), optimize.adam(1e-3))
    kept: list[Any] = [params, step.init(params)]
    loss = float(nn.cross_entropy(model.apply(nn.mapped(lambda a: a.astype(float), params), {}, x.astype(float))[0], y))

    def ours() -> Any:
        kept[0], kept[1], value = step(kept[0], kept[1], x, y)
        return value

    calls: Calls = {"wengert": ours}
    layers = [(p["w"], p["b"]) for p in start["layers"].values()]
    if has("torch"):
        calls["pytorch"] = _perceptron_in_pytorch(layers, x, y)
    if has("jax") and has("optax"):
        calls["jax"] = _perceptron_in_jax(layers, x, y)
    return Compared(calls, SINGLE, lambda first: abs(float(first) - loss) / loss)


def _perceptron_in_pytorch(layers: Any, x: Any, y: Any) -> Callable[[], Any]:
    import torch

    torch.set_num_threads(1)
    parts: list[Any] = []
    for k, (w, b) in enumerate(layers):
        linear = torch.nn.Linear(w.shape[1], w.shape[0])
        with torch.no_grad():
            linear.weight.copy_(torch.tensor(w))
            linear.bias.copy_(torch.tensor(b))
        parts += [linear] + [torch.nn.ReLU()] * (k < len(layers) - 1)
    model = torch.nn.Sequential(*parts)
    optimiser = torch.optim.Adam(model.parameters(), 1e-3)
    a, labels = torch.tensor(x), torch.tensor(y)

    def step() -> Any:
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(a), labels)
        loss.backward()
        optimiser.step()
        return loss.item()

    return step


def _perceptron_in_jax(layers: Any, x: Any, y: Any) -> Callable[[], Any]:
    import jax
    import jax.numpy as jnp
    import optax

    optimiser = optax.adam(1e-3)

    def loss(params: Any, x: Any, y: Any) -> Any:
        for w, b in params[:-1]:
            x = jax.nn.relu(x @ w.T + b)
        w, b = params[-1]
        return optax.softmax_cross_entropy_with_integer_labels(x @ w.T + b, y).mean()

    def whole(params: Any, state: Any, x: Any, y: Any) -> Any:
        value, ct = jax.value_and_grad(loss)(params, x, y)
        updates, state = optimiser.update(ct, state)
        return optax.apply_updates(params, updates), state, value

    step = jax.jit(whole, donate_argnums=(0, 1))
    params = [(jnp.array(w), jnp.array(b)) for w, b in layers]
    kept: list[Any] = [params, optimiser.init(params)]
    a, labels = jnp.array(x), jnp.array(y)

    def run() -> Any:
        kept[0], kept[1], value = step(kept[0], kept[1], a, labels)
        return float(value)

    return run


# ------------------------------------------------------------------------------------------------ a transformer block


def transformer() -> Compared:
    """Take the gradient of a sum of squares, in all parameters, of 8 x 64 tokens of 128 and 4 heads."""
    x = drawn(8, 64, 128)
    block = nn.TransformerBlock(4)
    params, state = block.init(0, x)
    loss = lambda p, x: np.sum(block.apply(p, state, x)[0] ** 2)
    gradient = wg.jit(wg.grad(loss))
    calls: Calls = {"wengert": lambda: gradient(params, x)}
    if has("torch"):
        import torch

        torch.set_num_threads(1)
        theirs = torch.nn.TransformerEncoderLayer(128, 4, 512, 0.0, "gelu", batch_first=True, norm_first=True)
        a = torch.tensor(x)
        weights = list(theirs.parameters())
        calls["pytorch"] = Other(lambda: torch.autograd.grad((theirs(a) ** 2).sum(), weights))  # of other weights
    if has("jax"):
        calls["jax"] = _transformer_in_jax(params, x)
    return Compared(calls, SINGLE, in_double(loss, params, x))


def in_double(f: Callable[..., Any], params: Any, x: Any) -> Callable[[Any], float]:
    """Return the check of a gradient in the parameters, by differences in double precision."""
    wide = nn.mapped(lambda a: a.astype(float), params)
    return lambda found: slope_error(f, (wide, x.astype(float)), (0,), found)


def _transformer_in_jax(params: Any, x: Any) -> Callable[[], Any]:
    import jax
    import jax.numpy as jnp

    dense = lambda p, x: x @ p["w"].T + p["b"]

    def norm(p: Any, x: Any) -> Any:
        x = x - x.mean(-1, keepdims=True)
        return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * p["scale"] + p["bias"]

    def loss(p: Any, x: Any) -> Any:
        h = norm(p["norm1"], x)
        q, k, v = [dense(p["attention"][name], h).reshape(8, 64, 4, 32) for name in "qkv"]
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / 32**0.5
        mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(8, 64, 128)
        x = x + dense(p["attention"]["out"], mixed)
        h = jax.nn.gelu(dense(p["hidden"], norm(p["norm2"], x)), approximate=False)
        return ((x + dense(p["out"], h)) ** 2).sum()

    gradient = jax.jit(jax.grad(loss))
    of, a = jax.tree.map(jnp.array, params), jnp.array(x)
    return lambda: jax.block_until_ready(gradient(of, a))


# ------------------------------------------------------------------------------------------------------------ an LSTM


def lstm(batch: int) -> Compared:
    """Take the gradient of a sum of squares, in all parameters, of two layers of 14 in 100 steps of a Python loop."""
    x = drawn(batch, 100, 14)
    layer = nn.LSTM(14, 2)
    params, state = layer.init(0, x)
    ours = lambda p, x: np.sum(layer.apply(p, state, x)[0] ** 2)
    gradient = wg.jit(wg.grad(ours))
    calls: Calls = {"wengert": lambda: gradient(params, x)}
    if has("torch"):
        import torch

        torch.set_num_threads(1)
        theirs = torch.nn.LSTM(14, 14, 2, batch_first=True)
        a, weights = torch.tensor(x), list(theirs.parameters())
        calls["pytorch"] = Other(lambda: torch.autograd.grad((theirs(a)[0] ** 2).sum(), weights))  # of other weights
    if has("jax"):
        import jax
        import jax.numpy as jnp

        def loss(params: Any, x: Any) -> Any:
            for cell in params["layers"].values():
                h = c = jnp.zeros((batch, 14))
                found, of_x = [], x @ cell["w"].T + cell["b"]
                for t in range(100):
                    i, f, g, o = jnp.split(of_x[:, t] + h @ cell["u"].T, 4, -1)
                    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
                    h = jax.nn.sigmoid(o) * jnp.tanh(c)
                    found.append(h)
                x = jnp.stack(found, 1)
            return (x**2).sum()

        unrolled = jax.jit(jax.grad(loss))
        of, b = jax.tree.map(jnp.array, params), jnp.array(x)
        calls["jax"] = lambda: jax.block_until_ready(unrolled(of, b))
    return Compared(calls, SINGLE, in_double(ours, params, x))


# ------------------------------------------------------------------------------------------------------ one spelling


def spellings(depth: int = 6, width: int = 12) -> Compared:
    """Take the gradient of a network of six 12 x 12 matrices and cosines, as a function, a chain and a graph."""
    x, ws = RNG.random(width), [RNG.random((width, width)) for _ in range(depth)]

    def plain(ws: Any) -> Any:
        h = x
        for w in ws:
            h = np.cos(w @ h)
        return h[0]

    chain = nn.Chain(*[nn.Dense(width, np.cos, bias=False) for _ in range(depth)])
    of_chain = {"layers": {str(k): {"w": w} for k, w in enumerate(ws)}}
    drawn_graph = graph.from_chain(chain)
    of_graph = {name: {"w": w} for name, w in zip(drawn_graph.init(0, x)[0], ws, strict=True)}
    gradients = {
        "function": (wg.jit(wg.grad(plain)), ws),
        "chain": (wg.jit(wg.grad(lambda p: chain.apply(p, {}, x)[0][0])), of_chain),
        "graph": (wg.jit(wg.grad(lambda p: drawn_graph.apply(p, {}, x)[0][0])), of_graph),
    }
    calls: Calls = {name: (lambda f=f, p=p: f(p)) for name, (f, p) in gradients.items()}
    return Compared(calls, check=lambda found: slope_error(plain, (ws,), (0,), found))


def deep(depth: int) -> Compared:
    """Take the gradient of chains of dense layers of 16, batch 8; its time is divided by the number of layers."""
    x = drawn(8, 16)
    model = nn.Chain(*[nn.Dense(16, np.tanh) for _ in range(depth)])
    params, state = model.init(0, x)
    gradient = wg.jit(wg.grad(lambda p: np.sum(model.apply(p, state, x)[0])))
    wide, x64 = nn.mapped(lambda a: a.astype(float), params), x.astype(float)
    check = lambda found: slope_error(lambda p: np.sum(model.apply(p, state, x64)[0]), (wide,), (0,), found)
    return Compared({"wengert": lambda: gradient(params)}, SINGLE, check)


WORKLOADS: dict[str, Callable[[], Compared]] = {
    "perceptron, Adam, batch 32": lambda: perceptron(32),
    "perceptron, Adam, batch 256": lambda: perceptron(256),
    "transformer block": transformer,
    "LSTM, batch 1": lambda: lstm(1),
    "LSTM, batch 32": lambda: lstm(32),
    "one network, three spellings": spellings,
    "100 layers": lambda: deep(100),
    "1,000 layers": lambda: deep(1000),
}


def main() -> None:
    report(WORKLOADS)


if __name__ == "__main__":
    main()
