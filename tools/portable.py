"""Compile the C++ as other compilers and other systems would: without a warning, and without linking it.

    python -m tools.portable               all that can be asked here
    python -m tools.portable gcc clang     these

`gcc`, `clang`
    The compilers of this machine.
`macos`, `windows`, `msvc`
    Clang with the headers of the other system, which the package ziglang has; `msvc` is Windows in the dialect of
    Microsoft's compiler. NumPy's headers are those of its wheel for the system. Python's are this machine's, with what
    is different there put right by `portable.h`.

That a file compiles says that nothing in it is of one system alone. It does not say that it works there.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import NamedTuple

import nanobind
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / ".venv-wheels" / "portable"
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", "-Wno-cast-function-type"]


class System(NamedTuple):
    """How the C++ is compiled for a system: by which compiler, with which options, and with which wheel's headers."""

    compiler: str
    options: tuple[str, ...] = ()
    platform: str = ""


MACOS = ("-target", "aarch64-macos")
WINDOWS = ("-target", "x86_64-windows-gnu", "-include", str(ROOT / "tools" / "portable.h"))
# Its headers are not here: those of MinGW are read, which want a compiler that says that it is like GCC.
DIALECT = ("-fms-extensions", "-fms-compatibility", "-fms-compatibility-version=19.40", "-fgnuc-version=13.1")
SYSTEMS = {
    "gcc": System("g++"),
    "clang": System("clang++"),
    "macos": System("zig", MACOS, "macosx_11_0_arm64"),
    "windows": System("zig", WINDOWS, "win_amd64"),
    "msvc": System("zig", (*WINDOWS, *DIALECT, "-U_MSC_VER"), "win_amd64"),
}


def command(system: System) -> list[str]:
    """The command of a compiler; [] if it is not here."""
    if system.compiler != "zig":
        found = which(system.compiler)
        return [found] if found else []
    spec = find_spec("ziglang")
    return [str(Path(folder) / "zig") for folder in (spec.submodule_search_locations or [])] + ["c++"] if spec else []


def numpy_headers(platform: str) -> Path:
    """The folder of NumPy's headers for a platform."""
    if not platform:
        return Path(np.get_include())
    folder = KEPT / platform
    if not folder.exists():
        which_wheel = ["--platform", platform, "--only-binary=:all:", "--no-deps", "--target", str(folder)]
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", *which_wheel, "numpy"], check=True)
    return folder / "numpy" / "_core" / "include"


def sources() -> list[Path]:
    """The files that are compiled."""
    return sorted((ROOT / "src" / "wengert").rglob("*.cpp"))


def compile_for(name: str, jobs: int = 2) -> list[str]:
    """Compile all files for a system, and return what the compiler says of those that fail."""
    system = SYSTEMS[name]
    python, binding = sysconfig.get_path("include"), Path(nanobind.include_dir())
    headers = [word for path in (python, numpy_headers(system.platform), binding) for word in ("-isystem", str(path))]
    start = [*command(system), *system.options, "-std=c++20", "-O0", "-c", *WARNINGS, *headers]

    def compiled(source: Path) -> str:
        with TemporaryDirectory() as folder:
            made = subprocess.run(
                [*start, str(source), "-o", str(Path(folder) / "made.o")], capture_output=True, text=True, check=False
            )
        return made.stderr if made.returncode else ""

    with ThreadPoolExecutor(jobs) as pool:
        return [said for said in pool.map(compiled, sources()) if said]


def main(arguments: list[str]) -> None:
    failed = False
    for name in arguments or SYSTEMS:
        if not command(SYSTEMS[name]):
            print(f"[portable] {name}: not asked, {SYSTEMS[name].compiler} is not here", flush=True)
            continue
        said = compile_for(name)
        print(*said, sep="\n", end="")
        print(f"[portable] {name}: {len(sources()) - len(said)} files compile, {len(said)} do not", flush=True)
        failed = failed or bool(said)
    raise SystemExit(failed)


if __name__ == "__main__":
    main(sys.argv[1:])
