"""From the user's NumPy function to a tape.

How what the function calls gets there, while a trace is open:

* NumPy's protocols and Python's operators ask the traced array itself: ``tracer``, ``operators``, ``functions``.
* What makes arrays of shapes and numbers (``np.zeros``) is replaced in the module numpy: ``patch``.
* Lists that hold traced values are seen at the door of NumPy's two types of functions: ``arraylikes``.
* ``numpy.polynomial``, which is Python code on arrays throughout, is run as the user's code is: ``callers``.
* SciPy's Python code is exchanged for code that asks (``reroute``), the C code of ``math``, ``float``, ``hasattr`` and
  ``np.nditer`` for trampolines that do (``exchange``), and ``type(x)`` in the user's code for a call that knows:
  ``type_of``.

Each leaves what is not traced, other threads and libraries as they were. All of it is done and undone where a trace is
opened and closed, in one step that no signal can come into: ``native/opened.cpp``.
"""
