// The arrays and numbers at a program's border: whether they are as the program expects, and where their bytes are.
//
// Called with the GIL held. Everything that reaches a kernel's pointers has been checked here, once.
#include "layout.h"
#include "results.h"

#include <cstring>

namespace wengert {

Operand make_operand(PyArray_Descr *descr, std::vector<npy_intp> shape, std::vector<npy_intp> strides) {
    Operand operand;
    operand.descr = descr;
    operand.shape = std::move(shape);
    operand.strides = std::move(strides);
    operand.is_contiguous = false;
    const npy_intp itemsize = PyDataType_ELSIZE(descr);
    npy_intp size = 1;
    for (npy_intp n : operand.shape) size *= n;
    operand.nbytes = size * itemsize;
    if (size > 0) {
        operand.high = itemsize;
        for (size_t i = 0; i < operand.shape.size(); i++) {
            const npy_intp reach = (operand.shape[i] - 1) * operand.strides[i];
            (reach < 0 ? operand.low : operand.high) += reach;
        }
    }
    return operand;
}

Operand make_operand(PyArray_Descr *descr, std::vector<npy_intp> shape) {
    std::vector<npy_intp> strides(shape.size());
    npy_intp stride = PyDataType_ELSIZE(descr);
    for (size_t i = shape.size(); i-- > 0;) {
        strides[i] = stride;
        stride *= shape[i];
    }
    Operand operand = make_operand(descr, std::move(shape), std::move(strides));
    operand.is_contiguous = true;
    operand.is_inline = operand.shape.empty() && operand.nbytes <= INLINE_BYTES;
    return operand;
}

void release(Operand &operand) { Py_CLEAR(operand.descr); }

bool same_shape(const Operand &operand, PyArrayObject *x) {
    const size_t ndim = operand.shape.size();
    if (static_cast<size_t>(PyArray_NDIM(x)) != ndim) return false;
    for (size_t i = 0; i < ndim; i++)
        if (PyArray_DIM(x, i) != operand.shape[i]) return false;
    return true;
}

bool same_strides(const Operand &operand, PyArrayObject *x) {
    for (size_t i = 0; i < operand.shape.size(); i++)
        if (operand.shape[i] > 1 && PyArray_STRIDE(x, i) != operand.strides[i]) return false;
    return true;
}

// float64[3, 4], as the rest of the library writes types
static PyObject *type_in_words(PyArray_Descr *descr, int ndim, const npy_intp *shape) {
    PyObject *dims = PyList_New(ndim);
    if (dims == nullptr) return nullptr;
    for (int i = 0; i < ndim; i++) PyList_SET_ITEM(dims, i, PyLong_FromSsize_t(shape[i]));
    PyObject *words = PyUnicode_FromFormat("%S%S", reinterpret_cast<PyObject *>(descr), dims);
    Py_DECREF(dims);
    return words;
}

void refuse_operand(const Operand &operand, PyObject *x, const char *what, size_t k, const char *why) {
    PyObject *expected = type_in_words(operand.descr, static_cast<int>(operand.shape.size()), operand.shape.data());
    if (expected == nullptr) return;
    PyObject *error = PyExc_ValueError, *got = nullptr;
    if (PyArray_Check(x)) {
        auto *array = reinterpret_cast<PyArrayObject *>(x);
        got = type_in_words(PyArray_DESCR(array), PyArray_NDIM(array), PyArray_DIMS(array));
        if (why == nullptr && !same_type(operand, array)) error = PyExc_TypeError;
    } else {
        got = PyUnicode_FromFormat("a %s", Py_TYPE(x)->tp_name);
        error = PyExc_TypeError;
    }
    if (got != nullptr) {
        if (why != nullptr)
            PyErr_Format(error, "%s %zu: expected %U, got %U: %s", what, k, expected, got, why);
        else
            PyErr_Format(error, "%s %zu: expected %U, got %U", what, k, expected, got);
    }
    Py_DECREF(expected);
    Py_XDECREF(got);
}

// How far along bool -> int -> float -> complex a Python number or a dtype stands: a number may only move right.
static int rank_of_number(PyObject *x) {
    if (PyBool_Check(x)) return 0;
    if (PyLong_CheckExact(x)) return 1;
    if (PyFloat_CheckExact(x)) return 2;
    if (PyComplex_CheckExact(x)) return 3;
    return 4;
}

static int rank_of_type(int type_num) {
    if (type_num == NPY_BOOL) return 0;
    if (PyTypeNum_ISINTEGER(type_num)) return 1;
    if (PyTypeNum_ISFLOAT(type_num)) return 2;
    return PyTypeNum_ISCOMPLEX(type_num) ? 3 : -1;
}

bool read_value(const Operand &operand, char *value, PyObject *x, const char *what, size_t k) {
    const int type_num = operand.descr->type_num;
    if (PyFloat_CheckExact(x) && type_num == NPY_DOUBLE && PyDataType_ISNOTSWAPPED(operand.descr)) {
        const double number = PyFloat_AS_DOUBLE(x);
        std::memcpy(value, &number, sizeof number);
        return true;
    }
    if (PyArray_Check(x)) {
        auto *array = reinterpret_cast<PyArrayObject *>(x);
        if (PyArray_NDIM(array) != 0 || !same_type(operand, array)) {
            refuse_operand(operand, x, what, k);
            return false;
        }
        std::memcpy(value, PyArray_DATA(array), operand.nbytes);
        return true;
    }
    if (PyLong_CheckExact(x) && (type_num == NPY_LONG || type_num == NPY_LONGLONG) &&
        PyDataType_ISNOTSWAPPED(operand.descr)) {
        const long long number = PyLong_AsLongLong(x);
        if (number == -1 && PyErr_Occurred()) return false;
        std::memcpy(value, &number, sizeof number);
        return true;
    }
    if (Py_TYPE(x) == operand.descr->typeobj && PyDataType_ISNOTSWAPPED(operand.descr)) {
        PyArray_ScalarAsCtype(x, value);
        return true;
    }
    if (PyArray_IsScalar(x, Generic)) {
        PyArray_Descr *descr = PyArray_DescrFromScalar(x);
        const bool fits = descr != nullptr && PyArray_EquivTypes(descr, operand.descr);
        Py_XDECREF(descr);
        if (!fits) {
            if (!PyErr_Occurred()) refuse_operand(operand, x, what, k);
            return false;
        }
        PyArray_ScalarAsCtype(x, value);
        return true;
    }
    if (rank_of_number(x) > rank_of_type(type_num)) {
        refuse_operand(operand, x, what, k);
        return false;
    }
    return PyArray_Pack(operand.descr, value, x) == 0;
}

char *read_operand(const Operand &operand, Frame &frame, InlineValue *value, PyObject *x, const char *what, size_t k,
                   bool is_trusted, PyObject *&owner) {
    if (operand.is_inline && value != nullptr) {
        owner = nullptr;
        return read_value(operand, value->bytes, x, what, k) ? value->bytes : nullptr;
    }
    owner = x;
    if (!PyArray_Check(x)) {
        refuse_operand(operand, x, what, k);
        return nullptr;
    }
    auto *array = reinterpret_cast<PyArrayObject *>(x);
    if (!is_trusted && (!same_type(operand, array) || !same_shape(operand, array))) {
        refuse_operand(operand, x, what, k);
        return nullptr;
    }
    const int flags = PyArray_FLAGS(array);
    if (operand.is_contiguous) {
        if ((flags & READABLE) == READABLE) return PyArray_BYTES(array);
        PyObject *copy = PyArray_NewCopy(array, NPY_CORDER);
        if (copy == nullptr) return nullptr;
        frame.temporaries[frame.n_temporaries++] = owner = copy;
        return PyArray_BYTES(reinterpret_cast<PyArrayObject *>(copy));
    }
    if (!is_trusted && !same_strides(operand, array)) {
        refuse_operand(operand, x, what, k, "its strides are not those that the program was made for");
        return nullptr;
    }
    if (flags & NPY_ARRAY_ALIGNED || PyArray_SIZE(array) == 0) return PyArray_BYTES(array);
    // The same strides over aligned memory; where the strides themselves are odd, the program was made knowing that.
    PyObject *copy = PyByteArray_FromStringAndSize(PyArray_BYTES(array) + operand.low, operand.high - operand.low);
    if (copy == nullptr) return nullptr;
    frame.temporaries[frame.n_temporaries++] = owner = copy;
    return PyByteArray_AS_STRING(copy) - operand.low;
}

PyObject *new_array(const Operand &operand) {
    if (is_large(operand) && !operand.is_zeroed) return new_large_array(operand);
    Py_INCREF(operand.descr);
    if (operand.is_zeroed) // by calloc: a large array's pages cost nothing until they are touched
        return PyArray_Zeros(static_cast<int>(operand.shape.size()), operand.shape.data(), operand.descr, 0);
    return PyArray_NewFromDescr(&PyArray_Type, operand.descr, static_cast<int>(operand.shape.size()),
                                operand.shape.data(), nullptr, nullptr, 0, nullptr);
}

namespace {

constexpr size_t SHARED_MOST = 4096, ALL_SHARED_MOST = 32768; // bytes: of one array, of all
constexpr size_t LINE = 64;                                   // results begin where a cache line does
PyTypeObject *shared_memory_type;

void shared_memory_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

// NumPy asks for it before it makes an array writeable again that somebody made read-only.
int shared_memory_buffer(PyObject *self, Py_buffer *view, int flags) {
    return PyBuffer_FillInfo(view, self, reinterpret_cast<PyVarObject *>(self) + 1, Py_SIZE(self), 0, flags);
}

size_t at_line(size_t n) { return (n + LINE - 1) / LINE * LINE; }

} // namespace

void share_memory(Executable &code) {
    size_t n_shared = 0;
    for (const Operand &operand : code.outputs) {
        const auto nbytes = static_cast<size_t>(operand.nbytes);
        const bool shares = !operand.is_inline && !operand.is_zeroed && operand.over < 0 && nbytes > 0 && nbytes <= SHARED_MOST &&
                            code.shared_bytes + nbytes <= ALL_SHARED_MOST;
        code.in_shared.push_back(shares ? code.shared_bytes : ALONE);
        if (shares) code.shared_bytes += at_line(nbytes), n_shared++;
    }
    if (n_shared > 1) return;
    code.shared_bytes = 0;
    code.in_shared.assign(code.outputs.size(), ALONE);
}

PyObject *new_shared_memory(const Executable &code, char *&begin) {
    const auto nbytes = static_cast<Py_ssize_t>(code.shared_bytes + LINE);
    PyVarObject *owner = PyObject_NewVar(PyVarObject, shared_memory_type, nbytes);
    if (owner != nullptr) begin = reinterpret_cast<char *>(at_line(reinterpret_cast<size_t>(owner + 1)));
    return reinterpret_cast<PyObject *>(owner);
}

PyObject *new_array_in(PyObject *owner, char *memory, const Operand &operand) {
    Py_INCREF(operand.descr);
    PyObject *array =
        PyArray_NewFromDescr(&PyArray_Type, operand.descr, static_cast<int>(operand.shape.size()),
                             operand.shape.data(), nullptr, memory, NPY_ARRAY_CARRAY, nullptr);
    if (array != nullptr && PyArray_SetBaseObject(reinterpret_cast<PyArrayObject *>(array), Py_NewRef(owner)) < 0)
        Py_CLEAR(array);
    return array;
}

bool make_shared_memory_type() {
    static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void *>(shared_memory_dealloc)},
                                  {Py_bf_getbuffer, reinterpret_cast<void *>(shared_memory_buffer)},
                                  {Py_tp_doc, const_cast<char *>("Memory that the results of a call share.")},
                                  {}};
    static PyType_Spec spec = {"wengert.runtime._native.SharedMemory", sizeof(PyVarObject), 1,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                               slots};
    shared_memory_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
    return shared_memory_type != nullptr;
}

PyObject *new_scalar(const Operand &operand, const char *value) {
    if (operand.descr->type_num == NPY_DOUBLE && PyDataType_ISNOTSWAPPED(operand.descr)) {
        PyObject *scalar = PyArrayScalar_New(Double);
        if (scalar != nullptr) std::memcpy(&PyArrayScalar_VAL(scalar, Double), value, sizeof(double));
        return scalar;
    }
    return PyArray_Scalar(const_cast<char *>(value), operand.descr, nullptr);
}

const char *unfit_for_output(const Operand &operand, PyObject *x) {
    if (!PyArray_CheckExact(x)) return "not a NumPy array";
    auto *array = reinterpret_cast<PyArrayObject *>(x);
    if (!same_type(operand, array)) return "another dtype";
    if (!same_shape(operand, array)) return "another shape";
    if (!(PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE)) return "the array is read-only";
    if ((PyArray_FLAGS(array) & READABLE) != READABLE) return "the array is not contiguous and aligned";
    return nullptr;
}

bool overlaps(const char *a, const Operand &a_operand, const char *b, const Operand &b_operand) {
    return a + a_operand.low < b + b_operand.high && b + b_operand.low < a + a_operand.high;
}

} // namespace wengert
