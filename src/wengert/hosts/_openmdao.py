"""This file has the components that :mod:`wengert.hosts.openmdao` makes; it imports OpenMDAO.

A component's computation is a function of arrays by name that returns arrays by name; :class:`Partials` computes those
blocks of its Jacobian that are wanted.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np
import openmdao.api as om
from openmdao.jacobians.jacobian import Jacobian
from openmdao.vectors.vector import Vector

import wengert as wg

Array = np.ndarray[Any, Any]
Arrays = Mapping[str, Any]
Compute = Callable[[Arrays], Arrays]
Pair = tuple[str, str]
Names = str | Iterable[str]
Discrete = Mapping[str, Any] | None


# ------------------------------------------------------------------------------------------------------- partials


class BlockPlaces(NamedTuple):
    """The places of a block that may differ from zero."""

    rows: Array
    cols: Array


class Partials:
    """The wanted blocks of the Jacobian of a function of arrays by name: dense ones, and ones of a known pattern."""

    def __init__(self, f: Compute, wanted: Mapping[Pair, BlockPlaces | None], values: Arrays, outputs: Arrays) -> None:
        dense = [pair for pair, pattern in wanted.items() if pattern is None]
        sparse = {pair: pattern for pair, pattern in wanted.items() if pattern is not None}
        self._dense = _Dense(f, dense) if dense else None
        self._sparse = _Compressed(f, sparse, values, outputs) if sparse else None

    def __call__(self, values: Arrays) -> Iterator[tuple[Pair, Array]]:
        """Return each pair with its block: a matrix, or the values at the places of its pattern."""
        for part in (self._dense, self._sparse):
            if part is not None:
                yield from part(values)


def _of_active(f: Compute, pairs: Sequence[Pair]) -> Callable[[Arrays, Arrays], Arrays]:
    """Return ``f`` as a function of the inputs that have a derivative, and the others, that returns what is wanted."""
    outputs = list(dict.fromkeys(of for of, _ in pairs))

    def wanted(active: Arrays, others: Arrays) -> Arrays:
        computed = f({**others, **active})
        return {name: computed[name] for name in outputs}

    return wanted


def _split(values: Arrays, names: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    return {name: values[name] for name in names}, {name: x for name, x in values.items() if name not in names}


class _Dense:
    def __init__(self, f: Compute, pairs: Sequence[Pair]) -> None:
        self._pairs, self._names = pairs, list(dict.fromkeys(wrt for _, wrt in pairs))
        self._jacobian = wg.jit(wg.jacobian(_of_active(f, pairs)))

    def __call__(self, values: Arrays) -> Iterator[tuple[Pair, Array]]:
        blocks = self._jacobian(*_split(values, self._names))
        for of, wrt in self._pairs:
            yield (of, wrt), np.reshape(blocks[of][wrt], (-1, np.size(values[wrt])))


class _Compressed:
    """Blocks of known patterns: columns that share no row are one direction, or rows that share no column.

    One more direction, of random numbers, checks at every call that there is nothing outside of the patterns, which
    would be added to what is inside.
    """

    def __init__(self, f: Compute, patterns: Mapping[Pair, BlockPlaces], values: Arrays, outputs: Arrays) -> None:
        self._patterns = patterns
        self._ins = {wrt: np.shape(values[wrt]) for _, wrt in patterns}
        self._outs = {of: np.shape(outputs[of]) for of, _ in patterns}
        first_in, first_out = _starts(self._ins), _starts(self._outs)
        self._rows = np.concatenate([first_out[of] + p.rows for (of, _), p in patterns.items()])
        self._cols = np.concatenate([first_in[wrt] + p.cols for (_, wrt), p in patterns.items()])
        n_in, n_out = (sum(map(_size, shapes.values())) for shapes in (self._ins, self._outs))
        columns, rows = colours(self._rows, self._cols, n_in), colours(self._cols, self._rows, n_out)
        self._is_forward = columns.max(initial=0) <= 2 * rows.max(initial=0)
        self._colours = columns if self._is_forward else rows
        shapes = self._ins if self._is_forward else self._outs
        check = np.random.default_rng(0).uniform(0.5, 1.5, len(self._colours))
        one_hot = np.arange(self._colours.max(initial=-1) + 1)[:, None] == self._colours
        self._check, self._seeds = check, _apart(np.vstack([one_hot, check]), shapes)
        g = _of_active(f, list(patterns))

        def forward(active: Arrays, others: Arrays, seeds: Arrays) -> Any:
            return wg.vmap(lambda dx: wg.jvp(lambda x: g(x, others), (active,), (dx,))[1])(seeds)

        def reverse(active: Arrays, others: Arrays, seeds: Arrays) -> Any:
            _, pullback = wg.vjp(lambda x: g(x, others), active)
            return wg.vmap(lambda ct: pullback(ct)[0])(seeds)

        self._products = wg.jit(forward if self._is_forward else reverse)

    def __call__(self, values: Arrays) -> Iterator[tuple[Pair, Array]]:
        found = self._products(*_split(values, list(self._ins)), self._seeds)
        shapes = self._outs if self._is_forward else self._ins
        products = np.concatenate([np.reshape(found[name], (-1, _size(shape))) for name, shape in shapes.items()], 1)
        across, along = (self._rows, self._cols) if self._is_forward else (self._cols, self._rows)
        entries = products[self._colours[along], across]
        self._refuse_what_is_outside(entries, products[-1], across, along)
        ends = np.cumsum([len(p.rows) for p in self._patterns.values()])[:-1]
        yield from zip(self._patterns, np.split(entries, ends), strict=True)

    def _refuse_what_is_outside(self, entries: Array, product: Array, across: Array, along: Array) -> None:
        terms = entries * self._check[along]
        wanted, scale = np.zeros_like(product), np.zeros(len(product))
        np.add.at(wanted, across, terms)
        np.add.at(scale, across, np.abs(terms))
        off = np.abs(wanted - product) > 1e-7 * np.maximum(scale, np.abs(product))  # False where it is NaN
        if off.any():
            names = ", ".join(f"d({of})/d({wrt})" for of, wrt in self._patterns)
            raise wg.errors.StructureError(
                wg.errors.message(
                    f"the rows and cols declared for {names} leave out entries that are not zero",
                    tries=["all of the entries that may differ from zero", "no rows and cols, for a dense block"],
                )
            )


def _size(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=int))


def _starts(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """Return where each of some arrays begins when they are one vector."""
    sizes = [_size(shape) for shape in shapes.values()]
    return dict(zip(shapes, np.cumsum([0, *sizes])[:-1].tolist(), strict=True))


def _apart(vectors: Array, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
    """Return the arrays of which each row of ``vectors`` is made, with an axis in front for the rows."""
    starts = _starts(shapes)
    return {
        name: vectors[:, starts[name] : starts[name] + _size(shape)].reshape(-1, *shape)
        for name, shape in shapes.items()
    }


def colours(rows: Array, cols: Array, n_cols: int) -> Array:
    """Return a number for each column, so that no two columns of one number share a row; greedy, in their order.

    Source: Curtis, Powell and Reid (1974), On the estimation of sparse Jacobian matrices.
    """
    order = np.argsort(cols, kind="stable")
    starts = np.searchsorted(cols[order], np.arange(n_cols + 1))
    used: list[set[int]] = []
    found = np.zeros(n_cols, int)
    for column in range(n_cols):
        own = rows[order[starts[column] : starts[column + 1]]].tolist()
        number = next((k for k, taken in enumerate(used) if taken.isdisjoint(own)), len(used))
        if number == len(used):
            used.append(set())
        used[number].update(own)
        found[column] = number
    return found


# ------------------------------------------------------------------------------------- components that are written


class _Read(dict[str, Any]):
    """The arrays by name that ``compute`` reads, with what else OpenMDAO's vectors are asked for."""

    def get_val(self, name: str, flat: bool = True) -> Any:
        return np.ravel(self[name]) if flat else self[name]

    def asarray(self, copy: bool = False) -> Any:
        return np.concatenate([np.ravel(x) for x in self.values()])


class _Written(_Read):
    """The arrays that ``compute`` writes: each is filled, as in OpenMDAO, and keeps its shape."""

    def __setitem__(self, name: str, value: float | Array) -> None:
        array = self[name]
        if value is not array:
            fits = np.ndim(value) == 0 or np.size(value) != np.size(array)
            array[...] = value if fits else np.reshape(value, np.shape(array))

    def set_val(self, value: float | Array) -> None:
        for array in self.values():
            array[...] = value

    def set_vals(self, values: Iterable[Any]) -> None:
        for name, value in zip(self, values, strict=False):
            self[name] = value


_SIGNATURE = inspect.signature(om.ExplicitComponent.declare_partials)
_OF_STEPS = ("method", "step", "form", "step_calc", "minimum_step")


_SEEN = frozenset(["name", "pathname", "options"])
"""The attributes set by OpenMDAO that ``compute`` may read."""

_MADE = frozenset(["_discrete_inputs", "_discrete_outputs", "_under_complex_step"])


class _Identity(om.ImplicitComponent):
    def setup(self) -> None:
        self.add_input("x")
        self.add_output("y")
        self.declare_partials("y", ["x", "y"], val=1.0)


@functools.cache
def _set_by_openmdao() -> frozenset[str]:
    """Return the names of the attributes that OpenMDAO gives to a component until it has been linearised."""
    problem = om.Problem(reports=False)
    components = om.ExecComp("y = x", has_diag_partials=True), _Identity()
    for name, one in zip(("explicit", "implicit"), components, strict=True):
        problem.model.add_subsystem(name, one)
    problem.setup(force_alloc_complex=True)
    problem.final_setup()
    problem.model.run_linearize()
    own = set(vars(om.ExplicitComponent())) | {"_declared", "_partials", "_alone"}
    return frozenset(own.union(*map(vars, components)))


class _Declared(NamedTuple):
    of: tuple[str, ...]
    wrt: tuple[str, ...]
    is_ours: bool
    places: dict[str, Any]


class Exact:
    """Before a class of OpenMDAO's: what is declared as an approximation is computed by :class:`Partials`."""

    _declared: list[_Declared]
    _partials: Partials | None
    _alone: Any

    def setup(self) -> None:
        self._declared, self._partials = [], None
        super().setup()  # type: ignore[misc]  # the component stands behind it

    def declare_partials(self, of: Names, wrt: Names, *args: object, **kwargs: object) -> Any:
        given = _SIGNATURE.bind(self, of, wrt, *args, **kwargs).arguments
        is_ours = given.get("method", "exact") in ("cs", "fd") and given.get("dependent", True)
        if is_ours:
            given = {name: value for name, value in given.items() if name not in _OF_STEPS}
        places = {name: given.get(name) for name in ("rows", "cols", "diagonal")}
        self._declared.append(_Declared(_patterns(of), _patterns(wrt), is_ours, places))
        given.pop("self")
        return super().declare_partials(**given)  # type: ignore[misc]  # as above

    def declare_coloring(self, wrt: Names = "*", *args: object, **kwargs: object) -> None:
        self.declare_partials("*", wrt, method="cs")

    def _compute_ours(
        self, partials: Jacobian, computes: str, read: Arrays, written: Arrays, discrete: Discrete
    ) -> None:
        """Fill in ``partials`` of what the method ``computes`` makes of what it reads: arrays like ``written``."""
        values = {name: np.array(x)[()] for name, x in read.items()}
        if self._partials is None:
            self._partials = self._new_partials(computes, values, written)
        self._note_state(discrete)
        for pair, block in self._partials(values):
            partials[pair] = block

    def _new_partials(self, computes: str, values: Arrays, written: Arrays) -> Partials:
        shapes = {name: np.shape(x) for name, x in written.items()}
        reads_outputs = computes == "apply_nonlinear"
        alone = self._alone = object.__new__(type(self))

        def f(values: Arrays) -> Arrays:
            made = _Written({name: np.zeros(shape) for name, shape in shapes.items()})
            inputs = _Read({name: x for name, x in values.items() if not reads_outputs or name not in shapes})
            outputs = (_Read({name: values[name] for name in shapes}),) if reads_outputs else ()
            discrete: Any = vars(alone)["_discrete_inputs"]
            given = (discrete, dict(vars(alone)["_discrete_outputs"])) if discrete else ()
            getattr(alone, computes)(inputs, *outputs, made, *given)
            return dict(made)

        return Partials(f, self._wanted(values, written), values, written)

    def _note_state(self, discrete: Discrete) -> None:
        """Give the component that is traced what the user's code has set of this one, and nothing of OpenMDAO's.

        OpenMDAO's own attributes lead to the whole problem, which a compiled function would watch for changes.
        """
        not_seen = _set_by_openmdao() - _SEEN
        state = vars(self._alone)
        for name in [name for name in state if name not in vars(self) and name not in _MADE]:
            del state[name]
        state |= {name: x for name, x in vars(self).items() if name not in not_seen}
        state["_under_complex_step"] = False
        outputs: Any = self._discrete_outputs  # type: ignore[attr-defined]  # of the component
        for name, values in (("_discrete_inputs", discrete or {}), ("_discrete_outputs", outputs)):
            held = state.setdefault(name, {})  # the same dict again, since one that is replaced is traced anew
            held.clear()
            held.update(values.items())

    def _wanted(self, values: Arrays, outputs: Arrays) -> dict[Pair, BlockPlaces | None]:
        found: dict[Pair, BlockPlaces | None] = {}
        for declared in self._declared:
            for of in [name for name in outputs if any(fnmatchcase(name, p) for p in declared.of)]:
                for wrt in [name for name in values if any(fnmatchcase(name, p) for p in declared.wrt)]:
                    found.pop((of, wrt), None)  # the last declaration holds
                    if declared.is_ours:
                        found[of, wrt] = _places(np.size(outputs[of]), **declared.places)
        return found


class ExactExplicit(Exact):
    def compute_partials(self, inputs: Vector, partials: Jacobian, discrete_inputs: Discrete = None) -> None:
        given = (discrete_inputs,) if discrete_inputs else ()
        super().compute_partials(inputs, partials, *given)  # type: ignore[misc]  # the component stands behind it
        outputs = self._outputs  # type: ignore[attr-defined]  # as above
        self._compute_ours(partials, "compute", dict(inputs.items()), dict(outputs.items()), discrete_inputs)


class ExactImplicit(Exact):
    def linearize(self, inputs: Vector, outputs: Vector, jacobian: Jacobian, *discrete: Discrete) -> None:
        super().linearize(inputs, outputs, jacobian, *discrete)  # type: ignore[misc]  # the component stands behind it
        states = dict(outputs.items())
        read = {**dict(inputs.items()), **states}
        self._compute_ours(jacobian, "apply_nonlinear", read, states, discrete[0] if discrete else None)


def _patterns(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _places(size: int, rows: Array | None, cols: Array | None, diagonal: bool | None) -> BlockPlaces | None:
    if diagonal:
        return BlockPlaces(np.arange(size), np.arange(size))
    return None if rows is None else BlockPlaces(np.asarray(rows), np.asarray(cols))


def exact(component: type) -> type:
    if issubclass(component, om.ExplicitComponent):
        before: type = ExactExplicit
    elif issubclass(component, om.ImplicitComponent):
        before = ExactImplicit
    else:
        expected = "a subclass of ExplicitComponent or ImplicitComponent"
        raise wg.errors.ArgumentError(
            wg.errors.message(f"exact: component is the class {component.__name__}; expected {expected}")
        )
    space = {"__module__": component.__module__, "__qualname__": component.__qualname__, "__doc__": component.__doc__}
    return type(component.__name__, (before, component), space)


# --------------------------------------------------------------------------------------- components of functions


class FunctionComponent(om.ExplicitComponent):
    """A component that computes a function of named arguments, and its Jacobian."""

    def __init__(self, f: Callable[..., Arrays], inputs: Arrays, units: Mapping[str, str]) -> None:
        self._f = lambda values: f(**values)
        self._program = wg.jit(self._f)
        self._given, self._units = inputs, units
        super().__init__()

    def setup(self) -> None:
        made = self._program(self._given)
        unknown = set(self._units) - set(self._given) - set(made)
        if unknown:
            raise wg.errors.ArgumentError(
                wg.errors.message(f"component: units has {sorted(unknown)[0]!r}, which is neither input nor output")
            )
        for name, value in self._given.items():
            self.add_input(name, val=value, units=self._units.get(name))
        for name, value in made.items():
            self.add_output(name, val=np.asarray(value, float), units=self._units.get(name))
        self._declare(made)

    def _declare(self, made: Arrays) -> None:
        self.declare_partials("*", "*")
        pairs = dict.fromkeys((of, wrt) for of in made for wrt in self._given)
        self._partials = Partials(self._f, pairs, self._given, made)

    def _values(self, inputs: Vector) -> dict[str, Any]:
        return {name: np.reshape(inputs[name], np.shape(value))[()] for name, value in self._given.items()}

    def compute(self, inputs: Vector, outputs: Vector) -> None:
        for name, value in self._program(self._values(inputs)).items():
            outputs[name] = value

    def compute_partials(self, inputs: Vector, partials: Jacobian) -> None:
        for pair, block in self._partials(self._values(inputs)):
            partials[pair] = block


class MatrixFreeComponent(FunctionComponent):
    """A component that computes a function of named arguments, and products with its Jacobian."""

    def _declare(self, made: Arrays) -> None:
        f = self._f  # the component itself would be watched, and with it the whole problem

        def forward(values: Arrays, tangents: Arrays) -> Any:
            return wg.jvp(f, (values,), (tangents,))[1]

        def reverse(values: Arrays, cotangents: Arrays) -> Any:
            return wg.vjp(f, values)[1](cotangents)[0]

        self._products = {"fwd": wg.jit(forward), "rev": wg.jit(reverse)}
        self._shapes = {name: np.shape(value) for name, value in made.items()}

    def compute_partials(self, inputs: Vector, partials: Jacobian) -> None:
        """Do nothing, since no partials are declared."""

    def compute_jacvec_product(self, inputs: Vector, d_inputs: Vector, d_outputs: Vector, mode: str) -> None:
        values = self._values(inputs)
        given, asked = (d_inputs, d_outputs) if mode == "fwd" else (d_outputs, d_inputs)
        shapes = {name: np.shape(x) for name, x in values.items()} if mode == "fwd" else self._shapes
        directions = {
            name: np.reshape(given[name], shape)[()] if name in given else np.zeros(shape)[()]
            for name, shape in shapes.items()
        }
        for name, product in self._products[mode](values, directions).items():
            if name in asked:
                asked[name] += np.reshape(product, np.shape(asked[name]))


def component(
    f: Callable[..., Any],
    inputs: Mapping[str, Any] | None,
    outputs: str | Sequence[str] | None,
    units: Mapping[str, str] | None,
    matrix_free: bool,
) -> FunctionComponent:
    parameters = inspect.signature(f).parameters
    given = dict(inputs or {})
    values = {
        name: given.pop(name, 1.0 if p.default is p.empty else p.default)
        for name, p in parameters.items()
        if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    }
    if given and any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        values |= given
    elif given:
        what = f"component: inputs has {sorted(given)[0]!r}, which is no argument of {getattr(f, '__name__', 'f')}"
        raise wg.errors.ArgumentError(wg.errors.message(what))
    names = (outputs,) if isinstance(outputs, str) else None if outputs is None else tuple(outputs)

    def named(**values: Any) -> Arrays:
        result = f(**values)
        if names is None and isinstance(result, dict):
            return result
        results = result if isinstance(result, tuple) else (result,)
        if names is None or len(names) != len(results):
            given = "no dict" if names is None else f"{len(results)} outputs"
            what = f"component: {getattr(f, '__name__', 'f')} returns {given}; outputs is {outputs!r}"
            raise wg.errors.ArgumentError(
                wg.errors.message(what, tries=['return {"y": y}', 'outputs="y", or as many names as there are outputs'])
            )
        return dict(zip(names, results, strict=True))

    floats = {name: np.asarray(value, float)[()] for name, value in values.items()}
    return (MatrixFreeComponent if matrix_free else FunctionComponent)(named, floats, units or {})
