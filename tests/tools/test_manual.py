"""The manual says when each page was reviewed, and its reference has every public name."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path
from typing import Any

import pytest

import wengert as wg
from tools import manual

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_every_page_says_when_it_was_reviewed(page: Path) -> None:
    reviewed = manual.front_matter(page.read_text(encoding="utf-8")).get("reviewed", "")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", reviewed), "begin the page with ---, reviewed: YEAR-MONTH-DAY and ---"


def test_the_reference_has_every_public_name() -> None:
    """The groups are read from the source of ``__all__``, where a comment is a title."""
    for name in manual.MODULES:
        module = importlib.import_module(name)
        listed = [n for names in manual.groups(module).values() for n in names]
        assert len(listed) == len(set(listed)) > 0
        if hasattr(module, "__all__"):
            beside = [n for (of, _), names in manual.BESIDE_ALL.items() if of == name for n in names]
            assert set(listed) == {*module.__all__, *beside}
    written = "\n".join(manual.pages("2026-11-28").values())
    for name in wg.__all__:
        if name not in ("config", "edit", "errors", "expect", "ops", "tree"):  # modules
            assert re.search(rf":: wengert\.{name}\n", written)


def test_of_a_module_without_a_list_what_it_defines_is_public(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manual, "_LIST", "never there")
    for module in wg.errors, wg.config:
        monkeypatch.delattr(module, "__all__")
    [errors] = manual.groups(wg.errors).values()
    assert "ShapeError" in errors and "linecache" not in errors and "TYPE_CHECKING" not in errors
    [switches] = manual.groups(wg.config).values()
    assert "max_paths" in switches and "os" not in switches and "_count" not in switches


def test_names_that_the_manual_does_not_mention() -> None:
    assert manual.missing({"wengert.grad"}) and "wengert.grad" not in manual.missing({"wengert.grad"})


def test_sections_of_docstrings_become_headings_and_lists() -> None:
    lines = ["Return x.", "", "Parameters", "----------", "x, y : numbers,", "    not zero.", "", "Raises", "------"]
    assert manual.sections(lines) == [
        "Return x.",
        "",
        ".. rubric:: Parameters",
        "",
        "**x**, **y**",
        "    numbers,",
        "    not zero.",
        "",
        ".. rubric:: Raises",
        "",
    ]


@pytest.mark.parametrize("page", sorted((DOCS / "coming-from").glob("[!i]*.md")), ids=lambda page: page.stem)
def test_what_one_writes_in_place_of_another_library_runs(page: Path) -> None:
    """The second column of each table is code, run in the order of the page, after its examples."""
    text = page.read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(text):
        exec(example.source, names)
    rows = [line.replace("\\|", "¦").split("|") for line in text.splitlines() if line.startswith("| ")]
    cells = [row[2] for row in rows if row[2].strip() != "you write"]
    assert len(cells) > 10
    for cell in cells:
        for code in re.findall(r"`([^`]+)`", cell):
            if not code.startswith("@"):  # a decorator of an example below
                exec(code.replace("¦", "|"), names)


def test_every_error_has_an_entry() -> None:
    page = (DOCS / "errors.md").read_text(encoding="utf-8")
    names = wg.errors.__all__
    for name in names:
        if isinstance(getattr(wg.errors, name), type):
            assert f"(error-{name})=\n### {name}\n" in page


def test_the_messages_that_one_looks_up_are_those_that_are_raised() -> None:
    files = (Path(wg.__file__).parent).rglob("*.py")
    source = re.sub(r'"\s*\n\s*f?"', "", "\n".join(path.read_text(encoding="utf-8") for path in files))
    page = (DOCS / "limits.md").read_text(encoding="utf-8").split("## By message")[1]
    phrases = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")]
    assert len(phrases) > 10
    for phrase in phrases:
        assert phrase in source, f"no message says {phrase!r} any more"
