import gc
import subprocess
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from tests.runtime.native.executables import F4, F8, I8, TWICE_PLUS_ONE, Miss, N, executable, kernel, leaks, store
from tests.runtime.native_kernels import address, python_kernel
from wengert.runtime import _native
from wengert.runtime._native import Executable


@pytest.fixture(autouse=True)
def _guard_miss():
    _native.setup(guard_miss=lambda position, seen: Miss(position, seen))


class TestBases:
    def test_arena_inputs_outputs(self):
        program = executable(steps=TWICE_PLUS_ONE)
        x = np.arange(8.0)
        assert np.array_equal(program.run([x])[0], 2 * x + 1)
        assert program.runs == 1
        assert program.arena_bytes == 256
        assert not program.is_long

    def test_every_base_and_offset(self):
        # out0 = 2 * capture[4:], out1 = 1 + constant[2:6]; bases: arena, input, capture, constant, out0, out1
        capture, constant = np.arange(8.0), np.arange(10.0, 18.0)
        program = executable(
            captures=[capture],
            constants=[constant],
            outputs=[(F8, (4,)), (F8, (4,))],
            steps=[kernel("double", (2, 32), (4, 0), extent=4), kernel("increment", (3, 16), (5, 0), extent=4)],
        )
        x = np.zeros(8)
        first, second = program.run([x])
        assert np.array_equal(first, 2 * capture[4:])
        assert np.array_equal(second, constant[2:6] + 1)
        capture[4:] = 7  # read where it lies
        assert np.array_equal(program.run([x])[0], [14] * 4)
        assert np.array_equal(program.run([x], [np.full(8, 0.5)])[0], [1] * 4)
        assert np.array_equal(program.run([x])[0], [14] * 4)
        assert program.captures[0] is capture
        assert program.constants[0] is constant

    def test_results_are_fresh(self):
        program = executable(steps=TWICE_PLUS_ONE)
        first = program.run([np.zeros(8)])[0]
        second = program.run([np.ones(8)])[0]
        assert np.array_equal(first, [1] * 8)
        assert np.array_equal(second, [3] * 8)
        assert first.flags.owndata

    def test_small_results_share_an_allocation_and_nothing_else(self):
        shapes = [(8,), (512,), (513,), (0,), (), (8,)]  # 64 bytes, 4096, more than that, nothing, a number
        program = executable(
            outputs=[(F8, shape) for shape in shapes],
            steps=[kernel("double", (1, 0), (2 + k, 0)) for k in (0, 1, 2, 5)],
        )
        results = program.run([np.arange(8.0)])
        again = program.run([np.zeros(8)])
        for k in (0, 1, 2, 5):
            assert np.array_equal(results[k][:8], 2 * np.arange(8.0))
        shared = [results[k] for k in (0, 1, 5)]
        assert len({id(x.base) for x in shared}) == 1 and shared[0].base is not again[0].base
        assert all(x.ctypes.data % 64 == 0 and x.flags.carray for x in shared)
        assert results[2].base is results[3].base is None
        spans = sorted((x.ctypes.data, x.ctypes.data + x.nbytes) for x in (*results[:4], results[5], *again[:4]))
        assert all(end <= begin for (_, end), (begin, _) in zip(spans, spans[1:], strict=False))

    def test_one_small_result_keeps_the_memory_of_all(self):
        program = executable(outputs=[(F8, (8,)), (F8, (8,))], steps=[kernel("double", (1, 0), (2, 0))])
        first, second = program.run([np.arange(8.0)])
        del second
        others = [program.run([np.zeros(8)]) for _ in range(100)]  # which would take memory that was freed
        assert np.array_equal(first, 2 * np.arange(8.0)) and len(others) == 100

    def test_what_small_results_share_is_bounded(self):
        program = executable(outputs=[(F8, (512,))] * 9, steps=[])
        assert [x.base is None for x in program.run([np.zeros(8)])] == [False] * 8 + [True]

    def test_inputs_may_move_between_calls(self):
        program = executable(steps=TWICE_PLUS_ONE)
        arrays = [np.full(8, float(k)) for k in range(20)]
        for x in [*arrays, *arrays[::-1]]:
            assert program.run([x])[0][3] == 2 * x[0] + 1


class TestInputs:
    @pytest.mark.parametrize("value", [2.5, np.float64(2.5), np.array(2.5), 2, True])
    def test_values_of_shape_nothing(self, value):
        program = executable(
            inputs=[(F8, (), None)], outputs=[(F8, ())], steps=[kernel("double", (1, 0), (2, 0), extent=1)]
        )
        result = program.run([value])[0]
        assert type(result) is np.float64
        assert result == 2 * value

    @pytest.mark.parametrize(
        ("dtype", "value"),
        [
            (I8, -3),
            (I8, np.int64(5)),
            ("bool", True),
            ("complex128", 1 - 2j),
            ("complex128", 2),
            ("float32", 1.5),
            ("int8", 3),
        ],
    )
    def test_kinds_of_number(self, dtype, value):
        dtype = np.dtype(dtype)
        seen = []
        program = executable(
            inputs=[(dtype, (), None)],
            outputs=[],
            steps=[("callback", lambda x: seen.append((x.dtype, x[()])), [((1, 0), dtype, (), None, False)], [])],
        )
        assert program.run([value]) == []
        assert seen == [(dtype, value)]

    @pytest.mark.parametrize(
        ("dtype", "value", "error"),
        [
            (F8, 1j, TypeError),
            (I8, 1.5, TypeError),
            (I8, 2**63, OverflowError),
            ("bool", 1, TypeError),
            (F8, "1", TypeError),
            (F8, None, TypeError),
            (F8, np.float32(1), TypeError),
            (F8, np.zeros(1), ValueError),
        ],
    )
    def test_numbers_that_do_not_fit(self, dtype, value, error):
        program = executable(inputs=[(np.dtype(dtype), (), None)], outputs=[])
        with pytest.raises(error):
            program.run([value])

    def test_other_layouts_are_copied(self):
        program = executable(inputs=[(F8, (2, 4), None)], steps=TWICE_PLUS_ONE)
        x = np.arange(8.0).reshape(2, 4)
        unaligned = np.frombuffer(b"." + x.tobytes(), np.uint8)[1:].view(F8).reshape(2, 4)
        assert not unaligned.flags.aligned
        for given in (x, np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2], unaligned, x[::-1][::-1]):
            assert np.array_equal(program.run([given])[0], 2 * x.ravel() + 1)

    def test_given_strides(self):
        # strides of 16 bytes: element k of the input is at 16 k
        steps = [kernel("double", (1, 16 * k), (2, 8 * k), extent=1) for k in range(4)]
        program = executable(inputs=[(F8, (4,), (16,))], outputs=[(F8, (4,))], steps=steps)
        x = np.arange(8.0)
        assert np.array_equal(program.run([x[::2]])[0], [0, 4, 8, 12])
        unaligned = np.frombuffer(b"." + x.tobytes(), np.uint8)[1:].view(F8)[::2]
        assert np.array_equal(program.run([unaligned])[0], [0, 4, 8, 12])
        with pytest.raises(ValueError, match="strides"):
            program.run([x[:4]])

    def test_given_negative_strides(self):
        steps = [kernel("double", (1, -8 * k), (2, 8 * k), extent=1) for k in range(4)]
        program = executable(inputs=[(F8, (4,), (-8,))], outputs=[(F8, (4,))], steps=steps)
        x = np.arange(4.0)
        assert np.array_equal(program.run([x[::-1]])[0], [6, 4, 2, 0])
        unaligned = np.frombuffer(b"." + x.tobytes(), np.uint8)[1:].view(F8)[::-1]
        assert np.array_equal(program.run([unaligned])[0], [6, 4, 2, 0])

    @pytest.mark.parametrize(
        ("x", "error", "words"),
        [
            (np.zeros(7), ValueError, r"input 0: expected float64\[8\], got float64\[7\]"),
            (np.zeros((8, 1)), ValueError, r"float64\[8, 1\]"),
            (np.zeros(8, F4), TypeError, "float32"),
            (np.zeros(8, ">f8"), TypeError, ">f8"),
            ([0.0] * 8, TypeError, "list"),
            (None, TypeError, "NoneType"),
        ],
    )
    def test_arrays_that_do_not_fit(self, x, error, words):
        program = executable(steps=TWICE_PLUS_ONE)
        with pytest.raises(error, match=words):
            program.run([x])
        assert program.runs == 0

    def test_number_of_inputs(self):
        program = executable(steps=TWICE_PLUS_ONE)
        for arguments in ([], [np.zeros(8)] * 2):
            with pytest.raises(ValueError, match="expected 1 inputs"):
                program.run(arguments)
        with pytest.raises(TypeError):
            program.run(None)
        with pytest.raises(TypeError):
            program.run()
        with pytest.raises(TypeError):
            program.run([np.zeros(8)], output=[])

    def test_a_captured_array_that_was_changed_in_place(self):
        capture = np.zeros(8)
        program = executable(captures=[capture], steps=[kernel("double", (2, 0), (3, 0))])
        program.run([np.zeros(8)])
        capture.resize((4, 2), refcheck=False)
        with pytest.raises(ValueError, match="captured array 0"):
            program.run([np.zeros(8)])

    def test_an_empty_input(self):
        program = executable(
            inputs=[(F8, (0, 3), None)], outputs=[(F8, (0,))], steps=[kernel("double", (1, 0), (2, 0), extent=0)]
        )
        assert program.run([np.zeros((0, 3))])[0].shape == (0,)


class TestOut:
    def test_written_in_place(self):
        program = executable(
            outputs=[(F8, (N,)), (F8, ())], steps=[*TWICE_PLUS_ONE, kernel("double", (1, 8), (3, 0), extent=1)]
        )
        x, out, value = np.arange(8.0), np.empty(8), np.empty(())
        results = program.run([x], out=[out, value])
        assert results[0] is out
        assert results[1] is value
        assert np.array_equal(out, 2 * x + 1)
        assert value == 2
        results = program.run([x], None, [None, value])
        assert results[0] is not out
        assert np.array_equal(results[0], out)

    @pytest.mark.parametrize(
        "out",
        [np.zeros(7), np.zeros(8, F4), np.zeros((8, 2))[:, 0], [0.0] * 8, np.frombuffer(bytes(64)), np.float64(1)],
        ids=["shape", "dtype", "strides", "list", "read-only", "scalar"],
    )
    def test_refused(self, out):
        program = executable(steps=TWICE_PLUS_ONE)
        with pytest.raises((ValueError, TypeError), match="out 0"):
            program.run([np.zeros(8)], out=[out])
        assert program.runs == 0

    def test_sharing_memory_is_refused(self):
        memory = np.zeros(24)
        program = executable(
            captures=[memory[16:]],
            outputs=[(F8, (N,)), (F8, (N,))],
            steps=[kernel("double", (1, 0), (3, 0)), kernel("double", (2, 0), (4, 0))],
        )
        x = memory[:8]
        good = [memory[8:16], np.zeros(8)]
        for _ in range(3):
            program.run([x], out=good)
        for out in ([memory[7:15], np.zeros(8)], [np.zeros(8), memory[9:17]], [memory[8:16], memory[8:16]]):
            with pytest.raises(ValueError, match="shares memory"):
                program.run([x], out=out)


class TestGuards:
    def test_holds_and_misses(self):
        expected = np.int64(3).tobytes()
        program = executable(
            inputs=[(I8, (), None)],
            outputs=[(I8, ())],
            steps=[("guard", (1, 0), 8, expected, 5), store((2, 0), 11)],
        )
        assert program.run([3]) == [11]
        with pytest.raises(Miss) as miss:
            program.run([4])
        assert miss.value.args == (5, np.int64(4).tobytes())
        assert program.run([3]) == [11]
        assert program.runs == 3

    def test_while_the_gil_is_free(self):
        steps = [store((0, 0), 1), ("guard", (0, 0), 8, bytes(8), 2)]
        with pytest.raises(Miss):
            executable(steps=steps, is_long=True).run([np.zeros(8)])

    def test_lengths_agree(self):
        with pytest.raises(ValueError, match="bytes"):
            executable(steps=[("guard", (1, 0), 8, b"123", 0)])


class TestCallbacks:
    def program(self, function: Any, *, copy: bool = False, outs: Any = None, is_long: bool = False) -> Executable:
        """out = function(2 * x) by way of the arena."""
        outs = [((2, 0), F8, (N,), None)] if outs is None else outs
        return executable(
            steps=[
                kernel("double", (1, 0), (0, 0)),
                ("callback", function, [((0, 0), F8, (2, 4), (32, 8), copy)], outs),
            ],
            is_long=is_long,
        )

    @pytest.mark.parametrize("is_long", [False, True])
    @pytest.mark.parametrize("copy", [False, True])
    def test_views_and_copies(self, copy, is_long):
        seen = []

        def function(x):
            seen.append((x.shape, x.flags.writeable, x.flags.owndata))
            return x.ravel() + 1

        x = np.arange(8.0)
        assert np.array_equal(self.program(function, copy=copy, is_long=is_long).run([x])[0], 2 * x + 1)
        assert seen == [((2, 4), copy, copy)]

    def test_a_strided_view(self):
        program = executable(
            outputs=[(F8, (4, 2))],
            steps=[("callback", lambda x: x + 0, [((1, 0), F8, (4, 2), (8, 32), False)], [((2, 0), F8, (4, 2), None)])],
        )
        assert np.array_equal(program.run([np.arange(8.0)])[0], np.arange(8.0).reshape(2, 4).T)

    @pytest.mark.parametrize("dtype", [F8, ">f8"])
    def test_a_result_that_is_a_part_of_an_array(self, dtype):
        """The columns 1 and 2 of four, in the byte order of the array that they are a part of."""
        program = executable(
            outputs=[(F8, (2, 4))],
            steps=[
                kernel("double", (1, 0), (2, 0)),
                (
                    "callback",
                    lambda x: x.astype(dtype),
                    [((1, 0), F8, (2, 2), (8, 32), False)],
                    [((2, 8), F8, (2, 2), (32, 8))],
                ),
            ],
        )
        expected = 2 * np.arange(8.0).reshape(2, 4)
        expected[:, 1:3] = [[0, 4], [1, 5]]
        assert np.array_equal(program.run([np.arange(8.0)])[0], expected)

    def test_results_that_the_function_writes_itself(self):
        """Into columns of the result, and into the arena, which the next step reads."""

        def function(x, column, beside):
            assert column.flags.writeable and not x.flags.writeable and column.base is beside.base is None
            column[...] = x[:2]
            np.negative(x, out=beside)

        program = executable(
            arena_bytes=64,
            outputs=[(F8, (2, 4)), (F8, (8,))],
            steps=[
                kernel("double", (1, 0), (2, 0)),
                (
                    "writing",
                    function,
                    [((1, 0), F8, (N,), None, False)],
                    [((2, 8), F8, (2,), (32,)), ((0, 0), F8, (N,), None)],
                ),
                kernel("double", (0, 0), (3, 0)),
            ],
        )
        x = np.arange(8.0)
        first, second = program.run([x])
        expected = 2 * x.reshape(2, 4)
        expected[:, 1] = [0, 1]
        assert np.array_equal(first, expected) and np.array_equal(second, -2 * x)

    @pytest.mark.parametrize("as_list", [False, True])
    def test_several_results_in_other_layouts(self, as_list):
        program = executable(
            outputs=[(F8, (2, 4)), (I8, ()), (F8, ())],
            steps=[
                (
                    "callback",
                    lambda x: [np.asfortranarray(x), 3, 2.5] if as_list else (np.asfortranarray(x), np.int64(3), 2.5),
                    [((1, 0), F8, (2, 4), None, False)],
                    [((2, 0), F8, (2, 4), None), ((3, 0), I8, (), None), ((4, 0), F8, (), None)],
                )
            ],
        )
        first, second, third = program.run([np.arange(8.0)])
        assert np.array_equal(first, np.arange(8.0).reshape(2, 4))
        assert (second, third) == (3, 2.5)

    @pytest.mark.parametrize(
        ("result", "error"),
        [
            (np.zeros(7), ValueError),
            (np.zeros((8, 1)), ValueError),
            (np.zeros(8, F4), TypeError),
            (np.zeros(8, complex), TypeError),
            ("words", ValueError),
            (None, ValueError),
            (1.0, ValueError),
        ],
    )
    def test_results_that_do_not_fit(self, result, error):
        def a_function(x):
            return result

        program = self.program(a_function)
        with pytest.raises((error, TypeError)) as info:
            program.run([np.zeros(8)])
        if isinstance(result, np.ndarray):
            assert info.type is error
            assert "a_function: result 0: expected float64[8]" in str(info.value)

    def test_number_of_results(self):
        outs = [((2, 0), F8, (4,), None), ((2, 32), F8, (4,), None)]
        for result in ((np.zeros(4),), (np.zeros(4),) * 3):
            with pytest.raises(ValueError, match="expected 2 results"):
                self.program(lambda x, r=result: r, outs=outs).run([np.zeros(8)])
        with pytest.raises(TypeError):
            self.program(lambda x: None, outs=outs).run([np.zeros(8)])
        (first,) = self.program(lambda x: (x[0], x[1]), outs=outs).run([np.arange(8.0)])
        assert np.array_equal(first, 2 * np.arange(8.0))

    @pytest.mark.parametrize("is_long", [False, True])
    def test_exceptions_are_not_touched(self, is_long):
        error = KeyError("mine")

        def function(x):
            raise error

        program = self.program(function, is_long=is_long)
        for _ in range(3):
            with pytest.raises(KeyError) as info:
                program.run([np.zeros(8)])
            assert info.value is error

    def test_kept_views_stay_valid_and_constant(self):
        kept = []

        def function(x):
            kept.append(x[1, 1:])
            return x.ravel()

        program = self.program(function)
        results = [program.run([np.full(8, float(k))])[0] for k in range(30)]
        for k in range(30):
            assert np.array_equal(kept[k], [2 * k] * 3)
            assert np.array_equal(results[k], [2 * k] * 8)

    def test_the_run_goes_on_after_a_view_was_kept(self):
        kept = []
        program = executable(
            steps=[
                kernel("double", (1, 0), (0, 0)),
                ("callback", kept.append, [((0, 0), F8, (N,), None, False)], []),
                kernel("increment", (0, 0), (0, 0)),
                kernel("increment", (0, 0), (2, 0)),
            ]
        )
        assert np.array_equal(program.run([np.ones(8)])[0], [4] * 8)
        assert np.array_equal(kept[0], [2] * 8)
        assert np.array_equal(program.run([np.ones(8)])[0], [4] * 8)

    def test_views_in_a_traceback_stay_valid(self):
        def function(x):
            raise ValueError("look at x")

        program = self.program(function)
        with pytest.raises(ValueError, match="look at x") as info:
            program.run([np.full(8, 21.0)])
        with pytest.raises(ValueError, match="look at x"):
            program.run([np.zeros(8)])
        view = info.traceback[-1].frame.f_locals["x"]
        assert np.array_equal(view, np.full((2, 4), 42.0))

    def test_views_of_inputs_and_copies_of_inputs_stay_valid(self):
        kept = []
        program = executable(
            inputs=[(F8, (N,), None), (F8, (), None)],
            outputs=[],
            steps=[
                (
                    "callback",
                    lambda *a: kept.extend(a),
                    [((1, 0), F8, (N,), None, False), ((2, 0), F8, (), None, False)],
                    [],
                )
            ],
        )
        program.run([np.arange(16.0)[::2], 5.0])
        program.run([np.zeros(16)[::2], 6.0])
        gc.collect()
        assert np.array_equal(kept[0], np.arange(0, 16, 2))
        assert [kept[1], kept[3]] == [5, 6]
        assert not kept[0].flags.writeable

    def test_a_result_that_is_the_view(self):
        x = np.arange(8.0)
        assert np.array_equal(self.program(lambda v: v.reshape(-1)).run([x])[0], 2 * x)

    def test_calling_the_program_again_from_inside(self):
        depth = []

        def function(x):
            depth.append(1)
            if len(depth) < 5:
                return program.run([x.ravel().copy()])[0]
            return x.ravel()

        program = self.program(function)
        assert np.array_equal(program.run([np.ones(8)])[0], [32] * 8)

    def test_a_cycle_through_the_callback_is_collected(self):
        class Holder:
            def __call__(self, x):
                return x

        holder = Holder()
        holder.program = self.program(holder)
        alive = weakref.ref(holder)
        del holder
        gc.collect()
        assert alive() is None


class TestFailures:
    def test_without_an_explanation(self):
        with pytest.raises(RuntimeError, match="status 7"):
            executable(steps=[kernel("fail")]).run([np.zeros(8)])

    @pytest.mark.parametrize("is_long", [False, True])
    def test_with_an_explanation(self, is_long):
        def explain(status, x):
            raise np.linalg.LinAlgError(f"{status} {x.tolist()}")

        step = kernel("fail", on_failure=(explain, [((1, 0), F8, (N,), None, False)], []))
        with pytest.raises(np.linalg.LinAlgError, match=r"7 \[0.0, 1.0"):
            executable(steps=[step], is_long=is_long).run([np.arange(8.0)])

    def test_an_explanation_that_does_not_raise(self):
        with pytest.raises(RuntimeError, match="status 7"):
            executable(steps=[kernel("fail", on_failure=(lambda status: None, [], []))]).run([np.zeros(8)])

    @pytest.mark.parametrize("is_long", [False, True])
    def test_what_a_kernel_leaves_undone(self, is_long):
        """Python computes it instead, and the run goes on."""
        step = kernel(
            "fail", on_failure=(lambda x: 2 * x, [((1, 0), F8, (N,), None, False)], [((2, 0), F8, (N,), None)])
        )
        program = executable(steps=[step, kernel("increment", (2, 0), (2, 0))], is_long=is_long)
        assert program.run([np.arange(8.0)])[0].tolist() == (2 * np.arange(8.0) + 1).tolist()
        wrong = kernel("fail", on_failure=(lambda: np.ones(3), [], [((2, 0), F8, (N,), None)]))
        with pytest.raises(ValueError, match=r"result 0: expected float64.8., got float64.3."):
            executable(steps=[wrong], is_long=is_long).run([np.zeros(8)])

    @pytest.mark.parametrize("arena_bytes", [2**46, 2**62, 2**63 - 1])
    def test_an_arena_that_does_not_fit_into_memory(self, arena_bytes):
        program = executable(arena_bytes=arena_bytes, steps=TWICE_PLUS_ONE)
        for _ in range(2):
            with pytest.raises(MemoryError, match="arena"):
                program.run([np.zeros(8)])
            with pytest.raises(MemoryError, match="arena"):
                program.bind([np.zeros(8)])

    def test_an_output_that_does_not_fit_into_memory(self):
        program = executable(
            inputs=[(I8, (), None)], outputs=[(F8, (2**44,))], steps=[("guard", (1, 0), 8, bytes(8), 0)]
        )
        for _ in range(2):
            with pytest.raises(MemoryError):
                program.run([1])

    @pytest.mark.parametrize(
        "parts",
        [
            {"steps": [("kernel", 0, [], [], 1, 0, None)]},
            {"steps": [("kernel", 1, [(9, 0)], [], 1, 0, None)]},
            {"steps": [("kernel", 1, [(-1, 0)], [], 1, 0, None)]},
            {"steps": [("kernel", 1, [], [], -1, 0, None)]},
            {"steps": [("kernel", 1)]},
            {"steps": [("dance",)]},
            {"steps": [()]},
            {"steps": [("callback", 3, [], [])]},
            {"steps": [("switch", (1, 0), [])]},
            {"inputs": [(F8, (-1,), None)]},
            {"inputs": [(F8, (2, 3), (8,))]},
            {"inputs": [(np.dtype(object), (2,), None)]},
            {"captures": [1.0]},
            {"arena_bytes": -1},
        ],
    )
    def test_code_that_makes_no_sense(self, parts):
        with pytest.raises(ValueError):
            executable(**parts)


class TestLoops:
    def test_while(self):
        # arena: int64 counter at 0, flag at 8; counts to 10
        step = ("kernel", address("count_below"), [(0, 0), (0, 8)], [10], 1, 0, None)
        double = kernel("double", (0, 64), (0, 64), extent=1)
        program = executable(
            outputs=[(F8, ())],
            steps=[
                store((0, 0), 0),
                kernel("increment", (1, 0), (0, 64), extent=1),
                ("while", [step], (0, 8), [double]),
                kernel("double", (0, 64), (2, 0), extent=1),
            ],
        )
        assert program.run([np.zeros(8)]) == [2.0**10]

    @pytest.mark.parametrize(("index", "expected"), [(-5, 10), (0, 10), (1, 11), (2, 12), (9, 12)])
    def test_switch(self, index, expected):
        branches = [[store((2, 0), 10 + k)] for k in range(3)]
        program = executable(inputs=[(I8, (), None)], outputs=[(I8, ())], steps=[("switch", (1, 0), branches)])
        assert program.run([index]) == [expected]

    def test_nested_and_failing(self):
        step = ("kernel", address("count_below"), [(0, 0), (0, 8)], [3], 1, 0, None)
        inner = ("switch", (0, 0), [[], [], [kernel("fail")]])
        program = executable(steps=[store((0, 0), 0), ("while", [step], (0, 8), [inner])])
        with pytest.raises(RuntimeError, match="status 7"):
            program.run([np.zeros(8)])


ENDLESS = """
import ctypes, signal, threading, os, time
import numpy as np
from tests.runtime.native_kernels import address
from wengert.runtime._native import Executable

store = ("kernel", address("store_size"), [(0, 0)], [1], 1, 0, None)
program = Executable(arena_bytes=64, inputs=[], captures=[], constants=[], outputs=[],
                     steps=[("while", [store], (0, 0), [])], is_long={is_long})
signal.signal(signal.SIGINT, signal.default_int_handler)
def interrupt():
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGINT)
if {is_long}:
    threading.Thread(target=interrupt).start()
else:
    signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, 0.3)
try:
    program.run([])
except KeyboardInterrupt:
    print("stopped")
"""


@pytest.mark.sampled(2, "a second each")
@pytest.mark.parametrize("is_long", [True, False])
def test_ctrl_c_stops_an_endless_run(is_long):
    code = ENDLESS.format(is_long=is_long)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "stopped\n", done.stderr


def test_other_threads_run_during_a_long_run():
    started, go_on = threading.Event(), threading.Event()

    def wait(pointers, sizes, begin, end):
        started.set()
        return 0 if go_on.wait(30) else 1

    steps = [("kernel", python_kernel(wait), [], [], 1, 0, None), kernel("double", (1, 0), (2, 0))]
    program = executable(steps=steps, is_long=True)
    results = []
    thread = threading.Thread(target=lambda: results.append(program.run([np.ones(8)])[0]))
    thread.start()
    assert started.wait(30)
    go_on.set()
    thread.join(30)
    assert np.array_equal(results[0], [2] * 8)


@pytest.mark.parametrize("is_long", [False, True])
def test_one_program_in_eight_threads(is_long):
    program = executable(
        steps=[
            kernel("double", (1, 0), (0, 0)),
            ("callback", lambda x: x + 1, [((0, 0), F8, (N,), None, False)], [((0, 64), F8, (N,), None)]),
            kernel("double", (0, 64), (2, 0)),
        ],
        is_long=is_long,
    )
    wrong = []

    def work(k):
        for i in range(300):
            x = np.full(8, float(k * 1000 + i))
            if not np.array_equal(program.run([x])[0], 4 * x + 2):
                wrong.append((k, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def failing(call):
    def run():
        try:
            call()
        except (ValueError, TypeError, RuntimeError, Miss):
            pass
        else:
            raise AssertionError("it did not fail")

    return run


@pytest.mark.deep("thousands of calls of every path")
def test_no_path_leaks():
    x, out = np.arange(8.0), np.empty(8)
    view = [((1, 0), F8, (N,), None, False)]
    plain = executable(steps=TWICE_PLUS_ONE)
    scalar = executable(inputs=[(F8, (), None)], outputs=[(F8, ()), (F4, ())], steps=[])
    callback = executable(
        steps=[
            (
                "callback",
                lambda v: v,
                [
                    *view,
                ],
                [((2, 0), F8, (N,), None)],
            )
        ]
    )
    kept = executable(
        steps=[("callback", lambda v: (lambda: v).__closure__ and None, [((0, 0), F8, (N,), None, False)], [])]
    )
    raising = executable(steps=[("callback", lambda v: 1 / 0, [((0, 0), F8, (N,), None, False)], [])])
    paths = {
        "run": lambda: plain.run([x]),
        "copy": lambda: plain.run([x[::-1]]),
        "out": lambda: plain.run([x], None, [out]),
        "keyword": lambda: plain.run(inputs=[x], captures=(), out=[None]),
        "scalar": lambda: scalar.run([2.5]),
        "callback": lambda: callback.run([x]),
        "kept view": lambda: kept.run([x]),
        "refused input": failing(lambda: plain.run([x[:3]])),
        "refused out": failing(lambda: plain.run([x], out=[x])),
        "miss": failing(lambda: executable(steps=[("guard", (1, 0), 8, b"x" * 8, 0)]).run([x])),
        "failure": failing(lambda: executable(steps=[kernel("fail", on_failure=(int, view, []))]).run([x])),
        "construction": lambda: executable(steps=TWICE_PLUS_ONE),
        "failed construction": failing(lambda: executable(steps=[*TWICE_PLUS_ONE, ("dance",)])),
        "bind": lambda: plain.bind([x], None, [out])(),
    }
    counted = [x, out, F8, N, view, plain]
    for name, call in paths.items():
        gc.collect()  # what other tests left behind holds references too
        before = [sys.getrefcount(v) for v in counted]
        assert leaks(call, 2000) < 2000, name
        assert [sys.getrefcount(v) for v in counted] == before, name

    def divide():
        with pytest.raises(ZeroDivisionError):
            raising.run([x])

    assert leaks(divide, 500) < 5000
