// What a function captured, and whether it is still the same; see places.cpp.
#pragma once

#include "reading.h"

namespace wengert {

struct Place {
    enum Kind : uint8_t { cell, item, call, list, dict, attributes, defaults, code, absent, type, names, form };
    Kind kind = cell;
    PyObject *object = nullptr, *key = nullptr, *seen = nullptr; // strong references; not all kinds have a key
    PyTypeObject *cls = nullptr;                                 // of what has attributes; borrowed, only compared
    mutable uint64_t version = 0;  // of a type; of a dict with names, that at which they were last found to be the same
    std::vector<npy_intp> strides; // of an array's form: its shape, and then its strides
};

bool container_holds(const Place &place); // `holds`, of the kinds after `call`

// Whether what the function captured is what it was. A failed look is a difference; only an interrupt stays an error.
// Here to be inlined: every call looks at every place.
inline bool holds(const Place &place) {
    if (place.kind > Place::call) return container_holds(place);
    PyObject *now = nullptr;
    switch (place.kind) {
    default:
    case Place::cell:
        now = cell_content(place.object);
        break;
    case Place::item:
        now = dict_item(place.object, place.key);
        break;
    case Place::call:
        now = PyObject_CallNoArgs(place.object);
        break;
    }
    if (now == nullptr) {
        if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception)) PyErr_Clear();
        return false;
    }
    const bool is_same = now == place.seen;
    Py_DECREF(now);
    return is_same;
}

void read_place(nb::handle x, Place &place); // throws what `guarded` catches
unsigned type_version(PyTypeObject *type);   // gives the type a version if it has none; 0: it cannot have one

} // namespace wengert
