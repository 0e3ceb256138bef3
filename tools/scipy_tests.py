"""SciPy's own tests of its functions for any array library, with traced arrays as a further one.

``python -m tools.scipy_tests [MODULE ...]`` runs those tests of the SciPy that is installed which take their arrays
from a fixture ``xp``, inside of a trace: whatever floating-point array ``xp.asarray`` makes depends on the argument of
the trace. The files are copied, since code within SciPy is a library's, and gets no traced arrays. A line a module says
how many passed, were refused (an error of wengert's), and failed in another way; ``--list`` names the last.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy
from rich.console import Console
from rich.progress import track

import wengert as wg
from wengert.errors import WengertError
from wengert.tracing.arguments import concrete
from wengert.tracing.tracer import Tracer

PASSED, REFUSED, FAILED = "passed", "refused", "failed"
ROOT = Path(scipy.__file__).parent
OUTCOMES = "outcomes.json"


# ------------------------------------------------------------------------------------------ as a plugin of pytest


class TracedNamespace(ModuleType):
    """NumPy, but for what makes arrays: those of floating point depend on the argument of the trace."""

    def __init__(self, zero: Any) -> None:
        super().__init__("numpy")
        self._zero = zero

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        return (
            functools.partial(self._made, found) if name in ("asarray", "array", "ones", "zeros", "linspace") else found
        )

    def _made(self, f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("copy", None)
        x = f(*args, **kwargs)
        return x + self._zero.astype(x.dtype) if x.dtype.kind in "fc" else x


def known(x: Any) -> Any:
    """``x`` with the values of traced arrays in their place, also in lists and tuples."""
    if type(x) is Tracer:
        return np.asarray(concrete(x, "what is asserted"))[()]
    return type(x)(map(known, x)) if type(x) in (list, tuple) else x


def _knowing(f: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(f)
    def asserts(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop("xp", None)
        return f(*map(known, args), **{name: known(x) for name, x in kwargs.items()})

    return asserts


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Only what takes arrays from the fixture is run, and what asserts is let know the values."""
    kept = [item for item in items if "xp" in getattr(item, "fixturenames", ())]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept
    for module in {item.getparent(pytest.Module).obj for item in kept}:
        for name, found in list(vars(module).items()):
            if callable(found) and re.match(r"(xp_)?assert", name):
                setattr(module, name, _knowing(found))


_outcomes: dict[str, tuple[str, str]] = {}


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool:
    """Run a test with NumPy's arrays, and where it passes so, with traced ones."""
    given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    pyfuncitem.obj(**given)

    def run(zero: Any) -> Any:
        pyfuncitem.obj(**{**given, "xp": TracedNamespace(zero)})
        return zero

    try:
        wg.jvp(run, (0.0,), (1.0,))
        found = PASSED, ""
    except pytest.skip.Exception:  # a test that skips itself is neither
        return True
    except (Exception, pytest.fail.Exception) as error:  # any: what it is, is what is asked
        chain = [error, error.__cause__, error.__context__]
        is_refused = any(isinstance(e, WengertError) for e in chain)
        found = (REFUSED if is_refused else FAILED), "".join(traceback.format_exception(error))[-1500:]
    _outcomes[pyfuncitem.nodeid] = found
    return True


def pytest_sessionfinish(session: pytest.Session) -> None:
    Path(OUTCOMES).write_text(json.dumps(_outcomes), encoding="utf-8")


# ------------------------------------------------------------------------------------------------ as a program


def files() -> Iterator[Path]:
    """The files of SciPy's tests that take arrays from the fixture."""
    for path in sorted(ROOT.glob("**/tests/test_*.py")):
        if re.search(r"def test.*\bxp\b", path.read_text(encoding="utf-8")):
            yield path


def outcomes(path: Path, seconds: int) -> dict[str, tuple[str, str]]:
    """The outcome of each test of a file. Raises RuntimeError if they could not be run to the end."""
    package = list(path.relative_to(ROOT.parent).parent.parts)

    def absolute(found: re.Match[str]) -> str:
        start, dots, rest = found.groups()
        return f"{start}from {'.'.join([*package[: len(package) + 1 - len(dots)], *filter(None, [rest])])} import"

    text = re.sub(r"^(\s*)from (\.+)([\w.]*) import", absolute, path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / path.name).write_text(text, encoding="utf-8")
        for data in path.parent.iterdir():
            if data.is_dir() and data.name == "data":
                shutil.copytree(data, Path(folder) / "data")
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "scipy.conftest",
            "-p",
            "tools.scipy_tests",
            "-W",
            "ignore",
        ]
        command += [
            "-o",
            "addopts=",
            "-p",
            "no:cacheprovider",
            "-m",
            "not slow and not xslow",
            "--timeout",
            "60",
            path.name,
        ]
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, timeout=seconds, env=environment, check=False
            )
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"{path}: not done after {seconds} s") from None
        found = Path(folder) / OUTCOMES
        if not found.exists() or done.returncode == pytest.ExitCode.INTERRUPTED:
            raise RuntimeError(f"{path}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        return json.loads(found.read_text(encoding="utf-8"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", help="of SciPy's, such as fft; all of them if none is named")
    parser.add_argument("--list", action="store_true", help="name the tests that were refused or failed")
    parser.add_argument("--seconds", type=int, default=900, help="how long a file may take")
    given = parser.parse_args()
    chosen = [p for p in files() if not given.modules or p.relative_to(ROOT).parts[0] in given.modules]
    console, total = Console(), Counter[str]()
    for path in track(chosen, "SciPy's tests", console=console):
        try:
            found = outcomes(path, given.seconds)
        except RuntimeError as error:
            console.print(str(error), markup=False)
            continue
        count = Counter(kind for kind, _ in found.values())
        total += count
        name = path.relative_to(ROOT)
        console.print(
            f"{name}: {', '.join(f'{count[kind]} {kind}' for kind in (PASSED, REFUSED, FAILED))}", markup=False
        )
        if given.list:
            for test, (kind, why) in found.items():
                if kind != PASSED:
                    console.print(f"  {kind} {test}: {why}", markup=False, highlight=False)
    console.print(f"all: {', '.join(f'{total[kind]} {kind}' for kind in (PASSED, REFUSED, FAILED))}")


if __name__ == "__main__":
    main()
