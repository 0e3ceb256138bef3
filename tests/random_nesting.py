"""Random programs with transforms inside of transforms: what NumPy computes, and its differences, say what is right.

A program is a function ``f(x, d, t, idx, k)`` of :mod:`tests.programs`' statements. Within it stands a function ``g``
of an array, made of such statements too, that reads what ``f`` has (made inside, captured, traced, not differentiated)
and to which a transform is applied; ``g`` may hold an ``h`` alike. Arrays are written before and after they are read,
and transforms are named ``T.grad`` and so on: ``T`` is :mod:`wengert`, or :class:`Differences`, in which a derivative
is a quotient of differences, ``vmap`` a loop, and ``jit`` the function.

``python -m tests.random_nesting 20000 --seed 1`` runs that many programs, over all pairs and triples of transforms.
"""

from __future__ import annotations

import argparse
import itertools
import textwrap
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
from tests.programs import PRELUDE, SMOOTH_STATEMENTS, Array, Program, Refused, Writer

TRANSFORMS = ("jit", "grad", "jvp", "vjp", "vmap", "hvp", "jacobian", "linearize")
NESTS = (*itertools.product(TRANSFORMS, repeat=2), *itertools.product(TRANSFORMS, repeat=3))
"""Pairs and triples, the outermost first."""

OF_NUMBERS = ("grad", "hvp")
"""Transforms of a function that returns one number."""


class Differences:
    """What the transforms are, by differences of a step: ``weights`` are those of the function at multiples of it."""

    def __init__(self, h: float, weights: dict[int, float]) -> None:
        self.h, self.weights = h, weights

    def along(self, f: Callable[..., Any], x: Any, dx: Any) -> Any:
        return sum(c * np.asarray(f(_own(x + n * self.h * dx)), float) for n, c in self.weights.items()) / self.h

    def jit(self, f: Any) -> Any:
        return lambda *args: f(*map(_own, args))

    def vmap(self, f: Any, in_axes: Any = 0) -> Any:
        def mapped(*args: Any) -> Any:
            axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
            size = next(len(x) for x, axis in zip(args, axes, strict=True) if axis == 0)
            rows = [[_own(x[k]) if a == 0 else x for x, a in zip(args, axes, strict=True)] for k in range(size)]
            return np.stack([f(*row) for row in rows])

        return mapped

    def jvp(self, f: Any, primals: Any, tangents: Any) -> Any:
        (x,), (dx,) = primals, tangents
        return _own(f(_own(x))), self.along(f, x, dx)[()]

    def linearize(self, f: Any, x: Any) -> Any:
        y, matrix = _own(f(_own(x))), self.jacobian(f)(x)
        return y, lambda dx: np.tensordot(matrix, dx, np.ndim(x))[()]

    def vjp(self, f: Any, x: Any) -> Any:
        y, matrix = _own(f(_own(x))), self.jacobian(f)(x)
        return y, lambda ct: (np.tensordot(ct, matrix, np.ndim(y))[()],)

    def jacobian(self, f: Any) -> Any:
        def matrix(x: Any, *others: Any) -> Any:
            of = lambda x: f(x, *others)
            if not np.ndim(x):
                return self.along(of, x, 1.0)[()]
            columns = [self.along(of, x, e.reshape(x.shape)) for e in np.eye(x.size)]
            return np.moveaxis(np.stack(columns), 0, -1).reshape(*columns[0].shape, *x.shape)

        return matrix

    grad = jacobian

    def hvp(self, f: Any, primals: Any, tangents: Any) -> Any:
        return self.jvp(self.grad(f), primals, tangents)[1]


ORDER = {"jit": 0, "vmap": 0, "hvp": 2}
"""How often a transform differentiates, where not once."""


def coarse(order: int, finer: float = 1.0) -> tuple[Differences, float]:
    """Differences of two points, cheap, and what a derivative of that order may be off: the error of the formula, the
    square of the step, is chosen to be that of rounding."""
    h = 10 ** (-16 / (order + 2))
    return Differences(finer * h, {1: 1 / 2, -1: -1 / 2}), 100 * h * h + 1e-6


def fine(order: int, finer: float = 1.0) -> tuple[Differences, float]:
    """The same of six points."""
    if order > 4:
        return coarse(order, finer)
    weights = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
    return Differences(finer * 1e-2, {**weights, **{-n: -c for n, c in weights.items()}}), 1e-5


def one_sided(order: int, side: int) -> tuple[Differences, float]:
    """The same of points on one side: where the two differ, as where the largest of equals is asked for, is a kink."""
    h = 10 ** (-16 / (order + 3))
    return Differences(h, {n * side: c * side for n, c in enumerate((-11 / 6, 3, -3 / 2, 1 / 3))}), 1e3 * h**3 + 1e-5


def _own(x: Any) -> Any:
    """A copy, as an argument of the function's own; of shape (), a scalar."""
    return np.array(x)[()]


class Scope(Writer):
    """The body of a function within a program: it reads what encloses it, and writes what it made itself."""

    def __init__(
        self, seed: int, outer: dict[str, Any], names: Sequence[str], x: dict[str, Any], others: dict[str, Any]
    ) -> None:
        """``x`` is the argument that a transform moves, and so the function's own; ``others`` are as they are."""
        self.program = Program(((), (), ()), seed, ())
        self.outer, self.x, self.others = outer, x, others
        self.theirs = [y for y in (*[outer[n] for n in names], *others.values()) if isinstance(y, np.ndarray)]
        self.lines, self.count = [], 0
        self._restart()
        self.names = [*names, *others, *x]

    def beginning(self) -> dict[str, Any]:
        return {**self.outer, **self.others, **{n: _own(x) for n, x in self.x.items()}}

    def may_write(self, x: Any) -> bool:
        return super().may_write(x) and not any(np.shares_memory(x, y) for y in self.theirs)

    def keep(self, name: str) -> None:
        super().keep(name)
        if np.size(self.env[name]) > 12:
            self.names.pop()
            raise Refused

    def result(self, is_number: bool) -> str:
        """An expression that every value of the function goes into, as it is when the function returns."""
        names = list(dict.fromkeys(self.names))[-7:]
        terms = [f"np.add.reduce(np.sin({0.3 * n:.1f} + {name}), None)" for n, name in enumerate(names)]
        return " + ".join(terms) if is_number else f"np.array([{', '.join(terms)}])"


class Nest(NamedTuple):
    """A program: its transforms, the outermost first, and the seed of all the rest."""

    transforms: tuple[str, ...]
    seed: int

    def __repr__(self) -> str:
        return f"Nest({self.transforms}, {self.seed})\n\n{source(self)}"


WRITES = ("write_basic", "write_whole", "write_constant", "write_constant", "write_view", "write_overlap", "write_at")
LIKELY = (
    "made",
    "reused",
    "reused",
    "view",
    "index",
    "binary",
    "binary",
    "captured",
    "contract",
    "write_advanced",
    "write_traced",
)


def statements(scope: Scope, r: Random, lowest: int, highest: int) -> None:
    for _ in range(r.randint(lowest, highest)):
        kind = r.random()
        names = WRITES if kind < 0.4 else LIKELY if kind < 0.8 else SMOOTH_STATEMENTS
        scope.write(r.choice(names), r.randrange(2**16))


ARGUMENTS = ("x", "d", "t", "idx", "k")


def arguments(seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    x, d, t = rng.uniform(-1, 1, 2), rng.uniform(-1, 1, 3), float(rng.uniform(-1, 1))
    return x, d, t, rng.integers(0, 12, 3), int(rng.integers(0, 12))


def source(nest: Nest) -> str:
    """The program as a Python file, whose ``T`` is to be set; ``f`` is what the outermost transform is applied to."""
    r = Random(f"{nest.seed} {nest.transforms}")
    env: dict[str, Any] = {"__name__": "program", "T": coarse(3)[0]}
    exec(PRELUDE, env)
    given = dict(zip(ARGUMENTS, arguments(nest.seed), strict=True))
    scope = Scope(nest.seed, env, (), {"x": given.pop("x")}, given)
    scope.names = ["d", "t", "x"]
    body = function(scope, nest.transforms, r, "f", ", ".join(ARGUMENTS))
    return f"{PRELUDE}\n\n{body}\n"


def function(scope: Scope, transforms: tuple[str, ...], r: Random, name: str, given: str) -> str:
    """The text of a function in ``scope`` to which the first transform is applied; the others within it."""
    statements(scope, r, 1, 4)
    if len(transforms) > 1:
        apply_within(scope, transforms[1:], r, chr(ord(name) + 1))
        statements(scope, r, 2, 5)
    body = "\n".join([*scope.lines, f"return {scope.result(transforms[0] in OF_NUMBERS)}"])
    return f"def {name}({given}):\n{textwrap.indent(body, '    ')}"


def apply_within(scope: Scope, transforms: tuple[str, ...], r: Random, name: str) -> None:
    """Define a function in ``scope``, apply ``transforms[0]`` to it, and bind what comes out."""
    transform = transforms[0]
    small = lambda x: 1 <= np.size(x) <= 3 and np.ndim(x) <= 1
    rows = f"rows{name}"
    a = scope.pick(r, lambda x: small(x) and (transform != "jit" or np.ndim(x) == 0 or scope.may_write(x)))
    if transform == "vmap":
        scope.run(f"{rows} = np.stack([{a}, {r.choice(['-', '0.5 * ', 'np.cos'])}({a})])")
        a = rows
    x = scope.env[a][0] if transform == "vmap" else scope.env[a]
    has_other = transform in ("grad", "jacobian", "vmap", "jit") and r.random() < 0.5
    c = scope.pick(r, lambda x: not np.shares_memory(x, scope.env[a])) if has_other else ""
    moved, others = {f"y{name}": x}, {f"e{name}": scope.env[c]} if has_other else {}
    inner = Scope(r.randrange(2**20), scope.env, scope.names, moved, others)
    inner.count = scope.count
    text = function(inner, transforms, r, name, ", ".join({**moved, **others}))
    scope.count = inner.count
    if has_other:
        c = f", {c}"
    tangent = f"np.cos({a})"
    before: list[str] = []
    scope.run(text)
    match transform:
        case "grad" | "jacobian" | "jit":
            value = f"T.{transform}({name})({a}{c})"
        case "vmap":
            value = f"T.vmap({name}{', in_axes=(0, None)' if c else ''})({a}{c})"
        case "hvp":
            value = f"T.hvp({name}, ({a},), ({tangent},))"
        case "jvp":
            value = f"np.sum(np.stack(T.jvp({name}, ({a},), ({tangent},))), 0)"
        case "linearize":
            before = [f"v{name}, linear{name} = T.linearize({name}, {a})"]
            value = f"v{name} + linear{name}({tangent})"
        case _:
            before = [f"v{name}, linear{name} = T.vjp({name}, {a})"]
            value = f"linear{name}(np.cos(v{name}))[0] + np.sum(v{name})"
    if before:
        scope.run(*before)
        statements(scope, r, 0, 2)  # which the linear function does not see
    result = f"r{name}"
    scope.run(f"{result} = {value}")
    scope.names.append(result)


def outermost(T: Any, transform: str, f: Any, args: tuple[Any, ...]) -> Any:
    """The first transform, applied to the whole program with respect to its first argument."""
    x, *others = args
    of = lambda x: f(x, *others)
    match transform:
        case "grad" | "jacobian" | "jit":
            return getattr(T, transform)(f)(x, *others)
        case "vmap":
            return T.vmap(f, in_axes=(0, None, None, None, None))(np.stack([x, -x]), *others)
        case "hvp":
            return T.hvp(of, (x,), (np.cos(x),))
        case "jvp":
            return np.stack(T.jvp(of, (x,), (np.cos(x),)))
        case "linearize":
            y, push = T.linearize(of, x)
            return np.stack([y, push(np.cos(x))])
        case _:
            y, pull = T.vjp(of, x)
            return pull(np.cos(y))[0]


class Wrong(AssertionError):
    """wengert's answer is not NumPy's."""


def check(nest: Nest) -> str:
    """Run a program both ways. Returns "right", "skipped" where differences are no measure, or what refused it.

    Raises Wrong, or whatever wengert raises that is not its own.
    """
    text = source(nest)
    code = compile(text, "<nest>", "exec")
    args = arguments(nest.seed)

    def answer(T: Any) -> Array:
        namespace: dict[str, Any] = {"__name__": "program", "T": T}
        exec(code, namespace)
        given = tuple(map(np.copy, args[:2])) + args[2:]
        got = np.asarray(outermost(T, nest.transforms[0], namespace["f"], given))
        if not all(np.array_equal(a, b) for a, b in zip(given, args, strict=True)):
            raise Wrong("an argument was written to")
        return got

    def agrees(got: Array, differences: Differences, tolerance: float) -> bool:
        with np.errstate(all="ignore"):
            want = answer(differences)
        return got.shape == want.shape and bool(np.all(np.abs(got - want) <= tolerance * (1 + np.max(np.abs(want)))))

    try:
        got = answer(wg)
    except wg.errors.WengertError as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    order = sum(ORDER.get(name, 1) for name in nest.transforms)
    if agrees(got, *coarse(order)) or agrees(got, *fine(order)):
        return "right"
    with np.errstate(all="ignore"):
        want = answer(fine(order)[0])
    if not all(agrees(want, *of) for of in (fine(order, 0.6), one_sided(order, 1), one_sided(order, -1))):
        return "skipped"
    raise Wrong(f"{got} instead of {want}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.random_nesting")
    parser.add_argument("programs", type=int)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    wg.config.native = False
    found, covered, wrong, start = Counter[str](), Counter[tuple[str, ...]](), 0, time.monotonic()
    for n in range(options.programs):
        nest = Nest(NESTS[n % len(NESTS)], options.seed * 10**6 + n)
        try:
            found[check(nest)] += 1
            covered[nest.transforms] += 1
        except Exception:  # any is a finding, and the next program is run
            wrong += 1
            print(f"{nest!r}\n{traceback.format_exc()}", flush=True)
        if (n + 1) % 100 == 0 or n + 1 == options.programs:
            pairs, seconds = sum(len(k) == 2 for k in covered), time.monotonic() - start
            print(f"{n + 1} programs in {seconds:.0f} s: {pairs} pairs and {len(covered) - pairs} triples, ", end="")
            print(f"{wrong} wrong; {dict(found.most_common())}", flush=True)


if __name__ == "__main__":
    main()
