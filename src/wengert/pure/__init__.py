"""The Python forms of the extension modules: what answers where nothing is compiled; see :mod:`wengert.extension`.

A form has the names of the module that it stands for, as the module's stub (``_steps.pyi``) declares them, and does the
same, or raises an error that says what to write instead; the few things that no Python code can do are named at the top
of each file, and in docs/limits.md. The forms import no other part of wengert: what they need, they are given by
``setup``, as the compiled ones are.
"""
