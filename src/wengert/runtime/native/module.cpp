// The extension module wengert.runtime._native: its types and its few functions. Imported once; with the GIL held.
#define WENGERT_IMPORTS_NUMPY
#include "blas.h"
#include "c_function.h"
#include "finite.h"
#include "fourier.h"
#include "loops.h"
#include "sorting.h"
#include "timing.h"
#include "special.h"
#include "ufuncs.h"
#include "layout.h"
#include "places.h"
#include "results.h"

#include <nanobind/nanobind.h>

#include <stdexcept>
#include <string>

namespace nb = nanobind;
using namespace nb::literals;

NB_MODULE(_native, module) {
    if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
    if (!wengert::make_executable_type(module.ptr()) || !wengert::make_bound_type(module.ptr()) ||
        !wengert::make_call_types(module.ptr()) || !wengert::make_shared_memory_type() ||
        !wengert::make_results_handler() || !wengert::make_finding(module.ptr()))
        throw nb::python_error();

    module.doc() = "The runtime of compiled programs; see _native.pyi.";
    module.def(
        "setup",
        [](nb::object guard_miss) {
            if (!PyCallable_Check(guard_miss.ptr())) throw nb::type_error("guard_miss is called, so it is a callable");
            Py_XSETREF(wengert::guard_miss, guard_miss.release().ptr());
        },
        nb::kw_only(), "guard_miss"_a, "Sets what makes the exception of a guard miss: guard_miss(position, bytes).");
    module.def(
        "now", [] { return nb::steal(wengert::now()); },
        "The clock of times(): (ticks, nanoseconds at that moment, the ticks that a stamp costs).");
    module.def(
        "set_threads",
        [](int n) {
            if (!wengert::set_threads(n)) throw nb::value_error("the number of threads is at least 1");
        },
        "n"_a, "How many threads share a large step.");
    module.def(
        "set_routines",
        [](nb::dict addresses) {
            for (auto [name, address] : addresses) {
                const std::string routine = nb::str(name).c_str();
                if (!wengert::set_routine(routine, reinterpret_cast<void *>(nb::cast<uintptr_t>(address))))
                    throw nb::value_error(("no kernel calls a routine " + routine).c_str());
            }
        },
        "addresses"_a, "Sets the BLAS and LAPACK routines, by name, that the kernels call.");
    module.def(
        "kernel_address",
        [](const char *name) {
            wengert::Kernel *kernel = std::string_view(name) == "copy" ? wengert::copy_few : wengert::named_kernel(name);
            if (kernel == nullptr) kernel = wengert::fourier_kernel(name);
            if (kernel == nullptr) kernel = wengert::sorting_kernel(name);
            if (kernel == nullptr) kernel = wengert::ufunc_kernel(name);
            if (kernel == nullptr && std::string_view(name) == "scan") kernel = wengert::run_scan;
            if (kernel == nullptr && std::string_view(name) == "while_back") kernel = wengert::run_while_back;
            if (kernel == nullptr) throw nb::key_error(name);
            return reinterpret_cast<uintptr_t>(kernel);
        },
        "name"_a, "The address of a kernel of the runtime's own.");
    module.def(
        "ufunc_loop",
        [](nb::object ufunc, int64_t number) -> nb::object {
            const bool is_own = PyUnicode_Check(ufunc.ptr());
            const wengert::UfuncLoop loop = is_own ? wengert::special_loop(PyUnicode_AsUTF8(ufunc.ptr()), number)
                                                   : wengert::loop_of(ufunc.ptr(), number);
            if (loop.function == nullptr) return nb::none();
            return nb::make_tuple(reinterpret_cast<uintptr_t>(loop.function), reinterpret_cast<uintptr_t>(loop.data));
        },
        "ufunc"_a, "number"_a, "The addresses of a ufunc's loop, or of one of our own, and of its data; None: there is none.");
    module.def("prepare_fourier", &wengert::prepare_fourier, "logarithm"_a,
               "Makes the tables for transforms of 2**logarithm numbers; False: there is no kernel for them.");
    module.def(
        "reduce_huge_address", [] { return reinterpret_cast<uintptr_t>(&wengert::reduce_huge); },
        "The address of the routine that generated code calls for huge angles.");
    module.def(
        "loop_routine_address",
        [](const char *name) {
            const std::string_view wanted = name;
            if (wanted == "wengert_is_interrupted") return reinterpret_cast<uintptr_t>(&wengert::is_interrupted);
            if (wanted == "wengert_more_room") return reinterpret_cast<uintptr_t>(&wengert::more_room);
            if (wanted == "wengert_free") return reinterpret_cast<uintptr_t>(&wengert::free_room);
            throw nb::key_error(name);
        },
        "name"_a, "The address of a routine that generated loops call.");
    module.def(
        "for_c",
        [](nb::object executable, nb::object read_only) {
            PyObject *made = wengert::for_c(executable.ptr(), read_only.ptr());
            if (made == nullptr) throw nb::python_error();
            return nb::steal(made);
        },
        "executable"_a, "read_only"_a, "(owner, address): what the functions of c_function are given as data.");
    module.def(
        "c_function",
        [](const char *name) {
            void *function = wengert::c_function(name);
            if (function == nullptr) throw nb::key_error(name);
            return reinterpret_cast<uintptr_t>(function);
        },
        "name"_a, "The address of a function that C code calls to run a program.");
    module.def(
        "work_bytes", [](const char *name, int64_t n) { return wengert::work_bytes(name, n); }, "name"_a, "n"_a,
        "How large the work area of such a kernel is.");
    module.def("kept_bytes", &wengert::kept_bytes, "How many bytes large results have left that were dropped.");
    module.def("n_watched_dicts", &wengert::n_watched_dicts, "How many dicts CPython tells the programs of.");
    module.def("get_threads", &wengert::get_threads, "How many threads share a large step; at first one a processor.");
}
