"""Reports: what became of a function, in the user's own lines.

Built on the public API alone. :mod:`~wengert.report.data` has the records of which everything else is made.
:mod:`~wengert.report.smoothness` says where a function switches,
:mod:`~wengert.report.precision` which digits of its results hold, by the arithmetic of :mod:`~wengert.report.doubled`.
"""

from wengert.report.explain import Explanation, explain
from wengert.report.precision import DigitsReport, LostDigits, ResultDigits, digits
from wengert.report.profile import Profile, profile
from wengert.report.smoothness import Smoothness, SwitchPoint, smooth

__all__ = [
    "DigitsReport",
    "Explanation",
    "LostDigits",
    "Profile",
    "ResultDigits",
    "Smoothness",
    "SwitchPoint",
    "digits",
    "explain",
    "profile",
    "smooth",
]


def __dir__() -> list[str]:
    return list(__all__)
