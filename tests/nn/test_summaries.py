"""Tables of models: paths, shapes, counts that can be checked by hand."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert import nn


def test_a_table() -> None:
    model = nn.Chain(nn.Conv((3, 3), 4, nn.relu), nn.flatten, nn.Chain(nn.Dense(10), nn.relu))
    found = nn.summary(model, wg.spec((2, 1, 8, 8), "float32"))
    rows = {r.path: r for r in found.rows}
    assert list(rows) == ["layers.0", "layers.1", "layers.2.layers.0", "layers.2.layers.1", "layers.2"]
    assert rows["layers.0"].output == "float32[2, 4, 6, 6]" and rows["layers.0"].parameters == 4 * 9 + 4
    products = 2 * 2 * 4 * 36 * 9
    assert products <= rows["layers.0"].flops <= 1.3 * products
    assert rows["layers.2.layers.0"].parameters == 144 * 10 + 10 and rows["layers.2"].nbytes == 2 * 10 * 4
    assert found.parameters == 40 + 1450 and found.parameter_bytes == 4 * found.parameters
    assert "layers.2.layers.0" in str(found) and str(found).endswith(f"{found.flops:,.0f} flops")


def test_a_spec_has_the_dtype_of_the_parameters_and_an_array_its_own() -> None:
    model = nn.Chain(nn.Dense(4, nn.relu), nn.Dense(2))
    x = wg.spec((5, 3))
    found = nn.summary(model, x)
    assert [row.output for row in found.rows] == ["float32[5, 4]", "float32[5, 2]"]
    assert found.flops == nn.flops(model, *model.init(0, x), x)
    with pytest.warns(wg.PerformanceWarning, match="the input is float64, the parameters are float32"):
        assert nn.summary(model, np.ones((5, 3))).rows[1].output == "float64[5, 2]"
    assert nn.summary(nn.Chain(nn.Embedding(7, 3)), wg.spec((5,), "int64")).rows[0].output == "float32[5, 3]"


def test_several_inputs_and_outputs_state_and_plain_functions() -> None:
    found = nn.summary(nn.Chain(nn.Branch(np.sin, nn.BatchNorm()), nn.Parallel(np.cos, np.tan)), np.ones((4, 3), "f"))
    assert {r.path for r in found.rows} >= {"layers.0.layers.1", "layers.1.layers.0"}
    assert found.rows[2].output == "float32[4, 3], float32[4, 3]" and found.parameters == 6
    assert nn.summary(np.sin, np.ones(3)).rows == ()
