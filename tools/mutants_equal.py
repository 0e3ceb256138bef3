"""Mutants that no test can catch, since they compute the same: the key of each, its change, and why it is equal."""

from __future__ import annotations

from typing import NamedTuple


class Equal(NamedTuple):
    file: str
    change: str
    why: str


EITHER = "at this size both ways are right, and which is quicker is measured"
EQUAL: dict[str, Equal] = {
    "d4269d2f8356e864": Equal("ad/cotangents.py", "0 -> 1", "of an empty array nothing is repeated"),
    "9bab2073ed7939f9": Equal(
        "ad/cotangents.py", "add_op(a, b) -> add_op(b, a)", "a sum of two is the same, to the bit"
    ),
    "329b6c10c7ffb2fc": Equal("ad/cotangents.py", "MAX_PARTS = 4 -> 5", EITHER),
    "ec8e29261881c052": Equal("ad/cotangents.py", "aval.size < LEAST_OF_A_PART * len(at) -> <=", EITHER),
    "e3cbd6b1c701b8f6": Equal("ad/forward.py", "len(operands) > 1 -> > 2", "the sum makes a structured term dense too"),
    "b479e5d8e4dfedce": Equal("ad/forward.py", "len(operands) > 1 -> >= 1", "who asks for the sum makes it dense too"),
    "d8dafbf6e818f0a2": Equal("codegen/vecmath/arithmetic.py", "52 -> 53", "no integer type has 52 bits"),
    "14335265bb22ec66": Equal("codegen/specs/extremes.py", "and shape[axis] >= 16 -> nothing", EITHER),
    "e1f160992a16728b": Equal("codegen/nests/tiles.py", "1 -> 2", EITHER),
    "dbef6a1087e7a65c": Equal("passes/fuse.py", "1 -> 2", EITHER),
    "598d9f51503b3ff9": Equal(
        "passes/plan/planner.py", "1 -> 2", "nothing is read later than by the one that takes the results"
    ),
    "021380938675c6d5": Equal(
        "passes/plan/instructions.py", "1.0 -> 1.5", "in code or in memory, a number computes the same"
    ),
    "8144e6ef31926758": Equal(
        "passes/plan/places.py", "number = -1 -> 1", "of a buffer in the arena nobody reads the number"
    ),
    "3396903b9167d4f2": Equal(
        "passes/reroll/sums.py", "slot >= 0 -> > 0", "what a sum begins with may be of the loop too: it is made before"
    ),
    "9f84ae715d4e0a3e": Equal("passes/any_count.py", "refs[0] -> refs[1]", "it stops at one value in all iterations"),
    "51725e8d4066bc30": Equal("passes/any_count.py", "len(chain) > FEWEST -> >=", EITHER),
    "61e4a450f9f0cefb": Equal(
        "codegen/vecmath/exponentials.py", "30 -> 31", "at this size the root is a, to the rounding"
    ),
    "0ebbc77650e0f799": Equal(
        "codegen/vecmath/exponentials.py", "28 -> 29", "at this size the logarithm rounds to the operand too"
    ),
    "6b47cb7fd4f5ca44": Equal(
        "codegen/vecmath/logistic.py", "x > y -> x >= y", "of two equal numbers either is larger"
    ),
    "224d6f4b7fbb90f6": Equal("codegen/vecmath/fast.py", "x > y -> x >= y", "of two equal numbers either is larger"),
    "d16099787a4bced9": Equal("codegen/vecmath/arithmetic.py", "n > limit -> n >= limit", "limit becomes limit"),
    "18786d606680378a": Equal(
        "tracing/counted.py", "18 -> 19", "how much is compared at most: what is larger is traced"
    ),
    "20a55eac20eced59": Equal("tracing/python/lines.py", "len(callers) > most -> >=", "how many are kept at most"),
    "55fb21d7ee9dfe5b": Equal("runtime/specialisation.py", "8 -> 9", "how many are kept at most"),
    "36b2dc8932811844": Equal(
        "tracing/surroundings/slots.py", "_equal(now, seen) -> (seen, now)", "both are of one type"
    ),
    "beda538518f74536": Equal(
        "tracing/surroundings/environment.py", "True -> False", "while it is traced nobody can unlock an array"
    ),
    "e061d5cebe0d186f": Equal("ops/complex.py", "4 -> 5", "the scale is a power of 4, so the root is the same with it"),
    "6b26559f7609a5e4": Equal("codegen/nests/channels.py", "1 -> 2", "only the text of the value is used"),
    "0185d8e0454a4447": Equal("ops/special/gammas.py", "0 -> 1", "1/Γ has no zero between 0 and 1"),
    "3bfcec6b44875c4f": Equal("ops/special/distributions.py", "way > 0 -> way >= 0", "it is 1 or -1"),
    "5519a3ff7e40f6e7": Equal(
        "ops/special/distributions.py", "m * x > n -> m * x >= n", "where both are equal either side will do"
    ),
    "c74c911cae8c62d1": Equal("ops/special/gammas.py", "12 -> 13", "the term is less than a rounding where it counts"),
    "f894be78742bad1b": Equal("codegen/contract.py", "16 -> 17", EITHER),
    "da1fcccecdc1d634": Equal("codegen/nests/tiles.py", "is_long and is_crowded(...) -> is_crowded(...)", EITHER),
    "f27d84baa3aa2a68": Equal(
        "codegen/nests/transpose.py",
        "if lanes > 1 and (not isinstance(block.start, int)) -> if True",
        "what is asked for ahead changes no result, and which of it is worth it is measured",
    ),
    "5a14a35356a87b57": Equal(
        "tracing/surroundings/watching.py", "if isinstance(value, ModuleType) -> if True", "of a class nothing is noted"
    ),
    "9b3f5292e7b76502": Equal("ad/cotangents.py", "1 -> 2", "a region of one element has any step"),
    "d468a16dd00a396e": Equal("codegen/vecmath/trigonometry.py", "1 -> 2", "zero by either is zero"),
    "66c207589a137ae8": Equal(
        "codegen/vecmath/arithmetic.py", "& -> |", "libm gives the same remainder, and takes longer"
    ),
}
