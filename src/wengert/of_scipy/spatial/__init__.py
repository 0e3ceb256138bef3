"""``scipy.spatial`` on traced arrays."""

from wengert.of_scipy.spatial import distances, hulls, rigid, rotations, trees  # noqa: F401
