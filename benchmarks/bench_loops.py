"""Compare loops as single steps with JAX and C: compiled functions and gradients, float64, one thread, measured
alternately in one process.

python -m benchmarks.bench_loops [--quick] [name ...]
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.alternating import Calls, Compared, Other, has, report  # first: it pins the threads
from benchmarks.checks import distance, slope_error

import numpy as np  # isort: skip

import wengert as wg

RNG = np.random.default_rng(0)


def beside_jax(f: Callable[..., Any], *args: Any, gradient: bool, jax_gradient: bool = True) -> Compared:
    """Return ``f(np, wg, *args)`` or its gradient by both; only the value where JAX has no reverse mode.

    Ours is checked by the plain function, and by differences of it.
    """
    ours = lambda *xs: f(np, wg, *xs)
    compiled = wg.jit(wg.grad(ours) if gradient else ours)
    calls: Calls = {"wengert": lambda: compiled(*args)}
    if has("jax"):
        import jax

        jax.config.update("jax_enable_x64", True)
        theirs = lambda *xs: f(jax.numpy, jax.lax, *xs)
        jitted = jax.jit(jax.grad(theirs) if gradient and jax_gradient else theirs)
        given = [jax.numpy.asarray(x) for x in args]
        call = lambda: jax.block_until_ready(jitted(*given))
        if jax_gradient or not gradient:
            calls["jax"] = call
        else:
            calls["jax, the value alone"] = Other(call)

    def check(found: Any) -> float:
        return slope_error(ours, args, (0,), found) if gradient else distance(found, ours(*args))

    return Compared(calls, check=check)


def recurrence(n: int, gradient: bool) -> Compared:
    """A recurrence of numbers, by a carry."""

    def f(xp: Any, control: Any, x: Any) -> Any:
        return control.scan(lambda y, x: (0.7 * y + xp.sin(x), None), 0.3, x)[0]

    return beside_jax(f, RNG.normal(size=n), gradient=gradient)


def filled(n: int, gradient: bool) -> Compared:
    """A recurrence whose carry is an array, which is written element by element."""

    def f(xp: Any, control: Any, x: Any) -> Any:
        def step(y: Any, k: Any) -> Any:
            value = 0.7 * y[k] + xp.sin(x[k])
            if xp is np:
                y = y.copy()
                y[k + 1] = value
                return y, None
            return y.at[k + 1].set(value), None

        return xp.sum(control.scan(step, xp.zeros(n + 1), xp.arange(n))[0])

    x = RNG.normal(size=n)
    compared = beside_jax(f, x, gradient=gradient)
    if n > 10_000:  # the plain function copies the array in each iteration, and so does JAX's gradient: minutes
        compared = replace(compared, check=lambda found: filled_error(x, found, gradient))
        if gradient:
            compared.calls.pop("jax", None)
    compiler = shutil.which("cc")
    if compiler is not None and not gradient:
        compared.calls["C, -O3 -march=native"] = in_c(compiler, x)
    return compared


def filled_error(x: Any, found: Any, gradient: bool) -> float:
    """Return the error of the sum of y_(k+1) = 0.7 y_k + sin(x_k), or of its gradient: sums of powers of 0.7."""
    later = (1.0 - 0.7 ** np.arange(len(x), 0, -1)) / 0.3  # what a change of one sine adds to all that follow
    return distance(found, later * np.cos(x)) if gradient else distance(found, later @ np.sin(x))


SOURCE = """
#include <math.h>
double filled(const double *x, double *y, long n) {
    double sum = y[0] = 0;
    for (long k = 0; k < n; k++) y[k + 1] = 0.7 * y[k] + sin(x[k]);
    for (long k = 0; k < n; k++) sum += y[k + 1];
    return sum;
}
"""


def in_c(compiler: str, x: Any) -> Callable[[], float]:
    """Return the same function written in C, with the sine of the C library."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "filled.c", Path(folder) / "filled.so"
        source.write_text(SOURCE)
        options = ["-O3", "-march=native", "-shared", "-fPIC"]
        subprocess.run([compiler, *options, str(source), "-o", str(library), "-lm"], check=True)
        function = ctypes.CDLL(str(library)).filled
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long]
    y = np.empty(len(x) + 1)
    return lambda: function(x.ctypes.data, y.ctypes.data, len(x))


def leaves(number: int = 60, steps: int = 614) -> Compared:
    """A loop whose carry has many leaves."""
    start = tuple(RNG.normal(size=4) for _ in range(number))

    def f(xp: Any, control: Any, a: Any) -> Any:
        step = lambda carry, t: (tuple(xp.tanh(a * c) + t for c in carry), None)
        carry = control.scan(step, start, xp.linspace(0.0, 1.0, steps))[0]
        return sum(xp.sum(c) for c in carry)

    return beside_jax(f, np.float64(0.9), gradient=True)


def newton(gradient: bool) -> Compared:
    def f(xp: Any, control: Any, a: Any) -> Any:
        return control.while_loop(lambda x: xp.abs(x * x - a) > 1e-13 * a, lambda x: (x + a / x) / 2, a)

    return beside_jax(f, np.float64(4e9), gradient=gradient, jax_gradient=False)


def steps(number: int = 1000) -> Compared:
    """Take steps of Runge and Kutta's method for the equations of Lotka and Volterra."""

    def f(xp: Any, control: Any, p: Any) -> Any:
        def rate(y: Any) -> Any:
            return xp.stack([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])

        def step(y: Any, t: Any) -> Any:
            h = 0.01
            a = rate(y)
            b = rate(y + h / 2 * a)
            c = rate(y + h / 2 * b)
            d = rate(y + h * c)
            return y + h / 6 * (a + 2 * b + 2 * c + d), None

        return xp.sum(control.scan(step, xp.ones(2), None, number)[0])

    return beside_jax(f, np.array([1.1, 0.4, 0.1, 0.4]), gradient=True)


WORKLOADS: dict[str, Callable[[], Compared]] = {
    **{f"recurrence, n=1e{k}": (lambda k=k: recurrence(10**k, False)) for k in (3, 5)},
    **{f"its gradient, n=1e{k}": (lambda k=k: recurrence(10**k, True)) for k in (3, 5)},
    **{f"written in place, n=1e{k}": (lambda k=k: filled(10**k, False)) for k in (3, 4, 5, 6)},
    **{f"its gradient in place, n=1e{k}": (lambda k=k: filled(10**k, True)) for k in (3, 4, 5, 6)},
    "60 leaves, 614 steps, gradient": leaves,
    "1,000 Runge-Kutta steps, gradient": steps,
    "Newton's iteration": lambda: newton(False),
    "Newton's iteration, gradient": lambda: newton(True),
}


def main() -> None:
    report(WORKLOADS)


if __name__ == "__main__":
    main()
