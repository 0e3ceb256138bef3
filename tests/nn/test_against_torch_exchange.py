"""Models with PyTorch's weights compute what PyTorch computes, where it is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wengert import nn

torch = pytest.importorskip("torch")


def test_a_cnn_with_batch_norm() -> None:
    torch.manual_seed(0)
    theirs = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3, stride=2),
        torch.nn.BatchNorm2d(4),
        torch.nn.ReLU(),
        torch.nn.ConvTranspose2d(4, 3, 2, stride=2),
        torch.nn.Flatten(),
        torch.nn.Linear(108, 5),
    )
    x = torch.randn(6, 1, 8, 8)
    for _ in range(3):
        theirs(x + 1)  # so that running means are something
    theirs.eval()
    shapes: dict[str, Any] = {name: tuple(t.shape) for name, t in theirs.state_dict().items()}
    blank = lambda name: np.zeros(shapes[name], np.float32)
    params = {
        "layers": {
            "0": {"w": blank("0.weight"), "b": blank("0.bias")},
            "1": {"scale": blank("1.weight"), "bias": blank("1.bias")},
            "3": {"w": blank("3.weight"), "b": blank("3.bias")},
            "5": {"w": blank("5.weight"), "b": blank("5.bias")},
        }
    }
    state = {"layers": {"1": {"mean": blank("1.running_mean"), "var": blank("1.running_var")}}}
    params, state = nn.from_torch(params, state, theirs.state_dict())

    p, s = params["layers"], state["layers"]["1"]
    y = nn.conv(x.numpy(), **p["0"], stride=2)
    y = (y - s["mean"][:, None, None]) / np.sqrt(s["var"][:, None, None] + 1e-5)
    y = nn.relu(y * p["1"]["scale"][:, None, None] + p["1"]["bias"][:, None, None])
    y = nn.flatten(nn.conv_transpose(y, **p["3"], stride=2)) @ p["5"]["w"].T + p["5"]["b"]
    np.testing.assert_allclose(y, theirs(x).detach().numpy(), 1e-4, 1e-5)

    again = {name: torch.tensor(array) for name, array in nn.to_torch(params, state).items()}
    before = theirs(x).detach().numpy()
    theirs.load_state_dict(again)
    np.testing.assert_array_equal(theirs(x).detach().numpy(), before)
