"""Sixty programs with a fault each: the tool for its kind names the line on which it was planted.

``python -m tests.acceptance.test_faults`` prints a table of what was asked, and what was named.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable

import numpy as np
import pytest

import wengert as wg
from tests.acceptance.faults import cancellations, kinks, nans, retraces, slow
from tests.acceptance.faults.fault import Fault


def nan(fault: Fault) -> str:
    """Return what is raised while the gradient is computed, under the eye of ``find_nans``."""
    try:
        with np.errstate(all="ignore"):
            wg.jit(wg.value_and_grad(fault.f), find_nans=True)(*fault.args)
    except wg.errors.NonFiniteError as error:
        return str(error)
    return ""


def kink(fault: Fault) -> str:
    """Return the nearest switch that ``smooth`` names."""
    nearest = wg.smooth(fault.f)(*fault.args).switches[0]
    return str(nearest)


def cancellation(fault: Fault) -> str:
    return str(wg.digits(fault.f)(*fault.args))


def retrace(fault: Fault) -> str:
    """Return why the second call was traced."""
    compiled = wg.jit(fault.f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wg.PerformanceWarning)
        compiled(*fault.args)
        if fault.then is not None:
            fault.then()
        compiled(*fault.again)
        return wg.explain(compiled)(*fault.again).why_traced_again()


def advice(what: str) -> Callable[[Fault], str]:
    """Return the function that gives what a report says of the copies, or the callbacks, of a program."""

    def said(fault: Fault) -> str:
        report = wg.explain(fault.f, time=False)(*fault.args).report
        return "\n".join([f"{report.files[a.file].path}:{a.line}: {a.text}" for a in report.advice if a.what == what])

    return said


def fusion(fault: Fault) -> str:
    """Return why the lines before and after the planted one are not one kernel."""
    explained = wg.explain(fault.f, time=False)(*fault.args)
    before = fault.line - (2 if fault.f is slow.gathered else 1)
    return explained.why_not_fused(before, fault.line) + "\n" + explained.why_not_fused(fault.line, fault.line + 1)


def loop(fault: Fault) -> str:
    return wg.explain(fault.f, time=False)(*fault.args).why_not_rolled(fault.line)


KINDS: dict[str, tuple[Callable[[Fault], str], list[Fault]]] = {
    "NaN": (nan, nans.FAULTS),
    "kink": (kink, kinks.FAULTS),
    "cancellation": (cancellation, cancellations.FAULTS),
    "retrace": (retrace, retraces.FAULTS),
    "copy": (advice("copy"), slow.COPIES),
    "callback": (advice("callback"), slow.CALLBACKS),
    "fusion": (fusion, slow.FUSIONS),
    "loop": (loop, slow.LOOPS),
}


def lines(text: str) -> list[int]:
    """Return the numbers of lines that a text names, in its order."""
    return [int(n) for n in re.findall(r"\.py:(\d+)", text)]


OF_KERNELS = pytest.mark.machine_code("it is a fault of kernels")
CASES = [
    pytest.param(ask, fault, id=f"{kind}: {fault.what}", marks=[OF_KERNELS] * (kind in ("copy", "callback", "fusion")))
    for kind, (ask, faults) in KINDS.items()
    for fault in faults
]


def test_there_are_sixty_of_them() -> None:
    assert len(CASES) == 60


@pytest.mark.parametrize(("ask", "fault"), CASES)
def test_the_planted_line_is_named(ask: Callable[[Fault], str], fault: Fault) -> None:
    said = ask(fault)
    named = lines(said)
    # Of NaNs, kinks and lost digits the first line named has to be it; the others may tell where else it matters.
    first = named[:1] if ask in (nan, kink, cancellation) else named
    assert fault.line in first, said


if __name__ == "__main__":
    for kind, (ask, faults) in KINDS.items():
        for fault in faults:
            said = ask(fault)
            mark = "named" if fault.line in lines(said) else "MISSED"
            print(f"{kind:<13} {mark:<7} line {fault.line:<4} {fault.what}: {' '.join(said.split())[:160]}")
