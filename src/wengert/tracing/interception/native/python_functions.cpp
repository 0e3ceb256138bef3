// The extension module wengert.tracing.interception._python_functions: a function written in Python whose code is exchanged is
// called, and it is decided who answers.
//
// While a trace is open, the code of such a function is `return _wengert_decide(number, a, b, c=c)`, with the parameters
// that it has without one (python_functions.py). Here its arguments are looked at: the replacement is called where one is
// traced, or where the user's code calls in a thread that traces, else a copy of the function that keeps its own code.
// What is not traced, in another thread, costs one call of a C function and one of Python's.
//
// Owned here: one route a function, for as long as the process lives. All is called with the GIL held.
#include "../../../native/gil.h"
#include "calling.h"

#include <vector>

namespace {

// When a replacement answers: the others of asking.py are one here, whether an argument is traced.
constexpr int at_caller = 7, at_conversion = 8, at_functions = 9, at_object = 5;

PyTypeObject *traced;
bool (*is_tracing)();
PyObject *asks; // asks(number, looks, first) says whether the frame that called the function is to get the replacement
PyObject *libraries; // a set of names of modules of which it says no, where nothing is converted that is traced

struct Route {
    PyObject *function, *original, *names; // names of the parameters that may be given by position
    Py_ssize_t n_positional_only;
    PyObject *answers; // a tuple of (owner, looks, replacement), the owner None where it is of all calls
};
std::vector<Route> routes;

bool holds_traced(PyObject *x, int depth = 0) {
    if (Py_TYPE(x) == traced) return true;
    if (!(PyList_CheckExact(x) || PyTuple_CheckExact(x)) || depth > wengert::deepest_list) return false;
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(x);
    PyObject *const *const items = PySequence_Fast_ITEMS(x);
    for (Py_ssize_t k = 0; k < n; k++)
        if (holds_traced(items[k], depth + 1)) return true;
    return false;
}

// The arguments of a call, as its code has bound them.
struct Arguments {
    PyObject *const *at;
    Py_ssize_t n;    // by position
    PyObject *names; // of the others, or null

    Py_ssize_t n_named() const { return names == nullptr ? 0 : PyTuple_GET_SIZE(names); }
};

// Whether the code that has called the function is of one of those modules: 1 or 0; -1 with an exception.
int is_by_library() {
    PyFrameObject *const asking = PyEval_GetFrame(); // it runs the function's code, which has called decide()
    PyFrameObject *const caller = asking == nullptr ? nullptr : PyFrame_GetBack(asking);
    if (caller == nullptr) return 0;
    PyObject *const globals = PyFrame_GetGlobals(caller);
    const int is_it = wengert::is_always_library(globals, libraries);
    Py_DECREF(globals);
    Py_DECREF(caller);
    return is_it;
}

// 1 if the replacement answers, 0 if not; -1 with an exception.
int is_for(int looks, PyObject *owner, bool any_traced, PyObject *number, const Arguments &given) {
    if (owner != Py_None) {
        PyObject *const first = given.n > 0 ? given.at[0] : nullptr;
        if (first == nullptr || (first != owner && reinterpret_cast<PyObject *>(Py_TYPE(first)) != owner)) return 0;
    }
    const bool asks_who_calls = looks == at_caller || looks == at_conversion;
    if (any_traced && !asks_who_calls && looks != at_object) return 1;
    if (!is_tracing()) return 0;
    if (looks == at_object) return 1;
    if (!asks_who_calls && looks != at_functions) return 0;
    if (looks != at_conversion || !any_traced) {
        const int is_library = is_by_library();
        if (is_library != 0) return is_library < 0 ? -1 : 0;
    }
    PyObject *const how = PyLong_FromLong(looks);
    if (how == nullptr) return -1;
    PyObject *const answer =
        PyObject_CallFunctionObjArgs(asks, number, how, given.n > 0 ? given.at[0] : Py_None, nullptr);
    Py_DECREF(how);
    if (answer == nullptr) return -1;
    Py_DECREF(answer);
    return answer == Py_True;
}

// The replacement is called with what the caller has written, as far as can be told: what is the default is left out,
// and what comes after it is given by name.
PyObject *call_replacement(const Route &route, PyObject *replacement, const Arguments &given) {
    PyObject *const defaults = PyFunction_GetDefaults(route.function);
    PyObject *const of_names = PyFunction_GetKwDefaults(route.function);
    const Py_ssize_t n_names = PyTuple_GET_SIZE(route.names);
    const Py_ssize_t n_defaults = defaults == nullptr ? 0 : PyTuple_GET_SIZE(defaults);
    const auto is_default = [&](Py_ssize_t k) {
        const Py_ssize_t at = k - (n_names - n_defaults);
        return k < n_names && at >= 0 && given.at[k] == PyTuple_GET_ITEM(defaults, at);
    };
    Py_ssize_t n_by_position = given.n > n_names ? given.n : 0; // those behind are of *args, so all stand before them
    if (n_by_position == 0) {
        for (Py_ssize_t k = 0; k < given.n && k < route.n_positional_only; k++)
            if (!is_default(k)) n_by_position = k + 1;
        while (n_by_position < given.n && !is_default(n_by_position)) n_by_position++;
    }
    std::vector<PyObject *> values(given.at, given.at + n_by_position);
    PyObject *const names = PyList_New(0);
    if (names == nullptr) return nullptr;
    bool is_done = true;
    const auto add = [&](PyObject *name, PyObject *value) {
        is_done = is_done && PyList_Append(names, name) == 0;
        values.push_back(value);
    };
    for (Py_ssize_t k = n_by_position; k < given.n; k++)
        if (k >= route.n_positional_only && !is_default(k)) add(PyTuple_GET_ITEM(route.names, k), given.at[k]);
    for (Py_ssize_t k = 0; k < given.n_named(); k++) {
        PyObject *const name = PyTuple_GET_ITEM(given.names, k), *const value = given.at[given.n + k];
        PyObject *const usual = of_names == nullptr ? nullptr : PyDict_GetItemWithError(of_names, name);
        is_done = is_done && (usual != nullptr || !PyErr_Occurred());
        if (value != usual) add(name, value);
    }
    PyObject *const in_order = is_done ? PyList_AsTuple(names) : nullptr;
    Py_DECREF(names);
    if (in_order == nullptr) return nullptr;
    PyObject *const result = PyObject_Vectorcall(replacement, values.data(), n_by_position, in_order);
    Py_DECREF(in_order);
    return result;
}

PyObject *decide(PyObject *, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    const Py_ssize_t number = n > 0 && PyLong_Check(args[0]) ? PyLong_AsSsize_t(args[0]) : -1;
    if (number < 0 || number >= Py_ssize_t(routes.size())) {
        PyErr_Clear();
        return PyErr_Format(PyExc_TypeError, "the number of an intercepted function is expected");
    }
    const Arguments given{args + 1, n - 1, names};
    const Route route = routes[number]; // a copy: what is called may enroll others
    const bool is_it_tracing = is_tracing();
    bool any_traced = false;
    for (Py_ssize_t k = 0; k < given.n + given.n_named() && !any_traced; k++) any_traced = holds_traced(given.at[k]);
    if (any_traced || is_it_tracing) {
        PyObject *const answers = Py_NewRef(route.answers);
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(answers); k++) {
            PyObject *const one = PyTuple_GET_ITEM(answers, k);
            const int looks = int(PyLong_AsLong(PyTuple_GET_ITEM(one, 1)));
            const int is_ours = is_for(looks, PyTuple_GET_ITEM(one, 0), any_traced, args[0], given);
            if (is_ours == 0) continue;
            PyObject *const result =
                is_ours < 0 ? nullptr : call_replacement(route, PyTuple_GET_ITEM(one, 2), given);
            if (result != Py_NotImplemented) {
                Py_DECREF(answers);
                return result;
            }
            Py_DECREF(result);
        }
        Py_DECREF(answers);
    }
    return PyObject_Vectorcall(route.original, given.at, given.n, names);
}

// ------------------------------------------------------------------------------------------------ the module's functions

PyObject *setup(PyObject *, PyObject *args) {
    PyObject *cls, *asking, *names, *tracing;
    if (!PyArg_ParseTuple(args, "O!OO!O!:setup", &PyType_Type, &cls, &asking, &PySet_Type, &names, &PyCapsule_Type,
                          &tracing))
        return nullptr;
    const wengert::OfOpened *const opened = wengert::of_opened(tracing);
    if (opened == nullptr) return nullptr;
    is_tracing = opened->is_tracing;
    Py_XSETREF(traced, reinterpret_cast<PyTypeObject *>(Py_NewRef(cls)));
    Py_XSETREF(asks, Py_NewRef(asking));
    Py_XSETREF(libraries, Py_NewRef(names));
    Py_RETURN_NONE;
}

PyObject *enroll(PyObject *, PyObject *args) {
    PyObject *function, *original, *names;
    Py_ssize_t n_positional_only;
    if (!PyArg_ParseTuple(args, "O!O!O!n:enroll", &PyFunction_Type, &function, &PyFunction_Type, &original, &PyTuple_Type,
                          &names, &n_positional_only))
        return nullptr;
    PyObject *const none = PyTuple_New(0);
    if (none == nullptr) return nullptr;
    routes.push_back({Py_NewRef(function), Py_NewRef(original), Py_NewRef(names), n_positional_only, none});
    return PyLong_FromSize_t(routes.size() - 1);
}

PyObject *answer(PyObject *, PyObject *args) {
    Py_ssize_t number;
    PyObject *answers;
    if (!PyArg_ParseTuple(args, "nO!:answer", &number, &PyTuple_Type, &answers)) return nullptr;
    bool is_sound = number >= 0 && number < Py_ssize_t(routes.size());
    for (Py_ssize_t k = 0; is_sound && k < PyTuple_GET_SIZE(answers); k++) {
        PyObject *const one = PyTuple_GET_ITEM(answers, k);
        is_sound = PyTuple_Check(one) && PyTuple_GET_SIZE(one) == 3 && PyLong_Check(PyTuple_GET_ITEM(one, 1));
    }
    if (!is_sound) return PyErr_Format(PyExc_TypeError, "answer takes a number that enroll has given, and triples");
    Py_SETREF(routes[number].answers, Py_NewRef(answers));
    Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"setup", setup, METH_VARARGS, "setup(Tracer, asks, libraries, is_tracing): the class of traced values, and who knows "
                                   "who calls."},
    {"enroll", enroll, METH_VARARGS, "enroll(function, original, names, n_positional_only): the number of its route."},
    {"answer", answer, METH_VARARGS, "answer(number, answers): who answers, of (owner, looks, replacement)."},
    {"decide", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(decide)), METH_FASTCALL | METH_KEYWORDS,
     "decide(number, *args, **kwargs): the call of an intercepted function."},
    {nullptr, nullptr, 0, nullptr},
};

int fill(PyObject *module) {
    return PyModule_AddStringConstant(module, "NAME", "_wengert_decide") < 0 ? -1
                                                                            : PyModule_AddFunctions(module, functions);
}

PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void *>(&fill)},
    USES_THE_GIL
    {0, nullptr},
};
PyModuleDef definition{PyModuleDef_HEAD_INIT, "_python_functions", "Who answers for a function; see _python_functions.pyi.",
                       0, nullptr, slots, nullptr, nullptr, nullptr};

} // namespace

PyMODINIT_FUNC PyInit__python_functions() { return PyModuleDef_Init(&definition); }
