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
};

Floats make_floats(char kind, npy_intp itemsize, std::vector<npy_intp> shape, std::vector<npy_intp> strides);
bool is_found(const Check &check, char *const *table, Looking mode);

} // namespace wengert
