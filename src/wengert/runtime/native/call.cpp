// The fast path of a jitted function: the Python types Dispatcher and Entry.
//
// An Entry says for which arguments, and in which surroundings, an executable is the function. A call that fits one
// runs it straight into the result; every other call is Python's affair (`_slow`). Entries are immutable; a
// dispatcher's tuple of them is replaced as a whole. With the GIL held; leaves are owned while they are looked at,
// since looking at a place may run any Python code.
#include "../../native/platform.h"
#include "finite.h"
#include "places.h"
#include "signature.h"

#include <structmember.h>

#include <algorithm>
#include <memory>

namespace wengert {

PyTypeObject *dispatcher_type = nullptr, *entry_type = nullptr;

namespace {

constexpr Py_ssize_t MAX_ENTRIES = 4;

struct Entry {
    Node structure;               // of the positional arguments, then of those by name
    PyObject *keywords = nullptr; // the tuple of their names, a strong reference
    std::vector<Leaf> leaves;
    Surroundings surroundings;
    std::vector<uint32_t> input_leaves;
    ExecutableObject *executable = nullptr; // strong references
    PyObject *token = nullptr;
    PyObject *unflatten = nullptr; // nullptr: `result` is the structure
    Node result;
    std::vector<uint32_t> written; // inputs that the function writes: it is run only if they lie apart from the others
    bool is_cleared = false; // by the garbage collector
    std::atomic<uint64_t> calls{0};
};

struct EntryObject {
    PyObject_HEAD
    Entry entry;
};

struct DispatcherObject {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *entries; // a tuple; the most recently installed first. A strong reference, nullptr once cleared
    std::atomic<uint64_t> calls;
    char looks; // for NaNs, at every call
};

Entry &entry_of(PyObject *self) { return reinterpret_cast<EntryObject *>(self)->entry; }
DispatcherObject *dispatcher_of(PyObject *self) { return reinterpret_cast<DispatcherObject *>(self); }

// ---------------------------------------------------------------------------------------------------------- calling

PyObject *unflattened(PyObject *unflatten, const Executable &code, Frame &frame) {
    const auto n = static_cast<Py_ssize_t>(code.outputs.size());
    PyObject *list = PyList_New(n);
    if (list == nullptr) return nullptr;
    for (Py_ssize_t k = 0; k < n; k++) {
        PyList_SET_ITEM(list, k, frame.results[k]);
        frame.results[k] = nullptr;
    }
    PyObject *result = PyObject_CallOneArg(unflatten, list);
    Py_DECREF(list);
    return result;
}

enum class Attempt : uint8_t { no_fit, done, missed, failed };

// References to the leaves of one call: on the stack, unless there are many.
class Leaves {
  public:
    Leaves(size_t n_owned, size_t n_borrowed) : n_owned_(n_owned) {
        const size_t n = n_owned + n_borrowed;
        if (n > std::size(few_)) {
            words_ = static_cast<PyObject **>(PyMem_Malloc(n * sizeof(PyObject *)));
            if (words_ == nullptr) return;
        }
        for (size_t k = 0; k < n_owned; k++) words_[k] = nullptr;
    }
    ~Leaves() {
        if (words_ == nullptr) return;
        for (size_t k = 0; k < n_owned_; k++) Py_XDECREF(words_[k]);
        if (words_ != few_) PyMem_Free(words_);
    }
    Leaves(const Leaves &) = delete;
    Leaves &operator=(const Leaves &) = delete;

    bool is_valid() const { return words_ != nullptr; }
    PyObject **owned() { return words_; }
    PyObject **borrowed() { return words_ + n_owned_; }

  private:
    PyObject *few_[48];
    PyObject **words_ = few_;
    size_t n_owned_;
};

// Where the elements of an array begin and end in memory; nothing for what is no array.
struct Extent {
    const char *begin = nullptr, *end = nullptr;

    explicit Extent(PyObject *x) {
        if (!PyArray_Check(x)) return;
        auto *array = reinterpret_cast<PyArrayObject *>(x);
        if (PyArray_SIZE(array) == 0) return;
        begin = PyArray_BYTES(array);
        end = begin + PyArray_ITEMSIZE(array);
        for (int k = 0; k < PyArray_NDIM(array); k++) {
            const npy_intp far = (PyArray_DIM(array, k) - 1) * PyArray_STRIDE(array, k);
            (far < 0 ? begin : end) += far;
        }
    }
};

// Whether no input that is written can share memory with another or with a captured array, going by their extents.
bool lie_apart(const Entry &entry, const Executable &code, PyObject *const *inputs) {
    if (entry.written.empty()) return true;
    std::vector<std::pair<Extent, bool>> extents; // and whether it is written
    extents.reserve(code.inputs.size() + code.captured.size());
    for (size_t k = 0; k < code.inputs.size(); k++) extents.emplace_back(Extent(inputs[k]), false);
    for (uint32_t k : entry.written) extents[k].second = true;
    for (PyArrayObject *captured : code.captured)
        extents.emplace_back(Extent(reinterpret_cast<PyObject *>(captured)), false);
    std::erase_if(extents, [](const auto &one) { return one.first.begin == one.first.end; });
    std::sort(extents.begin(), extents.end(),
              [](const auto &one, const auto &other) { return one.first.begin < other.first.begin; });
    const char *end = nullptr, *written_end = nullptr; // of all so far, of those that are written
    for (const auto &[extent, is_written] : extents) {
        if (extent.begin < (is_written ? end : written_end)) return false;
        end = std::max(end, extent.end);
        if (is_written) written_end = std::max(written_end, extent.end);
    }
    return true;
}

bool same_names(const Entry &entry, PyObject *keywords, size_t n_named) {
    if (static_cast<size_t>(PyTuple_GET_SIZE(entry.keywords)) != n_named) return false;
    for (size_t k = 0; k < n_named; k++) {
        PyObject *name = PyTuple_GET_ITEM(keywords, k), *expected = PyTuple_GET_ITEM(entry.keywords, k);
        if (name != expected && PyUnicode_Compare(name, expected) != 0) return false;
    }
    return true;
}

// `args` are the positional arguments and then the `n_named` first ones of `keywords`. `result` is the function's
// result if done; the bytes that the guard saw, and its position, if missed.
Attempt attempt(Entry &entry, PyObject *const *args, size_t n_args, PyObject *keywords, size_t n_named, PyObject *out,
                PyObject *&result, int64_t &position) {
    if (n_args != entry.structure.children.size() || entry.is_cleared) return Attempt::no_fit;
    if (!same_names(entry, keywords, n_named)) return Attempt::no_fit;
    if (out != nullptr && entry.unflatten != nullptr) return Attempt::no_fit;
    Executable &code = entry.executable->code;
    const size_t n_leaves = entry.leaves.size(), n_out = out == nullptr ? 0 : code.outputs.size();
    Leaves leaves(n_leaves + n_out, code.inputs.size());
    if (!leaves.is_valid()) {
        PyErr_NoMemory();
        return Attempt::failed;
    }
    const auto no_fit = [] { return PyErr_Occurred() ? Attempt::failed : Attempt::no_fit; };
    for (size_t k = 0; k < n_args; k++)
        if (!matches(entry.structure.children[k], args[k], &entry.leaves, leaves.owned())) return no_fit();
    PyObject **outs = nullptr;
    if (out != nullptr) {
        outs = leaves.owned() + n_leaves;
        if (!matches(entry.result, out, nullptr, outs)) return no_fit();
        for (size_t k = 0; k < n_out; k++)
            if (outs[k] == Py_None) return Attempt::no_fit; // which to run_frame means a fresh array
    }
    if (!entry.surroundings.hold()) return no_fit();
    PyObject **inputs = leaves.borrowed();
    for (size_t k = 0; k < code.inputs.size(); k++) inputs[k] = leaves.owned()[entry.input_leaves[k]];
    if (!lie_apart(entry, code, inputs)) return Attempt::no_fit;

    count(entry.calls);
    Frame *frame = take_frame(code);
    if (frame == nullptr) return Attempt::failed;
    Attempt attempt = Attempt::failed;
    Miss miss;
    switch (run_frame(code, *frame, inputs, nullptr, outs, true, miss)) {
    case Outcome::done:
        if (out != nullptr)
            result = Py_NewRef(out);
        else if (entry.unflatten != nullptr)
            result = unflattened(entry.unflatten, code, *frame);
        else
            result = build(entry.result, frame->results);
        if (result != nullptr) attempt = Attempt::done;
        break;
    case Outcome::guard_missed:
        result = miss_bytes(miss);
        position = miss.guard->position;
        if (result != nullptr) attempt = Attempt::missed;
        break;
    case Outcome::refused: // `out` does not fit: what is wrong with it is said by the slow path
        PyErr_Clear();
        attempt = Attempt::no_fit;
        break;
    case Outcome::failed:
        break;
    }
    return_frame(code, frame);
    return attempt;
}

struct Names {
    PyObject *out, *slow, *missed; // interned, made with the module
} names;

bool call_in_python(PyObject *const *args, size_t n_args, PyObject *keywords, PyObject *&positional,
                    PyObject *&by_name) {
    const auto n = static_cast<Py_ssize_t>(n_args);
    positional = PyTuple_New(n);
    by_name = PyDict_New();
    bool is_made = positional != nullptr && by_name != nullptr;
    for (Py_ssize_t k = 0; is_made && k < n; k++) PyTuple_SET_ITEM(positional, k, Py_NewRef(args[k]));
    const Py_ssize_t n_names = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
    for (Py_ssize_t k = 0; is_made && k < n_names; k++)
        is_made = PyDict_SetItem(by_name, PyTuple_GET_ITEM(keywords, k), args[n + k]) == 0;
    if (!is_made) {
        Py_CLEAR(positional);
        Py_CLEAR(by_name);
    }
    return is_made;
}

NOT_INLINED PyObject *call_slow(PyObject *self, PyObject *const *args, size_t n_args, PyObject *keywords) {
    PyObject *positional, *by_name;
    if (!call_in_python(args, n_args, keywords, positional, by_name)) return nullptr;
    PyObject *result = PyObject_CallMethodObjArgs(self, names.slow, positional, by_name, nullptr);
    Py_DECREF(positional);
    Py_DECREF(by_name);
    return result;
}

NOT_INLINED PyObject *call_missed(PyObject *self, PyObject *token, int64_t position, PyObject *seen,
                                        PyObject *const *args, size_t n_args, PyObject *keywords) {
    PyObject *positional, *by_name, *result = nullptr;
    if (!call_in_python(args, n_args, keywords, positional, by_name)) return nullptr;
    if (PyObject *number = PyLong_FromLongLong(position)) {
        result = PyObject_CallMethodObjArgs(self, names.missed, token, number, seen, positional, by_name, nullptr);
        Py_DECREF(number);
    }
    Py_DECREF(positional);
    Py_DECREF(by_name);
    return result;
}

// The tuple of entries as it is now: a new reference, for Python code that runs meanwhile may replace it.
PyObject *entries_now(DispatcherObject *dispatcher) {
    PyObject *entries;
#ifdef Py_GIL_DISABLED
    Py_BEGIN_CRITICAL_SECTION(dispatcher);
    entries = Py_XNewRef(dispatcher->entries);
    Py_END_CRITICAL_SECTION();
#else
    entries = Py_XNewRef(dispatcher->entries);
#endif
    return entries;
}

void replace_entries(DispatcherObject *dispatcher, PyObject *entries) { // steals
    PyObject *old;
#ifdef Py_GIL_DISABLED
    Py_BEGIN_CRITICAL_SECTION(dispatcher);
    old = dispatcher->entries;
    dispatcher->entries = entries;
    Py_END_CRITICAL_SECTION();
#else
    old = dispatcher->entries;
    dispatcher->entries = entries;
#endif
    Py_XDECREF(old);
}

PyObject *dispatcher_answer(PyObject *self, PyObject *const *args, size_t n_args_and_flag, PyObject *keywords) {
    DispatcherObject *dispatcher = dispatcher_of(self);
    const auto n_args = static_cast<size_t>(PyVectorcall_NARGS(n_args_and_flag));
    count(dispatcher->calls);
    PyObject *out = nullptr;
    size_t n_named = keywords == nullptr ? 0 : static_cast<size_t>(PyTuple_GET_SIZE(keywords));
    if (n_named > 0) {
        PyObject *last = PyTuple_GET_ITEM(keywords, n_named - 1);
        if (last == names.out || PyUnicode_Compare(last, names.out) == 0) { // elsewhere it is the slow path's
            n_named--;
            if (args[n_args + n_named] != Py_None) out = args[n_args + n_named];
        }
    }
    PyObject *entries = entries_now(dispatcher);
    const Py_ssize_t n_entries = entries == nullptr ? 0 : PyTuple_GET_SIZE(entries);
    for (Py_ssize_t k = 0; k < n_entries; k++) {
        PyObject *result = nullptr;
        int64_t position = 0;
        Entry &entry = entry_of(PyTuple_GET_ITEM(entries, k));
        const Attempt outcome =
            attempt(entry, args, n_args + n_named, keywords, n_named, out, result, position);
        if (outcome == Attempt::no_fit) continue;
        if (outcome == Attempt::missed) {
            PyObject *seen = result;
            result = call_missed(self, entry.token, position, seen, args, n_args, keywords);
            Py_DECREF(seen);
        }
        Py_DECREF(entries);
        return result;
    }
    Py_XDECREF(entries);
    return call_slow(self, args, n_args, keywords);
}

NOT_INLINED PyObject *answer_looking(PyObject *self, PyObject *const *args, size_t n_args, PyObject *keywords) {
    const Looked looked(Looking::all);
    return dispatcher_answer(self, args, n_args, keywords);
}

PyObject *dispatcher_call(PyObject *self, PyObject *const *args, size_t n_args_and_flag, PyObject *keywords) {
    if (dispatcher_of(self)->looks) [[unlikely]] return answer_looking(self, args, n_args_and_flag, keywords);
    return dispatcher_answer(self, args, n_args_and_flag, keywords);
}

// ----------------------------------------------------------------------------------------------------------- Entry

PyObject *entry_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static const char *words[] = {"structure", "leaves", "places", "executable", "input_leaves", "result", "token",
                                  "keywords", "written", nullptr};
    PyObject *structure, *leaves, *places, *executable, *input_leaves, *result, *token, *keywords = nullptr, *written = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOO!OOO|O!O", const_cast<char **>(words), &structure, &leaves,
                                     &places, executable_type, &executable, &input_leaves, &result, &token,
                                     &PyTuple_Type, &keywords, &written))
        return nullptr;
    PyObject *self = type->tp_alloc(type, 0);
    if (self == nullptr) return nullptr;
    Entry &entry = *new (&entry_of(self)) Entry;
    const bool is_made = guarded([&] {
        entry.executable = reinterpret_cast<ExecutableObject *>(Py_NewRef(executable));
        entry.token = Py_NewRef(token);
        entry.keywords = keywords != nullptr ? Py_NewRef(keywords) : PyTuple_New(0);
        if (entry.keywords == nullptr) throw nb::python_error();
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(entry.keywords); k++)
            if (!PyUnicode_Check(PyTuple_GET_ITEM(entry.keywords, k)))
                throw std::invalid_argument("a keyword is a string");
        const Executable &code = entry.executable->code;
        nb::object items = items_of(leaves, "leaves");
        entry.leaves.resize(length(items));
        for (size_t k = 0; k < entry.leaves.size(); k++) read_leaf(item(items, k), entry.leaves[k]);
        read_node(structure, entry.leaves.size(), entry.structure);
        if (entry.structure.kind != Node::tuple)
            throw std::invalid_argument("the structure of the arguments is a tuple");
        if (static_cast<size_t>(PyTuple_GET_SIZE(entry.keywords)) > entry.structure.children.size())
            throw std::invalid_argument("there are more keywords than arguments");
        entry.surroundings.read(places);
        items = items_of(input_leaves, "input_leaves", static_cast<Py_ssize_t>(code.inputs.size()));
        std::vector<bool> is_named(entry.leaves.size());
        name_leaves(entry.structure, is_named);
        for (size_t k = 0; k < code.inputs.size(); k++) {
            const int64_t leaf = integer(item(items, k));
            if (leaf < 0 || static_cast<size_t>(leaf) >= entry.leaves.size() || !is_named[leaf])
                throw std::invalid_argument("input " + std::to_string(k) + " is a leaf that there is not");
            if (!implies(entry.leaves[leaf], code.inputs[k]))
                throw std::invalid_argument("leaf " + std::to_string(leaf) + " does not fit input " +
                                            std::to_string(k));
            entry.input_leaves.push_back(static_cast<uint32_t>(leaf));
        }
        if (written != nullptr) {
            items = items_of(written, "written");
            for (size_t k = 0; k < length(items); k++) {
                const int64_t number = integer(item(items, k));
                if (number < 0 || static_cast<size_t>(number) >= code.inputs.size())
                    throw std::invalid_argument("an input is written that there is not");
                entry.written.push_back(static_cast<uint32_t>(number));
            }
        }
        if (PyCallable_Check(result)) {
            entry.unflatten = Py_NewRef(result);
        } else {
            read_node(result, code.outputs.size(), entry.result);
            std::vector<bool> is_given(code.outputs.size()); // every output has its place, so that out= gives each
            name_leaves(entry.result, is_given);
            for (bool is_there : is_given)
                if (!is_there) throw std::invalid_argument("the result leaves out an output");
        }
        return true;
    });
    if (!is_made) Py_CLEAR(self);
    return self;
}

int entry_traverse(PyObject *self, visitproc visit, void *arg) {
    Entry &entry = entry_of(self);
    for (Leaf &leaf : entry.leaves) Py_VISIT(leaf.object);
    if (int stop = entry.surroundings.traverse(visit, arg)) return stop;
    Py_VISIT(entry.executable);
    Py_VISIT(entry.token);
    Py_VISIT(entry.unflatten);
    Py_VISIT(Py_TYPE(self));
    if (int stop = visit_keys(entry.structure, visit, arg)) return stop;
    return visit_keys(entry.result, visit, arg);
}

int entry_clear(PyObject *self) { // the executable breaks its own cycles
    Entry &entry = entry_of(self);
    entry.is_cleared = true;
    std::vector<Leaf> leaves = std::move(entry.leaves);
    Node structure = std::move(entry.structure), result = std::move(entry.result);
    entry.leaves.clear();
    entry.structure = Node{};
    entry.result = Node{};
    release_keys(structure);
    release_keys(result);
    for (Leaf &leaf : leaves) {
        Py_XDECREF(leaf.object);
        release(leaf.operand);
    }
    entry.surroundings.clear();
    Py_CLEAR(entry.token);
    Py_CLEAR(entry.unflatten);
    return 0;
}

void entry_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    entry_clear(self);
    Py_XDECREF(entry_of(self).executable);
    Py_XDECREF(entry_of(self).keywords);
    entry_of(self).~Entry();
    type->tp_free(self);
    Py_DECREF(type);
}

PyObject *entry_calls(PyObject *self, void *) {
    return PyLong_FromUnsignedLongLong(entry_of(self).calls.load(std::memory_order_relaxed));
}
PyObject *entry_token(PyObject *self, void *) {
    return Py_NewRef(entry_of(self).token != nullptr ? entry_of(self).token : Py_None);
}
PyObject *entry_executable(PyObject *self, void *) {
    return Py_NewRef(reinterpret_cast<PyObject *>(entry_of(self).executable));
}

PyObject *entry_looks(PyObject *self, void *) {
    const Surroundings &surroundings = entry_of(self).surroundings;
    return Py_BuildValue("nnn", static_cast<Py_ssize_t>(surroundings.n_compared()),
                         static_cast<Py_ssize_t>(surroundings.n_watched()),
                         static_cast<Py_ssize_t>(surroundings.n_looks()));
}

PyGetSetDef entry_getset[] = {{"calls", entry_calls, nullptr, "how many calls it ran", nullptr},
                              {"token", entry_token, nullptr, "what `_missed` is told", nullptr},
                              {"executable", entry_executable, nullptr, "what it runs", nullptr},
                              {"looks", entry_looks, nullptr,
                               "how many places are compared at every call, how many after a change alone, and how "
                               "often those were",
                               nullptr},
                              {}};

PyType_Slot entry_slots[] = {{Py_tp_new, reinterpret_cast<void *>(entry_new)},
                             {Py_tp_dealloc, reinterpret_cast<void *>(entry_dealloc)},
                             {Py_tp_traverse, reinterpret_cast<void *>(entry_traverse)},
                             {Py_tp_clear, reinterpret_cast<void *>(entry_clear)},
                             {Py_tp_getset, entry_getset},
                             {Py_tp_doc, const_cast<char *>("For which arguments an executable is the function.")},
                             {}};

PyType_Spec entry_spec = {"wengert.runtime._native.Entry", sizeof(EntryObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE, entry_slots};

// ------------------------------------------------------------------------------------------------------ Dispatcher

PyObject *dispatcher_new(PyTypeObject *type, PyObject *, PyObject *) {
#if PY_VERSION_HEX < 0x030C0000 // before 3.12 a class made in Python did not inherit the fast way of calling
    if (!(type->tp_flags & Py_TPFLAGS_HAVE_VECTORCALL) && type->tp_call == PyVectorcall_Call) {
        type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
        PyType_Modified(type);
    }
#endif
    PyObject *self = type->tp_alloc(type, 0);
    if (self == nullptr) return nullptr;
    DispatcherObject *dispatcher = dispatcher_of(self);
    dispatcher->vectorcall = dispatcher_call;
    new (&dispatcher->calls) std::atomic<uint64_t>(0);
    dispatcher->entries = PyTuple_New(0);
    if (dispatcher->entries == nullptr) Py_CLEAR(self);
    return self;
}

PyObject *install(PyObject *self, PyObject *entry) {
    if (!PyObject_TypeCheck(entry, entry_type)) {
        PyErr_SetString(PyExc_TypeError, "an Entry is installed");
        return nullptr;
    }
    PyObject *old = entries_now(dispatcher_of(self));
    const Py_ssize_t n_old = old == nullptr ? 0 : PyTuple_GET_SIZE(old);
    PyObject *kept[MAX_ENTRIES] = {entry};
    Py_ssize_t n = 1;
    for (Py_ssize_t k = 0; k < n_old && n < MAX_ENTRIES; k++)
        if (PyTuple_GET_ITEM(old, k) != entry) kept[n++] = PyTuple_GET_ITEM(old, k);
    PyObject *entries = PyTuple_New(n);
    for (Py_ssize_t k = 0; entries != nullptr && k < n; k++) PyTuple_SET_ITEM(entries, k, Py_NewRef(kept[k]));
    Py_XDECREF(old);
    if (entries == nullptr) return nullptr;
    replace_entries(dispatcher_of(self), entries);
    Py_RETURN_NONE;
}

PyObject *forget(PyObject *self, PyObject *) {
    PyObject *entries = PyTuple_New(0);
    if (entries == nullptr) return nullptr;
    replace_entries(dispatcher_of(self), entries);
    Py_RETURN_NONE;
}

int dispatcher_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(dispatcher_of(self)->entries);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

int dispatcher_clear(PyObject *self) {
    Py_CLEAR(dispatcher_of(self)->entries);
    return 0;
}

void dispatcher_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    dispatcher_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

PyObject *dispatcher_calls(PyObject *self, void *) {
    return PyLong_FromUnsignedLongLong(dispatcher_of(self)->calls.load(std::memory_order_relaxed));
}
PyObject *dispatcher_entries(PyObject *self, void *) {
    PyObject *entries = entries_now(dispatcher_of(self));
    return entries != nullptr ? entries : PyTuple_New(0);
}

PyGetSetDef dispatcher_getset[] = {
    {"calls", dispatcher_calls, nullptr, "how many calls there were, of any kind", nullptr},
    {"_entries", dispatcher_entries, nullptr, "the entries, in the order in which they are tried", nullptr},
    {}};

PyMethodDef dispatcher_methods[] = {{"_install", install, METH_O, "Puts an Entry before the others; keeps four."},
                                    {"_forget", forget, METH_NOARGS, "Drops every Entry."},
                                    {}};

PyMemberDef dispatcher_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(DispatcherObject, vectorcall), READONLY, nullptr},
    {"_finds_nans", T_BOOL, offsetof(DispatcherObject, looks), 0, "whether every call looks for NaNs"},
    {}};

PyType_Slot dispatcher_slots[] = {
    {Py_tp_new, reinterpret_cast<void *>(dispatcher_new)},
    {Py_tp_dealloc, reinterpret_cast<void *>(dispatcher_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void *>(dispatcher_traverse)},
    {Py_tp_clear, reinterpret_cast<void *>(dispatcher_clear)},
    {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
    {Py_tp_methods, dispatcher_methods},
    {Py_tp_getset, dispatcher_getset},
    {Py_tp_members, dispatcher_members},
    {Py_tp_doc, const_cast<char *>("Calls that fit an Entry run it; others call self._slow(args, kwargs).")},
    {}};

PyType_Spec dispatcher_spec = {"wengert.runtime._native.Dispatcher", sizeof(DispatcherObject), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE |
                                   Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_VECTORCALL,
                               dispatcher_slots};

} // namespace

bool make_call_types(PyObject *module) {
    names = {PyUnicode_InternFromString("out"), PyUnicode_InternFromString("_slow"),
             PyUnicode_InternFromString("_missed")};
    entry_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&entry_spec));
    dispatcher_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&dispatcher_spec));
    return names.out != nullptr && names.slow != nullptr && names.missed != nullptr && entry_type != nullptr &&
           dispatcher_type != nullptr &&
           PyModule_AddObjectRef(module, "Entry", reinterpret_cast<PyObject *>(entry_type)) == 0 &&
           PyModule_AddObjectRef(module, "Dispatcher", reinterpret_cast<PyObject *>(dispatcher_type)) == 0;
}

} // namespace wengert
