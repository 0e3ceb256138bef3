// The extension module wengert.tracing.interception._opened: a trace is open, and what is exchanged in the process meanwhile is.
//
// Opening and closing a trace each is one call that no signal can come into, and what an exception leaves unclosed is
// closed when the context is freed (native/context.h). So nothing is counted that could be counted wrongly: what is
// exchanged is exchanged as long as there is a context.
//
// Owned here: what has been named to be exchanged, for as long as the process lives; whose `type` is answered, and which
// arrays are lent, as long as a context says so. What somebody else has put in a place meanwhile is theirs to keep.
#include "../../../native/context.h"
#include "../../../runtime/native/processors.h"
#include "calling.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NO_IMPORT_ARRAY
#include <numpy/arrayobject.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

using wengert::Context, wengert::ErrorAside, wengert::Owned, wengert::said;

namespace {

PyTypeObject *ndarray;
PyObject *disordered; // the exception of traces that are closed in another order than they were opened in

PyObject *text(const char *name) { return PyUnicode_InternFromString(name); }
struct Names {
    PyObject *is_open = text("is_open"), *is_direct = text("is_direct"), *overtaken = text("_overtaken"),
             *read_only = text("read_only"), *lent = text("lent"), *lent_traced = text("lent_traced"),
             *why_readonly = text("_why_readonly"), *ended = text("_ended"), *code = text("__code__"), *empty = text("");
};
const Names *names;

bool set(PyObject *holder, PyObject *name, PyObject *value) { return PyObject_SetAttr(holder, name, value) == 0; }

// One attribute of all items of a list, or of a tuple, that is an attribute of `holder`.
bool set_all(PyObject *holder, PyObject *list, PyObject *name, PyObject *value) {
    const Owned items = Owned::stolen(PyObject_GetAttr(holder, list));
    if (items == nullptr) return false;
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(items.get()); k++)
        if (!set(PySequence_Fast_GET_ITEM(items.get(), k), name, value)) return false;
    return true;
}

// ------------------------------------------------------------------------------------------------ what finds a function

// Python hashes a function of C by the address of its code. Where a trampoline stands there, it is hashed by what stood
// there before, so that `{math.sin: rule}` finds it while a trace is open as it does else.
std::unordered_map<PyCFunction, PyCFunction> behind; // a trampoline: what it stands before
const std::array<PyTypeObject *, 2> hashed{&PyCFunction_Type, &PyCMethod_Type};
const hashfunc own_hash = PyCFunction_Type.tp_hash; // and PyCMethod_Type's

Py_hash_t hash(PyObject *function) {
    PyMethodDef *const def = reinterpret_cast<PyCFunctionObject *>(function)->m_ml;
    const PyCFunction there = def->ml_meth;
    const auto found = behind.find(there);
    if (found == behind.end()) return own_hash(function);
    wengert::store_released(def->ml_meth, found->second);
    const Py_hash_t result = own_hash(function);
    wengert::store_released(def->ml_meth, there);
    return result;
}

void hash_by(PyCFunction trampoline, PyCFunction own) { behind[trampoline] = own; }

// ------------------------------------------------------------------------- what is exchanged while any trace is open

struct Code { // of a function of Python's
    PyObject *function, *own, *ours;
};
struct Exchange { // C functions without arguments, which have theirs
    PyObject *begin, *end;
};
std::vector<Code> all_code;
std::vector<Exchange> exchanges;

// As `function.__code__ = now` does, which looks at what both need, and takes 20 ns: with all of SciPy imported there are
// 800 functions. The version 0 tells the interpreter that code which was specialised for the function is so no longer.
void put_code(PyObject *function, PyObject *old, PyObject *now) {
    auto *of_python = reinterpret_cast<PyFunctionObject *>(function);
    if (of_python->func_code != old) return;
    of_python->func_version = 0;
    of_python->func_code = Py_NewRef(now);
    Py_DECREF(old);
}

bool call(PyObject *function) {
    const Owned done = Owned::stolen(PyObject_CallNoArgs(function));
    return done != nullptr;
}

void end_all() {
    for (const Code &one : all_code) put_code(one.function, one.ours, one.own);
    for (const Exchange &one : exchanges) said(call(one.end));
    for (PyTypeObject *const type : hashed)
        if (type->tp_hash == &hash) type->tp_hash = own_hash;
}

bool begin_all() {
    for (PyTypeObject *const type : hashed)
        if (type->tp_hash == own_hash) type->tp_hash = &hash;
    bool is_done = true;
    for (const Exchange &one : exchanges) is_done = is_done && call(one.begin);
    if (!is_done) return false;
    for (const Code &one : all_code) put_code(one.function, one.own, one.ours);
    return true;
}

// -------------------------------------------------------------------------------------------- arrays that a trace is lent

std::unordered_set<PyObject *> lent; // not writeable until the trace ends that has it in its list

void give_back(PyObject *read_only) { // what a trace keeps from being written: see read_only.py
    const Owned arrays = Owned::stolen(PyObject_GetAttr(read_only, names->lent));
    if (arrays == nullptr) return said(false);
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(arrays.get()); k++) {
        PyObject *array = PyList_GET_ITEM(arrays.get(), k);
        if (lent.erase(array) != 0) PyArray_ENABLEFLAGS(reinterpret_cast<PyArrayObject *>(array), NPY_ARRAY_WRITEABLE);
    }
}

// ------------------------------------------------------------------------------------------------------- an open trace

// How many traces this thread has opened that are open: what is exchanged asks this first, in whichever thread it is
// called. A trace may be closed by another thread (that of a generator which goes on there), after this one has ended,
// so the count is shared by both. It says what may be: while `suspended()`, a thread does not trace though it is not 0.
thread_local std::shared_ptr<int> n_of_this_thread;

bool is_tracing() { return n_of_this_thread != nullptr && *n_of_this_thread > 0; }

struct Opened {
    Owned trace, stack;
    std::shared_ptr<int> n_of_its_thread{};

    bool enter(bool is_first) {
        if (n_of_this_thread == nullptr) n_of_this_thread = std::make_shared<int>(0);
        n_of_its_thread = n_of_this_thread;
        ++*n_of_its_thread;
        if (PyList_Append(stack, trace) < 0) return false;
        const bool is_done = set_all(trace, names->overtaken, names->is_direct, Py_False) &&
                             set(trace, names->is_direct, Py_True) && set(trace, names->is_open, Py_True) &&
                             (!is_first || begin_all());
        if (is_done) return true;
        const ErrorAside aside;
        leave(is_first);
        return false;
    }

    bool was_last = true; // of the traces of its thread

    void leave(bool is_last) {
        --*n_of_its_thread;
        const Py_ssize_t n = PyList_GET_SIZE(stack.get());
        for (Py_ssize_t k = n - 1; k >= 0; k--)
            if (PyList_GET_ITEM(stack.get(), k) == trace) {
                was_last = k == n - 1;
                said(PyList_SetSlice(stack, k, k + 1, nullptr) == 0);
                break;
            }
        if (is_last) end_all();
        said(set(trace, names->is_open, Py_False));
        said(set(trace, names->is_direct, Py_False));
        said(set_all(trace, names->overtaken, names->is_direct, Py_True));
        const Owned read_only = Owned::stolen(PyObject_GetAttr(trace, names->read_only));
        if (read_only == nullptr) return said(false);
        said(set_all(read_only, names->lent_traced, names->why_readonly, names->empty));
        give_back(read_only);
    }

    PyObject *entered() { return trace; }

    PyObject *exited(bool is_error) {
        if (!was_last) {
            PyErr_SetString(disordered, "traces are closed in another order than they were opened in");
            return nullptr;
        }
        return PyObject_CallMethodOneArg(trace, names->ended, is_error ? Py_True : Py_False);
    }
};

PyObject *opened(PyObject *, PyObject *args) {
    PyObject *trace, *stack;
    if (!PyArg_ParseTuple(args, "OO!:opened", &trace, &PyList_Type, &stack)) return nullptr;
    return Context<Opened>::make(trace, stack);
}

// ------------------------------------------------------------------------------- functions whose code asks for no `type`

struct Answer {
    Owned function, own, ours;
    int wanted;
};
std::map<PyObject *, Answer> answers; // by the function

struct Answered {
    Owned functions, codes; // tuples of one length
    Py_ssize_t n_done = 0;

    bool enter(bool) {
        for (; n_done < PyTuple_GET_SIZE(functions.get()); n_done++) {
            PyObject *function = PyTuple_GET_ITEM(functions.get(), n_done), *ours = PyTuple_GET_ITEM(codes.get(), n_done);
            PyObject *own = PyFunction_GET_CODE(function);
            Answer &answer = answers.try_emplace(function, Answer{function, own, ours, 0}).first->second;
            answer.wanted++;
            if (own != ours && !set(function, names->code, ours)) {
                n_done++;
                const ErrorAside aside;
                leave(false);
                return false;
            }
        }
        return true;
    }
    void leave(bool) {
        while (n_done > 0) {
            const auto found = answers.find(PyTuple_GET_ITEM(functions.get(), --n_done));
            if (found == answers.end() || --found->second.wanted > 0) continue;
            const Answer answer = std::move(found->second);
            answers.erase(found);
            put_code(answer.function, answer.ours, answer.own);
        }
    }
    PyObject *entered() { return Py_None; }
    PyObject *exited(bool) { Py_RETURN_NONE; }
};

PyObject *answered(PyObject *, PyObject *args) {
    PyObject *functions, *codes;
    if (!PyArg_ParseTuple(args, "O!O!:answered", &PyTuple_Type, &functions, &PyTuple_Type, &codes)) return nullptr;
    bool are_sound = PyTuple_GET_SIZE(functions) == PyTuple_GET_SIZE(codes);
    for (Py_ssize_t k = 0; are_sound && k < PyTuple_GET_SIZE(functions); k++)
        are_sound = PyFunction_Check(PyTuple_GET_ITEM(functions, k)) && PyCode_Check(PyTuple_GET_ITEM(codes, k));
    if (!are_sound) return PyErr_Format(PyExc_TypeError, "answered takes functions, and as many codes");
    return Context<Answered>::make(functions, codes);
}

// ------------------------------------------------------------------------------------------- the bytes of an array, told

// In pieces of 64 bytes, as XXH3 does (Collet, xxHash): as fast as memory gives them. Where one word of an array changes
// the lane beside it changes for certain, as all that is done to it afterwards can be undone.
constexpr int n_lanes = 8, n_keys = 16;
constexpr uint64_t odd = 0x9e3779b97f4a7c15;
using Lanes = std::array<uint64_t, n_lanes>;

constexpr auto keys = [] {
    std::array<uint64_t, n_lanes + n_keys> made{};
    uint64_t state = odd;
    for (uint64_t &key : made) {
        state = state * 6364136223846793005 + 1442695040888963407;
        key = state ^ (state >> 29);
    }
    return made;
}();

FOR_EACH_PROCESSOR void add_pieces(uint64_t *__restrict lanes, const char *__restrict bytes, Py_ssize_t n, uint64_t number) {
    for (Py_ssize_t k = 0; k < n; k++, number++, bytes += 64) {
        const uint64_t *key = keys.data() + number % n_keys; // so that it matters which piece it is
        uint64_t words[n_lanes];
        std::memcpy(words, bytes, 64);
        for (int i = 0; i < n_lanes; i++) {
            const uint64_t mixed = words[i] ^ key[i];
            lanes[i] += words[i ^ 1] + (mixed & 0xffffffff) * (mixed >> 32);
        }
        if (number % n_keys == n_keys - 1)
            for (int i = 0; i < n_lanes; i++) lanes[i] = ((lanes[i] ^ (lanes[i] >> 47)) ^ keys[i]) * 0x9e3779b1;
    }
}

class Digest {
    Lanes lanes{1, 2, 3, 4, 5, 6, 7, 8};
    uint64_t n_pieces = 0, n_bytes = 0;
    std::array<char, 64> piece{}; // that is not full yet:
    Py_ssize_t filled = 0;

    void add_full(const char *bytes, Py_ssize_t n) {
        add_pieces(lanes.data(), bytes, n, n_pieces);
        n_pieces += n;
    }

    void add(const char *bytes, Py_ssize_t n) {
        n_bytes += n;
        while (n > 0) {
            Py_ssize_t taken = n - n % 64;
            if (filled > 0 || taken == 0) {
                taken = std::min(n, 64 - filled);
                std::memcpy(piece.data() + filled, bytes, taken);
                filled = (filled + taken) % 64;
                if (filled == 0) add_full(piece.data(), 1);
            } else {
                add_full(bytes, taken / 64);
            }
            bytes += taken;
            n -= taken;
        }
    }

    // Of the axes from `axis` on, which go from the longest stride to the shortest.
    void add(const Py_buffer &of, const std::vector<int> &axes, const char *at, size_t axis) {
        Py_ssize_t inner = of.itemsize; // how much of it lies in one piece
        size_t k = axes.size();
        for (; k > axis && of.strides[axes[k - 1]] == inner; k--) inner *= of.shape[axes[k - 1]];
        if (k == axis) return add(at, inner);
        for (Py_ssize_t i = 0; i < of.shape[axes[axis]]; i++) add(of, axes, at + i * of.strides[axes[axis]], axis + 1);
    }

  public:
    explicit Digest(const Py_buffer &of) {
        std::vector<int> axes(of.ndim);
        for (int k = 0; k < of.ndim; k++) axes[k] = k;
        std::stable_sort(axes.begin(), axes.end(),
                         [&](int a, int b) { return std::abs(of.strides[a]) > std::abs(of.strides[b]); });
        if (of.len > 0) add(of, axes, static_cast<const char *>(of.buf), 0);
        std::fill(piece.begin() + filled, piece.end(), 0);
        if (filled > 0) add_full(piece.data(), 1);
    }
    uint64_t end() const {
        uint64_t all = n_bytes;
        for (const uint64_t lane : lanes) {
            all = (all ^ lane) * odd;
            all ^= all >> 32;
        }
        return all;
    }
};

PyObject *digest(PyObject *, PyObject *array) {
    Py_buffer buffer;
    if (PyObject_GetBuffer(array, &buffer, PyBUF_STRIDED_RO) < 0) return nullptr;
    const uint64_t told = Digest(buffer).end();
    PyBuffer_Release(&buffer);
    return PyLong_FromUnsignedLongLong(told);
}

// ---------------------------------------------------------------------------------------------- the module's functions

int n_harmless; // threads that write no array of the user's

struct Harmless {
    bool enter(bool) { return ++n_harmless; }
    void leave(bool) { --n_harmless; }
    PyObject *entered() { return Py_None; }
    PyObject *exited(bool) { Py_RETURN_NONE; }
};

PyObject *harmless(PyObject *, PyObject *) { return Context<Harmless>::make(); }

bool are_others_running() { // threads that Python knows, which may write an array at any time
    int n = 0;
    PyThreadState *one = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; one != nullptr && n < 2 + n_harmless; one = PyThreadState_Next(one)) n++;
    return n > 1 + n_harmless;
}

PyObject *lend(PyObject *, PyObject *args) {
    PyObject *list, *array;
    if (!PyArg_ParseTuple(args, "O!O!:lend", &PyList_Type, &list, ndarray, &array)) return nullptr;
    auto *numpys = reinterpret_cast<PyArrayObject *>(array);
    if (!(PyArray_FLAGS(numpys) & NPY_ARRAY_WRITEABLE)) Py_RETURN_TRUE;
    if (are_others_running()) Py_RETURN_FALSE;
    if (PyList_Append(list, array) < 0) return nullptr;
    lent.insert(array);
    PyArray_CLEARFLAGS(numpys, NPY_ARRAY_WRITEABLE);
    Py_RETURN_TRUE;
}

PyObject *is_lent(PyObject *, PyObject *array) { return PyBool_FromLong(lent.count(array) != 0); }

PyObject *exchange_code(PyObject *, PyObject *args) {
    PyObject *function, *own, *ours;
    if (!PyArg_ParseTuple(args, "O!O!O!:exchange_code", &PyFunction_Type, &function, &PyCode_Type, &own, &PyCode_Type,
                          &ours))
        return nullptr;
    for (const Code &one : all_code)
        if (one.function == function) Py_RETURN_NONE;
    const auto n_free = [](PyObject *code) { return reinterpret_cast<PyCodeObject *>(code)->co_nfreevars; };
    if (n_free(own) != n_free(ours)) {
        PyErr_SetString(PyExc_ValueError, "both codes must have as many free variables");
        return nullptr;
    }
    all_code.push_back({Py_NewRef(function), Py_NewRef(own), Py_NewRef(ours)});
    if (Context<Opened>::last != nullptr) put_code(function, own, ours);
    Py_RETURN_NONE;
}

PyObject *give_code_back(PyObject *, PyObject *function) {
    const auto found = std::find_if(all_code.begin(), all_code.end(), [&](const Code &c) { return c.function == function; });
    if (found == all_code.end()) Py_RETURN_NONE;
    const Code one = *found;
    all_code.erase(found);
    put_code(one.function, one.ours, one.own);
    for (PyObject *held : {one.function, one.own, one.ours}) Py_DECREF(held);
    Py_RETURN_NONE;
}

PyObject *exchange(PyObject *, PyObject *args) {
    PyObject *begin, *end;
    if (!PyArg_ParseTuple(args, "O!O!:exchange", &PyCFunction_Type, &begin, &PyCFunction_Type, &end)) return nullptr;
    exchanges.push_back({Py_NewRef(begin), Py_NewRef(end)});
    if (Context<Opened>::last != nullptr && !call(begin)) return nullptr;
    Py_RETURN_NONE;
}

PyObject *begin_again(PyObject *, PyObject *) {
    if (Context<Opened>::last != nullptr && !begin_all()) return nullptr;
    Py_RETURN_NONE;
}

PyObject *setup(PyObject *, PyObject *args) {
    PyObject *arrays, *error;
    if (!PyArg_ParseTuple(args, "O!O:setup", &PyType_Type, &arrays, &error)) return nullptr;
    Py_XSETREF(ndarray, reinterpret_cast<PyTypeObject *>(Py_NewRef(arrays)));
    Py_XSETREF(disordered, Py_NewRef(error));
    Py_RETURN_NONE;
}

PyObject *forked(PyObject *, PyObject *) {
    Context<Harmless>::leave_those_of_other_threads();
    Context<Answered>::leave_those_of_other_threads();
    Context<Opened>::leave_those_of_other_threads();
    Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"setup", setup, METH_VARARGS, "setup(ndarray, error): the class of arrays, and what is raised for a wrong order."},
    {"opened", opened, METH_VARARGS, "opened(trace, stack): a context in which a trace is open, the last of its stack."},
    {"answered", answered, METH_VARARGS, "answered(functions, codes): a context in which functions have these codes."},
    {"exchange_code", exchange_code, METH_VARARGS, "exchange_code(function, own, ours): while a trace is open."},
    {"give_code_back", give_code_back, METH_O, "Exchanges a function's code no more."},
    {"exchange", exchange, METH_VARARGS, "exchange(begin, end): C functions, called when the first trace is opened, and "
                                         "when the last one is closed."},
    {"begin_again", begin_again, METH_NOARGS, "Exchanges what has been enrolled since a trace that is open was opened."},
    {"harmless", harmless, METH_NOARGS, "A context in which this thread writes no array of the user's."},
    {"lend", lend, METH_VARARGS, "lend(list, array): not writeable until the trace ends whose list it is; False if "
                                 "there are other threads, which may want to write it."},
    {"is_lent", is_lent, METH_O, "Whether an array is not writeable because a trace is lent it."},
    {"digest", digest, METH_O, "A number that is another one when an element of an array is."},
    {"forked", forked, METH_NOARGS, "In a child process: leaves the contexts of threads that are not in it."},
    {nullptr, nullptr, 0, nullptr},
};

wengert::OfOpened of_opened{&is_tracing, &hash_by};

int fill(PyObject *module) {
    if (names == nullptr) names = new (std::nothrow) Names;
    const bool is_made = names != nullptr && Context<Opened>::make_type("wengert.tracing.interception._opened.Opened") &&
                         Context<Answered>::make_type("wengert.tracing.interception._opened.Answered") &&
                         Context<Harmless>::make_type("wengert.tracing.interception._opened.Harmless");
    if (!is_made || PyModule_AddFunctions(module, functions) < 0) return -1;
    const Owned capsule = Owned::stolen(PyCapsule_New(&of_opened, wengert::is_tracing_capsule, nullptr));
    return capsule == nullptr ? -1 : PyModule_AddObjectRef(module, "is_tracing", capsule);
}

PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void *>(&fill)},
    USES_THE_GIL
    {0, nullptr},
};
PyModuleDef definition{PyModuleDef_HEAD_INIT, "_opened", "What is exchanged while a trace is open; see _opened.pyi.", 0,
                       nullptr, slots, nullptr, nullptr, nullptr};

} // namespace

PyMODINIT_FUNC PyInit__opened() { return PyModuleDef_Init(&definition); }
