// Places: where the values that a function captured are read, and compared with what they were when it was compiled,
// by identity. With the GIL held; looking at a place may run any Python code.
#include "places.h"

#include <algorithm>

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

// A number that is another one after any change of a dict that is watched; 0 if nobody can tell.
#ifdef Py_GIL_DISABLED // what is said of a change is said before it is done
uint64_t changes_of(PyObject *) { return 0; }
void watch(PyObject *) {}
#elif PY_VERSION_HEX < 0x030C0000
uint64_t changes_of(PyObject *dict) { return reinterpret_cast<PyDictObject *>(dict)->ma_version_tag; }
void watch(PyObject *) {}
#else
uint64_t n_changes = 0; // of all of them: traces, which change NumPy's, are rare
int watcher = -1;

int note_change(PyDict_WatchEvent, PyObject *, PyObject *, PyObject *) {
    n_changes++;
    return 0;
}

uint64_t changes_of(PyObject *) { return n_changes; }

void watch(PyObject *dict) {
    if (watcher < 0) watcher = PyDict_AddWatcher(note_change);
    if (watcher < 0 || PyDict_Watch(watcher, dict) < 0) throw nb::python_error();
    if (n_changes == 0) n_changes = 1;
}
#endif

// Whether a dict has, under each of these keys, one of two objects.
bool has_names(const Place &place) {
    const uint64_t now = changes_of(place.object);
    if (now != 0 && now == place.version) return true;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(place.key); k++) {
        PyObject *found = PyDict_GetItemWithError(place.object, PyTuple_GET_ITEM(place.key, k));
        if (found == nullptr) {
            PyErr_Clear();
            return false;
        }
        if (found != PyTuple_GET_ITEM(place.seen, 2 * k) && found != PyTuple_GET_ITEM(place.seen, 2 * k + 1)) return false;
    }
    place.version = now;
    return true;
}

// Whether a function has this code, and these texts, which it is asked for by name.
bool has_code(PyObject *object, PyObject *seen) {
    auto *function = reinterpret_cast<PyFunctionObject *>(object);
    PyObject *now[] = {function->func_code, function->func_doc, function->func_name, function->func_qualname,
                       function->func_module};
    for (Py_ssize_t k = 0; k < 5; k++)
        if ((now[k] == nullptr ? Py_None : now[k]) != PyTuple_GET_ITEM(seen, k)) return false;
    return true;
}

// Whether a class that can be renamed, which is no change of its version, has its two names.
bool has_name(const Place &place) {
    if (place.key == nullptr) return true;
    auto *type = reinterpret_cast<PyHeapTypeObject *>(place.object);
    return type->ht_name == place.key && type->ht_qualname == place.seen;
}

bool has_form(const Place &place) {
    auto *x = reinterpret_cast<PyArrayObject *>(place.object);
    const auto n = static_cast<size_t>(PyArray_NDIM(x));
    return 2 * n == place.strides.size() && std::equal(PyArray_DIMS(x), PyArray_DIMS(x) + n, place.strides.begin()) &&
           std::equal(PyArray_STRIDES(x), PyArray_STRIDES(x) + n, place.strides.begin() + static_cast<long>(n)) &&
           reinterpret_cast<PyObject *>(PyArray_DESCR(x)) == place.key;
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
        return has_code(place.object, place.seen);
    case Place::names:
        Py_BEGIN_CRITICAL_SECTION(place.object);
        is_same = has_names(place);
        Py_END_CRITICAL_SECTION();
        return is_same;
    case Place::form:
        return has_form(place);
    case Place::absent:
        Py_BEGIN_CRITICAL_SECTION(place.object);
        is_same = has_none_of(place.object, place.seen);
        Py_END_CRITICAL_SECTION();
        return is_same;
    case Place::type:
        return valid_version(place.object) == place.version && has_name(place);
    default:
        return PyFunction_GetDefaults(place.object) == place.seen;
    }
}

void read_place(nb::handle x, Place &place) {
    static const std::pair<const char *, Place::Kind> kinds[] = {
        {"cell", Place::cell}, {"item", Place::item},             {"call", Place::call},        {"list", Place::list},
        {"dict", Place::dict}, {"attributes", Place::attributes}, {"defaults", Place::defaults},
        {"code", Place::code}, {"absent", Place::absent},         {"type", Place::type},
        {"names", Place::names}, {"form", Place::form}};
    std::string kind;
    nb::object items = tagged(x, "a place", kind);
    bool is_known = false;
    for (const auto &[name, value] : kinds)
        if (kind == name) {
            place.kind = value;
            is_known = true;
        }
    if (!is_known) throw std::invalid_argument("there is no place of kind " + kind);
    const bool has_key = place.kind == Place::item || place.kind == Place::dict ||
                         place.kind == Place::attributes || place.kind == Place::names || place.kind == Place::form;
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
        auto *type = reinterpret_cast<PyHeapTypeObject *>(place.object);
        if (type->ht_type.tp_flags & Py_TPFLAGS_HEAPTYPE) {
            place.key = Py_XNewRef(type->ht_name);
            Py_SETREF(place.seen, Py_XNewRef(type->ht_qualname));
        }
    }
    if (place.kind == Place::names) {
        const bool are_pairs = PyTuple_CheckExact(place.key) && PyTuple_CheckExact(place.seen) &&
                               PyTuple_GET_SIZE(place.seen) == 2 * PyTuple_GET_SIZE(place.key);
        if (!PyDict_Check(place.object) || !are_pairs) throw std::invalid_argument("two objects for each name of a dict");
        watch(place.object);
    }
    if (place.kind == Place::form) {
        if (!PyArray_Check(place.object)) throw std::invalid_argument("not an array");
        place.strides = integers(place.seen, "a shape and strides");
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
    if (place.kind == Place::code && (!PyTuple_CheckExact(place.seen) || PyTuple_GET_SIZE(place.seen) != 5))
        throw std::invalid_argument("not a function's code and its four texts");
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
