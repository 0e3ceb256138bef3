"""Series and DataFrames keep their index through traced functions, aligned by pandas itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import wengert as wg

S = pd.Series([1.0, 2.0, 3.0], index=list("abc"), name="q")
D = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [0.5, 0.2, 0.1]}, index=list("abc"))
WRAPS = pytest.mark.parametrize("wrap", [lambda f: f, wg.jit], ids=["plain", "jit"])
SLOW = pytest.mark.filterwarnings("ignore::wengert.PerformanceWarning")  # jit says where it answers by Python


def differences(f: Any, s: Any) -> Any:
    found = s.copy() * 0
    for at in np.ndindex(s.shape):
        ends = []
        for step in (-1e-6, 1e-6):
            moved = s.copy()
            moved.iloc[at] += step
            ends.append(float(f(moved)))
        found.iloc[at] = (ends[1] - ends[0]) / 2e-6
    return found


SERIES = {
    "sum": lambda s: (s * s).sum(),
    "loc": lambda s: s["a"] ** 2 * s.loc["b"] + s.iloc[-1],
    "NumPy's functions": lambda s: np.sum(np.exp(-s) * np.sin(s)),
    "np.where": lambda s: np.sum(np.where(s > 1.5, s**2, s)),
    "np.std": np.std,
    "std": lambda s: s.std() + s.var(ddof=0),
    "mask": lambda s: (s[s > 1.5] ** 2).sum(),
    "where": lambda s: (s.where(s > 1.5, 0.0) ** 2).sum(),
    "align": lambda s: (s * s[::-1] + s[["b", "c"]]).sum(),
    "concat": lambda s: (pd.concat([s, 2 * s]) ** 2).sum(),
    "diff": lambda s: (s.diff().dropna() ** 2).sum(),
    "shift": lambda s: (s * s.shift(1)).sum(),
    "cumsum": lambda s: (s.cumsum() ** 2).sum(),
    "groupby": lambda s: (s.groupby([0, 0, 1]).mean() ** 2).sum(),
    "dot": lambda s: s.dot(s) + s @ s,
    "matrix": lambda s: (np.arange(6.0).reshape(2, 3) @ s).sum(),
    "items": lambda s: sum(x**2 for _, x in s.items()),
    "values": lambda s: (s.values**2).sum() + s.to_numpy()[0],
    "reindex": lambda s: s.reindex(list("cbz")).sum(),
    "arithmetic methods": lambda s: s.mul(2).add(1).pow(2).sub(s).div(3).sum(),
    "branch": lambda s: s.sum() if s.max() > 2 else 0 * s.sum(),
    "min": lambda s: s.min() * s.max() * s.prod() + s.median(),
    "interp": lambda s: np.interp(1.5, np.array([1.0, 2.0, 3.0]), s),
}
FRAMES = {
    "columns": lambda d: np.sum(d["x"] ** 2 * d["y"]),
    "attributes": lambda d: ((d.x * 2 - d.y) ** 2).mean(),
    "reductions": lambda d: (d.sum() ** 2).sum() + (d.mean(axis=1) ** 2).sum(),
    "whole": lambda d: (d * d + 1).sum().sum(),
    "assign": lambda d: d.assign(z=d.x * d.y).z.sum(),
    "to_numpy": lambda d: (d.to_numpy() @ np.array([1.0, 2.0]) * d.values[:, 0]).sum(),
    "rows": lambda d: sum(r.x * r.y for _, r in d.iterrows()) + d.loc["a", "x"],
    "transpose": lambda d: (d.T["a"] ** 2).sum(),
}


@pytest.mark.parametrize("name", list(SERIES))
@WRAPS
@SLOW
def test_gradients_of_series(name: str, wrap: Any) -> None:
    value, slope = wrap(wg.value_and_grad(SERIES[name]))(S)
    np.testing.assert_allclose(value, SERIES[name](S), rtol=1e-14)
    assert type(slope) is pd.Series and slope.dtype == np.float64
    pd.testing.assert_series_equal(slope, differences(SERIES[name], S), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", list(FRAMES))
@WRAPS
@SLOW
def test_gradients_of_frames(name: str, wrap: Any) -> None:
    value, slope = wrap(wg.value_and_grad(FRAMES[name]))(D)
    np.testing.assert_allclose(value, FRAMES[name](D), rtol=1e-14)
    assert type(slope) is pd.DataFrame
    pd.testing.assert_frame_equal(slope, differences(FRAMES[name], D), rtol=1e-6, atol=1e-8)


def test_compiled_functions_return_labels() -> None:
    f = wg.jit(lambda s: s**2 + s["a"], strict=True)
    pd.testing.assert_series_equal(f(S), S**2 + 1.0)
    pd.testing.assert_series_equal(f(2 * S), (2 * S) ** 2 + 2.0)
    pd.testing.assert_frame_equal(wg.jit(lambda d: d * 2, strict=True)(D), D * 2)


def test_another_index_is_another_structure() -> None:
    f = wg.jit(lambda s: s["a"])
    assert f(S) == 1.0 and f(S.set_axis(list("bca"))) == 3.0
    assert wg.jit(lambda s: s * 1)(S.rename("p")).name == "p"


def test_two_arguments_are_aligned_by_their_labels() -> None:
    value, (one, two) = wg.jit(wg.value_and_grad(lambda a, b: (a * b).sum(), argnums=(0, 1)))(S, S[::-1])
    assert value == 14.0
    pd.testing.assert_series_equal(one, S)
    pd.testing.assert_series_equal(two, S[::-1])
    other = pd.Series([5.0, 7.0], index=["b", "z"])
    value, slope = wg.value_and_grad(lambda a, b: (a * b).sum())(S, other)
    assert value == 10.0 and list(slope) == [0.0, 5.0, 0.0]


@SLOW
@WRAPS
def test_captured_columns_and_traced_parameters(wrap: Any) -> None:
    def loss(p: Any) -> Any:
        return ((p["slope"] * D["x"] + p["offset"] - D.y) ** 2).mean() + (D.x * p["weights"]).sum()

    p = {"slope": 2.0, "offset": 0.3, "weights": np.array([1.0, 2.0, 3.0])}
    slope = wrap(wg.grad(loss))(p)
    r = 2.0 * D.x + 0.3 - D.y
    np.testing.assert_allclose(slope["slope"], (2 * r * D.x).mean())
    np.testing.assert_allclose(slope["offset"], (2 * r).mean())
    np.testing.assert_allclose(slope["weights"], D.x)


def test_columns_made_of_traced_values() -> None:
    def f(a: Any) -> Any:
        d = pd.DataFrame({"u": a * np.arange(3.0), "v": D.x.to_numpy()}, index=list("abc"))
        d["w"] = d.u * d.v
        return d.w.sum() + pd.Series([a, 2 * a], index=["p", "q"])["q"] + pd.Series(a, index=["r"])["r"]

    assert wg.grad(f)(2.0) == 8.0 + 2.0 + 1.0


def test_what_is_missing_is_skipped_as_by_pandas() -> None:
    s = pd.Series([1.0, np.nan, 2.0])
    assert list(wg.grad(lambda s: (s**2).sum())(s)) == [2.0, 0.0, 4.0]
    assert list(wg.grad(np.sum)(s)) == [1.0, 0.0, 1.0]
    assert list(wg.grad(lambda s: s.fillna(3.0).prod())(s)) == [6.0, 0.0, 3.0]
    assert list(wg.grad(lambda s: s.dropna().mean())(s)) == [0.5, 0.0, 0.5]


@SLOW
def test_columns_that_are_no_numbers_are_structure() -> None:
    d = D.assign(kind=["p", "q", "p"], when=pd.date_range("2026-01-01", periods=3))
    slope = wg.jit(wg.grad(lambda d: (d.x**2).where(d.kind == "p", 0.0).sum()))(d)
    assert list(slope.x) == [2.0, 0.0, 6.0] and list(slope.kind) == ["p", "q", "p"] and list(slope.y) == [0.0] * 3
    f = wg.jit(lambda d: (d.x**2).where(d.kind == "p", 0.0).sum())
    assert f(d) == 10.0 and f(d.assign(kind=["q", "q", "p"])) == 9.0


def test_products_with_derivatives_and_trees() -> None:
    _, pullback = wg.vjp(lambda s: s**2, S)
    pd.testing.assert_series_equal(pullback(S)[0], 2 * S * S)
    _, tangent = wg.jvp(lambda s: s**2, (S,), (S,))
    pd.testing.assert_series_equal(tangent, 2 * S * S)
    assert wg.tree.paths({"s": S, "d": D}) == ['["d"].x', '["d"].y', '["s"].values']
    pd.testing.assert_series_equal(wg.tree.map(lambda x, y: x - 0.5 * y, S, S), 0.5 * S)
    found = wg.optimize.minimize(lambda s: ((s - 1) ** 2).sum(), S)
    pd.testing.assert_series_equal(found.x, S * 0 + 1, rtol=1e-6)


def test_jacobians_and_batches_are_refused_with_what_to_write() -> None:
    for f in (wg.jacobian(lambda s: s**2), wg.vmap(lambda s: s * 2)):
        with pytest.raises(wg.errors.StructureError, match=r"does not fit the 3 labels .*\n *try +x\.to_numpy\(\)"):
            f(S)


@pytest.mark.parametrize(
    "f",
    [lambda s: s.rolling(2).sum().sum(), lambda s: s.sort_values().iloc[0], lambda s: s.apply(lambda x: x**2).sum()],
)
def test_what_of_pandas_needs_memory_is_refused(f: Any) -> None:
    with pytest.raises(wg.errors.WengertError, match=r"pandas.*not traced"):
        wg.grad(f)(S)


def test_dtypes() -> None:
    assert wg.grad(lambda s: (s**2).sum())(S.astype(np.float32)).dtype == np.float32
    with pytest.raises(wg.errors.DTypeError, match="int64, and an integer has no derivative"):
        wg.grad(lambda s: (s**2).sum())(S.astype(int))
    nullable = pd.Series([1.0, 2.0], dtype="Float64")
    assert list(wg.grad(lambda s: (s**2).sum())(nullable)) == [2.0, 4.0]
