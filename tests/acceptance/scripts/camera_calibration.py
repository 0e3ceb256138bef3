"""Focal length and pose of a camera from points that it sees."""

import numpy as np
from scipy.optimize import least_squares

rng = np.random.default_rng(13)
points = rng.uniform(-1, 1, size=(20, 3)) + [0, 0, 6]


def project(p):
    rx, ry, rz, tx, ty, tz, f = p
    cx, sx, cy, sy, cz, sz = np.cos(rx), np.sin(rx), np.cos(ry), np.sin(ry), np.cos(rz), np.sin(rz)
    Rx = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    Ry = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    Rz = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    q = points @ (Rz @ Ry @ Rx).T + np.array([tx, ty, tz])
    return (f * q[:, :2] / q[:, 2:]).ravel()


seen = project([0.1, -0.05, 0.2, 0.3, -0.2, 0.5, 800]) + 0.2 * rng.normal(size=40)
res = least_squares(
    lambda p: project(p) - seen, [0, 0, 0, 0, 0, 0, 700], x_scale=[1, 1, 1, 1, 1, 1, 100], ftol=1e-12, xtol=1e-12
)
result = np.array([res.cost])
print(res.x, res.cost)
