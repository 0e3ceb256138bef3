"""How the time of a kernel is spread over what it did."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wengert.runtime.timing import KernelTime, OpWork


def spread(kernel: KernelTime) -> list[tuple[tuple[str, ...], OpWork, float]]:
    """Return what a kernel did: for each part the names of the kernels that it lies in, from the outermost, and its
    share of the time.

    Kernels in bodies have the times that were measured; the parts of one kernel share its time by their flops.
    """
    inner = [(body_kernel, body_kernel.time.total_s) for body in kernel.bodies for body_kernel in body.kernels]
    measured = sum([time for _, time in inner])
    if measured > 0:
        return [
            ((kernel.name, *names), part, share * time / measured)
            for body_kernel, time in inner
            for names, part, share in spread(body_kernel)
        ]
    parts, flops = kernel.work.ops, kernel.work.flops
    return [((kernel.name,), part, part.flops / flops if flops else 1 / len(parts)) for part in parts]
