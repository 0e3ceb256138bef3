// What a function captured, and whether it is still the same; see places.cpp.
#pragma once

#include "reading.h"
#include "watches.h"

namespace wengert {

struct Place {
    enum Kind : uint8_t { item, dict, keys, absent, list, set, form, readonly, content, counted, call };
    Kind kind = item;
    PyObject *object = nullptr, *key = nullptr, *seen = nullptr; // strong references; not all kinds have a key
    std::vector<npy_intp> words; // of an array's form: its shape and then its strides; of a set: its table
    mutable int64_t number = -1; // of what is counted: at which it was last found to be the same; of an item: which it is
};

bool holds(const Place &place);
bool are_equal(PyObject *now, PyObject *seen); // another object, but a number or text that nobody can tell from the first

// All the places that a program reads beside its arguments. With the GIL held.
class Surroundings {
  public:
    void read(nb::handle places); // throws what `guarded` catches
    int traverse(visitproc visit, void *arg) const;
    void clear(); // may run any Python code

    // Whether what the function captured is what it was. A failed look is a difference; only an interrupt stays an
    // error. Here to be inlined: every call asks it.
    bool hold() {
        for (const Word &word : words_)
            if (PyObject *now = *word.address; now != word.seen && !are_equal(now, word.seen)) return false;
        for (const Place &place : places_)
            if (!holds(place)) return false;
        return watch_.is_quiet() || watched_hold();
    }

    size_t n_compared() const { return words_.size() + places_.size(); } // at every call
    size_t n_watched() const { return watched_.size(); }                 // compared after a change alone
    uint64_t n_looks() const { return n_looks_; }                        // at what is watched

  private:
    // A pointer to an object, in a cell, a function, a class or an object with slots; nullptr if nothing is there.
    struct Word {
        PyObject *volatile const *address;
        PyObject *seen; // a strong reference
    };
    void add_word(PyObject *owner, PyObject **address, PyObject *seen, bool may_be_absent = false);
    void read_place(nb::handle x);
    bool watched_hold();

    std::vector<Word> words_;
    std::vector<PyObject *> owners_; // of the memory that words are in: strong references
    std::vector<Place> places_;
    std::vector<Place> watched_; // those of one dict behind each other
    std::vector<std::ptrdiff_t> ends_; // of those of a dict, which has the same number in the watch
    uint64_t n_looks_ = 0;
    Watch watch_;
};

} // namespace wengert
