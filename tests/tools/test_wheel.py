"""The lowest versions that are tested are those that pyproject.toml names, and the core tests are there."""

from __future__ import annotations

import tomllib

import pytest

from tools.wheel import CORE, ROOT, lowest


def test_the_lowest_versions_are_the_bounds() -> None:
    assert lowest(["numpy>=2.3", "a-b.c>=1.0.1"]) == ["numpy==2.3", "a-b.c==1.0.1"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert len(lowest(project["dependencies"])) == len(project["dependencies"])


@pytest.mark.parametrize("requirement", ["numpy", "numpy<3", "numpy>=2,<3", "numpy~=2.3"])
def test_a_requirement_without_a_lowest_version_is_refused(requirement: str) -> None:
    with pytest.raises(ValueError, match="write name>=version"):
        lowest([requirement])


def test_each_pattern_finds_core_tests() -> None:
    assert all(list(ROOT.glob(pattern)) for pattern in CORE)
