"""This file makes the functions of :mod:`wengert.hosts.torch`; it imports PyTorch.

Among tensors one ``torch.autograd.Function`` runs every :class:`LeafFunction`: its ``backward`` and its ``jvp`` apply
it again to the pullback and the pushforward, so PyTorch can differentiate these too. The other way, the derivative of a
function of tensors is a function of tensors, so it is a primitive in its turn.
"""

# Where the library is not installed pyright takes the module of its name in this folder for it.
# pyright: reportAttributeAccessIssue=false
from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

import wengert as wg
from wengert.hosts._leaf_functions import LeafFunction, LeafFunctions

Array = np.ndarray[Any, Any]


class _Call:
    """One call of a leaf function: which of its leaves are tensors, the others, and the structure of its result."""

    def __init__(self, f: LeafFunction, leaves: Sequence[Any]) -> None:
        self.f = f
        self.leaves = list(leaves)
        self.where = [k for k, x in enumerate(leaves) if isinstance(x, torch.Tensor)]
        self.treedef: Any = None

    @property
    def tensors(self) -> list[torch.Tensor]:
        return [self.leaves[k] for k in self.where]

    def filled(self, tensors: Sequence[Any]) -> list[Any]:
        leaves = list(self.leaves)
        for k, x in zip(self.where, tensors, strict=True):
            leaves[k] = x
        return leaves


class _Applied(torch.autograd.Function):
    """A leaf function applied to tensors."""

    @staticmethod
    def forward(call: _Call, *tensors: Any) -> Any:
        results, call.treedef = call.f(*call.filled([_array(call.f.name, t) for t in tensors]))
        # What cannot be written is an argument: a result that could not be traced may be one.
        return tuple([torch.from_numpy(r if r.flags.writeable else r.copy()) for r in results])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:
        call, *tensors = inputs
        ctx.call = call
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*[y for y in output if not _is_inexact(y)])
        ctx.are_inexact = [_is_inexact(y) for y in output]
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, *cts: torch.Tensor | None) -> Any:
        call: _Call = ctx.call
        wanted = [k for k, is_wanted in enumerate(ctx.needs_input_grad[1:]) if is_wanted]
        given = {k: ct for k, ct in enumerate(cts) if ct is not None and ctx.are_inexact[k]}
        if not given:
            return None, *[None] * len(call.where)
        pullback = call.f.pullback([call.where[k] for k in wanted], list(given))
        # PyTorch's cotangents are the conjugates of ours, where they are complex.
        found = _apply(pullback, [*call.filled(ctx.saved_tensors), *[ct.conj() for ct in given.values()]])
        by_number = dict(zip(wanted, found, strict=True))
        return None, *[by_number[k].conj() if k in by_number else None for k in range(len(call.where))]

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: torch.Tensor | None) -> Any:
        call: _Call = ctx.call
        given = {call.where[k]: dx for k, dx in enumerate(tangents) if dx is not None and _is_inexact(dx)}
        results = [k for k, is_inexact in enumerate(ctx.are_inexact) if is_inexact]
        pushforward = call.f.pushforward(list(given), results)
        found = iter(_apply(pushforward, [*call.filled(ctx.saved_tensors), *given.values()]))
        return tuple([next(found) if is_inexact else None for is_inexact in ctx.are_inexact])

    @staticmethod
    def vmap(info: object, in_dims: tuple[int | None, ...], call: _Call, *tensors: torch.Tensor) -> Any:
        axes: list[int | None] = [None] * len(call.leaves)
        for k, axis in zip(call.where, in_dims[1:], strict=True):
            axes[k] = axis
        mapped = _Call(call.f.batched(axes), call.filled(tensors))
        results = _Applied.apply(mapped, *tensors)
        call.treedef = mapped.treedef
        return results, tuple([0] * len(results))


def _is_inexact(x: torch.Tensor) -> bool:
    return x.is_floating_point() or x.is_complex()


def _apply(f: LeafFunction, leaves: Sequence[Any]) -> Any:
    call = _Call(f, leaves)
    return _Applied.apply(call, *call.tensors)


def _array(name: str, t: torch.Tensor) -> Any:
    """Return the tensor as an array that shares its memory, and cannot be written."""
    if t.device.type != "cpu" or t.layout != torch.strided:
        where = f"on {t.device}" if t.layout == torch.strided else f"of the layout {t.layout}"
        raise wg.errors.UnsupportedFunctionError(
            wg.errors.message(
                f"{name}: a tensor is {where}; wengert runs on the processor, on dense arrays",
                tries=["t.cpu()" if t.layout == torch.strided else "t.to_dense()"],
            )
        )
    try:
        array = t.detach().resolve_conj().resolve_neg().numpy()
    except TypeError as error:  # a dtype that NumPy has not
        raise wg.errors.UnsupportedFunctionError(
            wg.errors.message(f"{name}: NumPy has no dtype like {t.dtype}", tries=["t.float()"])
        ) from error
    array.flags.writeable = False
    return array


def function(f: Callable[..., Any]) -> Callable[..., Any]:
    known = LeafFunctions(f)

    def applied(*args: Any, **kwargs: Any) -> Any:
        call = _Call(*known.of(args, kwargs))
        results = _Applied.apply(call, *call.tensors)
        return wg.tree.unflatten(call.treedef, results)

    hidden: list[Callable[..., Any]] = []

    @functools.wraps(f)
    def of_tensors(*args: Any, **kwargs: Any) -> Any:
        if "torch._dynamo" not in sys.modules:
            return applied(*args, **kwargs)
        # torch.compile is not to look inside. To say so before imports the compiler, which takes as long as PyTorch.
        if not hidden:
            hidden.append(torch.compiler.disable(applied))
        return hidden[0](*args, **kwargs)

    return of_tensors


def primitive(g: Callable[..., Any], type: Callable[..., Any] | None) -> Callable[..., Any]:
    return _primitive(g, getattr(g, "__name__", g.__class__.__name__), type)


def _primitive(g: Callable[..., Any], name: str, type: Callable[..., Any] | None) -> Callable[..., Any]:
    """Return the primitive of ``g``, whose pullback is the primitive of ``g``'s pullback, and so on."""

    def of_arrays(*xs: Any) -> Any:
        with torch.no_grad():
            ys = g(*map(_tensor, xs))
        return tuple(map(_result, ys)) if isinstance(ys, tuple | list) else _result(ys)

    of_arrays.__name__ = of_arrays.__qualname__ = name
    of_arrays.__module__ = "torch"  # it is none of wengert's: modules are trained, so it is run at every call
    made: Any = wg.primitive(of_arrays, type=type)

    made.def_pullback(_Pullback(g, name))
    return made


class _Pullback:
    """The pullback of ``g``'s primitive: for each number of arguments a primitive of its own."""

    def __init__(self, g: Callable[..., Any], name: str) -> None:
        self.__name__ = f"the pullback of {name}"
        self._g = g
        self._known: dict[int, Callable[..., Any]] = {}

    def __wengert_parts__(self) -> dict[str, Any]:
        """Nothing: what ``g`` reads is read at every call, so a compiled function need not watch it."""
        return {}

    def __call__(self, ct: Array | tuple[Array, ...], y: object, *xs: Array) -> Any:
        n = len(xs)
        if n not in self._known:
            types = lambda *xs: tuple([np.empty(x.shape, x.dtype) for x in xs[:n] if x.dtype.kind in "fc"])
            self._known[n] = _primitive(functools.partial(_pulled, self._g, n), self.__name__, types)
        cts = iter(self._known[n](*xs, *(ct if isinstance(ct, tuple) else (ct,))))
        return tuple([next(cts) if x.dtype.kind in "fc" else None for x in xs])


def _pulled(g: Callable[..., Any], n: int, *given: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The cotangents of the first n of ``given`` for those of ``g``'s results, which are the others.

    It is a function that PyTorch can differentiate again, where the caller wants that.
    """
    with torch.enable_grad():
        xs = [x.detach().requires_grad_() if _is_inexact(x) and not x.requires_grad else x for x in given[:n]]
        ys = g(*xs)
    ys = ys if isinstance(ys, tuple | list) else (ys,)
    reached = [(y, ct.conj()) for y, ct in zip(ys, given[n:], strict=True) if y.requires_grad]
    wanted = [x for x in xs if _is_inexact(x)]
    found: Sequence[Any] = [None] * len(wanted)
    if reached:
        found = torch.autograd.grad(
            [y for y, _ in reached],
            wanted,
            [ct.to(y.device) for y, ct in reached],
            create_graph=torch.is_grad_enabled(),
            allow_unused=True,
        )
    return tuple([torch.zeros_like(x) if v is None else v.conj() for v, x in zip(found, wanted, strict=True)])


class _Writable:
    """The memory of a read-only array, as PyTorch wants it: it has no tensors that are read-only."""

    def __init__(self, x: Array) -> None:
        self._x = x  # keeps the memory alive
        self.__array_interface__ = {**x.__array_interface__, "data": (x.ctypes.data, False)}


def _tensor(x: Array | float) -> torch.Tensor:
    array = np.asarray(x)
    if not array.flags.writeable:
        array = np.asarray(_Writable(array))
    return torch.from_numpy(array)


def _result(y: torch.Tensor) -> np.ndarray[Any, Any]:
    return y.detach().cpu().resolve_conj().resolve_neg().numpy()
