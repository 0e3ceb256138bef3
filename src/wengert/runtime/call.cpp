// The fast path of a jitted function: the Python types Dispatcher and Entry.
//
// An Entry says for which arguments, and in which surroundings, an executable is the function. A call that fits one
// runs it straight into the result; every other call is Python's affair (`_slow`). Nothing is guessed: what an entry
// cannot compare exactly, by type or by identity, is not a fit. Entries are immutable; a dispatcher's tuple of them is
// replaced as a whole. With the GIL held; leaves are owned while they are looked at, since looking at a place may run
// any Python code.
#include "layout.h"
#include "reading.h"

#include <structmember.h>

#include <cstring>
#include <memory>

namespace wengert {

PyTypeObject *dispatcher_type = nullptr, *entry_type = nullptr;

namespace {

constexpr Py_ssize_t MAX_ENTRIES = 4;

struct Node {
    enum Kind : uint8_t { leaf, tuple, list, dict, none };
    Kind kind = none;
    uint32_t number = 0; // of a leaf
    std::vector<Node> children;
    std::vector<PyObject *> keys; // strong references
};

struct Leaf {
    enum Kind : uint8_t { array, scalar, real, integer, complex, same };
    Kind kind = same;
    Operand operand;            // of an array or scalar
    PyObject *object = nullptr; // the type of a scalar; what must be the same. A strong reference
};

struct Place {
    enum Kind : uint8_t { cell, item, call, list, dict, attributes, defaults, type };
    Kind kind = cell;
    PyObject *object = nullptr, *key = nullptr, *seen = nullptr; // strong references; not all kinds have a key
    unsigned version = 0;                                        // of a type
};

struct Entry {
    Node structure;
    std::vector<Leaf> leaves;
    std::vector<Place> places;
    std::vector<uint32_t> input_leaves;
    ExecutableObject *executable = nullptr; // strong references
    PyObject *token = nullptr;
    PyObject *unflatten = nullptr; // nullptr: `result` is the structure
    Node result;
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
};

Entry &entry_of(PyObject *self) { return reinterpret_cast<EntryObject *>(self)->entry; }
DispatcherObject *dispatcher_of(PyObject *self) { return reinterpret_cast<DispatcherObject *>(self); }

// -------------------------------------------------------------------------------------------------------- matching

// Items of containers that another thread may be changing: new references, where the GIL does not protect a borrowed.
#ifdef Py_GIL_DISABLED
PyObject *list_item(PyObject *list, Py_ssize_t k) {
    PyObject *found = PyList_GetItemRef(list, k);
    if (found == nullptr) PyErr_Clear();
    return found;
}
PyObject *dict_item(PyObject *dict, PyObject *key) {
    PyObject *found;
    PyDict_GetItemRef(dict, key, &found);
    return found;
}
PyObject *cell_content(PyObject *cell) { return PyCell_Get(cell); }
#else
PyObject *list_item(PyObject *list, Py_ssize_t k) {
    return k < PyList_GET_SIZE(list) ? Py_NewRef(PyList_GET_ITEM(list, k)) : nullptr;
}
PyObject *dict_item(PyObject *dict, PyObject *key) { return Py_XNewRef(PyDict_GetItemWithError(dict, key)); }
PyObject *cell_content(PyObject *cell) { return Py_XNewRef(PyCell_GET(cell)); }
#endif

bool matches(const Leaf &leaf, PyObject *x) {
    switch (leaf.kind) {
    case Leaf::array: {
        if (!PyArray_CheckExact(x)) return false;
        auto *array = reinterpret_cast<PyArrayObject *>(x);
        if (!same_type(leaf.operand, array) || !same_shape(leaf.operand, array)) return false;
        const int ndim = PyArray_NDIM(array);
        const bool is_c = PyArray_FLAGS(array) & NPY_ARRAY_C_CONTIGUOUS;
        if (leaf.operand.is_contiguous) return ndim <= 1 || is_c;
        return !is_c && std::memcmp(PyArray_STRIDES(array), leaf.operand.strides.data(),
                                    sizeof(npy_intp) * static_cast<size_t>(ndim)) == 0;
    }
    case Leaf::scalar:
        return reinterpret_cast<PyObject *>(Py_TYPE(x)) == leaf.object;
    case Leaf::real:
        return PyFloat_CheckExact(x);
    case Leaf::integer: {
        if (!PyLong_CheckExact(x)) return false;
        int overflow;
        PyLong_AsLongLongAndOverflow(x, &overflow);
        return overflow == 0;
    }
    case Leaf::complex:
        return PyComplex_CheckExact(x);
    case Leaf::same:
        return x == leaf.object;
    }
    return false;
}

// Whether `x` has the structure; its leaves, which it fills in as new references, need not fit any description if
// `leaves` is nullptr. A key's comparison may raise: the caller looks for an error.
bool matches(const Node &node, PyObject *x, const std::vector<Leaf> *leaves, PyObject **found) {
    const size_t n = node.children.size();
    switch (node.kind) {
    case Node::leaf:
        if (leaves != nullptr && !matches((*leaves)[node.number], x)) return false;
        Py_XSETREF(found[node.number], Py_NewRef(x));
        return true;
    case Node::none:
        return x == Py_None;
    case Node::tuple:
        if (!PyTuple_CheckExact(x) || static_cast<size_t>(PyTuple_GET_SIZE(x)) != n) return false;
        for (size_t k = 0; k < n; k++)
            if (!matches(node.children[k], PyTuple_GET_ITEM(x, k), leaves, found)) return false;
        return true;
    case Node::list:
        if (!PyList_CheckExact(x) || static_cast<size_t>(PyList_GET_SIZE(x)) != n) return false;
        for (size_t k = 0; k < n; k++) {
            PyObject *child = list_item(x, static_cast<Py_ssize_t>(k));
            const bool fits = child != nullptr && matches(node.children[k], child, leaves, found);
            Py_XDECREF(child);
            if (!fits) return false;
        }
        return true;
    case Node::dict:
        if (!PyDict_CheckExact(x) || static_cast<size_t>(PyDict_GET_SIZE(x)) != n) return false;
        for (size_t k = 0; k < n; k++) {
            PyObject *child = dict_item(x, node.keys[k]);
            const bool fits = child != nullptr && matches(node.children[k], child, leaves, found);
            Py_XDECREF(child);
            if (!fits) return false;
        }
        return true;
    }
    return false;
}

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

// CPython's number of a type's state: another one after any change of it or of its bases, 0 if it has none just now.
unsigned valid_version(PyObject *object) {
    auto *type = reinterpret_cast<PyTypeObject *>(object);
#ifdef Py_TPFLAGS_VALID_VERSION_TAG
    if (!PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG)) return 0;
#endif
    return type->tp_version_tag;
}

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
    case Place::type:
        return valid_version(place.object) == place.version;
    default:
        return PyFunction_GetDefaults(place.object) == place.seen;
    }
}

// Whether what the function captured is what it was. A failed look is a difference; only an interrupt stays an error.
bool holds(const Place &place) {
    if (place.kind > Place::call) return container_holds(place);
    PyObject *now = nullptr;
    switch (place.kind) {
    default:
    case Place::cell:
        now = cell_content(place.object);
        break;
    case Place::item:
        now = dict_item(place.object, place.key);
        break;
    case Place::call:
        now = PyObject_CallNoArgs(place.object);
        break;
    }
    if (now == nullptr) {
        if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception)) PyErr_Clear();
        return false;
    }
    const bool is_same = now == place.seen;
    Py_DECREF(now);
    return is_same;
}

// ---------------------------------------------------------------------------------------------------------- results

PyObject *build(const Node &node, PyObject *const *leaves) {
    const auto n = static_cast<Py_ssize_t>(node.children.size());
    switch (node.kind) {
    case Node::leaf:
        return Py_NewRef(leaves[node.number]);
    case Node::none:
        return Py_NewRef(Py_None);
    case Node::tuple:
    case Node::list: {
        const bool is_tuple = node.kind == Node::tuple;
        PyObject *made = is_tuple ? PyTuple_New(n) : PyList_New(n);
        for (Py_ssize_t k = 0; made != nullptr && k < n; k++) {
            PyObject *child = build(node.children[k], leaves);
            if (child == nullptr) {
                Py_CLEAR(made);
            } else if (is_tuple) {
                PyTuple_SET_ITEM(made, k, child);
            } else {
                PyList_SET_ITEM(made, k, child);
            }
        }
        return made;
    }
    case Node::dict: {
        PyObject *made = PyDict_New();
        for (Py_ssize_t k = 0; made != nullptr && k < n; k++) {
            PyObject *child = build(node.children[k], leaves);
            if (child == nullptr || PyDict_SetItem(made, node.keys[k], child) < 0) Py_CLEAR(made);
            Py_XDECREF(child);
        }
        return made;
    }
    }
    return nullptr;
}

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

// ---------------------------------------------------------------------------------------------------------- calling

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

// `result` is the function's result if done; the bytes that the guard saw, and its position, if missed.
Attempt attempt(Entry &entry, PyObject *const *args, size_t n_args, PyObject *out, PyObject *&result,
                int64_t &position) {
    if (n_args != entry.structure.children.size() || entry.is_cleared) return Attempt::no_fit;
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
    for (const Place &place : entry.places)
        if (!holds(place)) return no_fit();
    PyObject **inputs = leaves.borrowed();
    for (size_t k = 0; k < code.inputs.size(); k++) inputs[k] = leaves.owned()[entry.input_leaves[k]];

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

[[gnu::noinline]] PyObject *call_slow(PyObject *self, PyObject *const *args, size_t n_args, PyObject *keywords) {
    PyObject *positional, *by_name;
    if (!call_in_python(args, n_args, keywords, positional, by_name)) return nullptr;
    PyObject *result = PyObject_CallMethodObjArgs(self, names.slow, positional, by_name, nullptr);
    Py_DECREF(positional);
    Py_DECREF(by_name);
    return result;
}

[[gnu::noinline]] PyObject *call_missed(PyObject *self, PyObject *token, int64_t position, PyObject *seen,
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

PyObject *dispatcher_call(PyObject *self, PyObject *const *args, size_t n_args_and_flag, PyObject *keywords) {
    DispatcherObject *dispatcher = dispatcher_of(self);
    const auto n_args = static_cast<size_t>(PyVectorcall_NARGS(n_args_and_flag));
    count(dispatcher->calls);
    PyObject *out = nullptr;
    if (keywords != nullptr && PyTuple_GET_SIZE(keywords) > 0) {
        PyObject *name = PyTuple_GET_ITEM(keywords, 0);
        if (PyTuple_GET_SIZE(keywords) > 1 || (name != names.out && PyUnicode_Compare(name, names.out) != 0))
            return call_slow(self, args, n_args, keywords);
        if (args[n_args] != Py_None) out = args[n_args];
    }
    PyObject *entries = entries_now(dispatcher);
    const Py_ssize_t n_entries = entries == nullptr ? 0 : PyTuple_GET_SIZE(entries);
    for (Py_ssize_t k = 0; k < n_entries; k++) {
        PyObject *result = nullptr;
        int64_t position = 0;
        Entry &entry = entry_of(PyTuple_GET_ITEM(entries, k));
        const Attempt outcome = attempt(entry, args, n_args, out, result, position);
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

// ----------------------------------------------------------------------------------------------------------- Entry

// (kind, ...) as its items and its kind in words.
nb::object tagged(nb::handle x, const char *what, std::string &kind) {
    nb::object items = items_of(x, what);
    if (length(items) == 0) throw std::invalid_argument(std::string(what) + ": it is empty");
    kind = text(item(items, 0));
    return items;
}

void expect_items(const nb::object &items, size_t n, const std::string &kind) {
    if (length(items) != n) throw std::invalid_argument(kind + ": expected " + std::to_string(n) + " items");
}

void read_node(nb::handle x, size_t n_leaves, Node &node) {
    if (PyLong_Check(x.ptr())) {
        const int64_t number = integer(x);
        if (number < 0 || static_cast<size_t>(number) >= n_leaves)
            throw std::invalid_argument("a structure names a leaf that there is not");
        node.kind = Node::leaf;
        node.number = static_cast<uint32_t>(number);
        return;
    }
    std::string kind;
    nb::object items = tagged(x, "a structure", kind);
    if (kind == "none") return;
    expect_items(items, 2, kind);
    nb::object children = items_of(item(items, 1), "the children of a structure");
    node.kind = kind == "tuple" ? Node::tuple : kind == "list" ? Node::list : Node::dict;
    if (node.kind == Node::dict && kind != "dict") throw std::invalid_argument("there is no structure " + kind);
    node.children.resize(length(children));
    for (size_t k = 0; k < node.children.size(); k++) {
        nb::handle child = item(children, k);
        if (node.kind == Node::dict) {
            nb::object pair = items_of(child, "an item (key, child)", 2);
            node.keys.push_back(Py_NewRef(item(pair, 0).ptr()));
            read_node(item(pair, 1), n_leaves, node.children[k]);
        } else {
            read_node(child, n_leaves, node.children[k]);
        }
    }
}

void name_leaves(const Node &node, std::vector<bool> &is_named) {
    if (node.kind == Node::leaf) is_named[node.number] = true;
    for (const Node &child : node.children) name_leaves(child, is_named);
}

void read_leaf(nb::handle x, Leaf &leaf) {
    std::string kind;
    nb::object items = tagged(x, "a leaf", kind);
    if (kind == "array") {
        expect_items(items, 4, kind);
        leaf.kind = Leaf::array;
        leaf.operand = operand(item(items, 1), item(items, 2), item(items, 3));
    } else if (kind == "scalar") {
        expect_items(items, 2, kind);
        leaf.kind = Leaf::scalar;
        leaf.operand = operand(item(items, 1), nb::make_tuple());
        leaf.object = Py_NewRef(reinterpret_cast<PyObject *>(leaf.operand.descr->typeobj));
    } else if (kind == "same") {
        expect_items(items, 2, kind);
        leaf.kind = Leaf::same;
        leaf.object = Py_NewRef(item(items, 1).ptr());
    } else if (kind == "float" || kind == "int" || kind == "complex") {
        leaf.kind = kind == "float" ? Leaf::real : kind == "int" ? Leaf::integer : Leaf::complex;
    } else {
        throw std::invalid_argument("there is no leaf of kind " + kind);
    }
}

void read_place(nb::handle x, Place &place) {
    static const std::pair<const char *, Place::Kind> kinds[] = {
        {"cell", Place::cell}, {"item", Place::item},             {"call", Place::call},        {"list", Place::list},
        {"dict", Place::dict}, {"attributes", Place::attributes}, {"defaults", Place::defaults},
        {"type", Place::type}};
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
    if ((place.kind == Place::item || place.kind == Place::dict) && !PyDict_Check(place.object))
        throw std::invalid_argument("not a dict");
    if (place.kind == Place::call && !PyCallable_Check(place.object)) throw std::invalid_argument("not callable");
    if (is_list && !PyList_CheckExact(place.object)) throw std::invalid_argument("not a list");
    if (place.kind == Place::defaults && !PyFunction_Check(place.object)) throw std::invalid_argument("not a function");
    if ((is_list || has_entries) && !PyTuple_CheckExact(place.seen)) throw std::invalid_argument("not a tuple");
    if (has_entries && (!PyTuple_CheckExact(place.key) || PyTuple_GET_SIZE(place.key) != PyTuple_GET_SIZE(place.seen)))
        throw std::invalid_argument("as many keys as values");
}

// Whether every value that the leaf accepts can be the input, so that a run need not ask again.
bool implies(const Leaf &leaf, const Operand &input) {
    const int type_num = input.descr->type_num;
    switch (leaf.kind) {
    case Leaf::array:
    case Leaf::scalar:
        if (!PyArray_EquivTypes(leaf.operand.descr, input.descr) || leaf.operand.shape != input.shape) return false;
        if (leaf.kind == Leaf::scalar || input.is_contiguous) return true;
        return !leaf.operand.is_contiguous && leaf.operand.strides == input.strides;
    case Leaf::real:
        return input.is_inline && type_num == NPY_DOUBLE;
    case Leaf::integer:
        return input.is_inline && PyTypeNum_ISSIGNED(type_num) && PyDataType_ELSIZE(input.descr) == 8 &&
               PyTypeNum_ISINTEGER(type_num);
    case Leaf::complex:
        return input.is_inline && type_num == NPY_CDOUBLE;
    case Leaf::same:
        return false;
    }
    return false;
}

PyObject *entry_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static const char *words[] = {"structure", "leaves", "places", "executable", "input_leaves", "result", "token",
                                  nullptr};
    PyObject *structure, *leaves, *places, *executable, *input_leaves, *result, *token;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOO!OOO", const_cast<char **>(words), &structure, &leaves,
                                     &places, executable_type, &executable, &input_leaves, &result, &token))
        return nullptr;
    PyObject *self = type->tp_alloc(type, 0);
    if (self == nullptr) return nullptr;
    Entry &entry = *new (&entry_of(self)) Entry;
    const bool is_made = guarded([&] {
        entry.executable = reinterpret_cast<ExecutableObject *>(Py_NewRef(executable));
        entry.token = Py_NewRef(token);
        const Executable &code = entry.executable->code;
        nb::object items = items_of(leaves, "leaves");
        entry.leaves.resize(length(items));
        for (size_t k = 0; k < entry.leaves.size(); k++) read_leaf(item(items, k), entry.leaves[k]);
        read_node(structure, entry.leaves.size(), entry.structure);
        if (entry.structure.kind != Node::tuple)
            throw std::invalid_argument("the structure of the arguments is a tuple");
        items = items_of(places, "places");
        entry.places.resize(length(items));
        for (size_t k = 0; k < entry.places.size(); k++) read_place(item(items, k), entry.places[k]);
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

int visit_keys(const Node &node, visitproc visit, void *arg) {
    for (PyObject *key : node.keys) Py_VISIT(key);
    for (const Node &child : node.children)
        if (int stop = visit_keys(child, visit, arg)) return stop;
    return 0;
}

void release_keys(Node &node) {
    for (PyObject *key : node.keys) Py_DECREF(key);
    for (Node &child : node.children) release_keys(child);
    node.keys.clear();
    node.children.clear();
}

int entry_traverse(PyObject *self, visitproc visit, void *arg) {
    Entry &entry = entry_of(self);
    for (Leaf &leaf : entry.leaves) Py_VISIT(leaf.object);
    for (Place &place : entry.places) {
        Py_VISIT(place.object);
        Py_VISIT(place.key);
        Py_VISIT(place.seen);
    }
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
    std::vector<Place> places = std::move(entry.places);
    Node structure = std::move(entry.structure), result = std::move(entry.result);
    entry.leaves.clear();
    entry.places.clear();
    entry.structure = Node{};
    entry.result = Node{};
    release_keys(structure);
    release_keys(result);
    for (Leaf &leaf : leaves) {
        Py_XDECREF(leaf.object);
        release(leaf.operand);
    }
    for (Place &place : places) {
        Py_XDECREF(place.object);
        Py_XDECREF(place.key);
        Py_XDECREF(place.seen);
    }
    Py_CLEAR(entry.token);
    Py_CLEAR(entry.unflatten);
    return 0;
}

void entry_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    entry_clear(self);
    Py_XDECREF(entry_of(self).executable);
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

PyGetSetDef entry_getset[] = {{"calls", entry_calls, nullptr, "how many calls it ran", nullptr},
                              {"token", entry_token, nullptr, "what `_missed` is told", nullptr},
                              {"executable", entry_executable, nullptr, "what it runs", nullptr},
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
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(DispatcherObject, vectorcall), READONLY, nullptr}, {}};

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
