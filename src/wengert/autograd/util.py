"""Helpers for the arguments of a call, under autograd's name for the module."""

import warnings
from typing import Any

from wengert.autograd.core import *  # noqa: F403
from wengert.autograd.core import F
from wengert.autograd.test_util import check_grads


def quick_grad_check(fun: F, arg0: object, extra_args: Any = (), kwargs: dict[str, Any] | None = None) -> None:
    """Compare a gradient with differences; deprecated: ``check_grads`` of autograd.test_util."""
    warnings.warn("The quick_grad_check function is deprecated: check_grads of autograd.test_util", stacklevel=2)
    check_grads(lambda x: fun(x, *extra_args, **(kwargs or {})), modes=["rev"], order=1)(arg0)
