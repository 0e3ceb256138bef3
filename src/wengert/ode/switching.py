"""Switch between an explicit method and, where the equation becomes stiff, an implicit one: the mark says which.

The sign of stiffness is that stability, and not accuracy, limits the length of explicit steps: |h| times an estimate of
the largest eigenvalue, ‖f(y_new) − f(g)‖ / ‖y_new − g‖ with the last stage g, is beyond the limit. The sign of the
opposite is that implicit steps are so short that the explicit method would be stable.

Source: Hairer and Wanner (1996), Solving Ordinary Differential Equations II, section IV.2; switching in both directions
is due to Petzold (1983), Automatic selection of methods for solving stiff and nonstiff systems, SIAM J. Sci. Comput. 4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
from wengert.ode.radau import Radau
from wengert.ode.runge_kutta import RungeKutta
from wengert.ode.step import Array, Attempt, Method, Rate, Real, Step, TrialStep

EXPLICITLY, IMPLICITLY = 0, 1
UNSTABLE = 3.3
"""The value of |h| times the largest eigenvalue at which Tsit5 is at the limit of its stability."""
CALM = 1.0
"""The value of |h| times the largest row sum of the Jacobian's absolute values at which Tsit5 is surely stable."""
SIGN, ENOUGH = 4, 40  # a step with the sign adds SIGN, one without takes 1 away; at ENOUGH the method is changed

NODES = (0.0, 0.25, 0.5, 0.75, 1.0)
LAGRANGE = tuple([tuple(map(float, row)) for row in np.linalg.inv(np.vander(NODES, increasing=True))])
"""The matrix from the values of a polynomial of degree 4 at ``NODES`` to its coefficients."""


class Switching:
    order, is_implicit, rows, first_mark = 4, True, 1, EXPLICITLY

    def __init__(self, name: str, explicit: RungeKutta) -> None:
        self.name, self.explicit, self.implicit = name, explicit, Radau()

    def start(self, rate: Rate, t: Real, h: Real, y: Array) -> Any:
        return y

    def begin(self, rate: Rate, t: Real, y: Array, first: Array, h: Real) -> dict[str, Any]:
        return {"is_stiff": h != h, "signs": np.int64(0), "implicit": self.implicit.begin(rate, t, y, first, h)}

    def attempt(self, rate: Rate, trial: TrialStep, memory: dict[str, Any]) -> Attempt:
        def explicitly(trial: TrialStep, memory: dict[str, Any]) -> Any:
            tried, size = self.explicit.tried(rate, trial)
            return tried._replace(memory=memory["implicit"]), size > UNSTABLE

        def implicitly(trial: TrialStep, memory: dict[str, Any]) -> Any:
            tried = self.implicit.attempt(rate, trial, memory["implicit"])
            size = np.abs(trial.h) * np.max(np.sum(np.abs(tried.memory["jacobian"]), axis=1))
            return tried, size < CALM

        is_stiff = memory["is_stiff"]
        tried, is_sign = wg.cond(is_stiff, implicitly, explicitly, trial, memory)
        signs = np.maximum(memory["signs"] + np.where(is_sign, SIGN, -1), 0)
        signs = np.where(tried.is_good, signs, memory["signs"])
        changes = tried.is_good & (signs >= ENOUGH)
        fresh = self.implicit.begin(rate, trial.t, trial.y, trial.first, trial.h)
        after = {
            "is_stiff": is_stiff ^ changes,
            "signs": np.where(changes, 0, signs),
            "implicit": {name: np.where(changes, fresh[name], x) for name, x in tried.memory.items()},
        }
        return tried._replace(memory=after, mark=np.where(is_stiff, IMPLICITLY, EXPLICITLY))

    def follow(self, rate: Rate, step: Step, state: Array) -> Any:
        by = lambda method: lambda step, state: method.follow(rate, step, state)
        return wg.cond(step.mark_after == IMPLICITLY, by(self.implicit), by(self.explicit), step, state)

    def within(self, rate: Rate, step: Step, state: Array, after: Array) -> Callable[[Any], Any]:
        """y within the step, by the polynomial of the method that took it, of degree 4 at most."""

        def values(method: Method) -> Any:
            def at_nodes(step: Step, state: Array, after: Array) -> Any:
                y = method.within(rate, step, state, after)
                return np.stack([y(x) for x in NODES])

            return at_nodes

        is_implicit = step.mark_after == IMPLICITLY
        known = wg.cond(is_implicit, values(self.implicit), values(self.explicit), step, state, after)
        rows = np.array(LAGRANGE) @ known
        return lambda x: rows[0] + x * (rows[1] + x * (rows[2] + x * (rows[3] + x * rows[4])))
