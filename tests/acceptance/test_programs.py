"""Programs such as scientists write, one a field, unchanged: plain and compiled, against NumPy and differences.

The programs stand in ``programs/``, and know nothing of wengert. Each must give NumPy's values and the derivatives of
differences, as plain calls and compiled, without a warning, from one trace unless its entry says why not.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.acceptance.programs.entries import Entry
from tests.acceptance.programs.fields import PROGRAMS
from wengert import config

NOT_YET: dict[str, str] = {}
"""Programs that are not right yet, with the reason. A row goes when its program works: the test asks for that."""

ALL_DIFFERENCES = 8
"""Numbers in the first argument up to which each of them is moved; of more, two directions are."""


def mapped(f: Callable[..., Any], x: Any, *others: Any) -> Any:
    """Nested dicts, lists and tuples with ``f`` of their leaves; ``others`` have the structure of ``x``."""
    if isinstance(x, dict):
        return {k: mapped(f, v, *(o[k] for o in others)) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        items = [mapped(f, *v) for v in zip(x, *others, strict=True)]
        return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
    return f(x, *others)


def leaves(x: Any) -> list[Any]:
    found: list[Any] = []
    mapped(found.append, x)
    return found


def inner(a: Any, b: Any) -> float:
    return sum(float(np.sum(np.multiply(u, v))) for u, v in zip(leaves(a), leaves(b), strict=True))


def same_kind(x: Any, value: Any) -> Any:
    return float(value) if isinstance(x, float) else value


def moved(x: Any, direction: Any, step: float) -> Any:
    """``x + step |x| direction``, elementwise; a copy, so that no call sees what another wrote."""
    return mapped(lambda v, d: same_kind(v, v + step * np.maximum(np.abs(v), 0.1) * d), x, direction)


def slope(entry: Entry, x: Any, constants: tuple[Any, ...], direction: Any) -> tuple[float, Any]:
    """The difference of NumPy's own runs along ``direction``, and the tangent that this is the derivative along."""
    above, below = (entry.f(moved(x, direction, s), *copy.deepcopy(constants)) for s in (entry.h, -entry.h))
    tangent = mapped(lambda v, d: np.maximum(np.abs(v), 0.1) * d, x, direction)
    return (above - below) / (2 * entry.h), tangent


def directions(x: Any) -> list[Any]:
    count = sum(np.size(v) for v in leaves(x))
    rng = np.random.default_rng(7)
    if count > ALL_DIFFERENCES:
        return [mapped(lambda v: rng.choice([-1.0, 1.0], np.shape(v))[()], x) for _ in range(2)]
    units = []
    for k in range(count):
        flat = iter(np.eye(count)[k])
        units.append(
            mapped(lambda v, flat=flat: np.reshape([next(flat) for _ in range(np.size(v))], np.shape(v))[()], x)
        )
    return units


def points(entry: Entry) -> list[tuple[Any, ...]]:
    """Where the program is called: three points at least, of one signature."""
    rng = np.random.default_rng(3)
    made = list(entry.points)
    x, *constants = made[0]
    while len(made) < 3:
        made.append((moved(x, mapped(lambda v: rng.uniform(-1, 1, np.shape(v))[()], x), 0.02), *constants))
    return made


def assert_right(entry: Entry, got: tuple[Any, Any], args: tuple[Any, ...], differences: bool = False) -> None:
    """Value and gradient are those of NumPy, or of a plain call whose gradient was compared with differences."""
    value, gradient = got
    np.testing.assert_allclose(value, entry.f(*copy.deepcopy(args)), rtol=entry.value_rtol, atol=1e-11)
    mapped(lambda v, g: np.testing.assert_equal(np.shape(g), np.shape(v)), args[0], gradient)
    if not differences:
        return
    x, *constants = args
    scale = max(1e-3, *(float(np.max(np.abs(g))) for g in leaves(gradient)))
    for direction in directions(x):
        want, tangent = slope(entry, x, tuple(constants), direction)
        np.testing.assert_allclose(inner(gradient, tangent), want, rtol=entry.rtol, atol=10 * entry.rtol * scale)


def assert_close(a: Any, b: Any) -> None:
    mapped(lambda u, v: np.testing.assert_allclose(u, v, rtol=1e-8, atol=1e-10), a, b)


def change(entry: Entry, run: Callable[[], Any]) -> Any:
    """By how much ``run`` changes what the function counts."""
    if entry.state is None:
        run()
        return None
    before = entry.state()
    run()
    return entry.state() - before


@pytest.fixture(params=[pytest.param(entry, id=entry.field.replace(" ", "-")) for entry in PROGRAMS])
def entry(request: pytest.FixtureRequest) -> Entry:
    if request.param.field in NOT_YET:
        request.applymarker(pytest.mark.xfail(reason=NOT_YET[request.param.field]))
    return request.param


@pytest.mark.sampled(5, "each program is called plainly, and differentiated by differences")
def test_a_plain_call_has_numpys_value_and_the_gradient_of_differences(
    entry: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without waiting for machine code, as first calls are; the next test has plain calls with it."""
    monkeypatch.setattr(config, "tiered", True)
    gradient = wg.value_and_grad(entry.f)
    for k, args in enumerate(points(entry)):
        got: list[Any] = []
        counted = change(entry, lambda args=args, got=got: got.append(gradient(*copy.deepcopy(args))))
        assert counted == change(entry, lambda args=args: entry.f(*copy.deepcopy(args)))
        assert_right(entry, got[0], args, differences=k < 2)


@pytest.mark.sampled(13, "each program is compiled, at all its points")
def test_a_compiled_call_is_the_plain_one_from_one_trace(entry: Entry) -> None:
    plain = wg.value_and_grad(entry.f)
    gradient = wg.jit(plain)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        for args in (*points(entry), points(entry)[0]):
            got: list[Any] = []
            counted = change(entry, lambda args=args, got=got: got.append(gradient(*copy.deepcopy(args))))
            assert not entry.plain or counted == change(entry, lambda args=args: entry.f(*copy.deepcopy(args)))
            assert_right(entry, got[0], args)
            assert_close(got[0][1], plain(*copy.deepcopy(args))[1])
    stats = gradient.stats()
    assert stats["unrepeatable"] == ""
    if entry.plain:
        assert [w.category for w in heard] == [wg.PerformanceWarning]
        assert stats["plain"] > 0
    else:
        assert [str(w.message) for w in heard] == []
        assert stats["plain"] == 0, stats["why_plain"]
        assert 1 <= stats["traces"] <= entry.traces


@pytest.mark.sampled(11, "each program is differentiated in two ways more")
def test_the_directional_derivative_is_that_of_differences(entry: Entry) -> None:
    x, *constants = entry.points[0]
    direction = directions(x)[-1]
    want, tangent = slope(entry, x, tuple(constants), direction)
    at = lambda v: entry.f(v, *copy.deepcopy(constants))
    value, along = wg.jvp(at, (copy.deepcopy(x),), (tangent,))
    np.testing.assert_allclose(value, at(copy.deepcopy(x)), rtol=entry.value_rtol, atol=1e-11)
    np.testing.assert_allclose(along, want, rtol=entry.rtol, atol=10 * entry.rtol * max(1e-3, abs(want)))


def test_there_are_sixty_fields_and_every_exception_has_its_reason() -> None:
    fields = [entry.field for entry in PROGRAMS]
    assert len(set(fields)) == len(fields) >= 60
    assert all(entry.why for entry in PROGRAMS if entry.traces != 1 or entry.plain)
    assert set(NOT_YET) <= set(fields)
