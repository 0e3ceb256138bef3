"""Search for architectures: a space says what a candidate may be, and Optuna chooses, keeps and shares the trials.

``spaces`` describes candidates, draws them at random and changes them a little; ``with_optuna`` hands a space to an
Optuna study. Importing this package does not import Optuna.
"""

from wengert.graph.search.spaces import Choice, Each, Float, Integer, Space, When
from wengert.graph.search.with_optuna import objective, study, suggested

__all__ = [
    # spaces
    "Choice", "Each", "Float", "Integer", "Space", "When",
    # with Optuna
    "objective", "study", "suggested",
]  # fmt: skip


def __dir__() -> list[str]:
    return list(__all__)
