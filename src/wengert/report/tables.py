"""Numbers in words, and tables of text."""

from __future__ import annotations

from collections.abc import Sequence

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def seconds(time_s: float) -> str:
    """Return a time with three digits: "1.25 ms".

    >>> seconds(0.00125), seconds(3.4e-8), seconds(0.0)
    ('1.25 ms', '34 ns', '0 s')
    """
    for unit, name in _UNITS:
        if abs(time_s) >= 0.9995 * unit:
            return f"{_short(time_s / unit)} {name}"
    return "0 s" if time_s == 0 else f"{_short(time_s / 1e-9)} ns"


def _short(x: float) -> str:
    if abs(x) >= 99.95:
        return f"{x:.0f}"
    return f"{x:.3g}"


def amount(n: int, name: str) -> str:
    """Return a number with its noun: "1 run", "3 runs".

    >>> amount(1, "run"), amount(12000, "run")
    ('1 run', '12,000 runs')
    """
    return f"{n:,} {name}{'' if n == 1 else 's'}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: int = 0) -> list[str]:
    """Return the lines of a table; the first ``right`` columns are set to the right.

    >>> print("\\n".join(table(("n", "name"), [("1", "a"), ("20", "b")], right=1)))
     n  name
     1  a
    20  b
    """
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return [
        "  ".join(
            [f"{x:>{n}}" if k < right else f"{x:<{n}}" for k, (x, n) in enumerate(zip(row, widths, strict=True))]
        ).rstrip()
        for row in (head, *rows)
    ]
