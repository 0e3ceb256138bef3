// What distinguishes calls: the structure of a call's arguments, or of its result, and what each leaf of it must be;
// see signature.cpp.
#pragma once

#include "reading.h"

namespace wengert {

struct Node {
    enum Kind : uint8_t { leaf, tuple, list, dict, named, none };
    Kind kind = none;
    uint32_t number = 0; // of a leaf
    std::vector<Node> children;
    std::vector<PyObject *> keys; // of a dict; of a named tuple, its class alone. Strong references
};

struct Leaf {
    enum Kind : uint8_t { array, scalar, real, integer, complex, same };
    Kind kind = same;
    Operand operand;            // of an array or scalar
    PyObject *object = nullptr; // the type of a scalar; what must be the same. A strong reference
};

// Whether `x` has the structure; its leaves, which it fills in as new references, need not fit any description if
// `leaves` is nullptr. A key's comparison may raise: the caller looks for an error.
bool matches(const Node &node, PyObject *x, const std::vector<Leaf> *leaves, PyObject **found);
// Whether every value that the leaf accepts can be the input, so that a run need not ask again.
bool implies(const Leaf &leaf, const Operand &input);
PyObject *build(const Node &node, PyObject *const *leaves); // a new reference; nullptr: a Python error is set

// They throw what `guarded` catches.
void read_node(nb::handle x, size_t n_leaves, Node &node);
void read_leaf(nb::handle x, Leaf &leaf);
void name_leaves(const Node &node, std::vector<bool> &is_named);

// For the garbage collector.
int visit_keys(const Node &node, visitproc visit, void *arg);
void release_keys(Node &node);

} // namespace wengert
