// The memory of a traced value, for code of C that asks for it by Python's buffer protocol: `hashlib.md5(x)`,
// `zlib.crc32(x)`, a memoryview of Cython's. Before Python 3.12 a class written in Python cannot have one.
//
// NumPy asks as `memoryview(x)` does, with PyBUF_FULL_RO, before it asks for `__array__`; it is refused, and goes on to
// that. Nobody else asks with these flags but `memoryview`, `bytes` and `bytearray`, which are intercepted.
#include "../../../native/gil.h"

namespace {

PyObject *memory_name; // "memory", the method that gives an array

int get_buffer(PyObject *self, Py_buffer *view, int flags) {
    view->obj = nullptr;
    if (flags == PyBUF_FULL_RO) {
        PyErr_SetString(PyExc_BufferError, "a Tracer has no memory of its own");
        return -1;
    }
    PyObject *array = PyObject_CallMethodNoArgs(self, memory_name);
    if (array == nullptr) return -1;
    const int status = PyObject_GetBuffer(array, view, flags); // which holds the array
    Py_DECREF(array);
    return status;
}

PyObject *lend_memory(PyObject *, PyObject *cls) {
    if (!PyType_Check(cls) || !PyType_HasFeature(reinterpret_cast<PyTypeObject *>(cls), Py_TPFLAGS_HEAPTYPE))
        return PyErr_Format(PyExc_TypeError, "%R is no class that was made at run time", cls);
    auto *type = reinterpret_cast<PyHeapTypeObject *>(cls);
    type->as_buffer.bf_getbuffer = get_buffer;
    type->ht_type.tp_as_buffer = &type->as_buffer;
    Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"lend_memory", lend_memory, METH_O, "Let the buffers of a class be those of the arrays that x.memory() gives."},
    {nullptr, nullptr, 0, nullptr},
};

int fill(PyObject *module) {
    if (memory_name == nullptr) memory_name = PyUnicode_InternFromString("memory");
    return memory_name == nullptr ? -1 : PyModule_AddFunctions(module, functions);
}

PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void *>(&fill)},
    USES_THE_GIL
    {0, nullptr},
};
PyModuleDef definition{PyModuleDef_HEAD_INIT, "_buffers", "The memory of traced values; see _buffers.pyi.", 0,
                       nullptr, slots, nullptr, nullptr, nullptr};

} // namespace

PyMODINIT_FUNC PyInit__buffers() { return PyModuleDef_Init(&definition); }
