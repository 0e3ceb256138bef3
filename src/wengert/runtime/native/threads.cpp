// A large step in parts: what threads share, and between which the calling thread looks for a signal. A pool of threads
// serves one step at a time; a step that finds it busy runs alone.
//
// Workers only ever run kernels, so they neither hold nor need the GIL. Parts are claimed as threads come free: a
// kernel gives the same bits however its extent is split at multiples of the grain, so who runs what does not matter.
#include "../../native/platform.h"
#include "finite.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

namespace wengert {

namespace {

// What a part should take. Each thread begins with one grain and doubles it while that takes less, since nobody knows
// what a grain costs: so a short step is in few parts, and a long one is not left alone for long.
constexpr int64_t SHORT_NS = 5'000'000, LONG_NS = 20'000'000;

struct Job {
    const Step *step;
    char *const *pointers;
    int64_t most;   // of the extent in one part, a multiple of the grain
    Parted *parted; // looks at each part; nullptr: nobody does
    std::atomic<int64_t> next{0};
    std::atomic<int32_t> status{0};

    // `run` is that of the calling thread, which alone looks for signals; nullptr for the others.
    void work(Run *run) {
        int64_t part = step->grain, before = coarse_clock_ns();
        for (;;) {
            const int64_t begin = next.fetch_add(part, std::memory_order_relaxed);
            if (begin >= step->extent || status.load(std::memory_order_relaxed) != 0) return;
            const int64_t end = std::min(begin + part, step->extent);
            const int32_t failure = step->kernel(pointers, step->sizes, begin, end);
            if (failure != 0) {
                int32_t none = 0;
                status.compare_exchange_strong(none, failure, std::memory_order_relaxed);
                return;
            }
            if (parted != nullptr) [[unlikely]] parted->look(begin, end);
            if (run != nullptr && end < step->extent && !look_for_signals(*run)) {
                status.store(STOPPED, std::memory_order_relaxed); // whatever else went wrong: an error is set
            }
            const int64_t now = coarse_clock_ns();
            if (now - before < SHORT_NS)
                part = std::min(2 * part, most);
            else if (now - before > LONG_NS && part > step->grain)
                part = part / step->grain / 2 * step->grain;
            before = now;
        }
    }
};

class Pool {
  public:
    std::atomic<bool> is_taken{false};

    // Makes the pool have at least n workers, or as many as the system grants.
    void grow(int n) {
        while (n_workers_ < n) {
            try {
                std::thread([this] { serve(); }).detach();
            } catch (const std::system_error &) {
                return;
            }
            n_workers_++;
        }
    }

    void run(Job &job, Run &run, int n_helpers) {
        {
            std::lock_guard lock(mutex_);
            job_ = &job;
            places_ = n_helpers;
            generation_++;
        }
        wake_.notify_all();
        job.work(&run);
        std::unique_lock lock(mutex_);
        job_ = nullptr; // whoever wakes only now finds nothing to do
        idle_.wait(lock, [this] { return n_working_ == 0; });
    }

  private:
    void serve() {
        uint64_t seen = 0;
        std::unique_lock lock(mutex_);
        for (;;) {
            wake_.wait(lock, [&] { return generation_ != seen; });
            seen = generation_;
            if (job_ == nullptr || places_ == 0) continue;
            places_--;
            n_working_++;
            Job *job = job_;
            lock.unlock();
            job->work(nullptr);
            lock.lock();
            if (--n_working_ == 0) idle_.notify_one();
        }
    }

    std::mutex mutex_;
    std::condition_variable wake_, idle_;
    Job *job_ = nullptr;
    int places_ = 0;    // how many more workers may join the job
    int n_working_ = 0;
    uint64_t generation_ = 0;
    int n_workers_ = 0; // guarded by is_taken
};

std::atomic<Pool *> pool{nullptr}; // never freed: its workers wait in it until the process ends
std::atomic<int> n_threads{0};     // 0: not asked yet

// In a forked child only the calling thread lives: the parent's pool is left behind, and a new one is made when needed.
void forget_pool() { pool.store(nullptr); }

Pool *shared_pool() {
    Pool *found = pool.load(std::memory_order_acquire);
    if (found != nullptr) return found;
    static const bool once = call_in_forked_child(forget_pool);
    Pool *made = once ? new (std::nothrow) Pool : nullptr;
    if (made == nullptr) return nullptr;
    if (pool.compare_exchange_strong(found, made)) return made;
    delete made; // another thread was first
    return found;
}

} // namespace

int get_threads() {
    int n = n_threads.load(std::memory_order_relaxed);
    if (n == 0) {
        n = n_processors();
        n_threads.store(n, std::memory_order_relaxed);
    }
    return n;
}

bool set_threads(int n) {
    if (n < 1) return false;
    n_threads.store(n, std::memory_order_relaxed);
    return true;
}

int32_t run_in_parts(const Step &step, char *const *pointers, Run &run) {
    const int64_t n_grains = (step.extent + step.grain - 1) / step.grain;
    const int64_t n = step.is_ordered ? 1 : std::min<int64_t>(get_threads(), n_grains);
    Parted *parted = run.parted != nullptr && run.parted->step == &step ? run.parted : nullptr;
    const int64_t at_most = parted != nullptr ? parted->most : n_grains * step.grain;
    const auto ended = [parted](const Job &job) {
        const int32_t status = job.status.load(std::memory_order_relaxed);
        if (parted != nullptr) parted->is_done = status == 0;
        return status;
    };
    Pool *shared = n > 1 ? shared_pool() : nullptr;
    if (shared == nullptr || shared->is_taken.exchange(true, std::memory_order_acquire)) {
        Job job{&step, pointers, at_most, parted};
        job.work(&run);
        return ended(job);
    }
    // A few parts a thread, so that one that was held up does not hold up all.
    const int64_t n_parts = std::min<int64_t>(n * 4, n_grains);
    Job job{&step, pointers, std::min((n_grains + n_parts - 1) / n_parts * step.grain, at_most), parted};
    shared->grow(static_cast<int>(n - 1));
    shared->run(job, run, static_cast<int>(n - 1));
    shared->is_taken.store(false, std::memory_order_release);
    return ended(job);
}

} // namespace wengert

// For threadpoolctl, which finds the library by these names.
extern "C" {
EXPORTED int wengert_get_threads() { return wengert::get_threads(); }
EXPORTED void wengert_set_threads(int n) { wengert::set_threads(n); }
}
