// Reading the lists and tuples that describe code: cold, and so written with nanobind's wrappers and C++ exceptions,
// which end at `guarded`. With the GIL held.
#pragma once

#include "layout.h"

#include <nanobind/nanobind.h>

#include <stdexcept>
#include <string>

namespace wengert {

namespace nb = nanobind;

// What f returns; or false or nullptr, with a Python error set, if it throws.
template <class F> auto guarded(F f) -> decltype(f()) {
    try {
        return f();
    } catch (nb::python_error &error) {
        error.restore();
    } catch (const std::bad_alloc &) {
        PyErr_NoMemory();
    } catch (const nb::cast_error &) {
        PyErr_SetString(PyExc_TypeError, "a number was expected");
    } catch (const std::exception &error) {
        PyErr_SetString(PyExc_ValueError, error.what());
    }
    return {};
}

inline nb::object items_of(nb::handle x, const char *what, Py_ssize_t n = -1) {
    nb::object items = nb::steal(PySequence_Fast(x.ptr(), what));
    if (!items.is_valid()) throw nb::python_error();
    if (n >= 0 && PySequence_Fast_GET_SIZE(items.ptr()) != n)
        throw std::invalid_argument(std::string(what) + ": expected " + std::to_string(n) + " items");
    return items;
}

inline nb::handle item(const nb::object &items, size_t k) { return PySequence_Fast_GET_ITEM(items.ptr(), k); }
inline size_t length(const nb::object &items) { return static_cast<size_t>(PySequence_Fast_GET_SIZE(items.ptr())); }

inline int64_t integer(nb::handle x) {
    const int64_t value = PyLong_AsLongLong(x.ptr());
    if (value == -1 && PyErr_Occurred()) throw nb::python_error();
    return value;
}

inline std::string text(nb::handle x) {
    const char *words = PyUnicode_AsUTF8(x.ptr());
    if (words == nullptr) throw nb::python_error();
    return words;
}

inline std::vector<npy_intp> integers(nb::handle x, const char *what) {
    nb::object items = items_of(x, what);
    std::vector<npy_intp> values(length(items));
    for (size_t k = 0; k < values.size(); k++) values[k] = integer(item(items, k));
    return values;
}

// (kind, ...) as its items and its kind in words.
inline nb::object tagged(nb::handle x, const char *what, std::string &kind) {
    nb::object items = items_of(x, what);
    if (length(items) == 0) throw std::invalid_argument(std::string(what) + ": it is empty");
    kind = text(item(items, 0));
    return items;
}

inline void expect_items(const nb::object &items, size_t n, const std::string &kind) {
    if (length(items) != n) throw std::invalid_argument(kind + ": expected " + std::to_string(n) + " items");
}

// A strong reference.
inline PyArray_Descr *dtype(nb::handle x) {
    PyArray_Descr *descr = nullptr;
    if (PyArray_DescrConverter(x.ptr(), &descr) == 0) throw nb::python_error();
    if (PyDataType_REFCHK(descr) || PyDataType_ELSIZE(descr) <= 0) {
        Py_DECREF(descr);
        throw std::invalid_argument("a program's arrays hold numbers of a fixed size");
    }
    return descr;
}

inline std::vector<npy_intp> shape_of(nb::handle x) {
    std::vector<npy_intp> shape = integers(x, "a shape");
    if (shape.size() > NPY_MAXDIMS) throw std::invalid_argument("an array has too many axes");
    for (npy_intp n : shape)
        if (n < 0) throw std::invalid_argument("a shape has a negative length");
    return shape;
}

inline Operand operand(nb::handle descr, nb::handle shape, nb::handle strides = nb::handle()) {
    std::vector<npy_intp> lengths = shape_of(shape);
    if (!strides.is_valid() || strides.is_none()) return make_operand(dtype(descr), std::move(lengths));
    std::vector<npy_intp> steps = integers(strides, "strides");
    if (steps.size() != lengths.size()) throw std::invalid_argument("shape and strides have different lengths");
    return make_operand(dtype(descr), std::move(lengths), std::move(steps));
}

} // namespace wengert
