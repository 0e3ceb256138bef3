"""This file finds what a function reads beside its arguments, and keeps it fresh in a compiled program.

A jitted function is traced once and run many times, so whatever it captured must be looked at again. Before the
trace its *environment* is walked: closure cells, the globals that its code names, defaults, the attributes and items
of what is found there, and the same for the functions it can reach. Then

* an **array** is handed to the function as a traced value that the program reads where it lies, at every call: an
  edit in place is seen, nothing is copied. What depends only on read-only arrays is computed once.
* a **number, string** or other plain value is a guard: while it is equal, the program holds. **Rebinding** a
  variable to another array or object fails the guard on that variable.
* what **the function itself writes** (a global, a nonlocal, an item of a captured list) would happen only while
  tracing, so it is refused.

The function that is traced is a copy of the user's whose cells, globals, lists, dicts and objects hold the traced
arrays. What cannot be copied is shared with the original, and watched: see
:mod:`~wengert.tracing.surroundings.watching`. An object of which the copy and the original could both be met is not
copied either, for Python tells the two apart: see :func:`walked`. What a value is made of is for both to ask of
:func:`~wengert.tracing.surroundings.parts.parts_of`.
"""

from __future__ import annotations

import enum
import functools
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from itertools import islice
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from wengert.attributes import held
from wengert.errors import CaptureError, FirstUseError, InternalError, WrittenError, message
from wengert.expect import is_door
from wengert.pure.stand_ins import own, standing_for
from wengert.source import Source
from wengert.tracing.arguments import holds_tracer
from wengert.tracing.copying import copied
from wengert.tracing.emit import wrap
from wengert.tracing.generators import Generators, WalkAgain
from wengert.tracing.interception import _entered
from wengert.tracing.interception.intercept import lists
from wengert.tracing.interception.type_of import asks, code_for
from wengert.tracing.layouts import strides_alone
from wengert.tracing.lifting import capture
from wengert.tracing.python import names
from wengert.tracing.python.bytecode import code_of
from wengert.tracing.python.frames import code_in, is_importing, is_of_collector
from wengert.tracing.python.lines import first_line
from wengert.tracing.read_only import is_readonly
from wengert.tracing.stack import current_trace, suspended
from wengert.tracing.surroundings.parts import (
    BY_VALUE,
    HOLDERS,
    SETS,
    Part,
    Parts,
    functions_in,
    is_copyable,
    is_long,
    is_recorded,
    is_sequence,
    is_told_by_identity,
    parts_of,
)
from wengert.tracing.surroundings.purity import is_immutable
from wengert.tracing.surroundings.reasons import By
from wengert.tracing.surroundings.slots import (
    MISSING,
    AttributeRead,
    CellRead,
    ClassRead,
    FormRead,
    HeldRead,
    ItselfRead,
    KeywordsRead,
    ReadonlyRead,
    Slot,
    StateRead,
    VariableRead,
    all_hold,
    is_unchanged,
)
from wengert.tracing.surroundings.watching import DEEP, Watching
from wengert.tracing.trace import Trace

T = TypeVar("T")

MAX_WALKS = 100
"""Each keeps more originals than the one before; two are the rule where it is not one."""

MAX_CHANGES = 3
"""Times that runs of a function may change one thing of a package's: a cache is filled once, for each kind of call."""

_changes: dict[tuple[types.CodeType, str], int] = {}

_BY_VALUE = (*BY_VALUE, enum.Enum)
DICTS = (dict, OrderedDict, defaultdict)


def _can_be_put(slot: Slot) -> bool:
    """Whether what was bound anew can be bound as before."""
    if isinstance(slot.read, HeldRead):
        return slot.read.can_be_put()
    return isinstance(slot.read, VariableRead | ClassRead | AttributeRead)


class Substituted(NamedTuple):
    """Something handed to the traced copy: reading it after the trace must give what was put there."""

    name: str
    read: Callable[[], Any]
    put: Any
    original: Any


class ReachedTwice(WalkAgain):
    """Objects are reached as copies by one way and as themselves by another, or their ids are asked for: ``is``,
    ``in`` and tables by identity would take the copy and the original for two. The walk begins again without copies
    of them, see :func:`walked`."""


def walked(record: Callable[[Environment], T], generators: Callable[[], Generators | None] = lambda: None) -> T:
    """Return ``record(environment)``, where the environment shows each object in one form only: a copy, or itself.

    ``generators``: makes what is to take up the random generators that are drawn from at every call.
    """
    originals: list[Any] = []
    for _ in range(MAX_WALKS):
        try:
            return record(Environment(originals, generators()))
        except WalkAgain as error:
            originals += error.objects
    raise InternalError(f"what the function captured is new at every look: {originals[-1]!r:.200}")


class Environment:
    """The surroundings of a function, as one trace found them.

    ``originals`` are objects that the traced run must see themselves, not copies of them.
    """

    def __init__(self, originals: Iterable[Any] = (), generators: Generators | None = None) -> None:
        self._originals = {id(x): x for x in originals}
        self._keys: list[Any] = []  # the functions that are keys of a dict, or members of a set
        self._watching = Watching(self._originals, generators)
        self.generators = generators
        self._ran: set[Source] = set()
        self._is_following = False
        self.slots = self._watching.slots
        self.known = self._watching.known
        self.copies: list[Substituted] = []
        self._memo: dict[int, Any] = {}
        self._depth = 0
        self._globals: dict[int, dict[str, Any]] = {}
        self._trace: Trace | None = None
        self.drew = ""
        """The name of a generator, or its state, from which the run has drawn at once."""

    @property
    def is_closed(self) -> bool:
        """Whether nothing was found that could give another number to another run: see purity.py."""
        return self._watching.reasons.is_closed

    @property
    def doubt(self) -> str:
        """The reason why it is not known whether another run gives another number; empty if it is known."""
        return self._watching.reasons.doubt

    @property
    def unrepeatable(self) -> str:
        """The reason why another run gives another number; empty if none was found."""
        return self._watching.reasons.unrepeatable

    @property
    def why_in_any_case(self) -> str:
        """The reason why another run differs, whichever functions the run comes to; empty if there is none."""
        return self._watching.reasons.why_in_any_case

    @property
    def is_drawn_from(self) -> bool:
        """Whether an iterator or a random generator was found, which another run would find advanced."""
        return bool(self._watching.iterator) or any(isinstance(slot.read, StateRead) for slot in self.slots)

    def is_bound_anew(self) -> bool:
        """Whether code that was found binds anew what was found, as an earlier run may have done already."""
        codes = [code_of(f) for f in self._watching.functions()]
        written = frozenset[str]().union(*[names.bound_anew(code) for code in codes])
        ends = [name.rpartition(mark)[2] for name in {slot.name for slot in self.slots} for mark in (".", "[", " ")]
        return not written.isdisjoint(ends)

    def watches(self, x: Any) -> bool:
        """Whether ``x`` is a module or class of which the run's writes are seen, or the globals of its functions."""
        return self._watching.holders.is_held(x) or any(x is shared for shared in self._globals.values())

    def depends(self, name: str, read: Callable[[], Any]) -> None:
        """Note what the run has read in a way that nobody could see before."""
        if all(slot.name != name for slot in self.slots):
            self._watching.note(Part(None, name, read(), read))

    def check_not_advanced(self, f: str) -> None:
        """Raise WrittenError if the run would draw from an iterator, which cannot be put back."""
        if self._watching.iterator:
            what = f"looking at the program of {f} would advance {self._watching.iterator}, which it reads"
            raise WrittenError(message(what, tries=["pass what it gives as an argument"]))

    def holds(self) -> bool:
        """Whether everything that was read is still there."""
        return all_hold(self.slots)

    def changed(self) -> list[str]:
        """The names of what is no longer what it was."""
        return [slot.name for slot in self.slots if not is_unchanged(slot)]

    def read_at(self, name: str) -> list[Source]:
        """Return the lines of the user's functions that read a slot, by its name."""
        return names.places_of_read([code_of(f) for f in self._watching.functions()], name)

    def asking(self) -> list[types.FunctionType]:
        """Those of the functions found, which the copy shares with the original, that call ``type``."""
        return [f for f in self._watching.functions() if asks(f)]

    # ------------------------------------------------------------------------------------------------ walking

    def copy_for(self, f: Callable[..., Any], trace: Trace) -> Callable[..., Any]:
        """``f`` with its captured arrays replaced by traced values of ``trace``; notes every slot it reads."""
        self._trace = trace
        copy = self._replace(Part(None, held(f, "__name__", "function"), f, ItselfRead(f)), is_root=True)
        self._watching.holders.watch()
        self._check_identities()
        trace.unrepeatable = trace.unrepeatable or self.why_in_any_case
        return copy

    def copy_argument(self, value: Any, name: str) -> Any:
        """An argument that is not traced, an object or a function, which may hold arrays and change as captures do."""
        copy = self._replace(Part(None, name, value, ItselfRead(value)), is_root=True)
        self._watching.holders.watch()
        self._check_identities()
        return copy

    def look_at_classes(self, classes: Iterable[type]) -> None:
        """Those of the arguments' containers, whose methods the function may call."""
        for cls in classes:
            if cls not in (tuple, list, dict, type(None)):
                self._watching.holders.hold(cls, cls.__name__, is_found=False)
        self._watching.holders.watch()
        self._check_identities()

    def _check_identities(self) -> None:
        """Raise ReachedTwice if code could tell what has a copy from its copy."""
        watching = self._watching
        watching.settle_generators()
        told = [f for f in self._keys if id(f) not in self._originals]  # a class holds the function, a global its copy
        both = self._memo.keys() if watching.asks_ids else self._memo.keys() & watching.watched
        for x in {id(x): x for x in watching.alive if id(x) in both}.values() if both else ():
            if self._memo[id(x)] is not x and self._is_told(x):
                told.append(x)
        if told:
            raise ReachedTwice(told)

    def _is_told(self, x: Any) -> bool:
        """Whether code that was met tells the copy from ``x``: objects are keys and members; the others it compares."""
        watching = self._watching
        if isinstance(x, types.FunctionType):
            return watching.compares or watching.equates
        return watching.compares or watching.asks_ids or is_copyable(type(x))

    def following(self) -> AbstractContextManager[None]:
        """A context in which it is noted which functions begin to run, and what the code of packages reads: if that was
        met, or if functions that the run may not come to are reasons to trace again."""
        self._watching.begin_following()
        self._is_following = self._watching.entering.is_wanted or self._watching.reasons.depends_on_what_runs
        if self._is_following and not FOLLOWING.is_on:
            self._is_following = False
            self._watching.reasons.give_up(
                f"{FOLLOWING.name} is switched off, so it is not known what the code of packages reads"
            )
        return _entered.following(self._enter if self._is_following else None)

    def _enter(self, frame: types.FrameType) -> bool | None:
        """Note what begins to run; whether other runs ask about it as well."""
        watching = self._watching
        if watching.libraries.is_foreign(frame.f_globals) and not watching.libraries.is_of_others(frame.f_globals):
            return False
        if is_of_collector(frame):  # which runs when it will, and not for the function
            return None
        self._ran.add(first_line(code_in(frame)))
        if watching.libraries.is_of_others(frame.f_globals) and is_importing(frame):
            return None
        watching.entering.enter(frame)
        if self.doubt:
            for trace in (self._trace, current_trace()):
                if trace is not None and trace.run.is_closed:
                    trace.run = trace.run._replace(is_closed=False, doubt=self.doubt)
        return True

    def end_following(self) -> None:
        """The run is over: what stands in the functions that it did not come to is no reason to trace again."""
        if self._is_following:
            assert self._trace is not None
            self._watching.entering.finish()
            self._watching.holders.watch()
            try:
                self._check_identities()
            except ReachedTwice as error:  # by code that nobody knew of before
                self.end_early(error, True)
                raise
            self._watching.reasons.forget_what_did_not_run(self._ran)

    def close(self) -> None:
        """Check what was written, and let go of the trace and of what was handed to it."""
        self.check_unwritten()
        self._watching.watch_kept()
        is_drawn = not all_hold([slot for slot in self.slots if not slot.is_shared])
        for k, slot in enumerate(self.slots if is_drawn else ()):
            if not slot.is_shared and not is_unchanged(slot):  # the run drew from a generator: a program would not
                self.slots[k] = slot._replace(seen=MISSING)
                self._count_change(slot.name)
                if isinstance(slot.read, StateRead):
                    self.drew = slot.name if is_recorded(slot.read.read()) else self.drew
                    why = f"the function changes {slot.name}: pass what it draws as an argument"
                    self._watching.reasons.give_up(why)
        self._trace = None
        self._memo.clear()
        self._keys.clear()
        self._originals.clear()
        self._globals.clear()
        self.copies.clear()

    def _count_change(self, name: str) -> None:
        """The run has changed what a package holds. One that does so again and again counts, or names what it makes: no
        program of it would ever be called."""
        functions = self._watching.functions()
        if self._is_following and functions:
            if len(_changes) > 10_000:  # bounded: code may be made up at run time
                _changes.clear()
            key = code_of(functions[0]), name
            _changes[key] = _changes.get(key, 0) + 1
            if _changes[key] > MAX_CHANGES:
                self._watching.reasons.give_up(f"{name} is another at every call, since the call changes it")

    def check_unwritten(self) -> None:
        """Raise CaptureError if the traced run wrote something that a later call would not write: WrittenError if that
        was the original, not the copy that the run was given, and cannot be put back."""
        written = self._put_back()
        if written:
            raise self._written(written[0].name)
        self._check_copies()

    def check_computed(self) -> None:
        """Raise FirstUseError if the run has computed cached properties for the first time. A call of Python's keeps
        them from then on, in the original, as of the state in which they were asked for; the run did so of traced
        values."""
        computed = self._forget_computed()
        if computed:
            what = f"the traced run is the first to ask for {computed[0]}, which Python keeps from then on"
            raise FirstUseError(message(what, tries=[f"ask for {computed[0]} before", "call the function once before"]))

    def _forget_computed(self) -> list[str]:
        """The names of cached properties that the run has computed; what it shares with the function has none of them
        any more."""
        found: list[str] = []
        for x, name, missing in self._watching.uncomputed.values():
            computed = missing & vars(self._memo.get(id(x), x)).keys()
            found += [f"{name}.{attribute}" for attribute in sorted(computed)]
            for attribute in computed & vars(x).keys():
                del vars(x)[attribute]
        return found

    def end_early(self, error: Exception, is_rerun: bool) -> None:
        """The traced run ended by ``error``, and what it did to its surroundings must be done once all the same.

        ``is_rerun``: Python will run the function itself. Then what the run drew from random generators and bound anew
        is put back; WrittenError says what cannot be. Otherwise the error is the function's own; what the run wrote
        into copies, so that nobody sees it, is Python's to do: CaptureError.
        """
        computed = self._forget_computed()
        if is_rerun and self._watching.iterator:
            raise self._advanced(error)
        if not is_rerun:
            try:
                if computed:
                    raise CaptureError(
                        f"the function is the first to ask for {computed[0]}, which Python keeps, and raises"
                    )
                self._check_copies()
            except CaptureError:
                if self._watching.iterator:
                    return
                self.draw_again()
                self._put_back()
                raise
            return
        self.draw_again()
        self._put_back()

    def end_interrupted(self) -> None:
        """Ctrl-C ended the traced run: put back what can be, so that no value of it stays where the user finds it."""
        self._forget_computed()
        self.draw_again()
        with suppress(WrittenError):
            self._put_back()

    def draw_again(self) -> None:
        """Put back what the run has drawn from random generators."""
        if self.generators is not None:
            self.generators.put_back()
        for slot in self.slots:
            if isinstance(slot.read, StateRead) and not is_unchanged(slot):
                # A look at a program ends here as well, which would else be kept with what was drawn for it.
                self._watching.reasons.give_up(f"the function changes {slot.name}: pass what it draws as an argument")
                slot.read.put(slot.seen)

    def _put_back(self) -> list[Slot]:
        """Put back what the run bound anew of what it shares with the function, if that is all that it wrote there."""
        written = [slot for slot in self.slots if slot.is_shared and not is_unchanged(slot)]
        for slot in written:
            is_of_run = self._place_of_write(slot.name) is not None or holds_tracer([slot.read()])
            if not (_can_be_put(slot) and is_of_run):
                raise self._written(slot.name, WrittenError)
        for slot in written:  # which the function has bound anew, and nobody else
            slot.read.put(slot.seen)
        return written

    def _check_copies(self) -> None:
        for name, read, put, original in self.copies:
            try:
                now = read()
            except (KeyError, IndexError, AttributeError, ValueError):
                now = MISSING
            if now is not put and now is not original and not (type(now) is int and now == put):
                raise self._written(name)

    def _place_of_write(self, name: str) -> Source | None:
        return names.place_of_write([code_of(f) for f in self._watching.functions()], name)

    def _written(self, name: str, error: type[CaptureError] = CaptureError) -> CaptureError:
        place = self._place_of_write(name)
        name = name.replace(".__wrapped__", "").replace(".__self__", "")
        return error(
            message(
                f"the function writes {name}, which it captured; a compiled function would write it only once",
                place,
                tries=[f"return {_variable(name)} from the function", "call it without wg.jit"],
            )
        )

    def _advanced(self, error: Exception) -> WrittenError:
        why, *rest = str(error).splitlines()
        place = [line.split(None, 1)[1] for line in rest if line.startswith("  at ")]
        return WrittenError(
            message(
                f"the function may have advanced {self._watching.iterator} before it could not be traced further, "
                "so Python cannot begin it again",
                notes=[("why", why), *[("at", line) for line in place]],
                tries=["pass what it gives as an argument", "call it without wg.jit"],
            )
        )

    # ---------------------------------------------------------------------------------------------- replacing

    def _replace(self, part: Part, is_root: bool = False, by: By | None = None) -> Any:
        """Return what the traced copy sees in place of a value. ``by``: whose variable it is."""
        stand_in = standing_for(part.value)
        if stand_in is not None:
            part = part._replace(value=own(part.value))  # a function of C, which something stands for meanwhile
        self._depth += 1
        try:
            found = self._replaced(part, is_root, by)
        finally:
            self._depth -= 1
        return found if stand_in is None or found is not part.value else stand_in

    def _replaced(self, part: Part, is_root: bool, by: By | None) -> Any:
        name, value, read = part.name, part.value, part.read
        watching = self._watching
        watching.judge(value, name, by)
        if isinstance(value, np.ndarray):
            return self._array(part)
        if isinstance(value, np.generic) and not isinstance(value, np.void):
            self.known[id(value)] = (value, name, True)
            watching.alive.append(value)
            self.slots.append(Slot(name, read, value, True))
            return value
        if isinstance(value, _BY_VALUE):
            self.slots.append(Slot(name, read, value, True))
            watching.watch_what_hangs_on(part)
            return value
        if not is_root:
            self.slots.append(Slot(name, read, value, False))
        if id(value) in self._memo:
            return self._memo[id(value)]
        if id(value) in self._originals or self._depth > DEEP:
            watching.watch(part, by)
            return value
        watching.alive.append(value)
        if isinstance(value, types.FunctionType) and value.__globals__ is not vars(functools):
            return self._function(value, name)
        if hasattr(type(value), "__wengert_function__"):  # what a transform made; it cannot change
            self._memo[id(value)] = self._function(cast(Any, value).func, name)
            return self._memo[id(value)]
        if isinstance(value, types.MethodType):
            return self._method(part)
        if isinstance(value, functools.partial):
            return self._partial(part)
        if isinstance(value, functools._lru_cache_wrapper):
            return self._cached(part)
        if is_sequence(value) and not is_long(value):
            return self._sequence(part)
        if type(value) in DICTS and not is_long(value):
            return self._dict(part)
        if type(value) in SETS and is_told_by_identity(value):
            return self._set(part)
        if hasattr(type(value), "__wengert_transparent__"):  # a jitted function inside: its steps are recorded
            return self._wrapped(part)
        if hasattr(type(value), "__wengert_parts__"):  # a primitive: called as it is, but its rules read things too
            self._memo[id(value)] = value
            for rule in parts_of(value, name, read).items:
                self._replace(rule)
            return value
        if is_copyable(type(value)):
            return self._instance(part)
        watching.watch(part, by)
        return value

    def _array(self, part: Part) -> Any:
        name, value, read = part.name, part.value, part.read
        form = FormRead(value)
        self.slots += [Slot(name, read, value, False), Slot(f"the shape of {name}", form, form(), True)]
        if value.dtype.kind not in "fiubc" or type(value) is not np.ndarray or id(value) in self._originals:
            self._watching.watch(part)
            return value
        if id(value) in self._memo:
            return self._memo[id(value)]
        self._watching.alive.append(value)
        is_constant = is_readonly(value) and _owner_is_readonly(value)
        self.known[id(value)] = (value, name, is_constant)
        if is_constant:  # a promise that may be taken back
            self.slots.append(Slot(f"{name} is read-only", ReadonlyRead(read, value), True, True))
        assert self._trace is not None
        tracer = wrap(self._trace, capture(self._trace, value), is_scalar=False)
        if not value.flags.c_contiguous:
            tracer.reorder(strides_alone(value))
        tracer._why_readonly = f"{name} is captured from outside of the compiled function, which may not write it"
        self._memo[id(value)] = tracer
        return tracer

    # ---------------------------------------------------------------------------------------------- callables

    def _function(self, f: types.FunctionType, name: str) -> Any:
        if is_door(f):
            return self._door(f, name)
        in_library = self._watching.libraries.is_foreign(f.__globals__)
        shared = f.__globals__ if in_library else self._globals_for(f)
        cells = tuple([types.CellType() for _ in f.__closure__ or ()])
        new = self._memo[id(f)] = copied(f, code_for(f), shared, cells or None)
        parts = parts_of(f, name, lambda: f)
        self._hang(new, parts)
        if not in_library:
            self._watching.holders.mention(f)
        elif self._watching.libraries.is_of_others(f.__globals__):  # what it reads is noted when it runs
            self._watching.note_own(f, name)
        for part in parts.cells:
            cell = cells[part.key]
            if self._watching.libraries.is_followed(part.value):
                cell.cell_contents = part.value
                self.slots.append(Slot(part.name, part.read, part.value, False))
                continue
            cell.cell_contents = put = self._replace(part, by=By(name, code_of(f)))
            self.copies.append(Substituted(part.name, CellRead(cell), put, part.value))
        positional, by_keyword = self._arguments(parts)
        if positional:
            new.__defaults__ = tuple(positional)
        if by_keyword:
            new.__kwdefaults__ = by_keyword
        if not in_library:  # whose globals are its own affair
            self._watching.note_code(f, name)
            self._variables(f, parts, shared, By(name, code_of(f)))
        return new

    def _door(self, f: types.FunctionType, name: str) -> Any:
        """A door to the copy of what is behind it. The rest of a door is ours, and nobody changes it."""
        assert f.__closure__ is not None
        cell = types.CellType()
        new = self._memo[id(f)] = copied(f, code_of(f), f.__globals__, (cell, *f.__closure__[1:]))
        parts = parts_of(f, name, lambda: f)
        self._watching.note(parts.names)
        behind = next(iter(parts.cells))
        inner = behind.value
        is_bare = not (inner.__closure__ or inner.__defaults__ or inner.__kwdefaults__ or vars(inner))
        if is_bare and self._watching.libraries.is_foreign(inner.__globals__):  # nothing in it could be another's
            cell.cell_contents = inner
        else:
            cell.cell_contents = vars(new)["__wrapped__"] = self._replace(_renamed(behind, name))
        self.copies.append(Substituted(f"the attributes of {name}", lambda: len(vars(new)), 1, 1))
        return new

    def _globals_for(self, f: types.FunctionType) -> dict[str, Any]:
        """The globals that the copies of the functions of one module have in common."""
        shared = self._globals.get(id(f.__globals__))
        if shared is None:
            shared = self._globals[id(f.__globals__)] = dict(f.__globals__)
        return shared

    def _variables(self, f: types.FunctionType, parts: Parts, shared: dict[str, Any], by: By) -> None:
        """Put what stands for the global variables of ``f`` into ``shared``."""
        written = names.written(code_of(f))
        for part in parts.variables:
            variable, found, read = part.key, part.value, part.read
            if isinstance(found, HOLDERS):  # shared, whatever the code names of it is watched
                self._watching.holders.hold_variable(part)
                self.slots.append(Slot(variable, read, found, False))
                continue
            if id(found) in self._memo and shared.get(variable) is self._memo[id(found)]:
                self.slots.append(Slot(variable, read, found, False))
                continue
            put = self._replace(part, by=by)
            shared[variable] = put
            if variable in written:
                self.copies.append(Substituted(variable, VariableRead(shared, variable), put, found))
        for variable in written:
            if variable not in f.__globals__:
                self.copies.append(Substituted(variable, VariableRead(shared, variable), MISSING, MISSING))

    def _method(self, part: Part) -> Any:
        function, owner = islice(parts_of(part.value, part.name, part.read).inner, 2)
        copy = self._replace(owner)
        return types.MethodType(self._replace(_renamed(function, part.name)), copy)

    def _wrapped(self, part: Part) -> Any:
        function = _inner(parts_of(part.value, part.name, part.read), "__wrapped__")
        return self._replace(_renamed(function, part.name))

    def _partial(self, part: Part) -> Any:
        parts = parts_of(part.value, part.name, part.read)
        function = self._replace(_inner(parts, "func"))
        positional, by_keyword = self._arguments(parts)
        keywords = KeywordsRead(part.read, part.value)
        self._watching.note(Part(None, f"the keywords of {part.name}", keywords(), keywords))
        new = functools.partial(function, *positional, **by_keyword)
        self._hang(new, parts)
        return new

    def _cached(self, part: Part) -> Any:
        """Return a copy of a cached function. It keeps results for later calls too, so those that are not traced are
        computed as if nobody traced."""
        original = part.value
        self._watching.watch(part)
        of_traced = self._replace(_inner(parts_of(original, part.name, part.read), "__wrapped__"))
        asked = set[Any]()

        @functools.wraps(original)
        def look_up(*args: Any, **kwargs: Any) -> Any:
            if holds_tracer([*args, *kwargs.values()]):
                return of_traced(*args, **kwargs)
            args = tuple(map(self._original_of, args))
            with suspended():
                found = original(*args, **kwargs)
            key = functools._make_key(args, kwargs, True)
            if key not in asked:  # asked again at later calls, as Python would: it may have been cleared, or edited
                asked.add(key)
                asking = functools.partial(original, *args, **kwargs)
                self._watching.watch(Part(None, f"{part.name}{args}", found, asking))
            return found

        look_up.cache_info, look_up.cache_clear = original.cache_info, original.cache_clear  # type: ignore[attr-defined]  # its own
        self._memo[id(original)] = look_up
        return look_up

    def _original_of(self, x: Any) -> Any:
        """Return the original of ``x`` where it is a copy: a cache tells objects by their identity."""
        if is_immutable(x):
            return x
        return next((found for found in self._watching.alive if self._memo.get(id(found)) is x), x)

    def _arguments(self, parts: Parts) -> tuple[list[Any], dict[str, Any]]:
        """Return what replaces the defaults of a function, or the arguments of a partial: by position, by keyword."""
        given = {part.key: self._replace(part) for part in parts.arguments}
        by_keyword = {key: put for key, put in given.items() if isinstance(key, str)}
        return [put for key, put in given.items() if not isinstance(key, str)], by_keyword

    def _hang(self, copy: Callable[..., Any], parts: Parts) -> None:
        """Give ``copy`` replacements of the attributes that somebody has set on the original function."""
        self._watching.note(parts.names)
        for part in parts.attributes:
            put = vars(copy)[part.key] = self._replace(part)
            self.copies.append(Substituted(part.name, lambda k=part.key: vars(copy)[k], put, part.value))
        count = len(vars(copy))
        self.copies.append(Substituted(f"the attributes of {copy}", lambda: len(vars(copy)), count, count))

    # --------------------------------------------------------------------------------- containers and objects

    def _sequence(self, part: Part) -> Any:
        name, value, read = part.name, part.value, part.read
        if isinstance(value, tuple) and type(value) is not tuple:
            self._watching.holders.hold(type(value), type(value).__name__, is_found=False)
        parts = parts_of(value, name, read)
        self._watching.note(parts.content)
        new: Any = deque(maxlen=value.maxlen) if isinstance(value, deque) else []
        if not isinstance(value, tuple):
            self._memo[id(value)] = new  # it may hold itself
        items = [self._replace(item) for item in parts.items]
        if isinstance(value, tuple):
            new = type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        else:
            new.extend(items)
            for item, put in zip(parts.items, items, strict=True):
                self.copies.append(Substituted(item.name, lambda k=item.key: new[k], put, item.value))
            self.copies.append(Substituted(f"len({name})", lambda: len(new), len(new), len(new)))
        self._memo[id(value)] = new
        return new

    def _dict(self, part: Part) -> Any:
        name, value, read = part.name, part.value, part.read
        new: dict[Any, Any] = defaultdict(value.default_factory) if isinstance(value, defaultdict) else type(value)()
        self._memo[id(value)] = new
        parts = parts_of(value, name, read)
        self._watching.note(parts.content)
        keys = {id(member.value): self._member(member) for member in parts.members}
        for item in parts.items:
            key = keys.get(id(item.key), item.key)
            put = new[key] = self._replace(item)
            self.copies.append(Substituted(item.name, lambda k=key: new[k], put, item.value))
        self.copies.append(Substituted(f"len({name})", lambda: len(new), len(new), len(new)))
        return new

    def _set(self, part: Part) -> Any:
        parts = parts_of(part.value, part.name, part.read)
        self._watching.note(parts.content)
        members = {id(member.value): self._member(member) for member in parts.members}
        new = self._memo[id(part.value)] = type(part.value)(members.get(id(x), x) for x in part.value)
        before = frozenset(new)
        self.copies.append(Substituted(part.name, lambda: new == before, True, True))
        return new

    def _member(self, part: Part) -> Any:
        """Return what replaces a key of a dict or a member of a set: its copy where it is told by its identity, so that
        the copy of the same object finds it; others equal their copies."""
        if not is_told_by_identity(part.value):
            self._watching.watch(part)
            return part.value
        self._keys += functions_in(part.value)
        return self._replace(part)

    def _instance(self, part: Part) -> Any:
        name, value, read = part.name, part.value, part.read
        cls = type(value)
        new = types.SimpleNamespace() if cls is types.SimpleNamespace else object.__new__(cls)
        self._memo[id(value)] = new
        self._watching.holders.hold(cls, cls.__name__, is_found=False)
        parts = parts_of(value, name, read)
        self._watching.note(parts.names)
        for found in parts.attributes:
            put = new.__dict__[found.key] = self._replace(found)
            self.copies.append(Substituted(found.name, lambda k=found.key: new.__dict__[k], put, found.value))
        count = len(vars(new))
        self.copies.append(Substituted(f"the attributes of {name}", lambda: len(vars(new)), count, count))
        return new


def _renamed(part: Part, name: str) -> Part:
    return Part(part.key, name, part.value, part.read)


def _inner(parts: Parts, key: str) -> Part:
    return next(part for part in parts.inner if part.key == key)


def _owner_is_readonly(array: np.ndarray[Any, Any]) -> bool:
    """A read-only view of a writable array is not a constant: its owner can change it."""
    base = array.base
    while isinstance(base, np.ndarray):
        if not is_readonly(base):  # it may be locked, since it was captured before its view
            return False
        base = base.base
    return base is None or isinstance(base, bytes)


FOLLOWING = lists(
    "sys.setprofile", "profiler of the thread, while a function runs that reaches packages", Environment._enter
)
"""The entry of the inventory for what native/entered.cpp sets: it tells of each code that begins to run."""


def _variable(name: str) -> str:
    """Return the variable that a place such as ``len(xs)``, ``xs[0]`` or ``the attributes of box`` is found from."""
    return name.removeprefix("the attributes of ").removeprefix("len(").split(".")[0].split("[")[0].rstrip(")")
