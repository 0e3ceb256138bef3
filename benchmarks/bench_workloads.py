"""Compare programs of applications with JAX, and with C where it marks the limit: ``make bench`` runs it.

    python -m benchmarks.bench_workloads [name ...] [--quick] [--json FILE] [--picture FILE.svg]

The programs are in :mod:`benchmarks.applications`, and in :mod:`benchmarks.applications_jax` where JAX needs loops of
its own. They are an option by Monte Carlo, a stencil, many differential equations, a hidden Markov model, two clouds
of points, predictive control, three networks, an arm of many joints, and a branching function of a million points.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks import applications as a
from benchmarks import rows as tables
from benchmarks.rows import Make, Row

import numpy as np  # isort: skip

Function = Callable[..., Any]


def jitted(transform: Callable[[Any], Function]) -> Make:
    """Return how ours is called; ``transform`` returns the function to compile, given the library."""

    def make(*inputs: Any) -> Callable[[], Any]:
        import wengert as wg

        return partial(wg.jit(transform(wg)), *inputs)

    return make


def in_jax(transform: Callable[[Any, Any, Any], Function]) -> Make:
    """Return how JAX is called; ``transform`` gets JAX, our module for it, and the functions retargeted."""

    def make(*inputs: Any) -> Callable[[], Any]:
        import jax

        from benchmarks import applications_jax

        call = jax.jit(transform(jax, applications_jax, applications_jax.functions))
        given = jax.tree.map(jax.device_put, inputs)
        return lambda: jax.block_until_ready(call(*given))

    return make


def plain(function: Function) -> Make:
    """Return the call of the NumPy function itself: the value alone."""
    return lambda *inputs: partial(function, *inputs)


def in_c(source: str, call: Callable[[Any, tuple[Any, ...]], Callable[[], Any]]) -> Make:
    """Return how C is called: compiled by Clang, or by GCC where there is no Clang."""

    def make(*inputs: Any) -> Callable[[], Any]:
        compiler = shutil.which("clang") or shutil.which("gcc")
        assert compiler, "there is no compiler of C"
        folder = Path(tempfile.mkdtemp())
        (folder / "it.c").write_text(source)
        command = [compiler, "-O3", "-march=native", "-shared", "-fPIC", "it.c", "-o", "it.so", "-lm"]
        subprocess.run(command, cwd=folder, check=True)
        return call(ctypes.CDLL(str(folder / "it.so")), inputs)

    return make


def pointer(x: Any) -> Any:
    return x.ctypes.data_as(ctypes.c_void_p)


def gradient(name: str, inputs: Function, f: Function, theirs: Callable[[Any, Any], Function], argnums: Any = 0,
             near: float = 1e-6) -> Row:  # fmt: skip
    """Return a row of a value and its gradient, beside JAX, and beside the function itself."""
    return Row(name, inputs, {
        "wengert": jitted(lambda wg: wg.value_and_grad(f, argnums=argnums)),
        "jax": in_jax(lambda jax, ours, fs: jax.value_and_grad(theirs(ours, fs), argnums=argnums)),
    }, near)  # fmt: skip


# The rows


def rows(quick: bool = False) -> list[Row]:
    steps, paths = 252, 5000 if quick else 100000
    option = partial(a.asian_inputs, steps, paths)
    side, times = (128, 20) if quick else (512, 100)
    length, words = (100, 32) if quick else (1000, 128)
    return [
        Row(f"option, price, {steps} x {paths}", option, {
            "wengert": jitted(lambda wg: a.asian), "jax": in_jax(lambda jax, ours, fs: ours.asian),
            "numpy": plain(a.asian),
        }),
        gradient(f"option, price and greeks, {steps} x {paths}", option, a.asian, lambda ours, fs: ours.asian),
        stencil_value(side, times),
        gradient(f"stencil {side} x {side}, {times} steps, gradient", partial(plane, side),
                 partial(a.diffusion, steps=times), lambda ours, fs: partial(ours.diffusion, steps=times)),
        equations(500 if quick else 10000),
        gradient(f"hidden Markov, 50 states, {length} symbols", partial(a.hidden_markov_inputs, 50, 20, length),
                 a.hidden_markov, lambda ours, fs: ours.hidden_markov, (0, 1)),
        gradient("closest points, 300, 10 rounds", partial(a.closest_points_inputs, 300),
                 partial(a.closest_points, rounds=10), lambda ours, fs: partial(fs.closest_points, rounds=10), (0, 1)),
        control(20 if quick else 50),
        gradient("perceptron, batch 64, float32", partial(a.perceptron_inputs, 64), a.perceptron,
                 lambda ours, fs: fs.perceptron, near=1e-3),
        gradient("convolutional network, batch 32, float32", partial(a.convolutional_inputs, 32), a.convolutional,
                 lambda ours, fs: ours.convolutional, near=1e-3),
        gradient(f"transformer block, {words} words, float32", partial(a.transformer_inputs, words, 256),
                 a.transformer, lambda ours, fs: fs.transformer, (0, 1), near=1e-3),
        arm(35),
        branching(20000 if quick else 1000000),
    ]  # fmt: skip


def plane(side: int) -> tuple[Any, ...]:
    return (np.random.default_rng(0).random((side, side)),)


def stencil_value(side: int, times: int) -> Row:
    def call(library: Any, inputs: tuple[Any, ...]) -> Callable[[], Any]:
        u, other = np.empty_like(inputs[0]), np.empty_like(inputs[0])

        def run() -> Any:
            u[:] = inputs[0]
            size = [ctypes.c_size_t(k) for k in (*u.shape, times)]
            library.diffusion(*size, pointer(u), pointer(other))
            last = other if times % 2 else u
            return 0.5 * np.vdot(last, last)

        return run

    return Row(f"stencil {side} x {side}, {times} steps, value", partial(plane, side), {
        "wengert": jitted(lambda wg: partial(a.diffusion, steps=times)),
        "jax": in_jax(lambda jax, ours, fs: partial(ours.diffusion, steps=times)),
        "c": in_c(a.DIFFUSION_C, call), "numpy": plain(partial(a.diffusion, steps=times)),
    })  # fmt: skip


def equations(count: int) -> Row:
    """Return the row of many solutions with the derivatives of the last state; both have about the same error."""
    start = np.array([10.0, 5.0])

    def last(wg: Any, rtol: float, method: str) -> Function:
        return lambda p: wg.ode.solve_ivp(
            a.prey, (0.0, 10.0), start, method, t_eval=[10.0], args=(p,), rtol=rtol, atol=rtol
        ).y[:, -1]

    def reference(parameters: Any) -> Any:
        import wengert as wg

        return wg.jit(wg.vmap(wg.jacobian(last(wg, 1e-12, "DOP853"))))(parameters)

    by: dict[str, Make] = {"wengert": jitted(lambda wg: wg.vmap(wg.jacobian(last(wg, 1e-8, "Tsit5"))))}
    if find_spec("diffrax"):
        by["jax"] = in_jax(lambda jax, ours, fs: partial(ours.prey_ends, end=10.0, rtol=1e-8))
    why = {} if "jax" in by else {"jax": "Diffrax is not installed"}
    return Row(
        f"predators and prey, {count} solves, Jacobians", partial(a.prey_inputs, count), by, 1e-4, a.prey_exactly, why
    )


def control(horizon: int) -> Row:
    """Return the row of one Newton step of a controller: gradient and Hessian of the cost in the controls."""

    def step(grad: Function, hessian: Function, solve: Function) -> Function:
        return lambda controls, start: controls - solve(hessian(controls, start), grad(controls, start))

    return Row(f"cart and pole, a Newton step, {horizon} controls", partial(a.cart_inputs, horizon), {
        "wengert": jitted(lambda wg: step(wg.grad(a.cart_cost), wg.hessian(a.cart_cost), np.linalg.solve)),
        "jax": in_jax(lambda jax, ours, fs: step(
            jax.grad(ours.cart_cost), jax.hessian(ours.cart_cost), jax.numpy.linalg.solve
        )),
    })  # fmt: skip


def arm(joints: int) -> Row:
    """Return the row of an arm's torques, with their Jacobian in the places of the joints."""

    def both(f: Function, jacobian: Function) -> Function:
        return lambda q, dq, ddq, arm: (f(q, dq, ddq, arm), jacobian(q, dq, ddq, arm))

    return Row(f"arm of {joints} joints, torques and Jacobian", partial(a.arm_inputs, joints), {
        "wengert": jitted(lambda wg: both(a.torques, wg.jacobian(a.torques))),
        "jax": in_jax(lambda jax, ours, fs: both(ours.torques, jax.jacfwd(ours.torques))),
    })  # fmt: skip


def branching(count: int) -> Row:
    def points() -> tuple[Any, ...]:
        return (np.random.default_rng(0).uniform(0.5, 50.0, count),)

    def call(library: Any, inputs: tuple[Any, ...]) -> Callable[[], Any]:
        (x,) = inputs
        values, slopes = np.empty_like(x), np.empty_like(x)

        def run() -> Any:
            library.branching(ctypes.c_size_t(x.size), pointer(x), pointer(values), pointer(slopes))
            return values, slopes

        return run

    return Row(f"branching function with a while, {count} points, value and gradient", points, {
        "wengert": jitted(lambda wg: wg.vmap(wg.value_and_grad(
            partial(a.branching, while_loop=wg.while_loop, cond=wg.cond)
        ))),
        "c": in_c(a.BRANCHING_C, call),
        "jax": in_jax(lambda jax, ours, fs: jax.vmap(in_two(jax, partial(
            fs.branching, while_loop=jax.lax.while_loop, cond=jax.lax.cond
        )))),
    })  # fmt: skip


def in_two(jax: Any, f: Function) -> Function:
    """Return value and derivative in forward mode, as JAX has no reverse mode of a while loop."""
    return lambda x: jax.jvp(f, (x,), (jax.numpy.ones_like(x),))


def main() -> None:
    tables.main("bench_workloads", "programs of applications", __doc__)


if __name__ == "__main__":
    main()
