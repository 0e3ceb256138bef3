"""Arrays of other libraries, by small stand-ins: taken where they are numbers in memory, refused in our words."""

from __future__ import annotations

import array
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import tree
from wengert.tracing.foreign import as_ndarray

V = np.array([0.3, 0.7])


@pytest.fixture(autouse=True)
def no_other_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in says that it is PyTorch's; the real one, which another test may have imported, is not asked."""
    monkeypatch.delitem(sys.modules, "torch", raising=False)


class Held:
    """Numbers as compiled code holds them: no attribute of Python's is the array."""

    def __init__(self, values: Any) -> None:
        self._memory = memoryview(np.asarray(values))

    @property
    def values(self) -> Any:
        return self._memory.obj


class Tensor(Held):
    """As PyTorch's: hashable, a dtype of its own, operators that know no other's operands."""

    __module__ = "torch"
    __array_priority__ = 1000

    def __init__(self, values: Any, requires_grad: bool = False, device: int = 1) -> None:
        super().__init__(values)
        self.requires_grad, self.device = requires_grad, device
        self.shape, self.dtype = self.values.shape, "torch.float64"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        return self.values if dtype is None else self.values.astype(dtype)

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.device, 0)

    def __mul__(self, other: Any) -> Any:
        return NotImplemented

    __rmul__ = __mul__

    def detach(self) -> Any:
        return self


class OfDLPack:
    """DLPack and nothing else."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class JaxArray(Held):
    """No hash, ``__array__``, a NumPy dtype."""

    __hash__ = None  # type: ignore[assignment]
    __module__ = "jaxlib._jax"

    def __init__(self, values: Any) -> None:
        super().__init__(values)
        self.shape, self.dtype = self.values.shape, self.values.dtype

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.values


class Frame:
    """As a DataFrame of pandas: labels, no dtype, no hash, ``to_numpy``."""

    __hash__ = None  # type: ignore[assignment]
    __module__ = "pandas.core.frame"

    def __init__(self, values: Any) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.values

    def to_numpy(self) -> Any:
        return self.values


class OnGPU:
    """As CuPy's."""

    __cuda_array_interface__ = {"shape": (2,), "typestr": "<f8", "data": (0, False), "version": 3}  # noqa: RUF012
    shape, dtype = (2,), np.dtype(float)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def get(self) -> Any:
        return np.zeros(2)


TAKEN: dict[str, Callable[[Any], Any]] = {
    "a tensor": Tensor,
    "DLPack alone": OfDLPack,
    "an array without a hash": JaxArray,
    "a frame": Frame,
    "array.array": lambda values: array.array("d", values),
    "a memoryview": lambda values: memoryview(np.array(values)),
}


def loss(x: Any, k: Any = 1.0) -> Any:
    return np.sum(np.sin(x) * x * k)


CALLS: dict[str, Callable[[Any], Any]] = {
    "grad": wg.grad(loss),
    "value_and_grad": wg.value_and_grad(loss),
    "wrt": lambda x: wg.grad(lambda p, y: loss(p["w"], y), wrt=lambda args: args[0]["w"])({"w": x}, 2.0),
    "jit": wg.jit(loss),
    "jit of grad": wg.jit(wg.grad(loss)),
    "vmap": wg.vmap(np.sin),
    "vjp": lambda x: wg.vjp(np.sin, x)[1](x),
    "jvp": lambda x: wg.jvp(np.sin, (x,), (x,)),
    "jacobian": wg.jacobian(np.sin),
    "hvp": lambda x: wg.hvp(loss, (x,), (x,)),
    "trace": lambda x: np.array(len(wg.trace(loss)(x))),
    "a program": lambda x: wg.compile(wg.trace(loss)(V))(x),
    "a pytree": wg.jit(wg.grad(lambda p: loss(p["w"][0]) + p["b"])),
    "not differentiated": lambda x: wg.grad(lambda s, x: s * loss(np.asarray(x)))(1.0, x),
    "captured": lambda x: wg.grad(lambda s: np.sum(s * np.sin(x)))(1.0),
    "a list of them": lambda x: wg.grad(lambda xs: loss(xs[0]) * loss(xs[1]))([x, x]),
}


PAIRS = [(call, kind) for call in CALLS for kind in TAKEN]
for pair in ("not differentiated", "captured"):
    PAIRS.remove((pair, "DLPack alone"))  # np.sin does not take it either


@pytest.mark.parametrize(("call", "kind"), PAIRS)
def test_arrays_of_other_libraries_failed_with_errors_of_theirs(call: str, kind: str) -> None:
    wrapped = (lambda x: {"w": [x], "b": 1.0}) if call == "a pytree" else (lambda x: x)
    found, expected = CALLS[call](wrapped(TAKEN[kind](V))), CALLS[call](wrapped(V))
    leaves, expected_leaves = tree.flatten(found)[0], tree.flatten(expected)[0]
    assert len(leaves) == len(expected_leaves)
    for y, e in zip(leaves, expected_leaves, strict=True):
        assert type(y) is type(e)  # a gradient is an ndarray, whatever the argument was
        np.testing.assert_allclose(y, e, rtol=1e-14)


@pytest.mark.parametrize("kind", ["a tensor", "an array without a hash", "array.array", "a memoryview"])
def test_a_captured_one_meets_a_traced_value(kind: str) -> None:
    """x * tensor was a TypeError of Python's."""
    t = TAKEN[kind](V)
    for f, expected in (
        (lambda s: np.sum(s * t), 1.0),
        (lambda s: np.sum(t * s), 1.0),
        (lambda s: np.sum(np.multiply(s, t) - t), 1.0),
        (lambda s: np.dot(s * V, t), 0.58),
        (lambda s: np.sum(np.where(s > 0, t, 0.0) * s), 1.0),
    ):
        if kind == "array.array" and expected == 1.0 and f(1) != pytest.approx(1.0):
            continue  # repeated, not multiplied
        assert wg.grad(f)(2.0) == pytest.approx(expected)
        assert wg.jit(wg.grad(f))(2.0) == pytest.approx(expected)


def test_a_captured_tensor_that_is_edited_is_seen_by_the_next_call() -> None:
    t = Tensor(np.array([1.0, 2.0]))
    f = wg.jit(lambda s: np.sum(s * t))
    assert f(2.0) == 6.0
    t.values[0] = 5.0
    assert f(2.0) == 14.0


def test_what_has_no_numbers_in_memory_is_refused_with_what_to_write() -> None:
    errors = wg.errors.WengertError
    for call in (wg.grad(loss), wg.jit(loss), wg.vmap(np.sin), wg.jit(wg.grad(loss)), wg.trace(loss)):
        with pytest.raises(errors, match=r"a torch Tensor gives no array(.|\n)*t\.detach\(\)\.cpu\(\)\.numpy\(\)"):
            call(Tensor(V, requires_grad=True))
        with pytest.raises(errors, match=r"lies on a device of DLPack's kind 2(.|\n)*t\.detach\(\)\.cpu\(\)"):
            call(Tensor(V, device=2))
        with pytest.raises(errors, match=r"OnGPU lies on a GPU(.|\n)*x\.get\(\)"):
            call(OnGPU())
        with pytest.raises(errors, match=r"pandas Frame becomes an array of dtype object(.|\n)*x\.to_numpy\(float\)"):
            call(Frame(np.array([1.0, "a"], dtype=object)))
    gpu = OnGPU()
    with pytest.raises(errors, match=r"lies on a GPU(.|\n)*test_foreign\.py"):
        wg.grad(lambda s: np.sum(s * gpu))(1.0)


def test_integers_of_other_libraries_have_no_derivative() -> None:
    with pytest.raises(wg.errors.DTypeError, match="an integer has no derivative"):
        wg.grad(loss)(Tensor([1, 2]))
    assert wg.jit(lambda n: n + 1)(array.array("i", [1, 2])).dtype == np.int32


def test_a_masked_array_and_a_matrix_lost_their_mask_and_shape() -> None:
    """A program, and vmap, took what lies behind them."""
    program = wg.compile(wg.trace(loss)(V))
    warnings.simplefilter("ignore", PendingDeprecationWarning)  # np.matrix's; pytest restores what is shown
    for x in (np.ma.array(V, mask=[0, 1]), np.matrix(V)):
        for call in (program, wg.vmap(np.sin), wg.grad(loss), wg.jit(loss), lambda x: wg.vjp(np.sin, V)[1](x)):
            with pytest.raises(wg.errors.UnsupportedFunctionError, match="has an arithmetic of its own"):
                call(x)


def test_what_the_function_sees_is_an_ndarray() -> None:
    with pytest.raises(AttributeError, match="no attribute 'detach'"):
        wg.grad(lambda t: np.sum(t.detach()))(Tensor(V))
    assert wg.jit(lambda t: np.sum(t) if isinstance(t, np.ndarray) else 0.0)(Frame(V)) == 1.0


class Setting:
    """With a hash and ``__array__`` and no more: an object of the user's."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.values)

    def scaled(self, x: Any) -> Any:
        return x * self.values


def test_an_object_with_a_hash_that_can_become_an_array_stays_what_it_is() -> None:
    setting = Setting(np.array([2.0, 3.0]))
    f = lambda x, s: np.sum(s.scaled(x))
    assert wg.grad(f)(1.0, setting) == wg.jit(wg.grad(f))(1.0, setting) == 5.0
    np.testing.assert_allclose(wg.grad(loss)(setting), wg.grad(loss)(setting.values))  # it is asked for its gradient
    with pytest.raises(wg.errors.WengertError, match=r"__array__(.|\n)*test_foreign\.py"):
        wg.jit(lambda x, s: np.sum(np.sin(s) * x), strict=True)(1.0, setting)


def test_nothing_is_copied_that_need_not_be() -> None:
    for make in (Tensor, OfDLPack, JaxArray, Frame):
        assert np.shares_memory(as_ndarray(make(V)), V)


@pytest.mark.needs_extension("a ufunc is called as it is, and refuses a list of traced values")
def test_lists_with_other_libraries_scalars_in_them() -> None:
    t = Tensor(np.float64(2.0))
    assert wg.grad(lambda x: np.sum(np.square([x, t])))(3.0) == 6.0
    assert wg.grad(lambda x: np.sum(np.stack([x * V, Tensor(V)])))(3.0) == pytest.approx(1.0)
