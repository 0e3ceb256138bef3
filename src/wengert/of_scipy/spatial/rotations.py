"""``scipy.spatial.transform``: rotations and rigid transforms that hold traced values, and what is made of them.

A rotation of traced numbers is a :class:`TracedRotation`, a subclass of SciPy's Rotation that holds a traced
quaternion. It has SciPy's methods, by the formulas of SciPy's own array code (``_rotation_xp.py``). Where an angle is 0
the derivatives are those of the series.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

import wengert as wg
from wengert.of_scipy.refusing import refuses
from wengert.of_scipy.spatial.distances import table
from wengert.of_scipy.version import SCIPY
from wengert.tracing.arguments import (
    Traced,
    array,
    as_dtype,
    concrete,
    constant,
    holds,
    is_traced,
    trace_near,
    unsupported,
)
from wengert.tracing.interception.asking import AT_OBJECT
from wengert.tracing.interception.intercept import intercepts

PLACE = "scipy.spatial.transform"
Number = float | Traced
DEGREE = np.pi / 180

# ------------------------------------------------------------------------------------------- formulas of quaternions


def double(x: ArrayLike) -> Any:
    return as_dtype(array(x), np.float64)


def norm(x: Traced) -> Any:
    return np.linalg.norm(x, axis=-1, keepdims=True)


def normalized(q: Traced) -> Any:
    """q / |q|, an error where that is 0."""
    length = norm(q)
    if holds(np.any(length == 0)):
        raise ValueError("Found zero norm quaternions in `quat`.")
    return q / length


def canonical(q: Traced) -> Any:
    """Choose of q and −q the one whose last component that is not 0 is positive, w before x, y and z."""
    x, y, z, w = [q[..., k] for k in range(4)]
    is_flipped = (w < 0) | ((w == 0) & ((x < 0) | ((x == 0) & ((y < 0) | ((y == 0) & (z < 0))))))
    return np.where(is_flipped[..., None], -q, q)


def product(p: Traced, q: Traced) -> Any:
    p, q = np.broadcast_arrays(p, q)
    vector = p[..., 3:] * q[..., :3] + q[..., 3:] * p[..., :3] + np.cross(p[..., :3], q[..., :3])
    scalar = p[..., 3:] * q[..., 3:] - np.sum(p[..., :3] * q[..., :3], axis=-1, keepdims=True)
    return np.concatenate([vector, scalar], axis=-1)


def conjugate(q: Traced) -> Any:
    return np.concatenate([-q[..., :3], q[..., 3:]], axis=-1)


def of_rotvec(v: Traced) -> Any:
    """(v sin(θ/2) / θ, cos(θ/2)), θ = |v|: near 0 by series in θ², which is smooth there."""
    square = np.sum(v * v, axis=-1, keepdims=True)
    is_small = square <= 1e-6
    angle = np.sqrt(np.where(is_small, 1.0, square))
    scale = np.where(is_small, 0.5 - square / 48 + square**2 / 3840, np.sin(angle / 2) / angle)
    cosine = np.where(is_small, 1 - square / 8 + square**2 / 384 - square**3 / 46080, np.cos(angle / 2))
    return np.concatenate([v * scale, cosine], axis=-1)


def to_rotvec(q: Traced) -> Any:
    """θ v / |v|: near 0 by the series of θ / sin(θ/2)."""
    q = canonical(q)
    square = np.sum(q[..., :3] ** 2, axis=-1, keepdims=True)
    is_small = square <= 2.5e-7  # sin(θ/2) ≤ 5e-4
    sine = np.sqrt(np.where(is_small, 1.0, square))
    large = 2 * np.arctan2(sine, q[..., 3:]) / sine
    w = np.where(is_small, q[..., 3:], 1.0)
    ratio = square / w**2  # of the tangent: 2 atan(t) / (t w) = 2 (1 − t²/3 + t⁴/5) / w
    small = 2 * (1 - ratio / 3 + ratio**2 / 5 - ratio**3 / 7) / w
    return np.where(is_small, small, large) * q[..., :3]


def of_matrix(m: Traced) -> Any:
    """The quaternion of an orthogonal matrix, from its largest component on.  Source: Shepperd (1978)."""
    trace = m[..., 0, 0] + m[..., 1, 1] + m[..., 2, 2]
    decision = np.stack([m[..., 0, 0], m[..., 1, 1], m[..., 2, 2], trace], axis=-1)
    choice = np.argmax(decision, axis=-1)[..., None]
    found: Any = None
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        parts: list[Any] = [None] * 4
        parts[i] = 1 - trace + 2 * m[..., i, i]
        parts[j] = m[..., j, i] + m[..., i, j]
        parts[k] = m[..., k, i] + m[..., i, k]
        parts[3] = m[..., k, j] - m[..., j, k]
        one = np.stack(parts, axis=-1)
        found = one if found is None else np.where(choice == i, one, found)
    last = np.stack(
        [m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1], 1 + trace], axis=-1
    )
    return normalized(np.where(choice == 3, last, found))


def nearest_orthogonal(m: Traced) -> Any:
    """R of M = R P, P positive definite, with the derivatives of the solution of RᵀM = MᵀR, RᵀR = I: the singular
    vectors of an orthogonal matrix have none."""
    u, _, vt = np.linalg.svd(wg.stop_gradient(m), full_matrices=False)

    def solution(m: Any, r: Any) -> Any:
        eye = table(np.eye(3), m)
        return wg.known_root(lambda r: r.T @ m - m.T @ r + r.T @ r - eye, r)

    flat = wg.vmap(solution)(np.reshape(m, (-1, 3, 3)), np.reshape(u @ vt, (-1, 3, 3)))
    return np.reshape(flat, m.shape)


def to_matrix(q: Traced) -> Any:
    x, y, z, w = [q[..., k] for k in range(4)]
    rows = [
        [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _order_of(seq: str, lengths: Sequence[int]) -> tuple[list[int], bool]:
    """The axes of a sequence of Euler angles, and whether they turn with the body."""
    is_intrinsic = re.match(r"^[XYZ]{1,3}$", seq) is not None
    if len(seq) not in lengths:
        if lengths == (3,):
            raise ValueError(f"Expected 3 axes, got {seq}.")
        raise ValueError(f"Expected axis specification to be a non-empty string of up to 3 characters, got {seq}")
    if not is_intrinsic and re.match(r"^[xyz]{1,3}$", seq) is None:
        raise ValueError(f"Expected axes from `seq` to be from ['x', 'y', 'z'] or ['X', 'Y', 'Z'], got {seq}")
    if any(seq[k] == seq[k + 1] for k in range(len(seq) - 1)):
        raise ValueError(f"Expected consecutive axes to be different, got {seq}")
    return ["xyz".index(letter) for letter in seq.lower()], is_intrinsic


def _about(axis: int, angle: Traced) -> Any:
    parts: list[Any] = [0 * angle] * 3 + [np.cos(angle / 2)]
    parts[axis] = np.sin(angle / 2)
    return np.stack(parts, axis=-1)


def _angles(
    is_extrinsic: bool, is_symmetric: bool, sign: int, lamb: Any, abcd: Sequence[Any], suppress_warnings: bool
) -> Any:
    """Three angles of a quaternion in a frame of its own.  Source: Bernardes and Viollet (2022), PLoS ONE 17:11."""
    a, b, c, d = abcd
    half_sum, half_difference = np.arctan2(b, a), np.arctan2(d, c)
    second = 2 * np.arctan2(np.hypot(c, d), np.hypot(a, b))
    is_at_zero, is_at_pi = np.abs(second) <= 1e-7, np.abs(second - np.pi) <= 1e-7
    is_regular = ~(is_at_zero | is_at_pi)
    if not suppress_warnings and holds(np.any(~is_regular)):
        warnings.warn(
            "Gimbal lock detected. Setting third angle to zero since it is not possible to uniquely determine "
            "all angles.",
            stacklevel=4,
        )
    locked = np.where(is_at_zero, 2 * half_sum, 2 * half_difference * (-1 if is_extrinsic else 1))
    zero = 0 * second
    first = np.where(is_regular, half_sum - half_difference, locked if is_extrinsic else zero)
    third = np.where(is_regular, half_sum + half_difference, zero if is_extrinsic else locked)
    if not is_symmetric:
        third, second = third * sign, second - lamb
    found = np.stack([first, second, third] if is_extrinsic else [third, second, first], axis=-1)
    return (found + np.pi) % (2 * np.pi) - np.pi


# ----------------------------------------------------------------------------------------------------------- the class


class TracedRotation(Rotation):
    """Rotations whose quaternions are traced: one, or an array of them."""

    def __init__(self, quat: Traced) -> None:
        pass

    def __new__(cls, quat: Traced) -> TracedRotation:
        made = Rotation.__new__(cls)
        made._traced = quat
        return made

    def _made(self, q: Traced) -> TracedRotation:
        return TracedRotation(q)

    @property
    def single(self) -> bool:
        return self._traced.ndim == 1

    @property
    def shape(self) -> tuple[int, ...]:
        return self._traced.shape[:-1]

    def __len__(self) -> int:
        if self.single:
            raise TypeError("Single rotation has no len().")
        return self._traced.shape[0]

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<rotations of traced quaternions {self._traced!r}>"

    def __reduce__(self) -> Any:
        raise unsupported("a rotation that holds traced values is not pickled", "r.as_quat()")

    def __iter__(self) -> Iterator[Any]:
        if self.single:
            raise TypeError("Single rotation is not iterable.")
        return iter([TracedRotation(self._traced[k]) for k in range(len(self))])

    def __getitem__(self, indexer: Any) -> Any:
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        return TracedRotation(self._traced[indexer])

    def __setitem__(self, indexer: Any, value: Any) -> None:
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        if not isinstance(value, Rotation):
            raise TypeError("value must be a Rotation object")
        changed = self._traced.copy()
        changed[indexer] = quat_of(value, self._traced)
        self._traced = changed

    def as_quat(self, canonical: bool = False, *, scalar_first: bool = False) -> Any:
        q = _canonical(self._traced) if canonical else self._traced
        return np.concatenate([q[..., 3:], q[..., :3]], axis=-1) if scalar_first else q

    def as_matrix(self) -> Any:
        return to_matrix(self._traced)

    def as_rotvec(self, degrees: bool = False) -> Any:
        found = to_rotvec(self._traced)
        return found / DEGREE if degrees else found

    def as_mrp(self) -> Any:
        q = self._traced
        sign = np.where(q[..., 3:] < 0, -1.0, 1.0)
        return sign * q[..., :3] / (1 + sign * q[..., 3:])

    def as_euler(self, seq: str, degrees: bool = False, *, suppress_warnings: bool = False) -> Any:
        axes, is_intrinsic = _order_of(seq, (3,))
        i, j, k = axes[::-1] if is_intrinsic else axes
        is_symmetric = i == k
        k = 3 - i - j if is_symmetric else k
        sign = (i - j) * (j - k) * (k - i) // 2
        q = self._traced
        w, x, y, z = q[..., 3], q[..., i], q[..., j], q[..., k] * sign
        abcd = (w, x, y, z) if is_symmetric else (w - y, x + z, y + w, z - x)
        found = _angles(not is_intrinsic, is_symmetric, sign, np.pi / 2, abcd, suppress_warnings)
        return found / DEGREE if degrees else found

    def as_davenport(
        self, axes: ArrayLike, order: str, degrees: bool = False, *, suppress_warnings: bool = False
    ) -> Any:
        is_extrinsic = _is_extrinsic(order)
        n = double(axes)
        if n.shape[-2] != 3:
            raise ValueError(f"Expected 3 axes, got {n.shape}.")
        if n.shape[-1] != 3:
            raise ValueError("Axes must be vectors of length 3.")
        n = n / norm(n)
        n1, n2, n3 = n[..., 0, :], n[..., 1, :], n[..., 2, :]
        if holds(np.any(dot(n1, n2) >= 1e-7) | np.any(dot(n2, n3) >= 1e-7)):
            raise ValueError("Consecutive axes must be orthogonal.")
        n1, n3 = (n1, n3) if is_extrinsic else (n3, n1)
        across = np.cross(n1, n2)
        lamb = np.arctan2(dot(n3, across), dot(n3, n1))
        is_turned = lamb < 0
        n2, across = [np.where(is_turned[..., None], -v, v) for v in (n2, across)]
        lamb = np.where(is_turned, -lamb, lamb)
        turn = np.concatenate([np.sin(lamb / 2)[..., None] * n2, np.cos(lamb / 2)[..., None]], axis=-1)
        q = product(turn, self._traced)
        abcd = (q[..., 3], dot(q[..., :3], n1), dot(q[..., :3], n2), dot(q[..., :3], across))
        found = _angles(is_extrinsic, False, 1, lamb, abcd, suppress_warnings)
        second = np.where(is_turned, -found[..., 1], found[..., 1])
        found = np.stack([found[..., 0], second, found[..., 2]], axis=-1)
        return found / DEGREE if degrees else found

    def apply(self, vectors: ArrayLike, inverse: bool = False) -> Any:
        return _apply(self, vectors, inverse)

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, Rotation):
            return NotImplemented
        return TracedRotation(normalized(product(self._traced, quat_of(other, self._traced))))

    def __rmul__(self, other: Any) -> Any:
        if not isinstance(other, Rotation):
            return NotImplemented
        return TracedRotation(normalized(product(quat_of(other, self._traced), self._traced)))

    def __pow__(self, n: Number, modulus: None = None) -> Any:
        if modulus is not None:
            raise NotImplementedError("modulus not supported")
        if not is_traced(n):
            n = float(np.reshape(concrete(n, "an exponent"), ()))
            if n in (1, -1):
                return TracedRotation(self._traced if n == 1 else conjugate(self._traced))
        return TracedRotation(of_rotvec(n * to_rotvec(self._traced)))

    def inv(self) -> Any:
        return TracedRotation(conjugate(self._traced))

    def magnitude(self) -> Any:
        return _magnitude(self._traced)

    def approx_equal(self, other: Any, atol: float | None = None, degrees: bool = False) -> Any:
        if atol is None:
            if degrees:
                warnings.warn("atol must be set to use the degrees flag, defaulting to 1e-8 radians.", stacklevel=2)
            atol = 1e-8
        elif degrees:
            atol = atol * DEGREE
        return _magnitude(product(quat_of(other, self._traced), conjugate(self._traced))) < atol

    def mean(self, weights: ArrayLike | None = None, axis: Any = None) -> Any:
        return _mean(self, weights, axis)

    def reduce(self, left: Any = None, right: Any = None, return_indices: bool = False) -> Any:
        if left is None and right is None:
            return (self, None, None) if return_indices else self
        raise unsupported("Rotation.reduce of traced rotations is not there", "left * r * right, with a chosen pair")

    def __getstate__(self) -> Any:
        return self.__reduce__()


_canonical = canonical


def dot(u: Traced, v: Traced) -> Any:
    return np.sum(u * v, axis=-1)


def _magnitude(q: Traced) -> Any:
    return 2 * np.arctan2(np.linalg.norm(q[..., :3], axis=-1), np.abs(q[..., 3]))


def quat_of(r: Any, near: Traced) -> Any:
    """The quaternion of a rotation: one that holds no traced value is a constant."""
    return r._traced if type(r) is TracedRotation else constant(trace_near((near,)), np.array(r.as_quat()))


def _is_extrinsic(order: str) -> bool:
    if order in ("e", "extrinsic", "i", "intrinsic"):
        return order in ("e", "extrinsic")
    raise ValueError(
        "order should be 'e'/'extrinsic' for extrinsic sequences or 'i'/'intrinsic' for intrinsic sequences, "
        f"got {order}"
    )


def _apply(r: Any, vectors: ArrayLike, inverse: bool = False) -> Any:
    v = double(vectors)
    if v.shape[-1] != 3:
        raise ValueError(f"Expected input of shape (..., 3), got {v.shape}.")
    m = to_matrix(quat_of(r, v))
    if inverse:
        m = np.swapaxes(m, -1, -2)
    return np.sum(m * v[..., None, :], axis=-1)


def _mean(r: Any, weights: ArrayLike | None, axis: Any) -> Any:
    """The eigenvector of the largest eigenvalue of Σ w q qᵀ.  Source: Markley et al. (2007), J. Guidance 30:4."""
    near = array(weights) if weights is not None else r._traced
    q = quat_of(r, near)
    if q.ndim == 1:
        q = q[None]
    if q.shape[0] == 0:
        raise ValueError("Mean of an empty rotation set is undefined.")
    every = tuple(range(q.ndim - 1))
    over = every if axis is None else tuple(sorted({k % (q.ndim - 1) for k in np.atleast_1d(axis)}))
    outer = q[..., :, None] * q[..., None, :]
    if weights is not None:
        w = double(weights)
        if holds(np.any(w < 0)):
            raise ValueError("`weights` must be non-negative.")
        outer = w[..., None, None] * outer
    return TracedRotation(np.linalg.eigh(np.mean(outer, axis=over))[1][..., -1])


# ------------------------------------------------------------------------------------------------------- constructors


def _of_quat(quat: ArrayLike, normalize: bool = True, scalar_first: bool = False) -> TracedRotation:
    q = double(quat)
    if q.shape[-1] != 4:
        raise ValueError(f"Expected `quat` to have shape (..., 4), got {q.shape}.")
    if scalar_first:
        q = np.concatenate([q[..., 1:], q[..., :1]], axis=-1)
    return TracedRotation(normalized(q) if normalize else q)


@intercepts(f"{PLACE}:Rotation.from_quat")
def from_quat(quat: ArrayLike, *, scalar_first: bool = False) -> Any:
    return _of_quat(quat, True, scalar_first)


@intercepts(f"{PLACE}:Rotation.__init__")
def init(r: Any, quat: ArrayLike, normalize: bool = True, copy: bool = True, scalar_first: bool = False) -> None:
    """The object is there already: it becomes one that holds traced values."""
    r.__class__ = TracedRotation
    r._traced = _of_quat(quat, normalize, scalar_first)._traced


@intercepts(f"{PLACE}:Rotation.from_matrix")
def from_matrix(matrix: ArrayLike, *, assume_valid: bool = False) -> Any:
    """A matrix that is not orthogonal is replaced by the nearest that is, as in SciPy."""
    m = double(matrix)
    if m.shape[-2:] != (3, 3):
        raise ValueError(f"Expected `matrix` to have shape (..., 3, 3), got {m.shape}")
    if not assume_valid:
        if holds(np.any(np.linalg.det(m) <= 0)):
            raise ValueError("Non-positive determinant (left-handed or null coordinate frame) in rotation matrix")
        m = nearest_orthogonal(m)
    return TracedRotation(of_matrix(m))


@intercepts(f"{PLACE}:Rotation.from_rotvec")
def from_rotvec(rotvec: ArrayLike, degrees: bool = False) -> Any:
    v = double(rotvec)
    if v.shape[-1] != 3:
        raise ValueError(f"Expected `rot_vec` to have shape (..., 3), got {v.shape}")
    return TracedRotation(of_rotvec(v * DEGREE if degrees else v))


@intercepts(f"{PLACE}:Rotation.from_mrp")
def from_mrp(mrp: ArrayLike) -> Any:
    v = double(mrp)
    if v.shape[-1] != 3:
        raise ValueError(f"Expected `mrp` to have shape (..., 3), got {v.shape}")
    square = np.sum(v * v, axis=-1, keepdims=True) + 1
    return TracedRotation(np.concatenate([2 * v, 2 - square], axis=-1) / square)


@intercepts(f"{PLACE}:Rotation.from_euler")
def from_euler(seq: str, angles: ArrayLike, degrees: bool = False) -> Any:
    axes, is_intrinsic = _order_of(seq, (1, 2, 3))
    a = double(angles)
    if degrees:
        a = a * DEGREE
    if a.ndim == 0:
        a = a[None]
        is_one = True
    else:
        is_one = len(axes) > 1
    if a.shape[-1] != len(axes):
        if len(axes) == 1 and a.ndim == 1:  # SciPy before 1.17 takes (N,) for one axis
            a = a[:, None]
        else:
            raise ValueError(
                f"Expected last dimension of `angles` to match number of sequence axes specified, got {a.shape[-1]}."
            )
    elif len(axes) == 1 and not is_one and a.ndim == 1:
        is_one = True
    q = _about(axes[0], a[..., 0])
    for k in range(1, len(axes)):
        turn = _about(axes[k], a[..., k])
        q = product(q, turn) if is_intrinsic else product(turn, q)
    return TracedRotation(q)


@intercepts(f"{PLACE}:Rotation.from_davenport")
def from_davenport(axes: ArrayLike, order: str, angles: ArrayLike, degrees: bool = False) -> Any:
    is_extrinsic = _is_extrinsic(order)
    n, a = double(axes), double(angles)
    if n.shape[-1] != 3:
        raise ValueError("Axes must be vectors of length 3.")
    if n.ndim == 1:
        n = n[None]
    if a.ndim == 0:
        a = a[None]
    count = n.shape[-2]
    if not 1 <= count <= 3:
        raise ValueError(f"Expected up to 3 axes, got {count}")
    n = n / norm(n)
    for k in range(count - 1):
        if holds(np.any(np.abs(dot(n[..., k, :], n[..., k + 1, :])) > 1e-7)):
            raise ValueError("Consecutive axes must be orthogonal.")
    if a.shape[-1] != count:
        raise ValueError(f"Expected `angles` to match number of axes, got {a.shape} angles and {n.shape} axes.")
    if degrees:
        a = a * DEGREE
    q: Any = None
    for k in range(count):
        turn = of_rotvec(a[..., k, None] * n[..., k, :])
        q = turn if q is None else product(turn, q) if is_extrinsic else product(q, turn)
    return TracedRotation(q)


@intercepts(f"{PLACE}:Rotation.apply")
def apply(r: Any, vectors: ArrayLike, inverse: bool = False) -> Any:
    return _apply(r, vectors, inverse)


@intercepts(f"{PLACE}:Rotation.mean")
def mean(r: Any, weights: ArrayLike | None = None, axis: Any = None) -> Any:
    return _mean(r, weights, axis)


@intercepts(f"{PLACE}:Rotation.__pow__")
def power(r: Any, n: Number, modulus: None = None) -> Any:
    return TracedRotation(quat_of(r, array(n))) ** n


@intercepts(f"{PLACE}:Rotation.concatenate", AT_OBJECT)
def concatenate(rotations: Any) -> Any:
    if isinstance(rotations, Rotation):
        return TracedRotation(rotations._traced) if type(rotations) is TracedRotation else NotImplemented
    every = list(rotations) if isinstance(rotations, list | tuple) else []
    near = next((r._traced for r in every if type(r) is TracedRotation), None)
    if near is None:
        return NotImplemented
    if not all(isinstance(r, Rotation) for r in every):
        raise TypeError("input must contain Rotation objects only")
    return TracedRotation(np.concatenate([np.reshape(quat_of(r, near), (-1, 4)) for r in every]))


@intercepts(f"{PLACE}:Rotation.align_vectors")
def align_vectors(
    a: ArrayLike, b: ArrayLike, weights: ArrayLike | None = None, return_sensitivity: bool = False
) -> Any:
    """The rotation that takes b to a, in the sense of least squares.

    Source: Markley (1988), J. Astronaut. Sci. 36:3.
    """
    x, y = double(a), double(b)
    if x.ndim != 2 or y.ndim != 2 or x.shape[0] < 2:
        raise unsupported(
            "Rotation.align_vectors of one pair of traced vectors is not there", "two or more pairs, as arrays (n, 3)"
        )
    if x.shape[-1] != 3 or y.shape[-1] != 3:
        raise ValueError(f"Expected inputs `a` and `b` to have shape (3,) or (N, 3), got {x.shape} and {y.shape}")
    if x.shape != y.shape:
        raise ValueError(f"Expected inputs `a` and `b` to have same shapes, got {x.shape} and {y.shape} respectively.")
    w: Any = np.ones(x.shape[0]) if weights is None else double(weights)
    if weights is not None:
        if w.shape != x.shape[:1]:
            raise ValueError(
                "Expected `weights` to have number of values equal to number of input vectors, got "
                f"{w.shape[0]} values and {x.shape[0]} vectors."
            )
        if holds(np.any(w < 0)):
            raise ValueError("`weights` may not contain negative values")
        if holds(np.any(w == np.inf)):
            raise unsupported("Rotation.align_vectors with an infinite weight is not traced", "a large weight")
    moment = (w[:, None] * x).T @ y
    u, s, vt = np.linalg.svd(moment)
    is_mirrored = np.linalg.det(u @ vt) < 0
    sign = np.where(is_mirrored, -1.0, 1.0)
    flip = np.stack([1 + 0 * sign, 1 + 0 * sign, sign])
    rotation = (u * flip) @ vt
    s = s * flip
    square = np.maximum(np.sum(w * np.sum(x**2 + y**2, axis=-1)) - 2 * np.sum(s), 0.0)
    is_exact = square == 0
    rssd = np.where(is_exact, 0.0, np.sqrt(np.where(is_exact, 1.0, square)))
    found = TracedRotation(of_matrix(rotation))
    if not return_sensitivity:
        return found, rssd
    zeta = (s[0] + s[1]) * (s[1] + s[2]) * (s[2] + s[0])
    kappa = s[0] * s[1] + s[1] * s[2] + s[2] * s[0]
    eye = constant(trace_near((x,)), np.eye(3))
    return found, rssd, np.mean(w) / zeta * (kappa * eye + moment @ moment.T)


# --------------------------------------------------------------------------------------------------------------- Slerp


SLERP = "Slerp" if SCIPY >= (1, 17) else "SlerpOfCython"
"""An older SciPy's keeps its own code: it is made of a Rotation of Cython, and there is nothing of that name."""


@intercepts(f"{PLACE}:{SLERP}.__init__", AT_OBJECT)
def slerp_init(s: Any, times: ArrayLike, rotations: Any) -> Any:
    if not is_traced(times) and type(rotations) is not TracedRotation:
        return NotImplemented
    if not isinstance(rotations, Rotation):
        raise TypeError("`rotations` must be a `Rotation` instance.")
    if rotations.single or len(rotations) <= 1:
        raise ValueError("`rotations` must be a sequence of at least 2 rotations.")
    near: Any = rotations._traced if type(rotations) is TracedRotation else times
    at = double(times)
    if at.ndim != 1:
        raise ValueError(f"Expected times to be specified in a 1 dimensional array, got {at.ndim} dimensions.")
    if at.shape[0] != len(rotations):
        raise ValueError(
            "Expected number of rotations to be equal to number of timestamps given, got "
            f"{len(rotations)} rotations and {at.shape[0]} timestamps."
        )
    q = quat_of(rotations, near)
    s.times, s.timedelta = at, at[1:] - at[:-1]
    if holds(np.any(s.timedelta <= 0)):
        raise ValueError("Times must be in strictly increasing order.")
    s.rotations = TracedRotation(q[:-1])
    s.rotvecs = to_rotvec(product(conjugate(q[:-1]), q[1:]))
    return None


@intercepts(f"{PLACE}:{SLERP}.__call__", AT_OBJECT)
def slerp_call(s: Any, times: ArrayLike) -> Any:
    if type(s.rotations) is not TracedRotation and not is_traced(times):
        return NotImplemented
    at = double(times)
    near = at if is_traced(at) else s.times
    if at.ndim > 1:
        raise ValueError("`times` must be at most 1-dimensional.")
    known, spans, turns = [double(v) for v in (s.times, s.timedelta, s.rotvecs)]
    q = quat_of(s.rotations, near)
    where = np.clip(np.searchsorted(known, at) - 1, 0, q.shape[0] - 1)
    if holds(np.any((at < known[0]) | (at > known[-1]))):
        raise ValueError("Interpolation times must be within the range of the times given, both inclusive.")
    alpha = (at - known[where]) / spans[where]
    return TracedRotation(normalized(product(q[where], of_rotvec(turns[where] * alpha[..., None]))))


refuses(
    PLACE,
    ["RotationSpline", "RotationSpline.__call__"],
    "splines of traced rotations are not there",
    "Slerp",
)
