"""The only place of wengert that reads the interpreter: bytecode, frames, and the user's syntax trees.

What a function computes is recorded by running it. A few questions that no run answers are answered from the code that
is running, and each stands in the file of its idea:

* ``bytecode`` reads the instructions of a code, and where each of them stands in the source;
* ``names`` finds the names in a code, and what it does with them;
* ``calls`` tells what the instruction that is being executed calls;
* ``loops`` tells the loops around it, and how it asks for the truth of a value;
* ``frames`` reads who is running: their variables, their names, the place that each is at;
* ``expressions`` tells what the source does with the value of the expression that a frame is evaluating;
* ``lines`` finds the user's lines for what is recorded.

Bytecode differs between versions of Python. So no other file reads it (``tests/tracing/test_python.py`` searches them),
and ``self_test`` compares, when wengert is imported, what is read of a few functions with what stands in them.
"""

from wengert.tracing.python.self_test import check_interpreter

check_interpreter()
