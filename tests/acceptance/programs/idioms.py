"""Ways of Python to say things: dispatch, protocols, generators, patterns, tables, containers of one's own."""

import bisect
import contextlib
import heapq
import itertools
import json
import logging
import math
import operator
import random
from abc import ABC, abstractmethod
from collections import ChainMap, UserList, deque
from dataclasses import dataclass, field
from enum import Flag, IntEnum, auto
from functools import cached_property, reduce, singledispatch, total_ordering, wraps
from itertools import accumulate, cycle, islice, pairwise, starmap
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from scipy import integrate, interpolate, optimize, signal, sparse, stats

from tests.acceptance.programs.entries import STEPS, program

log = logging.getLogger(__name__)


def logged(f):
    @wraps(f)
    def inner(*args):
        result = f(*args)
        log.debug("%s%s is %.3f", f.__name__, args, result)
        return result

    return inner


@logged
def decorated(x):
    return x**2 + math.sin(x)


class Square:
    def __init__(self, side):
        self.side = side


class Circle:
    def __init__(self, radius):
        self.radius = radius


@singledispatch
def area(shape):
    raise TypeError(f"no area of {type(shape)}")


@area.register
def _(shape: Square):
    return shape.side**2


@area.register
def _(shape: Circle):
    return math.pi * shape.radius**2


def floor_space(sizes):
    return area(Square(sizes[0])) + area(Circle(sizes[1]))


@total_ordering
class Offer:
    def __init__(self, price, weight):
        self.price, self.weight = price, weight

    def __eq__(self, other):
        return self.price == other.price

    def __lt__(self, other):
        return self.price < other.price


def ranked(prices):
    offers = sorted(Offer(p, k + 1.0) for k, p in enumerate(prices))
    return sum(o.weight * o.price * (k + 1) for k, o in enumerate(offers)) + max(offers).price


class Layer(ABC):
    scale = 2.0

    def __init__(self, **parameters):
        self.__dict__.update(parameters)

    @abstractmethod
    def apply(self, x):
        raise NotImplementedError

    def __call__(self, x):
        return self.scale * self.apply(x)


class Affine(Layer):
    scale = 3.0

    def apply(self, x):
        return self.a * x + super().scale


class Squared(Affine):
    def apply(self, x):
        return super().apply(x) ** 2


def inherited(x):
    return sum(layer(x) for layer in (Affine(a=2.0), Squared(a=0.5)))


def defaults(p):
    merged = ChainMap({"gain": 3.0}, p, {"order": 2.0})
    return merged["gain"] * merged["offset"] + p["rate"] ** merged["order"]


class Level(IntEnum):
    LOW = 1
    HIGH = 3


class Terms(Flag):
    LINEAR = auto()
    CUBIC = auto()


def enumerated(x, terms=Terms.LINEAR | Terms.CUBIC):
    y = 0.0
    if Terms.LINEAR in terms:
        y = y + x**Level.LOW
    if Terms.CUBIC in terms:
        y = y + x**Level.HIGH
    return y * len(Level)


@contextlib.contextmanager
def temporarily(target, **values):
    before = {k: getattr(target, k) for k in values}
    for k, v in values.items():
        setattr(target, k, v)
    try:
        yield target
    finally:
        for k, v in before.items():
            setattr(target, k, v)


def in_a_context(x):
    amplifier = SimpleNamespace(gain=1.0)
    with temporarily(amplifier, gain=2 * x) as loud:
        y = loud.gain * x
    return y + amplifier.gain * x


def popped(values):
    heap = list(values)
    heapq.heapify(heap)
    return sum((k + 1) * heapq.heappop(heap) for k in range(len(values)))


@dataclass(order=True)
class Event:
    time: float
    name: str = field(compare=False)
    weight: float = field(compare=False, default=1.0)


def simulated(times):
    queue = [Event(t, "e" * (k + 1), weight=2 * t) for k, t in enumerate(times)]
    heapq.heapify(queue)
    total = 0.0
    while queue:
        event = heapq.heappop(queue)
        total = 0.5 * total + event.weight * len(event.name)
    return total


def looked_up(x, knots=(0.0, 0.25, 0.5, 1.0), values=(1.0, 2.0, 0.5, 3.0)):
    k = bisect.bisect(knots, x) - 1
    t = (x - knots[k]) / (knots[k + 1] - knots[k])
    return values[k] * (1 - t) + values[k + 1] * t


def running_power():
    total = 0.0
    while True:
        value = yield total
        total = total + value**2


def by_coroutine(signal_):
    meter = running_power()
    next(meter)
    return reduce(lambda _, v: meter.send(v), signal_, 0.0)


class Vector(UserList):
    def dot(self, other):
        return sum(a * b for a, b in zip(self, other))


def own_list(values):
    v = Vector(values)
    return v.dot(v) + len(v) + v[-1]


def iterated(values):
    steps = sum(abs(b - a) for a, b in pairwise(values))
    signs = sum(starmap(operator.mul, zip(values, islice(cycle([1, -1]), 3))))
    return steps + signs + list(accumulate(values, operator.mul))[-1]


CONFIGURATION = json.loads('{"layers": [{"w": 1.5}, {"w": 0.5}], "name": "net", "tolerance": 0.25}')


def configured(x):
    for layer in CONFIGURATION["layers"]:
        x = np.tanh(layer["w"] * x)
    return x / CONFIGURATION["tolerance"] + len(CONFIGURATION["name"]) * x


def library_constants(x):
    """What libraries compute of constants alone is theirs."""
    A = sparse.diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(3, 3)).toarray()
    root = optimize.brentq(lambda t: t**3 - 2, 0, 2)
    integral, _ = integrate.quad(np.cos, 0, 1)
    window = signal.windows.hann(5)[1:4]
    quantiles = stats.norm.ppf([0.1, 0.5, 0.9])
    curve = interpolate.interp1d([0.0, 1.0, 2.0], [1.0, 3.0, 2.0])
    return x @ (A @ x) + root * x[0] + integral * x[1] ** 2 + x @ window + x**2 @ quantiles + float(curve(0.3)) * x[2]


def seeded(x):
    first, second = random.Random(3), np.random.default_rng(2)
    return x * first.random() + x**2 * second.normal() + second.permutation(4)[0] * x + second.choice([1.0, 2.0]) * x


def remembered(f):
    memory = {}

    def g(n, x):
        if n not in memory:
            memory[n] = f(n, x)
        return memory[n]

    return g


def chebyshev(x):
    @remembered
    def T(n, t):
        return 1.0 if n == 0 else t if n == 1 else 2 * t * T(n - 1, t) - T(n - 2, t)

    return T(5, x)


def unpacked(values):
    first, *rest = values
    (a, b), c = rest, first
    a, b = b, a
    (largest,) = [max(values)]
    return 2 * a + 3 * b + 5 * c + largest


def halved(x):
    n = 0
    while (x := x / 2) > 0.1:
        n += 1
    return x * n


def composed(x):
    powers = [lambda t, k=k: t**k for k in range(4)]
    chain = reduce(lambda f, g: lambda t: g(f(t)), powers[1:])
    return chain(x) + sum(f(x) for f in powers)


def rounded(x):
    n, q = int(x), x // 1
    whole, part = divmod(x, 2.0)
    return sum(x / (j + 1) for j in range(n)) + math.floor(x) * x + round(x) * x + q * x + whole * part + x % 1


def whole_of_math(x):
    gamma = math.gamma(x) + math.lgamma(x) + math.erf(x) + math.erfc(x)
    powers = math.cbrt(x) + math.exp2(x) + math.log(x, 3) + math.fsum([x, x * x]) + math.prod([x, 2.0, x])
    return gamma + powers + math.copysign(x, -1) + math.fabs(-x) + math.hypot(x, 1, 2) + math.dist([x, 1], [2, 3])


def what_is_it(x):
    y = x * 2 if isinstance(x, float) else x * 3
    if type(x) in (float, np.float64):
        y = y + 1
    if not hasattr(x, "__len__"):
        y = y * 2
    return y * 2 if np.isscalar(x) and not callable(x) else y


class Stack:
    def __init__(self):
        self.items = deque()

    def push(self, value):
        self.items.append(value)
        return self

    def __iter__(self):
        return reversed(self.items)

    def __len__(self):
        return len(self.items)

    def __contains__(self, value):
        return any(value is item for item in self.items)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.items.clear()


def stacked(values):
    with Stack() as stack:
        for v in values:
            stack.push(v).push(v * v)
        y = sum(v * k for k, v in enumerate(stack)) + len(stack) + (1.0 if values[0] in stack else 0.0)
    return y + len(stack)


class Lazy:
    def __init__(self, x):
        self.x = x

    @cached_property
    def square(self):
        return self.x**2

    def __getattr__(self, name):
        if name.startswith("power"):
            return self.x ** int(name[5:])
        raise AttributeError(name)


def lazy(x):
    it = Lazy(x)
    return it.square + it.square * it.power3 + getattr(it, "nothing", 0.0)


class Material(NamedTuple):
    k: float
    rho: float

    @property
    def ratio(self):
        return self.k / self.rho


MATERIALS = {"iron": {"k": 80.0, "rho": 7.8}, "ice": {"k": 2.2, "rho": 0.9}}


def materials(x):
    known = [Material(**values) for values in MATERIALS.values()]
    return sum(m.ratio * x ** (k + 1) for k, m in enumerate(known)) + Material(x, 2.0)._replace(rho=x * x).ratio


def written_in_place(x):
    y = np.zeros((3, 3))
    y[0] = x
    y[:, 1] += x
    y[1:, 2] *= 2
    y[[0, 2], [1, 1]] -= x[0]
    np.add.at(y, ([0, 0], [0, 0]), x[:2])
    np.fill_diagonal(y, y.diagonal() + 1.0)
    y[y > 0.5] = 0.5 * y[y > 0.5]
    z = y.copy()
    z.sort(axis=0)
    np.clip(z, 0, 0.6, out=z)
    return np.sum(z * np.arange(9.0).reshape(3, 3))


class Species:
    """Told by identity: tables by objects, a registry of the class, sets."""

    known = []

    def __init__(self, mass, food=()):
        self.mass, self.food = mass, food
        self.known.append(self)

    def eats(self, other):
        return other in self.food

    def __repr__(self):
        return f"Species({self.mass})"


GRASS = Species(1.0)
HARE = Species(3.0, [GRASS])
FOX = Species(8.0, [HARE])
TOP = {FOX}
ENERGY = {GRASS: 1.0, HARE: 0.3, FOX: 0.1}


def food_chain(efficiency):
    flow = 0.0
    for hunter, prey in itertools.permutations(Species.known, 2):
        if hunter.eats(prey):
            flow += efficiency * ENERGY[hunter] * prey.mass / hunter.mass
    return flow + sum(s.mass * efficiency**2 for s in Species.known if s not in TOP and s is not GRASS)


PROGRAMS = [
    program("decorators", decorated, 1.3),
    program("single dispatch", floor_space, [1.0, 2.0]),
    program("orderings", ranked, [1.0, 0.5, 2.0]),
    program("inheritance", inherited, 1.1),
    program("chained dicts", defaults, {"offset": 1.0, "rate": 2.0}),
    program("enumerations", enumerated, 0.7),
    program("context managers", in_a_context, 0.7),
    program("heaps", popped, [3.0, 1.0, 2.0]),
    program("event queues", simulated, [0.3, 0.1, 0.7]),
    program("bisection in tables", looked_up, 0.37),
    program("coroutines", by_coroutine, [1.0, 2.0, 0.5]),
    program("lists of one's own", own_list, [1.0, 2.0, 0.5]),
    program("itertools", iterated, [1.0, 2.0, 0.5]),
    program("configurations", configured, 0.9),
    program("library constants", library_constants, np.array([0.2, 0.3, 0.7])),
    program("seeded draws", seeded, 1.2),
    program("memories", chebyshev, 0.4),
    program("unpacking", unpacked, [0.3, 0.1, 0.7]),
    program("assignment expressions", halved, 2.3, traces=3, why=STEPS),
    program("compositions", composed, 0.5),
    program("rounding", rounded, 3.7),
    program("all of math", whole_of_math, 1.7),
    program("types", what_is_it, 0.4),
    program("containers", stacked, [0.4, 0.7]),
    program("lazy attributes", lazy, 1.2),
    program("named tuples", materials, 1.2),
    program("writes in place", written_in_place, np.array([0.3, 0.1, 0.7])),
    program("registries", food_chain, 0.4),
]
