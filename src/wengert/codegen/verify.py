"""Kernels are compared with references when they are made (``WENGERT_VERIFY=1``).

* :mod:`~wengert.codegen.verification.nests`: loop nests, against the references of their steps.
* :mod:`~wengert.codegen.verification.specs`: kernels over indices, searches and running sums, against NumPy.
* :mod:`~wengert.codegen.verification.bodies`: loops and branches with their bodies, against their kernels one by one.
* :mod:`~wengert.codegen.verification.routines`: the runtime's own kernels that copy, sort and multiply, against NumPy.

:mod:`~wengert.codegen.verification.operands` says what they are asked with, and what counts as the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from wengert.codegen import cache, compiler
from wengert.codegen.calls import KernelCall
from wengert.codegen.compiler import Code, key_of
from wengert.codegen.loops import Whole
from wengert.codegen.lower import text_of
from wengert.codegen.nests.nest import Nest
from wengert.codegen.specs.spec import Spec
from wengert.codegen.target import Target
from wengert.codegen.verification import bodies, nests, routines, specs
from wengert.errors import InternalError, message

verified: Counter[str] = Counter()
"""How many kernels have been verified in this process, by their kind."""
_known: set[bytes] = set()
"""The keys of kernels that were found right."""
Codes = Mapping[bytes, Code | str]


def verify_new(calls: Sequence[KernelCall], codes: Codes, address_of: Callable[[str], int], target: Target) -> None:
    """Verify those kernels that were not yet; on disk it stands which were, beside their code. ``address_of`` says
    where a kernel of the runtime's own is, ``target`` what they were compiled for."""
    for call in calls:
        kernel = call.kernel
        if isinstance(kernel, str):
            key = key_of((kernel, call.sizes, call.extent, [(p.aval, p.strides) for p in call.places]), target)
            if key not in _known and routines.is_known(kernel):
                _verify(kernel, kernel.partition("_")[0], routines.differences(call, kernel, address_of(kernel)))
            _known.add(key)
        elif isinstance(kernel, Nest | Spec):
            _verify_once(kernel, codes, None, target)
        else:
            _verify_once(kernel, codes, call, target)


def verify(kernel: Nest | Spec, address: int) -> None:
    """Raises :class:`InternalError` if the kernel at ``address`` computes anything else than ``kernel`` says."""
    if isinstance(kernel, Nest):
        _verify(kernel, "nest", nests.differences(kernel, address))
    else:
        _verify(kernel, type(kernel).__name__.removesuffix("Spec").lower(), specs.differences(kernel, address))


def verify_whole(kernel: Whole, call: KernelCall, address: int, target: Target) -> None:
    """Verify a loop or a branch as :func:`verify` does, and the kernels that it is made of."""
    inner = {k: key_of(k, target) for k in bodies.inner_kernels(kernel)}
    before = compiler.Counters.compiled
    codes = compiler.machine_code({key: partial(text_of, k, target=target) for k, key in inner.items()}, target)
    compiler.Counters.compiled = before  # they are compiled only to be compared
    for k in inner:
        _verify_once(k, codes, None, target)
    addresses = {k: code.address for k, key in inner.items() if isinstance(code := codes[key], Code)}
    if len(addresses) == len(inner):  # else LLVM refuses one of them, alone
        found = bodies.differences(call, kernel, address, addresses.__getitem__)
        _verify(kernel, type(kernel).__name__.lower(), found)


def _verify_once(kernel: Nest | Spec | Whole, codes: Codes, call: KernelCall | None, target: Target) -> None:
    key = key_of(kernel, target)
    code = codes[key]
    if key in _known or not isinstance(code, Code):
        return
    mark = key_of(("verified", key), target)
    if cache.read(mark) is None:
        if isinstance(kernel, Nest | Spec):
            verify(kernel, code.address)
        else:
            assert call is not None
            verify_whole(kernel, call, code.address, target)
        cache.save(mark, b"verified")
    _known.add(key)


def _verify(kernel: Nest | Spec | Whole | str, kind: str, differences: Iterable[str]) -> None:
    trials = 0
    for found in differences:
        trials += 1
        if found:
            notes = [("kernel", str(kernel))]
            raise InternalError(message(f"a kernel computes something else than its steps: {found}", notes=notes))
    if trials:
        verified[kind] += 1
