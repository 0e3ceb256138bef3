"""Only programs and jitted functions have times."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import ArgumentError


@pytest.mark.parametrize("what", [np.sin, 3, "f"])
def test_anything_else_is_refused(what: Any) -> None:
    with pytest.raises(ArgumentError, match="expected a program or a jitted function"):
        wg.timed(what)
