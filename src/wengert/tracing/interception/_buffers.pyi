"""The memory of a traced value, for code of C that asks for it by Python's buffer protocol: see native/buffers.cpp."""

def lend_memory(cls: type, /) -> None:
    """Let the buffers of a class written in Python be those of the arrays that ``x.memory()`` gives."""
