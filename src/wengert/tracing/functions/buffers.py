"""The bytes of a traced value for code of C that knows buffers: ``hashlib.md5(x)``, ``bytes(x)``, ``zlib.crc32(x)``.

They are to be had where the value may be looked at, as for ``np.asarray`` in code that is not traced; what somebody
writes there is found out (lending.py).
"""

from __future__ import annotations

from typing import Any

from wengert.tracing.interception import _buffers
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.tracer import Tracer

_buffers.lend_memory(Tracer)


@intercepts(memoryview)
def view(x: Any) -> memoryview:
    return memoryview(x.memory() if type(x) is Tracer else x)


@intercepts(bytes)
def fixed(x: object) -> bytes:
    return bytes(_source(x))


@intercepts(bytearray)
def changing(x: object) -> bytearray:
    return bytearray(_source(x))


def _source(x: Any) -> Any:
    """Return what Python makes the bytes of: a count of zeros, a list of whole numbers, or memory."""
    if type(x) is not Tracer:
        return [one.__index__() if type(one) is Tracer else one for one in x]
    is_number = x.weak is not None or (x.is_scalar and x.aval.dtype.kind in "iu")
    return x.__index__() if is_number and x.aval.dtype.kind in "iub" else x.memory()
