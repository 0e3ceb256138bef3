"""The folder of compiled kernels is where each system has what can be made again."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from wengert import config
from wengert.codegen.cache_folder import cache_folder, users_folder

users_folder_now = users_folder.__wrapped__
HOME = Path("/home/ada")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: HOME)


@pytest.mark.parametrize(
    ("system", "variables", "folder"),
    [
        ("linux", {}, HOME / ".cache" / "wengert"),
        ("linux", {"XDG_CACHE_HOME": "/scratch"}, Path("/scratch/wengert")),
        ("linux", {"XDG_CACHE_HOME": " "}, HOME / ".cache" / "wengert"),
        ("darwin", {}, HOME / "Library" / "Caches" / "wengert"),
        ("win32", {"LOCALAPPDATA": "/local"}, Path("/local/wengert/wengert/Cache")),
        ("win32", {}, HOME / "AppData" / "Local" / "wengert" / "wengert" / "Cache"),
    ],
)
def test_the_users_folder(
    monkeypatch: pytest.MonkeyPatch, system: str, variables: dict[str, str], folder: Path
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert users_folder_now() == folder


def test_a_folder_that_is_named_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "cache_dir", "/kernels")
    assert cache_folder() == Path("/kernels")
    monkeypatch.setattr(config, "cache_dir", "")
    assert cache_folder() is None
    monkeypatch.setattr(config, "cache_dir", None)
    assert cache_folder() == users_folder()
