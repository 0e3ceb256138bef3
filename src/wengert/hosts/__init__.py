"""The hosts are other libraries that are given functions of wengert's; each that needs code for it has a module here.

A module has the name of its library, and is meant to be used by its whole name, ``wg.hosts.openmdao.component(f)``:
``from wengert.hosts import openmdao`` would hide the library's own name. It imports its library when a function of its
is called, so a library that is not installed is missed there and nowhere else. A library that takes functions as they
are needs no module; ``docs/hosts/`` has a page for it as for the others.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import wengert as wg

if TYPE_CHECKING:
    from wengert.hosts import casadi as casadi
    from wengert.hosts import jax as jax
    from wengert.hosts import lmfit as lmfit
    from wengert.hosts import numba as numba
    from wengert.hosts import openmdao as openmdao
    from wengert.hosts import pint as pint
    from wengert.hosts import pymc as pymc
    from wengert.hosts import scipy as scipy
    from wengert.hosts import torch as torch

__all__ = [
    "casadi",
    "jax",
    "lmfit",
    "numba",
    "openmdao",
    "pint",
    "pymc",
    "scipy",
    "torch",
]


def _get(name: str) -> Any:
    if name in __all__:
        return import_module(f"wengert.hosts.{name}")
    return wg.expect.missing(__name__, __all__)(name)


if not TYPE_CHECKING:
    __getattr__ = _get


def __dir__() -> list[str]:
    return list(__all__)
