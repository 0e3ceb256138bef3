// Places: where the values that a function captured are read, and compared with what they were when it was compiled,
// by identity, numbers and texts by value. With the GIL held; looking at a place may run any Python code.
//
// Most places are of two kinds. A *word* is a pointer in an object that has no more to it: the content of a cell, the
// code of a function, the class of an object. It costs a load and a comparison, less than hearing of its changes would.
// An item of a dict (a global variable, an attribute) is *watched*: it is looked at after a change of its dict alone.
#include "places.h"

#include <structmember.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace wengert {

namespace {

#if PY_VERSION_HEX < 0x030C0000
// How Python 3.11, to which nothing will be added, keeps the entries of a dict of names. Its dicts do not tell which of
// them has changed, so a loop that writes one variable of a module has all those of the module compared that a program
// reads: an entry found by its number, rather than by its hash, is compared five times as fast.
struct Names {
    Py_ssize_t n_references;
    uint8_t log2_size, log2_index_bytes, kind;
    uint32_t version;
    Py_ssize_t n_usable, n_entries;
    char indices[1];
};
struct NameEntry {
    PyObject *name, *value;
};

// The entries of a dict, and how many there are: none if it keeps them in another way.
const NameEntry *entries_of(PyObject *object, Py_ssize_t &n) {
    const auto *dict = reinterpret_cast<PyDictObject *>(object);
    const auto *names = reinterpret_cast<const Names *>(dict->ma_keys);
    constexpr uint8_t GENERAL = 0; // keys of any kind
    n = dict->ma_values != nullptr || names->kind == GENERAL ? 0 : names->n_entries;
    return reinterpret_cast<const NameEntry *>(names->indices + (size_t{1} << names->log2_index_bytes));
}

// What a dict has under a name, borrowed, if that is its entry of this number.
PyObject *value_at(PyObject *dict, PyObject *name, int64_t number) {
    Py_ssize_t n;
    const NameEntry *entries = entries_of(dict, n);
    return number >= 0 && number < n && entries[number].name == name ? entries[number].value : nullptr;
}

std::unordered_map<PyObject *, int64_t> numbers_of(PyObject *dict) {
    Py_ssize_t n;
    const NameEntry *entries = entries_of(dict, n);
    std::unordered_map<PyObject *, int64_t> numbers;
    for (Py_ssize_t k = 0; k < n; k++)
        if (entries[k].name != nullptr) numbers.emplace(entries[k].name, k);
    return numbers;
}
#else
PyObject *value_at(PyObject *, PyObject *, int64_t) { return nullptr; }
std::unordered_map<PyObject *, int64_t> numbers_of(PyObject *) { return {}; }
#endif

#ifndef Py_BEGIN_CRITICAL_SECTION // Python 3.13 has them, and only its free-threaded build needs them
#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION() }
#endif

bool is_same(PyObject *now, PyObject *seen) { return now == seen || are_equal(now, seen); }

// Whether a list has exactly these items, a dict these keys, in order, and values.
bool has_items(PyObject *list, PyObject *seen) {
    const Py_ssize_t n = PyTuple_GET_SIZE(seen);
    if (PyList_GET_SIZE(list) != n) return false;
    if (n == 0) return true;
    PyObject *const *now = reinterpret_cast<PyListObject *>(list)->ob_item, *const *before = &PyTuple_GET_ITEM(seen, 0);
    if (std::memcmp(now, before, static_cast<size_t>(n) * sizeof(PyObject *)) == 0) return true; // at memory's speed
    return std::equal(now, now + n, before, is_same);
}

bool has_entries(PyObject *dict, PyObject *keys, PyObject *values) { // nullptr: any values
    const Py_ssize_t n = PyTuple_GET_SIZE(keys);
    if (PyDict_GET_SIZE(dict) != n) return false;
    PyObject *key, *value;
    Py_ssize_t position = 0, k = 0;
    while (PyDict_Next(dict, &position, &key, &value)) {
        if (k == n || key != PyTuple_GET_ITEM(keys, k)) return false;
        if (values != nullptr && !is_same(value, PyTuple_GET_ITEM(values, k))) return false;
        k++;
    }
    return k == n;
}

bool has_none_of(PyObject *dict, PyObject *keys) {
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(keys); k++)
        if (PyDict_Contains(dict, PyTuple_GET_ITEM(keys, k)) != 0) {
            PyErr_Clear();
            return false;
        }
    return true;
}

// Whether a set has these members where they lie in its table, which is more than to have them.
bool has_table(PyObject *object, const std::vector<npy_intp> &words) {
    const auto *set = reinterpret_cast<PySetObject *>(object);
    const size_t n = static_cast<size_t>(set->mask + 1) * (sizeof(setentry) / sizeof(npy_intp));
    return n == words.size() && std::memcmp(set->table, words.data(), n * sizeof(npy_intp)) == 0;
}

std::vector<npy_intp> table_of(PyObject *object) {
    const auto *set = reinterpret_cast<PySetObject *>(object);
    const auto *words = reinterpret_cast<const npy_intp *>(set->table);
    return {words, words + static_cast<size_t>(set->mask + 1) * (sizeof(setentry) / sizeof(npy_intp))};
}

// The members of a set, by their addresses.
std::vector<PyObject *> members_of(PyObject *object) {
    const auto *set = reinterpret_cast<PySetObject *>(object);
    std::vector<PyObject *> members;
    for (Py_ssize_t k = 0; k <= set->mask; k++)
        if (set->table[k].key != nullptr && set->table[k].hash != -1) members.push_back(set->table[k].key);
    std::sort(members.begin(), members.end());
    return members;
}

bool has_form(const Place &place) {
    auto *x = reinterpret_cast<PyArrayObject *>(place.object);
    const auto n = static_cast<size_t>(PyArray_NDIM(x));
    return 2 * n == place.words.size() && std::equal(PyArray_DIMS(x), PyArray_DIMS(x) + n, place.words.begin()) &&
           std::equal(PyArray_STRIDES(x), PyArray_STRIDES(x) + n, place.words.begin() + static_cast<long>(n)) &&
           reinterpret_cast<PyObject *>(PyArray_DESCR(x)) == place.key;
}

bool is_there(PyObject *now, PyObject *seen) { // `now` is stolen; nullptr, perhaps with an error: nothing was found
    if (now == nullptr) {
        if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception)) PyErr_Clear();
        return false;
    }
    const bool found = is_same(now, seen);
    Py_DECREF(now);
    return found;
}

// Whether an array has these bytes. Its form is another place.
bool has_content(PyObject *object, PyObject *seen) {
    auto *x = reinterpret_cast<PyArrayObject *>(object);
    return PyArray_IS_C_CONTIGUOUS(x) && PyArray_NBYTES(x) == PyBytes_GET_SIZE(seen) &&
           std::memcmp(PyArray_BYTES(x), PyBytes_AS_STRING(seen), static_cast<size_t>(PyBytes_GET_SIZE(seen))) == 0;
}

// Whether a number is what it was when a call last said that all is there, or that call says so again.
bool has_stayed(const Place &place) {
    PyObject *found = PyObject_CallNoArgs(place.object);
    const int64_t number = found == nullptr ? -1 : PyLong_AsLongLong(found);
    Py_XDECREF(found);
    if (number >= 0 && number == place.number) return true;
    if (PyErr_Occurred() || !is_there(PyObject_CallNoArgs(place.key), place.seen)) return is_there(nullptr, place.seen);
    place.number = number;
    return true;
}

bool is_watched(const Place &place) { return place.kind <= Place::absent; }

// A new reference to the dict that a class keeps its attributes in, or to the dict itself.
PyObject *dict_of(PyObject *holder) {
    if (PyType_Check(holder)) {
        auto *type = reinterpret_cast<PyTypeObject *>(holder);
#if PY_VERSION_HEX >= 0x030C0000
        return PyType_GetDict(type);
#else
        return Py_NewRef(type->tp_dict);
#endif
    }
    if (!PyDict_Check(holder)) throw std::invalid_argument("not a dict");
    return Py_NewRef(holder);
}

void check(bool is_right, const char *what) {
    if (!is_right) throw std::invalid_argument(what);
}

void release(const Place &place) {
    Py_XDECREF(place.object);
    Py_XDECREF(place.key);
    Py_XDECREF(place.seen);
}

} // namespace

bool are_equal(PyObject *now, PyObject *seen) {
    if (now == nullptr || seen == nullptr || Py_TYPE(now) != Py_TYPE(seen)) return false;
    if (PyFloat_CheckExact(now)) { // 0 is not -0, and a NaN is itself
        const double values[] = {PyFloat_AS_DOUBLE(now), PyFloat_AS_DOUBLE(seen)};
        return std::memcmp(&values[0], &values[1], sizeof(double)) == 0;
    }
    return (PyLong_CheckExact(now) || PyUnicode_CheckExact(now)) && PyObject_RichCompareBool(now, seen, Py_EQ) == 1;
}

bool holds(const Place &place) {
    bool is_same = false;
    switch (place.kind) {
    case Place::item:
        if (PyObject *now = value_at(place.object, place.key, place.number)) return now == place.seen || are_equal(now, place.seen);
        return is_there(dict_item(place.object, place.key), place.seen);
    case Place::call:
        return is_there(PyObject_CallNoArgs(place.object), place.seen);
    case Place::form:
        return has_form(place);
    case Place::readonly:
        return !PyArray_ISWRITEABLE(reinterpret_cast<PyArrayObject *>(place.object));
    case Place::content:
        return has_content(place.object, place.seen);
    case Place::counted:
        return has_stayed(place);
    default:
        break;
    }
    Py_BEGIN_CRITICAL_SECTION(place.object);
    switch (place.kind) {
    case Place::list:
        is_same = has_items(place.object, place.seen);
        break;
    case Place::set:
        is_same = has_table(place.object, place.words);
        break;
    case Place::dict:
        is_same = has_entries(place.object, place.key, place.seen);
        break;
    case Place::keys:
        is_same = has_entries(place.object, place.seen, nullptr);
        break;
    default:
        is_same = has_none_of(place.object, place.seen);
    }
    Py_END_CRITICAL_SECTION();
    return is_same;
}

bool Surroundings::watched_hold() {
    n_looks_++;
    return watch_.look([this](size_t number) {
        const auto begin = watched_.begin() + (number == 0 ? 0 : ends_[number - 1]);
        return std::all_of(begin, watched_.begin() + ends_[number], holds);
    });
}

void Surroundings::add_word(PyObject *owner, PyObject **address, PyObject *seen, bool may_be_absent) {
    if (owners_.empty() || owners_.back() != owner) owners_.push_back(Py_NewRef(owner));
    if (may_be_absent && seen == Py_None && *address == nullptr) seen = nullptr; // which reads as None
    words_.push_back({address, Py_XNewRef(seen)});
}

void Surroundings::read_place(nb::handle x) {
    std::string kind;
    nb::object items = tagged(x, "a place", kind);
    const size_t n = length(items);
    check(n >= 3, "a place has an object, and what was there");
    PyObject *object = item(items, 1).ptr(), *last = item(items, n - 1).ptr();
    const auto expect = [&](size_t expected) { expect_items(items, expected, kind); };
    if (kind == "cell") {
        expect(3);
        check(PyCell_Check(object), "not a cell");
        return add_word(object, &reinterpret_cast<PyCellObject *>(object)->ob_ref, last);
    }
    if (kind == "kind") { // the class of an object
        expect(3);
        return add_word(object, reinterpret_cast<PyObject **>(&object->ob_type), last);
    }
    if (kind == "__dict__") {
        expect(3);
        PyObject **address = _PyObject_GetDictPtr(object);
        check(address != nullptr, "an object without attributes");
        return add_word(object, address, last);
    }
    if (kind == "member") { // what a descriptor of a slot reads; of 3 items: nothing was there
        PyObject *descriptor = item(items, 2).ptr();
        check(Py_TYPE(descriptor) == &PyMemberDescr_Type, "not a descriptor of a member");
        const PyMemberDef *member = reinterpret_cast<PyMemberDescrObject *>(descriptor)->d_member;
        check(PyObject_TypeCheck(object, PyDescr_TYPE(descriptor)), "not an object of the member's class");
        check(member->type == T_OBJECT || member->type == T_OBJECT_EX, "a member that is no object");
        auto **address = reinterpret_cast<PyObject **>(reinterpret_cast<char *>(object) + member->offset);
        return add_word(object, address, n == 3 ? nullptr : last, member->type == T_OBJECT);
    }
    if (kind == "code" || kind == "defaults" || kind == "kwdefaults") {
        expect(3);
        check(PyFunction_Check(object), "not a function");
        auto *function = reinterpret_cast<PyFunctionObject *>(object);
        if (kind != "code")
            return add_word(object, kind == "defaults" ? &function->func_defaults : &function->func_kwdefaults, last, true);
        check(PyTuple_CheckExact(last) && PyTuple_GET_SIZE(last) == 5, "not a function's code and its four texts");
        PyObject **addresses[] = {&function->func_code, &function->func_doc, &function->func_name,
                                  &function->func_qualname, &function->func_module};
        for (Py_ssize_t k = 0; k < 5; k++) add_word(object, addresses[k], PyTuple_GET_ITEM(last, k), true);
        return;
    }
    if (kind == "class") { // its own class, its bases and its names, which no change of its attributes tells of
        expect(3);
        check(PyType_Check(object), "not a class");
        check(PyTuple_CheckExact(last) && PyTuple_GET_SIZE(last) == 4, "not a class's class, bases and two names");
        auto *type = reinterpret_cast<PyHeapTypeObject *>(object);
        add_word(object, reinterpret_cast<PyObject **>(&object->ob_type), PyTuple_GET_ITEM(last, 0));
        add_word(object, &type->ht_type.tp_mro, PyTuple_GET_ITEM(last, 1));
        if (!(type->ht_type.tp_flags & Py_TPFLAGS_HEAPTYPE)) return; // it cannot be renamed
        add_word(object, &type->ht_name, PyTuple_GET_ITEM(last, 2));
        return add_word(object, &type->ht_qualname, PyTuple_GET_ITEM(last, 3));
    }
    static const std::pair<const char *, Place::Kind> kinds[] = {
        {"item", Place::item}, {"dict", Place::dict}, {"keys", Place::keys}, {"absent", Place::absent},
        {"list", Place::list}, {"set", Place::set},   {"form", Place::form},
        {"readonly", Place::readonly}, {"content", Place::content}, {"counted", Place::counted}, {"call", Place::call}};
    Place place;
    const auto found = std::find_if(std::begin(kinds), std::end(kinds), [&](const auto &one) { return kind == one.first; });
    if (found == std::end(kinds)) throw std::invalid_argument("there is no place of kind " + kind);
    place.kind = found->second;
    const bool has_key = place.kind == Place::item || place.kind == Place::dict || place.kind == Place::form ||
                         place.kind == Place::counted;
    expect(has_key ? 4 : 3);
    PyObject *key = has_key ? item(items, 2).ptr() : nullptr;
    switch (place.kind) {
    case Place::dict:
        check(PyTuple_CheckExact(key) && PyTuple_CheckExact(last) && PyTuple_GET_SIZE(key) == PyTuple_GET_SIZE(last),
              "as many keys as values");
        break;
    case Place::list:
        check(PyList_Check(object), "not a list");
        [[fallthrough]];
    case Place::keys:
    case Place::absent:
        check(PyTuple_CheckExact(last), "not a tuple");
        break;
    case Place::set:
        check(PySet_Check(object) && PyFrozenSet_CheckExact(last), "not a set and its members");
        check(members_of(object) == members_of(last), "a set that has other members by now");
        place.words = table_of(object);
        break;
    case Place::form:
        check(PyArray_Check(object), "not an array");
        place.words = integers(last, "a shape and strides");
        break;
    case Place::readonly:
        check(PyArray_Check(object), "not an array");
        break;
    case Place::content:
        check(PyArray_Check(object) && PyBytes_CheckExact(last), "not an array and its bytes");
        break;
    case Place::counted:
        check(PyCallable_Check(object) && PyCallable_Check(key), "not callable");
        break;
    case Place::call:
        check(PyCallable_Check(object), "not callable");
        break;
    default:
        break;
    }
    place.object = is_watched(place) ? dict_of(object) : Py_NewRef(object);
    place.key = Py_XNewRef(key);
    place.seen = Py_NewRef(last);
    (is_watched(place) ? watched_ : places_).push_back(std::move(place));
}

void Surroundings::read(nb::handle places) {
    nb::object items = items_of(places, "places");
    for (size_t k = 0; k < length(items); k++) read_place(item(items, k));
    std::stable_sort(watched_.begin(), watched_.end(),
                     [](const Place &one, const Place &other) { return one.object < other.object; });
    std::unordered_map<PyObject *, int64_t> numbers; // of the entries of the dict
    for (size_t k = 0; k < watched_.size(); k++) {
        const Place &place = watched_[k];
        if (k == 0 || place.object != watched_[k - 1].object) {
            watch_.add(place.object);
            ends_.push_back(0);
            numbers = numbers_of(place.object);
        }
        if (const auto found = numbers.find(place.key); found != numbers.end()) place.number = found->second;
        ends_.back() = static_cast<std::ptrdiff_t>(k + 1);
        if (place.kind == Place::item) {
            watch_.want(place.key);
        } else if (place.kind == Place::dict || place.kind == Place::keys) {
            watch_.want(nullptr);
        } else {
            for (Py_ssize_t j = 0; j < PyTuple_GET_SIZE(place.seen); j++) watch_.want(PyTuple_GET_ITEM(place.seen, j));
        }
    }
}

int Surroundings::traverse(visitproc visit, void *arg) const {
    for (const Word &word : words_) Py_VISIT(word.seen);
    for (PyObject *owner : owners_) Py_VISIT(owner);
    for (const auto *some : {&places_, &watched_})
        for (const Place &place : *some) {
            Py_VISIT(place.object);
            Py_VISIT(place.key);
            Py_VISIT(place.seen);
        }
    return 0;
}

void Surroundings::clear() {
    watch_.stop(); // before its dicts go
    const std::vector<Word> words = std::move(words_);
    const std::vector<PyObject *> owners = std::move(owners_);
    const std::vector<Place> places = std::move(places_), watched = std::move(watched_);
    words_.clear();
    owners_.clear();
    places_.clear();
    watched_.clear();
    ends_.clear();
    for (const Word &word : words) Py_XDECREF(word.seen);
    for (PyObject *owner : owners) Py_DECREF(owner);
    for (const auto *some : {&places, &watched})
        for (const Place &place : *some) release(place);
}

} // namespace wengert
