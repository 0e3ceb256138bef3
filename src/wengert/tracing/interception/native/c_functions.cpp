// The extension module wengert.tracing.interception._c_functions: functions of Python's that are C code, and classes of numbers, answer
// for a traced value while they are exchanged.
//
// `math.sin` takes a float out of whatever it is given, so no protocol reaches it, and no attribute of a module reaches
// `from math import sin`. But Python reads the address of such a function from its PyMethodDef at every call, that of a
// class from its tp_vectorcall, where there may be none, that of `x.shape = ...` from a PyGetSetDef, and that of a call
// of what functools.cache has made from the tp_call of its class. There stands,
// while a trace is open, a trampoline: it looks whether an argument is traced, and then calls what was enrolled, else
// the function's own code. No class inherits tp_vectorcall, as it does tp_new, which stays what it is: of a subclass
// (`class Metres(np.float64)`) nothing is exchanged, and what `__new__` compares when one is copied is the same at all
// times.
//
// Owned here: one slot a function or class, for as long as the process lives, with a reference to it and to its
// replacement. All is called with the GIL; enroll() and switch_on() from Python, open() and close() by opened.cpp, so
// they run no bytecode. A trampoline may be entered at any time, by any thread: also after close(), by who had read the
// address before. So it never asks whether it is open, and a slot never goes.
#include "../../../native/gil.h"
#include "calling.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace {

constexpr int most_functions = 224, most_types = 40, most_setters = 8, most_callables = 64;

// How much of its arguments a function's trampoline looks at.
enum Looks {
    at_arguments = 0, // is one of them traced?
    into_lists = 1,   // or one of the items of a list or a tuple among them?
    into_all = 2,     // the same, and what is neither a list nor a tuple is for the replacement to iterate
    at_default = 3,   // is the first one traced, and are there three? getattr(x, name, default)
    at_any = 4,       // of a class: as into_lists; of any other class the one argument is looked at, if there is but one
    at_object = 5,    // of a method: in a thread that traces the replacement is asked, with the object in front; it may
                      // answer NotImplemented
    at_instance = 6,  // of a class, the same of each call of what it made: functools.cache
    at_caller = 7,     // who calls? np.zeros makes traced arrays for the user's code
    at_conversion = 8, // the same, and a library may convert a traced value that stands first: np.asarray
};

struct Function {
    PyMethodDef *def;
    PyCFunction own, trampoline;
    PyObject *callee, *replacement;
    int looks;
    bool is_on;
};

struct Type {
    PyTypeObject *type;
    vectorcallfunc own; // or null: then it is called as any class
    PyObject *replacement;
    int looks;
    bool is_on;
};

struct Setter {
    PyGetSetDef *def;
    setter own;
    PyObject *callee, *replacement; // the replacement is asked with the object and the new value
    bool is_on;
};

struct Object {
    PyObject *replacement;
    int looks;
    bool is_on;
};

struct Callable {
    PyTypeObject *type;
    ternaryfunc own;
    PyObject *replacement; // asked with the object in front; or null, and then some of its objects are exchanged alone
    std::unordered_map<PyObject *, Object> *objects; // some of its objects, which have their own
    bool is_on;
};

wengert::Asker asker;
const wengert::OfOpened *opened; // before setup() null
Function functions[most_functions];
Type types[most_types];
Setter setters[most_setters];
Callable callables[most_callables];
int n_functions, n_types, n_setters, n_callables;

bool is_traced(PyObject *x) { return Py_TYPE(x) == asker.traced; }

bool any_traced(PyObject *const *xs, Py_ssize_t n) {
    for (Py_ssize_t k = 0; k < n; k++)
        if (is_traced(xs[k])) return true;
    return false;
}

bool holds_traced(PyObject *x, int looks) {
    if (is_traced(x)) return true;
    if (looks == at_arguments) return false;
    if (PyList_CheckExact(x)) return any_traced(PySequence_Fast_ITEMS(x), PyList_GET_SIZE(x));
    if (PyTuple_CheckExact(x)) return any_traced(PySequence_Fast_ITEMS(x), PyTuple_GET_SIZE(x));
    return looks == into_all;
}

// 1 if the replacement answers, 0 if the function's own code does; -1 with an exception.
int is_for_replacement(int looks, PyObject *const *args, Py_ssize_t n, Py_ssize_t all) {
    if (looks == at_caller) return asker.is_for_user(nullptr);
    if (looks == at_conversion) return asker.is_for_user(n > 0 ? args[0] : Py_None);
    if (looks == at_default) return all == 3 && is_traced(args[0]);
    for (Py_ssize_t k = 0; k < all; k++)
        if (holds_traced(args[k], looks)) return 1;
    return 0;
}

template <typename F> F as(PyCFunction own) { return reinterpret_cast<F>(reinterpret_cast<void (*)()>(own)); }

// The replacement of what looks at_object is asked first. Null without an exception: it has said NotImplemented.
PyObject *or_null(PyObject *answer) {
    if (answer == Py_NotImplemented) Py_CLEAR(answer);
    return answer;
}

// -------------------------------------------------------------------- what a trampoline does, by how Python calls it
//
// Each is one function, which every slot's trampoline calls: inlined into all of them it would be 300 kB.

NOT_INLINED PyObject *with_one(const Function &f, PyObject *self, PyObject *x) {
    const int n = x != nullptr; // or none is taken
    const int is_ours = is_for_replacement(f.looks, &x, n, n);
    if (is_ours < 0) return nullptr;
    return is_ours ? PyObject_Vectorcall(f.replacement, &x, n, nullptr) : f.own(self, x);
}

NOT_INLINED PyObject *with_array(const Function &f, PyObject *self, PyObject *const *args, Py_ssize_t n) {
    using Own = PyObject *(*)(PyObject *, PyObject *const *, Py_ssize_t);
    const int is_ours = is_for_replacement(f.looks, args, n, n);
    if (is_ours < 0) return nullptr;
    return is_ours ? PyObject_Vectorcall(f.replacement, args, n, nullptr) : as<Own>(f.own)(self, args, n);
}

// What the replacement of a method says of a call of it.
PyObject *asked(const Function &f, PyObject *self, PyObject *const *args, Py_ssize_t n, Py_ssize_t all,
                PyObject *names) {
    std::unique_ptr<PyObject *[]> with_self(new (std::nothrow) PyObject *[all + 1]);
    if (with_self == nullptr) return PyErr_NoMemory();
    with_self[0] = self;
    std::copy(args, args + all, with_self.get() + 1);
    return or_null(PyObject_Vectorcall(f.replacement, with_self.get(), n + 1, names));
}

NOT_INLINED PyObject *with_keywords(const Function &f, PyObject *self, PyObject *const *args, Py_ssize_t n,
                                          PyObject *names) {
    using Own = PyObject *(*)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);
    const Py_ssize_t all = n + (names == nullptr ? 0 : PyTuple_GET_SIZE(names));
    if (f.looks == at_object) {
        if (!asker.is_tracing()) return as<Own>(f.own)(self, args, n, names);
        PyObject *answer = asked(f, self, args, n, all, names);
        if (answer != nullptr || PyErr_Occurred()) return answer;
        return as<Own>(f.own)(self, args, n, names);
    }
    const int is_ours = is_for_replacement(f.looks, args, n, all);
    if (is_ours < 0) return nullptr;
    return is_ours ? PyObject_Vectorcall(f.replacement, args, n, names) : as<Own>(f.own)(self, args, n, names);
}

// The same, where the arguments come in a tuple, and perhaps a dictionary.
PyObject *asked(PyObject *replacement, PyObject *self, PyObject *args, PyObject *keywords) {
    const Py_ssize_t n = PyTuple_GET_SIZE(args);
    PyObject *with_self = PyTuple_New(n + 1);
    if (with_self == nullptr) return nullptr;
    PyTuple_SET_ITEM(with_self, 0, Py_NewRef(self));
    for (Py_ssize_t k = 0; k < n; k++) PyTuple_SET_ITEM(with_self, k + 1, Py_NewRef(PyTuple_GET_ITEM(args, k)));
    PyObject *answer = PyObject_Call(replacement, with_self, keywords);
    Py_DECREF(with_self);
    return or_null(answer);
}

// The same of arguments in a tuple, and perhaps a dictionary.
int is_for_replacement(int looks, PyObject *args, PyObject *keywords) {
    const Py_ssize_t n = PyTuple_GET_SIZE(args);
    const int is_ours = is_for_replacement(looks, PySequence_Fast_ITEMS(args), n, n);
    if (is_ours != 0 || keywords == nullptr || looks == at_caller || looks == at_conversion) return is_ours;
    PyObject *value;
    for (Py_ssize_t at = 0; PyDict_Next(keywords, &at, nullptr, &value);)
        if (holds_traced(value, looks)) return 1;
    return 0;
}

NOT_INLINED PyObject *with_dictionary(const Function &f, PyObject *self, PyObject *args, PyObject *keywords) {
    if (f.looks == at_object) {
        if (!asker.is_tracing()) return as<PyCFunctionWithKeywords>(f.own)(self, args, keywords);
        PyObject *answer = asked(f.replacement, self, args, keywords);
        if (answer != nullptr || PyErr_Occurred()) return answer;
    } else if (const int is_ours = is_for_replacement(f.looks, args, keywords); is_ours != 0) {
        return is_ours < 0 ? nullptr : PyObject_Call(f.replacement, args, keywords);
    }
    return as<PyCFunctionWithKeywords>(f.own)(self, args, keywords);
}

NOT_INLINED PyObject *with_tuple(const Function &f, PyObject *self, PyObject *args) {
    if (f.looks == at_object) {
        if (!asker.is_tracing()) return f.own(self, args);
        PyObject *answer = asked(f.replacement, self, args, nullptr);
        if (answer != nullptr || PyErr_Occurred()) return answer;
    } else if (const int is_ours = is_for_replacement(f.looks, args, nullptr); is_ours != 0) {
        return is_ours < 0 ? nullptr : PyObject_CallObject(f.replacement, args);
    }
    return f.own(self, args);
}

// What calling a class does that has no tp_vectorcall.
PyObject *called(PyObject *type, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyObject *positional = PyTuple_New(n), *keywords = names == nullptr ? nullptr : PyDict_New();
    bool is_done = positional != nullptr && (names == nullptr || keywords != nullptr);
    for (Py_ssize_t k = 0; is_done && k < n; k++) PyTuple_SET_ITEM(positional, k, Py_NewRef(args[k]));
    for (Py_ssize_t k = 0; is_done && names != nullptr && k < PyTuple_GET_SIZE(names); k++)
        is_done = PyDict_SetItem(keywords, PyTuple_GET_ITEM(names, k), args[n + k]) == 0;
    PyObject *result = is_done ? Py_TYPE(type)->tp_call(type, positional, keywords) : nullptr;
    Py_XDECREF(positional);
    Py_XDECREF(keywords);
    return result;
}

NOT_INLINED PyObject *made(const Type &t, PyObject *type, PyObject *const *args, size_t given, PyObject *names) {
    const Py_ssize_t n = PyVectorcall_NARGS(given);
    if (t.looks == at_caller) {
        const int is_ours = asker.is_for_user(nullptr);
        if (is_ours < 0) return nullptr;
        if (is_ours) return PyObject_Vectorcall(t.replacement, args, n, names);
    }
    const int depth = t.type == &PyFloat_Type ? at_arguments : into_lists;
    const bool is_asked = t.looks == at_any || (t.looks != at_caller && n == 1 && names == nullptr);
    for (Py_ssize_t k = 0; is_asked && k < n; k++)
        if (holds_traced(args[k], depth)) return PyObject_Vectorcall(t.replacement, args, n, names);
    return t.own != nullptr ? t.own(type, args, given, names) : called(type, args, n, names);
}

// Whether an attribute is a text that begins with, or has in it, another one.
bool has_text(PyObject *callable, const char *attribute, const char *wanted, bool at_start) {
    PyObject *const found = PyObject_GetAttrString(callable, attribute);
    const char *const text = found != nullptr && PyUnicode_Check(found) ? PyUnicode_AsUTF8(found) : nullptr;
    const char *const at = text == nullptr ? nullptr : std::strstr(text, wanted);
    const bool is_there = at != nullptr && (at == text || !at_start);
    Py_XDECREF(found);
    PyErr_Clear();
    return is_there;
}

// Whether a callable is this library's own: of that nothing is asked, since tracing calls it all the time. Those that
// their modules keep are kept here too, and so are known by their addresses; not one that a function has made.
bool is_of_ours(PyObject *callable) {
    static std::unordered_set<PyObject *> known;
    if (known.find(callable) != known.end()) return true;
    if (!has_text(callable, "__module__", "wengert.", true)) return false;
    if (!has_text(callable, "__qualname__", "<locals>", false)) known.insert(Py_NewRef(callable));
    return true;
}

NOT_INLINED PyObject *called_of(const Callable &c, PyObject *self, PyObject *args, PyObject *keywords) {
    const auto found = c.objects->find(self);
    if (found != c.objects->end() && found->second.is_on) {
        const Object one = found->second;
        const int is_ours = is_for_replacement(one.looks, args, keywords);
        if (is_ours != 0) return is_ours < 0 ? nullptr : PyObject_Call(one.replacement, args, keywords);
    }
    if (c.replacement == nullptr || !asker.is_tracing() || is_of_ours(self)) return c.own(self, args, keywords);
    PyObject *answer = asked(c.replacement, self, args, keywords);
    if (answer != nullptr || PyErr_Occurred()) return answer;
    return c.own(self, args, keywords);
}

NOT_INLINED int assigned(const Setter &s, PyObject *self, PyObject *value, void *closure) {
    if (value != nullptr && asker.is_tracing()) { // a value is null where an attribute is deleted
        PyObject *answer = PyObject_CallFunctionObjArgs(s.replacement, self, value, nullptr);
        if (answer == nullptr) return -1;
        Py_DECREF(answer);
        if (answer != Py_NotImplemented) return 0;
    }
    return s.own(self, value, closure);
}

// ------------------------------------------------------------------------------------------------------ trampolines
//
// One instance a slot, since a trampoline is told nothing of the function that it stands for.

template <int K> PyObject *to_one(PyObject *self, PyObject *x) { return with_one(functions[K], self, x); }
template <int K> PyObject *to_array(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    return with_array(functions[K], self, args, n);
}
template <int K> PyObject *to_keywords(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    return with_keywords(functions[K], self, args, n, names);
}
template <int K> PyObject *to_tuple(PyObject *self, PyObject *args) { return with_tuple(functions[K], self, args); }
template <int K> PyObject *to_dictionary(PyObject *self, PyObject *args, PyObject *keywords) {
    return with_dictionary(functions[K], self, args, keywords);
}
template <int K> PyObject *to_type(PyObject *type, PyObject *const *args, size_t given, PyObject *names) {
    return made(types[K], type, args, given, names);
}
template <int K> int to_setter(PyObject *self, PyObject *value, void *closure) {
    return assigned(setters[K], self, value, closure);
}
template <int K> PyObject *to_callable(PyObject *self, PyObject *args, PyObject *keywords) {
    return called_of(callables[K], self, args, keywords);
}

struct Ways {
    PyCFunction one, array, keywords, tuple, dictionary;
};
template <int K> Ways ways() {
    return {to_one<K>, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(to_array<K>)),
            reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(to_keywords<K>)), to_tuple<K>,
            reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(to_dictionary<K>))};
}
template <int... K> std::array<Ways, sizeof...(K)> all_ways(std::integer_sequence<int, K...>) { return {ways<K>()...}; }
template <int... K> std::array<vectorcallfunc, sizeof...(K)> all_made(std::integer_sequence<int, K...>) {
    return {to_type<K>...};
}
template <int... K> std::array<setter, sizeof...(K)> all_assigned(std::integer_sequence<int, K...>) {
    return {to_setter<K>...};
}
template <int... K> std::array<ternaryfunc, sizeof...(K)> all_called(std::integer_sequence<int, K...>) {
    return {to_callable<K>...};
}
const auto callable_trampolines = all_called(std::make_integer_sequence<int, most_callables>());
const auto setter_trampolines = all_assigned(std::make_integer_sequence<int, most_setters>());
const auto trampolines = all_ways(std::make_integer_sequence<int, most_functions>());
const auto type_trampolines = all_made(std::make_integer_sequence<int, most_types>());

// ------------------------------------------------------------------------------------------------ the module's functions

PyObject *setup(PyObject *, PyObject *args) {
    PyObject *traced, *asks, *libraries, *tracing;
    if (!PyArg_ParseTuple(args, "O!OO!O!:setup", &PyType_Type, &traced, &asks, &PySet_Type, &libraries, &PyCapsule_Type,
                          &tracing))
        return nullptr;
    opened = wengert::of_opened(tracing);
    if (opened == nullptr) return nullptr;
    // For ever:
    asker = {reinterpret_cast<PyTypeObject *>(Py_NewRef(traced)), opened->is_tracing, Py_NewRef(asks), Py_NewRef(libraries)};
    Py_RETURN_NONE;
}

// Whether a function of another C class, as Cython's are, is laid out as Python's own: it says where its vectorcall is.
bool is_like_pythons(PyObject *callee) {
    PyTypeObject *type = Py_TYPE(callee);
    return PyCFunction_CheckExact(callee) || (PyType_HasFeature(type, Py_TPFLAGS_HAVE_VECTORCALL) &&
                                              type->tp_vectorcall_offset == offsetof(PyCFunctionObject, vectorcall) &&
                                              type->tp_basicsize > Py_ssize_t(sizeof(PyCFunctionObject)) &&
                                              std::strstr(type->tp_name, "cython_function_or_method") != nullptr);
}

// What enrolls several was interrupted, and does it anew: then it gives the same functions, of the same code.
PyObject *enrolled_again(PyObject *callee, PyObject *replacement, PyObject *again) {
    if (replacement == again) Py_RETURN_TRUE;
    const auto code = [](PyObject *function) -> PyObject * { // also of a functools.partial
        PyObject *inner = PyFunction_Check(function) ? Py_NewRef(function) : PyObject_GetAttrString(function, "func");
        PyObject *found = inner != nullptr && PyFunction_Check(inner) ? PyFunction_GET_CODE(inner) : nullptr;
        Py_XDECREF(inner); // the replacement keeps it
        PyErr_Clear();
        return found;
    };
    PyObject *own = code(replacement);
    if (own != nullptr && own == code(again)) Py_RETURN_TRUE;
    return PyErr_Format(PyExc_ValueError, "%R is enrolled already", callee);
}

PyObject *enroll_function(PyObject *function, PyObject *replacement, int looks) {
    if (opened == nullptr) return PyErr_Format(PyExc_RuntimeError, "setup comes before enroll");
    PyMethodDef *def = reinterpret_cast<PyCFunctionObject *>(function)->m_ml;
    for (int k = 0; k < n_functions; k++)
        if (functions[k].def == def) return enrolled_again(function, functions[k].replacement, replacement);
    const Ways &way = trampolines[n_functions];
    PyCFunction trampoline;
    if (looks == at_object && (def->ml_flags & (METH_NOARGS | METH_O) || def->ml_flags == METH_FASTCALL)) Py_RETURN_FALSE;
    switch (def->ml_flags) { // what is not known here, as it may come with a Python to be, is left as it is
    case METH_NOARGS:
    case METH_O: trampoline = way.one; break;
    case METH_FASTCALL: trampoline = way.array; break;
    case METH_FASTCALL | METH_KEYWORDS: trampoline = way.keywords; break;
    case METH_VARARGS: trampoline = way.tuple; break;
    case METH_VARARGS | METH_KEYWORDS: trampoline = way.dictionary; break;
    default: Py_RETURN_FALSE;
    }
    opened->hash_by(trampoline, def->ml_meth);
    // A reference to the function, and so its PyMethodDef stays.
    functions[n_functions++] = {def, def->ml_meth, trampoline, Py_NewRef(function), Py_NewRef(replacement), looks, true};
    Py_RETURN_TRUE;
}

PyObject *enroll_type(PyTypeObject *type, PyObject *replacement, int looks) {
    for (int k = 0; k < n_types; k++)
        if (types[k].type == type)
            return enrolled_again(reinterpret_cast<PyObject *>(type), types[k].replacement, replacement);
    types[n_types] = {reinterpret_cast<PyTypeObject *>(Py_NewRef(type)), type->tp_vectorcall, Py_NewRef(replacement),
                      looks, true};
    n_types++;
    Py_RETURN_TRUE;
}

// All that a class has made, or (`object`) one of it.
PyObject *enroll_callable(PyTypeObject *type, PyObject *object, PyObject *replacement, int looks) {
    if (PyType_HasFeature(type, Py_TPFLAGS_HAVE_VECTORCALL) || type->tp_call == nullptr) Py_RETURN_FALSE;
    int k = 0;
    while (k < n_callables && callables[k].type != type) k++;
    if (k == n_callables) {
        if (k == most_callables) Py_RETURN_FALSE; // of so many modules of f2py's: what they write is found later
        auto *objects = new (std::nothrow) std::unordered_map<PyObject *, Object>;
        if (objects == nullptr) return PyErr_NoMemory();
        callables[n_callables++] = {reinterpret_cast<PyTypeObject *>(Py_NewRef(type)), type->tp_call, nullptr, objects,
                                    true};
    }
    Callable &c = callables[k];
    if (object == nullptr) {
        if (c.replacement != nullptr)
            return enrolled_again(reinterpret_cast<PyObject *>(type), c.replacement, replacement);
        c.replacement = Py_NewRef(replacement);
        Py_RETURN_TRUE;
    }
    const auto [found, is_new] = c.objects->try_emplace(object, Object{replacement, looks, true});
    if (!is_new) return enrolled_again(object, found->second.replacement, replacement);
    Py_INCREF(object);
    Py_INCREF(replacement);
    Py_RETURN_TRUE;
}

PyObject *enroll_setter(PyObject *attribute, PyObject *replacement) {
    PyGetSetDef *def = reinterpret_cast<PyGetSetDescrObject *>(attribute)->d_getset;
    if (def->set == nullptr) Py_RETURN_FALSE;
    for (int k = 0; k < n_setters; k++)
        if (setters[k].def == def) return enrolled_again(attribute, setters[k].replacement, replacement);
    // A reference to the attribute, and so its PyGetSetDef stays.
    setters[n_setters++] = {def, def->set, Py_NewRef(attribute), Py_NewRef(replacement), true};
    Py_RETURN_TRUE;
}

PyObject *enroll(PyObject *, PyObject *args) {
    PyObject *callee, *replacement;
    int looks = at_arguments;
    if (!PyArg_ParseTuple(args, "OO|i", &callee, &replacement, &looks)) return nullptr;
    if (Py_IS_TYPE(callee, &PyGetSetDescr_Type)) {
        if (n_setters == most_setters) return PyErr_Format(PyExc_RuntimeError, "no slot is left for %R", callee);
        return enroll_setter(callee, replacement);
    }
    if (looks == at_instance) return enroll_callable(reinterpret_cast<PyTypeObject *>(callee), nullptr, replacement, looks);
    const bool is_type = PyType_Check(callee);
    if (!is_type && !is_like_pythons(callee)) return enroll_callable(Py_TYPE(callee), callee, replacement, looks);
    if (is_type ? n_types == most_types : n_functions == most_functions)
        return PyErr_Format(PyExc_RuntimeError, "no slot is left for %R", callee);
    return is_type ? enroll_type(reinterpret_cast<PyTypeObject *>(callee), replacement, looks)
                   : enroll_function(callee, replacement, looks);
}

bool is_open;

// Each with its trampoline while a trace is open and it is switched on, else with its own code.
void put_all() {
    for (Function *f = functions; f != functions + n_functions; f++)
        wengert::store_released(f->def->ml_meth, is_open && f->is_on ? f->trampoline : f->own);
    for (int k = 0; k < n_types; k++)
        wengert::store_released(types[k].type->tp_vectorcall, is_open && types[k].is_on ? type_trampolines[k] : types[k].own);
    for (int k = 0; k < n_setters; k++)
        wengert::store_released(setters[k].def->set, is_open && setters[k].is_on ? setter_trampolines[k] : setters[k].own);
    for (int k = 0; k < n_callables; k++)
        wengert::store_released(callables[k].type->tp_call, is_open && callables[k].is_on ? callable_trampolines[k] : callables[k].own);
}

PyObject *open(PyObject *, PyObject *) {
    is_open = true;
    put_all();
    Py_RETURN_NONE;
}

PyObject *close(PyObject *, PyObject *) {
    is_open = false;
    put_all();
    Py_RETURN_NONE;
}

PyObject *switch_on(PyObject *, PyObject *args) {
    PyObject *callee;
    int is_on;
    if (!PyArg_ParseTuple(args, "Op:switch_on", &callee, &is_on)) return nullptr;
    bool is_found = false;
    const auto set = [&](PyObject *one, bool &is_it_on) {
        if (one != callee) return;
        is_it_on = is_on != 0;
        is_found = true;
    };
    for (int k = 0; k < n_functions; k++) set(functions[k].callee, functions[k].is_on);
    for (int k = 0; k < n_types; k++) set(reinterpret_cast<PyObject *>(types[k].type), types[k].is_on);
    for (int k = 0; k < n_setters; k++) set(setters[k].callee, setters[k].is_on);
    for (int k = 0; k < n_callables; k++) {
        set(reinterpret_cast<PyObject *>(callables[k].type), callables[k].is_on);
        for (auto &[object, of] : *callables[k].objects) set(object, of.is_on);
    }
    if (!is_found) return PyErr_Format(PyExc_KeyError, "%R is not enrolled", callee);
    put_all();
    Py_RETURN_NONE;
}

// Takes back what was enrolled last: with the GIL nobody is within its trampoline.
PyObject *withdraw(PyObject *, PyObject *callee) {
    const bool is_function = n_functions > 0 && functions[n_functions - 1].callee == callee;
    const bool is_type = n_types > 0 && reinterpret_cast<PyObject *>(types[n_types - 1].type) == callee;
    if (is_function) {
        const Function f = functions[--n_functions];
        wengert::store_released(f.def->ml_meth, f.own);
        Py_DECREF(f.replacement);
        Py_DECREF(f.callee);
    } else if (is_type) {
        const Type t = types[--n_types];
        wengert::store_released(t.type->tp_vectorcall, t.own);
        Py_DECREF(t.replacement);
        Py_DECREF(t.type);
    } else {
        for (int k = 0; k < n_callables; k++) {
            const auto found = callables[k].objects->find(callee);
            if (found == callables[k].objects->end()) continue;
            PyObject *const replacement = found->second.replacement;
            callables[k].objects->erase(found);
            Py_DECREF(replacement);
            Py_DECREF(callee); // the caller has another
            Py_RETURN_NONE;
        }
        return PyErr_Format(PyExc_KeyError, "%R was not enrolled last", callee);
    }
    Py_RETURN_NONE;
}

PyObject *is_from_python(PyObject *, PyObject *) { return PyBool_FromLong(wengert::Calling::is_from_python()); }

PyMethodDef methods[] = {
    {"setup", setup, METH_VARARGS, "setup(Tracer, asks, libraries, is_tracing): the class of traced values, and who knows "
                                   "who calls."},
    {"enroll", enroll, METH_VARARGS, "Gives a function or class a replacement; False where its kind is not known."},
    {"open", open, METH_NOARGS, "Puts the trampolines of all that is enrolled in their places."},
    {"close", close, METH_NOARGS, "Puts back what stood there."},
    {"is_from_python", is_from_python, METH_NOARGS, "Whether the code of the running frame calls this: a test of that."},
    {"switch_on", switch_on, METH_VARARGS, "switch_on(callee, is_on): whether it has its trampoline while a trace is open."},
    {"withdraw", withdraw, METH_O, "Takes back what was enrolled last, or an object that is called."},
    {nullptr, nullptr, 0, nullptr},
};

int fill(PyObject *module) { return PyModule_AddFunctions(module, methods); }

PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void *>(&fill)},
    USES_THE_GIL
    {0, nullptr},
};
PyModuleDef definition{PyModuleDef_HEAD_INIT, "_c_functions", "C functions that are intercepted; see _c_functions.pyi.", 0,
                       nullptr, slots, nullptr, nullptr, nullptr};

} // namespace

PyMODINIT_FUNC PyInit__c_functions() { return PyModuleDef_Init(&definition); }
