"""``wengert run script.py``: a script as Python runs it, with exact derivatives for the solvers that it calls."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

import wengert as wg

OPTIONS = ("--quiet", "--eager")


def _parted(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The options of the command, and what stands behind them: the script and its own arguments."""
    n = next((k for k, word in enumerate(words) if word not in OPTIONS), len(words))
    return list(words[:n]), list(words[n:])


def is_of_script(words: Sequence[str]) -> bool:
    """Whether a call of the command names a script, and not a function in a file.

    Examples
    --------
    >>> is_of_script(["--quiet", "fit.py", "data.csv"]), is_of_script(["fit.py:loss", "--grad"])
    (True, False)
    """
    rest = _parted(words)[1]
    return bool(rest) and rest[0].endswith(".py")


def run(words: Sequence[str]) -> None:
    """Run the script that the words name as ``__main__``, inside :func:`wengert.exact`.

    Its errors are Python's, and so is its exit code; the summary goes to stderr. A script that is not there, 2.
    """
    options, (script, *args) = _parted(words)
    if not Path(script).is_file():
        print(f"wengert: there is no file {script}", file=sys.stderr)
        raise SystemExit(2)
    before, path = sys.argv, sys.path[:]
    sys.argv = [script, *args]
    sys.path[0:1] = [str(Path(script).parent.resolve())]  # where Python looks for what a script imports
    try:
        with wg.exact(quiet="--quiet" in options, eager="--eager" in options):
            runpy.run_path(script, run_name="__main__")
    finally:
        sys.argv, sys.path[:] = before, path
