// The extension module wengert.tracing.interception._array_functions: lists of traced values where NumPy takes
// array-likes, and those of its functions of two layers that make arrays.
//
// NumPy asks the arguments of a function whether they answer it themselves (__array_ufunc__, __array_function__), and
// does not ask what lies in a list. So while a trace is open, calls of its two types of functions go through here: of
// ufuncs, and of what has array_function_dispatch around it; and of the methods of ufuncs, np.add.reduce. A call with a
// traced value in a list goes to one function of Python's, and so does one of np.linspace, if the user's code calls; every
// other goes on as it was. A slot of a type, not the
// attribute of a module, is what is exchanged: the functions stay the objects that they are, however the caller got hold
// of them, and a call costs 50 ns more than before, where a wrapper in Python would cost 500.
//
// Owned here: what the slots held. All is called with the GIL held; opened.cpp calls begin() and end().
#include "../../../native/gil.h"
#include "calling.h"

#include <array>
#include <cstring>
#include <unordered_map>

namespace {

wengert::Asker asker;
PyObject *answer = nullptr;       // owned, for ever: answer(function, method, args, kwargs), or NotImplemented

struct Maker {
    PyObject *replacement;
    bool converts, is_on;
};
std::unordered_map<PyObject *, Maker> makers; // functions that make arrays, for ever

bool is_list_of_traced(PyObject *x) {
    return (PyList_Check(x) || PyTuple_Check(x)) && wengert::holds_traced_deep(asker.traced, x);
}

// The result of answer(); NULL with an exception, or without one if the call is to go on.
PyObject *answered(PyObject *function, PyObject *method, PyObject *args, PyObject *kwargs) {
    PyObject *const given = kwargs == nullptr ? PyDict_New() : Py_NewRef(kwargs);
    if (given == nullptr) return nullptr;
    PyObject *const result = PyObject_CallFunctionObjArgs(answer, function, method, args, given, nullptr);
    Py_DECREF(given);
    if (result != Py_NotImplemented) return result;
    Py_DECREF(result);
    return nullptr;
}

// --------------------------------------------------------------------------------------------- the two types of functions

struct Type {
    PyTypeObject *type = nullptr;
    ternaryfunc call = nullptr;  // PyVectorcall_Call, which finds the function of the object by its type's offset
    bool has_vectorcall = false;
};
std::array<Type, 2> types;

PyObject *call(PyObject *self, PyObject *args, PyObject *kwargs) {
    const Type &own = Py_TYPE(self) == types[0].type ? types[0] : types[1];
    if (!asker.is_tracing()) return own.call(self, args, kwargs);
    if (Py_TYPE(self) == types[1].type) {
        const auto maker = makers.find(self);
        if (maker != makers.end() && maker->second.is_on) {
            const Maker one = maker->second;
            PyObject *const converted = PyTuple_GET_SIZE(args) > 0 ? PyTuple_GET_ITEM(args, 0) : Py_None;
            const int is_ours = asker.is_for_user(one.converts ? converted : nullptr);
            if (is_ours != 0) return is_ours < 0 ? nullptr : PyObject_Call(one.replacement, args, kwargs);
        }
    }
    bool found = false;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(args) && !found; k++) found = is_list_of_traced(PyTuple_GET_ITEM(args, k));
    if (kwargs != nullptr && !found) {
        PyObject *value;
        for (Py_ssize_t at = 0; !found && PyDict_Next(kwargs, &at, nullptr, &value);) found = is_list_of_traced(value);
    }
    if (found) {
        PyObject *const result = answered(self, Py_None, args, kwargs);
        if (result != nullptr || PyErr_Occurred()) return result;
    }
    return own.call(self, args, kwargs);
}

// ------------------------------------------------------------------------------------------------- the methods of ufuncs

using Method = PyObject *(*)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);
constexpr std::array<const char *, 4> METHODS{"reduce", "accumulate", "reduceat", "outer"};  // at() wants an array
struct OfUfunc {
    PyMethodDef *definition = nullptr;  // NumPy's, static
    Method own = nullptr;
    PyObject *name = nullptr;
};
std::array<OfUfunc, METHODS.size()> methods;

template <size_t which>
PyObject *call_method(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    const OfUfunc &method = methods[which];
    bool found = false;
    const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
    for (Py_ssize_t k = 0; asker.is_tracing() && k < n + named && !found; k++) found = is_list_of_traced(args[k]);
    if (found) {
        PyObject *const positional = PyTuple_New(n);
        PyObject *const keywords = PyDict_New();
        bool made = positional != nullptr && keywords != nullptr;
        for (Py_ssize_t k = 0; made && k < n; k++) PyTuple_SET_ITEM(positional, k, Py_NewRef(args[k]));
        for (Py_ssize_t k = 0; made && k < named; k++)
            made = PyDict_SetItem(keywords, PyTuple_GET_ITEM(names, k), args[n + k]) == 0;
        PyObject *const result = made ? answered(self, method.name, positional, keywords) : nullptr;
        Py_XDECREF(positional);
        Py_XDECREF(keywords);
        if (result != nullptr || PyErr_Occurred()) return result;
    }
    return method.own(self, args, n, names);
}

constexpr std::array<Method, METHODS.size()> TRAMPOLINES{call_method<0>, call_method<1>, call_method<2>, call_method<3>};

// ---------------------------------------------------------------------------------------------------- of the module

PyObject *setup(PyObject *, PyObject *args) {
    PyObject *ufunc, *dispatcher, *traced, *asks, *libraries, *tracing, *answering;
    if (!PyArg_ParseTuple(args, "O!O!O!OO!O!O", &PyType_Type, &ufunc, &PyType_Type, &dispatcher, &PyType_Type, &traced,
                          &asks, &PySet_Type, &libraries, &PyCapsule_Type, &tracing, &answering))
        return nullptr;
    const wengert::OfOpened *const opened = wengert::of_opened(tracing);
    if (opened == nullptr) return nullptr;
    if (answer != nullptr) Py_RETURN_NONE;
    for (size_t k = 0; k < types.size(); k++) {
        auto *const type = reinterpret_cast<PyTypeObject *>(k == 0 ? ufunc : dispatcher);
        types[k] = {type, type->tp_call, PyType_HasFeature(type, Py_TPFLAGS_HAVE_VECTORCALL) != 0};
        if (type->tp_call == nullptr) return PyErr_Format(PyExc_TypeError, "%s cannot be called", type->tp_name);
    }
    for (size_t k = 0; k < METHODS.size(); k++) {
        PyObject *const found = PyObject_GetAttrString(ufunc, METHODS[k]);
        if (found == nullptr) return nullptr;
        Py_DECREF(found);  // the type keeps it
        if (!PyObject_TypeCheck(found, &PyMethodDescr_Type))
            return PyErr_Format(PyExc_TypeError, "ufunc.%s is no method of C", METHODS[k]);
        PyMethodDef *const definition = reinterpret_cast<PyMethodDescrObject *>(found)->d_method;
        if (definition->ml_flags != (METH_FASTCALL | METH_KEYWORDS))
            return PyErr_Format(PyExc_TypeError, "ufunc.%s is called in a way that is not known", METHODS[k]);
        methods[k].definition = definition;
        std::memcpy(&methods[k].own, &definition->ml_meth, sizeof(Method));
        if ((methods[k].name = PyUnicode_InternFromString(METHODS[k])) == nullptr) return nullptr;
        PyCFunction trampoline;
        std::memcpy(&trampoline, &TRAMPOLINES[k], sizeof trampoline);
        opened->hash_by(trampoline, definition->ml_meth);
    }
    asker = {reinterpret_cast<PyTypeObject *>(Py_NewRef(traced)), opened->is_tracing, Py_NewRef(asks), Py_NewRef(libraries)};
    answer = Py_NewRef(answering);
    Py_RETURN_NONE;
}

PyObject *enroll(PyObject *, PyObject *args) {
    PyObject *function, *replacement;
    int converts = 0;
    if (!PyArg_ParseTuple(args, "OO|p:enroll", &function, &replacement, &converts)) return nullptr;
    if (answer == nullptr) return PyErr_Format(PyExc_RuntimeError, "setup comes before enroll");
    if (Py_TYPE(function) != types[1].type) Py_RETURN_FALSE;
    const auto [found, is_new] = makers.try_emplace(function, Maker{replacement, converts != 0, true});
    if (!is_new && found->second.replacement != replacement)
        return PyErr_Format(PyExc_ValueError, "%R is enrolled already", function);
    if (is_new) Py_INCREF(function), Py_INCREF(replacement);
    Py_RETURN_TRUE;
}

PyObject *withdraw(PyObject *, PyObject *function) {
    const auto found = makers.find(function);
    if (found == makers.end()) return PyErr_Format(PyExc_KeyError, "%R is not enrolled", function);
    PyObject *const replacement = found->second.replacement;
    makers.erase(found);
    Py_DECREF(replacement);
    Py_DECREF(function); // the caller has another
    Py_RETURN_NONE;
}

PyObject *switch_on(PyObject *, PyObject *args) {
    PyObject *function;
    int is_on;
    if (!PyArg_ParseTuple(args, "Op:switch_on", &function, &is_on)) return nullptr;
    const auto found = makers.find(function);
    if (found == makers.end()) return PyErr_Format(PyExc_KeyError, "%R is not enrolled", function);
    found->second.is_on = is_on != 0;
    Py_RETURN_NONE;
}

PyObject *begin(PyObject *, PyObject *) {
    if (answer == nullptr) return PyErr_Format(PyExc_RuntimeError, "setup comes before begin");
    for (const Type &one : types) {
        one.type->tp_call = &call;
        one.type->tp_flags &= ~Py_TPFLAGS_HAVE_VECTORCALL;  // so that tp_call is what is called
    }
    for (size_t k = 0; k < methods.size(); k++)
        std::memcpy(&methods[k].definition->ml_meth, &TRAMPOLINES[k], sizeof(Method));
    Py_RETURN_NONE;
}

PyObject *end(PyObject *, PyObject *) {
    for (const Type &one : types) {
        if (one.type == nullptr) continue;
        one.type->tp_call = one.call;
        if (one.has_vectorcall) one.type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
    }
    for (const OfUfunc &one : methods)
        if (one.definition != nullptr) std::memcpy(&one.definition->ml_meth, &one.own, sizeof(Method));
    Py_RETURN_NONE;
}

PyMethodDef FUNCTIONS[] = {
    {"setup", setup, METH_VARARGS, "setup(ufunc, dispatcher, Tracer, asks, libraries, is_tracing, answer): whose calls are looked at, "
                                   "who knows who calls, and who answers."},
    {"enroll", enroll, METH_VARARGS, "enroll(function, replacement, converts): of a function that makes arrays."},
    {"withdraw", withdraw, METH_O, "Takes that back."},
    {"switch_on", switch_on, METH_VARARGS, "switch_on(function, is_on): whether the replacement is called."},
    {"begin", begin, METH_NOARGS, "From now on a call with a traced value in a list is answered."},
    {"end", end, METH_NOARGS, "The two types are themselves again."},
    {nullptr, nullptr, 0, nullptr},
};

int fill(PyObject *module) { return PyModule_AddFunctions(module, FUNCTIONS); }

PyModuleDef_Slot SLOTS[] = {
    {Py_mod_exec, reinterpret_cast<void *>(&fill)},
    USES_THE_GIL
    {0, nullptr},
};
PyModuleDef MODULE{
    PyModuleDef_HEAD_INIT, "_array_functions", "Calls of NumPy's functions while a trace is open; see _array_functions.pyi.",
    0, nullptr, SLOTS, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__array_functions() { return PyModuleDef_Init(&MODULE); }
