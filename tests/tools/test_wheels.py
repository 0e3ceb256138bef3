"""A wheel is refused that is not what its kind should be; and what is built elsewhere agrees with pyproject.toml."""

from __future__ import annotations

import io
import re
import tarfile
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from tools.wheels import KINDS, ROOT, check

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())
RECIPE = yaml.safe_load((ROOT / "packaging" / "conda-forge" / "recipe.yaml").read_text())
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())


# ---------------------------------------------------------------------------------------------- what a wheel should be


def sdist(folder: Path, modules: Sequence[str] = ("a.py", "b.py")) -> Path:
    """Make an sdist with these modules."""
    path = folder / "wengert-0.1.0.tar.gz"
    with tarfile.open(path, "w:gz") as file:
        for name in modules:
            file.addfile(tarfile.TarInfo(f"wengert-0.1.0/src/wengert/{name}"), io.BytesIO())
    return path


def wheel(folder: Path, name: str, files: Sequence[str]) -> Path:
    """Make a wheel with these files."""
    path = folder / name
    with zipfile.ZipFile(path, "w") as file:
        for entry in files:
            file.writestr(entry, "")
    return path


LINUX = "wengert-0.1.0-cp311-cp311-manylinux_2_35_x86_64.whl"
ARM = "wengert-0.1.0-cp311-cp311-manylinux_2_35_aarch64.whl"
PURE = "wengert-0.1.0-py3-none-any.whl"
SOURCES = ["wengert/a.py", "wengert/b.py", "wengert/_fast.pyi"]
COMPILED = [*SOURCES, "wengert/_fast.cpython-311-x86_64-linux-gnu.so"]


GOOD = [("linux", LINUX, COMPILED), ("aarch64", ARM, COMPILED), ("pure", PURE, SOURCES)]


@pytest.mark.parametrize(("kind", "name", "files"), GOOD)
def test_a_wheel_of_its_kind_is_taken(tmp_path: Path, kind: str, name: str, files: list[str]) -> None:
    assert kind in KINDS
    check(wheel(tmp_path, name, files), kind, sdist(tmp_path))


@pytest.mark.parametrize(
    ("kind", "name", "files", "problem"),
    [
        ("linux", LINUX, SOURCES, "its extension modules are"),
        ("linux", LINUX, [*COMPILED, "wengert/native/fast.cpp"], "it carries C\\+\\+: wengert/native/fast.cpp"),
        ("linux", LINUX, COMPILED[1:], "it lacks wengert/a.py and 0 other modules"),
        ("linux", LINUX.replace("manylinux_2_35", "linux"), COMPILED, "its name does not say what it runs on"),
        ("aarch64", LINUX, COMPILED, "its name does not say what it runs on"),
        ("pure", PURE, COMPILED, "its extension modules are"),
        ("pure", LINUX, SOURCES, "its name does not say what it runs on"),
    ],
)
def test_another_wheel_is_refused(tmp_path: Path, kind: str, name: str, files: list[str], problem: str) -> None:
    with pytest.raises(SystemExit, match=problem):
        check(wheel(tmp_path, name, files), kind, sdist(tmp_path))


# -------------------------------------------------------------------------------------- what is said in several places


def versions() -> list[str]:
    """The versions of Python that the classifiers name."""
    found = [re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", c) for c in PROJECT["project"]["classifiers"]]
    return [match[1] for match in found if match]


def test_wheels_are_built_for_the_versions_of_python_that_the_classifiers_name() -> None:
    built = PROJECT["tool"]["cibuildwheel"]["build"]
    assert built == [f"cp{version.replace('.', '')}-*" for version in versions()]
    assert PROJECT["project"]["requires-python"] == f">={versions()[0]}"


def test_the_workflow_builds_on_each_system_that_the_classifiers_name() -> None:
    runners = WORKFLOW["jobs"]["wheels"]["strategy"]["matrix"]["runner"]
    systems = {"ubuntu": "POSIX :: Linux", "macos": "MacOS", "windows": "Microsoft :: Windows"}
    built = {systems[runner.split("-")[0]] for runner in runners}
    named = {c.removeprefix("Operating System :: ") for c in PROJECT["project"]["classifiers"] if c.startswith("Oper")}
    assert built == named - {"OS Independent"}  # the pure wheel is


def test_only_a_tag_is_published_and_without_a_password() -> None:
    publish = WORKFLOW["jobs"]["publish"]
    assert publish["if"] == "startsWith(github.ref, 'refs/tags/v')"
    assert set(publish["needs"]) == set(WORKFLOW["jobs"]) - {"publish"}
    assert publish["permissions"] == {"id-token": "write"} and WORKFLOW["permissions"] == {"contents": "read"}
    assert "secrets." not in (ROOT / ".github" / "workflows" / "release.yml").read_text()


def bounds(requirements: Sequence[str]) -> set[str]:
    """The requirements in one spelling."""
    found = [Requirement(requirement.replace(" >=", ">=")) for requirement in requirements]
    return {f"{one.name}{one.specifier}" for one in found}


def test_the_recipe_of_conda_forge_asks_for_what_pyproject_asks_for() -> None:
    project = PROJECT["project"]
    run, host = RECIPE["requirements"]["run"], RECIPE["requirements"]["host"]
    native = project["optional-dependencies"]["native"]
    assert bounds(run) - {"python"} == bounds([*project["dependencies"], *native])
    assert bounds(host) - {"python", "pip"} == bounds(PROJECT["build-system"]["requires"])
    assert RECIPE["build"]["python"]["entry_points"] == [f"{k} = {v}" for k, v in project["scripts"].items()]
    assert RECIPE["about"]["license"] == project["license"] and RECIPE["about"]["summary"] == project["description"]


def test_the_citation_names_the_same_license_and_authors() -> None:
    project = PROJECT["project"]
    assert CITATION["license"] == project["license"] and CITATION["authors"] == project["authors"]
    assert CITATION["title"].endswith(project["description"][1:])
    assert {"cff-version", "message", "title", "authors"} <= set(CITATION)


def test_the_changelog_begins_with_what_is_not_released_and_has_the_version_of_the_recipe() -> None:
    titles = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert titles[0] == "Unreleased" and titles[1] == RECIPE["context"]["version"]
