"""Fourier transforms: of complex numbers along the last axis, if their number is a power of two, by the runtime's own
code; others by the compiled loops of numpy.fft, one axis after the other."""

from __future__ import annotations

import math

import numpy as np

from wengert.codegen.calls import KernelCall, describe
from wengert.ops.kernels import Routine
from wengert.passes.plan.places import Place, PlanStep, is_c_order
from wengert.tape import Instr

SHORTEST, LONGEST = 3, 16
"""Binary logarithms of the lengths; for longer ones pocketfft is as fast (runtime/native/fourier.cpp)."""


def transform(step: PlanStep) -> KernelCall | None:
    """The call of the kernel for a transform of arrays in C order, which the plan arranges; None if there is none.

    Behind the place of the result stands the workspace."""
    instr = step.instr
    assert instr is not None
    (x,), (y,) = step.ins, step.outs
    n = x.aval.shape[-1] if x.aval.ndim else 0
    logarithm = n.bit_length() - 1
    if n != 1 << max(logarithm, 0) or not SHORTEST <= logarithm <= LONGEST or not y.aval.size:
        return None
    if instr.params.get("axes") != (x.aval.ndim - 1,) or x.aval.dtype != y.aval.dtype or y.aval.dtype.char not in "FD":
        return None
    if not is_c_order(x) or not is_c_order(y):
        return None
    name = f"fft_f{4 * y.aval.dtype.itemsize}:{logarithm}"
    sizes = (logarithm, instr.params["norm"], int(instr.params["forward"]))
    batch = math.prod(x.aval.shape[:-1])
    grain = -max(1, GRAIN // n)  # negative: rows run one after the other, since they share the workspace
    assert step.work is not None
    return KernelCall(name, (x, y, step.work), sizes, batch, grain, describe(instr), instr)


MOST_BESIDE = 1 << 14
"""The most numbers of several lines that numpy.fft transforms: of more, scipy.fft does several at a time, and is called
back in Python."""


def by_numpy(step: PlanStep, kernel: Routine) -> KernelCall | None:
    """The calls of the loops of numpy.fft for a transform of arrays in C order, which the plan arranges; None if there
    is none, or if scipy.fft is faster."""
    instr = step.instr
    assert instr is not None
    (x,), (y,), params = step.ins, step.outs, instr.params
    axes = params["axes"] if "axes" in params else (params["axis"],)
    lengths = [max(x.aval.shape[k], y.aval.shape[k]) for k in axes]
    is_beside = max(x.aval.size, y.aval.size) > max(lengths)
    if not x.aval.size or not y.aval.size or not (is_c_order(x) and is_c_order(y)) or not axes:
        return None
    if (is_beside and y.aval.size > MOST_BESIDE) or x.aval.dtype.char not in "fdFD":
        return None
    total = math.prod([y.aval.shape[k] if kernel.routine == "fourier.irfft" else x.aval.shape[k] for k in axes])
    factor = [1.0, 1 / math.sqrt(total), 1 / total][params["norm"]]
    forward, calls = bool(params["forward"]), list[KernelCall]()
    for k in reversed(axes):
        call = _along(x if not calls else y, y, k, kernel, forward, factor if not calls else 1.0, instr)
        if call is None:
            return None
        calls.append(call)
    made = calls.pop()
    while calls:
        made = calls.pop()._replace(then=made)
    return made


MIRROR, CONJUGATE, REVERSE = 1, 2, 4


def _along(
    x: Place, y: Place, axis: int, kernel: Routine, forward: bool, factor: float, instr: Instr
) -> KernelCall | None:
    n_in, n_out, follows = x.aval.shape[axis], y.aval.shape[axis], 0
    is_real = x.aval.dtype.kind == "f"
    if is_real and kernel.routine != "fourier.irfft":
        name = "rfft_n_odd" if n_in % 2 else "rfft_n_even"
        follows = 0 if forward else CONJUGATE
        if kernel.routine == "fourier.fft":
            n_out, follows = n_in // 2 + 1, follows | MIRROR
    elif kernel.routine == "fourier.irfft":
        name, follows = "irfft", REVERSE if forward else 0
    else:
        name = "fft" if forward else "ifft"
    ufunc = getattr(getattr(np.fft, "_pocketfft_umath", None), name, None)
    real, single = "f" if y.aval.dtype.char in "fF" else "d", y.aval.dtype.char in "fF"
    types = f"{x.aval.dtype.char}{real}->{y.aval.dtype.char}"
    if not isinstance(ufunc, np.ufunc) or types not in ufunc.types:
        return None
    others = [k for k in range(x.aval.ndim) if k != axis]
    extents = [x.aval.shape[k] for k in others]
    bits = int(np.float64(factor).view(np.int64))
    rows = [p.strides[k] for p in (x, y) for k in others]
    sizes = (n_in, n_out, x.strides[axis], y.strides[axis], follows, bits, int(single), len(others), *extents, *rows)
    grain = -max(1, GRAIN // n_in)
    loop = (ufunc, ufunc.types.index(types))
    return KernelCall("transforms", (x, y), sizes, math.prod(extents), grain, describe(instr), instr, loop=loop)


GRAIN = 1_000_000  # numbers after which it is worth looking for Ctrl-C
