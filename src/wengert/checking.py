"""``wg.check_derivatives``: a user's function against finite differences, forward against reverse, both orders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert import tree
from wengert.api.chosen import is_number
from wengert.api.derivatives import grad, jvp, vjp
from wengert.api.named import function_name
from wengert.errors import StructureError, WengertError, message
from wengert.expect import checked

Seed = int


class DerivativeError(WengertError, AssertionError):
    """A derivative that differs from what differences, or the other mode, say."""


@checked
def check_derivatives(
    f: Callable[..., Any],
    *args: Any,
    order: int = 2,
    argnums: int | Sequence[int] | None = None,
    rtol: float = 1e-5,
    atol: float = 1e-6,
    seed: Seed = 0,
) -> None:
    """Raise :class:`DerivativeError` if the derivatives of ``f`` at ``args`` are wrong.

    Along a random direction ``dx`` and with a random cotangent ``ct`` it compares, at each order,

    - forward mode with central differences,  (f(x + h dx) - f(x - h dx)) / 2h, at two steps h;
    - reverse with forward mode: ⟨ct, J dx⟩ = ⟨Jᵀ ct, dx⟩;
    - with ``order=2``, the same for the gradient of ⟨ct, f⟩.

    ``args`` are pytrees; real and complex arguments are differentiated (or those in ``argnums``), in double precision
    whatever their dtype, so that differences mean something; complex ones, and results, as their real and imaginary
    parts. Where ``f`` has a kink at ``args`` it will, rightly, fail.

    Raises
    ------
    DerivativeError : they differ, or there is nothing to differentiate.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> wg.check_derivatives(lambda x: np.sum(np.tanh(x) ** 2), np.linspace(-1, 1, 5))
    """
    rng = np.random.default_rng(seed)
    numbers = _float_arguments(args) if argnums is None else np.atleast_1d(argnums).tolist()
    if not all(-len(args) <= k < len(args) for k in numbers):
        raise StructureError(message(f"check_derivatives: argnums is {argnums}; there are {len(args)} arguments"))
    name = function_name(f)
    if not numbers:
        raise DerivativeError(message(f"check_derivatives: {name} has no argument of real or complex numbers"))
    leaves, treedef = tree.flatten(tuple(args[k] for k in numbers))
    are_complex = [bool(np.iscomplexobj(x)) for x in leaves]
    chosen = tuple([x for leaf in leaves for x in _parts(leaf)])

    def floats(*xs: Any) -> list[Any]:
        parts = iter(xs)
        whole = [next(parts) + 1j * next(parts) if is_complex else next(parts) for is_complex in are_complex]
        new = list(args)
        for k, x in zip(numbers, tree.unflatten(treedef, whole), strict=True):
            new[k] = x
        return [part for y in tree.flatten(f(*new))[0] if _is_inexact(y) for part in _parts(y, as_they_are=True)]

    _check_first(name, floats, chosen, rng, rtol, atol)
    if order >= 2:
        ys = floats(*chosen)
        cts = [rng.standard_normal(np.shape(y)) for y in ys]

        def weighted(*xs: Any) -> Any:
            total: Any = 0.0
            for ct, y in zip(cts, floats(*xs), strict=True):
                total = total + np.sum(ct * y)
            return total

        every = tuple(range(len(chosen)))
        gradient = grad(weighted, every)
        _check_first(
            f"the gradient of {name}", lambda *xs: tree.flatten(gradient(*xs))[0], chosen, rng, 10 * rtol, 10 * atol
        )


def _is_inexact(y: Any) -> bool:
    return (y.dtype if hasattr(y, "dtype") else np.asarray(y).dtype).kind in "fc"


def _float_arguments(args: Sequence[Any]) -> list[int]:
    return [
        k
        for k, arg in enumerate(args)
        if tree.flatten(arg)[0] and all(is_number(x) and _is_inexact(x) for x in tree.flatten(arg)[0])
    ]


def _parts(x: Any, as_they_are: bool = False) -> list[Any]:
    """The real and the imaginary part of complex numbers, or real ones; as float64, a number as a number."""
    parts = [np.real(x), np.imag(x)] if np.iscomplexobj(x) else [x]
    return parts if as_they_are else [np.array(y, np.float64) if np.ndim(y) else float(y) for y in parts]


def _direction(rng: np.random.Generator, xs: Any) -> Any:
    return tree.map(lambda x: rng.standard_normal(np.shape(x)) if np.ndim(x) else float(rng.standard_normal()), xs)


def _check_first(
    name: str, f: Callable[..., list[Any]], xs: tuple[Any, ...], rng: np.random.Generator, rtol: float, atol: float
) -> None:
    dxs = _direction(rng, xs)
    ys, dys = jvp(f, xs, dxs)
    for k, dy in enumerate(dys):
        errors = []
        for h in (1e-4, 1e-6):
            above = f(*tree.map(lambda x, dx, h=h: x + h * dx, xs, dxs))[k]
            below = f(*tree.map(lambda x, dx, h=h: x - h * dx, xs, dxs))[k]
            difference = (above - below) / (2 * h)
            errors.append(_distance(dy, difference, rtol, atol))
        if not min(errors) <= 1:
            raise DerivativeError(
                message(
                    f"{name}: forward mode differs from finite differences in result {k}",
                    notes=[("got", str(dy)), ("wanted", str(difference))],
                )
            )
    _, pullback = vjp(f, *xs)
    cts = [rng.standard_normal(np.shape(y)) if np.ndim(y) else np.float64(rng.standard_normal()) for y in ys]
    back = pullback(cts)
    left = sum(float(np.sum(ct * dy)) for ct, dy in zip(cts, dys, strict=True))
    right = sum(float(np.sum(g * dx)) for g, dx in zip(tree.flatten(back)[0], tree.flatten(dxs)[0], strict=True))
    scale = sum(float(np.sum(np.abs(ct * dy))) for ct, dy in zip(cts, dys, strict=True))
    if not abs(left - right) <= atol + rtol * max(scale, abs(left)):
        raise DerivativeError(
            message(
                f"{name}: reverse mode differs from forward mode",
                notes=[("ct·J dx", str(left)), ("Jᵀct·dx", str(right))],
            )
        )


def _distance(a: Any, b: Any, rtol: float, atol: float) -> float:
    """The largest difference, in units of what is allowed; NaN and infinity count as equal to themselves."""
    a, b = np.asarray(a), np.asarray(b)
    if a.size == 0:
        return 0.0
    with np.errstate(invalid="ignore"):
        gap = np.abs(a - b) / (atol + rtol * np.maximum(np.abs(b), np.max(np.abs(b))))
    gap = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, gap)
    return float(np.max(np.where(np.isnan(gap), np.inf, gap)))
