"""``scipy.spatial`` on traced arrays."""

from wengert.of_scipy.spatial import distances  # noqa: F401
