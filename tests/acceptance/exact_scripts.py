"""Scripts in the style of SciPy's documentation, run as they are and inside ``wg.exact()``: results and evaluations.

A script is plain NumPy and SciPy, knows nothing of wengert, and assigns what it found to ``result``.
"""

from __future__ import annotations

import contextlib
import io
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import wengert as wg

FOLDER = Path(__file__).parent / "scripts"
SCRIPTS = {path.stem: path for path in sorted(FOLDER.glob("*.py"))}


class Outcome(NamedTuple):
    """The outcome of a script: its ``result``, the seconds it took, and how often its functions were called."""

    result: Any
    seconds: float
    calls: int
    filled: int
    kept: dict[str, str]


class _Calls:
    """A profiler that counts the calls of functions of one file that Python runs: of all, or of one name."""

    def __init__(self, file: str, name: str) -> None:
        self.file, self.name, self.count = file, name, 0

    def __call__(self, frame: Any, event: str, arg: Any) -> None:
        if event == "call" and frame.f_code.co_filename == self.file:
            self.count += self.name in ("", frame.f_code.co_name)


@contextlib.contextmanager
def counted(file: str, is_wanted: bool, name: str = "") -> Iterator[_Calls]:
    """Count the calls of functions of a file, or of those of a name."""
    calls = _Calls(file, name)
    before = sys.getprofile()
    if is_wanted:
        sys.setprofile(calls)
    try:
        yield calls
    finally:
        sys.setprofile(before)


def run(name: str, *, is_exact: bool, is_eager: bool = False, counts: bool = False) -> Outcome:
    """Run a script, and return what it found. Counting calls takes time, so it is done in a run of its own."""
    path = SCRIPTS[name]
    code = compile(path.read_text(), str(path), "exec")
    names: dict[str, Any] = {"__name__": "__main__"}
    context: Any = wg.exact(quiet=True, eager=is_eager) if is_exact else contextlib.nullcontext()
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        with context as tally, counted(str(path), counts) as calls:
            start = time.process_time()
            exec(code, names)
            seconds = time.process_time() - start
    filled, kept = (0, {}) if tally is None else (tally.filled, tally.kept)
    return Outcome(np.asarray(names["result"], float), seconds, calls.count, filled, kept)


def same(plain: Any, found: Any) -> bool:
    """Whether two results are one, to what their solvers promise."""
    scale = np.max(np.abs(plain), initial=1e-300)
    return bool(plain.shape == found.shape and np.all(np.abs(found - plain) <= 2e-3 * np.abs(plain) + 2e-4 * scale))
