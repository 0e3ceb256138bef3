"""Numbers in words, as tables have them."""

from __future__ import annotations

import pytest

from wengert.report.tables import amount, seconds, table


@pytest.mark.parametrize(
    ("time_s", "text"),
    [(2.5, "2.5 s"), (0.99996, "1 s"), (0.1234, "123 ms"), (1e-9, "1 ns"), (4.2e-10, "0.42 ns"), (12345.0, "12345 s")],
)
def test_seconds(time_s: float, text: str) -> None:
    assert seconds(time_s) == text


def test_amounts() -> None:
    assert [amount(n, "call") for n in (0, 1, 2, 1000)] == ["0 calls", "1 call", "2 calls", "1,000 calls"]


def test_a_table_without_rows_has_its_head() -> None:
    assert table(("a", "b"), []) == ["a  b"]
