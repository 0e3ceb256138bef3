// What Python's headers of Linux have to be told so that they can be read as if for Windows: tools/portable.py includes
// it before each file. It stands for the pyconfig.h that Python has there, which no package carries.
#pragma once

#include <pyconfig.h>

#define MS_WINDOWS
#define MS_WIN64
#define NT_THREADS
#define HAVE_DECLSPEC_DLL
#undef SIZEOF_LONG
#define SIZEOF_LONG 4
#undef SIZEOF_WCHAR_T
#define SIZEOF_WCHAR_T 2
#undef SIZEOF_PTHREAD_T
#undef SIZEOF_PTHREAD_KEY_T
#undef HAVE_PTHREAD_H
#undef _POSIX_THREADS
#undef HAVE_SYS_TIME_H
#undef HAVE_SYS_SELECT_H
#undef HAVE_SYS_IOCTL_H
#undef HAVE_TERMIOS_H
#undef HAVE_PTY_H
#undef HAVE_CRYPT_H
#undef HAVE_STRINGS_H
#undef PTHREAD_KEY_T_IS_COMPATIBLE_WITH_INT
#undef RETSIGTYPE
