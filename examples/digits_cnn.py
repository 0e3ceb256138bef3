"""Train a small convolutional network on handwritten digits, and look at what it gets wrong.

The digits are real ones, 1,797 pictures of 8 x 8 pixels that come with scikit-learn (Alpaydin & Kaynak 1998).  The
network is a chain of layers; a step of training is one compiled program, which writes the new parameters over the old
ones.

    python examples/digits_cnn.py [--epochs 30]
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from sklearn.datasets import load_digits

import wengert as wg
from wengert import nn, optimize

HERE = Path(__file__).parent
SEED = 0
BATCH = 64

MODEL = nn.Chain(
    nn.Conv((3, 3), 16, nn.relu, padding="same"),
    nn.Conv((3, 3), 32, nn.relu, padding="same"),
    nn.max_pool(2),
    nn.Conv((3, 3), 64, nn.relu, padding="same"),
    nn.max_pool(2),
    nn.flatten,
    nn.Dropout(0.4),
    nn.Dense(10),
)


def digits():
    """Return pictures, float32[n, 1, 8, 8] from 0 to 1, and digits: three quarters to train with, the rest to test."""
    found = load_digits()
    order = np.random.default_rng(SEED).permutation(len(found.images))
    x = (found.images[order, None] / 16).astype(np.float32)
    y = found.target[order].astype(np.int64)
    cut = 3 * len(x) // 4
    return (x[:cut], y[:cut]), (x[cut:], y[cut:])


def train(epochs, progress=True):
    training, testing = digits()
    params, state = MODEL.init(SEED, training[0])
    steps = epochs * -(-len(training[0]) // BATCH)
    return nn.fit(
        MODEL,
        params,
        state,
        training,
        optimiser=optimize.adam(optimize.schedules.one_cycle(4e-3, steps)),
        epochs=epochs,
        batch_size=BATCH,
        seed=SEED,
        validation=testing,
        metrics={"accuracy": nn.accuracy},
        progress=progress,
    )


def draw(done, x, y, path):
    """Draw how losses and accuracy went, and the pictures that are taken for other digits."""
    logits, _ = MODEL.apply(done.params, done.state, x)
    taken = logits.argmax(1)
    wrong = np.flatnonzero(taken != y)[:12]
    figure = Figure(figsize=(10, 5.4), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=[3, 1.4])
    left, right = above.subplots(1, 2)
    epochs = [row["epoch"] + 1 for row in done.history]
    left.semilogy(epochs, [row["loss"] for row in done.history], label="training")
    left.semilogy(epochs, [row["validation loss"] for row in done.history], label="test")
    left.set(xlabel="epoch", ylabel="cross-entropy")
    left.legend(frameon=False)
    right.plot(epochs, [100 * row["accuracy"] for row in done.history], color="C1")
    right.set(xlabel="epoch", ylabel="right, %", ylim=(90, 100.5))
    below.suptitle(f"{np.sum(taken != y)} of {len(y)} test pictures are taken for another digit", fontsize=10)
    for axes, k in zip(below.subplots(1, 12, squeeze=False)[0], wrong, strict=False):
        axes.imshow(x[k, 0], cmap="gray_r")
        axes.set_title(f"{y[k]}, not {taken[k]}", fontsize=8)
    for axes in below.axes:
        axes.axis("off")
    figure.savefig(path, dpi=150)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--epochs", type=int, default=30)
    options.add_argument("--picture", type=Path, default=HERE / "digits_cnn.png")
    chosen = options.parse_args()
    console = Console()
    console.print(nn.summary(MODEL, wg.spec((BATCH, 1, 8, 8), "float32")))
    done = train(chosen.epochs)
    _, (x, y) = digits()
    draw(done, x, y, chosen.picture)
    console.print(
        f"[bold]{done.history[-1]['accuracy']:.2%}[/bold] of the test pictures are read right: {chosen.picture}"
    )


if __name__ == "__main__":
    main()
