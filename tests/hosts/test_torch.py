"""PyTorch differentiates NumPy functions, and wengert functions of tensors: both ways, to any order, without copies."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

import wengert as wg

# What PyTorch itself uses when it is asked for forward mode.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script.* is deprecated:DeprecationWarning")


def tensor(*shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape) + 1)
    return torch.randn(*shape, dtype=dtype, generator=generator, requires_grad=True)


def layer(w: Any, x: Any) -> Any:
    return np.tanh(w @ x) * np.sum(x**2)


def torch_layer(w: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return torch.tanh(w @ x) * (x**2).sum()


OURS = wg.hosts.torch.function(layer)


def test_values_and_gradients_are_pytorchs() -> None:
    w, x = tensor(3, 4), tensor(4)
    torch.testing.assert_close(OURS(w, x), torch_layer(w, x))
    mine, theirs = [torch.autograd.grad(f(w, x).sum(), (w, x)) for f in (OURS, torch_layer)]
    torch.testing.assert_close(mine, theirs)


def test_gradcheck_and_gradgradcheck_pass_in_both_modes() -> None:
    w, x = tensor(3, 4), tensor(4)
    assert gradcheck(OURS, (w, x), check_forward_ad=True)
    assert gradgradcheck(OURS, (w, x), check_fwd_over_rev=True)


FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "abs": (np.abs, torch.abs),
    "product with a conjugate": (lambda z: z * z * np.conj(z), lambda z: z * z * z.conj()),
    "real part": (lambda z: np.real(z**3), lambda z: (z**3).real),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_cotangents_of_complex_numbers_follow_pytorchs_convention(name: str) -> None:
    z = tensor(3, dtype=torch.complex128)
    ours, theirs = wg.hosts.torch.function(FUNCTIONS[name][0]), FUNCTIONS[name][1]
    assert gradcheck(ours, (z,)) and gradgradcheck(ours, (z,))
    mine, wanted = [torch.autograd.grad(f(z).abs().sum(), z) for f in (ours, theirs)]
    torch.testing.assert_close(mine, wanted)


TRANSFORMS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "vmap": lambda f: lambda w, x: torch.func.vmap(f, (0, None))(torch.stack([w, w * 2]), x),
    "vmap along another axis": lambda f: (
        lambda w, x: torch.func.vmap(f, (2, 1))(torch.stack([w, w * 2], 2), torch.stack([x, -x], 1))
    ),
    "vmap within vmap": lambda f: (
        lambda w, x: torch.func.vmap(lambda w: torch.func.vmap(lambda x: f(w, x))(torch.stack([x, -x])))(
            torch.stack([w, w * 2])
        )
    ),
    "vmap of a gradient": lambda f: (
        lambda w, x: torch.func.vmap(torch.func.grad(lambda w, x: f(w, x).sum(), (0, 1)), (0, None))(
            torch.stack([w, w * 2]), x
        )
    ),
    "gradient of a vmap": lambda f: (
        lambda w, x: torch.func.grad(lambda w: torch.func.vmap(f, (None, 0))(w, torch.stack([x, -x])).sin().sum())(w)
    ),
    "jacrev": lambda f: torch.func.jacrev(f, (0, 1)),
    "jacfwd": lambda f: torch.func.jacfwd(f, (0, 1)),
    "hessian": lambda f: torch.func.hessian(lambda w, x: f(w, x).sum(), 1),
    "reverse over reverse": lambda f: torch.func.jacrev(torch.func.jacrev(f, 1), 0),
    "jvp": lambda f: lambda w, x: torch.func.jvp(f, (w, x), (w, x)),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_torch_func_goes_through(name: str) -> None:
    w, x = tensor(3, 4).detach(), tensor(4).detach()
    transform = TRANSFORMS[name]
    torch.testing.assert_close(transform(OURS)(w, x), transform(torch_layer)(w, x))


def test_trees_settings_and_integers() -> None:
    f = wg.hosts.torch.function(lambda p, *, n: {"y": np.sin(p["a"]) * n, "k": (np.arange(3), p["i"] + 1)})
    a, i = tensor(3), torch.arange(3)
    found = f({"a": a, "i": i}, n=2)
    torch.testing.assert_close(found["y"], torch.sin(a) * 2)
    assert found["k"][0].dtype == torch.int64 and not found["k"][1].requires_grad
    (gradient,) = torch.autograd.grad(found["y"].sum(), a)
    torch.testing.assert_close(gradient, torch.cos(a) * 2)


def test_only_what_needs_a_gradient_gets_one() -> None:
    w, x = tensor(3, 4), tensor(4).detach()
    OURS(w, x).sum().backward()
    assert w.grad is not None and x.grad is None
    with torch.no_grad():
        assert not OURS(w, x).requires_grad


def test_unused_results_need_no_cotangent() -> None:
    two = wg.hosts.torch.function(lambda x: (np.sin(x), np.cos(x)))
    x = tensor(3)
    (gradient,) = torch.autograd.grad(two(x)[1].sum(), x)
    torch.testing.assert_close(gradient, -torch.sin(x))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64, torch.complex128])
def test_dtypes_stay(dtype: torch.dtype) -> None:
    x = tensor(3, dtype=dtype)
    y = wg.hosts.torch.function(lambda x: np.exp(x) * x)(x)
    y.abs().sum().backward()
    assert y.dtype == dtype and x.grad is not None and x.grad.dtype == dtype


def test_any_strides_are_read_where_they_lie() -> None:
    w, x = tensor(4, 3), tensor(8)
    torch.testing.assert_close(OURS(w.T, x[::2]), torch_layer(w.T, x[::2]))
    mine, theirs = [torch.autograd.grad(f(w.T, x[::2]).sum(), (w, x)) for f in (OURS, torch_layer)]
    torch.testing.assert_close(mine, theirs)


def test_tensors_and_arrays_share_their_memory() -> None:
    from wengert.hosts import _torch

    x = tensor(1000)
    assert _torch._array("f", x).ctypes.data == x.data_ptr()
    array = np.arange(3.0)
    array.flags.writeable = False
    assert _torch._tensor(array).data_ptr() == array.ctypes.data


def test_an_argument_is_not_written() -> None:
    def write(x: Any) -> Any:
        x[0] = 3.0
        return x * 2

    x = torch.ones(2)
    torch.testing.assert_close(wg.hosts.torch.function(write)(x), torch.tensor([6.0, 2.0]))
    torch.testing.assert_close(x, torch.ones(2))


def test_a_result_that_is_an_argument_has_memory_of_its_own() -> None:
    x = torch.ones(2)
    assert wg.hosts.torch.function(lambda x: x)(x).data_ptr() != x.data_ptr()


@pytest.mark.parametrize(
    ("make", "words", "instead"),
    [
        (lambda: torch.ones(2, device="meta"), "a tensor is on meta; wengert runs on the processor", r"t\.cpu\(\)"),
        (lambda: torch.eye(2).to_sparse(), "of the layout torch.sparse_coo", r"t\.to_dense\(\)"),
        (lambda: torch.ones(2, dtype=torch.bfloat16), "no dtype like torch.bfloat16", r"t\.float\(\)"),
    ],
)
def test_a_tensor_that_is_no_array_is_refused(make: Callable[[], torch.Tensor], words: str, instead: str) -> None:
    with pytest.raises(wg.errors.UnsupportedFunctionError, match=rf"{words}(.|\n)*{instead}"):
        OURS(make(), torch.ones(2))


def test_a_changed_global_is_seen() -> None:
    settings = {"rate": 2.0}
    f = wg.hosts.torch.function(lambda x: x * settings["rate"])
    x = tensor(2)
    f(x).sum().backward()
    settings["rate"] = 5.0
    torch.testing.assert_close(f(x), x * 5)
    (gradient,) = torch.autograd.grad(f(x).sum(), x)
    torch.testing.assert_close(gradient, torch.full((2,), 5.0, dtype=torch.float64))


def test_threads_may_call_at_once() -> None:
    batch = [(tensor(3, 4) * k, tensor(4)) for k in range(1, 5)]
    wanted = [torch.autograd.grad(torch_layer(w, x).sum(), (w, x)) for w, x in batch]
    wrong: list[int] = []

    def work() -> None:
        for _ in range(10):
            for k, (w, x) in enumerate(batch):
                found = torch.autograd.grad(OURS(w, x).sum(), (w, x))
                if not all(torch.allclose(a, b) for a, b in zip(found, wanted[k], strict=True)):
                    wrong.append(k)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


@pytest.mark.filterwarnings("ignore")  # PyTorch's compiler has many of its own
def test_torch_compile_calls_it_as_it_is() -> None:
    w, x = tensor(3, 4), tensor(4)
    compiled = torch.compile(lambda w, x: OURS(w, x) + 1, backend="eager")
    torch.testing.assert_close(compiled(w, x), torch_layer(w, x) + 1)


# ------------------------------------------------------------------------------------------------------ the other way


NET = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2)).double()
X = np.random.default_rng(0).normal(size=3)


def test_a_module_is_a_primitive() -> None:
    net = wg.hosts.torch.primitive(NET)
    np.testing.assert_array_equal(net(X), NET(torch.tensor(X)).detach().numpy())
    loss = lambda x: np.sum(net(x) ** 2)
    wg.check_derivatives(loss, X)
    wanted = torch.autograd.functional.hessian(lambda x: (NET(x) ** 2).sum(), torch.tensor(X)).numpy()
    np.testing.assert_allclose(wg.hessian(loss)(X), wanted, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(wg.jit(wg.grad(loss))(X), wg.grad(loss)(X), rtol=1e-13)


def test_a_module_that_is_trained_on_is_seen_by_compiled_code() -> None:
    line = torch.nn.Linear(3, 1, bias=False).double()
    f = wg.hosts.torch.primitive(line)
    gradient = wg.jit(wg.grad(lambda x: np.sum(f(x))))
    np.testing.assert_allclose(gradient(X), line.weight.detach().numpy()[0])
    with torch.no_grad():
        line.weight *= 2
    np.testing.assert_allclose(gradient(X), line.weight.detach().numpy()[0])
    line.weight = torch.nn.Parameter(torch.ones(1, 3, dtype=torch.float64))
    np.testing.assert_allclose(gradient(X), np.ones(3))


def test_jvp_vmap_and_the_jacobian() -> None:
    net = wg.hosts.torch.primitive(NET)
    wanted = torch.func.jacrev(NET)(torch.tensor(X)).detach().numpy()
    np.testing.assert_allclose(wg.jacobian(net)(X), wanted, rtol=1e-12)
    np.testing.assert_allclose(wg.jvp(net, (X,), (X,))[1], wanted @ X, rtol=1e-12)
    batch = np.stack([X, -X])
    np.testing.assert_allclose(wg.vmap(net)(batch), NET(torch.tensor(batch)).detach().numpy(), rtol=1e-12)


def test_several_results_integers_and_arguments_without_a_path() -> None:
    def g(a: torch.Tensor, k: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> Any:
        return torch.sin(a) * b.sum(), a[k]

    p = wg.hosts.torch.primitive(g)
    both = lambda a, b, c: (lambda r: np.sum(r[0]) * np.sum(r[1]))(p(a, np.array([0, 1, 1]), b, c))
    wg.check_derivatives(both, X, X, X)
    np.testing.assert_array_equal(wg.grad(both, 2)(X, X, X), np.zeros(3))


def test_third_order_and_complex() -> None:
    sine = wg.hosts.torch.primitive(torch.sin)
    third = wg.grad(wg.grad(wg.grad(lambda t: sine(t))))
    np.testing.assert_allclose(third(0.3), -np.cos(0.3), rtol=1e-14)
    cube = wg.hosts.torch.primitive(lambda z: z * z * torch.conj(z))
    wg.check_derivatives(lambda z: np.sum(np.abs(cube(z)) ** 2), X + 1j * X[::-1])


def test_dtypes_of_the_results_are_pytorchs() -> None:
    double = wg.hosts.torch.primitive(lambda t: t * 2)
    assert double(np.ones(2, np.float32)).dtype == np.float32
    assert double(np.arange(3)).dtype == np.int64
    assert double(2.0) == 4.0


def test_parameters_of_a_module_as_arguments() -> None:
    parameters = {name: p.detach().numpy() for name, p in NET.named_parameters()}
    names = list(parameters)
    net = wg.hosts.torch.primitive(
        lambda x, *values: torch.func.functional_call(NET, dict(zip(names, values, strict=True)), (x,))
    )
    gradient = wg.grad(lambda p: np.sum(net(X, *p.values()) ** 2))(parameters)
    NET.zero_grad()
    (NET(torch.tensor(X)) ** 2).sum().backward()
    for name, p in NET.named_parameters():
        assert p.grad is not None
        np.testing.assert_allclose(gradient[name], p.grad.numpy(), rtol=1e-12)
