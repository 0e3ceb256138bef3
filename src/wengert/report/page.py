"""The report as one HTML file that needs nothing else: no network, no libraries, no fonts.

The page's parts are the files in ``html/``: a template, a style sheet and scripts, one a concern. :func:`page` puts
them into one file, with the report as JSON. Lists of records are written as columns, which are short: each name
stands there once, and what is equal in all rows too.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from itertools import chain
from math import isfinite
from typing import Any

from wengert.report.data import ReportData

SCRIPTS = (
    "units",
    "packed",
    "report",
    "elements",
    "state",
    "list",
    "shared",
    "overview",
    "source",
    "tape",
    "layout",
    "nodes",
    "graph",
    "kernels",
    "memory",
    "values",
    "decisions",
    "inspector",
    "main",
)
"""The scripts of the page in the order in which they are joined: each uses those before it."""


def page(report: ReportData) -> str:
    """Return a report as one HTML file.

    Example::

        from pathlib import Path

        Path("report.html").write_text(page(wg.explain(f)(x)), encoding="utf-8")

    Whatever stands in names and sources is shown as text: a policy in the page allows its own script alone.
    """
    style, script = _style(), _script()
    # A name with "<" in it cannot end the element: < is \u003c in JSON, and JSON is ASCII.
    data = json.dumps(packed(report), separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    parts = {
        "title": escape(report.title).encode("ascii", "xmlcharrefreplace").decode("ascii"),
        "policy": f"default-src 'none'; img-src data:; style-src {_digest(style)}; script-src {_digest(script)}",
        "style": style,
        "script": script,
        "data": data,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _part("page.html"))


def fragment(report: ReportData, *, height: int = 640) -> str:
    """Return a report as an element for a notebook's output: a frame with a page of its own, so that neither the
    notebook's styles change the report nor the report's the notebook."""
    text = page(report).replace("&", "&amp;").replace('"', "&quot;")
    title = escape(f"Report of {report.title}")
    return (
        f'<iframe title="{title}" sandbox="allow-scripts" srcdoc="{text}" style="width: 100%; height: {height}px; '
        'border: 1px solid #8888; border-radius: 6px; resize: vertical"></iframe>'
    )


def packed(x: Any) -> Any:
    """Return a record, or a sequence, for JSON; ``html/packed.js`` reads it.

    A record is a dict of its fields. A sequence is a list, or a dict whose ``"$"`` says how it is written:
    ``rows`` has a column a field, ``lists`` has the elements of all lists and how many each has, ``words`` has
    different texts and which one stands where, ``same`` one element for all.
    """
    if isinstance(x, dict):
        return {str(k): packed(y) for k, y in x.items()}
    if not isinstance(x, (tuple, list)):
        return _short(x)
    if hasattr(x, "_fields"):
        return {field: packed(y) for field, y in zip(x._fields, x, strict=True)}  # pyright: ignore[reportAttributeAccessIssue]
    return _column(x)


def _column(xs: Any) -> Any:
    if not xs:
        return []
    first = xs[0]
    if hasattr(first, "_fields"):
        columns = zip(first._fields, zip(*xs, strict=True), strict=True)
        return {"$": "rows", "n": len(xs), "of": {field: _column(column) for field, column in columns}}
    if isinstance(first, (tuple, list)):
        return {"$": "lists", "n": _column([len(x) for x in xs]), "of": _column(list(chain.from_iterable(xs)))}
    if len(xs) > 3 and all(x == first and type(x) is type(first) for x in xs):  # ends at the first other one
        return {"$": "same", "n": len(xs), "is": _short(first)}
    if isinstance(first, str):
        index = {text: i for i, text in enumerate(dict.fromkeys(xs))}
        if 2 * len(index) < len(xs):
            return {"$": "words", "of": list(index), "at": [index[x] for x in xs]}
        return list(xs)
    return [_short(x) for x in xs]


def _short(x: Any) -> Any:
    """Return a number with as many digits as a page shows; JSON has no infinity and no NaN."""
    if type(x) is not float:
        return x
    return float(f"{x:.5g}") if isfinite(x) else None


@cache
def _part(name: str) -> str:
    return files("wengert.report").joinpath("html", name).read_text(encoding="utf-8")


@cache
def _style() -> str:
    return _part("page.css")


@cache
def _script() -> str:
    body = "\n".join(f"// ---- {name}.js\n{_part(name + '.js')}" for name in SCRIPTS)
    return f'"use strict";\n(() => {{\n{body}\n}})();\n'


@cache
def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
