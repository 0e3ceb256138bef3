"""Search for small networks that read handwritten digits: how few operations, and how little time, will do?

Each candidate, some convolutions and a dense layer or two, is trained for a few epochs in a process of its own; the
next ones are small changes of good ones.  Everything tried is in a journal on disk: end the search whenever you like
and start it again, or start it twice at once, and it goes on.

    python examples/search_digits.py [--evaluations 60] [--workers 2] [--journal digits.journal]
"""

import argparse
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits

import wengert as wg
from wengert import nn, optimize
from wengert.graph import search

HERE = Path(__file__).parent

ACTIVATIONS = {"relu": nn.relu, "tanh": np.tanh, "gelu": nn.gelu, "swish": nn.swish}

SPACE = search.Space(
    {
        "convolutions": search.Integer(0, 2),
        "channels": search.Each("convolutions", search.Choice(4, 8, 16, 32)),
        "kernels": search.Each("convolutions", search.Choice(3, 5)),
        "pools": search.Choice(False, True),
        "dense": search.Integer(0, 2),
        "widths": search.Each("dense", search.Integer(8, 128, log=True)),
        "activation": search.Choice(*ACTIVATIONS),
        "rate": search.Float(1e-3, 2e-2, log=True),
    }
)


def digits():
    """Pictures and digits, four fifths to train with and the rest to judge by."""
    found = load_digits()
    order = np.random.default_rng(0).permutation(len(found.images))
    x, y = (found.images[order, None] / 16).astype(np.float32), found.target[order].astype(np.int64)
    cut = 4 * len(x) // 5
    return (x[:cut], y[:cut]), (x[cut:], y[cut:])


def network(c):
    act = ACTIVATIONS[c["activation"]]
    convolutions = [
        nn.Conv((k, k), width, act, padding="same") for width, k in zip(c["channels"], c["kernels"], strict=True)
    ]
    pools = [nn.max_pool(2)] if c["pools"] and c["convolutions"] else []
    return nn.Chain(*convolutions, *pools, nn.flatten, *[nn.Dense(width, act) for width in c["widths"]], nn.Dense(10))


def latency(model, params, state):
    """Seconds in which it reads one picture: the least of many."""
    read = wg.jit(lambda x: model.apply(params, state, x)[0])
    picture, times = np.zeros((1, 1, 8, 8), np.float32), []
    for _ in range(200):
        start = time.perf_counter()
        read(picture)
        times.append(time.perf_counter() - start)
    return min(times)


def evaluate(candidate, seed, epochs=6):
    """Train one, and say how often it errs and what a picture costs it."""
    training, testing = digits()
    model = network(candidate)
    params, state = model.init(seed, training[0])
    done = nn.fit(
        model,
        params,
        state,
        training,
        optimiser=optimize.adam(candidate["rate"]),
        epochs=epochs,
        batch_size=64,
        seed=seed,
        validation=testing,
        metrics={"accuracy": nn.accuracy},
        progress=False,
    )
    one = wg.spec((1, 1, 8, 8))
    last = done.history[-1]
    return {
        "loss": last["validation loss"],
        "error": 1 - last["accuracy"],
        "flops": nn.flops(model, params, state, one),
        "parameters": nn.count(params),
        "latency": latency(model, done.params, done.state),
    }


def words(candidate):
    convolutions = [f"{c}@{k}x{k}" for c, k in zip(candidate["channels"], candidate["kernels"], strict=True)]
    parts = [*convolutions, *(["pool"] if candidate["pools"] and convolutions else []), *map(str, candidate["widths"])]
    return f"{' '.join(parts) or 'nothing between'}, {candidate['activation']}"


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--evaluations", type=int, default=60)
    options.add_argument("--workers", type=int, default=None, help="processes; as many as processors")
    options.add_argument("--journal", type=Path, default=HERE / "search_digits.journal")
    options.add_argument("--picture", type=Path, default=HERE / "search_digits.png")
    chosen = options.parse_args()
    found = search.search(
        SPACE,
        evaluate,
        method=search.Evolution(population=16, tournament=5, lag=8),
        evaluations=chosen.evaluations,
        workers=chosen.workers,
        journal=chosen.journal,
    )
    table = Table("network", "errors", "operations", "a picture", "parameters", title="none better and cheaper")
    for trial in found.front(("error", "latency", "flops")):
        r = trial.result
        costs = f"{r['flops']:,.0f}", f"{1e6 * r['latency']:.1f} us", f"{r['parameters']:,.0f}"
        table.add_row(words(trial.candidate), f"{r['error']:.1%}", *costs)
    Console().print(table)
    found.plot(chosen.picture, ("error", "flops"))
    Console().print(f"{len(found.done())} networks, drawn: {chosen.picture}; kept: {chosen.journal}")


if __name__ == "__main__":
    main()
