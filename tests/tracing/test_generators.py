"""Compiled functions that draw random numbers: NumPy's numbers, in its order, and one trace, or as many as calls."""

from __future__ import annotations

import copy
import inspect
import operator
import pickle
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats

import wengert as wg
from wengert.runtime.jit import StatsDict

X = np.arange(4.0)


def calls(f: Callable[[Any, Any], Any], n: int = 4) -> StatsDict:
    """Compare a compiled function of a generator and an array with the function, call by call, states included."""
    ours, numpys = np.random.default_rng(7), np.random.default_rng(7)
    compiled = wg.jit(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wg.errors.PerformanceWarning)
        for _ in range(n):
            np.testing.assert_allclose(compiled(ours, X), f(numpys, X), rtol=1e-14)
            assert ours.bit_generator.state == numpys.bit_generator.state
    return compiled.stats()


class Holder:
    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng


@pytest.mark.needs_extension("what a generator of C code draws is not recorded: it is drawn at every call, or refused")
def test_a_captured_generator_is_drawn_from_at_every_call() -> None:
    rng, again = np.random.default_rng(1), np.random.default_rng(1)
    holder, table = Holder(rng), {"rng": rng}
    f = wg.jit(lambda x: x + rng.normal(size=4) * holder.rng.random() + table["rng"].integers(5))
    for _ in range(3):
        np.testing.assert_array_equal(f(X), X + again.normal(size=4) * again.random() + again.integers(5))
    assert f.stats()["traces"] == 1 and not f.stats()["unrepeatable"]


@pytest.mark.needs_extension("what a generator of C code draws is not recorded: it is drawn at every call, or refused")
def test_a_generator_that_is_rebound_or_set_to_a_state_is_heeded() -> None:
    rng = np.random.default_rng(1)
    f = wg.jit(lambda x: x + rng.normal())
    first = f(0.0)
    rng.bit_generator.state = np.random.default_rng(1).bit_generator.state
    assert f(0.0) == first and f.stats()["traces"] == 1
    rng = np.random.default_rng(2)
    assert f(0.0) == np.random.default_rng(2).normal() and f.stats()["traces"] == 2


@pytest.mark.needs_extension("what a generator of C code draws is not recorded: it is drawn at every call, or refused")
def test_two_generators_of_one_state_are_drawn_from_in_turn() -> None:
    one = np.random.default_rng(3)
    two = np.random.Generator(one.bit_generator)
    again = np.random.default_rng(3)
    f = wg.jit(lambda x: one.normal() - two.normal() * one.normal() + x)
    for _ in range(3):
        a, b, c = again.normal(size=3)
        assert f(1.0) == pytest.approx(a - b * c + 1.0, rel=1e-15)


def test_a_branch_before_the_draws_is_a_guard() -> None:
    stats = calls(lambda rng, x: (x if x[1] > 0 else -x) + rng.normal())
    assert stats["traces"] == 1


def _caught(rng: Any, x: Any) -> Any:
    try:
        if rng.random() < 0.5:
            return x
    except Exception:  # as a user writes it: this is what is traced
        pass
    return -x


AT_ONCE: dict[str, Callable[[Any, Any], Any]] = {
    "a branch on what was drawn": lambda rng, x: x if rng.random() < 0.5 else -x,
    "caught by the user's code": _caught,
    "a branch after a draw": lambda rng, x: rng.random() * (x if x[1] > 0 else -x),
    "text of what was drawn": lambda rng, x: x * len(f"{rng.normal()}"),
    "the state": lambda rng, x: x + rng.normal() + rng.bit_generator.state["state"]["inc"] % 7,
    "a library draws": lambda rng, x: x * scipy.stats.norm.rvs(size=4, random_state=rng),
    "compiled code draws": lambda rng, x: x * rng.random() + scipy.stats.uniform_direction(2, seed=rng).rvs()[0],
    "a copy": lambda rng, x: x + copy.copy(rng).normal() + rng.normal(),
    "a deep copy": lambda rng, x: x + copy.deepcopy(rng).normal(),
    "pickled": lambda rng, x: x + pickle.loads(pickle.dumps(rng)).normal(),
    "another generator": lambda rng, x: x + rng.spawn(1)[0].normal(),
    "bytes": lambda rng, x: x + rng.bytes(1)[0],
    "another generator of its bits": lambda rng, x: x + np.random.Generator(rng.bit_generator).normal(),
    "a seed": lambda rng, x: x + np.random.default_rng(rng.integers(100)).normal(),
    "an attribute of a computed name": lambda rng, x: x + getattr(rng, "normal" if len(x) else "random")(),
}


@pytest.mark.parametrize("name", AT_ONCE)
def test_what_needs_the_numbers_is_drawn_as_python_does(name: str) -> None:
    stats = calls(AT_ONCE[name])
    assert (stats["traces"], stats["plain"]) == (1, 3) and stats["unrepeatable"]


def _rewound(x: Any, rng: Any, bits: Any) -> Any:
    drawn = rng.normal()
    state = bits.state
    again = rng.normal()
    bits.state = state
    return x * drawn * again


def _rewound_by_a_random_state(x: Any, rng: Any, states: Any) -> Any:
    drawn = rng.normal()
    state = states.get_state()
    again = rng.normal()
    states.set_state(state)
    return x * drawn * again


def _jumped(x: Any, rng: Any, bits: Any) -> Any:
    return x * rng.normal() * np.random.Generator(bits.jumped()).normal()


def _captured(f: Any) -> Callable[[Any, Any], Any]:
    return lambda rng, bits: lambda x: f(x, rng, bits)


def _held_by_an_object(f: Any) -> Callable[[Any, Any], Any]:
    def make(rng: Any, bits: Any) -> Any:
        both = types.SimpleNamespace(rng=rng, bits=bits)
        return lambda x: f(x, both.rng, both.bits)

    return make


def _held_by_a_class(f: Any) -> Callable[[Any, Any], Any]:
    def make(rng: Any, bits: Any) -> Any:
        class Both:
            first, second = rng, [bits]

        return lambda x: f(x, Both.first, Both.second[0])

    return make


BITS: dict[str, tuple[Any, Callable[[Any, Any], Any]]] = {
    "captured": (np.random.PCG64, _captured(_rewound)),
    "another made of it": (np.random.PCG64, _captured(_jumped)),
    "held by an object": (np.random.PCG64, _held_by_an_object(_rewound)),
    "held by a class": (np.random.PCG64, _held_by_a_class(_jumped)),
    "a method of it": (
        np.random.PCG64,
        lambda rng, bits: (lambda jumped: lambda x: x * rng.normal() * np.random.Generator(jumped()).normal())(
            bits.jumped
        ),
    ),
    "a second generator": (
        np.random.PCG64,
        lambda rng, bits: (lambda other: lambda x: _jumped(x * other.normal(), rng, bits))(np.random.Generator(bits)),
    ),
    "a RandomState of it": (
        np.random.MT19937,
        lambda rng, bits: (lambda states: lambda x: _rewound_by_a_random_state(x, rng, states))(
            np.random.RandomState(bits)
        ),
    ),
}


@pytest.mark.filterwarnings("ignore::wengert.PerformanceWarning")
@pytest.mark.parametrize("name", BITS)
def test_a_state_was_read_before_the_draws_by_a_bit_generator_that_is_met_itself(name: str) -> None:
    kind, make = BITS[name]
    ours, numpys = kind(3), kind(3)
    compiled, f = wg.jit(make(np.random.Generator(ours), ours)), make(np.random.Generator(numpys), numpys)
    for x in (1.0, 2.0, -1.5):
        assert compiled(x) == pytest.approx(f(x), rel=1e-14)
    assert pickle.dumps(ours.state) == pickle.dumps(numpys.state)


@pytest.mark.filterwarnings("ignore::wengert.PerformanceWarning")
@pytest.mark.parametrize("is_bits_first", [False, True])
def test_a_state_was_read_before_the_draws_by_a_bit_generator_that_is_passed(is_bits_first: bool) -> None:
    ours, numpys = np.random.default_rng(3), np.random.default_rng(3)
    f = (lambda x, bits, rng: _rewound(x, rng, bits)) if is_bits_first else _rewound
    compiled = wg.jit(f)
    for x in (1.0, 2.0, -1.5):
        args = [ours, numpys], [ours.bit_generator, numpys.bit_generator]
        mine, theirs = zip(*(reversed(args) if is_bits_first else args), strict=True)
        assert compiled(x, *mine) == pytest.approx(f(x, *theirs), rel=1e-14)
    assert ours.bit_generator.state == numpys.bit_generator.state


def _next(bits: Any) -> Any:
    return np.random.Generator(bits.jumped()).normal()


FORMAT = "{0.bit_generator.state}"
_descriptor: Any = np.random.Generator.bit_generator

COMPUTED: dict[str, Callable[[Any, Any], Any]] = {
    "a format": lambda rng, x: x * rng.normal() + sum(map(ord, FORMAT.format(rng))),
    "__getattribute__": lambda rng, x: x * rng.normal() * _next(rng.__getattribute__("bit_" + "generator")),
    "attrgetter": lambda rng, x: x * rng.normal() * _next(operator.attrgetter("bit_" + "generator")(rng)),
    "getmembers": lambda rng, x: x * rng.normal() * _next(dict(inspect.getmembers(rng))["bit_" + "generator"]),
    "a descriptor": lambda rng, x: x * rng.normal() * _next(_descriptor.__get__(rng)),
}


@pytest.mark.parametrize("name", COMPUTED)
def test_a_state_was_read_before_the_draws_by_a_computed_name(name: str) -> None:
    stats = calls(COMPUTED[name])
    assert (stats["traces"], stats["plain"]) == (1, 3)


@pytest.mark.needs_extension("what a generator of C code draws is not recorded: it is drawn at every call, or refused")
def test_a_bit_generator_that_is_met_is_no_matter_to_the_generators_of_others() -> None:
    rng, bits = np.random.default_rng(3), np.random.PCG64(4)
    f = wg.jit(lambda x: x * rng.normal() * (bits.state["has_uint32"] + 1))
    again = np.random.default_rng(3)
    for _ in range(3):
        assert f(2.0) == 2.0 * again.normal()
    assert f.stats()["traces"] == 1


def test_an_error_of_the_functions_leaves_the_state_as_python_would() -> None:
    def f(rng: Any, x: Any) -> Any:
        y = rng.normal() + x
        raise ValueError(f"{len(x)}")
        return y

    ours, numpys = np.random.default_rng(7), np.random.default_rng(7)
    with pytest.raises(ValueError, match="4"):
        wg.jit(f)(ours, X)
    with pytest.raises(ValueError, match="4"):
        f(numpys, X)
    assert ours.bit_generator.state == numpys.bit_generator.state


@pytest.mark.needs_extension("what a generator of C code draws is not recorded: it is drawn at every call, or refused")
def test_what_numpy_refuses_is_refused_at_the_call_and_at_the_trace() -> None:
    rng = np.random.default_rng(0)
    f = wg.jit(lambda lam: rng.poisson(lam) * lam)
    f(2.0)
    with pytest.raises(ValueError, match="lam < 0"):
        f(-2.0)
    with pytest.raises(ValueError, match="scale < 0"):
        wg.jit(lambda x: x + rng.normal(0.0, -1.0))(1.0)


@pytest.mark.needs_extension("what a generator of C code draws is not recorded: it is drawn at every call, or refused")
def test_without_jit_the_numbers_are_those_of_the_run() -> None:
    def loss(m: Any, s: Any, rng: Any) -> Any:
        return np.mean((rng.normal(m, s, size=50) - 1) ** 2 * rng.random(50))

    ours, again = np.random.default_rng(3), np.random.default_rng(3)
    compiled = wg.jit(wg.grad(loss, argnums=(0, 1)))
    for _ in range(3):
        expected = wg.grad(loss, argnums=(0, 1))(1.0, 2.0, again)
        np.testing.assert_allclose(compiled(1.0, 2.0, ours), expected, rtol=1e-13)
        assert ours.bit_generator.state == again.bit_generator.state
    assert compiled.stats()["traces"] == 1


@pytest.mark.needs_extension("what a generator of C code draws is not recorded: it is drawn at every call, or refused")
def test_a_mapped_function_draws_once_for_all_examples() -> None:
    """As Python runs it once; parameters of each example's own draw for each."""
    rng = np.random.default_rng(0)
    f = lambda x: x + rng.normal(size=2)
    a = wg.jit(wg.vmap(f))(np.zeros((3, 2)))
    np.testing.assert_array_equal(a, [np.random.default_rng(0).normal(size=2)] * 3)
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(wg.vmap(f)(np.zeros((3, 2))), a)
    rng = np.random.default_rng(0)
    shapes = np.array([[1.0, 2.0], [3.0, 4.0]])
    b = wg.jit(wg.vmap(lambda a: rng.gamma(a)))(shapes)
    np.testing.assert_array_equal(b, np.random.default_rng(0).gamma(shapes))
    with pytest.raises(wg.errors.ConcretizationError, match="needs the value of a parameter"):
        wg.vmap(lambda a: rng.gamma(a))(shapes)


@pytest.mark.needs_extension("what a generator of C code draws is not recorded: it is drawn at every call, or refused")
def test_a_generator_that_the_function_makes_gives_constants() -> None:
    f = wg.jit(lambda x: x * np.random.default_rng(5).normal(x, 1.0))
    for x in (1.0, 2.0):
        assert f(x) == pytest.approx(x * (x + np.random.default_rng(5).normal()), rel=1e-15)
    assert f.stats()["traces"] == 1
    with pytest.raises(wg.errors.UnsupportedFunctionError, match="that the compiled function makes itself"):
        wg.jit(lambda a: np.random.default_rng(5).gamma(a), strict=True)(1.0)


@pytest.mark.needs_extension("what a generator of C code draws is not recorded: it is drawn at every call, or refused")
def test_derivatives_of_any_order_draw_once() -> None:
    ours, again = np.random.default_rng(4), np.random.default_rng(4)
    f = wg.jit(wg.hessian(lambda m, rng: np.sum(np.exp(rng.normal(m, 1.0, size=3)))))
    for _ in range(2):
        assert f(0.1, ours) == pytest.approx(np.sum(np.exp(again.normal(0.1, 1.0, size=3))), rel=1e-14)
    y, pullback = wg.vjp(lambda m: m * ours.normal(size=3), 2.0)
    assert pullback(np.ones(3)) == pullback(np.ones(3)) == (pytest.approx(y.sum() / 2),)


@pytest.mark.needs_extension("what a generator of C code draws is not recorded: it is drawn at every call, or refused")
def test_a_tape_that_draws_is_a_program() -> None:
    ours, again = np.random.default_rng(4), np.random.default_rng(4)
    tape = wg.trace(lambda x: x + ours.random(4))(X)
    assert "random(4)" in str(tape)
    call = wg.compile(tape).bind(X, out=(out := np.empty(4)))
    for _ in range(2):
        call()
        np.testing.assert_array_equal(out, X + again.random(4))


SPAWNS: dict[str, Any] = {
    "a SeedSequence": lambda x, rng, seeds: x * np.random.default_rng(seeds.spawn(1)[0]).normal(),
    "that of a generator": lambda x, rng, seeds: (
        x * np.random.default_rng(rng.bit_generator.seed_seq.spawn(1)[0]).normal()
    ),
    "a bit generator": lambda x, rng, seeds: x * np.random.Generator(rng.bit_generator.spawn(1)[0]).normal(),
    "before a branch": lambda x, rng, seeds: branches(x * rng.spawn(2)[0].normal()),
    "before a branch, and draws": lambda x, rng, seeds: branches(x * rng.spawn(2)[0].normal() * rng.normal()),
    "before what is refused": lambda x, rng, seeds: x * rng.spawn(1)[0].normal() + 0 * float(f"{x:.3f}"),
}


def branches(x: Any) -> Any:
    return 2 * x if x > 0 else 3 * x


@pytest.mark.filterwarnings("ignore::wengert.PerformanceWarning")
@pytest.mark.parametrize("is_captured", [False, True])
@pytest.mark.parametrize("name", SPAWNS)
def test_children_that_are_spawned_were_frozen_or_spawned_twice(name: str, is_captured: bool) -> None:
    f, results = SPAWNS[name], []
    for make in (wg.jit, lambda f: f):
        rng, seeds = np.random.default_rng(3), np.random.SeedSequence(4)
        if is_captured:
            call = make(lambda x, rng=rng, seeds=seeds: f(x, rng, seeds))
            results.append([float(call(x)) for x in (0.7, 0.7, -0.5, 0.3)])
        else:
            call = make(f)
            results.append([float(call(x, rng, seeds)) for x in (0.7, 0.7, -0.5, 0.3)])
    assert results[0] == pytest.approx(results[1], rel=1e-15)
