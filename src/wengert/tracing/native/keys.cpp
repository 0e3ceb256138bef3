// What an operation is given becomes the words of its key.
#include "steps.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NO_IMPORT_ARRAY
#include <numpy/arrayobject.h>

#include <algorithm>
#include <utility>

namespace wengert {

namespace {

enum Tag : uint64_t { FLOAT = 1, INTEGER, COMPLEX, OBJECT, TUPLE, LIST, SLICE, TRACED, LATE, OTHER_TUPLE, ORDER };

constexpr int DEEPEST = 5;
constexpr Py_ssize_t LONGEST = 24;

bool is_plain_array(PyObject *x) {
    auto *array = reinterpret_cast<PyArrayObject *>(x);
    return PyArray_CHKFLAGS(array, NPY_ARRAY_C_CONTIGUOUS) && PyTypeNum_ISNUMBER(PyArray_TYPE(array));
}

bool number(Key &key, PyObject *x, bool &is_number) {
    is_number = true;
    if (PyFloat_CheckExact(x)) {
        const double value = PyFloat_AS_DOUBLE(x);
        uint64_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        return key.word(FLOAT) && key.word(bits);
    }
    if (PyLong_CheckExact(x)) {
        int overflow;
        const long long value = PyLong_AsLongLongAndOverflow(x, &overflow);
        if (overflow != 0) return key.is_known = false;
        return key.word(INTEGER) && key.word(static_cast<uint64_t>(value));
    }
    if (PyComplex_CheckExact(x)) {
        const Py_complex value = PyComplex_AsCComplex(x);
        uint64_t bits[2];
        std::memcpy(bits, &value, sizeof bits);
        return key.word(COMPLEX) && key.word(bits[0]) && key.word(bits[1]);
    }
    return is_number = false;
}

} // namespace

bool Key::value(Value *x) {
    auto *of = reinterpret_cast<TraceState *>(x->trace);
    const bool is_outer = of->is_open && !of->is_direct; // of an enclosing trace, for which the innermost one records
    if (trace == nullptr && x->constant == Py_None && !is_outer) {
        if (!of->is_open || !of->is_direct) return is_known = false;
        const Steps *steps = steps_of(of);
        if (steps == nullptr || !steps->is_usable(x->trace)) return is_known = false;
        trace = of;
    }
    if (n_values == MOST_VALUES) return is_known = false;
    values[n_values++] = x;
    Value *root = x->root();
    if (PyObject_IsTrue(x->why_readonly) || PyTuple_GET_SIZE(root->lent) > 0) return is_known = false;
    const bool is_view = x->base != Py_None;
    const uint64_t facts = TRACED | x->is_scalar << 8 | is_view << 9 | x->is_reordered << 10;
    if (root->constant != Py_None) { // an array made inside: captured, as the user's
        if (is_view || x->is_reordered || !takes_arrays || x->weak != Py_None || n_late == MOST_VALUES) return is_known = false;
        late[n_late++] = {reinterpret_cast<PyObject *>(x), n_words + 1};
        return word(LATE | facts << 8) && word(0);
    }
    if (trace != of && !is_outer) return is_known = false;
    if (is_view || is_outer) {
        for (Value *at = x; at->base != Py_None; at = reinterpret_cast<Value *>(at->base))
            if (!is_plain(at->lens)) return is_known = false;
        if (n_late == MOST_VALUES) return is_known = false;
        late[n_late++] = {reinterpret_cast<PyObject *>(x), n_words + 1};
        if (!word(facts) || !word(0)) return false;
    } else {
        if (n_atoms == MOST_VALUES) return is_known = false;
        atoms[n_atoms++] = x->atom;
        if (!word(facts) || !object(x->atom)) return false;
    }
    if (!object(x->weak)) return false;
    if (is_view || x->is_reordered) { // how it lies in memory, which decides how results do
        if (x->layout == Py_None) {
            const Owned laid_out = Owned::stolen(PyObject_CallOneArg(known.layout, reinterpret_cast<PyObject *>(x)));
            if (laid_out == nullptr) return is_known = false;
        }
        if (Py_TYPE(x->layout) != known.ndarray) return object(x->layout); // of an order that is not known
        auto *array = reinterpret_cast<PyArrayObject *>(x->layout);
        const int n = PyArray_NDIM(array);
        if (!word(ORDER | static_cast<uint64_t>(n) << 8) || !object(x->aval)) return false;
        for (int k = 0; k < n; k++)
            if (!word(static_cast<uint64_t>(PyArray_STRIDE(array, k)))) return false;
    }
    return true;
}

bool Key::argument(PyObject *x, int depth) {
    PyTypeObject *type = Py_TYPE(x);
    if (type == known.tracer) return value(reinterpret_cast<Value *>(x));
    bool is_number;
    if (number(*this, x, is_number) || is_number) return is_known;
    if (x == Py_None || x == Py_True || x == Py_False || x == Py_Ellipsis || type == &PyUnicode_Type || PyType_Check(x) ||
        PyObject_TypeCheck(x, known.dtype))
        return word(OBJECT) && object(x);
    if (type == &PyTuple_Type || type == &PyList_Type) {
        const Py_ssize_t n = PySequence_Fast_GET_SIZE(x);
        if (depth == DEEPEST || n > LONGEST) return is_known = false;
        if (!word((type == &PyTuple_Type ? TUPLE : LIST) | static_cast<uint64_t>(n) << 8)) return false;
        for (Py_ssize_t k = 0; k < n; k++)
            if (!argument(PySequence_Fast_GET_ITEM(x, k), depth + 1)) return false;
        return true;
    }
    if (type == &PySlice_Type) {
        auto *slice = reinterpret_cast<PySliceObject *>(x);
        return word(SLICE) && argument(slice->start, DEEPEST) && argument(slice->stop, DEEPEST) && argument(slice->step, DEEPEST);
    }
    const bool is_array = type == known.ndarray;
    if (takes_arrays && (is_array ? is_plain_array(x) : PyObject_TypeCheck(x, known.generic) != 0) && n_late < MOST_VALUES) {
        late[n_late++] = {x, n_words + 1};
        return word(LATE | static_cast<uint64_t>(is_array) << 8) && word(0);
    }
    return is_known = false;
}

// A parameter of an instruction: hashable, and never changed.
bool Key::parameter(PyObject *x) {
    bool is_number;
    if (number(*this, x, is_number)) return true;
    if (is_number) return is_known = true, word(OBJECT) && object(x);
    if (PyTuple_Check(x)) {
        const Py_ssize_t n = PyTuple_GET_SIZE(x);
        if (!word(OTHER_TUPLE | static_cast<uint64_t>(n) << 8) || !object(reinterpret_cast<PyObject *>(Py_TYPE(x)))) return false;
        for (Py_ssize_t k = 0; k < n; k++)
            if (!parameter(PyTuple_GET_ITEM(x, k))) return false;
        return true;
    }
    if (equals != nullptr && !PyObject_TypeCheck(x, known.generic)) { // of which 0.0 and -0.0 are equal
        PyObject *first = PyDict_SetDefault(equals, x, x);
        if (first != nullptr) x = first;
        else PyErr_Clear(); // it has no hash
    }
    return word(OBJECT) && object(x);
}

// may_overlap(arrays) -> whether one array is there twice, or the memory between the ends of one meets that of another
PyObject *may_overlap(PyObject *, PyObject *given) {
    static PyObject *const itemsize = PyUnicode_InternFromString("itemsize");
    std::vector<std::pair<const char *, const char *>> bounds;
    for (Py_ssize_t k = 0; PyList_Check(given) && k < PyList_GET_SIZE(given); k++) {
        PyObject *x = PyList_GET_ITEM(given, k);
        if (Py_TYPE(x) != known.ndarray) continue;
        auto *array = reinterpret_cast<PyArrayObject *>(x);
        const char *first = PyArray_BYTES(array), *last = first;
        bool is_empty = false;
        for (int axis = 0; axis < PyArray_NDIM(array); axis++) {
            const npy_intp n = PyArray_DIM(array, axis), step = PyArray_STRIDE(array, axis);
            if (n == 0) is_empty = true;
            else (step < 0 ? first : last) += (n - 1) * step;
        }
        if (is_empty) continue;
        const Owned size = Owned::stolen(PyObject_GetAttr(x, itemsize));
        if (size == nullptr) return nullptr;
        bounds.emplace_back(first, last + PyLong_AsSsize_t(size));
    }
    std::sort(bounds.begin(), bounds.end());
    for (size_t k = 1; k < bounds.size(); k++)
        if (bounds[k].first < bounds[k - 1].second) Py_RETURN_TRUE;
    Py_RETURN_FALSE;
}

// Arrays are captured, and views are read, once all is known to belong to one trace.
bool Key::finish() {
    for (int k = 0; k < n_late; k++) {
        PyObject *x = late[k].object;
        PyObject *atom;
        auto *value = Py_TYPE(x) == known.tracer ? reinterpret_cast<Value *>(x) : nullptr;
        if (value != nullptr && value->base != Py_None && value->trace == reinterpret_cast<PyObject *>(trace)) {
            atom = atom_of_view(value);
        } else {
            lifted.push_back(Owned::stolen(PyObject_CallFunctionObjArgs(known.lift, reinterpret_cast<PyObject *>(trace), x, nullptr)));
            atom = lifted.back().get();
        }
        if (atom == nullptr) return false;
        if (n_objects == MOST_OBJECTS || n_atoms == MOST_VALUES) return is_known = false;
        objects[n_objects++] = atom;
        atoms[n_atoms++] = atom;
        words[late[k].word] = reinterpret_cast<uint64_t>(atom);
    }
    return true;
}

} // namespace wengert
