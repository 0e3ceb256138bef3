// Places: where the values that a function captured are read, and compared with what they were when it was compiled,
// by identity. With the GIL held; looking at a place may run any Python code.
#include "places.h"

namespace wengert {

namespace {

#ifndef Py_BEGIN_CRITICAL_SECTION // Python 3.13 has them, and only its free-threaded build needs them
#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION() }
#endif

// Whether a list has exactly these items, a dict these keys, in order, and values: by identity.
bool has_items(PyObject *list, PyObject *seen) {
    const Py_ssize_t n = PyTuple_GET_SIZE(seen);
    if (!PyList_CheckExact(list) || PyList_GET_SIZE(list) != n) return false;
    for (Py_ssize_t k = 0; k < n; k++)
        if (PyList_GET_ITEM(list, k) != PyTuple_GET_ITEM(seen, k)) return false;
    return true;
}

bool has_entries(PyObject *dict, PyObject *keys, PyObject *values) {
    const Py_ssize_t n = PyTuple_GET_SIZE(keys);
    if (PyDict_GET_SIZE(dict) != n) return false;
    PyObject *key, *value;
    Py_ssize_t position = 0, k = 0;
    while (PyDict_Next(dict, &position, &key, &value)) {
        if (k == n || key != PyTuple_GET_ITEM(keys, k) || value != PyTuple_GET_ITEM(values, k)) return false;
        k++;
    }
    return k == n;
}

bool has_none_of(PyObject *dict, PyObject *keys) {
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(keys); k++)
        if (PyDict_Contains(dict, PyTuple_GET_ITEM(keys, k)) != 0) {
            PyErr_Clear();
            return false;
        }
    return true;
}

// CPython's number of a type's state: another one after any change of it or of its bases, 0 if it has none just now.
unsigned valid_version(PyObject *object) {
    auto *type = reinterpret_cast<PyTypeObject *>(object);
#if PY_VERSION_HEX < 0x030D0000 // as of 3.13 nothing sets the flag, and a number that is not valid is 0
    if (!PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG)) return 0;
#endif
    return type->tp_version_tag;
}

} // namespace

bool container_holds(const Place &place) {
    bool is_same = false;
    PyObject *dict;
    switch (place.kind) {
    case Place::list:
        Py_BEGIN_CRITICAL_SECTION(place.object);
        is_same = has_items(place.object, place.seen);
        Py_END_CRITICAL_SECTION();
        return is_same;
    case Place::dict:
        Py_BEGIN_CRITICAL_SECTION(place.object);
        is_same = has_entries(place.object, place.key, place.seen);
        Py_END_CRITICAL_SECTION();
        return is_same;
    case Place::attributes:
        if (Py_TYPE(place.object) != place.cls) return false;
        dict = PyObject_GenericGetDict(place.object, nullptr); // looked up anew: it may have been replaced
        if (dict == nullptr) {
            PyErr_Clear();
            return false;
        }
        Py_BEGIN_CRITICAL_SECTION(dict);
        is_same = has_entries(dict, place.key, place.seen);
        Py_END_CRITICAL_SECTION();
        Py_DECREF(dict);
        return is_same;
    case Place::code:
        return PyFunction_GetCode(place.object) == place.seen;
    case Place::absent:
        Py_BEGIN_CRITICAL_SECTION(place.object);
        is_same = has_none_of(place.object, place.seen);
        Py_END_CRITICAL_SECTION();
        return is_same;
    case Place::type:
        return valid_version(place.object) == place.version;
    default:
        return PyFunction_GetDefaults(place.object) == place.seen;
    }
}

void read_place(nb::handle x, Place &place) {
    static const std::pair<const char *, Place::Kind> kinds[] = {
        {"cell", Place::cell}, {"item", Place::item},             {"call", Place::call},        {"list", Place::list},
        {"dict", Place::dict}, {"attributes", Place::attributes}, {"defaults", Place::defaults},
        {"code", Place::code}, {"absent", Place::absent},         {"type", Place::type}};
    std::string kind;
    nb::object items = tagged(x, "a place", kind);
    bool is_known = false;
    for (const auto &[name, value] : kinds)
        if (kind == name) {
            place.kind = value;
            is_known = true;
        }
    if (!is_known) throw std::invalid_argument("there is no place of kind " + kind);
    const bool has_key = place.kind == Place::item || place.kind == Place::dict || place.kind == Place::attributes;
    expect_items(items, has_key ? 4 : 3, kind);
    place.object = Py_NewRef(item(items, 1).ptr());
    place.cls = Py_TYPE(place.object);
    if (has_key) place.key = Py_NewRef(item(items, 2).ptr());
    place.seen = Py_NewRef(item(items, has_key ? 3 : 2).ptr());
    if (place.kind == Place::type) {
        if (!PyType_Check(place.object)) throw std::invalid_argument("not a type");
        place.version = static_cast<unsigned>(PyLong_AsUnsignedLong(place.seen));
        if (PyErr_Occurred()) throw nb::python_error();
        if (place.version == 0) throw std::invalid_argument("a type without a version");
    }
    const bool is_list = place.kind == Place::list;
    const bool has_entries = place.kind == Place::dict || place.kind == Place::attributes;
    if (place.kind == Place::cell && !PyCell_Check(place.object)) throw std::invalid_argument("not a cell");
    const bool is_absent = place.kind == Place::absent;
    if ((place.kind == Place::item || place.kind == Place::dict || is_absent) && !PyDict_Check(place.object))
        throw std::invalid_argument("not a dict");
    if (place.kind == Place::call && !PyCallable_Check(place.object)) throw std::invalid_argument("not callable");
    if (is_list && !PyList_CheckExact(place.object)) throw std::invalid_argument("not a list");
    if ((place.kind == Place::defaults || place.kind == Place::code) && !PyFunction_Check(place.object))
        throw std::invalid_argument("not a function");
    if ((is_list || has_entries || is_absent) && !PyTuple_CheckExact(place.seen)) throw std::invalid_argument("not a tuple");
    if (has_entries && (!PyTuple_CheckExact(place.key) || PyTuple_GET_SIZE(place.key) != PyTuple_GET_SIZE(place.seen)))
        throw std::invalid_argument("as many keys as values");
}

unsigned type_version(PyTypeObject *type) {
#if PY_VERSION_HEX >= 0x030C0000
    PyUnstable_Type_AssignVersionTag(type);
#else // a lookup of an attribute through the type's cache gives it one
    PyObject *name = PyUnicode_FromString("__doc__");
    if (name != nullptr) {
        Py_XDECREF(PyObject_GetAttr(reinterpret_cast<PyObject *>(type), name));
        Py_DECREF(name);
    }
    PyErr_Clear();
#endif
    return valid_version(reinterpret_cast<PyObject *>(type));
}

} // namespace wengert
