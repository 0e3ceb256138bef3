"""``scipy.spatial`` on traced arrays."""

from wengert.of_scipy.spatial import distances, rotations  # noqa: F401
