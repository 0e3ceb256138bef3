"""The package of hosts: a module is imported when it is asked for, and none imports its library by that."""

from __future__ import annotations

import subprocess
import sys

import pytest

import wengert as wg
from wengert import hosts


def test_importing_the_modules_imports_no_library() -> None:
    script = (
        "import sys, wengert as wg\n"
        "before = set(sys.modules)\n"
        "assert not any(name.startswith('wengert.hosts') for name in before)\n"
        "for name in wg.hosts.__all__: assert getattr(wg.hosts, name).__name__ == f'wengert.hosts.{name}'\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names)\n"
        "assert new <= {'wengert'}, new\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_host_that_there_is_not_is_named() -> None:
    with pytest.raises(wg.errors.UnknownNameError, match=r"'wengert\.hosts' has no attribute 'fortran'"):
        _ = hosts.fortran
