"""Compare complex numbers, transforms and linear algebra with JAX and PyTorch: gradients, float64, one thread, measured
alternately in one process.

    python -m benchmarks.bench_complex [--quick] [name ...]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.alternating import Calls, Compared, Other, has, report  # first: it pins the threads
from benchmarks.checks import slope_error

import numpy as np  # isort: skip

import wengert as wg

RNG = np.random.default_rng(0)


def drawn(*shape: int) -> Any:
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


def beside_jax(f: Callable[..., Any], *args: Any, argnums: Any = 0) -> Compared:
    """Return the gradient of ``f(np, *args)`` by both libraries, ours checked by differences."""
    ours = wg.jit(wg.grad(lambda *xs: f(np, *xs), argnums))
    calls: Calls = {"wengert": lambda: ours(*args)}
    if has("jax"):
        import jax

        jax.config.update("jax_enable_x64", True)
        theirs = jax.jit(jax.grad(lambda *xs: f(jax.numpy, *xs), argnums))
        given = [jax.numpy.asarray(x) for x in args]
        calls["jax"] = lambda: jax.block_until_ready(theirs(*given))
    positions = (argnums,) if isinstance(argnums, int) else argnums
    return Compared(calls, check=lambda found: slope_error(lambda *xs: f(np, *xs), args, positions, found))


# ----------------------------------------------------------------------------------------------------- the workloads


def gates(qubits: int = 8, number: int = 20) -> Compared:
    """Rotate neighbouring pairs of qubits, one pair after another; the loss is that of one qubit."""
    angles = RNG.uniform(size=number)
    pauli = np.kron([[0, 1], [1, 0]], [[0, -1j], [1j, 0]])
    weights = np.where(np.arange(2**qubits) < 2 ** (qubits - 1), 1.0, -1.0)

    def loss(xp: Any, angles: Any) -> Any:
        state = xp.zeros(2**qubits, dtype=complex) + (xp.arange(2**qubits) == 0)
        for k in range(number):
            gate = xp.cos(angles[k]) * xp.eye(4) - 1j * xp.sin(angles[k]) * pauli
            at = k % (qubits - 1)
            state = state.reshape(2**at, 4, -1)
            state = xp.einsum("ij,ajb->aib", gate, state)
        return xp.sum(xp.abs(state.reshape(-1)) ** 2 * weights)

    compared = beside_jax(loss, angles)
    if has("torch"):
        compared.calls["pytorch"] = _gates_in_pytorch(angles, pauli, weights, qubits)
    return compared


def _gates_in_pytorch(angles: Any, pauli: Any, weights: Any, qubits: int) -> Callable[[], Any]:
    import torch

    torch.set_num_threads(1)
    x, p, w = torch.tensor(angles, requires_grad=True), torch.tensor(pauli), torch.tensor(weights)
    one, start = torch.eye(4, dtype=torch.complex128), torch.zeros(2**qubits, dtype=torch.complex128)
    start[0] = 1

    def gradient() -> Any:
        state = start
        for k in range(len(angles)):
            gate = torch.cos(x[k]) * one - 1j * torch.sin(x[k]) * p
            state = torch.einsum("ij,ajb->aib", gate, state.reshape(2 ** (k % (qubits - 1)), 4, -1))
        loss = torch.sum(torch.abs(state.reshape(-1)) ** 2 * w)
        return torch.autograd.grad(loss, x)

    return gradient


def filtered(n: int) -> Compared:
    """Multiply by a spectrum."""
    h, x = drawn(n), drawn(n)
    return beside_jax(lambda xp, x: xp.sum(xp.abs(xp.fft.ifft(h * xp.fft.fft(x))) ** 2), x)


def waves(n: int) -> Compared:
    x, y = RNG.normal(size=n), drawn(n)
    return beside_jax(lambda xp, x, y: xp.sum(xp.real(xp.exp(1j * x) * y) ** 2), x, y, argnums=(0, 1))


def eigenvalues(n: int, stacked: int = 0) -> Compared:
    a = RNG.normal(size=(stacked, n, n) if stacked else (n, n))
    return beside_jax(lambda xp, a: xp.sum(xp.linalg.eigvalsh(a + xp.swapaxes(a, -1, -2))), a)


def log_det_and_solve(n: int) -> Compared:
    a, b = RNG.normal(size=(n, n)), RNG.normal(size=n)
    a = a @ a.T + n * np.eye(n)
    return beside_jax(lambda xp, a, b: xp.linalg.slogdet(a)[1] + b @ xp.linalg.solve(a, b), a, b, argnums=(0, 1))


def sampling(n: int) -> Compared:
    """Take the mean of normal numbers, and its gradient in location and scale, beside NumPy's drawing and one pass."""
    rng, other = np.random.default_rng(0), np.random.default_rng(0)
    ours = wg.jit(wg.grad(lambda p: np.mean(rng.normal(p[0], p[1], n))))
    p = np.array([0.5, 2.0])

    def check(found: Any) -> float:
        """The first is 1; the second is a mean of standard normal numbers, of which six deviations are allowed."""
        return max(abs(found[0] - 1.0), 0.0 if abs(found[1]) < 6 / np.sqrt(n) else abs(found[1]))

    calls: Calls = {
        "wengert": lambda: ours(p),
        "numpy, drawing and a sum": Other(lambda: other.standard_normal(n).sum()),
    }
    return Compared(calls, check=check)


WORKLOADS: dict[str, Callable[[], Compared]] = {
    "20 gates on 8 qubits": gates,
    **{f"ifft(H fft(x)), n={n}": (lambda n=n: filtered(n)) for n in (64, 1024, 65536)},
    "sum(eigvalsh), 1,000 of n=4": lambda: eigenvalues(4, 1000),
    "sum(eigvalsh), n=100": lambda: eigenvalues(100),
    **{f"log det and solve, n={n}": (lambda n=n: log_det_and_solve(n)) for n in (10, 200)},
    **{f"exp(ix) y, n=1e{k}": (lambda k=k: waves(10**k)) for k in (3, 6)},
    "sampling 1e6 normals": lambda: sampling(10**6),
}


def main() -> None:
    report(WORKLOADS)


if __name__ == "__main__":
    main()
