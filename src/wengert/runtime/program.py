"""Programs: a tape compiled to machine code over one planned arena, which can be called.

Without machine code (``config.native`` is off) the references run the tape, step by step: :mod:`.reference`.

A program is immutable: several threads may run it at once, each run has its own arena. Results never share memory with
arguments, captured arrays or each other.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert import config, tree
from wengert.errors import ConcretizationError, DTypeError, GuardError, LayoutError, ShapeError, StructureError, message
from wengert.expect import given
from wengert.ops.control import EACH, GuardMiss, guard, miss_of, values_of
from wengert.ops.index import CountMiss, nonzero
from wengert.ops.printing import held
from wengert.passes.number_guards import without_guards
from wengert.passes.plan.places import Plan, PlanStep
from wengert.runtime import _native, machine_code, threadpool, timing
from wengert.runtime.bound import BoundReference
from wengert.runtime.c_function import CFunction, c_function
from wengert.runtime.nonfinite import look, raise_if_made
from wengert.runtime.out import targets_of
from wengert.runtime.reference import Reference
from wengert.source import Source
from wengert.tape import Aval, Capture, Tape, has_effects
from wengert.tracebacks import fold
from wengert.tracing import foreign
from wengert.tracing.python.lines import definition
from wengert.tracing.tracer import Tracer

if TYPE_CHECKING:
    from wengert.passes.memory import Memory
    from wengert.runtime.assemble import KernelInfo, Linked


class NativeMiss(GuardError):
    """The error that the executor raises when a guard does not hold, with its position and the bytes seen there."""

    def __str__(self) -> str:
        return f"guard {self.args[0]} does not hold: the tape was made for another branch"


_native.setup(guard_miss=NativeMiss)
_native.set_threads(config.threads)


def _look_everywhere(is_wanted: object) -> None:
    _native.finding.everywhere = 2 if is_wanted else 0


config._listeners["find_nans"] = _look_everywhere
_look_everywhere(config.find_nans)


class Program:
    """Runs a tape.

    ``captures_vary``: the captured arrays are given at each run (an un-jitted call), rather than read where they lie.
    ``is_fast``: use the faster versions of some functions, see :func:`wengert.fastmath`.
    ``promised``: captures that were read-only, so that steps which depend on them alone were done already.
    ``donated``: the inputs whose memory the results of ``run`` may be written into; then the results are those arrays.
    ``by_numpy``: run the references of the steps; no code is made.
    """

    def __init__(
        self,
        tape: Tape,
        captures_vary: bool = False,
        in_strides: Sequence[tuple[int, ...] | None] = (),
        is_fast: bool = False,
        promised: Sequence[Capture] = (),
        donated: Sequence[int] = (),
        by_numpy: bool = False,
    ) -> None:
        self.tape = tape
        self._promised = [(c, a) for c in promised for a in _in_whose_memory(c.array) if not a.flags.writeable]
        self._captures_vary = captures_vary
        self.arena_bytes = 0
        """The bytes of the one block of memory that all intermediate values share."""
        self.plan: Plan | None = None
        may_miss = any(i.op is guard or i.op is nonzero for i in tape.instrs)
        self.holds = may_miss and any(map(has_effects, [i for i in tape.instrs if i.op is not guard]))
        """Whether a run may show something to people and then turn out to be on a path that is not the right one: what
        it shows is held until it has ended."""
        self._guards = {i.params["position"]: i for i in tape.instrs if i.op is guard}
        self.executable: _native.Executable | None = None
        self.linked: Linked | None = None
        self.function: Callable[..., Any] | None = None
        """The user's function, whose names of arguments errors use; None if nobody has said."""
        self._making = tuple(in_strides), is_fast, tuple(donated)
        self._checked: list[PlanStep] = []  # the step of each of the executable's checks
        self._reference: Reference | None = None
        if not by_numpy and machine_code.load():
            threadpool.register()
            self._build(in_strides, is_fast, donated)
        else:
            if not by_numpy:
                machine_code.say_once()
            self._reference = Reference(tape)

    def _why_none(self) -> str:
        """The reason why there is no machine code."""
        return machine_code.why_none() or "it has not been run often enough to earn machine code (tiered=True)"

    @property
    def kernels(self) -> tuple[KernelInfo, ...]:
        """The kernels that the program runs, in order. Raises StructureError if NumPy runs it, without machine code."""
        if self.linked is None:
            raise StructureError(
                message(
                    f"{self.tape.name}: NumPy runs this program, without kernels: {self._why_none()}",
                    tries=["print(program.tape), the steps that it does", machine_code.remedy()],
                )
            )
        return self.linked.kernels

    @property
    def defined_at(self) -> Source | None:
        """Where the user's function is defined; None if it is not known."""
        return definition(self.function)

    def _build(self, in_strides: Sequence[tuple[int, ...] | None], is_fast: bool, donated: Sequence[int]) -> None:
        from wengert.runtime.assemble import assemble  # here: it needs llvmlite

        self.linked = assemble(
            self._whole(),
            in_strides,
            is_fast,
            keeps_arena=not self._captures_vary,  # there may be hundreds of un-jitted programs, each called once
            donated=donated,
        )
        self.plan, self.executable = self.linked[:2]
        self.executable.owner = weakref.ref(self)
        self.arena_bytes = self.plan.arena_bytes
        timing.note_made(self)

    def _make_checks(self) -> None:
        """Tell the executable what its steps write, so that it can look for NaNs there. The runtime asks for this when
        a run looks for the first time; the kernels and the plan stay."""
        from wengert.codegen.lowered import lowered_tape
        from wengert.codegen.target import target
        from wengert.runtime.assemble import checks

        assert self.executable is not None
        looked_at = checks(lowered_tape(self._whole(), target(), *self._making), self.kernels)
        self._checked = [step for step, _ in looked_at]
        self.executable.look_at([check for _, check in looked_at])

    def _found(self, reads: list[Any], number: int, mode: int) -> None:
        """Raise NonFiniteError if what check ``number`` has found was made by an operation. ``reads`` are copies of
        the inputs, then of the captured arrays; ``mode`` is 2 where infinities count."""
        n = len(self.tape.inputs)
        inputs = reads[:n]
        captures = reads[n:] if self._captures_vary else [c.array for c in self.tape.captures]
        raise_if_made(self.tape, inputs, captures, mode == 2, self.function, self._checked[number].instr)

    def _whole(self) -> Tape:
        """The tape, with captured arrays as inputs if they vary."""
        if not self._captures_vary:
            return self.tape
        return self.tape.replace(inputs=(*self.tape.inputs, *[c.var for c in self.tape.captures]), captures=())

    def __repr__(self) -> str:
        if self.linked is None:
            n = len(self.tape.instrs)
            return f"<program {self.tape.name}: {n} step{'s' * (n != 1)}, run by NumPy>"
        n = len(self.kernels)
        return f"<program {self.tape.name}: {n} kernel{'s' * (n != 1)}, {self.peak_bytes:,} bytes of memory>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the kernels in their order, of which a long program shows the first."""
        if self.linked is None:
            return f"<p>{escape(repr(self))}</p>"
        rows = [
            f"<tr><td>{k}</td><td>{escape(kernel.name)}</td><td>{escape(kernel.kind)}</td></tr>"
            for k, kernel in enumerate(self.kernels[:100])
        ]
        if len(self.kernels) > 100:
            rows.append(f"<tr><td></td><td></td><td>{len(self.kernels) - 100} more: program.kernels</td></tr>")
        return f"<p>{escape(repr(self))}</p><table>{''.join(rows)}</table>"

    @property
    def peak_bytes(self) -> int:
        """The bytes that a run takes beside arguments and results: those of the arena, and the most that the body of a
        loop or a branch takes while it runs; 0 without machine code.

        >>> import numpy as np, wengert as wg
        >>> def loss(x):
        ...     return np.sum(wg.scan(lambda x, _: (np.sin(x), None), x, None, length=100, checkpoint=10)[0])
        >>> program = wg.jit(wg.grad(loss)).program(np.ones(5000))
        >>> program.arena_bytes, program.peak_bytes
        (440000, 560000)
        """
        return self.linked.peak_bytes if self.linked is not None else 0

    def memory(self) -> Memory:
        """The values that the program stores while it runs, to be printed: for each, from which step to which it is
        stored, where, which steps read it, and why it is not computed again instead.

        Raises StructureError for a program that is not native."""
        if self.plan is None:
            raise StructureError(
                message(f"{self.tape.name}: NumPy runs this program, without a plan: {self._why_none()}")
            )
        from wengert.passes.memory import memory  # imported only here, since no run needs it

        return memory(self.plan)

    def run(self, inputs: Sequence[Any], captures: Sequence[Any] | None = None) -> list[Any]:
        """Return the outputs for arrays of exactly the tape's input types.

        ``captures`` stand in for the captured arrays of a tape of the same structure; by default the tape's own
        are read where they lie. Raises ``GuardMiss`` when a guard does not hold.
        """
        if self.holds:
            return held(self._run, inputs, captures)
        return self._run(inputs, captures)

    def _run(self, inputs: Sequence[Any], captures: Sequence[Any] | None) -> list[Any]:
        if self.executable is None:
            return self._answer(inputs, captures)
        if self._captures_vary:
            inputs = [*inputs, *(captures if captures is not None else [c.array for c in self.tape.captures])]
        try:
            return self.executable.run(inputs)
        except NativeMiss as miss:
            raise self.missed(*miss.args) from None

    def _answer(self, inputs: Sequence[Any], captures: Sequence[Any] | None = None) -> list[Any]:
        """Return the outputs as the references have them."""
        assert self._reference is not None
        if _native.finding.mode:
            look(self.tape, inputs, captures, self.function)
        return self._reference.run(inputs, captures)

    def run_recorded(
        self, inputs: Sequence[Any], captures: Sequence[Any] | None = None, recorded: Tape | None = None
    ) -> tuple[list[Any], bool]:
        """Run as :meth:`run` on the very values that the tape was recorded with; return also whether NumPy had to.

        NumPy computed the values that the guards saw. If machine code, which rounds differently, comes out on the other
        side of a guard (is an element greater than the mean of equal ones?), NumPy computes the outputs too. It runs
        the tape as it was ``recorded``, if that is given, since passes change rounding too (a sum of parts becomes one
        sum). It asks no guard: a function that was transformed within has gone through passes before it was recorded.
        """
        try:
            return self.run(inputs, captures), False
        except (GuardMiss, CountMiss):
            tape = self.tape if recorded is None else recorded
            if _native.finding.mode:
                look(tape, inputs, captures, self.function)
            return Reference(without_guards(tape)).run(inputs, captures), True

    def missed(self, position: int, data: bytes) -> GuardMiss:
        """Return the GuardMiss for a native guard that did not hold, from its position and the bytes seen there."""
        instr = self._guards[position]
        aval = instr.ins[0].aval
        return miss_of(np.frombuffer(data, aval.dtype).reshape(aval.shape), **instr.params)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the value of the traced function, for arguments of the structure and types it was traced with.

        Raises StructureError, ShapeError or DTypeError where they differ, and GuardError where a branch of the
        function would be taken that the tape did not record, or a captured array that was read-only when it was
        compiled can be written now.
        """
        try:
            inputs = self._inputs(args, kwargs)
            try:
                return self._result(self.run(inputs))
            except GuardMiss as miss:
                raise guard_error(self.tape, miss) from None
        except Exception as error:  # any: it goes on, with a shorter traceback
            fold(error)
            raise

    def bind(self, *args: Any, out: Any = None, **kwargs: Any) -> Callable[[], Any]:
        """Bind the program to its arguments: ``call()`` reads them where they lie, and writes results into ``out``.

        Everything is checked here, once; a call runs the kernels and nothing else, and allocates nothing. It returns
        ``out``; without ``out``, arrays that are made here, the same at every call. Change the arguments in place and
        call again.

        Raises
        ------
        StructureError, ShapeError, DTypeError
            Where the arguments, or ``out``, are not what the program was made for.
        LayoutError
            If an array is not contiguous, not aligned or, in ``out``, read-only or one that is read.

        Examples
        --------
        >>> import numpy as np, wengert as wg
        >>> x, gradient = np.array([1.0, 2.0]), np.empty(2)
        >>> call = wg.jit(wg.grad(lambda x: np.sum(x**2))).program(x).bind(x, out=gradient)
        >>> x[0] = 5.0
        >>> call()
        array([10.,  4.])
        """
        try:
            inputs = self._inputs(args, kwargs)
            if out is None:
                targets = [np.empty(a.aval.shape, a.aval.dtype) for a in self.tape.outputs]
                out = self._result(targets)
            else:
                targets = targets_of(out, self.tape)
            try:
                if self.executable is None:
                    return BoundReference(self._answer_bound, self.tape, inputs, targets, out)
                self.executable.owner = lambda: self  # what is bound may outlive this object, and asks it about NaNs
                if self._captures_vary:
                    inputs += [c.array for c in self.tape.captures]
                return self.executable.bind(inputs, None, targets, out)
            except ValueError as error:
                raise LayoutError(message(f"{self.tape.name}: {error}")) from None
        except Exception as error:  # any: it goes on, with a shorter traceback
            fold(error)
            raise

    def _answer_bound(self, inputs: Sequence[Any]) -> list[Any]:
        try:
            return held(self._answer, inputs) if self.holds else self._answer(inputs)
        except GuardMiss as miss:
            raise guard_error(self.tape, miss) from None

    def c_function(self) -> CFunction:
        """Return the addresses by which code outside of Python runs the program, without the GIL and from any thread.

        It is for those who call from C, Cython, ctypes or the like; ``wg.hosts.numba`` and ``wg.hosts.scipy`` do so. A
        run is in the calling thread alone. It reads captured arrays where they lie, looks for no NaNs, and ends with a
        status where it would need Python: ``wengert.runtime.c_function.CFunction`` says how it is called.

        Raises
        ------
        StructureError
            The program is not native, or one of its steps calls Python.

        Examples
        --------
        >>> import ctypes
        >>> import numpy as np, wengert as wg
        >>> x, y = np.array([3.0, 4.0]), np.empty(())
        >>> given = wg.compile(wg.trace(lambda x: np.sqrt(np.sum(x**2)))(x)).c_function()
        >>> call = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 3)(given.call)
        >>> call(given.data, (ctypes.c_void_p * 1)(x.ctypes.data), (ctypes.c_void_p * 1)(y.ctypes.data)), y
        (0, array(5.))
        """
        return c_function(self, [array for _, array in self._promised])

    def _inputs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Check the arguments, and return the arrays among them."""
        for capture, array in self._promised:
            if array.flags.writeable:
                raise self._broken(capture)
        expected = self.tape.in_tree
        if expected is None:
            leaves = [foreign.taken(x) for x in args]
        else:
            given = (args, kwargs) if kwargs else args
            difference = tree.mismatch(expected, given)
            if difference is not None:
                raise StructureError(message(f"{self.tape.name}: {difference}"))
            leaves = foreign.flatten(given)[0]
            for k, value in reversed(self.tape.in_static):
                if type(leaves[k]) is not type(value) or leaves[k] != value:
                    raise StructureError(
                        message(
                            f"{self.tape.name}: argument{tree.path(expected, k)}: expected {value!r}, got {leaves[k]!r}"
                        )
                    )
                del leaves[k]
        if len(leaves) != len(self.tape.inputs):
            raise StructureError(
                message(f"{self.tape.name}: expected {len(self.tape.inputs)} arrays, got {len(leaves)}")
            )
        return [
            _checked(x, v.aval, self.tape, k) for k, (x, v) in enumerate(zip(leaves, self.tape.inputs, strict=True))
        ]

    def _broken(self, capture: Capture) -> GuardError:
        name = capture.name or f"a captured {capture.var.aval}"
        return GuardError(
            message(
                f"{self.tape.name}: {name} was read-only when this was compiled, and steps that depend on it alone "
                "were done then; now it can be written",
                tries=["wg.jit, which traces again", f"{name}.flags.writeable = False", "wg.compile of a new tape"],
            )
        )

    def _result(self, results: list[Any]) -> Any:
        return tuple(results) if self.tape.out_tree is None else tree.unflatten(self.tape.out_tree, results)


def _in_whose_memory(array: object) -> Iterator[np.ndarray[Any, Any]]:
    """Yield the array, and those of which it is a view."""
    while isinstance(array, np.ndarray):
        yield array
        array = array.base


def _checked(x: object, aval: Aval, tape: Tape, k: int) -> Any:
    where = f"argument {k}" if tape.in_tree is None else f"argument{tree.path(tape.in_tree, _leaf(tape, k))}"
    if type(x) is Tracer:
        raise ConcretizationError(
            message(
                f"{tape.name}: {where} is traced, and a program runs on arrays alone",
                tries=["the function that the program was made of", "wg.jit of it"],
            )
        )
    if not isinstance(x, np.ndarray | np.generic):
        if not isinstance(x, bool | int | float | complex) or not np.can_cast(type(x), aval.dtype, "same_kind"):
            raise DTypeError(message(f"{tape.name}: {where}: expected {aval}, got {tree.describe(x)}"))
        try:
            x = np.asarray(x, aval.dtype)
        except OverflowError as error:
            raise DTypeError(message(f"{tape.name}: {where}: expected {aval}, got {given(x)}")) from error
    if x.shape != aval.shape:
        raise ShapeError(message(f"{tape.name}: {where}: expected {aval}, got {Aval(x.shape, x.dtype)}"))
    if x.dtype != aval.dtype:
        order = "" if x.dtype.isnative else " in another byte order"
        raise DTypeError(message(f"{tape.name}: {where}: expected {aval}, got {Aval(x.shape, x.dtype)}{order}"))
    return x


def _leaf(tape: Tape, k: int) -> int:
    """Return which leaf of the arguments is input ``k``: leaves that are not traced are none of the inputs."""
    for static, _ in tape.in_static:  # in their order
        k += static <= k
    return k


def guard_error(tape: Tape, miss: GuardMiss) -> GuardError:
    guards = [i for i in tape.instrs if i.op is guard]
    instr = next((i for i in reversed(guards) if i.params["position"] <= miss.position), guards[-1])
    kind = instr.params["kind"] if instr.params["kind"] != EACH else "a condition in a loop"
    expected = dict(enumerate(values_of(instr), instr.params["position"])).get(miss.position)
    return GuardError(
        message(
            f"{tape.name}: the tape was recorded where {kind} was {expected!r}, and here it is {miss.value!r}",
            instr.source,
            tries=["wg.jit, which keeps a tape for each path"],
        )
    )


tree.register_leaf(Program, is_child=False)  # it is a leaf, though a callable object is a node of a tree by default
