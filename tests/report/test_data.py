"""The records of a report become JSON: dicts of their fields, lists, text and numbers."""

from __future__ import annotations

import json

from wengert.report.data import Cost, FileRow, LineRow, MemoryRow, ReportData


def test_a_report_is_written_as_json_and_read_back() -> None:
    line = LineRow(3, Cost(1e-6, 10.0, 80), Cost(), (0, 1))
    files = (FileRow("/tmp/model.py", 1, ("def f(x):", "", "    return x * x"), (line,)),)
    report = ReportData(
        "f", {"wengert": "1"}, Cost(1e-6, 10.0, 80), 0.5, files, (), (), (), (), MemoryRow(0, 0, -1, ()), (), (), (), ()
    )
    read = json.loads(json.dumps(report.as_json()))
    assert read["title"] == "f" and read["about"] == {"wengert": "1"} and read["memory"]["peak_kernel"] == -1
    assert read["files"][0]["lines"][0] == {
        "number": 3,
        "forward": {"time_s": 1e-6, "flops": 10.0, "moved_bytes": 80},
        "backward": {},
        "steps": [0, 1],
    }
