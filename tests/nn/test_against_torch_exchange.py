"""Models with PyTorch's weights compute what PyTorch computes, where it is installed; and the other way round."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import nn

torch = pytest.importorskip("torch")


def agree(ours: Any, theirs: Any, x: Any, names: dict[str, str] | None = None, of: Any = lambda y: y) -> None:
    """With their weights, values and the gradient of Σ sin y; and theirs with ours, drawn anew."""
    theirs.eval()
    like = wg.spec(x.shape, x.numpy().dtype)
    params, state = nn.from_torch(*ours.init(0, like), theirs.state_dict(), names)
    want = of(theirs(x))
    y, _ = ours.apply(params, state, x.numpy())
    np.testing.assert_allclose(y, want.detach().numpy(), 1e-4, 1e-5)

    torch.sum(torch.sin(want)).backward()
    gradient = wg.grad(lambda params: np.sum(np.sin(ours.apply(params, state, x.numpy())[0])))(params)
    zero_state = {key: {} for key in state}
    for name, array in nn.to_torch(gradient, zero_state, names).items():
        if "bias_hh" not in name:  # the same as bias_ih, where there is one bias
            np.testing.assert_allclose(array, theirs.get_parameter(name).grad.numpy(), 1e-3, 1e-4, err_msg=name)

    params, state = ours.init(1, like)
    theirs.load_state_dict({name: torch.tensor(array) for name, array in nn.to_torch(params, state, names).items()})
    np.testing.assert_allclose(ours.apply(params, state, x.numpy())[0], of(theirs(x)).detach().numpy(), 1e-4, 1e-5)


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)


def test_a_cnn_with_batch_norm() -> None:
    theirs = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3, stride=2, bias=False),
        torch.nn.BatchNorm2d(4),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.ConvTranspose2d(4, 3, 2, stride=2),
        torch.nn.Flatten(),
        torch.nn.Linear(108, 5),
    )
    ours = nn.Chain(
        nn.Conv((3, 3), 4, stride=2, bias=False),
        nn.BatchNorm(),
        nn.relu,
        nn.max_pool(2),
        nn.ConvTranspose(2, 3, stride=2),
        nn.flatten,
        nn.Dense(5),
    )
    x = torch.randn(6, 1, 14, 14)
    theirs.train()
    for _ in range(3):
        theirs(x + 1)  # so that running means are something
    agree(ours, theirs, x)


def test_a_model_with_other_names() -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.features = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3, groups=1, padding=1), torch.nn.GroupNorm(1, 3))
            self.classifier = torch.nn.Linear(48, 4)

        def forward(self, x: Any) -> Any:
            return self.classifier(torch.relu(self.features(x)).flatten(1))

    ours = nn.Chain(
        body=nn.Chain(nn.Conv(3, 3, padding=1), nn.GroupNorm(1)), relu=nn.relu, flatten=nn.flatten, head=nn.Dense(4)
    )
    names = {"layers.body": "features", "layers.head": "classifier"}
    agree(ours, Net(), torch.randn(2, 2, 4, 4), names)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_recurrent(kind: str, bidirectional: bool, layers: int) -> None:
    theirs = getattr(torch.nn, kind)(3, 5, layers, batch_first=True, bidirectional=bidirectional)
    ours = getattr(nn, kind)(5, layers=layers, bidirectional=bidirectional)
    agree(ours, theirs, torch.randn(2, 6, 3), of=lambda y: y[0])


def test_attention() -> None:
    class Self(torch.nn.MultiheadAttention):
        def forward(self, x: Any) -> Any:
            return super().forward(x, x, x)[0]

    agree(nn.MultiHeadAttention(2), Self(8, 2, batch_first=True), torch.randn(2, 5, 8))


@pytest.mark.parametrize("pre_norm", [False, True])
def test_a_transformer_block(pre_norm: bool) -> None:
    theirs = torch.nn.TransformerEncoderLayer(8, 2, 16, 0.0, "relu", batch_first=True, norm_first=pre_norm)
    agree(nn.TransformerBlock(2, 16, nn.relu, pre_norm=pre_norm), theirs, torch.randn(2, 5, 8))


def test_a_sequence_of_words() -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(7, 6)
            self.norm = torch.nn.LayerNorm(6)

        def forward(self, x: Any) -> Any:
            return self.norm(self.table(x))

    ours = nn.Chain(table=nn.Embedding(7, 6), norm=nn.LayerNorm())
    agree(ours, Net(), torch.tensor([[1, 2, 6], [0, 0, 3]]))
