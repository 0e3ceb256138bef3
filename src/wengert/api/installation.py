"""``doctor``: look whether everything is right here, and what would make it faster.

It works in every setting, and imports what it needs when it is called.
"""

from __future__ import annotations

import math
import os
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from wengert import config, extension
from wengert.api.derivatives import grad
from wengert.api.programs import jit
from wengert.codegen.cache_folder import cache_folder
from wengert.expect import checked
from wengert.runtime import _native, machine_code

Setting = Literal["machine code", "NumPy, with the extension", "NumPy, pure Python"]


class Looked(NamedTuple):
    """Something that was looked at."""

    what: str
    found: str
    is_right: bool = True
    instead: str = ""
    """The thing to do, if it is not right; else empty."""


@dataclass(frozen=True, repr=False)
class Installation:
    """The findings of :func:`doctor`. Printed, they are a table."""

    version: str
    """wengert's own."""
    setting: Setting
    """Whether machine code runs programs, or the NumPy references, with or without the compiled extension."""
    why: str
    """The reason why there is no machine code; empty if there is."""
    install: str
    """The command that installs what machine code needs; empty if that is there, or if it is only switched off."""
    packages: dict[str, str | None]
    """The versions of what wengert needs; None for what is not installed."""
    cache: Path | None
    """The folder where compiled kernels are kept; None if they are kept nowhere."""
    looked: tuple[Looked, ...]
    """All that was looked at."""

    @property
    def is_right(self) -> bool:
        """Whether there is nothing to do."""
        return all(row.is_right for row in self.looked)

    def __repr__(self) -> str:
        rows = [
            ("right" if is_right else "TO DO", what, found, instead) for what, found, is_right, instead in self.looked
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join([f"{x:<{n}}" for x, n in zip(row, widths, strict=True)]).rstrip() for row in rows]
        return "\n".join(lines)


@checked
def doctor(self_test: bool = True) -> Installation:
    """Look whether everything is right with the installation, and say what would make programs faster.

    Parameters
    ----------
    self_test : compile a small gradient, and compare it with differences.

    Returns
    -------
    Installation : it prints as a table, and has fields: ``setting``, ``why`` there is no machine code, ``install``, the
        command that would give it. The command ``wengert doctor`` prints the same.

    Examples
    --------
    >>> import wengert as wg
    >>> found = wg.doctor()
    >>> found.setting in ("machine code", "NumPy, with the extension", "NumPy, pure Python")
    True
    >>> [row.what for row in found.looked][:3]
    ['wengert', 'Python', 'NumPy']
    """
    import platform  # here: nobody else needs it

    installed = {name: _version(name) for name in ("wengert", "numpy", "scipy", "optree", "llvmlite")}
    if config.native:
        machine_code.load()  # so that it is known whether it can be
    machine_code.was_told()
    why, folder = machine_code.why_none(), cache_folder()
    is_compiled = extension.is_compiled("_native")
    setting: Setting = (
        "machine code" if not why else "NumPy, with the extension" if is_compiled else "NumPy, pure Python"
    )
    forms = extension.python_forms()
    looked = [
        Looked("wengert", installed["wengert"] or "not installed"),
        Looked("Python", f"{platform.python_version()}, {sys.executable}"),
        Looked("NumPy", np.__version__, np.lib.NumpyVersion(np.__version__) >= "2.1.0", 'pip install "numpy>=2.1"'),
        Looked("SciPy", installed["scipy"] or "not installed", installed["scipy"] is not None, "pip install scipy"),
        Looked("optree", installed["optree"] or "not installed"),
        Looked("llvmlite", installed["llvmlite"] or "not installed"),
        Looked("extension", "compiled" if not forms else f"Python forms: {', '.join(forms)}"),
        Looked("programs", f"{setting}{f': {why}' if why else ''}", not why, machine_code.remedy()),
        Looked("processor", f"{platform.machine()}, {os.cpu_count()} of them; target {config.target or 'this one'}"),
        Looked("threads", f"{_native.get_threads()}{'' if not why else ', of no effect without machine code'}"),
        Looked("BLAS", _blas()),
        Looked("cache", str(folder), _is_writable(folder), "set WENGERT_CACHE_DIR to a folder that can be written"),
    ]
    if self_test:
        looked.append(_tested())
    rows = tuple([row._replace(instead="") if row.is_right else row for row in looked])
    return Installation(installed.pop("wengert") or "", setting, why, machine_code.needed(), installed, folder, rows)


def _version(name: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version  # takes as long to import as half of NumPy

    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _blas() -> str:
    found: Any = np.show_config(mode="dicts")
    blas = found.get("Build Dependencies", {}).get("blas", {})
    return f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()


def _is_writable(folder: Path | None) -> bool:
    if folder is None:
        return True
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    return os.access(nearest, os.W_OK)


def _tested() -> Looked:
    """Compare a compiled gradient with central differences."""
    look = partial(Looked, "self-test", instead="please report this, with what is printed above")
    w, x, h = np.linspace(-1, 1, 12).reshape(3, 4), np.linspace(0.1, 0.7, 4), 1e-6

    def f(x: Any) -> Any:
        return np.sum(np.tanh(w @ x) ** 2)

    try:
        got = jit(grad(f))(x)
        want = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(4)]
        error = float(np.max(np.abs(got - want)))
    except Exception as error:  # any: whatever is wrong with the installation
        return look(f"{type(error).__name__}: {error}", False)
    return look(f"a compiled gradient, {error:.0e} from differences", math.isfinite(error) and error < 1e-7)
