"""Rigid transforms that hold traced values: against SciPy, and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial import transform
from scipy.spatial.transform import Rotation

import wengert as wg
from tests.differences import check

RigidTransform: Any = getattr(transform, "RigidTransform", None)
if RigidTransform is None:
    pytest.skip("RigidTransform came with SciPy 1.16", allow_module_level=True)

RNG = np.random.default_rng(0)
Q, T, V = RNG.standard_normal((3, 4)), RNG.standard_normal((3, 3)), RNG.standard_normal(3)
S = RNG.standard_normal((3, 6))


@pytest.mark.deep("each form is compared with differences; products use the same formulas")
def test_each_form() -> None:
    def forms(q: Any, t: Any, s: Any) -> Any:
        one = RigidTransform.from_components(t, Rotation.from_quat(q))
        found = [one.as_exp_coords(), one.as_dual_quat(), one.translation, one.rotation.as_quat()]
        found += [RigidTransform.from_exp_coords(s).as_dual_quat(scalar_first=True), one.as_components()[0]]
        found.append(RigidTransform.from_dual_quat(one.as_dual_quat() + 0.1 * s[:, :1]).as_matrix().reshape(-1, 16))
        return np.concatenate(found, axis=-1)

    check(forms, Q, T, S, rtol=1e-6)
    whole = lambda m: RigidTransform.from_matrix(np.concatenate([m, [[0.0, 0.0, 0.0, 1.0]]])).as_matrix()
    check(whole, 1.5 * RigidTransform.from_exp_coords(S[0]).as_matrix()[:3])
    check(lambda x: RigidTransform.from_exp_coords(x).as_matrix(), np.zeros(6))


@pytest.mark.deep("more than a second")
def test_products_powers_and_means() -> None:
    other = RigidTransform.from_exp_coords(S[::-1])

    n = 0.25  # SciPy takes an exponent as a float of 32 bits

    def composed(s: Any, v: Any) -> Any:
        one = RigidTransform.from_exp_coords(s)
        found = (one * other).apply(v) + (other * one).inv().apply(v, inverse=True) + (one**n).apply(v)
        found = found + other.apply(v) + (other**n).apply(v) + one.mean(np.arange(1.0, 4)).apply(v)
        found = found + RigidTransform.concatenate([one, other])[1:4].apply(v)
        return found + (RigidTransform.from_translation(v) * RigidTransform.from_rotation(one[0].rotation)).apply(V)

    check(composed, S, V, rtol=1e-6)
    by_n = wg.grad(lambda n: (RigidTransform.from_translation(V) ** n).apply(V)[0])(0.5)
    np.testing.assert_allclose(by_n, V[0], rtol=1e-14)
    assert wg.jit(lambda s: len(RigidTransform.from_exp_coords(s)) * s[0, 0])(S) == 3 * S[0, 0]


@pytest.mark.parametrize(
    "call",
    [
        lambda s: RigidTransform.from_exp_coords(s[:, :5]),
        lambda s: RigidTransform.from_matrix(s[0, :4] + np.ones((4, 4))),
        lambda s: RigidTransform.from_exp_coords(s).apply(s),
    ],
)
def test_errors_are_scipys(call: Any) -> None:
    with pytest.raises(ValueError, match=r".") as expected:
        call(S)
    with pytest.raises(ValueError, match=r".") as found:
        wg.jit(call)(S)
    assert str(found.value)[:10] == str(expected.value)[:10]
