"""This module compares the runtime's own kernels, which move, sort and multiply, with NumPy, as they are called.

Products are of small integers, whose sums are the same in every order, and of an infinity and a NaN among them; so bits
must be equal, but for the NaN that it is. Routines of LAPACK and Fourier transforms are not looked at here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from wengert.codegen.calls import KernelCall
from wengert.codegen.verification.operands import Array, OperandInMemory, OperandMaker, difference, halves
from wengert.passes.plan.places import Place

MOST_POINTS = 1 << 20
MOST_TERMS = 1 << 20  # more products are not added up one by one


def is_known(name: str) -> bool:
    return name == "copy" or name.startswith(("sort_", "argsort_", "argselect_", "gemm_"))


def differences(call: KernelCall, name: str, address: int) -> Iterator[str]:
    """Yield, for each of some operands, what the routine at ``address`` does wrong, in words, or ""."""
    if max([p.aval.size for p in call.places]) > MOST_POINTS:
        return
    for number in range(3):
        memory = OperandMaker(np.random.default_rng(number), is_tame=number == 0)
        operands = [_operand(place, memory) for place in call.places]
        if name.startswith("gemm_"):
            goal, wanted = 2, _product(call, operands, memory)
            if wanted is None:
                return
        elif name == "copy":
            goal, wanted = 1, np.broadcast_to(operands[0].view, operands[1].view.shape)
        else:
            if name.startswith("sort_f"):  # zeros are equal: zeros of both signs may come in any order
                operands[0].view[...] += 0
            goal, wanted = 1, _sorted(call, operands[0].view)
        grain = abs(call.grain)
        parts = halves(call.extent, call.extent // 2 // grain * grain if grain else 0)
        results: dict[int, Sequence[Array]] = {k: [] for k in range(goal, len(operands))}  # then workspace
        found = difference(address, operands, call.sizes, parts, {**results, goal: [wanted]})
        yield found and f"{found} ({number}th operands)"


def _operand(place: Place, memory: OperandMaker) -> OperandInMemory:
    aval = place.aval
    strides = tuple([s // aval.dtype.itemsize for s in place.strides])
    span = 1 + sum([abs(s) * max(0, n - 1) for s, n in zip(strides, aval.shape, strict=True)])
    return memory.strided(aval.dtype, aval.shape, strides, span)


def _sorted(call: KernelCall, x: Array) -> Array:
    instr = call.instr
    assert instr is not None
    op, params = instr.op, instr.params
    function: Any = op.reference if op.bind is None else op.bind([a.aval for a in instr.ins], **params)
    return np.asarray(function(x) if op.bind is not None else partial(function, **params)(x))


def _product(call: KernelCall, operands: Sequence[OperandInMemory], memory: OperandMaker) -> Array | None:
    """Write numbers to the operands, and return what their product must be; None where it is too large to be asked."""
    m, n, k, xm, xk, yk, yn, zm, inner, ix, iy, iz, _, rows, columns, ox, oy, oz = call.sizes
    outer = call.extent // (inner * -(-m // rows) * -(-n // columns))
    x, y, z = operands
    rng = memory.rng
    for v in (x, y):
        v.block[...] = rng.integers(-4, 5, v.block.shape)
        if not memory.is_tame and v.view.size and outer * inner * m * n * k <= MOST_TERMS:
            v.block[int(rng.integers(0, v.block.size))] = rng.choice([np.inf, -np.inf, np.nan])
    item = z.view.itemsize
    strided = lambda v, shape, strides: np.lib.stride_tricks.as_strided(
        v.block[v.first :], shape, [s * item for s in strides]
    )
    a = strided(x, (outer, inner, m, k), (ox, ix, xm, xk))
    b = strided(y, (outer, inner, k, n), (oy, iy, yk, yn))
    with np.errstate(all="ignore"):
        if outer * inner * m * n * k <= MOST_TERMS:
            product = np.sum(a[..., None] * b[..., None, :, :], axis=-2)
        else:
            product = a @ b
    whole = OperandInMemory(np.array(z.view), z.block.copy(), 0, z.strides)
    there = np.lib.stride_tricks.as_strided(
        whole.block[z.first :], (outer, inner, m, n), [s * item for s in (oz, iz, zm, 1)]
    )
    there[...] = product
    return np.lib.stride_tricks.as_strided(whole.block[z.first :], z.view.shape, z.view.strides).copy()
