"""The look of the runtime for NaNs and infinities: bits, strides, modes, and what it costs nobody."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wengert.runtime import _native


class Owner:
    """A stand-in for the program that an executable asks: it notes the finds."""

    def __init__(self, executable: Any, checks: list[Any]) -> None:
        self.executable, self.checks, self.finds = executable, checks, list[Any]()
        executable.owner = lambda: self

    def _make_checks(self) -> None:
        self.executable.look_at(self.checks)

    def _found(self, reads: Any, number: int, mode: int) -> None:
        self.finds.append((reads, number, mode))


def copying(x: Any, checks: list[Any]) -> Owner:
    """The owner of a program that copies an array to its output, looked at as ``checks`` say."""
    parts = x[..., None].view(np.float64) if x.itemsize == 16 else x
    sizes = [parts.itemsize, parts.ndim]
    for n, s in zip(parts.shape, parts.strides, strict=True):
        sizes += [n, s, s]
    step = ("kernel", _native.kernel_address("copy"), [(1, 0), (2, 0)], sizes, 1, 0, None)
    made = _native.Executable(
        arena_bytes=0,
        inputs=[(x.dtype, x.shape, None)],
        captures=[],
        constants=[],
        outputs=[(x.dtype, x.shape)],
        steps=[step],
        is_long=False,
    )
    return Owner(made, checks)


def finds(x: Any, mode: int, shape: Any = None, strides: Any = None, offset: int = 0) -> int:
    owner = copying(x, [(0, (2, offset), x.dtype, x.shape if shape is None else shape, strides, 0)])
    before = _native.finding.here
    _native.finding.here = mode
    try:
        (y,) = owner.executable.run([x])
    finally:
        _native.finding.here = before
    np.testing.assert_array_equal(y, x)
    assert all(number == 0 and seen == mode for _, number, seen in owner.finds)
    return len(owner.finds)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_every_place_and_pattern(dtype: str) -> None:
    for n in (1, 7, 8, 9, 33):
        x = np.full(n, np.finfo(dtype).max, dtype)
        x[::2] = -np.finfo(dtype).tiny
        assert finds(x, 2) == 0
        for value in (np.inf, -np.inf, np.nan, -np.nan):
            y = x.copy()
            y[n // 2] = value
            assert finds(y, 2) == 1
            assert finds(y, 1) == int(np.isnan(value))
            assert finds(y, 0) == 0


def test_last_of_many_elements() -> None:
    x = np.zeros(100_001)
    x[-1] = np.inf
    assert finds(x, 2) == 1 and finds(x[:-1].copy(), 2) == 0


def test_strides_look_at_their_elements_alone() -> None:
    x = np.zeros((6, 4))
    x[1, 2] = np.nan
    assert finds(x, 2, (3, 4), (64, 8)) == 0 and finds(x, 2, (3, 4), (64, 8), 32) == 1
    assert finds(x, 2, (6,), (32,), 16) == 1 and finds(x, 2, (6,), (32,), 8) == 0
    assert finds(x, 2, (4, 6), (8, 32)) == 1
    z = np.zeros((3, 3), complex)
    z[1, 1] = 1j * np.inf
    assert finds(z, 2, (3,), (48,), 16) == 1 and finds(z, 2, (3,), (48,)) == 0


def test_owner_gets_copies_of_what_was_read() -> None:
    x = np.array([1.0, np.nan])
    owner = copying(x, [(0, (2, 0), x.dtype, x.shape, None, 0)])
    _native.finding.here = 2
    try:
        owner.executable.run([x])
    finally:
        _native.finding.here = -1
    (copy,) = owner.finds[0][0]
    assert copy is not x and not np.shares_memory(copy, x)
    np.testing.assert_array_equal(copy, x)


def test_nobody_looks_by_default_and_wrong_modes_are_refused() -> None:
    assert (_native.finding.here, _native.finding.everywhere, _native.finding.mode) == (-1, 0, 0)
    with pytest.raises(ValueError, match="looks not at all"):
        _native.finding.here = 3
    with pytest.raises(ValueError, match="looks not at all"):
        _native.finding.everywhere = -1


def test_everywhere_holds_where_a_thread_has_not_said_anything() -> None:
    _native.finding.everywhere = 2
    try:
        assert _native.finding.mode == 2
        _native.finding.here = 0
        assert _native.finding.mode == 0
    finally:
        _native.finding.everywhere, _native.finding.here = 0, -1


@pytest.mark.parametrize(
    "check",
    [
        (1, (2, 0), np.dtype(float), (2,), None, 0),
        (0, (9, 0), np.dtype(float), (2,), None, 0),
        (0, (2, 0), np.dtype(int), (2,), None, 0),
        (0, (0, 0), np.dtype(float), (2,), None, 0),
        (0, (2, 0), np.dtype(float), (2,), None, 8),  # the extent is 1
        (0, (2, 0), np.dtype(float), (2,), (16,), 32),
        (0, (2, 0), np.dtype(float), (2,), None, -16),
    ],
)
def test_checks_that_do_not_fit_are_refused(check: Any) -> None:
    owner = copying(np.zeros(2), [])
    with pytest.raises(ValueError, match="a check"):
        owner.executable.look_at([check])


def test_error_of_the_owner_ends_the_run() -> None:
    owner = copying(np.full(2, np.nan), [(0, (2, 0), np.dtype(float), (2,), None, 0)])

    def refuse(*args: Any) -> None:
        raise KeyError("here")

    owner._found = refuse
    _native.finding.here = 2
    try:
        with pytest.raises(KeyError, match="here"):
            owner.executable.run([np.full(2, np.nan)])
    finally:
        _native.finding.here = -1
