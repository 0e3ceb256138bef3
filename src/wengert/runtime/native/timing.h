// Times of a program's steps, by the processor's counter of ticks.
//
// A program that is timed notes the counter behind every step of some of its runs. How many runs lie between two of
// these is chosen from what a note costs, so that all runs together take at most a few percent longer. A program that
// is not timed asks one pointer a run, and its loop over steps is the same machine code as if there were no timing.
#pragma once

#include "layout.h"

#include <memory>

namespace wengert {

// Ticks of a clock that runs evenly: of the processor's counter where that does, else nanoseconds.
uint64_t ticks();

// A number that one thread writes and others may read meanwhile: the plain moves of a plain number.
class Number {
  public:
    uint64_t get() const { return value_.load(std::memory_order_relaxed); }
    void set(uint64_t value) { value_.store(value, std::memory_order_relaxed); }

  private:
    std::atomic<uint64_t> value_{0};
};

constexpr size_t SAMPLES = 64; // durations kept of a step, evenly spread over its calls

struct StepTime {
    Number calls, ticks, least, samples, stride;
};

struct Event {
    uint64_t begin, end, step, thread;
};

// The times of one executable: written by one run at a time, which has taken it, while others run untimed.
struct Timing {
    explicit Timing(const Executable &code);
    Timing(const Timing &) = delete;
    Timing &operator=(const Timing &) = delete;

    void reset();
    void add(size_t step, uint64_t duration);
    // After a run of so many stamps that took so long: when the next one is timed.
    void space(uint64_t stamps, uint64_t duration);
    // With the GIL held, at the beginning of each run: counts it, and if it is to be timed, takes this.
    bool begins_a_timed_run() {
        count(runs);
        return runs.load(std::memory_order_relaxed) >= next.get() && take();
    }
    bool take() { return !is_taken.exchange(true, std::memory_order_acquire); }
    void give_back() { is_taken.store(false, std::memory_order_release); }

    const size_t n_steps;       // its last StepTime, number n_steps, is that of whole runs
    const std::unique_ptr<StepTime[]> steps;
    const std::unique_ptr<Number[]> durations; // SAMPLES of each step
    const size_t n_events_kept;
    const std::unique_ptr<Event[]> events; // of the first runs that are timed, once the program is warm
    Number n_events;
    std::atomic<uint64_t> runs{0};
    Number runs_left_out;       // cold ones
    Number next;                // the number of the run that is timed next
    Number every;               // of so many runs one is timed
    std::atomic<bool> is_taken{false};
    Timing *older = nullptr;    // owned by the executable, as this is: a run under way may still write it
};

// The stamps of one run that is timed.
class Stamps {
  public:
    explicit Stamps(Timing &timing);
    ~Stamps();
    Stamps(const Stamps &) = delete;
    Stamps &operator=(const Stamps &) = delete;

    void step(uint32_t number); // it has ended

  private:
    void log(uint64_t step, uint64_t begin, uint64_t end);
    Timing &timing_;
    uint64_t begin_, last_, n_ = 0;
    size_t n_events_;
};

// The stamps of a run that is not timed: none.
struct NoStamps {
    void step(uint32_t) {}
};

// Which iterations of a loop's body are timed. The body's times are taken for the whole loop.
class Sampler {
  public:
    explicit Sampler(Executable &code) : timing_(code.timing.load(std::memory_order_acquire)) {
        if (timing_ != nullptr) [[unlikely]] begin();
    }
    ~Sampler() {
        if (timing_ != nullptr) [[unlikely]] end();
    }
    Sampler(const Sampler &) = delete;
    Sampler &operator=(const Sampler &) = delete;

    bool is_due() { return --left_ == 0; } // never, if nothing is timed: it begins at 0
    Timing &timing() { return *timing_; }
    void again(); // after an iteration that was timed

  private:
    void begin();
    void end();
    Timing *timing_;
    int64_t left_ = 0, planned_ = 0, done_ = 0;
    bool has_taken_ = false;
};

// With the GIL held.
bool start_timing(Executable &code); // false: a Python error is set
void stop_timing(Executable &code);
PyObject *times_of(const Executable &code);
void free_timings(Executable &code);
PyObject *now(); // (ticks, nanoseconds, the ticks that a stamp costs)

} // namespace wengert
