"""A function that is traced once for each signature and path, and then runs as programs.

A call is looked up by its *signature* (structure, shapes, dtypes, which leaves are Python numbers), then by the
*environment* it captured (see :mod:`wengert.tracing.surroundings.environment`), then by its *path* through the
branches (see :mod:`wengert.runtime.paths`). A call that is new in one of these is traced; nothing is run on a guess.
"""

from __future__ import annotations

import inspect
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from html import escape
from types import BuiltinFunctionType, FunctionType, GenericAlias, MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypedDict, TypeVar, cast, overload

import numpy as np

from wengert import config, passes, tree
from wengert.attributes import held
from wengert.errors import (
    CaptureError,
    FirstUseError,
    InternalError,
    StructureError,
    TooManyIterationsError,
    WengertError,
    message,
)
from wengert.locks import lock_of_object
from wengert.notes import current as current_notes
from wengert.ops.control import GuardMiss, guard, values_of
from wengert.passes.any_count import check_counted
from wengert.passes.number_guards import path_of
from wengert.runtime import _native
from wengert.runtime.entry import entry_of
from wengert.runtime.execute import run_once
from wengert.runtime.out import write_out
from wengert.runtime.paths import Paths
from wengert.runtime.plain import NotTraced, OwnArrays, answered_by, is_refusal, warn_slow
from wengert.runtime.program import Program
from wengert.runtime.specialisation import MAX_ENVIRONMENTS, Compiled, Specialisation, check_not_shared
from wengert.runtime.tiered import Earning
from wengert.tracebacks import fold
from wengert.tracing import foreign
from wengert.tracing.counted import Counts, RunCounts
from wengert.tracing.emit import own_array
from wengert.tracing.signature import Array, Signature, signature_of
from wengert.tracing.stack import current_trace
from wengert.tracing.tracer import Tracer
from wengert.tracing.whole import ReadsEnclosingTrace, Whole, trace_whole

WITHOUT_CODE = "is answered without machine code, as it is without wg.jit"
REBOUND = f"is traced again whenever what it captured is rebound, {MAX_ENVIRONMENTS} times by now"
UNDECIDED = "was answered by NumPy, not by machine code, since rounding may decide a branch, and will be traced again"


class Unrepeatable(WengertError):
    """The reason why no program is kept: another run of the function may read other values. It is not an error."""


@dataclass
class Stats:
    """Counts of what a jitted function has done so far. Times are in seconds."""

    calls: int = 0
    traces: int = 0
    """Times the Python function ran, because something was new."""
    guard_misses: int = 0
    """Calls that left the path they began on."""
    sibling_hits: int = 0
    """Guard misses that ended on a path already compiled."""
    environment_misses: int = 0
    """Calls that found a captured variable changed."""
    specialisations: int = 0
    """Programs kept, over all signatures and paths."""
    undecided: int = 0
    """Traced calls that NumPy answered, since machine code, which rounds differently, came out on the other side of a
    guard: an element compared with the mean of equal ones. Each such call is traced again."""
    compile_s: float = 0.0
    unrepeatable: str = ""
    """The reason why the function itself answers every call, if another run of the same steps could give another
    result; else empty."""
    plain: int = 0
    """Calls that were answered by the function itself, without machine code."""
    why_plain: str = ""
    """The reason for which the last of these calls was answered so."""


class StatsDict(TypedDict):
    """The dict that ``stats()`` of a jitted function returns; :class:`Stats` says what the entries are."""

    calls: int
    traces: int
    guard_misses: int
    sibling_hits: int
    environment_misses: int
    specialisations: int
    undecided: int
    compile_s: float
    unrepeatable: str
    plain: int
    why_plain: str


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'s' * (n != 1)}"


_HAVE_SIGNATURES = (FunctionType, MethodType, BuiltinFunctionType, type, partial)
"""The types of callables whose own signature is read; of another object the class's ``__call__`` is read, since its
``__getattr__`` may raise anything."""


_LEAVES = frozenset({np.ndarray, float, int, complex})
"""Arguments that are traced, and have no parts."""


def _kinds(args: Sequence[Any]) -> tuple[Any, ...]:
    """Return a key for the types and shapes of arguments, which is made quicker than a signature."""
    return tuple([(x.dtype, x.shape) if type(x) is np.ndarray else type(x) for x in args])


def _has_own_out(f: Callable[..., Any]) -> bool:
    """Whether ``f`` has a parameter ``out`` of its own, so that ``out=`` does not say where the results go."""
    try:
        asked = f if isinstance(f, _HAVE_SIGNATURES) or held(f, "__signature__") is not None else type(f).__call__
        own = inspect.signature(asked, follow_wrapped=False).parameters.get("out")
    except (TypeError, ValueError):  # f is a builtin
        return False
    return own is not None and own.kind is not own.POSITIONAL_ONLY and own.default is not None


def standing_name(f: Callable[..., Any]) -> str | None:
    """The name by which its module holds ``f``, which is how Python pickles functions; None if it does not."""
    found: Any = sys.modules.get(f.__module__)
    for name in f.__qualname__.split("."):
        found = getattr(found, name, None)
    return f.__qualname__ if found is f else None


P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")

if TYPE_CHECKING:

    class _Signed(_native.Dispatcher, Generic[P, R]):
        """A call takes what the function takes, and ``out=``. The class of C++ cannot be generic by itself."""

        @overload
        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
        @overload
        def __call__(self, *args: Any, out: Any, **kwargs: Any) -> R: ...
        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

else:

    class _SignedDispatcher(_native.Dispatcher):
        __class_getitem__ = classmethod(GenericAlias)

    _Signed = _SignedDispatcher


class Jit(_Signed[P, R]):
    """The callable that ``wg.jit`` returns. ``__wrapped__`` is the user's function.

    The native runtime takes calls first: it compares arguments and surroundings with the entries installed last, and
    runs the entry that fits. All other calls come here, to :meth:`_slow` and :meth:`_missed`.
    """

    __wengert_transparent__ = True  # tells the search through an enclosing function's environment to look inside

    def __init__(
        self,
        f: Callable[P, R],
        is_fast: bool = False,
        is_strict: bool = False,
        donate: Callable[..., Any] | None = None,
        is_rolled: bool = True,
        finds_nans: bool = False,
        is_tiered: bool = False,
    ) -> None:
        super().__init__()
        self._is_tiered = is_tiered
        self._finds_nans = finds_nans
        self._is_rolled = is_rolled
        self._counts = Counts() if is_rolled else None
        self._donate = donate
        self._has_own_out = _has_own_out(f)
        self._is_fast = is_fast
        self._is_strict = is_strict
        self._plain: dict[Signature, Exception] = {}  # signatures whose calls cannot be traced, and why
        self._own_arrays = OwnArrays()
        self._bare: set[Any] = set()  # kinds of arguments of calls that the function itself must answer
        self._told: set[str] = set()  # warnings that were given
        self.__wrapped__: Callable[..., Any] = f
        self.__name__ = held(f, "__name__", type(f).__name__)
        self.__qualname__ = held(f, "__qualname__", self.__name__)
        self.__doc__ = held(f, "__doc__")
        self.__module__ = held(f, "__module__", __name__)
        # For each signature; the one used longest ago stands first.
        self._specialisations: OrderedDict[Any, list[Specialisation]] = OrderedDict()
        self._lock = lock_of_object()
        self._stats = Stats()
        self._calls_forgotten = 0

    @overload
    def __get__(self, owner: None, cls: type | None = None) -> Jit[P, R]: ...
    @overload
    def __get__(self: Jit[Concatenate[S, Q], R], owner: S, cls: type | None = None) -> Callable[Q, R]: ...
    def __get__(self, owner: object, cls: type | None = None) -> Any:
        """Bind a decorated method: ``self`` becomes the first argument."""
        return self if owner is None else partial(self, owner)

    def __reduce__(self) -> Any:
        """Pickle by name, as functions are, if the module holds this object by the function's name; else by the
        function and the options, which make it again."""
        return standing_name(self) or (type(self), (self.__wrapped__, *self._options()))

    def _options(self) -> tuple[Any, ...]:
        return self._is_fast, self._is_strict, self._donate, self._is_rolled, self._finds_nans, self._is_tiered

    def __copy__(self) -> Jit[P, R]:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Jit[P, R]:
        return self

    def __repr__(self) -> str:
        done = self.stats()
        counts = f"{_counted(done['specialisations'], 'program')}, {_counted(done['calls'], 'call')}"
        plain = f", {done['plain']} of them without machine code" if done["plain"] else ""
        return f"<jit of {self.__name__}: {counts}{plain}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: a line, and the programs made so far, of many the first."""
        made = self.programs()
        rows = [f"<li>{escape(repr(program))}</li>" for program in made[:20]]
        if len(made) > 20:
            rows.append(f"<li>{len(made) - 20} more: .programs()</li>")
        return f"<p>{escape(repr(self))}</p>" + (f"<ul>{''.join(rows)}</ul>" if rows else "")

    def stats(self) -> StatsDict:
        """Calls, traces, guard misses, programs kept and compile time, as a dict."""
        with self._lock:
            kept = sum(special.paths.count for known in self._specialisations.values() for special in known)
        counts = {**asdict(self._stats), "calls": self.calls - self._calls_forgotten, "specialisations": kept}
        return cast(StatsDict, counts)

    def clear(self) -> None:
        """Forget every program."""
        with self._lock:
            self._forget()
            self._specialisations.clear()
            self._plain.clear()
            self._bare.clear()
            self._stats = Stats()
            self._calls_forgotten = self.calls

    def program(self, *args: P.args, **kwargs: P.kwargs) -> Program:
        """The program that this call would run; the function is traced now if that is needed.

        Then it runs once on traced values, and generators that it draws from are put back to their states; nothing of
        the caller's is written, and no program is run.
        """
        try:
            leaves, treedef = foreign.flatten((args, kwargs) if kwargs else args)
            try:
                compiled, _ = self._run(kwargs, leaves, treedef, is_look=True)
            except NotTraced as refusal:
                raise refusal.why from None
            return compiled.program
        except Exception as error:  # any: it goes on, with a shorter traceback
            fold(error)
            raise

    def programs(self) -> list[Program]:
        """Return the programs made so far, of all signatures and paths."""
        with self._lock:
            paths = [special.paths for known in self._specialisations.values() for special in known]
        return [made for p in paths for _, compiled in p.all() if (made := compiled.made) is not None]

    # ---------------------------------------------------------------------------------------------- calls

    def _slow(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Answer a call that fits none of the installed entries."""
        try:
            if self._bare and not kwargs and _kinds(args) in self._bare and current_trace() is None:
                self._stats.plain += 1
                own = self._own_arrays.of(args)
                result = self.__wrapped__(*own)
                self._own_arrays.take_back(args, own)
                return result
            if self._has_own_out and "out" in kwargs:
                raise StructureError(
                    message(
                        f"{self.__name__} has a parameter out, but out= tells a compiled function where its results go",
                        tries=["out by position", "another name for the parameter"],
                    )
                )
            return self._answered(args, kwargs)
        except Exception as error:  # any: it goes on, with a shorter traceback
            fold(error)
            raise

    def _inlined(self, kwargs: dict[str, Any], leaves: list[Any], treedef: tree.TreeDef) -> Any:
        """Call the function while an enclosing transform records its steps, on copies of the arrays that it writes."""
        own = tree.unflatten(treedef, [own_array(x) for x in leaves])
        return self.__wrapped__(*own[0], **own[1]) if kwargs else self.__wrapped__(*own)

    def _missed(
        self, token: Compiled, position: int, data: bytes, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Answer a call for which a guard of the program of ``token`` did not hold, so that it takes another path."""
        try:
            return self._answered(args, kwargs, (token, token.program.missed(position, data)))
        except Exception as error:  # any: it goes on, with a shorter traceback
            fold(error)
            raise

    def _answered(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], missed: tuple[Compiled, GuardMiss] | None = None
    ) -> Any:
        """Return the result of a call. ``missed`` is a program that was tried, and the guard that did not hold."""
        out = kwargs.pop("out", None)
        leaves, treedef = foreign.flatten((args, kwargs) if kwargs else args)
        if out is not None and self._donate is not None:
            leaves = OwnArrays().of(leaves)  # results go into out, so no argument is given away
        refusal: NotTraced | None = None
        if current_trace() is not None and any(type(x) is Tracer for x in leaves):
            result = self._inlined(kwargs, leaves, treedef)
            return result if out is None else write_out(out, result)
        try:
            compiled, results = self._run(kwargs, leaves, treedef, missed)
        except ReadsEnclosingTrace:  # a traced value is not an argument but captured: record the steps all the same
            result = self._inlined(kwargs, leaves, treedef)
        except NotTraced as error:
            refusal = error.with_traceback(None)  # it holds this frame, and with it the result
        else:
            result = tree.unflatten(compiled.tape.out_tree, results)
            if compiled.entry is not None:
                self._install(compiled.entry)
        if refusal is not None:
            if self._is_strict:
                raise refusal.why
            result = self._plainly(refusal, leaves, treedef, bool(kwargs))
        return result if out is None else write_out(out, result)

    def _plainly(self, refusal: NotTraced, leaves: list[Any], treedef: tree.TreeDef, has_kwargs: bool) -> Any:
        """Return what the function itself returns, since it cannot be traced. An error that it raises goes on."""
        own = self._own_arrays.of(leaves)
        given = tree.unflatten(treedef, own)
        args, kwargs = given if has_kwargs else (given, {})
        result = answered_by(self.__wrapped__, args, kwargs, refusal.why)
        del given, args, kwargs
        self._own_arrays.take_back(leaves, own)
        self._stats.plain += 1
        self._stats.why_plain = str(refusal.why)
        if refusal.signature is not None:
            self._note_plain(refusal.signature, refusal.why)
        if not isinstance(refusal.why, FirstUseError | Unrepeatable):
            self._warn(WITHOUT_CODE, str(refusal.why))
        return result

    def _warn(self, what: str, why: str, is_error: bool = True) -> None:
        """Give a warning once for each ``what``; a strict function raises in its place if ``is_error``."""
        if self._is_strict and is_error:
            raise CaptureError(f"{self.__name__} {what}: {why}")
        if what not in self._told:
            self._told.add(what)
            warn_slow(f"{self.__name__} {what}: {why}")

    def _run(
        self,
        kwargs: dict[str, Any],
        leaves: list[Any],
        treedef: tree.TreeDef,
        missed: tuple[Compiled, GuardMiss] | None = None,
        is_look: bool = False,
    ) -> tuple[Compiled, list[Any]]:
        """Return the program of a call, and its outputs. ``missed`` is one that was tried, and where it was left.

        ``leaves`` are those of all arguments; ``kwargs`` gives the names of keyword arguments in the call's order.
        ``is_look``: the program alone is asked for, and is not run.
        """
        try:
            signature = signature_of(leaves, treedef, bool(kwargs))
        except WengertError as error:  # an argument that cannot be compared with that of another call
            raise NotTraced(error) from None
        if signature not in self._specialisations:
            self._check_traceable(signature, is_look)
        inputs = [
            x if type(leaf) is Array else np.asarray(x)
            for x, leaf in zip(leaves, signature.leaves, strict=True)
            if leaf.is_traced
        ]
        if missed is not None:
            special = missed[0].special
            assert special is not None
            self._stats.guard_misses += 1
            found, position = special.paths.after(missed[0].path, missed[1]), missed[1].position
        else:
            special = self._specialisation(signature)
            found, position = (None if special is None else special.paths.recent), -1
        has_missed = missed is not None
        while found is not None and special is not None:
            path, compiled = found
            if compiled.written:
                check_not_shared(compiled, inputs)
            if compiled.earning is not None and not is_look and compiled.count_a_run():
                self._note_entry(compiled, signature, tuple(kwargs))
            try:
                results = compiled.look(inputs) if is_look else compiled.run(inputs)
            except GuardMiss as miss:
                if not has_missed:
                    self._stats.guard_misses += 1
                has_missed = True
                if miss.position <= position:  # each path agrees further than the one before, so this cannot happen,
                    if self._counts is not None and self._counts.knows_any:  # except for paths of single loop counts
                        break
                    raise InternalError(f"{self.__name__}: the paths of its guards disagree") from miss
                position = miss.position
                found = special.paths.after(path, miss)
                continue
            if has_missed:
                self._stats.sibling_hits += 1
                special.paths.used(found)
            return compiled, results
        self._check_traceable(signature, is_look)
        if special is not None and special.paths.is_full():
            raise NotTraced(special.paths.too_many())
        return self._trace(kwargs, leaves, signature, inputs, special, is_look)

    def _check_traceable(self, signature: Signature, is_look: bool) -> None:
        """Raise NotTraced if calls of this signature are known to be such as the function itself must answer."""
        why = self._plain.get(signature)
        if why is not None and not (is_look and isinstance(why, Unrepeatable)):
            raise NotTraced(why)

    def _specialisation(self, signature: Signature) -> Specialisation | None:
        """The programs of this signature in the present environment; None if there are none."""
        known = self._specialisations.get(signature)
        if not known:
            return None
        for special in known:
            if special.environment.holds():
                with self._lock:
                    if signature in self._specialisations:  # not forgotten by another thread meanwhile
                        self._specialisations.move_to_end(signature)
                return special
        self._stats.environment_misses += 1
        return None

    def _trace(
        self,
        kwargs: dict[str, Any],
        leaves: list[Any],
        signature: Signature,
        inputs: list[Any],
        special: Specialisation | None,
        is_look: bool,
    ) -> tuple[Compiled, list[Any]]:
        """Trace a call whose path is new: return its program and outputs, as ``_run`` does. ``special`` has the other
        paths of its signature and environment, if there are any."""
        start = time.perf_counter()
        whole, counts = self._whole(leaves, signature, is_look)
        tape, environment, unrepeatable, written = whole
        notes = current_notes()
        if notes is not None:
            notes.recorded = tape
        lists = (*passes.ONCE, *passes.PIPELINE)
        tape = passes.run(tape, lists, counts=counts, is_rolled=self._is_rolled)
        if self._counts is not None:
            if self._counts.has_learnt and special is not None:
                special.paths = Paths(self.__name__)  # the paths of single counts are not needed any more
            self._counts.has_learnt = False
        strides = [leaf.strides for leaf in signature.leaves if leaf.is_traced]
        donated = self._donated(leaves, signature)
        compiled = Compiled(tape, environment, path_of(tape), strides, self._is_fast, written=written, donated=donated)
        if self._is_tiered and not self._finds_nans:
            compiled.earning = Earning(tape)
            if not is_look:
                compiled.count_a_run()
        self._stats.traces += 1
        if unrepeatable:
            self._stats.unrepeatable = unrepeatable
            self._warn(WITHOUT_CODE, unrepeatable)
            if not is_look:
                is_bare = (
                    all(type(x) in _LEAVES for x in leaves) and tree.flatten(tuple(leaves))[1] == signature.treedef
                )
                if is_bare and not kwargs and signature not in self._specialisations:
                    self._bare.add(_kinds(leaves))
                self._note_plain(signature, Unrepeatable(unrepeatable))
            self._stats.compile_s += time.perf_counter() - start
            return compiled, [] if is_look else run_once(tape, inputs)
        program = compiled.program
        program.function = self.__wrapped__
        self._stats.compile_s += time.perf_counter() - start
        self._keep(compiled, signature, special, tuple(kwargs))
        if is_look:
            return compiled, []
        results, by_numpy = program.run_recorded(compiled.apart(inputs), recorded=whole[0])
        self._stats.undecided += by_numpy
        if by_numpy:
            self._warn(UNDECIDED, "its branch compares values that are equal up to rounding", is_error=False)
        return compiled, results

    def _whole(
        self, leaves: list[Any], signature: Signature, is_look: bool, is_by_value: bool = False
    ) -> tuple[Whole, RunCounts | None]:
        """Run the function once and return what it records, and what was noted of its loops.

        ``is_by_value``: a guard fixes the count of each ``for`` over a traced range, since a loop of any count could
        not be recorded.
        """
        counts = None if self._counts is None else self._counts.begin(is_by_value)
        may_run_again = not self._is_strict or (counts is not None and counts.may_count())
        check = None if counts is None else partial(check_counted, counts=counts)
        options = is_refusal if may_run_again else None, self._is_rolled, counts, check, is_look
        try:
            return trace_whole(self.__wrapped__, self.__name__, leaves, signature, *options), counts
        except ReadsEnclosingTrace:
            raise
        except Exception as error:  # the user's own, and whatever a library makes of a traced value
            if not is_refusal(error):
                raise
            if is_by_value or counts is None or not counts.failed():
                # The next call may have fewer iterations, and finds cached properties that this one has computed.
                if self._is_strict:
                    raise
                is_of_this_call = isinstance(error, TooManyIterationsError | FirstUseError)
                raise NotTraced(error, None if is_of_this_call else signature, keeps_frames=is_look) from None
        return self._whole(leaves, signature, is_look, is_by_value=True)

    def _donated(self, leaves: list[Any], signature: Signature) -> tuple[int, ...]:
        """The numbers of the inputs that the call gives away."""
        if self._donate is None:
            return ()
        given = tree.unflatten(signature.treedef, leaves)
        chosen = set(tree.select(given[0] if signature.has_kwargs else given, self._donate)[0])  # keywords come behind
        traced = [k for k, leaf in enumerate(signature.leaves) if leaf.is_traced]
        return tuple([number for number, k in enumerate(traced) if k in chosen])

    def _note_plain(self, signature: Signature, why: Exception) -> None:
        """Note that calls of this signature need not be traced again, for the reason ``why``."""
        with self._lock:
            self._plain[signature] = why
            while len(self._plain) > config.max_programs:
                self._plain.pop(next(iter(self._plain)))

    def _keep(
        self, compiled: Compiled, signature: Signature, special: Specialisation | None, keywords: tuple[str, ...]
    ) -> None:
        """Keep a new program for the next calls, beside ``special``, the other paths of its environment, if there are
        any."""
        path, rebound = compiled.path, list[str]()
        with self._lock:
            if special is None and path != ():  # another thread may have been here meanwhile
                special = self._specialisation(signature)
            if special is None or path == ():
                special = Specialisation(self.__name__, compiled.environment)
                known = self._specialisations.setdefault(signature, [])
                known.insert(0, special)
                if len(known) > MAX_ENVIRONMENTS:
                    del known[MAX_ENVIRONMENTS:]
                    rebound = known[1].environment.changed()
            compiled.special, compiled.signature = special, signature
            self._note_entry(compiled, signature, keywords)
            guards = [i for i in compiled.tape.instrs if i.op is guard]
            sources = [i.source for i in guards if i.source is not None for _ in values_of(i)]
            if not special.paths.is_full():  # another thread may have taken the last one
                special.paths.add(path, compiled, sources)
            self._specialisations.setdefault(signature, [special])
            self._specialisations.move_to_end(signature)
            self._note_use()
            while len(self._specialisations) > config.max_programs:
                self._specialisations.popitem(last=False)
                self._forget()  # an installed entry may belong to a signature that was dropped
        if rebound:
            self._warn(REBOUND, f"{', '.join(rebound)}; an argument would be traced once")

    def _note_entry(self, compiled: Compiled, signature: Signature, keywords: tuple[str, ...]) -> None:
        """Let the runtime run ``compiled`` by itself from now on, if it is machine code that it can compare for."""
        compiled.entry = None if self._has_own_out else entry_of(compiled, signature, keywords)

    def _note_use(self) -> None:
        """Mark the signatures that the runtime has answered by itself since the last time as used most recently."""
        for entry in reversed(self._entries):
            compiled: Compiled = entry.token
            if entry.calls != compiled.calls_seen and compiled.signature in self._specialisations:
                compiled.calls_seen = entry.calls
                self._specialisations.move_to_end(compiled.signature)
