"""The methods, by their names."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.ode.bdf import Bdf
from wengert.ode.radau import Radau
from wengert.ode.runge_kutta import EXPLICIT, KENCARP4, TSIT5
from wengert.ode.step import Method
from wengert.ode.switching import Switching

ALL: Sequence[Method] = (*EXPLICIT, KENCARP4, Radau(), Bdf(), Switching("LSODA", TSIT5))
METHODS = {m.name: m for m in ALL}
