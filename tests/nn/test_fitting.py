"""Training: what is learnt, the same bits however often it is ended, and losses that are no numbers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.nn.training import MODEL, RNG, X, Y, run
from wengert import nn, optimize
from wengert.nn.fitting import CHECKPOINT

pytest.importorskip("safetensors")


def bits(*trees: Any) -> list[bytes]:
    return [x.tobytes() for tree in trees for x in nn.paths(tree).values()]


def test_it_learns_and_leaves_what_it_was_given() -> None:
    params, state = MODEL.init(1, X)
    before = bits(params, state)
    done = nn.fit(
        MODEL, params, state, (X, Y), epochs=60, optimiser=optimize.adam(0.05), batch_size=16, progress=False,
        validation=(X, Y), metrics={"accuracy": nn.accuracy},
    )  # fmt: skip
    assert done.history[-1]["accuracy"] > 0.95 and done.history[-1]["loss"] < done.history[0]["loss"] / 3
    assert [row["epoch"] for row in done.history] == list(range(60)) and done.stopped == ""
    assert list(done.history[0]) == ["epoch", "loss", "validation loss", "accuracy"]
    assert bits(params, state) == before


def test_a_run_that_was_ended_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    whole = run(6)
    run(2, checkpoint=tmp_path)
    rest = run(6, checkpoint=tmp_path)
    assert bits(rest.params, rest.state, rest.opt_state) == bits(whole.params, whole.state, whole.opt_state)
    assert rest.history == whole.history and os.listdir(tmp_path) == [CHECKPOINT]
    assert run(6, checkpoint=tmp_path).history == whole.history  # there is nothing left to do


PROGRAM = """
    import sys, numpy as np
    from tests.nn.training import run
    run(10000, checkpoint=sys.argv[1], callbacks=[lambda made: print(len(made.history), flush=True)])
"""


def test_a_process_that_is_killed_leaves_a_checkpoint_to_go_on_from(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) >= 3:
                break
        process.send_signal(signal.SIGKILL)
    kept = nn.load(tmp_path / CHECKPOINT)
    assert kept["params"]["layers"]["0"]["w"].shape == (16, 2)
    done = int(kept["opt_state"]["count"]) // 5  # batches
    more = run(done + 2, checkpoint=tmp_path)
    assert bits(more.params, more.state) == bits(*[getattr(run(done + 2), k) for k in ("params", "state")])


def test_a_checkpoint_of_another_run_or_a_damaged_one(tmp_path: Path) -> None:
    run(1, checkpoint=tmp_path)
    for other in ({"batch_size": 7}, {"seed": 4}, {"optimiser": optimize.sgd(0.1)}):
        with pytest.raises(wg.errors.StructureError, match="of another run"):
            run(2, checkpoint=tmp_path, **other)
    path = tmp_path / CHECKPOINT
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(wg.errors.StorageError):
        run(2, checkpoint=tmp_path)


def test_it_ends_when_it_gets_no_better(tmp_path: Path) -> None:
    noise = (X, RNG.integers(0, 2, len(X)))
    done = run(200, validation=noise, patience=4, checkpoint=tmp_path)
    losses = [row["validation loss"] for row in done.history]
    assert len(losses) == losses.index(min(losses)) + 5 and "4 epochs ago" in done.stopped
    judged = nn.cross_entropy(MODEL.apply(done.params, done.state, X)[0], noise[1])
    np.testing.assert_allclose(judged, min(losses), rtol=1e-4)
    again = run(200, validation=noise, patience=4, checkpoint=tmp_path)
    assert bits(again.params) == bits(done.params) and again.stopped == done.stopped


def test_a_loss_that_is_no_number_says_which_layer_made_it(tmp_path: Path) -> None:
    model = nn.Chain(nn.Dense(4), nn.Chain(nn.relu, np.log), nn.Dense(2))
    params, state = model.init(0, X)
    with pytest.raises(wg.errors.NonFiniteError, match=r"(?s)epoch 0.*layers\.1\.layers\.1 log") as error:
        nn.fit(model, params, state, (X, Y), progress=False, checkpoint=tmp_path)
    assert bits(error.value.fitted.params) == bits(params)

    def explodes(prediction: Any, y: Any) -> Any:
        return np.sum(prediction) * np.float32(3e38) * np.float32(10)

    with (
        pytest.raises(wg.errors.NonFiniteError, match="loss of what the model makes, which is finite"),
        np.errstate(all="ignore"),
    ):
        run(3, loss=explodes)


def test_the_last_good_parameters_are_kept() -> None:
    seen: list[list[bytes]] = []
    x = X.copy()
    x[5] = np.nan
    batches = lambda epoch: [(X[:35], Y[:35]), (x[:35], Y[:35])] if epoch == 2 else [(X, Y)]
    with pytest.raises(wg.errors.NonFiniteError, match="epoch 2") as error:
        nn.fit(
            MODEL, *MODEL.init(1, X), batches, progress=False, epochs=5,
            callbacks=[lambda made: seen.append(bits(made.params))],
        )  # fmt: skip
    kept = error.value.fitted
    assert len(kept.history) == 2 and bits(kept.params) != seen[-1]  # of the good batch of epoch 2
    assert all(np.all(np.isfinite(p)) for p in nn.paths(kept.params).values())


@pytest.mark.deep("more than a second")
def test_batches_of_ones_own_frozen_parameters_and_shapes() -> None:
    done = nn.fit(MODEL, *MODEL.init(1, X), [(X[:50], Y[:50]), (X[50:], Y[50:])], epochs=2, progress=False)
    assert len(done.history) == 2
    params, state = MODEL.init(1, X)
    held = nn.fit(MODEL, params, state, (X, Y), epochs=1, wrt=nn.trainable(params, "layers.2.*"), progress=False)
    np.testing.assert_array_equal(held.params["layers"]["0"]["w"], params["layers"]["0"]["w"])
    with pytest.raises(wg.errors.ShapeError, match="70 inputs and 3 targets"):
        nn.fit(MODEL, params, state, (X, Y[:3]), progress=False)


def test_progress_and_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rich")
    pytest.importorskip("matplotlib")
    done = run(2, progress=True, validation=(X, Y), metrics={"accuracy": nn.accuracy})
    assert "loss" in capsys.readouterr().out
    done.plot(tmp_path / "history.png")
    assert (tmp_path / "history.png").stat().st_size > 1000


def test_an_epoch_without_samples_is_refused() -> None:
    """Of an iterator, at its end after the first epoch, all others had a loss of 0 and trained nothing."""
    start = MODEL.init(1, X)
    with pytest.raises(wg.errors.ShapeError, match=r"no samples in epoch 1(.|\n)*a list of batches"):
        nn.fit(MODEL, *start, iter([(X, Y)]), epochs=2, progress=False)
    with pytest.raises(wg.errors.ShapeError, match="data has 0 inputs and 0 targets"):
        nn.fit(MODEL, *start, (X[:0], Y[:0]), progress=False)
    for validation in ((X[:0], Y[:0]), (X, Y[:5])):
        with pytest.raises(wg.errors.ShapeError, match="validation has"):
            nn.fit(MODEL, *start, [(X, Y)], validation=validation, progress=False)


def test_a_fitted_model_says_how_it_went_in_a_line() -> None:
    made = nn.Fitted({"w": np.ones((2, 3))}, {}, {}, [{"epoch": 1, "loss": 0.5}, {"epoch": 2, "loss": 0.25}])
    assert repr(made) == "<fitted model: 2 epochs, 6 parameters; loss 0.25>"
    assert made._repr_html_().count("<tr>") == 3 and "&lt;fitted" in made._repr_html_()
