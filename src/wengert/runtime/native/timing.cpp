// Times of a program's steps; see timing.h.
#include "timing.h"

#include "../../native/platform.h"

#include <algorithm>
#include <new>

#if defined(__x86_64__) && !defined(_MSC_VER) // for it platform.h has them
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace wengert {

namespace {

constexpr uint64_t COLD_RUNS = 2;      // left out once there are more
constexpr uint64_t SHARE = 80;         // stamps may take one part in so many of a program's time
constexpr uint64_t A_RUN = 8;          // the stamps that beginning and ending a timed run costs as much as
constexpr uint64_t FIRST_RUNS = 16;    // that are timed whatever it costs, so that short profiles say something
constexpr uint64_t MOST_BETWEEN = 4096;
constexpr size_t FEWEST_EVENTS = 4096, MOST_EVENTS = 1 << 17;

#if defined(_MSC_VER) && defined(_M_X64)
bool counts_evenly() { // whatever the processor's frequency is, and while it sleeps
    int words[4];
    __cpuid(words, static_cast<int>(0x80000000));
    if (static_cast<unsigned>(words[0]) < 0x80000007) return false;
    __cpuid(words, static_cast<int>(0x80000007));
    return (words[3] & (1 << 8)) != 0;
}
const bool has_counter = counts_evenly();
#elif defined(__x86_64__)
bool counts_evenly() { // the same
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
}
const bool has_counter = counts_evenly();
#endif

uint64_t this_thread() {
    static thread_local const uint64_t number = thread_number();
    return number;
}

// What a stamp costs, in ticks: where its step's numbers are in the cache, which is taken off the times; and where they
// are not, by which runs are spaced.
struct StampCost {
    uint64_t in_cache = 0, of_many = 0;
} cost;

uint64_t measured(Timing &timing, uint32_t n_steps) {
    constexpr uint32_t N = 1 << 12;
    const uint64_t begin = ticks();
    Stamps stamps(timing);
    for (uint32_t k = 0; k < N; k++) stamps.step(k % n_steps);
    return (ticks() - begin) / N + 1;
}

void measure_cost() {
    if (cost.of_many != 0) return;
    Executable code;
    code.n_steps = 1 << 12;
    Timing timing(code);
    uint64_t in_cache = UINT64_MAX, of_many = UINT64_MAX;
    for (int round = 0; round < 3; round++) {
        in_cache = std::min(in_cache, measured(timing, 4));
        of_many = std::min(of_many, measured(timing, 1 << 12));
    }
    cost = {in_cache, std::max(of_many, in_cache)};
}

} // namespace

uint64_t ticks() {
#if defined(__x86_64__) || defined(_M_X64)
    return has_counter ? __rdtsc() : clock_ns();
#elif defined(__aarch64__)
    uint64_t count;
    asm volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
#else
    return clock_ns();
#endif
}

// ---------------------------------------------------------------------------------------------------------- Timing

Timing::Timing(const Executable &code)
    : n_steps(code.n_steps), steps(new StepTime[n_steps + 1]), durations(new Number[(n_steps + 1) * SAMPLES]),
      n_events_kept(std::clamp(4 * n_steps, FEWEST_EVENTS, MOST_EVENTS)), events(new Event[n_events_kept]) {
    reset();
}

void Timing::reset() {
    for (size_t k = 0; k <= n_steps; k++) {
        steps[k].calls.set(0);
        steps[k].ticks.set(0);
        steps[k].least.set(UINT64_MAX);
        steps[k].samples.set(0);
        steps[k].stride.set(1);
    }
    n_events.set(0);
}

void Timing::add(size_t step, uint64_t duration) {
    StepTime &time = steps[step];
    const uint64_t calls = time.calls.get(), stride = time.stride.get();
    if (calls % stride == 0) {
        Number *kept = durations.get() + step * SAMPLES;
        uint64_t n = time.samples.get();
        if (n == SAMPLES) { // every second one, so that those kept are spread over all calls
            for (n = 0; n < SAMPLES / 2; n++) kept[n].set(kept[2 * n].get());
            time.stride.set(2 * stride);
        }
        kept[n].set(duration);
        time.samples.set(n + 1);
    }
    time.calls.set(calls + 1);
    time.ticks.set(time.ticks.get() + duration);
    if (duration < time.least.get()) time.least.set(duration);
}

void Timing::space(uint64_t stamps, uint64_t duration) {
    const uint64_t spent = (stamps + A_RUN) * cost.of_many, own = duration > spent ? duration - spent : 1;
    const bool is_known = steps[n_steps].calls.get() >= FIRST_RUNS;
    every.set(is_known ? std::min(1 + SHARE * spent / own, MOST_BETWEEN) : 1);
}

// ---------------------------------------------------------------------------------------------------------- Stamps

Stamps::Stamps(Timing &timing) : timing_(timing) {
    if (timing.steps[timing.n_steps].calls.get() == COLD_RUNS && timing.runs_left_out.get() == 0) {
        timing.reset();
        timing.runs_left_out.set(COLD_RUNS);
    }
    n_events_ = timing.n_events.get();
    begin_ = last_ = ticks();
}

Stamps::~Stamps() {
    const uint64_t duration = last_ - begin_, own = duration - std::min(duration, n_ * cost.in_cache);
    log(timing_.n_steps, begin_, last_);
    timing_.add(timing_.n_steps, own);
    timing_.n_events.set(n_events_);
    timing_.space(n_, duration);
}

void Stamps::log(uint64_t step, uint64_t begin, uint64_t end) {
    if (n_events_ < timing_.n_events_kept) timing_.events[n_events_++] = {begin, end, step, this_thread()};
}

void Stamps::step(uint32_t number) {
    const uint64_t now = ticks(), duration = now - last_;
    timing_.add(number, duration - std::min(duration, cost.in_cache));
    log(number, last_, now);
    last_ = now;
    n_++;
}

// --------------------------------------------------------------------------------------------------------- Sampler

void Sampler::begin() {
    has_taken_ = timing_->take();
    if (!has_taken_) return;
    const uint64_t runs = timing_->runs.load(std::memory_order_relaxed), next = timing_->next.get();
    planned_ = left_ = next > runs ? static_cast<int64_t>(next - runs) : 1;
}

void Sampler::again() {
    done_ += planned_;
    planned_ = left_ = static_cast<int64_t>(timing_->every.get());
}

void Sampler::end() {
    const int64_t runs = done_ + planned_ - left_; // of which some may have been asked for when nothing was taken
    timing_->runs.fetch_add(static_cast<uint64_t>(runs), std::memory_order_relaxed);
    if (!has_taken_) return;
    timing_->next.set(timing_->runs.load(std::memory_order_relaxed) + static_cast<uint64_t>(left_));
    timing_->give_back();
}

// ------------------------------------------------------------------------------------------------------ from Python

bool start_timing(Executable &code) {
    if (code.timing.load(std::memory_order_relaxed) != nullptr) {
        PyErr_SetString(PyExc_RuntimeError, "the program is being timed already");
        return false;
    }
    Timing *timing = code.timings;
    try {
        measure_cost();
        if (timing == nullptr || !timing->take()) { // a run that began before the last timing ended still writes there
            timing = new Timing(code);
            timing->is_taken.store(true);
            timing->older = code.timings;
            code.timings = timing;
        }
    } catch (const std::bad_alloc &) {
        PyErr_NoMemory();
        return false;
    }
    timing->reset();
    timing->runs.store(0);
    timing->runs_left_out.set(0);
    timing->next.set(1);
    timing->every.set(1);
    timing->give_back();
    code.timing.store(timing, std::memory_order_release);
    return true;
}

void stop_timing(Executable &code) { code.timing.store(nullptr, std::memory_order_release); }

void free_timings(Executable &code) {
    while (Timing *timing = code.timings) {
        code.timings = timing->older;
        delete timing;
    }
}

PyObject *now() {
    return Py_BuildValue("KKK", static_cast<unsigned long long>(ticks()), static_cast<unsigned long long>(clock_ns()),
                         static_cast<unsigned long long>(cost.in_cache));
}

// (runs, bytes of [n_steps + 1, 4 + SAMPLES] numbers: calls, ticks, the least, number of samples, samples; of events)
PyObject *times_of(const Executable &code) {
    const Timing *timing = code.timings;
    if (timing == nullptr) Py_RETURN_NONE;
    const size_t width = 4 + SAMPLES, n_rows = timing->n_steps + 1;
    PyObject *rows = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(n_rows * width * sizeof(uint64_t)));
    if (rows == nullptr) return nullptr;
    auto *row = reinterpret_cast<uint64_t *>(PyBytes_AS_STRING(rows));
    for (size_t k = 0; k < n_rows; k++, row += width) {
        const StepTime &time = timing->steps[k];
        row[0] = time.calls.get();
        row[1] = time.ticks.get();
        row[2] = time.least.get();
        row[3] = time.samples.get();
        for (size_t i = 0; i < SAMPLES; i++) row[4 + i] = timing->durations[k * SAMPLES + i].get();
    }
    const auto n_bytes = static_cast<Py_ssize_t>(timing->n_events.get() * sizeof(Event));
    PyObject *events = PyBytes_FromStringAndSize(reinterpret_cast<const char *>(timing->events.get()), n_bytes);
    if (events == nullptr) {
        Py_DECREF(rows);
        return nullptr;
    }
    return Py_BuildValue("KNN", static_cast<unsigned long long>(timing->runs.load()), rows, events);
}

} // namespace wengert
