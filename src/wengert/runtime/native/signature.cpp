// Signatures: matching arguments against a structure and its leaves, and building a result of a structure. Nothing is
// guessed: what a leaf cannot compare exactly, by type or by identity, does not match. With the GIL held.
#include "../../native/platform.h"
#include "signature.h"

#include <cstring>

namespace wengert {

namespace {

bool matches(const Leaf &leaf, PyObject *x) {
    switch (leaf.kind) {
    case Leaf::array: {
        if (!PyArray_CheckExact(x)) return false;
        auto *array = reinterpret_cast<PyArrayObject *>(x);
        if (!same_type(leaf.operand, array) || !same_shape(leaf.operand, array)) return false;
        const int ndim = PyArray_NDIM(array);
        const bool is_c = PyArray_FLAGS(array) & NPY_ARRAY_C_CONTIGUOUS;
        if (leaf.operand.is_contiguous) return is_c || ndim == 0 || (ndim == 1 && PyArray_STRIDES(array)[0] >= 0);
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

// Whether two keys cannot be told apart: 1 and True, 0.0 and -0.0 can. False for keys of other classes than Python's own.
bool same_key(PyObject *a, PyObject *b) {
    if (a == b) return true;
    if (Py_TYPE(a) != Py_TYPE(b)) return false;
    if (PyUnicode_CheckExact(a) || PyLong_CheckExact(a) || PyBytes_CheckExact(a))
        return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
    if (!PyTuple_CheckExact(a) || PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) return false;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(a); k++)
        if (!same_key(PyTuple_GET_ITEM(a, k), PyTuple_GET_ITEM(b, k))) return false;
    return true;
}

// Whether a dict has the same keys in the same order: a function may go by that.
bool same_keys(const std::vector<PyObject *> &keys, PyObject *dict) {
    Py_ssize_t place = 0;
    for (PyObject *expected : keys) {
        PyObject *key = next_key(dict, place);
        const bool is_same = key != nullptr && same_key(key, expected);
        Py_XDECREF(key);
        if (!is_same) return false;
    }
    return true;
}

// The class of a named tuple is the only key.
NOT_INLINED bool matches_named(const Node &node, PyObject *x, const std::vector<Leaf> *leaves, PyObject **found) {
    const size_t n = node.children.size();
    if (reinterpret_cast<PyObject *>(Py_TYPE(x)) != node.keys[0]) return false;
    if (static_cast<size_t>(PyTuple_GET_SIZE(x)) != n) return false;
    for (size_t k = 0; k < n; k++)
        if (!matches(node.children[k], PyTuple_GET_ITEM(x, k), leaves, found)) return false;
    return true;
}

} // namespace

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
    case Node::named:
        return matches_named(node, x, leaves, found);
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
        if (leaves != nullptr && !same_keys(node.keys, x)) return false;
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

namespace {

// A named tuple is made by its class, which may do more than store the children. It is not inlined: the vector's end
// would cost every call something, the plainest one 4 %.
NOT_INLINED PyObject *build_named(const Node &node, PyObject *const *leaves) {
    std::vector<PyObject *> children;
    for (const Node &child : node.children) {
        PyObject *x = build(child, leaves);
        if (x == nullptr) break;
        children.push_back(x);
    }
    PyObject *made = nullptr;
    if (children.size() == node.children.size())
        made = PyObject_Vectorcall(node.keys[0], children.data(), children.size(), nullptr);
    for (PyObject *x : children) Py_DECREF(x);
    return made;
}

} // namespace

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
    case Node::named:
        return build_named(node, leaves);
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

// ---------------------------------------------------------------------------------------------------------- reading

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
    const bool is_named = kind == "named";
    expect_items(items, is_named ? 3 : 2, kind);
    nb::object children = items_of(item(items, is_named ? 2 : 1), "the children of a structure");
    node.kind = is_named ? Node::named : kind == "tuple" ? Node::tuple : kind == "list" ? Node::list : Node::dict;
    if (is_named) {
        PyObject *cls = item(items, 1).ptr();
        if (!PyType_Check(cls) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject *>(cls), &PyTuple_Type))
            throw std::invalid_argument("a named structure is of no class of tuples");
        node.keys.push_back(Py_NewRef(cls));
    }
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

// ------------------------------------------------------------------------------------------------ garbage collection

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

} // namespace wengert
