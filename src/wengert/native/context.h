// A context of Python's that no signal can come into: it is entered by being made, and left by its __exit__ or, where
// an exception ends the block before that is called, by being freed.
//
// A handler of a signal (Ctrl-C) runs between two bytecodes, so an __enter__ in Python, and what stands between it and
// the block, can be interrupted at any place, and then __exit__ is not called. Here entering and leaving run no
// bytecode. In between the interpreter's stack has the one reference to the object, and drops it wherever an exception
// comes from. So such an object is given to `with` at once, and never to a variable, which a traceback would keep.
//
// `Held` is what a kind of context holds: enter() changes something, and says whether it could; leave() changes it back,
// and must not fail; entered() is what `as` gives, borrowed. Both run with the GIL, and no bytecode. Those that are entered
// are in a list, so a child process leaves those of threads it has not.
#pragma once
#include "gil.h"

#include <new>
#include <utility>

namespace wengert {

// The exception that is on its way, put aside until the end of the block: what is called meanwhile must not find one.
// C code that goes on with an exception pending is met too: the interpreter calls us from whatever it runs. Of two
// exceptions, that and one of the block, the first is raised.
class ErrorAside {
    PyObject *kind, *value, *traceback;

  public:
    ErrorAside() { PyErr_Fetch(&kind, &value, &traceback); }
    ErrorAside(const ErrorAside &) = delete;
    ErrorAside &operator=(const ErrorAside &) = delete;
    ~ErrorAside() {
        if (kind != nullptr) PyErr_Restore(kind, value, traceback);
    }
};

template <typename Held> struct Context {
    PyObject_HEAD
    Held held;
    unsigned long thread;
    Context *before, *after; // of the list
    bool is_entered;

    static inline PyTypeObject *type = nullptr;
    static inline Context *last = nullptr; // the one that was entered last, of those that are now

    template <typename... Parts> static PyObject *make(Parts... parts) {
        auto *self = reinterpret_cast<Context *>(type->tp_alloc(type, 0));
        if (self == nullptr) return nullptr;
        new (&self->held) Held{parts...};
        self->thread = PyThread_get_thread_ident();
        self->before = last; // before enter(), which may ask whether it is the first one
        const bool is_done = self->held.enter(last == nullptr);
        if (is_done) {
            if (last != nullptr) last->after = self;
            last = self;
            self->is_entered = true;
        }
        if (!is_done) Py_CLEAR(self);
        return reinterpret_cast<PyObject *>(self);
    }

    void leave() {
        if (!is_entered) return;
        is_entered = false;
        (after == nullptr ? last : after->before) = before;
        if (before != nullptr) before->after = after;
        held.leave(last == nullptr);
    }

    // In a child process: the other threads are not there, and will never leave.
    static void leave_those_of_other_threads() {
        for (Context *one = last; one != nullptr;) {
            Context *next = one->before;
            if (one->thread != PyThread_get_thread_ident()) one->leave();
            one = next;
        }
    }

    static PyObject *entered(PyObject *self, PyObject *) {
        return Py_NewRef(reinterpret_cast<Context *>(self)->held.entered());
    }

    static PyObject *exited(PyObject *self, PyObject *error) {
        auto *context = reinterpret_cast<Context *>(self);
        context->leave();
        return context->held.exited(PyTuple_GET_SIZE(error) > 0 && PyTuple_GET_ITEM(error, 0) != Py_None);
    }

    static void freed(PyObject *self) {
        const ErrorAside aside; // the exception that has ended the block
        auto *context = reinterpret_cast<Context *>(self);
        context->leave();
        context->held.~Held();
        PyTypeObject *own = Py_TYPE(self);
        own->tp_free(self);
        Py_DECREF(own);
    }

    static bool make_type(const char *name) {
        static PyMethodDef methods[] = {{"__enter__", entered, METH_NOARGS, nullptr},
                                        {"__exit__", exited, METH_VARARGS, nullptr},
                                        {nullptr, nullptr, 0, nullptr}};
        static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void *>(freed)}, {Py_tp_methods, methods}, {0, nullptr}};
        static PyType_Spec spec = {name, sizeof(Context), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
        type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
        return type != nullptr;
    }
};

// An owned reference, or none.
class Owned {
    PyObject *object;

  public:
    Owned(PyObject *borrowed = nullptr) : object(Py_XNewRef(borrowed)) {}
    Owned(Owned &&other) : object(std::exchange(other.object, nullptr)) {}
    Owned(const Owned &other) : object(Py_XNewRef(other.object)) {}
    Owned &operator=(Owned other) { return std::swap(object, other.object), *this; }
    ~Owned() { Py_XDECREF(object); }
    static Owned stolen(PyObject *reference) {
        Owned made;
        made.object = reference;
        return made;
    }
    operator PyObject *() const { return object; }
    PyObject *get() const { return object; } // for Python's macros
};

// What must not fail has failed: said, as Python says it of __del__.
inline void said(bool is_done) {
    if (!is_done) PyErr_WriteUnraisable(nullptr);
}

} // namespace wengert
