from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate as s
from scipy._lib._array_api import np_compat

X = np.array([0.0, 0.5, 1.3, 2.0, 3.1, 4.0, 5.2])
Y = np.sin(X)
KNOTS = np.array([0.0, 0, 0, 0, 1.5, 2.7, 5.2, 5.2, 5.2, 5.2])
C = np.arange(6.0) ** 2
TCK: Any = (KNOTS, C, 3)
PADDED: Any = (KNOTS, np.concatenate([C, np.zeros(4)]), 3)
PIECES, BREAKS, AT = np.arange(12.0).reshape(4, 3, 1), np.array([0.0, 1.0, 2.3, 3.0]), np.array([0.3, 1.2])
SURFACE: Any = (KNOTS, KNOTS, np.arange(36.0) ** 0.5, 3, 3)
SPOTS = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1], [0.4, 0.3]])
GRID = np.arange(12.0).reshape(3, 4)
LINES: Any = (np.arange(3.0), np.arange(4.0))
POLYNOMIAL, SPLINE = s.PPoly(PIECES, BREAKS), s.BSpline(KNOTS, C, 3)
LINEAR, NEAREST = s.LinearNDInterpolator(SPOTS, SPOTS[:, 0]), s.NearestNDInterpolator(SPOTS, SPOTS[:, 0])
RADIAL = s.Rbf(X, Y, Y)
SMOOTHING, POWERS = np.zeros(5), np.zeros((1, 2), dtype=int)
INSIDE = np.array([[0.5, 0.6], [0.3, 0.2]])


class Namespace:
    """SciPy's names of NumPy's functions, as an object that can be copied."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np_compat, name)

    def __deepcopy__(self, memo: Any) -> Namespace:
        return self


NAMESPACE = Namespace()
TRIANGLES = "scipy.interpolate._interpnd" if hasattr(s, "_interpnd") else "scipy.interpolate.interpnd"


def out(columns: int = 1) -> Any:
    return np.empty((2, columns))


CALLS: dict[str, list[Any]] = {
    "scipy.interpolate._ppoly.evaluate": [((PIECES, BREAKS, AT, 0, True, out()), {})],
    "scipy.interpolate._ppoly.evaluate_bernstein": [((PIECES, BREAKS, AT, 1, False, out()), {})],
    "scipy.interpolate._ppoly.evaluate_nd": [
        (
            (
                np.ones((4, 9, 1)),
                (BREAKS, BREAKS),
                np.array([2, 2], np.intc),
                INSIDE,
                np.zeros(2, np.intc),
                True,
                out(),
            ),
            {},
        )
    ],
    "scipy.interpolate._ppoly.fix_continuity": [((PIECES.copy(), BREAKS, 1), {})],
    "scipy.interpolate._ppoly.integrate": [((PIECES, BREAKS, 0.2, 1.7, True, np.empty(1)), {})],
    "scipy.interpolate._ppoly.real_roots": [((PIECES - 3, BREAKS, 0.0, True, False), {})],
    "scipy.interpolate.PPoly.solve": [((s.PPoly(PIECES[..., 0] - 3, BREAKS), 0.1), {})],
    "scipy.interpolate.PPoly.roots": [((s.PPoly(PIECES[..., 0] - 3, BREAKS),), {})],
    "scipy.interpolate._interpolate._PPolyBase._ensure_c_contiguous": [((POLYNOMIAL,), {})],
    "scipy.interpolate.BSpline._ensure_c_contiguous": [((SPLINE,), {})],
    "scipy.interpolate.BSpline.__call__": [((SPLINE, AT), {})],
    "scipy.interpolate._dierckx.evaluate_spline": [((KNOTS, C[:, None], 3, AT, 0, True), {})],
    "scipy.interpolate._dierckx.find_interval": [((KNOTS, 3, 0.4, 3, False), {})],
    "scipy.interpolate._dierckx.evaluate_all_bspl": [((KNOTS, 3, 0.4, 3, 0), {})],
    "scipy.interpolate._dierckx._coloc": [((X[:6], KNOTS, 3, np.zeros((6, 10)), 0), {})],
    "scipy.interpolate._bsplines.get_lapack_funcs": [(((), (X, Y)), {})],
    "scipy.interpolate.make_lsq_spline": [((X, Y, KNOTS), {}), ((X[::-1], Y, KNOTS), {})],
    "scipy.interpolate.NdBSpline.__call__": [((s.NdBSpline((KNOTS, KNOTS), np.ones((6, 6)), 3), INSIDE), {})],
    "scipy.interpolate._ndbspline.make_ndbspl": [((LINES, GRID, 1), {})],
    "scipy.interpolate._bsplines._as_float_array": [((X, True), {}), ((X * np.nan, True), {})],
    "scipy.interpolate.make_interp_spline": [((X, Y), {}), ((X, Y), {"k": 5}), ((X, Y * np.nan), {})],
    "scipy.interpolate.make_smoothing_spline": [((X, Y), {"lam": 0.2}), ((X[:4], Y[:4]), {"lam": 0.2})],
    "scipy.interpolate._cubic.prepare_input": [((X, Y, 0), {"xp": NAMESPACE}), ((X, Y * np.nan, 0), {"xp": NAMESPACE})],
    "scipy.interpolate.barycentric_interpolate": [((X, Y, AT), {"rng": 1}), ((X, Y, AT), {"rng": 1, "der": 1})],
    "scipy.interpolate._fitpack_impl.splev": [((AT, TCK), {}), ((AT, TCK, 4), {})],
    "scipy.interpolate._fitpack_impl.splint": [((0.1, 2.0, TCK), {})],
    "scipy.interpolate._fitpack_impl.splder": [((PADDED,), {}), ((PADDED, 4), {})],
    "scipy.interpolate._fitpack_impl.spalde": [((0.4, TCK), {})],
    "scipy.interpolate._fitpack_impl.sproot": [((TCK,), {}), ((TCK[:2] + (2,),), {})],
    "scipy.interpolate._fitpack_impl.insert": [((0.4, PADDED), {})],
    "scipy.interpolate._fitpack_impl.splrep": [((X, Y), {}), ((X, Y), {"k": 9})],
    "scipy.interpolate.UnivariateSpline.__init__": [((object.__new__(s.UnivariateSpline), X, Y), {})],
    "scipy.interpolate.InterpolatedUnivariateSpline.__init__": [
        ((object.__new__(s.InterpolatedUnivariateSpline), X, Y), {})
    ],
    "scipy.interpolate.LSQUnivariateSpline.__init__": [((object.__new__(s.LSQUnivariateSpline), X, Y, [2.2]), {})],
    "scipy.interpolate._dfitpack.bispev": [((*SURFACE, AT, AT), {})],
    "scipy.interpolate._dfitpack.bispeu": [((*SURFACE, AT, AT), {})],
    "scipy.interpolate._dfitpack.parder": [((*SURFACE, 1, 0, AT, AT), {})],
    "scipy.interpolate._dfitpack.pardeu": [((*SURFACE, 1, 0, AT, AT), {})],
    "scipy.interpolate._dfitpack.dblint": [((*SURFACE, 0.1, 2.0, 0.2, 3.0), {})],
    "scipy.interpolate._dfitpack.regrid_smth": [((X, X, np.outer(X, X).ravel()), {"s": 0.0})],
    "scipy.interpolate._rgi_cython.find_indices": [((LINES, INSIDE.copy()), {})],
    "scipy.interpolate._rgi_cython.evaluate_linear_2d": [
        ((GRID, np.array([[0, 1], [1, 2]]), INSIDE.copy(), LINES, np.empty(2)), {})
    ],
    "scipy.interpolate._rbfinterp_np._build_and_solve_system": [
        ((SPOTS, SPOTS[:, :1].copy(), SMOOTHING, "linear", 1.0, POWERS, None), {})
    ],
    "scipy.interpolate._rbfinterp_np.compute_interpolation": [
        ((INSIDE, SPOTS, "linear", 1.0, POWERS, np.zeros(2), np.ones(2), np.ones((6, 1)), None), {})
    ],
    "scipy.interpolate.interp1d._check_bounds": [
        ((s.interp1d([0.0, 1.0, 2.0], [0.0, 1.0, 4.0]), np.array([0.5])), {}),
        ((s.interp1d([0.0, 1.0, 2.0], [0.0, 1.0, 4.0]), np.array([9.5])), {}),
    ],
    "scipy.interpolate.RegularGridInterpolator._prepare_xi": [
        ((s.RegularGridInterpolator(([0.0, 1.0, 2.0],), np.arange(3.0)), np.array([[0.5]])), {}),
        ((s.RegularGridInterpolator(([0.0, 1.0, 2.0],), np.arange(3.0)), np.array([[9.5]])), {}),
    ],
    "scipy.interpolate.RBFInterpolator.__call__": [
        ((s.RBFInterpolator(SPOTS, SPOTS[:, 0], 3), SPOTS), {}),
        ((s.RBFInterpolator(SPOTS, SPOTS[:, 0]), SPOTS), {}),
    ],
    "scipy.interpolate.RBFInterpolator.__init__": [
        ((s.RBFInterpolator(SPOTS, SPOTS[:, 0]), SPOTS, SPOTS[:, 1]), {}),
        ((s.RBFInterpolator(SPOTS, SPOTS[:, 0]), SPOTS, SPOTS[:, 1]), {"kernel": "gaussian"}),
    ],
    "scipy.interpolate.Rbf._call_norm": [((RADIAL, X[None], X[None]), {})],
    f"{TRIANGLES}._ndim_coords_from_arrays": [(((AT, AT),), {})],
    f"{TRIANGLES}.LinearNDInterpolator": [((SPOTS, SPOTS[:, 0]), {}), ((SPOTS, SPOTS[:2, 0]), {})],
    f"{TRIANGLES}.NDInterpolatorBase.__call__": [((LINEAR, INSIDE), {})],
    "scipy.interpolate.NearestNDInterpolator": [((SPOTS, SPOTS[:, 0]), {})],
    "scipy.interpolate.NearestNDInterpolator.__call__": [((NEAREST, INSIDE), {})],
}
