"""Bytes of arrays that are made inside, for code of C that knows buffers."""

from __future__ import annotations

import base64
import ctypes
import hashlib
import pickle
import struct
import zlib
from typing import Any

import numpy as np
import pytest

import wengert as wg

X = np.array([1.0, 2.0, 3.0])

READERS = {
    "md5": lambda a: hashlib.md5(a).hexdigest(),
    "update": lambda a: (h := hashlib.sha256(b"a"), h.update(a))[0].hexdigest(),
    "crc32": zlib.crc32,
    "base64": base64.b64encode,
    "join": lambda a: b"-".join([a, a]),
    "bytes": bytes,
    "bytearray": bytearray,
    "extend": lambda a: (b := bytearray(b"a"), b.extend(a))[0],
    "memoryview": lambda a: memoryview(a).tolist(),
    "unpack": lambda a: struct.unpack_from("d", a, 8),
    "frombuffer": lambda a: np.frombuffer(a).tolist(),
    "from_bytes": lambda a: int.from_bytes(a, "little"),
    "tobytes": lambda a: a.tobytes(),
    "pickle": lambda a: pickle.loads(pickle.dumps(a)).tolist(),
}
MADE = {
    "array": lambda: np.arange(3.0) + 0.5,
    "scalar": lambda: np.arange(3.0).sum(),
    "columns": lambda: np.ones((2, 3)).T[:, :1],
    "integers": lambda: np.arange(5, dtype=np.int16),
    "integer": lambda: np.arange(3).sum(),
}


def outcome(read: Any, make: Any) -> Any:
    try:
        return read(make())
    except (ValueError, TypeError, AttributeError, struct.error, BufferError) as error:
        return type(error)


@pytest.mark.parametrize("make", MADE)
@pytest.mark.parametrize("read", READERS)
@pytest.mark.needs_extension("before Python 3.12 a class written in Python lends no memory")
def test_the_bytes_of_an_array_made_inside_were_refused(read: str, make: str) -> None:
    found: list[Any] = []

    def f(x: Any) -> Any:
        found.append(outcome(READERS[read], MADE[make]))
        return x.sum()

    wg.grad(f)(X)
    assert found == [outcome(READERS[read], MADE[make])]


@pytest.mark.needs_extension("before Python 3.12 a class written in Python lends no memory")
def test_bytes_of_python_numbers_are_pythons() -> None:
    def f(x: Any, n: Any) -> Any:
        assert (bytes(n), bytes([1, n])) == (b"\0\0", b"\1\2")
        with pytest.raises(TypeError, match="bytes-like object is required, not 'float'"):
            zlib.crc32(x)
        with pytest.raises(TypeError, match="bytes-like object is required, not 'float'"):
            memoryview(x)
        return x * n

    assert wg.jit(f)(2.0, 2) == 4.0


@pytest.mark.parametrize("read", [name for name in READERS if name not in ("pickle", "base64", "extend")])
@pytest.mark.needs_extension("before Python 3.12 a class written in Python lends no memory")
def test_bytes_of_a_traced_value_were_refused_in_no_words(read: str) -> None:
    def f(x: Any) -> Any:
        READERS[read](x)
        return x.sum()

    with pytest.raises(wg.errors.WengertError, match=r"bytes[^\n]*\n  at .*test_buffers(.|\n)*  try "):
        wg.grad(f)(X)


def test_a_traced_value_cannot_be_pickled() -> None:
    def f(x: Any) -> Any:
        pickle.dumps(x)
        return x.sum()

    with pytest.raises(TypeError, match=r"cannot be pickled\n  at .*test_buffers(.|\n)*  try "):
        wg.grad(f)(X)


@pytest.mark.needs_extension("before Python 3.12 a class written in Python lends no memory")
def test_a_hash_of_a_captured_array_is_asked_again_where_it_changes() -> None:
    c = np.array([1, 2, 3])

    def f(x: Any) -> Any:
        return x * (zlib.crc32(c) % 7)

    compiled = wg.jit(f)
    for _ in range(3):
        assert compiled(2.0) == f(2.0)
        c[0] += 1


def by_a_memoryview(y: Any) -> None:
    memoryview(y)[0] = 2.0


def by_struct(y: Any) -> None:
    struct.pack_into("d", y, 0, 2.0)


@pytest.mark.parametrize("write", [by_a_memoryview, by_struct])
@pytest.mark.needs_extension("before Python 3.12 a class written in Python lends no memory")
def test_a_write_through_a_buffer_would_be_lost(write: Any) -> None:
    def f(x: Any) -> Any:
        y = np.zeros(3)
        write(y)
        return (y * x).sum()

    with pytest.raises(wg.errors.MutationError, match=r"has written into it[^\n]*\n  at .*test_buffers"):
        wg.grad(f)(X)


def test_a_view_that_lives_keeps_the_array_from_being_written() -> None:
    def f(x: Any) -> Any:
        y = np.zeros(3)
        kept = memoryview(y)
        y[0] = x[0]
        return y.sum() + kept[0]

    with pytest.raises(wg.errors.MutationError, match="cannot be written"):
        wg.grad(f)(X)


def test_an_array_of_a_buffer_is_read_and_not_written() -> None:
    """A write into it, which is seen in NumPy where the buffer comes from, went into a copy."""
    outside = np.arange(3.0)

    def of(make: Any, write: Any) -> Any:
        def f(x: Any) -> Any:
            y = make()
            z = np.asarray(memoryview(y))
            write(z, x)
            return (y * x).sum() + 10 * (z * x).sum()

        return f

    reads = of(lambda: np.arange(3.0), lambda z, x: None)
    assert wg.grad(reads)(X).tolist() == [0.0, 11.0, 22.0]
    for make in (lambda: np.arange(3.0), lambda: outside):
        for write in (lambda z, x: z.__setitem__(0, 7.0), lambda z, x: z.__setitem__(0, x[0])):
            with pytest.raises(wg.errors.MutationError):
                wg.grad(of(make, write))(X)
    assert outside.tolist() == [0.0, 1.0, 2.0]


def test_a_function_of_ctypes_that_wants_an_array() -> None:
    fill = ctypes.CDLL(None)["memset"]
    fill.argtypes = [np.ctypeslib.ndpointer(np.float64), ctypes.c_int, ctypes.c_size_t]

    def f(x: Any) -> Any:
        y = np.zeros(3)
        fill(y, 1, 24)
        return (y * x).sum()

    with pytest.raises(wg.errors.UnsupportedFunctionError, match=r"an ndarray\n  at .*test_buffers(.|\n)*  try "):
        wg.grad(f)(X)


@pytest.mark.parametrize("take", [pickle.PickleBuffer, lambda a: (ctypes.c_double * 3).from_buffer(a)])
@pytest.mark.needs_extension("before Python 3.12 a class written in Python lends no memory")
def test_what_asks_as_numpy_does_is_refused_by_name(take: Any) -> None:
    def f(x: Any) -> Any:
        take(np.zeros(3))
        return x.sum()

    with pytest.raises(wg.errors.UnsupportedFunctionError, match=r"no memory of its own\n  at .*test_buffers"):
        wg.grad(f)(X)
