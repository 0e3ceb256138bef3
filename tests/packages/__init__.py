"""Functions of public packages, called as they are: whether wengert records, follows and watches everybody's code.

``cases.py`` has the packages, a group each: how one is imported, functions of an array, and changes of its state.
``check.py`` runs one group in a process of its own and writes what it found; ``__main__.py`` runs them all and prints
the table. The packages are those of the dependency group ``packages`` in ``pyproject.toml``; ``make test-packages``
installs them into an environment of their own.
"""
