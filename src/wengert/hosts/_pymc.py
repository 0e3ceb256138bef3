"""This file makes the functions of :mod:`wengert.hosts.pymc`; it imports PyTensor.

One op runs every :class:`LeafFunction`: its derivatives and its batches are the same op with the pullback, the
pushforward and the batched function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.op import Op
from pytensor.graph.replace import _vectorize_node
from pytensor.tensor.blockwise import vectorize_node_fallback
from pytensor.tensor.type import TensorType

import wengert as wg
from wengert.hosts._leaf_functions import LeafFunction, LeafFunctions, is_inexact

_ARRAYS = (Variable, np.ndarray, np.generic)


class WengertOp(Op):
    """Runs a leaf function of tensors of known shapes."""

    __props__ = ("f", "types")

    def __init__(self, f: LeafFunction, types: tuple[TensorType, ...]) -> None:
        self.f, self.types = f, types

    def __str__(self) -> str:
        return self.f.name

    def make_node(self, *xs: Any) -> Apply:
        return Apply(self, [pt.as_tensor_variable(x) for x in xs], [t() for t in self.types])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        results, _ = self.f(*inputs)
        for y, storage, t in zip(results, output_storage, self.types, strict=True):
            storage[0] = y.astype(t.dtype, copy=False)

    def infer_shape(self, fgraph: object, node: Apply, shapes: object) -> Any:
        return [tuple([pt.constant(n, dtype="int64") for n in t.shape]) for t in self.types]

    def L_op(self, inputs: Sequence[Variable], outputs: Sequence[Variable], output_grads: Sequence[Variable]) -> Any:
        wanted = [k for k, x in enumerate(inputs) if is_inexact(x.type.dtype)]
        given = {
            k: ct
            for k, ct in enumerate(output_grads)
            if is_inexact(self.types[k].dtype) and not isinstance(ct.type, DisconnectedType)
        }
        pullback = self.f.pullback(wanted, list(given))
        found = _called(pullback, [*inputs, *given.values()], [inputs[k].type for k in wanted])
        cts = dict(zip(wanted, found, strict=True))
        return [cts[k] if k in cts else x.zeros_like(dtype="float64") for k, x in enumerate(inputs)]

    def R_op(self, inputs: Sequence[Variable], eval_points: Sequence[Variable | None]) -> Any:
        active = [k for k, dx in enumerate(eval_points) if dx is not None and is_inexact(inputs[k].type.dtype)]
        numbers = [k for k, t in enumerate(self.types) if is_inexact(t.dtype)]
        pushforward = self.f.pushforward(active, numbers)
        along = [eval_points[k] for k in active]
        dys = dict(zip(numbers, _called(pushforward, [*inputs, *along], [self.types[k] for k in numbers]), strict=True))
        return [dys.get(k) for k in range(len(self.types))]


def _called(f: LeafFunction, xs: Sequence[Any], types: Sequence[TensorType]) -> list[Variable]:
    if not types:
        return []
    return WengertOp(f, tuple(types))(*xs, return_list=True)


@_vectorize_node.register(WengertOp)
def _vectorized(op: WengertOp, node: Apply, *batched: Variable) -> Any:
    """The node of a batch: all of it in one call, where its shape is known."""
    extra = [x.type.ndim - own.type.ndim for x, own in zip(batched, node.inputs, strict=True)]
    shapes = [x.type.shape[:n] for x, n in zip(batched, extra, strict=True)]
    if any(None in shape for shape in shapes):
        return vectorize_node_fallback(op, node, *batched)  # a loop over the batch
    batch = np.broadcast_shapes(*shapes)
    xs = [
        x if n == 0 or x.type.shape[:n] == batch else pt.broadcast_to(x, (*batch, *own.type.shape))
        for x, own, n in zip(batched, node.inputs, extra, strict=True)
    ]
    f = op.f
    for _ in batch:
        f = f.batched([0 if n else None for n in extra])
    return WengertOp(f, tuple([TensorType(t.dtype, (*batch, *t.shape)) for t in op.types])).make_node(*xs)


def function(f: Callable[..., Any]) -> Callable[..., Any]:
    known = LeafFunctions(f)

    @functools.wraps(f)
    def of_variables(*args: Any, **kwargs: Any) -> Any:
        leaf_function, leaves = known.of_arrays(args, kwargs, _ARRAYS)
        xs = [pt.as_tensor_variable(x) for x in leaves]
        specs = [_spec(known.name, x) for x in xs]
        found, treedef = wg.tree.flatten(wg.spec_of(leaf_function.f)(*specs))
        ys = _called(leaf_function, xs, [TensorType(str(y.dtype), y.shape) for y in found])
        return wg.tree.unflatten(treedef, ys)

    return of_variables


def _spec(name: str, x: Variable) -> Any:
    if None in x.type.shape:
        raise wg.errors.ShapeError(
            wg.errors.message(
                f"{name}: the shape of {x} is not known, {x.type}",
                tries=[f"pt.specify_shape({x.name or 'x'}, (3, ...))"],
            )
        )
    return wg.spec(x.type.shape, x.type.dtype)
