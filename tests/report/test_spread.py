"""The parts of a kernel share its time by flops; kernels in bodies by what was measured."""

from __future__ import annotations

from wengert.report.spread import spread
from wengert.runtime.timing import KernelTime, OpWork, ProgramTime, Time, Work


def kernel(name: str, flops: list[float], total_s: float = 1.0, bodies: tuple[ProgramTime, ...] = ()) -> KernelTime:
    parts = tuple([OpWork(f"{name}{k}", None, n) for k, n in enumerate(flops)])
    return KernelTime(name, "loops", Time(1, 1, total_s), Work(parts, sum(flops), 8), bodies)


def test_by_flops() -> None:
    assert [share for _, _, share in spread(kernel("a", [1, 3]))] == [0.25, 0.75]
    assert [share for _, _, share in spread(kernel("copy", [0, 0]))] == [0.5, 0.5]


def test_bodies_by_their_times() -> None:
    body = ProgramTime("body", Time(10, 10, 0.8), (kernel("b", [1, 1], 0.6), kernel("c", [5], 0.2)), ())
    shares = [(names, round(share, 9)) for names, _, share in spread(kernel("scan", [7], 1.0, (body,)))]
    assert shares == [(("scan", "b"), 0.375), (("scan", "b"), 0.375), (("scan", "c"), 0.25)]
