"""Executables of a few kernels, and whether calling one leaves anything behind."""

import gc
import tracemalloc
from typing import Any

import numpy as np

from tests.runtime.native_kernels import address
from wengert.runtime._native import Executable

F8 = np.dtype(float)
F4 = np.dtype("float32")
I8 = np.dtype("int64")
N = 8


class Miss(Exception):
    pass


def executable(**parts: Any) -> Executable:
    return Executable(**{
        "arena_bytes": 256,
        "inputs": [(F8, (N,), None)],
        "captures": [],
        "constants": [],
        "outputs": [(F8, (N,))],
        "steps": [],
        "is_long": False,
        **parts,
    })  # fmt: skip


def kernel(name: str, *pointers: tuple[int, int], extent: int = N, grain: int = 0, on_failure: Any = None) -> Any:
    return ("kernel", address(name), list(pointers), [], extent, grain, on_failure)


def store(pointer: tuple[int, int], value: int) -> Any:
    return ("kernel", address("store_size"), [pointer], [value], 1, 0, None)


TWICE_PLUS_ONE = [kernel("double", (1, 0), (0, 0)), kernel("increment", (0, 0), (2, 0))]


def leaks(call, n=10_000):
    """Bytes that n calls leave behind, beyond those of the first few."""
    tracemalloc.start()
    held = []
    for times in (100, 100, n):  # what the first round's collection leaves is seen only after the second
        for _ in range(times):
            call()
        gc.collect()
        held.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    return held[2] - held[1]
