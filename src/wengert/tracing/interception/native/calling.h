// Who calls a function of C: the code of the frame that is running, or compiled code of a library's that it has called.
//
// Compiled code has no frame of Python's. When `rng.normal(size=3)` asks numpy for an empty array, the nearest frame is
// the user's, as it is where the user's code calls np.empty, by whatever name, or by way of map(). But compiled code has
// its frames on the machine's stack, between the function and the interpreter's loop, which runs the user's frame. There
// stands Python's own code alone where the call is the user's. A walk to the loop takes 0.4 µs.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "../../../native/platform.h"

#include <cstring>
#include <unordered_map>

namespace wengert {

constexpr int deepest_list = 64; // NumPy's most axes; a list that holds itself ends there

// Whether a value is traced, or is a list or tuple that holds one that is.
inline bool holds_traced_deep(PyTypeObject *traced, PyObject *x, int depth = 0) {
    if (Py_TYPE(x) == traced) return true;
    if (!(PyList_Check(x) || PyTuple_Check(x)) || depth > deepest_list) return false;
    // Nothing below runs code of Python's, so the list stays as it is.
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(x);
    PyObject *const *const items = PySequence_Fast_ITEMS(x);
    for (Py_ssize_t k = 0; k < n; k++)
        if (holds_traced_deep(traced, items[k], depth + 1)) return true;
    return false;
}

class Calling {
    static void *loop() {
        static void *const found = function_of_python("_PyEval_EvalFrameDefault", &PyList_Type);
        return found;
    }

    // Of libpython or the executable that has it, of an extension module that came with Python, or of this one.
    static bool is_pythons_or_ours(void *function) {
        static std::unordered_map<void *, bool> known;
        const auto found = known.find(function);
        if (found != known.end()) return found->second;
        const Image image = image_of(function);
        const bool is_it = image.base != nullptr && (image.base == image_of(&PyList_Type).base ||
                                                     image.base == image_of(&known).base ||
                                                     std::strstr(image.path, folder_of_pythons_modules) != nullptr);
        return known[function] = is_it;
    }

  public:
    // Whether the running frame's code has called, with nothing but Python's own code in between. False if it cannot be
    // told, as in a Python that runs its frames elsewhere than in the loop.
    static bool is_from_python() {
        bool is_python = false;
        each_running_function([&is_python](void *function) {
            is_python = function != nullptr && function == loop();
            return !is_python && function != nullptr && is_pythons_or_ours(function);
        });
        return is_python;
    }
};

// 1 if the globals are those of a module in a set of such as never get traced arrays, 0 if not; -1 with an exception.
inline int is_always_library(PyObject *globals, PyObject *libraries) {
    static PyObject *const key = PyUnicode_InternFromString("__name__");
    PyObject *const name = PyDict_GetItemWithError(globals, key);
    if (name == nullptr) return PyErr_Occurred() ? -1 : 0;
    return PyUnicode_CheckExact(name) ? PySet_Contains(libraries, name) : 0;
}

// Whether whoever calls now is to get traced arrays: the user's code in a thread that is tracing.
struct Asker {
    PyTypeObject *traced = nullptr;
    bool (*is_tracing)() = nullptr; // whether this thread may be: native/opened.cpp counts the traces of each
    PyObject *asks = nullptr;      // asks() of what makes an array, asks(x) of what converts x: of the running frame
    PyObject *libraries = nullptr; // a set of names of modules of which asks() says no

    // 1 or 0; -1 with an exception. `converted` is null where nothing is converted.
    int is_for_user(PyObject *converted) const {
        if (!is_tracing()) return 0; // before all else: other threads call np.zeros meanwhile, and pay for what is asked
        PyObject *const globals = PyEval_GetGlobals();
        if (globals == nullptr) return 0; // no frame is running
        if (converted == nullptr || !holds_traced_deep(traced, converted)) {
            const int is_library = is_always_library(globals, libraries);
            if (is_library != 0) return is_library < 0 ? -1 : 0;
        }
        PyObject *const answer =
            converted == nullptr ? PyObject_CallNoArgs(asks) : PyObject_CallOneArg(asks, converted);
        if (answer == nullptr) return -1;
        Py_DECREF(answer);
        return answer == Py_True && Calling::is_from_python() ? 1 : 0;
    }
};

constexpr const char *is_tracing_capsule = "wengert.tracing.interception._opened.is_tracing";

// What _opened does for those who exchange something while a trace is open.
struct OfOpened {
    bool (*is_tracing)();
    // A function of C is hashed as with its own code while the trampoline stands there.
    void (*hash_by)(PyCFunction trampoline, PyCFunction own);
};

// What _opened.is_tracing holds; null with an exception.
inline const OfOpened *of_opened(PyObject *capsule) {
    return static_cast<const OfOpened *>(PyCapsule_GetPointer(capsule, is_tracing_capsule));
}

} // namespace wengert
