// The Python type Bound: an executable whose every pointer is final, so that a call is the kernels and little else.
//
// It owns a frame and a reference to every array. A call that finds the frame in use, by another thread or by its own
// callback, runs in a frame borrowed from the executable. Both write the same outputs, which is the callers' affair.
#include "layout.h"

#include <structmember.h>

#include <cstring>
#include <new>

namespace wengert {

PyTypeObject *bound_type = nullptr;

namespace {

struct BoundObject {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    ExecutableObject *executable; // these five are strong references
    PyObject *inputs, *captures, *outputs;
    PyObject *result; // what each call returns
    Frame *frame;     // owned
    std::atomic<bool> is_running;
};

BoundObject *bound_of(PyObject *self) { return reinterpret_cast<BoundObject *>(self); }

Outcome run_elsewhere(BoundObject *bound, PyObject *&seen, Miss &miss) {
    Executable &code = bound->executable->code;
    Frame *frame = take_frame(code);
    if (frame == nullptr) return Outcome::failed;
    for (size_t base = 1; base < code.n_bases(); base++) {
        set_base(code, *frame, base, bound->frame->bases[base]);
        frame->owners[base] = bound->frame->owners[base];
    }
    const Outcome outcome = execute(code, *frame, miss);
    if (outcome == Outcome::guard_missed) { // what the guard saw goes with the frame
        seen = miss_bytes(miss);
        miss.seen = seen == nullptr ? nullptr : PyBytes_AS_STRING(seen);
    }
    return_frame(code, frame);
    return outcome;
}

PyObject *bound_call(PyObject *self, PyObject *const *, size_t n_args, PyObject *names) {
    BoundObject *bound = bound_of(self);
    if (PyVectorcall_NARGS(n_args) != 0 || (names != nullptr && PyTuple_GET_SIZE(names) != 0)) {
        PyErr_SetString(PyExc_TypeError, "a bound program takes no arguments: it reads the arrays it was bound to");
        return nullptr;
    }
    Miss miss;
    PyObject *seen = nullptr;
    Outcome outcome;
    if (!bound->is_running.exchange(true, std::memory_order_acquire)) [[likely]] {
        outcome = execute(bound->executable->code, *bound->frame, miss);
        if (outcome == Outcome::guard_missed) raise_miss(miss);
        bound->is_running.store(false, std::memory_order_release);
    } else {
        outcome = run_elsewhere(bound, seen, miss);
        if (outcome == Outcome::guard_missed && seen != nullptr) raise_miss(miss);
        Py_XDECREF(seen);
    }
    return outcome == Outcome::done ? Py_NewRef(bound->result) : nullptr;
}

// Like read_operand, but copies nothing behind the caller's back: an edit of the array is seen by the next call.
char *bind_operand(const Operand &operand, InlineValue *value, PyObject *x, const char *what, size_t k) {
    if (!PyArray_Check(x)) {
        if (operand.is_inline && value != nullptr)
            return read_value(operand, value->bytes, x, what, k) ? value->bytes : nullptr;
        refuse_operand(operand, x, what, k);
        return nullptr;
    }
    auto *array = reinterpret_cast<PyArrayObject *>(x);
    if (!same_type(operand, array) || !same_shape(operand, array)) {
        refuse_operand(operand, x, what, k);
        return nullptr;
    }
    const bool fits = PyArray_FLAGS(array) & NPY_ARRAY_ALIGNED &&
                      (operand.is_contiguous ? bool(PyArray_FLAGS(array) & NPY_ARRAY_C_CONTIGUOUS)
                                             : same_strides(operand, array));
    if (fits || PyArray_SIZE(array) == 0) return PyArray_BYTES(array);
    refuse_operand(operand, x, what, k, "it cannot be read where it lies; bind a contiguous copy");
    return nullptr;
}

bool fill_frame(BoundObject *bound) {
    Executable &code = bound->executable->code;
    Frame &frame = *bound->frame;
    for (size_t k = 0; k < code.inputs.size(); k++) {
        PyObject *x = PyTuple_GET_ITEM(bound->inputs, k);
        char *address = bind_operand(code.inputs[k], &frame.values[k], x, "input", k);
        if (address == nullptr) return false;
        set_base(code, frame, code.first_input() + k, address);
        frame.owners[code.first_input() + k] = address == frame.values[k].bytes ? nullptr : x;
    }
    for (size_t k = 0; k < code.captures.size(); k++) {
        PyObject *x = PyTuple_GET_ITEM(bound->captures, k);
        char *address = bind_operand(code.captures[k], nullptr, x, "captured array", k);
        if (address == nullptr) return false;
        set_base(code, frame, code.first_capture() + k, address);
        frame.owners[code.first_capture() + k] = x;
    }
    for (size_t k = 0; k < code.outputs.size(); k++) {
        PyObject *x = PyTuple_GET_ITEM(bound->outputs, k);
        if (const char *why = unfit_for_output(code.outputs[k], x)) {
            refuse_operand(code.outputs[k], x, "out", k, why);
            return false;
        }
        set_base(code, frame, code.first_output() + k, PyArray_BYTES(reinterpret_cast<PyArrayObject *>(x)));
    }
    return outputs_stand_apart(code, frame);
}

PyObject *as_tuple(PyObject *x, size_t n, const char *what) {
    PyObject *items;
    if (!sequence(x, n, what, items)) return nullptr;
    PyObject *tuple = PySequence_Tuple(items); // of its own: a list could change
    Py_DECREF(items);
    return tuple;
}

PyObject *own_captures(const Executable &code) {
    PyObject *tuple = PyTuple_New(static_cast<Py_ssize_t>(code.captured.size()));
    for (size_t k = 0; tuple != nullptr && k < code.captured.size(); k++)
        PyTuple_SET_ITEM(tuple, k, Py_NewRef(reinterpret_cast<PyObject *>(code.captured[k])));
    return tuple;
}

PyObject *fresh_outputs(const Executable &code) {
    PyObject *tuple = PyTuple_New(static_cast<Py_ssize_t>(code.outputs.size()));
    for (size_t k = 0; tuple != nullptr && k < code.outputs.size(); k++) {
        PyObject *x = new_array(code.outputs[k]);
        if (x == nullptr) {
            Py_CLEAR(tuple);
            break;
        }
        PyTuple_SET_ITEM(tuple, k, x);
    }
    return tuple;
}

int bound_traverse(PyObject *self, visitproc visit, void *arg) {
    BoundObject *bound = bound_of(self);
    Py_VISIT(bound->executable);
    Py_VISIT(bound->inputs);
    Py_VISIT(bound->captures);
    Py_VISIT(bound->outputs);
    Py_VISIT(bound->result);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

int bound_clear(PyObject *self) { // the arrays stay, so that a call from a finalizer is still sound
    Py_SETREF(bound_of(self)->result, Py_NewRef(Py_None));
    return 0;
}

void bound_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    BoundObject *bound = bound_of(self);
    free_frame(bound->frame);
    Py_XDECREF(bound->inputs);
    Py_XDECREF(bound->captures);
    Py_XDECREF(bound->outputs);
    Py_XDECREF(bound->result);
    Py_XDECREF(bound->executable);
    type->tp_free(self);
    Py_DECREF(type);
}

PyObject *get_outputs(PyObject *self, void *) { return Py_NewRef(bound_of(self)->outputs); }
PyObject *get_executable(PyObject *self, void *) {
    return Py_NewRef(reinterpret_cast<PyObject *>(bound_of(self)->executable));
}

PyGetSetDef bound_getset[] = {{"outputs", get_outputs, nullptr, "the arrays that each call writes", nullptr},
                              {"executable", get_executable, nullptr, "whose steps a call runs", nullptr},
                              {}};

PyMemberDef bound_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(BoundObject, vectorcall), READONLY, nullptr}, {}};

PyType_Slot bound_slots[] = {{Py_tp_dealloc, reinterpret_cast<void *>(bound_dealloc)},
                             {Py_tp_traverse, reinterpret_cast<void *>(bound_traverse)},
                             {Py_tp_clear, reinterpret_cast<void *>(bound_clear)},
                             {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
                             {Py_tp_getset, bound_getset},
                             {Py_tp_members, bound_members},
                             {Py_tp_doc, const_cast<char *>("A program bound to its arrays; a call runs it.")},
                             {}};

PyType_Spec bound_spec = {"wengert.runtime._native.Bound", sizeof(BoundObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
                              Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_VECTORCALL,
                          bound_slots};

} // namespace

PyObject *bind(PyObject *self, PyObject *args, PyObject *kwargs) {
    static const char *names[] = {"inputs", "captures", "out", "result", nullptr};
    PyObject *inputs, *captures = Py_None, *out = Py_None, *result = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OOO", const_cast<char **>(names), &inputs, &captures, &out,
                                     &result))
        return nullptr;
    if (inputs == Py_None) {
        PyErr_SetString(PyExc_TypeError, "inputs is a sequence");
        return nullptr;
    }
    auto *executable = reinterpret_cast<ExecutableObject *>(self);
    Executable &code = executable->code;
    BoundObject *bound = bound_of(bound_type->tp_alloc(bound_type, 0));
    if (bound == nullptr) return nullptr;
    bound->vectorcall = bound_call;
    new (&bound->is_running) std::atomic<bool>(false);
    bound->executable = executable;
    Py_INCREF(self);
    bound->result = Py_NewRef(result);
    const bool is_made =
        (bound->inputs = as_tuple(inputs, code.inputs.size(), "inputs")) != nullptr &&
        (bound->captures = captures == Py_None ? own_captures(code)
                                               : as_tuple(captures, code.captures.size(), "captures")) != nullptr &&
        (bound->outputs = out == Py_None ? fresh_outputs(code) : as_tuple(out, code.outputs.size(), "outputs")) !=
            nullptr &&
        (bound->frame = new_frame(code)) != nullptr && fill_frame(bound);
    if (!is_made) Py_CLEAR(bound);
    return reinterpret_cast<PyObject *>(bound);
}

bool make_bound_type(PyObject *module) {
    bound_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&bound_spec));
    return bound_type != nullptr &&
           PyModule_AddObjectRef(module, "Bound", reinterpret_cast<PyObject *>(bound_type)) == 0;
}

} // namespace wengert
