"""This file differentiates residuals of :mod:`wengert.hosts.lmfit`; it imports lmfit.

A compiled function cannot run lmfit's own interpreter of expressions, which writes to the terminal. So while a residual
is traced it gets parameters whose expressions have been compiled by Python, if they are as plain as nearly all are.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

import wengert as wg

lmfit: Any = import_module(
    "lmfit"
)  # the checker of types takes `import lmfit` for the file of that name in this folder

Array = np.ndarray[Any, Any]
Parameters = Mapping[str, Any]

_PLAIN = (
    *(ast.Expression, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.Name, ast.Constant),
    *(ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context, ast.Tuple, ast.List, ast.keyword),
)
"""The parts of an expression that Python may run: none that reads an attribute."""


class _Outline(NamedTuple):
    """The names and expressions of some parameters, which decide which program is run."""

    varied: tuple[str, ...]
    fixed: tuple[str, ...]
    expressions: tuple[tuple[str, str], ...]


class _Values(Mapping[str, Any]):
    """The values that an expression reads by name: of other parameters, and what lmfit's interpreter knows."""

    def __init__(
        self, known: Mapping[str, Any], expressions: Mapping[str, CodeType], others: Mapping[str, Any]
    ) -> None:
        self._known, self._expressions, self._others = dict(known), expressions, others

    def __getitem__(self, name: str) -> Any:
        if name not in self._known and name in self._expressions:
            self._known[name] = eval(self._expressions[name], {"__builtins__": {}}, self)
        return self._known[name] if name in self._known else self._others[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._known, **self._expressions, **self._others})

    def __len__(self) -> int:
        return len(list(iter(self)))


class _Parameters(lmfit.Parameters):
    """Parameters without an interpreter: what has an expression has its value already."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        dict.__init__(self)
        for name, value in values.items():
            parameter = lmfit.Parameter(name)
            parameter._val = value  # beside its property, which would look on which side of its bounds it lies
            dict.__setitem__(self, name, parameter)


def jacobian(residual: object, strict: bool = False) -> Callable[..., Any]:
    def rows(r: Any) -> Any:
        r = np.ravel(r)
        return np.ravel(np.stack([r.real, r.imag], 1)) if np.iscomplexobj(r) else r

    def columns(found: Mapping[str, Any], outline: _Outline) -> Array:
        return np.stack([found[name] for name in outline.varied], 1)

    return _Derivative(_function("jacobian", residual), rows, wg.jacobian, columns, strict)


def gradient(residual: object, strict: bool = False) -> Callable[..., Any]:
    def total(r: Any) -> Any:
        return np.sum(np.abs(r) ** 2) if np.size(r) > 1 else np.reshape(r, ())

    def entries(found: Mapping[str, Any], outline: _Outline) -> Array:
        return np.array([found[name] for name in outline.varied])

    return _Derivative(_function("gradient", residual), total, wg.grad, entries, strict)


def _function(where: str, residual: object) -> Callable[..., Any]:
    if isinstance(residual, lmfit.Model):
        model: Any = residual
        return model._residual
    if not callable(residual):
        raise wg.expect.refused(where, "residual", residual, "a function, or an lmfit.Model")
    return residual


class _Derivative:
    """A derivative of a residual by the parameters that vary: one compiled function for each outline."""

    def __init__(
        self,
        residual: Callable[..., Any],
        taken: Callable[[Any], Any],
        derivative: Callable[[Any], Any],
        arranged: Callable[[Mapping[str, Any], _Outline], Array],
        is_strict: bool,
    ) -> None:
        self._residual, self._is_strict = residual, is_strict
        self._taken, self._derivative, self._arranged = taken, derivative, arranged
        self._programs: dict[_Outline, Any] = {}

    def __call__(self, params: Parameters, *args: object, **kwargs: object) -> Array:
        varied = tuple([name for name, p in params.items() if p.vary and not p.expr])
        fixed = tuple([name for name, p in params.items() if not p.vary and not p.expr])
        outline = _Outline(varied, fixed, tuple([(name, p.expr) for name, p in params.items() if p.expr]))
        program = self._programs.get(outline)
        if program is None:
            program = self._programs[outline] = self._compiled(outline, params)
        values = [{name: float(params[name].value) for name in names} for names in (varied, fixed)]
        return self._arranged(program(*values, args, kwargs), outline)

    def _compiled(self, outline: _Outline, params: Parameters) -> Any:
        expressions = {name: _code(name, text) for name, text in outline.expressions}
        read = {name for _, text in outline.expressions for name in _names(text)}
        symbols: Mapping[str, Any] = vars(params)["_asteval"].symtable
        others = {name: symbols[name] for name in read if name in symbols}
        order, residual, taken = list(params), self._residual, self._taken

        def f(varied: dict[str, Any], fixed: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            values = _Values({**varied, **fixed}, expressions, others)
            return taken(residual(_Parameters({name: values[name] for name in order}), *args, **kwargs))

        return wg.jit(self._derivative(f), strict=self._is_strict)


def _names(text: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(text.strip(), mode="eval")) if isinstance(node, ast.Name)}


def _code(name: str, text: str) -> CodeType:
    tree = ast.parse(text.strip(), mode="eval")
    strange = next((node for node in ast.walk(tree) if not isinstance(node, _PLAIN)), None)
    if strange is not None:
        raise wg.errors.UnsupportedFunctionError(
            wg.errors.message(
                f"the expression of {name}, {text!r}, has a part that is not traced: {ast.unparse(strange)}",
                tries=["names, numbers, operators and calls", "the formula in the residual, with fewer parameters"],
            )
        )
    return compile(tree, f"<expression of {name}>", "eval")
