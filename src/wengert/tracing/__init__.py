"""From the user's NumPy function to a tape.

How what the function calls gets there, while a trace is open:

* NumPy's protocols and Python's operators ask the traced array itself: ``tracer``, ``operators``, ``functions``.
* What they do not reach is *intercepted*: what makes arrays of shapes and numbers (``np.zeros``), lists that hold
  traced values, SciPy's Python code, the C code of ``math``, ``float``, ``hasattr`` and ``np.nditer``. That is done in
  ``interception``, the one place where other people's code is changed; there stands ``type_of``, for ``type(x)``.
* ``numpy.polynomial``, which is Python code on arrays throughout, is run as the user's code is: ``callers``.

Each leaves what is not traced, other threads and libraries as they were. All of it is done and undone where a trace is
opened and closed, in one step that no signal can come into.
"""
