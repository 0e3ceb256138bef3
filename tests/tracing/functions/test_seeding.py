"""A generator without a seed makes a compiled function say that it is traced at every call."""

from __future__ import annotations

import random
import secrets
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest

import wengert as wg


@pytest.mark.parametrize(
    "bits",
    [
        lambda: np.random.default_rng().normal(),
        lambda: np.random.default_rng(None).normal(),
        lambda: np.random.Generator(np.random.PCG64()).normal(),
        lambda: secrets.randbits(8),
        lambda: random.SystemRandom().getrandbits(8),
    ],
)
def test_random_bits_of_the_system_are_heard_of(bits: Any) -> None:
    with pytest.raises(wg.errors.WengertError, match=r"has no seed|another value|random"):
        wg.jit(lambda x: x * bits(), strict=True)(1.0)


def test_a_random_state_with_a_seed_asks_for_bits_all_the_same() -> None:
    f = wg.jit(lambda x: x * np.random.RandomState(3).normal(), strict=True)
    assert f(2.0) == 2.0 * np.random.RandomState(3).normal()


def test_the_bits_are_the_systems_own_again() -> None:
    own = random.SystemRandom.getrandbits.__code__
    with pytest.raises(ZeroDivisionError):
        wg.grad(lambda x: 1 / 0)(1.0)
    assert random.SystemRandom.getrandbits.__code__ is own
    assert secrets.randbits.__func__ is random.SystemRandom.getrandbits


def test_numpy_random_can_be_imported_for_the_first_time_while_tracing() -> None:
    """It makes the generator that all share meanwhile, which asks for bits."""
    code = """
        import sys, numpy as np, wengert as wg
        assert "numpy.random" not in sys.modules

        def f(x):
            import numpy.random
            return 2.0 * x

        print(wg.grad(f)(1.0), "numpy.random" in sys.modules)
    """
    found = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert found.stdout.split() == ["2.0", "True"], found.stderr
