// Which floats are looked at after which step, and whether this thread looks; see finite.cpp.
#pragma once

#include "layout.h"

namespace wengert {

enum class Looking : int8_t { not_at_all = 0, for_nans = 1, all = 2 };

// How many contexts look in some thread, of any kind: 0 as long as nobody wants to know.
extern std::atomic<int> finders;
Looking looking(); // in this thread

// While it lives, this thread looks so.
class Looked {
  public:
    explicit Looked(Looking mode);
    ~Looked();
    Looked(const Looked &) = delete;
    Looked &operator=(const Looked &) = delete;

  private:
    int8_t before_;
};

// The Python object `finding`, by which this thread, or all, begin and cease to look. With the module.
bool make_finding(PyObject *module);

struct Floats {
    int itemsize = 8;
    std::vector<npy_intp> shape, strides;
};

struct Check {
    size_t step;      // of the program's block: what it has written is looked at
    uint32_t pointer; // of a frame's table; the floats begin `offset` bytes behind
    int64_t offset;
    Floats floats;
    npy_intp width = 0; // so many floats, behind one another, belong to each index of the step's extent; 0: not known
};

// What a large step writes is looked at part by part, while it is in the processor's cache.
struct Parted {
    Parted(const Check *first, const Check *last, const Step &step, char *const *table, Looking mode);

    const Step *step = nullptr; // nullptr: its parts are not looked at
    int64_t most = 0;           // of the extent in one part
    std::atomic<bool> is_done{false}, has_found{false};

    void look(int64_t begin, int64_t end); // by whichever thread has run this part

  private:
    const Check *first_, *last_;
    char *const *table_;
    Looking mode_;
};

Floats make_floats(char kind, npy_intp itemsize, std::vector<npy_intp> shape, std::vector<npy_intp> strides);
bool is_found(const Check &check, char *const *table, Looking mode);

} // namespace wengert
