"""Arrays of xarray keep their labels through traced functions, and are never taken for others with other labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr

import wengert as wg

A = xr.DataArray(
    [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dims=("t", "x"),
    coords={"x": [10, 20, 30], "height": ("x", [0.1, 0.2, 0.4])}, name="temperature", attrs={"units": "K"},
)  # fmt: skip
WRAPS = pytest.mark.parametrize("wrap", [lambda f: f, wg.jit], ids=["plain", "jit"])


def differences(f: Any, a: Any) -> Any:
    found = np.zeros(a.shape)
    for at in np.ndindex(a.shape):
        moved = [a.copy(deep=True), a.copy(deep=True)]
        moved[0].values[at] -= 1e-6
        moved[1].values[at] += 1e-6
        found[at] = (float(f(moved[1])) - float(f(moved[0]))) / 2e-6
    return found


FUNCTIONS = {
    "sum over a dimension": lambda a: ((a**2).sum("x") ** 2).sum(),
    "select by label": lambda a: (a.sel(x=20) * a.sel(x=[10, 30]).mean("x")).sum(),
    "coordinates": lambda a: (a * a.height * a.x).mean(),
    "broadcast": lambda a: (a.isel(t=0, drop=True) * a.isel(x=0, drop=True)).sum(),
    "NumPy's functions": lambda a: np.sum(np.exp(-a / 3) * np.sin(a)),
    "apply_ufunc": lambda a: xr.apply_ufunc(np.tanh, a / 5).sum(),
    "where": lambda a: a.where(a > 2.5, 0.0).sum(),
    "dot": lambda a: xr.dot(a, a.height, dim="x").sum(),
    "shift and diff": lambda a: (a.diff("x") ** 2).sum(),
    "concat": lambda a: (xr.concat([a, 2 * a], "t") ** 2).sum(),
    "std": lambda a: a.std("t").sum(),
    "align": lambda a: (a.isel(x=[0, 1]) * a.isel(x=[1, 2])).sum(),
    "transpose": lambda a: (a.transpose("x", "t").data @ np.ones(2)).sum(),
}


@pytest.mark.parametrize("name", list(FUNCTIONS))
@WRAPS
@pytest.mark.filterwarnings("ignore::wengert.PerformanceWarning")  # jit says where it answers by Python
def test_gradients_have_the_labels_of_the_argument(name: str, wrap: Any) -> None:
    f = FUNCTIONS[name]
    slope = wrap(wg.grad(f))(A)
    assert type(slope) is xr.DataArray and slope.dims == A.dims and slope.name == A.name
    xr.testing.assert_identical(slope.coords.to_dataset(), A.coords.to_dataset())
    np.testing.assert_allclose(slope.values, differences(f, A), rtol=1e-6, atol=1e-8)


def test_compiled_functions_return_labels() -> None:
    f = wg.jit(lambda a: (a**2).sel(x=[10, 30]), strict=True)
    xr.testing.assert_identical(f(A), (A**2).sel(x=[10, 30]))
    xr.testing.assert_identical(f(2 * A), ((2 * A) ** 2).sel(x=[10, 30]))


def test_other_labels_are_another_structure() -> None:
    f = wg.jit(lambda a: (a * a.height).sum("x"))
    xr.testing.assert_allclose(f(A), (A * A.height).sum("x"))
    other = A.assign_coords(height=("x", [1.0, 2.0, 3.0]))
    xr.testing.assert_allclose(f(other), (other * other.height).sum("x"))
    named = wg.jit(lambda a: a * 2)
    assert named(A.rename("p")).name == "p" and named(A).name == "temperature"
    assert named(A.assign_attrs(units="C")).attrs == {"units": "C"} and named(A).attrs == {"units": "K"}


def test_a_coordinate_that_is_written_is_seen() -> None:
    a = A.copy(deep=True)
    f = wg.jit(lambda a: (a * a.height).sum())
    before = float(f(a))
    a.height.values[:] = 1.0
    assert float(f(a)) == pytest.approx(float(a.sum())) and float(f(a)) != before


def test_two_arguments_are_aligned_by_their_labels() -> None:
    a, b = A.isel(t=0, drop=True), A.isel(t=1, drop=True, x=[2, 0, 1])
    value, slope = wg.jit(wg.value_and_grad(lambda a, b: (a * b).sum()))(a, b)
    assert float(value) == float((a * b).sum()) == 4 + 10 + 18
    np.testing.assert_array_equal(slope.values, [4.0, 5.0, 6.0])


def test_datasets() -> None:
    data = xr.Dataset({"u": A, "v": A.isel(t=0, drop=True) + 1, "label": ("t", ["a", "b"])})
    slope = wg.jit(wg.grad(lambda d: (d.u * d.v).sum() + d.u.mean()))(data)
    assert type(slope) is xr.Dataset and list(slope) == ["u", "v", "label"]
    np.testing.assert_allclose(slope.u, np.stack([data.v, data.v]) + 1 / 6)
    np.testing.assert_allclose(slope.v, data.u.sum("t"))
    xr.testing.assert_identical(wg.jit(lambda d: d)(data), data)
    other = data.assign(label=("t", ["a", "c"]))
    xr.testing.assert_identical(wg.jit(lambda d: d)(other), other)


def test_arrays_made_within_the_function() -> None:
    def f(p: Any) -> Any:
        return (xr.DataArray(p, dims="x", coords={"x": [10, 20, 30]}) * A).sum()

    np.testing.assert_allclose(wg.grad(f)(np.ones(3)), A.sum("t"))
    made = wg.jit(lambda p: xr.DataArray(p, dims="x", coords={"x": [1, 2, 3]}))(np.ones(3))
    assert made.dims == ("x",) and list(made.x) == [1, 2, 3]


def test_captured_arrays_are_read_at_each_call() -> None:
    a = A.copy(deep=True)
    f = wg.jit(lambda k: (a * k).sum())
    assert float(f(2.0)) == 42.0
    a.values[0, 0] = 11.0
    assert float(f(2.0)) == 62.0


def test_jacobians_and_batches_are_refused_with_what_to_write() -> None:
    for f in (wg.jacobian(lambda a: a**2), wg.vmap(lambda a: a * 2)):
        with pytest.raises(wg.errors.StructureError, match=r"does not fit under the labels .*\n *try +x\.data"):
            f(A)


def test_traced_coordinates_are_refused() -> None:
    with pytest.raises(wg.errors.StructureError, match="the coordinate 'h' is made of traced values"):
        wg.jit(lambda p: A.assign_coords(h=("x", p)), strict=True)(np.ones(3))


def test_apply_ufunc_of_compiled_functions() -> None:
    f = wg.jit(wg.vmap(wg.grad(lambda v: np.sum(np.exp(v) * v))))
    found = xr.apply_ufunc(f, A, input_core_dims=[["x"]], output_core_dims=[["x"]])
    xr.testing.assert_allclose(found, np.exp(A) * (1 + A))


def test_dtypes() -> None:
    assert wg.grad(lambda a: (a**2).sum())(A.astype(np.float32)).dtype == np.float32
    with pytest.raises(wg.errors.DTypeError, match="int64, and an integer has no derivative"):
        wg.grad(lambda a: (a**2).sum())(A.astype(int))


def test_trees() -> None:
    assert wg.tree.paths({"a": A}) == ['["a"].data']
    xr.testing.assert_allclose(wg.tree.map(lambda x, y: x - 0.1 * y, A, A), 0.9 * A)
    with pytest.raises(wg.errors.StructureError):
        wg.tree.map(lambda x, y: x - y, A, A.rename("other"))
