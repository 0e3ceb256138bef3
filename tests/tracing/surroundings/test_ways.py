"""Ordinary ways to write a model: each is traced once, and what it reads may change between calls."""

from __future__ import annotations

import argparse
import contextlib
import copy
import functools
import itertools
import logging
import math
import operator
import os.path
import random
import statistics
import threading
import typing
import warnings
from collections import ChainMap, Counter, OrderedDict, defaultdict, namedtuple
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.constants
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.sparse
import scipy.spatial.distance
import scipy.special
import scipy.stats
from numpy.polynomial import Polynomial
from numpy.polynomial.legendre import leggauss

import tests.tracing.surroundings.ways.models as m
import wengert as wg
from tests.tracing.surroundings.ways import constants, deep
from tests.tracing.surroundings.ways.models import Derived, Kind, Normal, Options, Plain, Unit

X = np.array([0.5, 1.5, 2.5])
SEED = 3
CONFIG: dict[str, Any] = {"model": {"width": 4, "layers": [{"scale": 2.0}, {"scale": 3.0}]}, "name": "a"}
plain, derived, both, normal = Plain(5), Derived(5), m.Both(4), Normal()
options, frozen, slotted, pair, unit = Options(), m.Frozen(), m.Slotted(), m.Pair(), Unit.FOOT
box, described, lazy, tree = m.Box(2.5), m.Described(-2.0), m.Lazy(), m.Node(1.0, m.Node(2.0), m.Node(3.0))
chain, config, namespace = (
    m.Chain([plain, derived]),
    m.Config(rate=0.5),
    SimpleNamespace(inner=SimpleNamespace(rate=1.5)),
)
scaled = functools.partial(lambda x, scale, power=1: x**power * scale * np.sqrt(2), scale=1.5)
generator_seed = {"seed": 5}
Point = namedtuple("Point", "a b")
point = Point(1.0, 4.0)
by_hand = m.ByHand(1.5)


class K:
    pass


@functools.total_ordering
class Ranked:
    def __init__(self, value: float) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ranked) and self.value == other.value

    def __lt__(self, other: Ranked) -> bool:
        return self.value < other.value

    def __hash__(self) -> int:
        return hash(self.value)


class Meta(type):
    known: dict[str, type] = {}  # noqa: RUF012

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
        made = super().__new__(cls, name, bases, namespace)
        cls.known[name] = made
        return made


class WithMeta(metaclass=Meta):
    rate = 2.0

    def __call__(self, x: Any) -> Any:
        return x * np.sqrt(self.rate)


class Busy:
    """Has what a program's objects have besides numbers."""

    def __init__(self) -> None:
        self.lock, self.log, self.path = threading.Lock(), logging.getLogger("busy"), Path("results") / "a"
        self.arguments, self.rate = argparse.Namespace(rate=0.5, names=["a"]), 2.0

    def __call__(self, x: Any) -> Any:
        with self.lock:
            self.log.info("%s at %s", self.rate, self.path.name)
            return x * np.sqrt(self.rate) * self.arguments.rate

    def numbers(self) -> Any:
        return sum(v for v in vars(self).values() if isinstance(v, float)) * np.sqrt(2)


def catches_warnings(x: Any) -> Any:
    with warnings.catch_warnings(), contextlib.ExitStack() as stack:
        warnings.simplefilter("ignore")
        return x * np.log(0.5) * stack.enter_context(contextlib.nullcontext(2.0))


busy, with_meta = Busy(), WithMeta()


def decorated(f: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(f)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs) * np.sqrt(2)

    return wrapper


def scaled_by(scale: float) -> Callable[..., Any]:
    def decorator(f: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(f)
        def wrapper(x: Any) -> Any:
            return f(x) * np.log(scale)

        return wrapper

    return decorator


@functools.cache
def quadrature(n: int) -> Any:
    return leggauss(n)


@functools.cache
def binomial(n: int, k: int) -> Any:
    return scipy.special.comb(n, k)


@functools.singledispatch
def shape_of(x: Any) -> float:
    return 1.0


@shape_of.register
def _(x: m.Normal) -> Any:
    return np.sqrt(x.sigma)


@contextlib.contextmanager
def scope(scale: float) -> Any:
    yield np.sqrt(scale)


def a_class_beside(x: Any) -> Any:
    kinds = [K]
    return x * np.log(2 * np.pi) * len(kinds)


def a_class_made_inside(x: Any) -> Any:
    @dataclass
    class State:
        u: Any
        t: float = 0.5

        def step(self) -> State:
            return State(self.u * np.sqrt(self.t), self.t * 2)

    return State(x).step().step().u


def imports_inside(x: Any) -> Any:
    import math as mathematics

    from scipy import special
    from scipy.special import gammaln

    from tests.tracing.surroundings.ways.constants import RATE, TWO_PI

    return x * RATE * np.log(TWO_PI) + gammaln(3.5) + special.erf(0.5) + mathematics.exp(1)


def imports_a_module_for_the_first_time(x: Any) -> Any:
    from tests.tracing.surroundings.ways import late

    return x * late.TABLE * late.RATE


def makes_objects(x: Any) -> Any:
    model = Derived(4, shift=2.0)
    return model(x) + Plain.make(3).factor + Plain.norm(2)


def copies(x: Any) -> Any:
    other = copy.copy(plain)
    other.width = 7
    return other(x) + copy.deepcopy(options).scale


def replaces_fields(x: Any) -> Any:
    return (
        x * np.sqrt(replace(frozen, rate=0.75).rate)
        + frozen.with_rate(2.0).rate
        + len(asdict(frozen))
        + len(fields(frozen))
    )


def generators(x: Any) -> Any:
    return x * sum(m.numbers(4)) + sum(np.sqrt(k) for k in range(3)) + [np.log(k) for k in (1, 2)][1]


def context_managers(x: Any) -> Any:
    with m.Scope(3.0) as a, scope(2.0) as b, contextlib.suppress(KeyError), np.errstate(all="ignore"):
        return x * a * b


def handles_errors(x: Any) -> Any:
    return m.handled(x, CONFIG)


def loops(x: Any) -> Any:
    y = x
    for (k, layer), w in zip(enumerate(CONFIG["model"]["layers"]), itertools.count(1)):
        y = y * layer["scale"] + np.sqrt(k + w)
    return functools.reduce(operator.add, [y * np.sqrt(c) for c, _ in itertools.product((1, 2), (3, 4))])


def seeded(x: Any) -> Any:
    rng = np.random.default_rng(0)
    old = np.random.RandomState(7)
    return x * rng.normal(size=3) + old.uniform() + random.Random(1).random()


def seeded_by_a_variable(x: Any) -> Any:
    rng = np.random.default_rng(generator_seed["seed"] + SEED)
    noise = rng.standard_normal(3)
    return x + 0.1 * noise * rng.uniform()


def selects(x: Any) -> Any:
    table = {Kind.NORMAL: lambda z: z * np.sqrt(2), Kind.LAPLACE: lambda z: z * np.log(2)}
    match options.kind:
        case Kind.NORMAL:
            y = table[Kind.NORMAL](x)
        case Kind.LAPLACE:
            y = table[Kind.LAPLACE](x)
    return y


def matches_classes(x: Any) -> Any:
    match normal:
        case m.Normal(sigma=s):
            return x * np.sqrt(s)
    raise AssertionError


def operators(x: Any) -> Any:
    a, b = m.Vector(x, 2.0), m.Vector(np.sqrt(2), x)
    u, v = -(2.0 * a + b)
    return abs(a) + u * v + a[0] * len(b)


def local_functions(x: Any) -> Any:
    width = 4

    def inner(y: Any, k: int = 2) -> Any:
        nonlocal width
        width += k
        return y * np.sqrt(width)

    return inner(inner(x))


def recursion(x: Any, depth: int = 3) -> Any:
    return x * np.sqrt(2) if depth == 0 else recursion(x, depth - 1) + np.log(depth)


def collections_of_many_kinds(x: Any) -> Any:
    seen: Any = defaultdict(float)
    for letter, count in Counter("abca").items():
        seen[letter] += np.sqrt(count)
    merged = ChainMap({"a": 1.0}, {"b": 2.0})
    return x * sum(seen.values()) + merged["b"] * OrderedDict(a=np.sqrt(2))["a"]


def typed(x: Any) -> Any:
    value: float = typing.cast("float", np.sqrt(3.0))
    return x * value


def reads_attributes_by_name(x: Any) -> Any:
    return x * np.sqrt(getattr(plain, "width")) * getattr(options, "missing", 2.0) if hasattr(plain, "width") else x  # noqa: B009


def quadratures(x: Any) -> Any:
    nodes, weights = quadrature(3)
    return sum(w * np.sin(x * t) for t, w in zip(nodes, weights, strict=True)) + binomial(5, 2)


def numpy_functions(x: Any) -> Any:
    i, j = np.triu_indices(3, 1)
    nodes, weights = leggauss(4)
    basis = np.vander(np.linspace(0, 1, 3), 3) @ np.eye(3) + np.diag(np.hanning(5)[1:4]) * np.fft.fftfreq(3)
    return basis @ x + np.sum(x[i] * x[j]) + np.sum(weights * nodes**2) + Polynomial([1.0, 2.0, 3.0])(0.5) * np.pi


def scipy_functions(x: Any) -> Any:
    a = scipy.integrate.cumulative_trapezoid(np.arange(4.0))
    b = scipy.integrate.quad(lambda t: t**2, 0, 1)[0] + scipy.integrate.simpson(np.arange(5.0))
    c = scipy.signal.get_window("hann", 3) + scipy.signal.windows.tukey(3)
    d = scipy.stats.norm.ppf(0.975) + scipy.stats.norm(0.0, 2.0).pdf(0.5)
    e = scipy.constants.Boltzmann / scipy.constants.physical_constants["Boltzmann constant"][0]
    return x * a * b + c * d + e * scipy.special.logsumexp([0.0, 1.0])  # type: ignore[operator]  # the stubs say a tuple


def more_scipy_functions(x: Any) -> Any:
    P = np.arange(6.0).reshape(3, 2)
    D = scipy.spatial.distance.squareform(scipy.spatial.distance.pdist(P))
    s = scipy.interpolate.CubicSpline(np.arange(4.0), np.arange(4.0) ** 2)(1.5)
    L = scipy.linalg.cholesky(np.eye(3) + 0.1) + scipy.linalg.toeplitz([2.0, 1.0, 0.0])
    r = scipy.optimize.brentq(lambda t: t**2 - 2.0, 0, 2)
    g = scipy.ndimage.gaussian_filter(np.eye(3), 1.0)
    S = scipy.sparse.diags_array([1.0, 2.0, 3.0]).toarray()
    return (D + L + g + S) @ x * s * r


Change = Callable[[pytest.MonkeyPatch], None] | None


def attribute(holder: Any, name: str, value: Any) -> Change:
    return lambda patch: patch.setattr(holder, name, value)


def item(holder: Any, key: Any, value: Any) -> Change:
    return lambda patch: patch.setitem(holder, key, value)


WAYS: dict[str, tuple[Callable[[Any], Any], Change]] = {
    "a class beside": (a_class_beside, None),
    "a class made inside": (a_class_made_inside, None),
    "a function of a module": (lambda x: m.loss(x), attribute(m, "RATE", 2.0)),
    "a function of a module that reads another": (lambda x: m.loss(x), attribute(constants, "LOG_TWO_PI", 2.0)),
    "a table of another module": (lambda x: m.mixture(x), item(constants.TABLE, "a", 7.0)),
    "a constant of a module": (lambda x: x * constants.RATE * np.sqrt(2), attribute(constants, "RATE", 9.0)),
    "an array of a module": (lambda x: np.sum(constants.KNOTS) * x * np.sqrt(2), attribute(constants, "KNOTS", X)),
    "a package in a package": (lambda x: deep.amplify(x) + deep.inner.GAIN, attribute(deep.inner, "GAIN", 3.0)),
    "a package in a package that reads another": (lambda x: deep.amplify(x), attribute(constants, "RATE", 3.0)),
    "a nested table of a module": (
        lambda x: x * np.sqrt(constants.TABLE["b"]["c"]),
        item(constants.TABLE["b"], "c", 4.0),
    ),
    "a call of an object": (lambda x: plain(x), attribute(plain, "width", 9)),
    "a class attribute": (lambda x: plain(x), attribute(Plain, "scale", 9.0)),
    "a property": (lambda x: x * plain.factor, attribute(plain, "width", 16)),
    "a property replaced": (lambda x: x * plain.factor, attribute(Plain, "factor", property(lambda self: np.sqrt(7)))),
    "a method": (lambda x: plain.evaluate(x), attribute(plain, "width", 2)),
    "a bound method": (plain.evaluate, attribute(plain, "width", 2)),
    "a static method": (lambda x: x * Plain.norm(3), attribute(Plain, "norm", staticmethod(lambda d: d))),
    "a class method": (lambda x: Plain.make(7)(x), attribute(Plain, "scale", 7.0)),
    "inheritance": (lambda x: derived(x), attribute(derived, "shift", 7.0)),
    "inheritance, the class": (lambda x: derived(x), attribute(Derived, "scale", 7.0)),
    "several bases": (lambda x: both(x) + both.scaled(x), attribute(both, "width", 9)),
    "objects made inside": (makes_objects, attribute(Plain, "scale", 4.0)),
    "an abstract base": (lambda x: normal.loss(x), attribute(normal, "sigma", 3.0)),
    "an abstract base, its method": (
        lambda x: normal.loss(x),
        attribute(m.Base, "loss", lambda self, x: x * np.sqrt(5)),
    ),
    "an object made of an abstract base": (lambda x: Normal(2.0).loss(x), None),
    "a generic class": (lambda x: x * np.sqrt(box.get()), attribute(box, "value", 4.0)),
    "a generic class with its type": (lambda x: x * np.sqrt(m.Box[float](2.0).get()), None),
    "a dataclass": (lambda x: x * options.rate * options.scale, attribute(options, "rate", 4.0)),
    "a dataclass with lists": (
        lambda x: sum(x**k * np.sqrt(k) for k in options.orders),
        attribute(options, "orders", [1, 3]),
    ),
    "a dataclass made inside": (lambda x: x * Options(rate=2.0).scale, None),
    "a frozen dataclass": (replaces_fields, None),
    "a dataclass with slots": (lambda x: x * slotted.factor(), attribute(slotted, "rate", 4.0)),
    "slots by hand": (lambda x: x * np.sqrt(by_hand.rate), attribute(by_hand, "rate", 4.0)),
    "a named tuple": (lambda x: x * pair.total() + pair.a, None),
    "a named tuple by factory": (lambda x: x * np.sqrt(point.b) + Point(1.0, 2.0).a, None),
    "an enum": (selects, attribute(options, "kind", Kind.LAPLACE)),
    "an enum's property": (lambda x: x * unit.factor * Unit.METRE.to(unit), None),
    "an enum by value and name": (lambda x: x * np.sqrt(len(list(Kind))) * Unit(1.0).value * Unit["FOOT"].value, None),
    "an integer enum": (lambda x: x**m.Order.SECOND * np.sqrt(m.Order.SECOND), None),
    "flags": (lambda x: x * np.sqrt(3) if m.Flags.LOG in (m.Flags.LOG | m.Flags.SCALED) else x, None),
    "operators of a class": (operators, None),
    "a descriptor": (lambda x: x * np.sqrt(described.rate), attribute(described, "rate", -5.0)),
    "attributes that are computed": (lambda x: x * np.sqrt(lazy.width), item(lazy.table, "width", 9.0)),
    "a cached property": (lambda x: plain.weights[:3] * x, None),
    "a tree of objects": (lambda x: tree.total(x), attribute(tree.children[0], "value", 9.0)),
    "a list of layers": (lambda x: chain(x), attribute(derived, "shift", 9.0)),
    "a configuration dict": (loops, item(CONFIG["model"]["layers"][1], "scale", 5.0)),
    "a configuration with attributes": (lambda x: x * np.sqrt(config.rate), item(config, "rate", 5.0)),
    "a namespace": (lambda x: x * np.sqrt(namespace.inner.rate), attribute(namespace.inner, "rate", 4.0)),
    "a registry of classes": (lambda x: m.Registered.registry["One"]().apply(x), None),
    "a partial": (scaled, item(scaled.keywords, "scale", 4.0)),
    "a partial of a method": (functools.partial(Plain.evaluate, plain), attribute(plain, "width", 8)),
    "a decorator": (decorated(lambda x: x * np.log(3)), None),
    "a decorator with an argument": (scaled_by(3.0)(lambda x: x * np.log(3)), None),
    "a cached helper": (quadratures, None),
    "a function by type": (lambda x: x * shape_of(normal) * shape_of(1), attribute(normal, "sigma", 5.0)),
    "context managers": (context_managers, None),
    "errors, assertions, messages": (handles_errors, item(CONFIG["model"], "width", 9)),
    "imports inside": (imports_inside, attribute(constants, "RATE", 9.0)),
    "an import for the first time": (imports_a_module_for_the_first_time, None),
    "copies": (copies, attribute(Plain, "scale", 9.0)),
    "generators and comprehensions": (generators, attribute(m, "numbers", lambda n: iter([1.0] * n))),
    "reduce, product, count": (loops, None),
    "a generator with a seed": (seeded, None),
    "a generator with a seed in a variable": (seeded_by_a_variable, item(generator_seed, "seed", 6)),
    "a pattern of a class": (matches_classes, attribute(normal, "sigma", 5.0)),
    "local functions": (local_functions, None),
    "recursion": (recursion, None),
    "collections": (collections_of_many_kinds, None),
    "types": (typed, None),
    "attributes by name": (reads_attributes_by_name, attribute(plain, "width", 9)),
    "NumPy's functions": (numpy_functions, None),
    "SciPy's functions": (scipy_functions, None),
    "more of SciPy's functions": (more_scipy_functions, None),
    "statistics and math": (lambda x: x * statistics.fmean([1.0, 2.0]) * math.sqrt(2) * np.sqrt(math.pi), None),
    "paths are only joined": (lambda x: x * np.sqrt(len(os.path.join("a", "b"))), None),
    "an order of objects": (lambda x: x * np.sqrt(max(Ranked(1.0), Ranked(2.0)).value), None),
    "a metaclass": (lambda x: with_meta(x) + Meta.known["WithMeta"]()(x), attribute(WithMeta, "rate", 7.0)),
    "locks, loggers, paths, arguments": (lambda x: busy(x), attribute(busy.arguments, "rate", 7.0)),
    "all attributes of an object": (lambda x: x * busy.numbers(), attribute(busy, "rate", 7.0)),
    "warnings and stacks of contexts": (catches_warnings, None),
    "texts of numbers": (lambda x: x * np.sqrt(len("{:.3f}".format(2.0) + f"{1.5:.2e}")), None),  # noqa: UP032
    "a transform inside": (lambda x: wg.grad(lambda y: np.sum(normal.loss(y)))(x), attribute(normal, "sigma", 4.0)),
    "a compiled function inside": (lambda x: wg.jit(m.loss)(x) * np.sqrt(2), attribute(m, "RATE", 4.0)),
}


def test_there_are_sixty_ways() -> None:
    assert len(WAYS) >= 60


@pytest.mark.sampled(2, "many that are alike")
@pytest.mark.parametrize("name", WAYS)
def test_an_ordinary_way_to_write_a_model_is_traced_once(name: str) -> None:
    f, _ = WAYS[name]
    for step, of in ((wg.jit(f), f), (wg.jit(wg.grad(lambda x: np.sum(f(x)))), None)):
        expected = of or wg.grad(lambda x: np.sum(f(x)))
        for k in range(3):
            np.testing.assert_allclose(step(X + k), expected(X + k), rtol=1e-12)
        assert step.stats()["unrepeatable"] == ""
        assert step.stats()["traces"] == 1


@pytest.mark.parametrize("name", [name for name, (_, change) in WAYS.items() if change])
def test_a_change_of_what_an_ordinary_model_reads_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    f, change = WAYS[name]
    step = wg.jit(f)
    before = step(X)
    np.testing.assert_allclose(before, f(X), rtol=1e-12)
    assert change is not None
    change(monkeypatch)
    np.testing.assert_allclose(step(X), f(X), rtol=1e-12)
    assert not np.array_equal(before, step(X))
    assert step.stats()["unrepeatable"] == ""
