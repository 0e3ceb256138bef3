"""SciPy's Python functions trace however the caller got hold of them, and are themselves again afterwards."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import scipy.special as sp
from scipy.special import logsumexp

import wengert as wg
from wengert.tracing.reroute import REROUTED, decide, rerouted


def codes() -> dict[str, Any]:
    return {name: getattr(sp, name).__code__ for name in REROUTED["scipy.special"]}


def test_the_functions_of_scipy_are_themselves_without_a_trace() -> None:
    """Nested and left by an exception: their code is their own again."""
    own = codes()
    assert own["logsumexp"].co_filename.endswith("_logsumexp.py")
    with rerouted():
        with pytest.raises(ZeroDivisionError), rerouted():
            raise ZeroDivisionError
        assert sp.logsumexp.__code__ is not own["logsumexp"]
        assert sp.logsumexp([0.0, 0.0]) == np.log(2)  # not traced: SciPy's own
    assert codes() == own


def test_a_name_imported_long_before_is_traced() -> None:
    """The function stays the object that it is: an attribute put in its place would not be found by this name."""
    x = np.array([1.0, 2.0, -0.5])
    tape = wg.trace(logsumexp)(x)
    assert {"max", "log"} < {i.op.name for i in tape.instrs}  # its own steps: no callback, no code of SciPy's
    assert sp.logsumexp is logsumexp
    np.testing.assert_allclose(wg.compile(tape)(x), logsumexp(x), rtol=1e-15)


def test_traced_values_are_found_in_lists_and_keywords() -> None:
    f = lambda x: logsumexp([x[0], 2.0], b=[1.0, x[1]])
    x = np.array([0.5, 3.0])
    np.testing.assert_allclose(wg.jit(f)(x), f(x), rtol=1e-15)


def test_without_a_traced_value_scipy_decides() -> None:
    """Also while a trace is open, of what is not traced, and in another thread."""
    found: list[Any] = []

    def f(x: Any) -> Any:
        found.append(sp.softmax([0.0, 0.0]))
        thread = threading.Thread(target=lambda: found.append(sp.softmax([1.0, 1.0])))
        thread.start()
        thread.join()
        return x

    wg.jvp(f, (1.0,), (1.0,))
    assert [y.tolist() for y in found] == [[0.5, 0.5], [0.5, 0.5]]
    assert decide("scipy.special", "softmax", ([3.0, 3.0],), {}).tolist() == [0.5, 0.5]
