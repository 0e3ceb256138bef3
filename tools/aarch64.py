"""64-bit ARM processors under Linux, on a machine that is none: its compiler, its Python, and an emulator to run both.

Debian has all three: a cross compiler, the files of its packages for that processor, and QEMU. The files are unpacked
into .venv-wheels, and nothing of them is installed; only one Python of each release of Debian is there.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from shutil import copytree, which

RELEASES = {"3.11": "bookworm", "3.13": "trixie"}
"""The release of Debian that has a Python, by its version."""
COMPILER, UNPACKER, EMULATOR = "aarch64-linux-gnu-g++", "mmdebstrap", "qemu-aarch64-static"
PACKAGES = {COMPILER: "g++-aarch64-linux-gnu", UNPACKER: "mmdebstrap", EMULATOR: "qemu-user-static"}
TRIPLE = "aarch64-linux-gnu"
TAGS = [f"manylinux_{version}_aarch64" for version in ("2_36", "2_35", "2_34", "2_28", "2_27", "2_26", "2_17")]
"""The tags of wheels that the Python of these releases installs."""


def lacking(version: str) -> str:
    """Say what is missing here for wheels of a version of Python, or ""."""
    missing = [package for command, package in PACKAGES.items() if which(command) is None]
    if sys.platform != "linux" or version not in RELEASES:
        return f"it is built under Linux, by Python {' or '.join(RELEASES)}"
    return f"this machine lacks Debian's {', '.join(missing)}" if missing else ""


def root(kept: Path, version: str) -> Path:
    """The folder with the files of Debian's packages: a Python, its headers, and the libraries that it needs."""
    folder = kept / f"aarch64-{version}"
    mark = folder / "complete"
    if not mark.exists():
        packages = [f"python{version}-minimal", f"libpython{version}-stdlib", f"libpython{version}-dev", "libstdc++6"]
        packages += ["libgcc-s1", "libc6", "zlib1g", "libffi8", "libexpat1", "libsqlite3-0", "liblzma5", "libbz2-1.0"]
        subprocess.run(
            [UNPACKER, "--quiet", "--arch=arm64", "--variant=extract", f"--include={','.join(packages)}"]
            + [RELEASES[version], str(folder)],
            check=True,
        )
        mark.touch()
    return folder


def install(pip: list[str], version: str, folder: Path, *requirements: str) -> None:
    """Install the packages of the other processor into a folder. ``pip`` is the command of this machine's own."""
    tags = [word for tag in TAGS for word in ("--platform", tag)]
    which_python = ["--python-version", version, "--implementation", "cp", "--only-binary=:all:"]
    command = [*pip, "install", "-q", "--upgrade", "--target", str(folder), *which_python, *tags, *requirements]
    subprocess.run(command, check=True)


def cross(kept: Path, version: str, pip: list[str]) -> tuple[list[str], dict[str, str]]:
    """The options of pip and the environment that make it build for the other processor."""
    folder = root(kept, version)
    headers = folder / "headers"
    if not headers.exists():  # Python's alone: beside them the compiler would find another C library's
        copytree(folder / "usr" / "include" / f"python{version}", headers)
        copytree(folder / "usr" / "include" / TRIPLE / f"python{version}", headers / TRIPLE / f"python{version}")
    numpy = folder / "numpy"
    if not numpy.exists():
        install(pip, version, numpy, "--no-deps", "numpy")
    defined = {
        "CMAKE_SYSTEM_NAME": "Linux",
        "CMAKE_SYSTEM_PROCESSOR": "aarch64",
        "CMAKE_CXX_COMPILER": COMPILER,
        "CMAKE_STRIP": f"{TRIPLE}-strip",
        "Python_INCLUDE_DIR": headers,
        "Python_NumPy_INCLUDE_DIR": numpy / "numpy" / "_core" / "include",
    }
    options = [word for name, value in defined.items() for word in ("-C", f"cmake.define.{name}={value}")]
    suffix = f".cpython-{version.replace('.', '')}-{TRIPLE}.so"
    return options, {"_PYTHON_HOST_PLATFORM": "linux-aarch64", "SETUPTOOLS_EXT_SUFFIX": suffix}


def python(kept: Path, version: str, pip: list[str], *requirements: str) -> Path:
    """A Python of the other processor, which QEMU runs, and which has the packages that are named."""
    folder = root(kept, version)
    site, command = folder / "site-packages", folder / "python"
    install(pip, version, site, *requirements)
    lines = [
        "#!/bin/sh",
        f"export PYTHONPATH={site}",
        f'exec {which(EMULATOR)} -L {folder} {folder}/usr/bin/python{version} "$@"',
    ]
    command.write_text("\n".join(lines) + "\n")
    command.chmod(0o755)
    # So that a process that a test starts is emulated too.
    (site / "sitecustomize.py").write_text(f"import sys\n\nsys.executable = {str(command)!r}\n")
    return command
