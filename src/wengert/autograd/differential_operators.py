"""autograd's operators, as wengert's."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np

import wengert as wg
from wengert.autograd.core import (
    Argnum,
    F,
    depends,
    differentiable,
    flatten_containers,
    named_after,
    unary_to_nary,
    vspace,
    wraps,
)
from wengert.autograd.core import make_jvp as _make_jvp
from wengert.autograd.core import make_vjp as _make_vjp
from wengert.errors import MissingRuleError
from wengert.tracing.tracer import Tracer

__all__ = ["checkpoint", "deriv", "elementwise_grad", "grad", "grad_and_aux", "grad_named", "hessian"]
__all__ += [
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "jacobian",
    "make_ggnvp",
    "make_hvp",
]
__all__ += [
    "make_jvp",
    "make_vjp",
    "multigrad_dict",
    "tensor_jacobian_product",
    "value_and_grad",
    "vector_jacobian_product",
]

make_vjp, make_jvp = unary_to_nary(_make_vjp), unary_to_nary(_make_jvp)
checkpoint: F = lambda fun: wg.checkpoint(fun)


def _floats(args: tuple[Any, ...], argnum: object) -> list[Any]:
    """The arguments, as they are differentiated."""
    wanted = [k % len(args) for k in ([argnum] if isinstance(argnum, int) else argnum)]
    return [differentiable(x) if k in wanted else x for k, x in enumerate(args)]


def _gradient(fun: F, argnum: Argnum, op: str, error: str, of: F) -> F:
    """The function that gives ``of(results of fun, gradient of their sum)``."""

    def total(*args: object, **kwargs: object) -> Any:
        ans = fun(*args, **kwargs)
        if not depends(ans):
            vspace(ans)  # which raises for what is no vector
            return 0.0, ans
        parts = [ans] if type(ans) is Tracer else flatten_containers(ans)[0]
        types = [part.aval if type(part) is Tracer else np.asarray(part) for part in parts]
        if any(t.dtype.kind == "c" for t in types) or (op != "elementwise_grad" and sum([t.size for t in types]) != 1):
            raise TypeError(error)
        return sum([np.sum(part) if t.ndim else part for part, t in zip(parts, types, strict=True)]), ans

    named = named_after(fun, op, argnum)
    both = wg.value_and_grad(wraps(fun)(total), argnum, has_aux=True)

    @named
    def gradient(*args: object, **kwargs: object) -> Any:
        (_, ans), found = both(*_floats(args, argnum), **kwargs)
        return of(ans, found)

    return gradient


def grad(fun: F, argnum: Argnum = 0) -> F:
    """Return the function that computes the gradient of ``fun`` with respect to an argument, or several.

    Parameters
    ----------
    fun : returns one real number, or an array of one.
    argnum : the number of the argument; a tuple or list of numbers gives a tuple of gradients.

    Raises
    ------
    TypeError : at a call, ``fun`` returns something else, or the argument is no float.

    Examples
    --------
    >>> import wengert.autograd.numpy as np
    >>> from wengert.autograd import grad
    >>> grad(np.tanh)(0.0)
    np.float64(1.0)
    """
    error = "Grad only applies to real scalar-output functions. Try jacobian, elementwise_grad or holomorphic_grad."
    return _gradient(fun, argnum, "grad", error, lambda ans, found: found)


def value_and_grad(fun: F, argnum: Argnum = 0) -> F:
    """Return the function that computes the value and the gradient of ``fun``: see :func:`grad`."""
    error = "value_and_grad only applies to real scalar-output functions. Try jacobian, elementwise_grad or "
    return _gradient(fun, argnum, "value_and_grad", error + "holomorphic_grad.", lambda ans, found: (ans, found))


def elementwise_grad(fun: F, argnum: Argnum = 0) -> F:
    """Return the function that computes the sum of each column of the Jacobian: its diagonal, if that is all."""
    error = "Elementwise_grad only applies to real-output functions."
    return _gradient(fun, argnum, "elementwise_grad", error, lambda ans, found: found)


def jacobian(fun: F, argnum: Argnum = 0) -> F:
    """Return the function that computes the Jacobian of ``fun``, of the shape ``(*output, *input)``."""
    either, reverse = (wg.jacobian(fun, argnum, mode=mode) for mode in (None, "reverse"))

    @named_after(fun, "jacobian", argnum)
    def jacobian_of(*args: object, **kwargs: object) -> Any:
        args = tuple(_floats(args, argnum))
        try:
            return either(*args, **kwargs)
        except MissingRuleError:  # of a primitive that has no pushforward
            return reverse(*args, **kwargs)

    return jacobian_of


@unary_to_nary
def deriv(fun: F, x: object) -> Any:
    """Return the derivative of ``fun`` along the vector of ones, by forward mode."""
    return _make_jvp(fun, x)(vspace(x).ones())[1]


@unary_to_nary
def holomorphic_grad(fun: F, x: object) -> Any:
    """Return the complex derivative of a holomorphic function that returns one number."""
    if not vspace(x).iscomplex:
        warnings.warn("Input to holomorphic_grad is not complex", stacklevel=2)
    return grad(lambda x: np.real(fun(x)))(x)


@unary_to_nary
def hessian(fun: F, x: object) -> Any:
    """Return the exact Hessian, of the shape ``(*output, *input, *input)``."""
    return jacobian(jacobian(fun))(x)


@unary_to_nary
def make_hvp(fun: F, x: object) -> Any:
    """Return the function that multiplies the Hessian at ``x`` with a vector, and the gradient there."""
    return _make_vjp(grad(fun), x)


@unary_to_nary
def make_jvp_reversemode(fun: F, x: object) -> F:
    """Return the function that multiplies the Jacobian at ``x`` with a vector from the right."""
    return lambda v: _make_jvp(fun, x)(v)[1]


@unary_to_nary
def grad_and_aux(fun: F, x: object) -> Any:
    """Return the gradient of the first of two results, and the second as it is."""
    return wg.grad(lambda x: tuple(fun(x)), has_aux=True)(differentiable(x))


def grad_named(fun: F, argname: str) -> F:
    """Return the function that computes the gradient with respect to a named argument."""
    return grad(fun, inspect.getfullargspec(fun).args.index(argname))


def hessian_tensor_product(fun: F, argnum: Argnum = 0) -> F:
    """Return the function ``(*args, tensor)`` that multiplies the Hessian with a tensor."""
    by_grad = lambda *args, **kwargs: np.tensordot(grad(fun, argnum)(*args[:-1], **kwargs), args[-1], np.ndim(args[-1]))
    return grad(by_grad, argnum)


def tensor_jacobian_product(fun: F, argnum: Argnum = 0) -> F:
    """Return the function ``(*args, tensor)`` that multiplies the Jacobian with a tensor from the left."""
    return jacobian(
        lambda *args, **kwargs: np.tensordot(args[-1], fun(*args[:-1], **kwargs), np.ndim(args[-1])), argnum
    )


hessian_vector_product, vector_jacobian_product = hessian_tensor_product, tensor_jacobian_product


def make_ggnvp(f: F, g: F = lambda x: 1.0 / 2 * np.sum(x**2, axis=-1), f_argnum: Argnum = 0) -> F:
    """Return the function that gives, at a point, the product with the generalised Gauss-Newton matrix of g(f(x))."""

    @unary_to_nary
    def _make_ggnvp(f: F, x: object) -> F:
        f_vjp, f_x = _make_vjp(f, x)
        g_hvp, f_jvp = _make_vjp(grad(g), f_x)[0], make_jvp_reversemode(f)(x)
        return lambda v: f_vjp(g_hvp(f_jvp(v)))

    return _make_ggnvp(f, f_argnum)


def multigrad_dict(fun: F) -> F:
    """Return the function that computes the gradients with respect to all arguments, as a dict by their names."""
    signature = inspect.signature(fun)

    def of_dict(given: dict[str, Any]) -> Any:
        bound = inspect.BoundArguments(signature, given)  # in the order of the parameters
        return fun(*bound.args, **bound.kwargs)

    def gradfun(*args: object, **kwargs: object) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return grad(of_dict)(dict(bound.arguments))

    return gradfun
