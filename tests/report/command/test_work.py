"""Results become JSON, whatever they are."""

from __future__ import annotations

import json

import numpy as np

from wengert.report.command.work import plain


def test_results_are_json() -> None:
    result = {"a": np.array([1.0, np.nan]), 2: (np.float64(np.inf), True, None, 1 + 2j, np.int64(3)), "f": plain}
    text = json.dumps(plain(result), allow_nan=False)
    read = json.loads(text)
    assert read["a"] == [1.0, "nan"] and read["2"] == ["inf", True, None, {"real": 1.0, "imag": 2.0}, 3]
    assert read["f"].startswith("<function plain")
