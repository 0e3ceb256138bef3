"""Functions of ``scipy.constants`` on traced numbers: temperatures, and wavelengths for frequencies."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from scipy import constants

from wengert.tracing.arguments import array, scalar
from wengert.tracing.interception.intercept import intercepts

SCALES: dict[str, tuple[float, float]] = {
    "celsius": (1.0, constants.zero_Celsius),
    "kelvin": (1.0, 0.0),
    "fahrenheit": (5 / 9, constants.zero_Celsius - 32 * 5 / 9),
    "rankine": (5 / 9, 0.0),
}
"""Kelvins are factor times degrees plus offset."""


def _scale(name: str, which: str) -> tuple[float, float]:
    wanted = name.lower()
    for full, scale in SCALES.items():
        if wanted in (full, full[0]):
            return scale
    raise NotImplementedError(
        f"{which}={name!r} is unsupported: supported scales are Celsius, Kelvin, Fahrenheit, and Rankine"
    )


@intercepts("scipy.constants:convert_temperature")
def convert_temperature(val: ArrayLike, old_scale: str, new_scale: str) -> Any:
    factor, offset = _scale(old_scale, "old_scale")
    back, origin = _scale(new_scale, "new_scale")
    return scalar(((array(val) * factor + offset) - origin) / back)


@intercepts("scipy.constants:lambda2nu")
def lambda2nu(lambda_: ArrayLike) -> Any:
    return scalar(constants.c / array(lambda_))


@intercepts("scipy.constants:nu2lambda")
def nu2lambda(nu: ArrayLike) -> Any:
    return scalar(constants.c / array(nu))
