// Traced values as objects of Python's: their fields, and the protocols by which Python and NumPy call them.
#include "steps.h"

#include <structmember.h>

namespace wengert {

Known known;
bool add_steps(PyObject *module);

namespace {

struct Names {
    PyObject *call = PyUnicode_InternFromString("__call__"), *binary = PyUnicode_InternFromString("binary"),
             *unary = PyUnicode_InternFromString("unary"), *compare = PyUnicode_InternFromString("compare"),
             *in_place = PyUnicode_InternFromString("in_place"), *getitem = PyUnicode_InternFromString("getitem"), *empty = PyUnicode_InternFromString("");
    PyObject *nothing = PyTuple_New(0);
};
const Names *names;
PyTypeObject *method_type;

// The ufuncs of the operators, as their tuple has them.
enum Operator { ADD, SUBTRACT, MULTIPLY, DIVIDE, FLOOR_DIVIDE, REMAINDER, AND, OR, XOR, LEFT, RIGHT, MATMUL, TO_POWER,
                NEGATIVE, POSITIVE, ABSOLUTE, INVERT, LESS, LESS_EQUAL, EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL };

PyObject *hook(PyObject *name, PyObject *a, PyObject *b, PyObject *c = nullptr) {
    const Owned function = Owned::stolen(PyObject_GetAttr(known.hooks, name));
    return function == nullptr ? nullptr : PyObject_CallFunctionObjArgs(function, a, b, c, nullptr);
}

PyObject *ufunc_of(int number) { return PyTuple_GET_ITEM(known.numpy, number); }

template <int NUMBER> PyObject *binary(PyObject *a, PyObject *b) {
    Key key;
    key.takes_arrays = true;
    key.word(BINARY | NUMBER << 8) && key.argument(a) && key.argument(b);
    return through(key, true, [&] { return hook(names->binary, ufunc_of(NUMBER), a, b); });
}

template <int NUMBER> PyObject *unary(PyObject *x) {
    Key key;
    key.word(UNARY | NUMBER << 8) && key.argument(x);
    return through(key, true, [&] { return hook(names->unary, ufunc_of(NUMBER), x); });
}

PyObject *power(PyObject *a, PyObject *b, PyObject *modulus) {
    Key key;
    key.takes_arrays = true;
    key.word(POWER) && key.argument(a) && key.argument(b) && key.argument(modulus);
    return through(key, true, [&] {
        if (Py_TYPE(a) != known.tracer) return hook(names->binary, ufunc_of(TO_POWER), a, b);
        return PyObject_CallFunctionObjArgs(known.power, a, b, modulus, nullptr);
    });
}

// `x += y`: a scalar of NumPy's is not written, so it is a new one.
template <int NUMBER> PyObject *in_place(PyObject *x, PyObject *other) {
    if (Py_TYPE(x) != known.tracer || reinterpret_cast<Value *>(x)->is_scalar) return binary<NUMBER>(x, other);
    return hook(names->in_place, ufunc_of(NUMBER), x, other);
}

PyObject *power_in_place(PyObject *x, PyObject *other, PyObject *modulus) {
    if (Py_TYPE(x) != known.tracer || reinterpret_cast<Value *>(x)->is_scalar) return power(x, other, modulus);
    return hook(names->in_place, ufunc_of(TO_POWER), x, other);
}

PyObject *compared(PyObject *a, PyObject *b, int op) { // Py_LT, Py_LE, Py_EQ, Py_NE, Py_GT, Py_GE
    const int number = LESS + op;
    Key key;
    key.takes_arrays = true;
    key.word(COMPARED | static_cast<uint64_t>(number) << 8) && key.argument(a) && key.argument(b);
    const bool is_equality = op == Py_EQ || op == Py_NE;
    return through(key, true, [&] { return hook(is_equality ? names->compare : names->binary, ufunc_of(number), a, b); });
}

PyObject *item(PyObject *x, PyObject *index) {
    Key key;
    key.word(ITEM) && key.argument(x) && key.argument(index);
    return through(key, true, [&] { return hook(names->getitem, x, index); });
}

// C code that asks whether a value is a sequence asks whether it has this.
PyObject *item_at(PyObject *x, Py_ssize_t index) {
    const Owned number = Owned::stolen(PyLong_FromSsize_t(index));
    return number == nullptr ? nullptr : item(x, number);
}

bool add_named(Key &key, PyObject *kwargs) {
    if (kwargs == nullptr) return key.is_known;
    PyObject *name, *value;
    for (Py_ssize_t at = 0; PyDict_Next(kwargs, &at, &name, &value);)
        if (!key.object(name) || !key.argument(value)) return false;
    return true;
}

// A new tuple: self, *args.
Owned with_self(PyObject *self, PyObject *args) {
    const Py_ssize_t n = PyTuple_GET_SIZE(args);
    Owned all = Owned::stolen(PyTuple_New(n + 1));
    if (all == nullptr) return all;
    PyTuple_SET_ITEM(all.get(), 0, Py_NewRef(self));
    for (Py_ssize_t k = 0; k < n; k++) PyTuple_SET_ITEM(all.get(), k + 1, Py_NewRef(PyTuple_GET_ITEM(args, k)));
    return all;
}

PyObject *call_with(PyObject *function, PyObject *self, PyObject *args, PyObject *kwargs) {
    const Owned all = with_self(self, args);
    return all == nullptr ? nullptr : PyObject_Call(function, all, kwargs);
}

PyObject *array_ufunc(PyObject *self, PyObject *args, PyObject *kwargs) {
    const Py_ssize_t n = PyTuple_GET_SIZE(args);
    const bool is_plain = n > 2 && (kwargs == nullptr || PyDict_GET_SIZE(kwargs) == 0) &&
                          (PyTuple_GET_ITEM(args, 1) == names->call ||
                           PyObject_RichCompareBool(PyTuple_GET_ITEM(args, 1), names->call, Py_EQ) == 1);
    const auto answer = [&] { return call_with(known.ufunc, self, args, kwargs); };
    if (!is_plain) return answer();
    Key key;
    key.takes_arrays = true;
    key.word(UFUNC) && key.object(PyTuple_GET_ITEM(args, 0));
    for (Py_ssize_t k = 2; key.is_known && k < n; k++) key.argument(PyTuple_GET_ITEM(args, k));
    return through(key, PyTuple_GET_ITEM(args, 0) == ufunc_of(MATMUL) || PyDict_Contains(known.ufuncs, PyTuple_GET_ITEM(args, 0)) == 1,
                   answer);
}

template <typename Answer> PyObject *call_of_function(PyObject *function, PyObject *args, PyObject *kwargs, const Answer &answer) {
    const bool may_keep = PyDict_Contains(known.functions, function) == 1;
    PyErr_Clear(); // of what cannot be hashed
    Key key;
    key.takes_arrays = may_keep && PySet_Contains(known.takers, function) == 1;
    key.word(FUNCTION) && key.object(function);
    key.word(static_cast<uint64_t>(PyTuple_GET_SIZE(args)));
    for (Py_ssize_t k = 0; key.is_known && k < PyTuple_GET_SIZE(args); k++) key.argument(PyTuple_GET_ITEM(args, k));
    if (key.is_known) add_named(key, kwargs);
    return through(key, may_keep, answer);
}

PyObject *array_function(PyObject *self, PyObject *given, PyObject *none) {
    PyObject *function, *types, *args, *kwargs;
    if (!PyArg_ParseTuple(given, "OOO!O!:__array_function__", &function, &types, &PyTuple_Type, &args, &PyDict_Type, &kwargs))
        return nullptr;
    return call_of_function(function, args, kwargs, [&] { return call_with(known.answer, self, given, none); });
}

// answer(answer, function, args, kwargs) -> answer(function, args, kwargs), or what is known to be that
PyObject *answered(PyObject *, PyObject *const *given, Py_ssize_t n) {
    if (n != 4 || !PyTuple_Check(given[2]) || !PyDict_Check(given[3]))
        return PyErr_SetString(PyExc_TypeError, "answered(answer, function, args, kwargs)"), nullptr;
    return call_of_function(given[1], given[2], given[3], [&] {
        return PyObject_CallFunctionObjArgs(given[0], given[1], given[2], given[3], nullptr);
    });
}

// ---------------------------------------------------------------------------------------------------- its methods

struct Method { // of one traced value
    PyObject_HEAD
    PyObject *function, *self;
};

PyObject *call_method(PyObject *object, PyObject *args, PyObject *kwargs) {
    auto *method = reinterpret_cast<Method *>(object);
    const Owned function(method->function), self(method->self);
    Key key;
    key.word(METHOD) && key.object(function) && key.argument(self);
    key.word(static_cast<uint64_t>(PyTuple_GET_SIZE(args)));
    for (Py_ssize_t k = 0; key.is_known && k < PyTuple_GET_SIZE(args); k++) key.argument(PyTuple_GET_ITEM(args, k));
    if (key.is_known) add_named(key, kwargs);
    return through(key, true, [&]() -> PyObject * {
        const Owned all = with_self(self, args);
        const Owned by_name = Owned::stolen(kwargs == nullptr ? PyDict_New() : PyDict_Copy(kwargs));
        return all == nullptr || by_name == nullptr ? nullptr : PyObject_CallFunctionObjArgs(known.method, function.get(), all.get(), by_name.get(), nullptr);
    });
}

int traverse_method(PyObject *object, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(reinterpret_cast<Method *>(object)->function);
    Py_VISIT(reinterpret_cast<Method *>(object)->self);
    return 0;
}

int clear_method(PyObject *object) {
    Py_CLEAR(reinterpret_cast<Method *>(object)->function);
    Py_CLEAR(reinterpret_cast<Method *>(object)->self);
    return 0;
}

template <int (*CLEAR)(PyObject *)> void dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    CLEAR(object);
    PyTypeObject *type = Py_TYPE(object);
    type->tp_free(object);
    Py_DECREF(type);
}

PyObject *new_method(PyObject *, PyObject *const *args, Py_ssize_t n) {
    if (n != 2) return PyErr_SetString(PyExc_TypeError, "method(function, self)"), nullptr;
    PyObject *made = method_type->tp_alloc(method_type, 0);
    if (made == nullptr) return nullptr;
    reinterpret_cast<Method *>(made)->function = Py_NewRef(args[0]);
    reinterpret_cast<Method *>(made)->self = Py_NewRef(args[1]);
    return made;
}

// ------------------------------------------------------------------------------------------------------- its fields

template <typename Visit> int each_field(Value *x, const Visit &visit) {
    for (PyObject **field : {&x->trace, &x->atom, &x->aval, &x->weak, &x->constant, &x->base, &x->lens, &x->layout,
                             &x->why_readonly, &x->lent, &x->hashed, &x->told})
        if (const int stop = visit(field)) return stop;
    return 0;
}

int traverse_value(PyObject *object, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(object));
    return each_field(reinterpret_cast<Value *>(object), [&](PyObject **field) { return *field == nullptr ? 0 : visit(*field, arg); });
}

int clear_value(PyObject *object) {
    return each_field(reinterpret_cast<Value *>(object), [](PyObject **field) {
        Py_CLEAR(*field);
        return 0;
    });
}

Value *made_value(PyTypeObject *type, PyObject *trace, PyObject *atom, PyObject *aval, bool is_scalar) {
    auto *x = reinterpret_cast<Value *>(type->tp_alloc(type, 0));
    if (x == nullptr) return nullptr;
    x->trace = Py_NewRef(trace);
    x->atom = Py_NewRef(atom);
    x->aval = Py_NewRef(aval);
    x->is_scalar = is_scalar;
    for (PyObject **field : {&x->weak, &x->constant, &x->base, &x->lens, &x->layout, &x->hashed, &x->told}) *field = Py_NewRef(Py_None);
    x->why_readonly = Py_NewRef(names->empty);
    x->lent = Py_NewRef(names->nothing);
    return x;
}

PyObject *new_value(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static const char *keywords[] = {"trace", "atom", "aval", "is_scalar", nullptr};
    PyObject *trace, *atom, *aval;
    int is_scalar = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO|p:Value", const_cast<char **>(keywords), &trace, &atom, &aval, &is_scalar))
        return nullptr;
    return reinterpret_cast<PyObject *>(made_value(type, trace, atom, aval, is_scalar != 0));
}

PyObject *get_version(PyObject *object, void *) { return PyLong_FromSsize_t(reinterpret_cast<Value *>(object)->version); }
int set_version(PyObject *object, PyObject *version, void *) {
    const Py_ssize_t now = version == nullptr ? -1 : PyLong_AsSsize_t(version);
    if (now == -1 && PyErr_Occurred()) return -1;
    reinterpret_cast<Value *>(object)->version = now;
    n_writes++;
    return 0;
}

PyObject *is_bare(PyObject *object, PyObject *) {
    auto *x = reinterpret_cast<Value *>(object);
    return PyBool_FromLong(x->base == Py_None && x->constant == Py_None && x->weak == Py_None && !x->is_reordered &&
                           reinterpret_cast<TraceState *>(x->trace)->is_direct);
}

// -------------------------------------------------------------------------------------------------- what a trace has

PyObject *new_trace(PyTypeObject *type, PyObject *, PyObject *) {
    auto *trace = reinterpret_cast<TraceState *>(type->tp_alloc(type, 0));
    if (trace != nullptr) trace->steps = Py_NewRef(Py_None);
    return reinterpret_cast<PyObject *>(trace);
}
int traverse_trace(PyObject *object, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(reinterpret_cast<TraceState *>(object)->steps);
    return 0;
}
int clear_trace(PyObject *object) {
    Py_CLEAR(reinterpret_cast<TraceState *>(object)->steps);
    return 0;
}

PyObject *looked(PyObject *, PyObject *) {
    n_looks++;
    Py_RETURN_NONE;
}

PyObject *setup(PyObject *, PyObject *args) {
    PyObject *tracer, *ndarray, *generic, *dtype, *literal;
    Known &k = known;
    if (!PyArg_ParseTuple(args, "OOOOOOOOOOOOOOOO:setup", &tracer, &ndarray, &generic, &dtype, &literal, &k.hooks, &k.layout, &k.lift,
                          &k.answer, &k.ufunc, &k.power, &k.method, &k.ufuncs, &k.functions, &k.takers, &k.numpy))
        return nullptr;
    Py_INCREF(args); // and so all of them, for as long as the process lives
    k.tracer = reinterpret_cast<PyTypeObject *>(tracer);
    k.ndarray = reinterpret_cast<PyTypeObject *>(ndarray);
    k.generic = reinterpret_cast<PyTypeObject *>(generic);
    k.dtype = reinterpret_cast<PyTypeObject *>(dtype);
    k.literal = reinterpret_cast<PyTypeObject *>(literal);
    Py_RETURN_NONE;
}

template <typename F> void *slot(F *f) { return reinterpret_cast<void *>(f); }

PyTypeObject *add_type(PyObject *module, PyType_Spec &spec, const char *name) {
    PyObject *type = PyType_FromSpec(&spec);
    if (type == nullptr || PyModule_AddObjectRef(module, name, type) < 0) return nullptr;
    return reinterpret_cast<PyTypeObject *>(type);
}

bool add_values(PyObject *module) {
#define FIELD(name, kind, field) {name, kind, offsetof(Value, field), 0, nullptr}
    static PyMemberDef fields[] = {
        FIELD("_trace", T_OBJECT_EX, trace), FIELD("_atom", T_OBJECT_EX, atom), FIELD("aval", T_OBJECT_EX, aval),
        FIELD("weak", T_OBJECT_EX, weak), FIELD("_constant", T_OBJECT_EX, constant), FIELD("_base", T_OBJECT_EX, base),
        FIELD("_lens", T_OBJECT_EX, lens), FIELD("_layout", T_OBJECT_EX, layout),
        FIELD("_why_readonly", T_OBJECT_EX, why_readonly), FIELD("_lent", T_OBJECT_EX, lent),
        FIELD("_hashed", T_OBJECT_EX, hashed), FIELD("_told", T_OBJECT_EX, told), FIELD("_seen", T_PYSSIZET, seen),
        FIELD("is_scalar", T_BOOL, is_scalar), FIELD("is_viewed", T_BOOL, is_viewed), FIELD("_is_shared", T_BOOL, is_shared),
        FIELD("_is_reordered", T_BOOL, is_reordered), {nullptr, 0, 0, 0, nullptr}};
#undef FIELD
    static PyGetSetDef computed[] = {{"_version", get_version, set_version, nullptr, nullptr}, {nullptr, nullptr, nullptr, nullptr, nullptr}};
    static PyMethodDef methods[] = {
        {"is_bare", is_bare, METH_NOARGS, nullptr},
        {"__array_ufunc__", reinterpret_cast<PyCFunction>(slot(array_ufunc)), METH_VARARGS | METH_KEYWORDS, nullptr},
        {"__array_function__", reinterpret_cast<PyCFunction>(slot(array_function)), METH_VARARGS | METH_KEYWORDS, nullptr},
        {nullptr, nullptr, 0, nullptr}};
    static PyType_Slot slots[] = {{Py_tp_new, slot(new_value)},
                                  {Py_tp_dealloc, slot(dealloc<clear_value>)},
                                  {Py_tp_traverse, slot(traverse_value)},
                                  {Py_tp_clear, slot(clear_value)},
                                  {Py_tp_members, fields},
                                  {Py_tp_getset, computed},
                                  {Py_tp_methods, methods},
                                  {Py_tp_richcompare, slot(compared)},
                                  {Py_tp_hash, slot(PyObject_HashNotImplemented)},
                                  {Py_mp_subscript, slot(item)},
                                  {Py_sq_item, slot(item_at)},
                                  {Py_nb_add, slot(binary<ADD>)},
                                  {Py_nb_subtract, slot(binary<SUBTRACT>)},
                                  {Py_nb_multiply, slot(binary<MULTIPLY>)},
                                  {Py_nb_true_divide, slot(binary<DIVIDE>)},
                                  {Py_nb_floor_divide, slot(binary<FLOOR_DIVIDE>)},
                                  {Py_nb_remainder, slot(binary<REMAINDER>)},
                                  {Py_nb_and, slot(binary<AND>)},
                                  {Py_nb_or, slot(binary<OR>)},
                                  {Py_nb_xor, slot(binary<XOR>)},
                                  {Py_nb_lshift, slot(binary<LEFT>)},
                                  {Py_nb_rshift, slot(binary<RIGHT>)},
                                  {Py_nb_matrix_multiply, slot(binary<MATMUL>)},
                                  {Py_nb_power, slot(power)},
                                  {Py_nb_inplace_add, slot(in_place<ADD>)},
                                  {Py_nb_inplace_subtract, slot(in_place<SUBTRACT>)},
                                  {Py_nb_inplace_multiply, slot(in_place<MULTIPLY>)},
                                  {Py_nb_inplace_true_divide, slot(in_place<DIVIDE>)},
                                  {Py_nb_inplace_floor_divide, slot(in_place<FLOOR_DIVIDE>)},
                                  {Py_nb_inplace_remainder, slot(in_place<REMAINDER>)},
                                  {Py_nb_inplace_and, slot(in_place<AND>)},
                                  {Py_nb_inplace_or, slot(in_place<OR>)},
                                  {Py_nb_inplace_xor, slot(in_place<XOR>)},
                                  {Py_nb_inplace_lshift, slot(in_place<LEFT>)},
                                  {Py_nb_inplace_rshift, slot(in_place<RIGHT>)},
                                  {Py_nb_inplace_matrix_multiply, slot(in_place<MATMUL>)},
                                  {Py_nb_inplace_power, slot(power_in_place)},
                                  {Py_nb_negative, slot(unary<NEGATIVE>)},
                                  {Py_nb_positive, slot(unary<POSITIVE>)},
                                  {Py_nb_absolute, slot(unary<ABSOLUTE>)},
                                  {Py_nb_invert, slot(unary<INVERT>)},
                                  {0, nullptr}};
    static PyType_Spec of_values = {"wengert.tracing._steps.Value", sizeof(Value), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE, slots};

    static PyMemberDef state[] = {{"steps", T_OBJECT_EX, offsetof(TraceState, steps), 0, nullptr},
                                  {"is_open", T_BOOL, offsetof(TraceState, is_open), 0, nullptr},
                                  {"is_direct", T_BOOL, offsetof(TraceState, is_direct), 0, nullptr},
                                  {nullptr, 0, 0, 0, nullptr}};
    static PyType_Slot trace_slots[] = {{Py_tp_new, slot(new_trace)},
                                        {Py_tp_dealloc, slot(dealloc<clear_trace>)},
                                        {Py_tp_traverse, slot(traverse_trace)},
                                        {Py_tp_clear, slot(clear_trace)},
                                        {Py_tp_members, state},
                                        {0, nullptr}};
    static PyType_Spec of_traces = {"wengert.tracing._steps.TraceState", sizeof(TraceState), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE, trace_slots};

    static PyType_Slot method_slots[] = {{Py_tp_call, slot(call_method)},
                                         {Py_tp_dealloc, slot(dealloc<clear_method>)},
                                         {Py_tp_traverse, slot(traverse_method)},
                                         {Py_tp_clear, slot(clear_method)},
                                         {0, nullptr}};
    static PyType_Spec of_methods = {"wengert.tracing._steps.Method", sizeof(Method), 0,
                                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, method_slots};
    return add_type(module, of_values, "Value") != nullptr && add_type(module, of_traces, "TraceState") != nullptr &&
           (method_type = add_type(module, of_methods, "Method")) != nullptr;
}

} // namespace

Value *make_value(PyObject *trace, PyObject *atom, PyObject *aval, bool is_scalar) {
    return made_value(known.tracer, trace, atom, aval, is_scalar);
}

namespace {

int fill(PyObject *module) {
    names = new Names;
    return add_values(module) && add_steps(module) ? 0 : -1;
}

PyMethodDef functions[] = {{"answered", reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(answered)), METH_FASTCALL, nullptr},
                           {"setup", setup, METH_VARARGS, nullptr},
                           {"may_overlap", may_overlap, METH_O, nullptr},
                           {"looked", looked, METH_NOARGS, nullptr},
                           {"method", reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(new_method)), METH_FASTCALL, nullptr},
                           {nullptr, nullptr, 0, nullptr}};
PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void *>(fill)},
    USES_THE_GIL
    {0, nullptr},
};
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "wengert.tracing._steps", nullptr, 0, functions, slots, nullptr, nullptr, nullptr};

} // namespace

} // namespace wengert

PyMODINIT_FUNC PyInit__steps() { return PyModuleDef_Init(&wengert::definition); }
