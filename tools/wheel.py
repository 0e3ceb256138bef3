"""Run the core tests of the wheel, installed in an environment of its own rather than read from this checkout.

    python3.13 tools/wheel.py               with the newest versions of what wengert needs
    python3.11 tools/wheel.py --oldest      with the lowest that pyproject.toml allows
    python3.13 tools/wheel.py tests/nn      of other tests
    python3.13 tools/wheel.py --prepare     no tests: build and install what they need

The environment is of the interpreter that runs this file, so that this imports the standard library alone. Wheels and
environments are kept in .venv-wheels; a wheel is built when what goes into it has changed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from time import monotonic

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / ".venv-wheels"
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"

CORE = ("tests/tracing/test_*.py", "tests/ad", "tests/test_by_hand.py", "tests/report/test_page.py")
"""The tests of what depends most on the versions of Python and NumPy: how a function is recorded, and derivatives; and
of the report's page, whose parts are files beside the code."""


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


def _run(step: str, *command: object, env: dict[str, str] | None = None) -> None:
    """Run a command; say how long it took. A failure ends this process with the same code."""
    started = monotonic()
    code = subprocess.run([str(c) for c in command], cwd=ROOT, env=env, check=False).returncode
    print(f"[wheel {VERSION}] {step}: {monotonic() - started:.0f} s", flush=True)
    if code:
        raise SystemExit(code)


def _stamp() -> str:
    """What tells the wheels of two states of the sources apart."""
    digest = sha256()
    files = [
        p
        for p in (ROOT / "src").rglob("*")
        if p.is_file() and p.suffix in (".py", ".pyi", ".cpp", ".h", ".typed", ".html", ".css", ".js")
    ]
    for file in sorted([*files, ROOT / "CMakeLists.txt", ROOT / "pyproject.toml"]):
        digest.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def built(python: Path) -> Path:
    """The wheel of the present sources, built by the pip of an environment."""
    folder = KEPT / f"wheel-{VERSION}-{_stamp()}"
    if not (folder / "complete").exists():
        for old in KEPT.glob(f"wheel-{VERSION}-*"):
            rmtree(old)
        _run("built", python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT)
        (folder / "complete").touch()
    return next(folder.glob("*.whl"))


def installed(oldest: bool) -> Path:
    """The interpreter of an environment that has the wheel and what its tests need."""
    environment = KEPT / f"{VERSION}{'-oldest' if oldest else ''}"
    python = environment / "bin" / "python"
    pip = [python, "-m", "pip", "install", "-q"]
    if not python.exists():
        _run("environment", sys.executable, "-m", "venv", environment)
        _run("pip", *pip, "--upgrade", "pip>=25.1")
    wheel, mark = built(python), environment / "has"
    if mark.exists() and mark.read_text() == str(wheel):
        return python
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    native = project["optional-dependencies"]["native"]
    versions = lowest([*project["dependencies"], *native]) if oldest else []
    _run("wheel", *pip, "--force-reinstall", "--no-deps", wheel)
    _run("what it needs", *pip, "--group", "core-test", wheel, *native, *versions)
    mark.write_text(str(wheel))
    return python


def main(arguments: list[str]) -> None:
    chosen = [a for a in arguments if not a.startswith("--")]
    paths = chosen or [path.relative_to(ROOT) for pattern in CORE for path in sorted(ROOT.glob(pattern))]
    python = installed("--oldest" in arguments)
    where = subprocess.run(
        [python, "-c", "import wengert; print(wengert.__file__)"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    if not Path(where).is_relative_to(python.parents[1]):
        raise SystemExit(f"the tests would run {where}, and not the installed wheel")
    if "--prepare" in arguments:
        return
    env = {**os.environ, "HYPOTHESIS_PROFILE": "few"}
    _run(
        "tests", python, "-m", "pytest", "-q", "-n", "auto", "-p", "no:cacheprovider", "-m", "not deep", *paths, env=env
    )


if __name__ == "__main__":
    main(sys.argv[1:])
