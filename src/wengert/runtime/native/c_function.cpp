// Programs as functions of C: what code that knows nothing of Python calls, from any thread, with or without the GIL.
//
// A run takes a block of memory that the executable keeps, or makes one, so any number of threads may run at once. It
// is in the calling thread alone, and never asks for the GIL: a caller may hold it, and wait for the threads that call.
// What Python would be asked for ends the run, with a status. The functions for SciPy take the GIL to say what is
// wrong, for SciPy's own code has it.
#include "c_function.h"
#include "loops.h"

#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>

namespace wengert {

namespace {

struct ForC {
    ExecutableObject *executable;          // a strong reference
    std::vector<PyArrayObject *> read_only; // strong references
};

enum Status : int32_t {
    done, guard_missed, kernel_failed, no_memory, made_writable, capture_changed, calls_python, wrong_count
};

constexpr const char *WHY[] = {
    "",
    "a branch goes another way than with the arguments that it was made for; write np.where or wg.cond for it",
    "a step refused its operands: a matrix is singular, or not positive definite",
    "there is no memory for a run",
    "an array that was read-only when it was compiled can be written now",
    "a captured array has another shape or dtype than when it was compiled",
    "a step calls Python",
    "it is called with another number of values than it was made for",
};

Status status_of(int32_t raw) {
    switch (raw) {
    case 0: return done;
    case GUARD_MISSED: return guard_missed;
    case CALLS_PYTHON: return calls_python;
    case NO_MEMORY: return no_memory;
    default: return kernel_failed;
    }
}

Status run(const ForC &given, char *const *inputs, char *const *outputs) {
    Executable &code = given.executable->code;
    for (PyArrayObject *array : given.read_only)
        if (PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE) return made_writable;
    const Unasked unasked;
    Ready program(code, 0);
    if (!program.is_ready()) return no_memory;
    code.runs.fetch_add(1, std::memory_order_relaxed);
    for (size_t k = 0; k < code.captures.size(); k++) {
        PyArrayObject *array = code.captured[k];
        const Operand &operand = code.captures[k];
        if (PyArray_DESCR(array) != operand.descr || !same_shape(operand, array) || !same_strides(operand, array))
            return capture_changed;
        program.capture(k, PyArray_BYTES(array));
    }
    for (size_t k = 0; k < code.inputs.size(); k++) program.input(k, inputs[k]);
    for (size_t k = 0; k < code.outputs.size(); k++) {
        program.output(k, outputs[k]);
        if (code.outputs[k].is_zeroed) std::memset(outputs[k], 0, static_cast<size_t>(code.outputs[k].nbytes));
    }
    return status_of(program.run());
}

const ForC &given_by(void *data) { return *static_cast<const ForC *>(data); }

// ------------------------------------------------------------------------------------------- what C code is given

int32_t call(void *data, char *const *inputs, char *const *outputs) { return run(given_by(data), inputs, outputs); }

[[gnu::cold, gnu::noinline]] void raise(Status status) {
    const PyGILState_STATE state = PyGILState_Ensure();
    if (!PyErr_Occurred()) PyErr_Format(PyExc_RuntimeError, "a compiled function that SciPy calls: %s", WHY[status]);
    PyGILState_Release(state);
}

double result(void *data, char *const *inputs, bool is_count_right = true) {
    double y;
    char *outputs[] = {reinterpret_cast<char *>(&y)};
    const Status status = is_count_right ? run(given_by(data), inputs, outputs) : wrong_count;
    if (status == done) return y;
    raise(status);
    return std::nan("");
}

bool is_length(void *data, npy_intp n) { return given_by(data).executable->code.inputs[0].shape[0] == n; }

double of_number(double x, void *data) {
    char *inputs[] = {reinterpret_cast<char *>(&x)};
    return result(data, inputs);
}

double of_array(int n, double *xs, void *data) {
    char *inputs[] = {reinterpret_cast<char *>(xs)};
    return result(data, inputs, is_length(data, n));
}

constexpr int MOST = 64; // numbers: more than any integral has variables

double of_numbers(int n, double *xs, void *data) {
    char *inputs[MOST];
    const bool is_count_right = n <= MOST && static_cast<size_t>(n) == given_by(data).executable->code.inputs.size();
    for (int k = 0; k < n && is_count_right; k++) inputs[k] = reinterpret_cast<char *>(xs + k);
    return result(data, inputs, is_count_right);
}

int of_window(double *window, npy_intp n, double *y, void *data) {
    char *inputs[] = {reinterpret_cast<char *>(window)}, *outputs[] = {reinterpret_cast<char *>(y)};
    const Status status = is_length(data, n) ? run(given_by(data), inputs, outputs) : wrong_count;
    if (status == done) return 1;
    raise(status);
    return 0;
}

void free_for_c(PyObject *capsule) {
    auto *given = static_cast<ForC *>(PyCapsule_GetPointer(capsule, nullptr));
    for (PyArrayObject *array : given->read_only) Py_DECREF(array);
    Py_DECREF(given->executable);
    delete given;
}

} // namespace

PyObject *for_c(PyObject *executable, PyObject *read_only) {
    if (!PyObject_TypeCheck(executable, executable_type) || !PyList_Check(read_only)) {
        PyErr_SetString(PyExc_TypeError, "for_c takes an Executable and a list of arrays");
        return nullptr;
    }
    std::unique_ptr<ForC> made(new (std::nothrow) ForC{reinterpret_cast<ExecutableObject *>(executable), {}});
    if (made == nullptr) return PyErr_NoMemory();
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(read_only); k++) {
        PyObject *x = PyList_GET_ITEM(read_only, k);
        if (!PyArray_Check(x)) {
            PyErr_SetString(PyExc_TypeError, "what is read-only is an array");
            return nullptr;
        }
        made->read_only.push_back(reinterpret_cast<PyArrayObject *>(x));
    }
    PyObject *capsule = PyCapsule_New(made.get(), nullptr, free_for_c);
    if (capsule == nullptr) return nullptr;
    Py_INCREF(executable);
    for (PyArrayObject *array : made->read_only) Py_INCREF(array);
    return Py_BuildValue("NN", capsule, PyLong_FromVoidPtr(made.release()));
}

void *c_function(const char *name) {
    const std::string_view wanted = name;
    if (wanted == "call") return reinterpret_cast<void *>(&call);
    if (wanted == "of_number") return reinterpret_cast<void *>(&of_number);
    if (wanted == "of_numbers") return reinterpret_cast<void *>(&of_numbers);
    if (wanted == "of_array") return reinterpret_cast<void *>(&of_array);
    if (wanted == "of_window") return reinterpret_cast<void *>(&of_window);
    return nullptr;
}

} // namespace wengert
