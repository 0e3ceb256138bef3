"""Tests of the C++ runtime say what a guard miss raises; afterwards it is again what programs expect."""

from collections.abc import Iterator

import pytest

from wengert.runtime import _native
from wengert.runtime.program import NativeMiss


@pytest.fixture(autouse=True, scope="module")
def _guard_misses() -> Iterator[None]:
    yield
    _native.setup(guard_miss=NativeMiss)
