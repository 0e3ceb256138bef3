// Watches: which programs hear of a change of which dict, and of which of its keys.
//
// CPython 3.12 and later call `note_change` before a dict that is watched changes. It counts a change of the watches that
// want the key, and so a program that nothing has touched is called after a look at one number, however much it reads. Before
// 3.12 each dict has a number that changes with it, and a look compares one number a dict. Where neither is to be had
// (the free-threaded build; all eight watchers of the interpreter are taken; objects of the first releases of 3.13) a
// watch is never quiet.
//
// A module's variables change all the time, those of a script's loop in every iteration, so it is the keys that count.
#include "watches.h"

#include "../../native/context.h"

#include <algorithm>
#include <unordered_map>

namespace wengert {

#if !defined(Py_GIL_DISABLED) && PY_VERSION_HEX >= 0x030C0000

struct Interest {
    Watch *watch;
    size_t number;

    void touch() const {
        watch->state_++;
        watch->dicts_[number].state++;
    }
    bool operator==(const Interest &) const = default;
};

namespace {

// Names: plain strings alone are told apart without running Python code.
struct Hash {
    size_t operator()(PyObject *name) const { return static_cast<size_t>(PyObject_Hash(name)); }
};
struct Same {
    bool operator()(PyObject *one, PyObject *other) const { return one == other || PyUnicode_Compare(one, other) == 0; }
};
bool is_name(PyObject *key) { return key != nullptr && PyUnicode_CheckExact(key); }

struct Audience {
    std::vector<Interest> of_any;
    std::unordered_map<PyObject *, std::vector<Interest>, Hash, Same> of_name; // strong references to the names

    bool is_empty() const { return of_any.empty() && of_name.empty(); }
};

// Never destroyed: modules are cleared, and their dicts with them, after everything else.
std::unordered_map<PyObject *, Audience> &audiences = *new std::unordered_map<PyObject *, Audience>;
int watcher = -1;
PyObject *probed = nullptr; // a dict of which it is asked whether its changes are told; nullptr once they were

int note_change(PyDict_WatchEvent, PyObject *dict, PyObject *key, PyObject *) {
    if (dict == probed) probed = nullptr;
    const auto found = audiences.find(dict);
    if (found == audiences.end()) return 0;
    const Audience &audience = found->second;
    for (const Interest &interest : audience.of_any) interest.touch();
    if (is_name(key)) {
        if (const auto named = audience.of_name.find(key); named != audience.of_name.end())
            for (const Interest &interest : named->second) interest.touch();
    } else { // all of it has changed, or a key that may equal a name
        for (const auto &[name, interests] : audience.of_name)
            for (const Interest &interest : interests) interest.touch();
    }
    return 0;
}

bool begin_to_hear(PyObject *dict) {
    if (watcher < 0) watcher = PyDict_AddWatcher(note_change);
    if (watcher >= 0 && PyDict_Watch(watcher, dict) == 0) return true;
    PyErr_Clear(); // others have taken all watchers
    return false;
}

// Whether CPython tells of an attribute that is set in an object which keeps its attributes in itself, as since 3.13,
// and has a dict that only shows them. The first releases of 3.13 do not, so this is tried out.
[[maybe_unused]] bool tells_of_inline_values() { // before 3.13 nobody asks
    PyObject *type = PyObject_CallFunction(reinterpret_cast<PyObject *>(&PyType_Type), "s(){}", "Probe");
    PyObject *object = type == nullptr ? nullptr : PyObject_CallNoArgs(type), *dict = nullptr;
    bool is_told = false;
    if (object != nullptr && PyObject_SetAttrString(object, "a", Py_None) == 0) dict = PyObject_GenericGetDict(object, nullptr);
    if (dict != nullptr && begin_to_hear(dict)) {
        probed = dict;
        is_told = PyObject_SetAttrString(object, "a", Py_True) == 0 && probed == nullptr;
        probed = nullptr;
    }
    PyErr_Clear();
    Py_XDECREF(dict);
    Py_XDECREF(object);
    Py_XDECREF(type);
    return is_told;
}

// Whether CPython tells of each change of a dict.
bool is_told_of(PyObject *dict) {
#if PY_VERSION_HEX < 0x030D0000
    (void)dict;
    return true;
#else
    if (reinterpret_cast<PyDictObject *>(dict)->ma_values == nullptr) return true; // the values are its own
    static const bool is_told = tells_of_inline_values();
    return is_told;
#endif
}

void end_to_hear(PyObject *dict) {
    const ErrorAside aside;
    if (PyDict_Unwatch(watcher, dict) < 0) PyErr_Clear(); // the interpreter is being finalized
}

} // namespace

void Watch::want(PyObject *key) {
    Dict &dict = dicts_.back();
    if (dict.is_unheard) return;
    if (!is_told_of(dict.object) || (!audiences.contains(dict.object) && !begin_to_hear(dict.object))) {
        dict.is_unheard = is_any_unheard_ = true;
        return;
    }
    Audience &audience = audiences[dict.object];
    const Interest interest{this, dicts_.size() - 1};
    if (!is_name(key)) {
        audience.of_any.push_back(interest);
        dict.keys.push_back(nullptr);
        return;
    }
    const auto [found, is_first] = audience.of_name.try_emplace(key);
    if (is_first) Py_INCREF(key);
    found->second.push_back(interest);
    dict.keys.push_back(key);
}

void Watch::stop() {
    for (size_t number = 0; number < dicts_.size(); number++) {
        const auto found = audiences.find(dicts_[number].object);
        if (found == audiences.end()) continue;
        Audience &audience = found->second;
        const auto remove = [&](std::vector<Interest> &interests) {
            const auto at = std::find(interests.begin(), interests.end(), Interest{this, number});
            if (at != interests.end()) interests.erase(at);
        };
        for (PyObject *key : dicts_[number].keys) {
            if (key == nullptr) {
                remove(audience.of_any);
                continue;
            }
            const auto named = audience.of_name.find(key);
            remove(named->second);
            if (!named->second.empty()) continue;
            PyObject *name = named->first;
            audience.of_name.erase(named);
            Py_DECREF(name);
        }
        if (!audience.is_empty()) continue;
        audiences.erase(found);
        end_to_hear(dicts_[number].object);
    }
    dicts_.clear();
}

size_t n_watched_dicts() { return audiences.size(); }

#else

void Watch::want(PyObject *) {}
void Watch::stop() { dicts_.clear(); }
size_t n_watched_dicts() { return 0; }

#endif

void Watch::add(PyObject *dict) {
    dicts_.push_back({dict});
    state_++;
}

} // namespace wengert
