import struct

import numpy as np
import pytest

from tests.codegen.kernel import HOST, compiled, target
from wengert.codegen.vecmath import exponentials, tables

REGISTERS = [w for w in (16, 32, 64) if w <= max(32, HOST.vector_bytes)]


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
@pytest.mark.parametrize("width", REGISTERS)
@pytest.mark.parametrize("table", [exponentials.ROOTS_OF_TWO["f8"], exponentials.ROOTS_OF_TWO_LACK["f8"]])
def test_a_number_is_looked_up_by_its_last_bits(table: list[float], width: int, lanes: int) -> None:
    numbers = np.array([*range(19), -1, -8, 2**40 + 3, -(2**62) + 5])
    look_up = compiled(lambda i: tables.look_up(i, table, "f8"), ["i8"], "f8", lanes, target(width))
    assert np.array_equal(look_up(numbers), np.array(table)[numbers % 8])


def test_without_avx2_a_table_is_read_from_memory() -> None:
    table = exponentials.ROOTS_OF_TWO["f8"]
    look_up = compiled(lambda i: tables.look_up(i, table, "f8"), ["i8"], "f8", 4, target(has_fma=False))
    assert np.array_equal(look_up(np.arange(20)), np.array(table)[np.arange(20) % 8])


def test_what_the_roots_of_two_lack_is_looked_up_at_once_since_its_halves_are_the_same() -> None:
    for x in exponentials.ROOTS_OF_TWO_LACK["f8"]:
        low, high = struct.unpack("<II", struct.pack("<d", x))
        assert low == high
