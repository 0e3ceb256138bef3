"""Wheels carry the code of the sources, without its comments."""

from __future__ import annotations

from pathlib import Path
from tokenize import COMMENT, generate_tokens

import pytest

import wengert
from tools import packed

SOURCES = sorted(Path(wengert.__file__).parent.rglob("*.py"))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = 1  # one\n", "x = 1\n"),
        ("# alone\nx = 1\n", "\nx = 1\n"),
        ("    # indented\nx = '#'  # text", "\nx = '#'"),
        ('x = """\n# of a text\n"""\n', 'x = """\n# of a text\n"""\n'),
        ("f(  # of f\n    1,  # é\n)\r\n", "f(\n    1,\n)\r\n"),
    ],
)
def test_comments_go_and_all_else_stays_where_it_is(source: str, expected: str) -> None:
    assert packed.without_comments(source) == expected


@pytest.mark.sampled(40, "a whole package of files")
@pytest.mark.parametrize("file", SOURCES, ids=lambda file: file.relative_to(SOURCES[0].parent).as_posix())
def test_each_file_is_the_same_code(file: Path) -> None:
    result = packed.without_comments(file.read_text(encoding="utf-8"))
    assert all(token.type != COMMENT for token in generate_tokens(iter(result.splitlines(keepends=True)).__next__))


def test_the_record_has_the_digests_of_what_is_in_the_wheel() -> None:
    record = "a/b.py,sha256=old,10\na/c.so,sha256=other,3\na.dist-info/RECORD,,\n"
    found = packed.recorded(record, {"a/b.py": b"x = 1\n"})
    assert found.splitlines()[1:] == record.splitlines()[1:]
    assert found.splitlines()[0] == "a/b.py,sha256=nia_NpkRxFwkPGhBR7I_yeHc_PJX0pmhxjIBam_NM_Q,6"
