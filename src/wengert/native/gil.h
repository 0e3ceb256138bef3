// Every extension module of wengert's says that it uses the GIL, so a free-threaded Python switches it on when the first
// is imported. What is exchanged in the process while a trace is open (code, slots of classes, who answers) is read by
// all threads at any time, most often by code that is not wengert's: no lock of ours could be held around that.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef Py_mod_gil // since Python 3.13
#define USES_THE_GIL {Py_mod_gil, Py_MOD_GIL_USED},
#else
#define USES_THE_GIL
#endif
