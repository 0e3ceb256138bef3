"""Search for small networks that read handwritten digits: how few operations, and how little time, will do?

Each candidate, some convolutions and a dense layer or two, is trained for a few epochs. Optuna chooses the next ones
from what is known of the others, and hands them to several processes. Everything tried is kept in a file: end the
search whenever you like and start it again, or start it twice at once, and it goes on. A candidate whose process was
killed is tried again. `optuna-dashboard sqlite:///examples/search_digits.db` shows the search in a browser.

    python examples/search_digits.py [--evaluations 60] [--workers 2] [--study digits.db]
"""

import argparse
import os
import sys
import time
from multiprocessing import connection, get_context, parent_process
from pathlib import Path

import numpy as np
import optuna
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits

import wengert as wg
from wengert import nn, optimize
from wengert.graph import search

HERE = Path(__file__).parent
OBJECTIVES = "error", "latency", "flops"
ENDED = optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.FAIL

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
    """Return pictures and digits, four fifths to train with and the rest to judge by."""
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
    """Return the seconds in which the model reads one picture, the least of many measurements."""
    read = wg.jit(lambda x: model.apply(params, state, x)[0])
    picture, times = np.zeros((1, 1, 8, 8), np.float32), []
    for _ in range(200):
        start = time.perf_counter()
        read(picture)
        times.append(time.perf_counter() - start)
    return min(times)


def evaluate(candidate, seed, epochs=6):
    """Train a candidate, and return how often it errs and what it costs to read a picture."""
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
    one = wg.spec((1, 1, 8, 8), "float32")
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


def opened(path):
    return search.study(
        path, sampler=optuna.samplers.TPESampler(n_startup_trials=16), directions=["minimize"] * len(OBJECTIVES)
    )


def count(study):
    """Return how many candidates have been tried to the end."""
    return len(study.get_trials(deepcopy=False, states=ENDED))


def work(path, evaluations):
    """Try candidates in a process of its own until enough have been tried, or until the main process is gone."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = opened(path)

    def tell(study, trial):
        tried = words(search.suggested(trial, SPACE))
        found = "failed" if trial.values is None else f"{trial.user_attrs['error']:.1%} errors"
        print(f"{trial.number:4} {found:>12}  {tried}", flush=True)
        if count(study) >= evaluations or not parent_process().is_alive():
            study.stop()

    if count(study) < evaluations:
        study.optimize(search.objective(SPACE, evaluate, OBJECTIVES), catch=Exception, callbacks=[tell])


def run(path, evaluations, workers):
    """Keep so many workers at work. One that was killed is replaced: the others get its candidate in a minute."""
    context = get_context("spawn")

    def begun():
        worker = context.Process(target=work, args=(path, evaluations))
        worker.start()
        return worker

    living = [begun() for _ in range(workers)]
    while living:
        connection.wait([worker.sentinel for worker in living])
        for worker in [worker for worker in living if not worker.is_alive()]:
            living.remove(worker)
            code = worker.exitcode or 0
            if code > 0:
                sys.exit("a worker failed: see above")
            if code < 0:  # the signal that killed it
                living.append(begun())


def draw(trials, front, path):
    """Draw errors against operations, of all trials and of those that none is better than."""
    of = lambda trials, name: [trial.user_attrs[name] for trial in trials]
    figure = Figure(figsize=(5, 3.6), layout="constrained")
    axes = figure.add_subplot()
    axes.scatter(of(trials, "flops"), of(trials, "error"), s=14, alpha=0.4, label="tried")
    axes.scatter(of(front, "flops"), of(front, "error"), s=24, color="C1", label="none better and cheaper")
    axes.set(xlabel="operations", ylabel="errors", xscale="log")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--evaluations", type=int, default=60)
    options.add_argument("--workers", type=int, default=os.cpu_count(), help="processes; as many as processors")
    options.add_argument("--study", type=Path, default=HERE / "search_digits.db")
    options.add_argument("--picture", type=Path, default=HERE / "search_digits.png")
    chosen = options.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = opened(chosen.study)
    run(chosen.study, chosen.evaluations, chosen.workers)
    table = Table("network", "errors", "operations", "a picture", "parameters", title="none better and cheaper")
    front = sorted(study.best_trials, key=lambda trial: trial.user_attrs["flops"])
    for trial in front:
        r = trial.user_attrs
        costs = f"{r['flops']:,.0f}", f"{1e6 * r['latency']:.1f} us", f"{r['parameters']:,.0f}"
        table.add_row(words(search.suggested(trial, SPACE)), f"{r['error']:.1%}", *costs)
    Console().print(table)
    done = study.get_trials(states=[optuna.trial.TrialState.COMPLETE])
    draw(done, front, chosen.picture)
    Console().print(f"{len(done)} networks, drawn: {chosen.picture}; kept: {chosen.study}")


if __name__ == "__main__":
    main()
