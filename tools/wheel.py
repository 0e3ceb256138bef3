"""Run the core tests of a wheel, installed in an environment of its own rather than read from this checkout.

    python3.13 -m tools.wheel               with the newest versions of what wengert needs
    python3.11 -m tools.wheel --oldest      with the lowest that pyproject.toml allows
    python3.13 -m tools.wheel --pure        the wheel without an extension
    python3.11 -m tools.wheel --aarch64     the wheel of 64-bit ARM processors, and its machine code, emulated: slow
    python3.13 -m tools.wheel tests/nn      of other tests
    python3.13 -m tools.wheel --here        in the environment of this Python, which has the wheel
    python3.13 -m tools.wheel --prepare     no tests: build and install what they need

The environment is of the interpreter that runs this file, so that this imports the standard library alone. Nothing is
on its PATH but itself: no compiler, and no other Python. Wheels and environments are kept in .venv-wheels; a wheel is
built (`wheels.py`) when what goes into it has changed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from tools import aarch64
from tools.wheels import KEPT, ROOT, VERSION, builder, built, run

CORE = ("tests/tracing/test_*.py", "tests/ad", "tests/test_by_hand.py", "tests/report/test_page.py")
"""The tests of what depends most on the versions of Python and NumPy: how a function is recorded, and derivatives; and
of the report's page, whose parts are files beside the code."""

EMULATED = (*CORE, "tests/codegen")
"""The core tests, and those of machine code, are run emulated: in a quarter of an hour."""


def lowest(requirements: list[str]) -> list[str]:
    """The versions that the requirements begin at: ``numpy>=2.3`` is ``numpy==2.3``. Raises ValueError for another
    kind of requirement, of which the lowest version is not known."""
    found = []
    for requirement in requirements:
        match = re.fullmatch(r"([\w.-]+)>=([\d.]+)", requirement)
        if match is None:
            raise ValueError(f"pyproject.toml: {requirement!r} does not say the lowest version: write name>=version")
        found.append(f"{match[1]}=={match[2]}")
    return found


def _needs(kind: str, oldest: bool) -> list[str]:
    """What the wheel's tests need beside the wheel, as arguments of pip: no llvmlite where there is no extension."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    native = [] if kind == "pure" else project["optional-dependencies"]["native"]
    return ["--group", "core-test", *native, *(lowest([*project["dependencies"], *native]) if oldest else [])]


def installed(kind: str, oldest: bool) -> Path:
    """The interpreter of an environment that has the wheel and what its tests need."""
    if kind == "aarch64":
        pip = [str(builder()), "-m", "pip"]
        return aarch64.python(KEPT, VERSION, pip, str(built(kind)), *_needs(kind, oldest))
    environment = KEPT / f"{VERSION}{'-oldest' if oldest else ''}{'' if kind == 'linux' else f'-{kind}'}"
    python = environment / "bin" / "python"
    pip = [python, "-m", "pip", "install", "-q", "--only-binary=:all:"]
    env = _without_compilers(python)
    if not python.exists():
        run("environment", sys.executable, "-m", "venv", environment)
        run("pip", *pip, "--upgrade", "pip>=25.1", env=env)
    wheel, mark = built(kind), environment / "has"
    if mark.exists() and mark.read_text() == str(wheel):
        return python
    run("wheel", *pip, "--force-reinstall", "--no-deps", wheel, env=env)
    run("what it needs", *pip, wheel, *_needs(kind, oldest), env=env)
    mark.write_text(str(wheel))
    return python


def _without_compilers(python: Path) -> dict[str, str]:
    """The environment variables of a process that finds nothing but what is installed with an interpreter."""
    return {**os.environ, "PATH": str(python.parent), "HYPOTHESIS_PROFILE": "few"}


def main(arguments: list[str]) -> None:
    chosen = [a for a in arguments if not a.startswith("--")]
    kind = "pure" if "--pure" in arguments else "aarch64" if "--aarch64" in arguments else "linux"
    core = EMULATED if kind == "aarch64" else CORE
    paths = chosen or [path.relative_to(ROOT) for pattern in core for path in sorted(ROOT.glob(pattern))]
    is_here = "--here" in arguments
    python = Path(sys.executable) if is_here else installed(kind, "--oldest" in arguments)
    env = _without_compilers(python)
    if kind == "pure":
        env["WENGERT_NATIVE"] = "0"  # asked for: else the first test that compiles is the one that is warned
    where = subprocess.run(
        [python, "-c", "import wengert; print(wengert.__file__)"],
        cwd=ROOT, env=env, capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    if Path(where).is_relative_to(ROOT / "src") or not (is_here or Path(where).is_relative_to(KEPT)):
        raise SystemExit(f"the tests would run {where}, and not the installed wheel")
    if "--prepare" in arguments:
        return
    how = ["--timeout", "3000"] if kind == "aarch64" else ["-n", "auto"]  # emulated, a second may be a minute
    run("tests", python, "-m", "pytest", "-q", *how, "-p", "no:cacheprovider", "-m", "not deep", *paths, env=env)


if __name__ == "__main__":
    main(sys.argv[1:])
