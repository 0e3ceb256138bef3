"""``scipy.spatial`` on traced arrays."""

from wengert.of_scipy.spatial import distances, hulls, rotations, trees  # noqa: F401
