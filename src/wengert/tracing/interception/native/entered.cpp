// The extension module wengert.tracing.interception._entered: which code of Python begins to run while a function is traced.
//
// The interpreter tells a profiler of every call. Here it is asked for the first call of each code, and nothing else:
// entering and leaving are one call each that no signal can come into (native/context.h), and a profiler that was there
// before hears of every event meanwhile, and is there again after.
//
// Owned here: the codes that have been told of, as long as their context says so; and those that nobody wants to hear
// of, of at most `most_known`.
#include "../../../native/context.h"

#include <unordered_set>

using wengert::Context, wengert::ErrorAside, wengert::Owned, wengert::said;

namespace {

struct Same {
    size_t operator()(const Owned &one) const { return std::hash<PyObject *>()(one.get()); }
    bool operator()(const Owned &one, const Owned &other) const { return one.get() == other.get(); }
};
using Codes = std::unordered_set<Owned, Same, Same>; // which keeps them, so that no other has their place

constexpr size_t most_known = 100'000;
Codes *unwanted;

int told(PyObject *capsule, PyFrameObject *frame, int what, PyObject *argument);

struct Following {
    Owned tell;
    Codes codes{};
    Py_tracefunc before = nullptr;
    Owned before_object{}, capsule{};
    bool is_alone = true; // nobody has set another profiler meanwhile

    bool enter(bool) {
        if (tell == Py_None) return true;
        capsule = Owned::stolen(PyCapsule_New(this, nullptr, nullptr));
        if (capsule == nullptr) return false;
        PyThreadState *thread = PyThreadState_Get();
        before = thread->c_profilefunc;
        before_object = Owned(thread->c_profileobj);
        PyEval_SetProfile(told, capsule);
        return !PyErr_Occurred();
    }
    void leave(bool) {
        if (tell == Py_None) return;
        PyThreadState *thread = PyThreadState_Get();
        is_alone = thread->c_profilefunc == told && thread->c_profileobj == capsule;
        if (is_alone) PyEval_SetProfile(before, before_object);
    }
    PyObject *entered() { return Py_None; }
    PyObject *exited(bool is_error) {
        if (is_alone || is_error) Py_RETURN_NONE;
        PyErr_SetString(PyExc_RuntimeError, "the function sets a profiler while it is traced, which needs the one there is");
        return nullptr;
    }

    int event(PyFrameObject *frame, int what, PyObject *argument) {
        if (what == PyTrace_CALL) {
            const Owned code = Owned::stolen(reinterpret_cast<PyObject *>(PyFrame_GetCode(frame)));
            if (!unwanted->contains(code) && codes.insert(code).second) {
                const ErrorAside aside;
                const Owned answer = Owned::stolen(PyObject_CallOneArg(tell, reinterpret_cast<PyObject *>(frame)));
                if (answer == nullptr) return -1;
                if (answer == Py_None) codes.erase(code);
                if (answer == Py_False) {
                    if (unwanted->size() >= most_known) unwanted->clear();
                    unwanted->insert(code);
                }
            }
        }
        return before == nullptr ? 0 : before(before_object, frame, what, argument);
    }
};

int told(PyObject *capsule, PyFrameObject *frame, int what, PyObject *argument) {
    return static_cast<Following *>(PyCapsule_GetPointer(capsule, nullptr))->event(frame, what, argument);
}

PyObject *following(PyObject *, PyObject *tell) { return Context<Following>::make(tell); }

PyMethodDef functions[] = {
    {"following", following, METH_O, "following(tell): a context in which each code's first frame is told of."},
    {nullptr, nullptr, 0, nullptr},
};

int fill(PyObject *module) {
    if (unwanted == nullptr) unwanted = new (std::nothrow) Codes;
    const bool is_made = unwanted != nullptr && Context<Following>::make_type("wengert.tracing.interception._entered.Following");
    return is_made ? PyModule_AddFunctions(module, functions) : -1;
}

PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void *>(&fill)},
    USES_THE_GIL
    {0, nullptr},
};
PyModuleDef definition{PyModuleDef_HEAD_INIT, "_entered", "Which code begins to run; see _entered.pyi.", 0,
                       nullptr, slots, nullptr, nullptr, nullptr};

} // namespace

PyMODINIT_FUNC PyInit__entered() { return PyModuleDef_Init(&definition); }
