"""A target is a function of a file or a module; its arguments are evaluated, or read from a file by their names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wengert.report.command.targets import UsageError, UserError, called, loaded


def test_a_file_that_fails_is_the_users_error(tmp_path: Path) -> None:
    path = tmp_path / "broken_model.py"
    path.write_text("x = 1\nraise ValueError('here')\n")
    with pytest.raises(UserError, match=r"broken_model.py\", line 2.*\n.*\nValueError: here"):
        loaded(f"{path}:f")


def test_attributes_are_followed() -> None:
    assert loaded("numpy:linalg.norm")(np.array([3.0, 4.0])) == 5.0
    with pytest.raises(UsageError, match=r"no function linalg\.nor"):
        loaded("numpy:linalg.nor")


def test_arguments() -> None:
    def f(x: Any, *, scale: Any = 1.0) -> Any:
        return x * scale

    call = called(f, "f", "np.ones(2), scale=3.0", None)
    assert call.kwargs == {"scale": 3.0} and call.args[0].tolist() == [1, 1]
    with pytest.raises(UsageError, match="cannot be evaluated: SyntaxError"):
        called(f, "f", "1, ,", None)


def test_arrays_of_keyword_parameters(tmp_path: Path) -> None:
    def f(x: Any, *, scale: Any = 1.0) -> Any:
        return x * scale

    np.savez(tmp_path / "a.npz", x=2.0, scale=3.0)
    call = called(f, "f", None, tmp_path / "a.npz")
    assert call.args == (2.0,) and call.kwargs == {"scale": 3.0}
    np.save(tmp_path / "b.npy", np.ones(3))
    with pytest.raises(UsageError, match="one array"):
        called(f, "f", None, tmp_path / "b.npy")
