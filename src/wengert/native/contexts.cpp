// The extension module wengert._contexts: what is set for a time, so that no signal can leave it set (see context.h).
//
// Owned here: how often the garbage collector has looked while recording, and the threshold that it had before.
#include "context.h"

#include <cstring>

using wengert::Context, wengert::ErrorAside, wengert::Owned, wengert::said;

namespace {

PyObject *get_threshold, *set_threshold, *callbacks; // of the module gc

constexpr long seldom_after = 50'000; // new objects between two looks
constexpr int often = 20;

// ------------------------------------------------------------------------------------- an attribute has another value

struct Replaced {
    Owned holder, name, value, old{};

    bool enter(bool) {
        old = Owned::stolen(PyObject_GetAttr(holder, name));
        return old != nullptr && PyObject_SetAttr(holder, name, value) == 0;
    }
    void leave(bool) { said(PyObject_SetAttr(holder, name, old) == 0); }
    PyObject *entered() { return value; }
    PyObject *exited(bool) { Py_RETURN_NONE; }
};

PyObject *replaced(PyObject *, PyObject *args) {
    PyObject *holder, *name, *value;
    if (!PyArg_ParseTuple(args, "OUO:replaced", &holder, &name, &value)) return nullptr;
    return Context<Replaced>::make(holder, name, value);
}

// -------------------------------------------------------------------------------------- NumPy warns of no arithmetic

PyObject *errors, *make_errors, *ignoring; // NumPy's: the context variable, what makes a value of it, and with what

bool find_errors() {
    if (errors != nullptr) return true;
    const Owned umath = Owned::stolen(PyImport_ImportModule("numpy._core.umath"));
    if (umath == nullptr) return false;
    ignoring = Py_BuildValue("{ss}", "all", "ignore");
    make_errors = PyObject_GetAttrString(umath, "_make_extobj");
    if (ignoring == nullptr || make_errors == nullptr) return false;
    errors = PyObject_GetAttrString(umath, "_extobj_contextvar");
    return errors != nullptr;
}

struct Silent { // as np.errstate(all="ignore") is, which is Python code
    Owned token{};

    bool enter(bool) {
        const Owned nothing = Owned::stolen(PyTuple_New(0));
        const Owned value = nothing == nullptr ? Owned() : Owned::stolen(PyObject_Call(make_errors, nothing, ignoring));
        if (value != nullptr) token = Owned::stolen(PyContextVar_Set(errors, value));
        return token != nullptr;
    }
    void leave(bool) { said(PyContextVar_Reset(errors, token) == 0); }
    PyObject *entered() { return Py_None; }
    PyObject *exited(bool) { Py_RETURN_NONE; }
};

PyObject *silent(PyObject *, PyObject *) { return find_errors() ? Context<Silent>::make() : nullptr; }

// ------------------------------------------------------------------------------------------- a lock is held, if it is free

struct Acquired {
    Owned lock;
    bool is_acquired = false;

    bool enter(bool) {
        const Owned answer = Owned::stolen(PyObject_CallMethod(lock, "acquire", "O", Py_False));
        is_acquired = answer == Py_True;
        return answer != nullptr;
    }
    void leave(bool) {
        if (is_acquired) said(Owned::stolen(PyObject_CallMethod(lock, "release", nullptr)) != nullptr);
    }
    PyObject *entered() { return is_acquired ? Py_True : Py_False; }
    PyObject *exited(bool) { Py_RETURN_NONE; }
};

PyObject *acquired(PyObject *, PyObject *lock) { return Context<Acquired>::make(lock); }

// --------------------------------------------------------------------------------------------- the collector is put off

struct PutOff {
    bool was_on = false;

    bool enter(bool) {
        was_on = PyGC_Disable() != 0;
        return true;
    }
    void leave(bool) {
        if (was_on) PyGC_Enable();
    }
    PyObject *entered() { return Py_None; }
    PyObject *exited(bool) { Py_RETURN_NONE; }
};

PyObject *put_off(PyObject *, PyObject *) { return Context<PutOff>::make(); }

// --------------------------------------------------------------------------------------------- the collector looks seldom

int looks;            // since the first of those contexts was entered; each counts twice, when it begins and when it ends
PyObject *threshold;  // what it was before; null while it is so
unsigned long looking; // the thread that collects garbage at the moment, while one of those contexts is open; else 0

bool set_first(PyObject *before, long first) {
    PyObject *done = PyObject_CallFunction(set_threshold, "lOO", first, PyTuple_GET_ITEM(before, 1), PyTuple_GET_ITEM(before, 2));
    Py_XDECREF(done);
    return done != nullptr;
}

// The first number of the threshold at present, which is given to `now`; -1 with an exception.
long first_of(Owned &now) {
    now = Owned::stolen(PyObject_CallNoArgs(get_threshold));
    return now == nullptr ? -1 : PyLong_AsLong(PyTuple_GET_ITEM(now.get(), 0));
}

// Makes the collector look seldom, if it does not yet; false with an exception.
bool look_seldom() {
    Owned now;
    const long first = first_of(now);
    if (first < 0 && PyErr_Occurred()) return false;
    if (0 < first && first < seldom_after) {
        threshold = Py_NewRef(now);
        return set_first(threshold, seldom_after);
    }
    return true;
}

PyObject *looked(PyObject *, PyObject *args) {
    const bool begins = PyTuple_GET_SIZE(args) == 2 && PyUnicode_Check(PyTuple_GET_ITEM(args, 0)) &&
                        PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(args, 0), "start") == 0;
    looking = begins ? PyThread_get_thread_ident() : 0;
    if (++looks != often || threshold != nullptr) Py_RETURN_NONE;
    const ErrorAside aside; // garbage is collected at any time, so while an exception is pending too
    said(look_seldom());
    Py_RETURN_NONE;
}

PyMethodDef looked_method = {"looked", looked, METH_VARARGS, nullptr};
PyObject *counting; // looked, as a function of Python's

struct Seldom {
    bool enter(bool is_first) {
        if (!is_first) return true;
        looks = 0;
        return PyList_Append(callbacks, counting) == 0;
    }
    void leave(bool is_last) {
        if (!is_last) return;
        looking = 0;
        for (Py_ssize_t k = PyList_GET_SIZE(callbacks) - 1; k >= 0; k--)
            if (PyList_GET_ITEM(callbacks, k) == counting) said(PyList_SetSlice(callbacks, k, k + 1, nullptr) == 0);
        if (threshold == nullptr) return;
        Owned before = Owned::stolen(std::exchange(threshold, nullptr)), now;
        const long first = first_of(now);
        if (first == seldom_after) said(set_first(before, PyLong_AsLong(PyTuple_GET_ITEM(before.get(), 0))));
        said(!PyErr_Occurred());
    }
    PyObject *entered() { return Py_None; }
    PyObject *exited(bool) { Py_RETURN_NONE; }
};

PyObject *seldom(PyObject *, PyObject *) { return Context<Seldom>::make(); }

PyObject *is_collecting(PyObject *, PyObject *) { return PyBool_FromLong(looking == PyThread_get_thread_ident()); }

// ---------------------------------------------------------------------------------------------------------- of the module

PyObject *forked(PyObject *, PyObject *) {
    Context<PutOff>::leave_those_of_other_threads();
    Context<Seldom>::leave_those_of_other_threads();
    if (looking != PyThread_get_thread_ident()) looking = 0;
    Py_RETURN_NONE; // what is replaced for a thread alone is gone with the thread
}

PyMethodDef functions[] = {
    {"replaced", replaced, METH_VARARGS, "replaced(holder, name, value): a context in which an attribute has that value."},
    {"silent", silent, METH_NOARGS, "A context in which NumPy warns of no arithmetic, as np.errstate(all='ignore')."},
    {"acquired", acquired, METH_O, "acquired(lock): a context in which a lock of C code is held, if it was free."},
    {"put_off", put_off, METH_NOARGS, "A context in which the garbage collector does not run."},
    {"seldom", seldom, METH_NOARGS, "A context in which the garbage collector, once it has looked often, does so seldom."},
    {"is_collecting", is_collecting, METH_NOARGS, "Whether garbage is being collected in this thread, where `seldom` is open."},
    {"forked", forked, METH_NOARGS, "In a child process: leaves the contexts of threads that are not in it."},
    {nullptr, nullptr, 0, nullptr},
};

int fill(PyObject *module) {
    Owned gc = Owned::stolen(PyImport_ImportModule("gc"));
    if (gc == nullptr || counting != nullptr) return gc == nullptr ? -1 : PyModule_AddFunctions(module, functions);
    get_threshold = PyObject_GetAttrString(gc, "get_threshold");
    set_threshold = PyObject_GetAttrString(gc, "set_threshold");
    callbacks = PyObject_GetAttrString(gc, "callbacks");
    counting = PyCFunction_New(&looked_method, nullptr);
    const bool is_made = get_threshold != nullptr && set_threshold != nullptr && callbacks != nullptr &&
                         PyList_Check(callbacks) && counting != nullptr &&
                         Context<Replaced>::make_type("wengert._contexts.Replaced") &&
                         Context<Silent>::make_type("wengert._contexts.Silent") &&
                         Context<Acquired>::make_type("wengert._contexts.Acquired") &&
                         Context<PutOff>::make_type("wengert._contexts.PutOff") &&
                         Context<Seldom>::make_type("wengert._contexts.Seldom");
    return is_made ? PyModule_AddFunctions(module, functions) : -1;
}

PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void *>(&fill)},
    USES_THE_GIL
    {0, nullptr},
};
PyModuleDef definition{PyModuleDef_HEAD_INIT, "_contexts", "What is set for a time; see _contexts.pyi.", 0, nullptr,
                       slots, nullptr, nullptr, nullptr};

} // namespace

PyMODINIT_FUNC PyInit__contexts() { return PyModuleDef_Init(&definition); }
