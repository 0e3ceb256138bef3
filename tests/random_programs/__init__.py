"""Random programs as modules of a user's: functions with state around them, in loops, in all that NumPy computes with.

``module.py`` writes a program, in the statements of :mod:`tests.programs` and of the files in ``rows``. ``check.py``
runs it in every way there is, and ``plain.py`` stands for wengert's transforms where Python runs it. ``shrink.py``
makes one that fails small. ``python -m tests.random_programs --kind state --count 1000 --seed 1`` runs many.
"""
