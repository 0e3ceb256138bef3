"""Search for architectures: a space of candidates, a method, workers, and a journal that survives them."""

from wengert.graph.search.journal import Trial
from wengert.graph.search.methods import Evolution, Halving, Random
from wengert.graph.search.running import Found, search
from wengert.graph.search.spaces import Choice, Each, Float, Integer, Space, When
from wengert.graph.search.with_optuna import objective, suggested

__all__ = [
    # spaces
    "Choice", "Each", "Float", "Integer", "Space", "When",
    # methods
    "Evolution", "Halving", "Random",
    # running
    "Found", "Trial", "objective", "search", "suggested",
]  # fmt: skip
