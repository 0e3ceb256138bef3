"""Random NumPy programs, as data: a list of statements, each the name of an entry below and a seed.

:func:`source` writes a program as a runnable NumPy file: two functions of ``(x0, x1, p, t, idx, k)``,

    f      returns a dict of arrays, those of the arguments that it wrote into among them
    loss   returns one number made of all of them

A statement is written while the lines before it are run on sample arguments, so that it may look at shapes, at what
shares memory with what and at sizes of values, and fits. A statement that NumPy refuses, or whose result would be
large, is left out. Shapes never depend on values, so that a program runs at other arguments of the same types too.

``pass`` is a statement like any other, the simplest one: a failing program shrinks by statements turning into it.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]

MAX_SIZE = 48
"""Elements of an array."""
MAX_ABS = 12.0
"""Of the elements at the sample arguments: what is larger is scaled down, so that differences mean something."""

PRELUDE = """\
import numpy as np

TABLE = np.cos(np.arange(12.0)).reshape(3, 4)
FIXED = np.sin(np.arange(1.0, 5.0)); FIXED.flags.writeable = False
SETTINGS = {"scale": 0.5, "shift": np.array([0.25, -0.5, 0.75])}


def squash(x, scale=0.5):
    return np.tanh(scale * x) + 0.1 * x


def centred(x):
    x = x - x.mean()
    x /= np.sqrt(1.0 + np.sum(x * x))
    return x


def blend(target, value):
    target *= 0.5
    target[...] = target + 0.25 * value


def affine(a, b=0.125):
    def apply(x):
        return a * x + b

    return apply


def recursive(x, depth):
    return x if depth == 0 else np.sin(x + 0.5 * recursive(x, depth - 1))
"""

Write = Callable[["Writer", Random], None]


class Statement(NamedTuple):
    write: Write
    tags: frozenset[str]


STATEMENTS: dict[str, Statement] = {}


def statement(*tags: str) -> Callable[[Write], Write]:
    """Register a writer of statements under its name.

    Tags: "kink" (not differentiable everywhere), "guard" (Python looks at a value), "mask" (a boolean index),
    "constant" (of numbers that the program knows: for programs of tests/random_nesting.py).
    """

    def register(write: Write) -> Write:
        STATEMENTS[write.__name__.rstrip("_")] = Statement(write, frozenset(tags))
        return write

    return register


class Program(NamedTuple):
    """Shapes of the array arguments, the seed of the sample arguments, and the statements."""

    shapes: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
    seed: int
    statements: tuple[tuple[str, int], ...]

    def __repr__(self) -> str:
        shown = ",\n    ".join(map(repr, self.statements))
        return f"Program({self.shapes}, {self.seed}, (\n    {shown},\n))\n\n{source(self)}"


def arguments(program: Program, seed: int | None = None, dtype: Any = np.float64) -> tuple[Any, ...]:
    """``(x0, x1, p, t, idx, k)``: two arrays, a dict of arrays, a number, an array of indices, an index."""
    rng = np.random.default_rng(program.seed if seed is None else seed)
    draw = lambda shape: rng.uniform(-2, 2, shape).astype(dtype)
    a, b, c = program.shapes
    p = {"w": draw(c), "b": [draw(b), draw(())]}
    return draw(a), draw(b), p, float(rng.uniform(-1, 1)), rng.integers(0, 12, 3), int(rng.integers(0, 12))


class Refused(Exception):
    """A statement does not fit the program so far."""


class Writer:
    """A program being written: its lines, and what the names in them are at the sample arguments."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.lines: list[str] = []
        self.names: list[str] = []  # of float arrays and scalars
        self.count = 0
        self._restart()
        for name, expression in (("w0", 'p["w"]'), ("b0", 'p["b"][0]'), ("s0", 'p["b"][1]')):
            self._do([f"{name} = {expression}"])
        self.names = ["x0", "x1", "w0", "b0", "s0", "t"]

    def _restart(self) -> None:
        self.env = self.beginning()
        for line in self.lines:
            exec(line, self.env)

    def beginning(self) -> dict[str, Any]:
        """What names stand for before the first line."""
        env: dict[str, Any] = {"__name__": "program"}
        exec(PRELUDE, env)
        env.update(zip(("x0", "x1", "p", "t", "idx", "k"), arguments(self.program), strict=True))
        return env

    def _do(self, lines: Sequence[str]) -> None:
        exec("\n".join(lines), self.env)
        self.lines.append("\n".join(lines))

    # ------------------------------------------------------------------------------------ what a statement says

    def write(self, name: str, seed: int) -> None:
        """Add the statement, or nothing where NumPy refuses it."""
        names, n_lines = list(self.names), len(self.lines)
        try:
            with np.errstate(all="raise"):
                STATEMENTS[name].write(
                    self, Random(f"{self.program.seed} {seed}")
                )  # small seeds are likely: make them differ
                self._tame()
        except (Refused, ValueError, IndexError, FloatingPointError):
            self.names = names
            del self.lines[n_lines:]
            self._restart()

    def run(self, *lines: str) -> None:
        """Lines that bind no new name of a float array."""
        self._do(lines)

    def fresh(self, letter: str = "v") -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def bind(self, expression: str) -> str:
        """A new name for the value of ``expression``, scaled down where it is large."""
        name = self.fresh()
        before = self.env.copy()
        self._do([f"{name} = {expression}"])
        y = self.env[name]
        size = float(np.max(np.abs(y))) if np.size(y) else 0.0
        if size > MAX_ABS and not any(np.shares_memory(y, x) for x in before.values() if isinstance(x, np.ndarray)):
            self.lines.pop()
            self.count -= 1
            return self.bind(f"({expression}) / {2.0 ** np.ceil(np.log2(size / 2))}")
        self.keep(name)
        return name

    def keep(self, name: str) -> None:
        y = self.env[name]
        if np.size(y) == 0 or np.size(y) > MAX_SIZE or np.ndim(y) > 4 or not np.all(np.isfinite(y)):
            raise Refused
        owner = y
        while isinstance(owner, np.ndarray) and isinstance(owner.base, np.ndarray):
            owner = owner.base
        if isinstance(owner, np.ndarray) and not owner.flags.c_contiguous:
            raise Refused  # NumPy keeps the order of a transposed operand: what is a view of it is not traced
        self.names.append(name)

    def _tame(self) -> None:
        """Scale down, in place, what the last statement made large by writing into it."""
        for name in self.names:
            x = self.env[name]
            if self.may_write(x) and np.max(np.abs(x)) > MAX_ABS:
                self._do([f"{name} *= {MAX_ABS / 4 / 2.0 ** np.ceil(np.log2(np.max(np.abs(x))))}"])

    # ------------------------------------------------------------------------------------ what it may talk about

    def pick(self, r: Random, fits: Callable[[Any], bool] = lambda x: True) -> str:
        """The name of a float value that ``fits``, rather a recent one."""
        found = [n for n in self.names if fits(self.env[n])]
        if not found:
            raise Refused
        return r.choice(found[-4:] if r.random() < 0.75 else found)

    def array(self, r: Random, ndim: int = 1) -> str:
        """One with at least ``ndim`` axes."""
        return self.pick(r, lambda x: np.ndim(x) >= ndim)

    def writable(self, r: Random, ndim: int = 0) -> str:
        return self.pick(r, lambda x: self.may_write(x) and x.ndim >= ndim)

    def may_write(self, x: Any) -> bool:
        return isinstance(x, np.ndarray) and x.flags.writeable

    def shape(self, name: str) -> tuple[int, ...]:
        return np.shape(self.env[name])

    def like(self, r: Random, shape: tuple[int, ...]) -> str:
        """An expression that broadcasts to ``shape``, made of the program's values."""

        def broadcasts(x: Any) -> bool:
            try:
                return np.broadcast_shapes(np.shape(x), shape) == shape
            except ValueError:
                return False

        if r.random() < 0.7:
            name = self.pick(r, broadcasts)  # s0 always does, but for an empty shape
            return name if r.random() < 0.7 else r.choice(["np.sin({})", "-{}", "0.5 * {}", "np.cos({})"]).format(name)
        return r.choice(["t", "0.75", "-1", f"np.mean({self.pick(r)})", f"np.full({shape}, t)"])

    def scalar(self, r: Random) -> str:
        """An expression for a traced scalar of moderate size."""
        name = self.pick(r)
        if np.ndim(self.env[name]) == 0:
            return r.choice([name, f"np.sin({name})"])
        at = ", ".join(str(r.randrange(-n, n)) for n in self.shape(name))
        return r.choice([f"np.mean({name})", f"{name}[{at}]", f"np.sum({name})", f"{name}.mean()"])

    def integer(self, r: Random, n: int) -> str:
        """An expression for an integer in [0, n): of the arguments, or of values."""
        name = self.pick(r)
        return r.choice(
            [
                f"k % {n}",
                f"idx[1] % {n}",
                f"np.argmax({name}) % {n}",
                f"(k + {r.randrange(5)}) % {n}",
                str(r.randrange(n)),
            ]
        )

    def index_array(self, r: Random, n: int) -> str:
        """An expression for an array of integers in [-n, n), of shape (3,) or (2, 3)."""
        name = self.array(r)
        fixed = [r.randrange(-n, n) for _ in range(3)]
        return r.choice(
            [
                f"idx % {n}",
                f"-1 - idx % {n}",
                f"np.array({fixed})",
                f"{fixed}",
                f"np.argsort({name}, axis=None, kind='stable')[:1] % {n}",
                f"np.stack([idx % {n}, (idx + 1) % {n}])",
            ]
        )

    # ------------------------------------------------------------------------------------------------- the text

    def text(self) -> str:
        body = "\n".join(self.lines)
        results = [
            n
            for n in dict.fromkeys(["x0", "x1", "w0", "b0", *self.names[-8:]])
            if np.ndim(self.env[n]) or n in self.names[6:]
        ]
        body += f"\nreturn dict({', '.join(f'{n}={n}' for n in results)})"
        body = "\n".join("    " + line if line else "" for line in body.split("\n"))
        return f"""{PRELUDE}

def f(x0, x1, p, t, idx, k):
{body}


def loss(x0, x1, p, t, idx, k):
    total = 0.0
    for n, y in enumerate(f(x0, x1, p, t, idx, k).values()):
        total = total + np.sum(np.cos(0.3 * n + y))
    return total
"""


def source(program: Program) -> str:
    """The program as a Python file."""
    writer = Writer(program)
    for name, seed in program.statements:
        writer.write(name, seed)
    return writer.text()


class Built(NamedTuple):
    """The functions of a program, their module's namespace and its text."""

    f: Callable[..., dict[str, Any]]
    loss: Callable[..., Any]
    namespace: dict[str, Any]
    text: str


def build(program: Program) -> Built:
    text = source(program)
    file = f"<program {abs(hash(text)):x}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"__name__": "program"}
    exec(compile(text, file, "exec"), namespace)
    return Built(namespace["f"], namespace["loss"], namespace, text)


# --------------------------------------------------------------------------------------------------- elementwise


@statement()
def pass_(w: Writer, r: Random) -> None:
    pass


SMOOTH = (
    "np.sin({})",
    "np.cos({})",
    "np.tanh({})",
    "np.exp(0.3 * {})",
    "np.square({})",
    "np.sqrt(1.5 + {0} * {0})",
    "np.log1p({0} ** 2)",
    "np.arctan({})",
    "1 / (2.5 + np.cos({}))",
    "np.reciprocal(2.0 + np.sin({}))",
    "-{}",
    "+{}",
    "0.5 * {0} ** 3",
    "2 ** (0.5 * {})",
    "np.log(2 + np.sin({}))",
    "np.expm1(0.25 * {})",
    "np.sinh(0.5 * {})",
    "np.hypot({}, 1.5)",
    "np.arctan2({}, 2.5)",
    "np.logaddexp({}, 0.5)",
    "(1.5 + np.sin({})) ** 1.5",
    "np.log2(3 + np.cos({}))",
    "np.power(1.5 + np.cos({}), t)",
    "np.positive({})",
    "np.cbrt(3 + np.cos({}))",
    "np.arcsinh({})",
    "np.float64(1.5) * {}",
    "np.exp2(-0.5 * {})",
    "np.sinc(0.3 * {} + 4.5)",
    "np.true_divide({}, 3)",
    "np.add({}, t)",
    "np.multiply(SETTINGS['scale'], {})",
)
KINKED = (
    "np.abs({})",
    "np.maximum({}, 0.25)",
    "np.clip({}, -0.75, 0.8)",
    "np.minimum({}, t)",
    "np.where({0} > 0.3, {0}, 0.5 * {0})",
    "np.fabs({})",
    "np.sign({0}) * {0}",
    "np.where({0} > 0, np.sqrt(np.where({0} > 0, {0}, 1.0)), 0.0)",
    "np.fmax({}, -0.5)",
    "{0} * ({0} > 0.1)",
    "np.maximum(0, {})",
    "{}.clip(-0.5, None)",
    "np.heaviside({}, 0.5)",
    "np.mod({}, 3)",
    "{} - np.floor({})",
    "np.where(np.abs({0}) < 0.9, {0}, np.sign({0}))",
    "np.nan_to_num({})",
    "abs({})",
    "np.trunc(2 * {0}) + {0}",
    "np.copysign({}, t)",
)


@statement()
def smooth(w: Writer, r: Random) -> None:
    w.bind(r.choice(SMOOTH).format(*[w.pick(r)] * 2))


@statement("kink")
def kinked(w: Writer, r: Random) -> None:
    w.bind(r.choice(KINKED).format(*[w.array(r)] * 2))


BINARY = (
    "{} + {}",
    "{} - {}",
    "{} * {}",
    "{} / (2.5 + np.cos({}))",
    "np.hypot(1 + {0} * {0}, {1})",
    "np.arctan2({}, 3 + np.cos({}))",
    "np.logaddexp({}, {})",
    "(1.5 + np.sin({})) ** np.cos({})",
    "np.subtract({}, {})",
    "0.3 * {0} * {1} + {0}",
    "np.sin({}) @ np.cos({})",
    "np.multiply({}, {})",
)


@statement()
def binary(w: Writer, r: Random) -> None:
    a = w.array(r)
    w.bind(r.choice(BINARY).format(a, w.like(r, w.shape(a))))


@statement()
def broadcast(w: Writer, r: Random) -> None:
    """Every element of one with every element of the other."""
    a, b = w.array(r), w.pick(r, lambda x: np.ndim(x) == 1)
    w.bind(
        r.choice(
            ["{0}[..., None] * {1}", "{1}[:, None] + {0}.ravel()", "np.subtract.outer({1}, {0})", "{0}[None] - {1}[0]"]
        ).format(a, b)
    )


@statement("kink")
def choose_between(w: Writer, r: Random) -> None:
    a = w.array(r)
    b = w.like(r, w.shape(a))
    c = w.like(r, w.shape(a))
    w.bind(
        r.choice(
            [
                "np.maximum({0}, {1})",
                "np.minimum({0}, {1})",
                "np.where({0} > {2}, {1}, {0})",
                "np.clip({0}, -0.5, np.abs({1}))",
                "np.where(({0} > 0) & ({0} < {2}), {1}, {0})",
                "np.select([{0} > 0.5, {0} < -0.5], [{1}, {2}], {0})",
                "np.where({0} > 0, {1}, 1.0)",
                "np.fmin({0}, {1})",
            ]
        ).format(a, b, c)
    )


@statement()
def captured(w: Writer, r: Random) -> None:
    a = w.array(r)
    g = r.choice(
        [
            "TABLE",
            "TABLE[0]",
            "FIXED",
            "SETTINGS['shift'][:1]",
            "TABLE.T[1:2, 0]",
            f"FIXED[{r.randrange(4)}]",
            "TABLE.sum()",
        ]
    )
    w.bind(r.choice(["{0} * {1}", "{0} + np.sin({1})", "{1} - {0}", "np.tensordot({0}, {1}, 0)"]).format(a, g))


# ------------------------------------------------------------------------------------- reductions, contractions


@statement()
def reduce(w: Writer, r: Random) -> None:
    a = w.array(r)
    n = len(w.shape(a))
    axis = r.choice([None, r.randrange(-n, n), tuple(sorted(r.sample(range(n), r.randint(1, n))))])
    f = r.choice(["sum", "mean", "var", "prod", "std"])
    b = f"np.cos({a})" if f == "prod" else f"(2.0 + np.arange({w.shape(a)[-1]}.0) * np.sin({a}))" if f == "std" else a
    keep = r.choice(["", ", keepdims=True"])
    w.bind(
        r.choice([f"np.{f}({b}, axis={axis}{keep})", f"({b}).{f}({axis}{keep})"]) + (" + 0.5" if f == "prod" else "")
    )


@statement("kink")
def extreme(w: Writer, r: Random) -> None:
    a = w.array(r)
    axis = r.choice([None, *range(len(w.shape(a)))])
    f = r.choice(["np.max", "np.min", "np.ptp", "np.amax", "np.median"])
    w.bind(f"{f}({a}, axis={axis}{r.choice(['', ', keepdims=True'])})")


@statement("kink")
def order(w: Writer, r: Random) -> None:
    a = w.array(r)
    axis = r.randrange(-len(w.shape(a)), len(w.shape(a)))
    w.bind(
        r.choice(
            [
                f"np.sort({a}, axis={axis})",
                f"np.take_along_axis({a}, np.argsort({a}, axis={axis}, kind='stable'), axis={axis})",
                f"np.sort({a}, axis=None)",
                f"np.ravel({a})[np.argsort(np.ravel({a}), kind='stable')[::-1]]",
                f"np.maximum.accumulate({a}, axis={axis})",
                f"np.partition({a}, 0, axis={axis})[..., :1]",
            ][:4]
        )
    )


@statement()
def running(w: Writer, r: Random) -> None:
    a = w.array(r)
    axis = r.randrange(-len(w.shape(a)), len(w.shape(a)))
    w.bind(
        r.choice(
            [
                f"np.cumsum({a}, axis={axis})",
                f"np.cumprod(np.cos({a}), axis={axis})",
                f"{a}.cumsum()",
                f"np.diff({a}, axis={axis})",
                f"np.cumsum({a}, axis={axis})[::-1]",
                f"np.gradient({a}, axis={axis})",
                f"np.roll({a}, {r.randint(-2, 2)}, axis={axis})",
                f"np.trapezoid({a}, axis={axis})",
                f"np.cumulative_sum({a}, axis={axis})",
            ]
        )
    )


@statement()
def contract(w: Writer, r: Random) -> None:
    a, b = w.array(r), w.array(r)
    x, y = w.env[a], w.env[b]
    ways = [f"np.outer({a}, {b})", f"{a} @ np.swapaxes({a}, -1, -2)" if x.ndim > 1 else f"{a} @ {a}"]
    if x.shape[-1] == y.shape[-1]:
        ways += [f"np.inner({a}, {b})", f"np.einsum('...i,...i->...', {a}, {b})", f"np.vecdot({a}, {b})"]
        if y.ndim > 1:
            ways += [f"{a} @ np.swapaxes({b}, -1, -2)", f"np.tensordot({a}, {b}, axes=(-1, -1))"]
    if x.shape[-1] == y.shape[max(y.ndim - 2, 0)]:
        ways += [f"{a} @ {b}", f"np.dot({a}, {b})", f"np.matmul({a}, {b})", f"{a}.dot({b})"] * 2
    if x.ndim == 2:
        ways += [
            f"np.einsum('ij->ji', {a})",
            f"np.einsum('ij,ij->i', {a}, {a})",
            f"np.einsum('ij,kj->ik', {a}, {a})",
            f"np.trace({a})",
            f"np.einsum('ij,ik->', {a}, {a})",
            f"np.einsum('ij,j,i', {a}, {a}[0], {a}[:, 0])",
        ]
    if x.size == y.size:
        ways += [f"np.vdot({a}, {b})"]
    w.bind(r.choice(ways))


# ------------------------------------------------------------------------------------------- shapes, joins, keys


def factors(r: Random, size: int) -> tuple[int, ...]:
    """Lengths whose product is ``size``."""
    lengths = [1]
    for prime in (2, 2, 2, 3, 3, 5):
        if size % prime == 0:
            size //= prime
            if r.random() < 0.5:
                lengths[r.randrange(len(lengths))] *= prime
            else:
                lengths.append(prime)
    lengths[-1] *= size
    r.shuffle(lengths)
    return tuple(lengths[:3]) if len(lengths) <= 3 else (*lengths[:2], int(np.prod(lengths[2:])))


def view_of(w: Writer, r: Random, a: str) -> str:
    """An expression that (mostly) shares memory with ``a``."""
    shape = w.shape(a)
    n = len(shape)
    i, j = r.randrange(n), r.randrange(n)
    new = factors(r, int(np.prod(shape)))
    ways = [
        f"{a}.reshape{new}",
        f"np.reshape({a}, {new})",
        f"{a}.T",
        f"np.swapaxes({a}, {i}, {j})",
        f"np.moveaxis({a}, {i}, {j})",
        f"{a}[None]",
        f"np.expand_dims({a}, {i})",
        f"np.squeeze({a})",
        f"{a}.ravel()",
        f"np.flip({a}, {i})",
        f"{a}[{basic_key(r, shape)}]",
        f"{a}[..., ::-1]",
        f"{a}.transpose()",
        f"np.atleast_2d({a})",
        f"{a}.reshape(-1)",
        f"np.split({a}, {shape[i]}, {i})[{r.randrange(shape[i])}]",
        f"{a}[{basic_key(r, shape)}]",
        f"{a}[...]",
        f"{a}.view()",
        f"np.asarray({a})",
        f"np.squeeze({a}[None], 0)",
    ]
    if n > 1:
        ways += [f"np.diagonal({a})", f"np.rot90({a}, {r.randrange(4)})", f"{a}.mT", f"np.fliplr({a})"]
    return r.choice(ways)


@statement()
def view(w: Writer, r: Random) -> None:
    w.bind(view_of(w, r, w.array(r)))


@statement()
def rearrange(w: Writer, r: Random) -> None:
    a = w.array(r)
    i = r.randrange(len(w.shape(a)))
    w.bind(
        r.choice(
            [
                f"np.repeat({a}, 2, axis={i})",
                f"np.tile({a}, 2)",
                f"np.broadcast_to({a}, (2, *{w.shape(a)}))",
                f"np.roll({a}, 1)",
                f"np.pad({a}, 1)",
                f"{a}.copy()",
                f"np.array({a})",
                f"np.diag({a}.ravel()[:3])",
                f"np.tril({a}[None])",
                f"{a}.flatten()",
                f"np.array([{a}, {a}])",
                f"np.array({a}.tolist())",
                f"np.delete({a}, 0, axis={i})",
                f"np.triu({a}, 1)",
                f"np.resize({a}, (2, 3))",
                f"np.ascontiguousarray({a})",
                f"{a}.astype(np.float64)",
                f"np.repeat({a}.ravel()[:2], [1, 2])",
            ]
        )
    )


@statement()
def join(w: Writer, r: Random) -> None:
    a = w.array(r)
    shape = w.shape(a)
    i = r.randrange(len(shape))
    same = [n for n in w.names if w.shape(n) == shape]
    b, c = r.choice(same), r.choice(same)
    w.bind(
        r.choice(
            [
                f"np.concatenate([{a}, {b}], axis={i})",
                f"np.stack([{a}, {b}, {c}], axis={i})",
                f"np.vstack([{a}, {b}])",
                f"np.hstack([{a}, {b}])",
                f"np.concatenate([{a}, np.zeros({shape}), {c}], axis=None)",
                f"np.append({a}, {b})",
                f"np.array([{a}, {b}])",
                f"sum(np.split({a}, {shape[i]}, axis={i}))",
                f"np.concatenate(np.array_split({a}, 2, axis={i})[::-1], axis={i})",
                f"np.dstack([{a}, {b}])",
                f"np.column_stack([{a}, {b}])",
                f"np.block([[{a}, {b}], [{b}, {a}]])",
                f"np.concatenate([{a}[:1], {b}])",
            ]
        )
    )


def basic_entry(r: Random, n: int) -> str:
    i, j = r.randrange(n), r.randrange(n)
    return r.choice(
        [
            str(i),
            str(i - n),
            ":",
            f"{min(i, j)}:{max(i, j) + 1}",
            "::-1",
            f"{i}:",
            f":{i + 1}",
            f"{n - 1}:{max(i, 1) - 1}:-1",
            "::2",
            f"-{i + 1}:",
        ]
    )


def basic_key(r: Random, shape: Sequence[int]) -> str:
    entries = [basic_entry(r, n) for n in shape]
    if r.random() < 0.3:
        entries = entries[: r.randrange(len(entries)) + 1]
    elif r.random() < 0.3:
        k = r.randrange(len(entries))
        entries[k:] = [
            "...",
            *[basic_entry(r, n) for n in shape[len(shape) - r.randrange(len(entries) - k + 1) :]][: len(entries) - k],
        ]
    if r.random() < 0.2:
        entries.insert(r.randrange(len(entries) + 1), "None")
    return ", ".join(entries)


def advanced_key(w: Writer, r: Random, shape: Sequence[int], repeats: bool = True) -> str:
    """With index arrays, traced or not, maybe beside slices."""
    kinds = [r.choice(["array", "slice", "int", "traced"]) for _ in shape]
    kinds[r.randrange(len(kinds))] = "array"
    entries = []
    for n, kind in zip(shape, kinds, strict=True):
        if kind == "array":
            entries.append(w.index_array(r, n) if repeats else f"np.array({r.sample(range(n), r.randint(1, n))})")
        elif kind == "traced":
            entries.append(w.integer(r, n))
        else:
            entries.append(basic_entry(r, n) if kind == "slice" else str(r.randrange(n)))
    if not repeats and kinds.count("array") > 1:
        raise Refused  # their lengths differ, mostly
    return ", ".join(entries[: max(k for k, kind in enumerate(kinds) if kind == "array") + 1 + r.randrange(2)])


@statement()
def index(w: Writer, r: Random) -> None:
    a = w.array(r)
    w.bind(f"{a}[{advanced_key(w, r, w.shape(a))}]")


@statement()
def traced_index(w: Writer, r: Random) -> None:
    a = w.array(r)
    n = w.shape(a)[0]
    i = w.integer(r, n)
    w.bind(
        r.choice(
            [
                f"{a}[{i}]",
                f"np.take({a}, {w.index_array(r, n)}, axis=0)",
                f"{a}.take({i}, axis=0)",
                f"{a}.ravel()[{w.integer(r, w.env[a].size)}]",
                f"np.take_along_axis({a}, np.argmin({a}, axis=0, keepdims=True), axis=0)",
                f"{a}[{i}] * {a}[{w.integer(r, n)}]",
                f"{a}[np.arange({n}), ...]",
                f"sum({a}[j] for j in [{i}, 0])",
            ]
        )
    )


@statement("kink", "guard", "mask")
def masked(w: Writer, r: Random) -> None:
    """What a mask selects, made a number at once, for its length is not known."""
    a = w.array(r)
    c = r.choice(["0.1", "-0.5", f"np.mean({a})", "t"])
    w.bind(
        r.choice(
            [
                f"np.sum({a}[{a} > {c}] ** 2)",
                f"np.sum(np.sin({a}[np.nonzero({a} < {c})]))",
                f"np.sum({a}.ravel()[np.flatnonzero({a}[..., 0] > {c})])",
                f"np.sum({a}[{a}.sum(tuple(range(1, {a}.ndim))) > {c}])",
                f"np.sum(np.compress({a}.ravel() > {c}, {a}))",
                f"np.sum(np.extract({a} > {c}, {a}))",
                f"np.sum(np.where({a} > {c})[0]) * {a}",
            ]
        )
    )


@statement("kink")
def where_summed(w: Writer, r: Random) -> None:
    a = w.array(r)
    w.bind(
        r.choice(
            [
                "np.sum({0}, where={0} > 0)",
                "np.mean({0}, axis=0, where=np.abs({0}) < 1e3)",
                "np.max({0}, initial=0.0, where={0} < 1)",
            ]
        ).format(a)
    )


# ------------------------------------------------------------------------------------------------------- writes


@statement()
def write_basic(w: Writer, r: Random) -> None:
    a = w.writable(r, 1)
    key = basic_key(r, w.shape(a))
    region = np.shape(w.env[a][eval(f"np.s_[{key}]", w.env)])
    how = r.choice(["=", "=", "+=", "*=", "-="])
    w.run(f"{a}[{key}] {how} {w.like(r, region)}")


@statement()
def write_advanced(w: Writer, r: Random) -> None:
    a = w.writable(r, 1)
    how = r.choice(["=", "+=", "*="])
    key = advanced_key(w, r, w.shape(a), repeats=how == "=")
    region = np.shape(w.env[a][eval(f"np.s_[{key}]", w.env)])
    w.run(f"{a}[{key}] {how} {w.like(r, region)}")


@statement()
def write_traced(w: Writer, r: Random) -> None:
    """At an integer that is traced."""
    a = w.writable(r, 1)
    i = w.integer(r, w.shape(a)[0])
    w.run(f"{a}[{i}] {r.choice(['=', '+=', '*='])} {w.like(r, w.shape(a)[1:])}")


@statement("kink", "guard", "mask")
def write_masked(w: Writer, r: Random) -> None:
    a = w.writable(r, 1)
    m = f"{a} {r.choice(['>', '<='])} {r.choice(['0.2', 't', '-0.4'])}"
    w.run(
        r.choice(
            [
                f"{a}[{m}] = {w.scalar(r)}",
                f"{a}[{m}] *= 0.5",
                f"{a}[{m}] = np.sin({a}[{m}])",
                f"{a}[{m}] += {a}[{m}]",
                f"np.putmask({a}, {m}, 0.5)",
                f"np.copyto({a}, {w.like(r, w.shape(a))}, where={m})",
                f"np.place({a}, {m}, [0.25, t])",
                f"{a}[({m}).nonzero()] -= 0.5",
                f"np.multiply({a}, 0.5, out={a}, where={m})",
            ]
        )
    )


@statement()
def write_whole(w: Writer, r: Random) -> None:
    a = w.writable(r)
    b = w.like(r, w.shape(a))
    w.run(
        r.choice(
            [
                f"{a} += {b}",
                f"{a} *= 0.5",
                f"{a} -= {b}",
                f"{a} /= 2.0 + np.cos({b})",
                f"{a}[...] = {b}",
                f"np.add({a}, {b}, out={a})",
                f"np.sin({b}, out={a})",
                f"np.copyto({a}, {b})",
                f"{a}.fill(t)",
                f"blend({a}, {b})",
                f"np.multiply({a}, {b}, {a})",
                f"{a} **= 2",
                f"np.tanh({a}, out={a})",  # not np.negative: NumPy 2.4 itself is wrong for a stride of 64 bytes
                f"np.exp(0.25 * {a}, out={a})",
                f"np.sum([{b}, {a}], axis=0, out={a})",
            ]
        )
    )


@statement()
def write_view(w: Writer, r: Random) -> None:
    """Through a view of a view, into what it is a view of."""
    a = w.writable(r, 1)
    u = w.fresh("u")
    lines = [f"{u} = {view_of(w, r, a)}"]
    exec(lines[0], w.env)
    for _ in range(r.randrange(3)):
        if w.shape(u):
            lines.append(f"{u} = {view_of(w, r, u)}")
            exec(lines[-1], w.env)
    x = w.env[u]
    if not isinstance(x, np.ndarray) or not x.flags.writeable:
        raise Refused
    key = f"[{basic_key(r, x.shape)}]" if x.ndim and r.random() < 0.5 else "[...]"
    region = np.shape(eval(f"{u}{key}", w.env))
    lines.append(f"{u}{key} {r.choice(['=', '+=', '*='])} {w.like(r, region)}")
    if r.random() < 0.3:
        lines.append(f"{u} *= 0.75")
    w._restart()
    w.run(*lines)
    if r.random() < 0.5:
        w.keep(u)


@statement()
def write_overlap(w: Writer, r: Random) -> None:
    """What is read and what is written share memory."""
    a = w.writable(r, 1)
    w.run(
        r.choice(
            [
                f"{a}[1:] += {a}[:-1]",
                f"{a}[:-1] = {a}[1:]",
                f"{a}[:] = {a}[::-1]",
                f"{a}[...] = {a}[..., ::-1] * 0.5",
                f"{a} += {a}[:1]",
                f"{a}[0], {a}[-1] = {a}[-1], {a}[0]",
                f"{a}[1:] = np.sin({a}[:-1])",
                f"{a} += {a}",
                f"{a}[[0, -1]] = {a}[[-1, 0]]",
                f"np.add({a}[1:], {a}[:-1], out={a}[1:])",
            ]
        )
    )


@statement()
def write_at(w: Writer, r: Random) -> None:
    """np.add.at, where repeated indices add up, and its relatives."""
    a = w.writable(r, 1)
    n = w.shape(a)[0]
    i = w.index_array(r, n)
    region = np.shape(w.env[a][eval(i, w.env)])
    v = f"({w.like(r, region)}) + np.zeros({region})"  # NumPy 2.4 adds wrongly where it has to broadcast
    w.run(
        r.choice(
            [
                f"np.add.at({a}, {i}, {v})",
                f"np.add.at({a}, {i}, {v})",
                f"np.subtract.at({a}, {i}, {v})",
                f"np.add.at({a}, ({i},), {v})",
                f"np.put({a}, [0, -1], [t, 0.5])",
                f"np.add.at({a}, {w.integer(r, n)}, {w.like(r, w.shape(a)[1:])})",
                f"np.fill_diagonal({a}, {w.scalar(r)})",
                f"np.put_along_axis({a}, np.argmax({a}, 0, keepdims=True), 0.5, 0)",
            ]
        )
    )


MADE = (
    "np.zeros({s})",
    "np.ones({s})",
    "np.full({s}, 0.5)",
    "np.zeros_like({a})",
    "np.full_like({a}, -0.25)",
    "np.linspace(0.0, 1.0, {n})",
    "np.array([0.5, -1.0, 0.25])",
    "np.eye(2)",
    "np.array(TABLE[0, :2])",
    "0.5 * np.ones({s})",
    "np.arange({n}.0) - 0.75",
    "np.zeros({n} + 1)[1:]",
    "np.ones(({n}, 2))[:, 0]",
)


@statement("constant")
def made(w: Writer, r: Random) -> None:
    """A new array of numbers that the program knows: a constant, until something traced is written into it."""
    a = w.array(r)
    w.bind(r.choice(MADE).format(a=a, s=w.shape(a), n=w.shape(a)[0]))


@statement("constant")
def reused(w: Writer, r: Random) -> None:
    """A new array that is read, written, and read again."""
    a = w.array(r)
    b, v = w.fresh(), w.fresh()
    w.run(f"{b} = {r.choice(MADE).format(a=a, s=w.shape(a), n=w.shape(a)[0])}")
    other = w.like(r, w.shape(b))
    read = r.choice(["{b} * {o}", "{b} + {o}", "{b}[1:] - t", "{b}[idx % 1] * t", "{b} @ {b} * t"])
    w.run(f"{v} = {read.format(b=b, o=other)}")
    w.run(r.choice([f"{b}[0] = 3", f"{b}[:] = -0.5", f"{b} += 0.75", f"{b}.fill(2.0)", f"np.copyto({b}, 0.25)"]))
    w.keep(b)
    w.keep(v)


@statement("constant")
def write_constant(w: Writer, r: Random) -> None:
    """Numbers that the program knows, in every way that there is to write."""
    a = w.writable(r, 1)
    c = r.choice(["0.5", "-1.25", "3", "TABLE[1, 2]"])
    n = w.shape(a)[0]
    w.run(
        r.choice(
            [
                f"{a}[0] = {c}",
                f"{a}[-1] += {c}",
                f"{a}[:] = {c}",
                f"{a} += {c}",
                f"{a} *= 0.5",
                f"{a}.fill({c})",
                f"np.copyto({a}, {c})",
                f"np.add({a}, {c}, out={a})",
                f"{a}[::2] = {c}",
                f"{a}[{r.randrange(n)}:] -= {c}",
                f"{a}[[0, -1]] = {c}",
                f"{a}[np.arange({n}) > 0] = {c}",
                f"{a}.flat[0] = {c}",
                f"np.put({a}, [0], {c})",
                f"np.add.at({a}, [0], {c})",
                f"{a}.ravel()[:1] = {c}",
                f"{a}.T[...] = {c}",
            ]
        )
    )


@statement()
def filled(w: Writer, r: Random) -> None:
    """A new array that traced values are written into, element by element or row by row."""
    a = w.array(r)
    shape = w.shape(a)
    u, i = w.fresh(), w.fresh("i")
    new = r.choice(
        [
            "np.zeros_like({a})",
            "np.empty({s})",
            "np.zeros({s})",
            "np.ones({s})",
            "np.full({s}, t)",
            "np.full({s}, 0.5)",
            "np.empty_like({a})",
            "np.zeros_like({a}, dtype=float)",
        ]
    ).format(a=a, s=shape)
    step = r.choice(
        [
            f"{u}[{i}] = 0.5 * {a}[{i}]",
            f"{u}[{i}] = np.sin({a}[-{i} - 1]) + {i}",
            f"{u}[{i}] = {a}[{i}] + 0.25 * ({u}[{i} - 1] if {i} else 0)",
        ]
    )
    w.run(f"{u} = {new}", f"for {i} in range({shape[0]}):", f"    {step}")
    w.keep(u)


# ------------------------------------------------------------------------------------------- Python around it all


@statement("kink", "guard")
def branch(w: Writer, r: Random) -> None:
    a = w.pick(r)
    v = w.fresh()
    test = r.choice(
        [
            f"{w.scalar(r)} > {r.choice(['0.1', 't', '-0.25'])}",
            f"{w.scalar(r)} < {w.scalar(r)}",
            f"np.any({a} > 1.5)",
            f"np.all({a} > -1.0)",
            "k % 2 == 0",
            f"{w.scalar(r)} > 0 and t > 0",
            f"not t > {w.scalar(r)}",
            f"np.argmax({a}) == 0",
            f"0 < {w.scalar(r)} < 1",
            "idx.sum() > 15",
            f"int({w.scalar(r)}) == 0",
        ]
    )
    one, two = r.choice(SMOOTH).format(a, a), r.choice(SMOOTH).format(a, a)
    lines = [f"if {test}:", f"    {v} = {one}", "else:", f"    {v} = {two}"]
    if r.random() < 0.3:
        lines = [f"{v} = {one} if {test} else {two}"]
    elif r.random() < 0.3 and isinstance(w.env[a], np.ndarray) and w.env[a].flags.writeable:
        lines = [f"{v} = {a}", f"if {test}:", f"    {v}[...] = 0.5 * {v}"]
    w.run(*lines)
    w.keep(v)


@statement("kink", "guard")
def loop(w: Writer, r: Random) -> None:
    """As often as a traced value says."""
    a = w.pick(r)
    v, n = w.fresh(), w.fresh("n")
    step = r.choice([f"{v} = np.sin({v}) + 0.25 * {a}", f"{v} = 0.5 * {v} + np.cos({v})", f"{v} = squash({v})"])
    if np.ndim(w.env[a]) and r.random() < 0.4:
        step = r.choice([f"{v} *= 0.75", f"{v} += np.sin({v})", f"{v}[...] = np.cos({v})"])
    s = w.scalar(r)
    start = f"{v} = {a} + 0.0"
    w.run(
        *r.choice(
            [
                [start, f"for {n} in range(int(2 * abs({s})) % 4):", f"    {step}"],
                [start, f"for {n} in range(k % 4):", f"    {step}"],
                [start, f"{n} = 0", f"while {n} < 4 and np.mean({v}) < 0.75:", f"    {step}", f"    {n} += 1"],
                [start, f"for {n} in range(4):", f"    if np.sum({v}) > 1.0:", "        break", f"    {step}"],
                [start, f"{n} = np.sum({a} > 0) % 3", f"while {n} > 0:", f"    {step}", f"    {n} = {n} - 1"],
                [start, f"for {n} in range(np.argmax({v}) % 3):", f"    {step}"],
            ]
        )
    )
    w.keep(v)


@statement()
def fixed_loop(w: Writer, r: Random) -> None:
    a = w.array(r)
    v, i = w.fresh(), w.fresh("i")
    w.run(
        *r.choice(
            [
                [f"{v} = 0.0", f"for {i} in {a}:", f"    {v} = np.sin({v} + {i})"],
                [f"{v} = [np.tanh({i}) for {i} in {a}]", f"{v} = np.stack({v})"],
                [f"{v} = np.array([np.sum({i}) * 0.5 for {i} in {a}])"],
                [f"{v} = 1.0", f"for {i} in range(3):", f"    {v} = {v} * 0.5 + np.cos({a}[{i} % {w.shape(a)[0]}])"],
                [f"{v} = sum(np.sin({i}) for {i} in {a})"],
                [f"{v} = np.array([x * (n + 1) for n, x in enumerate({a}.flat)])"],
                [f"{v} = np.array([x - y for x, y in zip({a}, {a}[::-1])])"],
                [
                    f"{v} = {a}.copy()",
                    f"for {i} in {v}:",
                    f"    {i} *= 0.5" if len(w.shape(a)) > 1 else f"    {v} += 0.1 * {i}",
                ],
            ]
        )
    )
    w.keep(v)


@statement()
def call(w: Writer, r: Random) -> None:
    a = w.array(r)
    b = w.like(r, w.shape(a))
    w.bind(
        r.choice(
            [
                f"squash({a})",
                f"squash({a}, scale={w.scalar(r)})",
                f"centred({a})",
                f"affine({b})({a})",
                f"affine(t, {b})({a})",
                f"recursive({a}, 3)",
                f"(lambda x, y={b}: x * y)({a})",
                f"next(map(centred, [{a}]))",
                f"affine(*[{b}, t])({a})",
                f"centred(x={a})",
            ]
        )
    )


@statement()
def plumbing(w: Writer, r: Random) -> None:
    """Through lists, dicts, tuples and local functions."""
    a = w.array(r)
    b = w.like(r, w.shape(a))
    v, d = w.fresh(), w.fresh("d")
    w.run(
        *r.choice(
            [
                [
                    f"{d} = {{'a': {a}, 'b': [{b}]}}",
                    f"{d}['b'].append({d}['a'] * 0.5)",
                    f"{v} = {d}['b'][0] + {d}['b'][-1]",
                ],
                [f"{d} = [{a}]", f"{d}.extend([{b}, t])", f"{v} = {d}[0] * {d}[1] + {d}.pop()"],
                [
                    f"def {d}(y):",
                    f"    z = {a} * y",
                    "    return z, z.sum()",
                    f"{v}, s{v} = {d}({b})",
                    f"{v} = {v} / (2 + np.cos(s{v}))",
                ],
                [f"{v}, *{d} = [np.sin({a}), {b}, {a}]", f"{v} = {v} + {d}[1]"],
                [
                    f"{d} = {{}}",
                    f"for key, value in [('x', {a}), ('y', {a})]:",
                    f"    {d}[key] = {d}.get('x', 0) + value",
                    f"{v} = {d}['y']",
                ],
                [f"{v} = sum([{a}, {b}, 1.0])"],
                [f"{d} = ({a}, {b})", f"{v} = max({d}, key=np.ndim) * 0.5"],
                [f"{v} = {a}", f"{v} = {v} + {b}"],
            ]
        )
    )
    w.keep(v)


SMOOTH_STATEMENTS = tuple(name for name, s in STATEMENTS.items() if not s.tags)
PLAIN_STATEMENTS = tuple(name for name, s in STATEMENTS.items() if not s.tags & {"guard", "mask", "constant"})
ALL_STATEMENTS = tuple(name for name, s in STATEMENTS.items() if "constant" not in s.tags)

SHAPES = ((3, 4), (4,), (3,), (2, 3), (4, 3), (1, 4), (3, 3), (2, 1, 3), (5,), (1,), (2, 2))


def random_program(rng: Random, length: int = 24, names: Sequence[str] = ALL_STATEMENTS) -> Program:
    """A program without hypothesis, for long runs by hand and for counting what programs are like."""
    shapes = tuple(rng.choice(SHAPES) for _ in range(3))
    return Program(shapes, rng.randrange(1000), tuple((rng.choice(names), rng.randrange(2**16)) for _ in range(length)))
