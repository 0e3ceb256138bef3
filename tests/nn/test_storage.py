"""Arrays on disk: what comes back, what is damaged, and that there is always a whole file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import nn, optimize
from wengert.nn import storage

safetensors = pytest.importorskip("safetensors.numpy")

TREE: Any = {
    "layers": {"0": {"w": np.arange(6.0).reshape(2, 3).astype("f"), "b": np.zeros(0)}, "a.b": {"c": np.array(True)}},
    "parts": [np.ones((2, 2))[:, ::-1], (np.array(5, np.uint64), None)],
    "layers.0": {"w": np.int64(3)},
}


def same(a: Any, b: Any) -> None:
    assert type(a) is type(b) or isinstance(b, np.generic)
    if isinstance(a, dict):
        assert list(a) == list(b)
        for k in a:
            same(a[k], b[k])
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    elif a is not None:
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype and a.shape == b.shape and a.flags.writeable


def test_trees_come_back(tmp_path: Path) -> None:
    nn.save(tmp_path / "tree", TREE, {"epoch": 3})
    tree, notes = storage.load_with_notes(tmp_path / "tree")
    same(tree, TREE)
    assert notes == {"epoch": 3} and os.listdir(tmp_path) == ["tree"]
    nn.save(tmp_path / "one", np.ones(2))
    same(nn.load(tmp_path / "one"), np.ones(2))
    params = {"w": np.ones(2, "f")}
    state = optimize.adam(0.1).init(params)
    nn.save(tmp_path / "state", state)
    same(nn.load(tmp_path / "state", like=state), state)


def test_files_of_others(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(safetensors.save({"layers.0.w": np.ones(2), "b": np.zeros(1)}))
    same(nn.load(tmp_path / "other"), {"b": np.zeros(1), "layers": {"0": {"w": np.ones(2)}}})


def test_what_is_damaged_or_cut_off_anywhere(tmp_path: Path) -> None:
    path = tmp_path / "tree"
    nn.save(path, TREE)
    data = path.read_bytes()
    for k in [0, 1, 7, 8, 9, len(data) // 2, len(data) - 1]:
        path.write_bytes(data[:k])
        with pytest.raises(wg.errors.StorageError, match="holds no arrays"):
            nn.load(path)
    path.write_bytes(b"\xff" * 100)
    with pytest.raises(wg.errors.StorageError):
        nn.load(path)
    for k in range(0, len(data), 41):  # a bit that was turned anywhere
        path.write_bytes(data[:k] + bytes([data[k] ^ 4]) + data[k + 1 :])
        try:
            tree = nn.load(path)
        except wg.errors.StorageError:
            continue
        same(tree, TREE)  # in what nothing depends on
    with pytest.raises(FileNotFoundError):
        nn.load(tmp_path / "nothing")


def test_parameters_of_another_model(tmp_path: Path) -> None:
    nn.save(tmp_path / "p", {"a": np.ones(2), "b": np.ones(3), "c": np.ones(1)})
    with pytest.raises(wg.errors.StructureError) as error:
        nn.load(tmp_path / "p", like={"a": np.ones(2), "b": np.ones(4), "d": np.ones(1)})
    text = str(error.value)
    assert "lacks  d" in text and "has    c" in text and "b (float64[3], expected float64[4])" in text


@pytest.mark.parametrize("bad", [{"a": "text"}, {1: np.ones(1)}, {"a": object()}])
def test_what_is_no_tree_of_arrays_leaves_the_old_file(bad: Any, tmp_path: Path) -> None:
    nn.save(tmp_path / "p", TREE)
    with pytest.raises(wg.errors.StructureError):
        nn.save(tmp_path / "p", bad)
    same(nn.load(tmp_path / "p"), TREE)
    assert os.listdir(tmp_path) == ["p"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nn.save(tmp_path / "p", TREE)

    def full(file: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        nn.save(tmp_path / "p", {"a": np.ones(2)})
    monkeypatch.undo()
    same(nn.load(tmp_path / "p"), TREE)
    assert os.listdir(tmp_path) == ["p"]
