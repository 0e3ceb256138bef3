"""SciPy's Python functions trace however the caller got hold of them, and are themselves again afterwards."""

from __future__ import annotations

import inspect
import marshal
import sys
import threading
import types
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.integrate
import scipy.signal
import scipy.special as sp
from scipy.special import logsumexp

import wengert as wg
from wengert.tracing.interception.asking import INTO_LISTS
from wengert.tracing.interception.intercept import TABLE, Interception, enroll, intercepts, opened, withdraw
from wengert.tracing.interception.python_functions import original
from wengert.tracing.trace import Trace
from wengert.tracing.tracer import Tracer

wg.jvp(lambda x: x, (1.0,), (1.0,))  # the first trace fills the table for the modules of SciPy's that are imported
NAMES = [
    name
    for name, one in TABLE.items()
    if name.startswith("scipy.special.") and isinstance(one.target, types.FunctionType)
]


def codes() -> dict[str, Any]:
    return {name: TABLE[name].target.__code__ for name in NAMES}


def test_the_functions_of_scipy_are_themselves_without_a_trace() -> None:
    """Nested and left by an exception: their code is their own again."""
    own = codes()
    assert own["scipy.special.logsumexp"].co_filename.endswith("_logsumexp.py")
    with opened(Trace("f")):
        with pytest.raises(ZeroDivisionError), opened(Trace("f")):
            raise ZeroDivisionError
        assert sp.logsumexp.__code__ is not own["scipy.special.logsumexp"]
        assert sp.logsumexp([0.0, 0.0]) == np.log(2)  # not traced: SciPy's own
    assert codes() == own


def test_a_name_imported_long_before_is_traced() -> None:
    """The function stays the object that it is: an attribute put in its place would not be found by this name."""
    x = np.array([1.0, 2.0, -0.5])
    tape = wg.trace(logsumexp)(x)
    assert {"max", "log"} < {i.op.name for i in tape.instrs}  # its own steps: no callback, no code of SciPy's
    assert sp.logsumexp is logsumexp
    np.testing.assert_allclose(wg.compile(tape)(x), logsumexp(x), rtol=1e-15)


def test_traced_values_are_found_in_lists_and_keywords() -> None:
    f = lambda x: logsumexp([x[0], 2.0], b=[1.0, x[1]])
    x = np.array([0.5, 3.0])
    np.testing.assert_allclose(wg.jit(f)(x), f(x), rtol=1e-15)


def test_without_a_traced_value_scipy_decides() -> None:
    """Also while a trace is open, of what is not traced, and in another thread."""
    found: list[Any] = []

    def f(x: Any) -> Any:
        found.append(sp.softmax([0.0, 0.0]))
        thread = threading.Thread(target=lambda: found.append(sp.softmax([1.0, 1.0])))
        thread.start()
        thread.join()
        return x

    wg.jvp(f, (1.0,), (1.0,))
    assert [y.tolist() for y in found] == [[0.5, 0.5], [0.5, 0.5]]
    assert original(sp.softmax)([3.0, 3.0]).tolist() == [0.5, 0.5]


def test_functions_of_keyword_only_defaults_are_called_without_them() -> None:
    """A copy that had lost its defaults failed for every array, in any thread, while any thread was tracing."""
    a, b = np.arange(8.0), np.ones(2)
    expected = scipy.signal.fftconvolve(a, b), scipy.fft.rfft(a)
    with opened(Trace("f")):
        np.testing.assert_array_equal(scipy.signal.fftconvolve(a, b), expected[0])
        np.testing.assert_array_equal(scipy.fft.rfft(a), expected[1])


class Scaled:
    def __init__(self, by: float) -> None:
        self.by = by

    def times(self, x: Any) -> Any:
        return self.by * x

    def __call__(self, x: Any) -> Any:
        return -x


def test_one_function_that_cannot_be_intercepted_leaves_the_rest_of_its_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that this version has not, a number: each keeps what it has. A closure is intercepted as any other, a
    method of one object is not one of another's, and a class is its ``__init__``."""
    module = types.ModuleType("invented")
    scale = 3.0

    def scaled(x: Any, *, by: float = 2.0) -> Any:
        return scale * by * x

    mine, other = Scaled(2.0), Scaled(5.0)
    vars(module).update(first=lambda x: x + 1, scaled=scaled, number=3, mine=mine, Scaled=Scaled)
    names = ["first", "scaled", "number", "missing", "mine.times", "mine"]
    for name in names:
        intercepts(f"invented:{name}")(lambda *args: "ours")

    def remember(made: Scaled, by: Any) -> None:
        made.by = "ours"

    intercepts("invented:Scaled")(remember)
    monkeypatch.setitem(sys.modules, "invented", module)

    def f(x: Any) -> list[Any]:
        return [module.first(x), module.scaled(x), mine.times(x), mine(x), Scaled(x).by]

    answers: list[Any] = []
    with opened(Trace("f")):
        wg.jvp(lambda x: answers.extend([*f(x), other.times(x), other(x)]) or x, (1.0,), (1.0,))
        assert answers[:5] == ["ours"] * 5 and "ours" not in answers[5:]
        assert f(1.0) == [2.0, 6.0, 2.0, -1.0, 1.0] and module.scaled(1.0, by=1.0) == 3.0
    assert f(1.0) == [2.0, 6.0, 2.0, -1.0, 1.0]
    table = wg.interceptions()
    assert not table["invented.number"].how and "not imported" in repr(table["invented.missing"])
    table["invented.first"].is_on = False
    wg.jvp(lambda x: answers.append(f(x)) or x, (1.0,), (1.0,))
    assert type(answers[-1][0]) is Tracer and answers[-1][1:] == ["ours"] * 4
    for name in [*names, "Scaled"]:
        if table[f"invented.{name}"].how:
            withdraw(table[f"invented.{name}"])
        del TABLE[f"invented.{name}"]


def test_an_intercepted_function_says_what_it_takes_and_where_it_is_written() -> None:

    def source(f: Any) -> str | None:
        try:
            return inspect.getsource(f)
        except (OSError, TypeError):  # made by exec, or wrapped around compiled code
            return None

    functions = [one.target for one in TABLE.values() if one.how == "code of a Python function"]
    asked = [(inspect.signature(f), source(f), getattr(f, "__kwdefaults__", None)) for f in functions]
    assert len(asked) > 40
    assert sum(text is None for _, text, _ in asked) < len(asked) / 4
    with opened(Trace("f")):
        assert [(inspect.signature(f), source(f), getattr(f, "__kwdefaults__", None)) for f in functions] == asked


def test_the_code_of_an_intercepted_function_has_its_parameters_and_can_be_marshalled() -> None:
    """It had none, and a constant that is a function; ``__signature__``, which said what it takes, stayed for ever."""

    def with_signature() -> list[str]:
        targets = {name: one.target for name, one in TABLE.items() if one.how == "code of a Python function"}
        return [name for name, f in targets.items() if "__signature__" in vars(getattr(f, "__func__", f))]

    before = with_signature()  # decorators of SciPy's leave one
    count = np.ones.__code__.co_argcount
    assert count == 3 and "__signature__" not in vars(np.ones)
    with opened(Trace("f")):
        code = np.ones.__code__
        assert (code.co_argcount, code.co_kwonlyargcount, code.co_varnames[:2]) == (3, 2, ("shape", "dtype"))
        assert marshal.loads(marshal.dumps(code)) == code and "__signature__" not in vars(np.ones)
        with pytest.raises(TypeError, match=r"ones\(\) missing 1 required positional argument: 'shape'"):
            np.ones()
    assert with_signature() == before


def test_a_replacement_is_given_what_the_caller_wrote() -> None:
    """Every kind of parameter: what is the default is left out, for the replacement has its own."""
    module = types.ModuleType("invented")
    exec(
        "def plain(a, b=1, c=2, *, d=3): return 'own'\n"
        "def by_place(a, b=1, /, c=2): return 'own'\n"
        "def gathered(a, *more, d=3, **named): return 'own'\n",
        vars(module),
    )
    given: list[Any] = []
    ones = [
        Interception(f"invented.{name}", f, INTO_LISTS, lambda *args, **kwargs: given.append((args[1:], kwargs)))
        for name, f in vars(module).items()
        if isinstance(f, types.FunctionType)
    ]
    assert all(enroll(one) for one in ones)

    def f(x: Any) -> Any:
        module.plain(x)
        module.plain(x, 5)
        module.plain(x, 1, 2, d=3)
        module.plain(x, c=7, d=4)
        module.by_place(x, 5)
        module.by_place(x, 1, 7)
        module.by_place(x, 5, c=7)
        module.gathered(x, 1, 2, d=4, e=5)
        module.gathered(x, d=3)
        assert [module.plain(1.0), module.by_place(1.0), module.gathered(1.0, 2, d=4, e=5)] == ["own"] * 3
        return x

    wg.jvp(f, (1.0,), (1.0,))
    for one in ones:
        withdraw(one)
    plain = [((), {}), ((5,), {}), ((), {}), ((), {"c": 7, "d": 4})]
    by_place = [((5,), {}), ((), {"c": 7}), ((5, 7), {})]
    assert given == [*plain, *by_place, ((1, 2), {"d": 4, "e": 5}), ((), {})]


def test_a_function_whose_parameters_are_no_names_is_not_intercepted() -> None:
    """Nor is one with builtins of its own: the code that asks could not be written."""
    f = lambda a: a
    f.__code__ = f.__code__.replace(co_varnames=(".0",))
    bare: Any = types.FunctionType((lambda a: a).__code__, {"__builtins__": {}})
    for function in (f, bare):
        assert not enroll(Interception("invented", function, INTO_LISTS, lambda a: "ours"))
        assert wg.jvp(function, (1.0,), (1.0,)) == (1.0, 1.0)


def test_an_error_of_what_answers_is_not_taken_for_one_of_the_library() -> None:
    """It said that scipy.special.logsumexp is not traced, where the argument alone was wrong."""
    with pytest.raises(TypeError, match="'str' object cannot be interpreted") as caught:
        wg.grad(lambda x: sp.logsumexp(x, axis="a"))(np.ones(3))
    assert "not traced" not in str(caught.value)


def test_what_answers_has_the_defaults_of_the_function() -> None:
    """What is the default is left out of a call of it, whatever the caller has written."""
    others: list[Any] = []
    for one in TABLE.values():
        if one.how != "code of a Python function":
            continue
        own = inspect.signature(getattr(one.target, "__func__", one.target), follow_wrapped=False).parameters
        ours = inspect.signature(one.answers, follow_wrapped=False).parameters
        takes_any = any(p.kind is p.VAR_KEYWORD for p in ours.values())
        for name, p in own.items():
            found = ours.get(name)
            if (found is not None and found.kind is found.VAR_POSITIONAL) or name.startswith("_"):
                continue
            found = None if found is not None and found.kind is found.VAR_KEYWORD else found
            usual = tuple(p.default) if isinstance(p.default, list) else p.default
            if p.default is not p.empty and not (takes_any if found is None else found.default == usual):
                others.append((one.name, name))
    assert [one for one in others if one not in LEFT_TO_SCIPY] == []


LEFT_TO_SCIPY = {
    ("scipy.optimize.elementwise.find_minimum", "maxiter"),  # None: SciPy is called without it
    ("scipy.interpolate._ndbspline.make_ndbspl", "solver"),  # none is used: the equations are solved axis by axis
    *[("scipy.cluster.vq.whiten", "check_finite"), ("scipy.linalg.solve", "assume_a")],  # None since SciPy 1.15
    *[("scipy.optimize.least_squares", "kwargs"), ("scipy.ndimage.geometric_transform", "extra_keywords")],  # as above
    ("scipy.linalg.qr", "lwork"),  # a mark of SciPy's own since 1.18: it says nothing of the result
    ("scipy.interpolate._bsplines.get_lapack_funcs", "ilp64"),  # "preferred" since 1.18: as above
}
