"""Rotations that hold traced values: against SciPy, and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, RotationSpline, Slerp

import wengert as wg
from tests.differences import check, check_value
from wengert.errors import UnsupportedFunctionError

RNG = np.random.default_rng(0)
Q, V = RNG.standard_normal((4, 4)), RNG.standard_normal((4, 3))
TIMES = np.arange(4.0)


def test_each_form_of_one_and_of_many() -> None:
    def of_quaternions(q: Any) -> Any:
        r = Rotation.from_quat(q)
        found = [r.as_quat(), r.as_rotvec(degrees=True), r.as_mrp(), r.as_quat(canonical=True, scalar_first=True)]
        return np.concatenate([*found, r.as_matrix().reshape(-1, 9)], axis=-1)

    check(of_quaternions, Q, rtol=1e-6)
    check(lambda v: Rotation.from_rotvec(v).as_matrix() + Rotation.from_mrp(v).as_matrix(), V)
    check(lambda q: Rotation(q).as_matrix() @ Rotation.from_quat(q, scalar_first=True).as_matrix(), Q[0])
    check(lambda m: Rotation.from_matrix(m).as_rotvec(), Rotation.from_quat(Q).as_matrix())
    check(lambda m: Rotation.from_matrix(m).as_quat(), Rotation.from_quat(Q[0]).as_matrix() * 1.5)


@pytest.mark.sampled(3, "each order is one formula of the axes")
@pytest.mark.parametrize("order", ["xyz", "XYZ", "zxz", "ZYX", "YXY"])
def test_angles_in_each_order(order: str) -> None:
    check(lambda v: Rotation.from_euler(order, v, degrees=True).as_quat(), V)
    check(lambda q: Rotation.from_quat(q).as_euler(order), Q)


def test_angles_of_few_axes_and_davenports() -> None:
    check(lambda a: Rotation.from_euler("z", a).as_matrix(), np.array(0.4))
    check(lambda a: Rotation.from_euler("xy", a).as_matrix(), V[0, :2])
    check(lambda a: Rotation.from_davenport(np.eye(3), "e", a).as_quat(), V)
    check(lambda q: Rotation.from_quat(q).as_davenport(np.eye(3), "i", degrees=True), Q, rtol=1e-6)


def test_at_no_angle_derivatives_are_those_of_the_series() -> None:
    for scale in (0.0, 1e-5, 1e-3):
        check(lambda v: Rotation.from_rotvec(v).as_rotvec(), scale * V)
    np.testing.assert_allclose(wg.hessian(lambda v: Rotation.from_rotvec(v).as_quat()[3])(np.zeros(3)), -np.eye(3) / 4)


@pytest.mark.deep("more than a second")
def test_products_powers_and_vectors() -> None:
    def composed(q: Any, v: Any, n: Any) -> Any:
        r, s = Rotation.from_quat(q), Rotation.from_quat(Q[::-1])
        found = (r * s).apply(v) + (s * r.inv()).apply(v, inverse=True) + s.apply(v) + (r[0] ** n * r[1]).apply(v)
        found = found + (s**n).apply(v) + Rotation.concatenate([r, s])[2:6].apply(v)
        return found + r.magnitude()[:, None] + r.mean(np.arange(1.0, 5)).apply(v[0])

    check(composed, Q, V, np.array(0.3))
    check(lambda w: Rotation.from_quat(Q).mean(w).as_matrix(), np.arange(1.0, 5))
    assert wg.jit(lambda q: Rotation.from_quat(q).approx_equal(Rotation.from_quat(Q)))(Q).all()


def test_rotations_between_two_sets_of_vectors() -> None:
    def aligned(a: Any, b: Any) -> Any:
        found: Any = Rotation.align_vectors(a, b, return_sensitivity=True)
        r, distance, sensitivity = found
        return np.concatenate([np.ravel(r.as_matrix()), [distance], np.ravel(sensitivity)])

    check(aligned, V, V[::-1] + 0.1 * V)


@pytest.mark.deep("more than a second")
def test_slerp() -> None:
    at = np.array([0.0, 1.5, 2.7])
    check(lambda q, at: Slerp(TIMES, Rotation.from_quat(q))(at).as_matrix(), Q, at[1:])
    check_value(lambda q: Slerp(TIMES, Rotation.from_quat(q))(at).as_matrix(), Q)
    check(lambda at: Slerp(TIMES, Rotation.from_quat(Q))(at).as_matrix(), at[1:])
    check(lambda times: Slerp(times, Rotation.from_quat(Q))(1.6).as_rotvec(), TIMES)


def test_batches_and_containers() -> None:
    turned = wg.vmap(lambda q: Rotation.from_quat(q).apply(V[0]))(Q)
    np.testing.assert_allclose(turned, Rotation.from_quat(Q).apply(V[0]), rtol=1e-14)
    assert wg.jit(lambda q: len(Rotation.from_quat(q)) * q[0, 0])(Q) == 4 * Q[0, 0]

    def replaced(q: Any) -> Any:
        r = Rotation.from_quat(q)
        r[1] = Rotation.from_quat(Q[3])
        return np.stack([one.as_rotvec() for one in r])

    check(replaced, Q)


@pytest.mark.parametrize(
    "call",
    [
        lambda q: Rotation.from_quat(q[:, :3]),
        lambda q: Rotation.from_quat(0 * q),
        lambda q: Rotation.from_euler("xxz", q[:, :3]),
        lambda q: Rotation.from_euler("xyz", q),
        lambda q: Rotation.from_quat(q).as_euler("ab"),
        lambda q: Rotation.from_quat(q).apply(q),
        lambda q: Rotation.from_quat(q).mean(-np.ones(4)),
        lambda q: Rotation.align_vectors(q[:, :3], q[:2, :3]),
        lambda q: Slerp(TIMES[::-1], Rotation.from_quat(q)),
        lambda q: Slerp(TIMES, Rotation.from_quat(q))(9.0),
        lambda q: len(Rotation.from_quat(q[0])),
    ],
)
def test_errors_are_scipys(call: Any) -> None:
    with pytest.raises((ValueError, TypeError)) as expected:
        call(Q)
    with pytest.raises(expected.type) as found:
        wg.jit(call)(Q)
    assert str(found.value)[:14] == str(expected.value)[:14]


def test_splines_are_refused() -> None:
    with pytest.raises(UnsupportedFunctionError, match="Slerp"):
        wg.grad(lambda t: RotationSpline(TIMES * t, Rotation.from_quat(Q))(0.5).magnitude())(1.0)


def test_a_turn_by_hand() -> None:
    """d/dθ of (cos θ, sin θ, 0) at 0."""
    turn = wg.jacobian(lambda a: Rotation.from_euler("z", a).apply([1.0, 0.0, 0.0]))(0.0)
    np.testing.assert_allclose(turn, [0, 1, 0], atol=1e-16)
