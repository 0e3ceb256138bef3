"""``scipy.spatial.transform.RigidTransform``: rotations with translations, that hold traced values.

Source of the formulas: SciPy's own array code, ``_rigid_transform_xp.py``. Where a rotation is by no angle, derivatives
are those of the series.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import transform
from scipy.spatial.transform import Rotation

from wengert.of_scipy.spatial.distances import table
from wengert.of_scipy.spatial.rotations import (
    TracedRotation,
    conjugate,
    double,
    nearest_orthogonal,
    of_matrix,
    of_rotvec,
    product,
    quat_of,
    to_matrix,
    to_rotvec,
)
from wengert.tracing.arguments import Traced, concrete, holds, is_traced, unsupported
from wengert.tracing.interception.asking import AT_OBJECT
from wengert.tracing.interception.intercept import intercepts

PLACE = "scipy.spatial.transform"
RigidTransform: Any = getattr(transform, "RigidTransform", object)  # since SciPy 1.16


def assembled(rotation: Traced, translation: Traced) -> Any:
    """The matrix (4, 4) of a rotation's and of a translation."""
    shape = np.broadcast_shapes(rotation.shape[:-2], translation.shape[:-1])
    r = np.broadcast_to(rotation, (*shape, 3, 3))
    t = np.broadcast_to(translation, (*shape, 3))
    last = table(np.broadcast_to([0.0, 0.0, 0.0, 1.0], (*shape, 1, 4)), r)
    return np.concatenate([np.concatenate([r, t[..., None]], axis=-1), last], axis=-2)


def skew(v: Traced) -> Any:
    x, y, z = v[..., 0], v[..., 1], v[..., 2]
    o = 0 * x
    rows = [[o, -z, y], [z, o, -x], [-y, x, o]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _of_angle(v: Traced) -> tuple[Any, Any, Any]:
    """The square of the angle, whether it is small, and the angle, 1 where it is, to broadcast against matrices."""
    square = np.sum(v * v, axis=-1)[..., None, None]
    is_small = square < 1e-6
    return square, is_small, np.sqrt(np.where(is_small, 1.0, square))


def _along(v: Traced) -> Any:
    """1 + (1 − cos θ) S / θ² + (θ − sin θ) S² / θ³: the translation of a screw from its coordinates."""
    square, is_small, angle = _of_angle(v)
    first = np.where(is_small, 0.5 - square / 24 + square**2 / 720, (1 - np.cos(angle)) / angle**2)
    second = np.where(is_small, 1 / 6 - square / 120 + square**2 / 5040, (angle - np.sin(angle)) / angle**3)
    s = skew(v)
    return table(np.eye(3), v) + first * s + second * (s @ s)


def _back_along(v: Traced) -> Any:
    """The inverse of that: 1 − S / 2 + (1 − θ/2 cot(θ/2)) S² / θ²."""
    square, is_small, angle = _of_angle(v)
    large = (1 - 0.5 * angle / np.tan(0.5 * angle)) / angle**2
    s = skew(v)
    return (
        table(np.eye(3), v) - 0.5 * s + np.where(is_small, 1 / 12 + square / 720 + square**2 / 30240, large) * (s @ s)
    )


def of_exp_coords(x: Traced) -> Any:
    return assembled(to_matrix(of_rotvec(x[..., :3])), (_along(x[..., :3]) @ x[..., 3:, None])[..., 0])


def to_exp_coords(m: Traced) -> Any:
    v = to_rotvec(of_matrix(m[..., :3, :3]))
    return np.concatenate([v, (_back_along(v) @ m[..., :3, 3:])[..., 0]], axis=-1)


def inverse(m: Traced) -> Any:
    back = np.swapaxes(m[..., :3, :3], -1, -2)
    return assembled(back, -(back @ m[..., :3, 3:])[..., 0])


def matrix_of(one: Any, near: Traced) -> Any:
    """The matrix of a transform: one that holds no traced value is a constant."""
    return one._traced if type(one) is TracedTransform else table(np.array(one.as_matrix()), near)


class TracedTransform(RigidTransform):
    """Rigid transforms whose matrices are traced: one, or an array of them."""

    def __new__(cls, matrix: Traced) -> Any:
        made = RigidTransform.__new__(cls)
        made._traced = matrix
        return made

    def __init__(self, matrix: Traced) -> None:
        pass

    @property
    def single(self) -> bool:
        return self._traced.ndim == 2

    @property
    def shape(self) -> tuple[int, ...]:
        return self._traced.shape[:-2]

    @property
    def translation(self) -> Any:
        return self._traced[..., :3, 3]

    @property
    def rotation(self) -> Any:
        return TracedRotation(of_matrix(self._traced[..., :3, :3]))

    def __len__(self) -> int:
        if self.single:
            raise TypeError("Single transform has no len().")
        return self._traced.shape[0]

    def __repr__(self) -> str:
        return f"<rigid transforms of traced matrices {self._traced!r}>"

    def __reduce__(self) -> Any:
        raise unsupported("a transform that holds traced values is not pickled", "t.as_matrix()")

    def __getitem__(self, indexer: Any) -> Any:
        if self.single:
            raise TypeError("Single transform is not subscriptable.")
        return TracedTransform(self._traced[indexer])

    def __iter__(self) -> Any:
        if self.single:
            raise TypeError("Single transform is not iterable.")
        return iter([TracedTransform(self._traced[k]) for k in range(len(self))])

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, RigidTransform):
            return NotImplemented
        return TracedTransform(self._traced @ matrix_of(other, self._traced))

    def __rmul__(self, other: Any) -> Any:
        if not isinstance(other, RigidTransform):
            return NotImplemented
        return TracedTransform(matrix_of(other, self._traced) @ self._traced)

    def __pow__(self, n: float | Traced) -> Any:
        if not is_traced(n):
            n = float(concrete(n, "an exponent"))
            if n in (1, -1):
                return TracedTransform(self._traced if n == 1 else inverse(self._traced))
        return TracedTransform(of_exp_coords(to_exp_coords(self._traced) * n))

    def inv(self) -> Any:
        return TracedTransform(inverse(self._traced))

    def as_matrix(self) -> Any:
        return self._traced

    def as_components(self) -> Any:
        return self.translation, self.rotation

    def as_exp_coords(self) -> Any:
        return to_exp_coords(self._traced)

    def as_dual_quat(self, *, scalar_first: bool = False) -> Any:
        q = of_matrix(self._traced[..., :3, :3])
        t = self.translation
        dual = 0.5 * product(np.concatenate([t, 0 * t[..., :1]], axis=-1), q)
        if scalar_first:
            q, dual = [np.concatenate([x[..., 3:], x[..., :3]], axis=-1) for x in (q, dual)]
        return np.concatenate([q, dual], axis=-1)

    def apply(self, vector: ArrayLike, inverse: bool = False) -> Any:
        return _apply(self, vector, inverse)

    def mean(self, weights: ArrayLike | None = None, axis: Any = None) -> Any:
        m = self._traced if self._traced.ndim > 2 else self._traced[None]
        rotation = TracedRotation(of_matrix(m[..., :3, :3])).mean(weights, axis)
        t = m[..., :3, 3]
        every = tuple(range(t.ndim - 1))
        over = every if axis is None else tuple(sorted({k % (t.ndim - 1) for k in np.atleast_1d(axis)}))
        if weights is None:
            return TracedTransform(assembled(to_matrix(rotation._traced), np.mean(t, axis=over)))
        w = double(weights)[..., None]
        return TracedTransform(assembled(to_matrix(rotation._traced), np.sum(w * t, axis=over) / np.sum(w, axis=over)))


def _apply(one: Any, vector: ArrayLike, is_inverse: bool = False) -> Any:
    v = double(vector)
    if v.shape[-1] != 3:
        raise ValueError(f"Expected vector to have shape (..., 3), got {v.shape}.")
    m = matrix_of(one, v)
    if is_inverse:
        m = inverse(m)
    return np.sum(m[..., :3, :3] * v[..., None, :], axis=-1) + m[..., :3, 3]


def _checked(matrix: ArrayLike, normalize: bool = True) -> Any:
    m = double(matrix)
    if m.shape[-2:] != (4, 4):
        raise ValueError(f"Expected `matrix` to have shape (..., 4, 4), got {m.shape}.")
    if holds(np.all(m[..., 3, :] == table(np.array([0.0, 0.0, 0.0, 1.0]), m))) is False:
        raise ValueError("Expected last row of transformation matrix to be exactly [0, 0, 0, 1]")
    return assembled(nearest_orthogonal(m[..., :3, :3]), m[..., :3, 3]) if normalize else m


@intercepts(f"{PLACE}:RigidTransform.__init__")
def init(one: Any, matrix: ArrayLike, normalize: bool = True, copy: bool = True) -> None:
    """The object is there already: it becomes one that holds traced values."""
    one.__class__ = TracedTransform
    one._traced = _checked(matrix, normalize)


@intercepts(f"{PLACE}:RigidTransform.from_matrix")
def from_matrix(matrix: ArrayLike) -> Any:
    return TracedTransform(_checked(matrix))


@intercepts(f"{PLACE}:RigidTransform.from_translation")
def from_translation(translation: ArrayLike) -> Any:
    t = double(translation)
    if t.shape[-1] != 3:
        raise ValueError(f"Expected `translation` to have shape (..., 3), got {t.shape}.")
    return TracedTransform(assembled(table(np.eye(3), t), t))


@intercepts(f"{PLACE}:RigidTransform.from_exp_coords")
def from_exp_coords(exp_coords: ArrayLike) -> Any:
    x = double(exp_coords)
    if x.shape[-1] != 6:
        raise ValueError(f"Expected `exp_coords` to have shape (..., 6), got {x.shape}.")
    return TracedTransform(of_exp_coords(x))


@intercepts(f"{PLACE}:RigidTransform.from_dual_quat")
def from_dual_quat(dual_quat: ArrayLike, *, scalar_first: bool = False) -> Any:
    x = double(dual_quat)
    if x.shape[-1] != 8:
        raise ValueError(f"Expected `dual_quat` to have shape (..., 8), got {x.shape}.")
    q, dual = x[..., :4], x[..., 4:]
    if scalar_first:
        q, dual = [np.concatenate([p[..., 1:], p[..., :1]], axis=-1) for p in (q, dual)]
    length = np.linalg.norm(q, axis=-1, keepdims=True)
    if holds(np.any(length == 0)):
        raise unsupported("RigidTransform.from_dual_quat of a traced real part 0 is not there", "a unit real part")
    q, dual = q / length, dual / length
    dual = dual - np.sum(q * dual, axis=-1, keepdims=True) * q
    return TracedTransform(assembled(to_matrix(q), 2 * product(dual, conjugate(q))[..., :3]))


@intercepts(f"{PLACE}:RigidTransform.from_rotation", AT_OBJECT)
def from_rotation(rotation: Any) -> Any:
    if type(rotation) is not TracedRotation:
        return NotImplemented
    q = rotation._traced
    return TracedTransform(assembled(to_matrix(q), 0 * q[..., :3]))


@intercepts(f"{PLACE}:RigidTransform.from_components", AT_OBJECT)
def from_components(translation: ArrayLike, rotation: Any) -> Any:
    if type(rotation) is not TracedRotation and not is_traced(translation):
        return NotImplemented
    if not isinstance(rotation, Rotation):
        raise ValueError(f"Expected `rotation` to be a `Rotation` instance, got {type(rotation)}.")
    near: Any = rotation._traced if type(rotation) is TracedRotation else translation
    return TracedTransform(assembled(to_matrix(quat_of(rotation, near)), double(translation)))


@intercepts(f"{PLACE}:RigidTransform.apply")
def apply(one: Any, vector: ArrayLike, inverse: bool = False) -> Any:
    return _apply(one, vector, inverse)


@intercepts(f"{PLACE}:RigidTransform.__pow__")
def power(one: Any, n: float | Traced) -> Any:
    return TracedTransform(matrix_of(one, double(n))) ** n


@intercepts(f"{PLACE}:RigidTransform.mean")
def mean(one: Any, weights: ArrayLike | None = None, axis: Any = None) -> Any:
    near: Any = weights  # which are traced, for else this is not asked
    return TracedTransform(matrix_of(one, double(near))).mean(weights, axis)


@intercepts(f"{PLACE}:RigidTransform.concatenate", AT_OBJECT)
def concatenate(transforms: Any) -> Any:
    every = list(transforms) if isinstance(transforms, list | tuple) else []
    near = next((one._traced for one in every if type(one) is TracedTransform), None)
    if near is None:
        return NotImplemented
    if not all(isinstance(one, RigidTransform) for one in every):
        raise TypeError("input must contain RigidTransform objects only")
    return TracedTransform(np.concatenate([np.reshape(matrix_of(one, near), (-1, 4, 4)) for one in every]))
