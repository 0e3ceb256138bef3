// Whether dicts have changed since somebody last looked; see watches.cpp.
#pragma once

#include "layout.h"

namespace wengert {

#ifdef Py_GIL_DISABLED // what is said of a change is said before it is done, and not to other threads
constexpr bool HEARS = false;
#else
constexpr bool HEARS = true;
#endif

// Some dicts, numbered from 0, and for each the keys that count. Its owner keeps the dicts and keys alive as long as it
// is begun. With the GIL held; nothing here runs Python code.
class Watch {
  public:
    Watch() = default;
    ~Watch() { stop(); }
    Watch(const Watch &) = delete;
    Watch &operator=(const Watch &) = delete;

    void add(PyObject *dict);   // which has not been looked at
    void want(PyObject *key);   // of the dict added last; nullptr: any change of it counts
    void stop();

    // Whether nothing that counts has changed in any of the dicts since they were looked at.
    bool is_quiet() const {
#if defined(Py_GIL_DISABLED)
        return dicts_.empty();
#elif PY_VERSION_HEX < 0x030C0000
        for (const Dict &dict : dicts_)
            if (state_of(dict) != dict.looked_at) return false;
        return true;
#else
        return state_ == looked_at_;
#endif
    }

    // A look at the dicts that have changed: `see(number)` says whether one of them is as it is wanted. Whatever runs
    // meanwhile, a change or another look, a change after the beginning is seen by the next look.
    template <class See> bool look(See see) {
        const uint64_t state = state_;
        for (size_t number = 0; number < dicts_.size(); number++) {
            const uint64_t now = state_of(dicts_[number]);
            if (now == dicts_[number].looked_at && !dicts_[number].is_unheard) continue;
            if (!see(number)) return false;
            dicts_[number].looked_at = now;
        }
        if (!is_any_unheard_) looked_at_ = state;
#if PY_VERSION_HEX < 0x030C0000
        return is_quiet();
#else
        return state_ == state;
#endif
    }

  private:
    friend struct Interest;
    struct Dict {
        PyObject *object;                  // borrowed
        uint64_t state = 1, looked_at = 0; // how often it has changed
        bool is_unheard = !HEARS;          // nobody tells of its changes
        std::vector<PyObject *> keys = {}; // those that are wanted, borrowed; nullptr: any
    };
    static uint64_t state_of(const Dict &dict) {
#if PY_VERSION_HEX < 0x030C0000 // CPython numbers the states of its dicts, and no number is given twice
        return reinterpret_cast<PyDictObject *>(dict.object)->ma_version_tag;
#else
        return dict.state;
#endif
    }

    std::vector<Dict> dicts_;
    uint64_t state_ = 0, looked_at_ = 0;
    bool is_any_unheard_ = !HEARS;
};

size_t n_watched_dicts(); // those that CPython tells of

} // namespace wengert
