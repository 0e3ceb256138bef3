"""The version of SciPy is two numbers, which compare as versions do."""

from __future__ import annotations

from importlib.metadata import version

from wengert.of_scipy.version import SCIPY


def test_it_is_that_of_the_installed_distribution() -> None:
    assert ".".join(map(str, SCIPY)) == ".".join(version("scipy").split(".")[:2])
    assert (1, 14) <= SCIPY < (2, 0)
