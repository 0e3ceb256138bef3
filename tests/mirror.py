"""Which test covers a file of ``src/wengert`` that has no test file of its own path, and why.

A file has one where that is possible: ``ad/reverse.py`` is tested by ``tests/ad/test_reverse.py``, the code of
``tree/__init__.py`` by ``tests/test_tree.py``, ``runtime/native/bound.cpp`` by ``tests/runtime/native/test_bound.py``.
The rows below are the others. A row goes when its file gets a test of its own: :mod:`tests.test_mirror` asks for that.
"""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """``test`` covers ``sources``, relative to ``src/wengert``."""

    test: str
    why: str
    sources: tuple[str, ...]


def row(test: str, why: str, *sources: str) -> Row:
    return Row(test, why, sources)


COVERED = [
    row("tests/api/test_derivatives.py", "the functions that vjp and linearize return, with good and bad tangents",
        "api/linear.py"),
    row("tests/api/test_loops.py", "loops and branches refuse alike, as rows of one table, and lie within each other",
        "api/branches.py", "api/carries.py", "api/scans.py"),
    row("tests/higher/test_chain.py", "the function is the op's one door: what it records is seen there",
        "api/recurrences.py"),
    row("tests/higher/test_implicit.py", "the function is the op's one door: what it records and refuses is seen there",
        "api/roots.py"),
    row("tests/higher/test_recording.py", "what a body decides, and the one tape of its paths, are seen on programs",
        "higher/joining.py", "tracing/decisions.py"),
    row("tests/report/test_smoothness.py", "each case is recorded, unrolled and run again", "report/replaying.py"),
    row("tests/report/test_explain.py", "imports: the names that the package gives on", "report/__init__.py"),
    row("tests/report/command/test_app.py", "the entry point is run in a process of its own",
        "report/command/__init__.py"),
    row("tests/of_scipy/sparse/test_methods.py", "imports: each file's functions are tested in the file of its name",
        "of_scipy/sparse/__init__.py"),
    row("tests/native/test_contexts.py", "each test is run with the compiled module and with its Python form",
        "pure/context.py", "pure/contexts.py"),
    row(
        "tests/ops/test_ops.py",
        "one checker runs every op of one table: value, both modes, second order, batches, native code, dtypes",
        "ops/elementwise.py", "ops/filters.py", "ops/index.py", "ops/op.py", "ops/reduce.py",
        "ops/shape.py", "ops/windows.py",
    ),
    row(
        "tests/ops/test_registry.py",
        "imports: that the registry is filled by them",
        "ops/__init__.py", "ops/linalg/__init__.py", "ops/special/__init__.py",
    ),
    row(
        "tests/ops/linalg/test_of_scipy.py",
        "one checker runs every op of one table whose reference is a routine of SciPy's",
        "ops/linalg/banded.py", "ops/linalg/drivers.py", "ops/linalg/equations.py", "ops/linalg/functions.py",
        "ops/linalg/pivoted.py", "ops/linalg/schur.py", "ops/linalg/stacks.py",
    ),
    row(
        "tests/of_scipy/linalg/test_solving.py",
        "imports, and small things that the other files share",
        "of_scipy/linalg/__init__.py", "of_scipy/linalg/operands.py",
    ),
    row(
        "tests/ops/special/test_families.py",
        "one checker runs every function of one table; a few of each family against mpmath",
        "ops/special/cylinder.py", "ops/special/declare.py", "ops/special/distributions.py",
        "ops/special/elliptic.py", "ops/special/gammas.py",
        "ops/special/hypergeometric.py", "ops/special/noncentral.py",
        "ops/special/orders.py", "ops/special/polynomials.py",
    ),
    row("tests/nn/test_activations.py", "imports: each file's functions are tested in the file of its name",
        "nn/__init__.py"),
    row("tests/codegen/nests/test_windows.py", "the one op that has an expansion is a contraction of windows",
        "passes/expand.py"),
    row("tests/optimize/test_optimisers.py", "arithmetic on trees is what optimisers are made of; and imports",
        "optimize/__init__.py", "optimize/trees.py"),
    row("tests/drawing/test_svg.py", "imports: pictures are made by the names that it has", "drawing/__init__.py"),
    row("tests/graph/search/test_with_optuna.py", "imports: searches are called by the names that it has",
        "graph/search/__init__.py"),
    row("tests/passes/plan/test_planner.py", "how a kind is planned is seen in plans",
        "passes/plan/instructions.py", "passes/plan/kinds.py"),
    row("tests/passes/test_pipeline.py", "the lists of passes, and what runs them, have a test of their own name",
        "passes/__init__.py"),
    row("tests/passes/test_lanes.py", "what becomes of a batch is seen in programs, whichever file put it in lanes",
        "ops/lanes.py", "passes/lanes/absorb.py", "passes/lanes/elements.py", "passes/lanes/loops.py",
        "passes/lanes/steps.py"),
    row("tests/passes/test_reroll.py", "what a loop becomes is seen on the tape, whichever file made it so",
        "passes/reroll/assembling.py", "passes/reroll/columns.py", "passes/reroll/emitter.py",
        "passes/reroll/iteration.py", "passes/reroll/pieces.py", "passes/reroll/reads.py", "passes/reroll/roller.py",
        "passes/reroll/scans.py"),
    row("tests/test_tree.py", "flattening, paths and words are tested together, on the same structures",
        "tree/maps.py", "tree/nodes.py", "tree/words.py"),
    row("tests/hosts/test_attrs.py", "the classes are made by the real libraries; test_pydantic.py has the other half",
        "tree/models.py"),
    row("tests/tracing/test_trace.py", "data: what a step says of its line", "source.py"),
    row("tests/tracing/surroundings/test_watching.py", "one walk fills all notes: whose they are is seen in its slots",
        "tracing/surroundings/from_libraries.py", "tracing/surroundings/holders.py",
        "tracing/surroundings/reasons.py"),
    row("tests/tracing/surroundings/test_hazards.py", "what code takes from outside of Python, and that it is compared",
        "tracing/surroundings/elsewhere.py"),
    # -------------------------------------------------------------------------------------------------- on top
    row("tests/of_scipy/stats/test_distributions.py", "the methods of all distributions, as rows of one table",
        "of_scipy/stats/__init__.py", "of_scipy/stats/choosing.py", "of_scipy/stats/continuous.py",
        "of_scipy/stats/integrals.py",
        "of_scipy/stats/known.py", "of_scipy/stats/methods.py"),
    row("tests/of_scipy/stats/test_multivariate.py", "distributions are asked frozen and not in the same tests",
        "of_scipy/stats/frozen.py"),
    row("tests/of_scipy/stats/test_descriptive.py", "axes and policies are seen in the functions that have them",
        "of_scipy/stats/samples.py"),
    row("tests/of_scipy/special/test_usual.py", "imports: that its files are loaded is seen by what they do",
        "of_scipy/__init__.py", "of_scipy/special/__init__.py"),
    row("tests/of_scipy/special/test_legendre.py", "ops are reached by the functions of SciPy that they are for",
        "ops/special/spherical.py"),
    row("tests/of_scipy/optimize/test_roots.py", "what a solver's step is, when SciPy's own code answers, and imports",
        "api/solving.py", "higher/solvers.py", "of_scipy/optimize/__init__.py", "of_scipy/optimize/calls.py"),
    row("tests/of_scipy/integrate/test_functions.py", "the functions are the op's door, and imports",
        "higher/integrals.py", "of_scipy/integrate/__init__.py"),
    row("tests/of_scipy/optimize/test_minima.py", "which bounds are active is seen in the derivatives of minima",
        "of_scipy/optimize/optimality.py"),
    row("tests/of_scipy/interpolate/test_functions.py", "one table of calls runs through all of SciPy's functions",
        "of_scipy/interpolate/__init__.py", "of_scipy/interpolate/bsplines.py", "of_scipy/interpolate/fitpack.py",
        "of_scipy/interpolate/grids.py", "of_scipy/interpolate/piecewise.py", "of_scipy/interpolate/scattered.py"),
    row("tests/of_scipy/signal/test_functions.py", "one table of calls runs through all of SciPy's functions",
        "of_scipy/signal/__init__.py", "of_scipy/signal/arrays.py", "of_scipy/signal/convolving.py",
        "of_scipy/signal/filters.py", "of_scipy/signal/peaks.py", "of_scipy/signal/ranks.py",
        "of_scipy/signal/spectral.py", "of_scipy/signal/splines.py"),
    row("tests/of_scipy/spatial/test_distances.py", "imports: that its files are loaded is seen by what they do",
        "of_scipy/spatial/__init__.py"),
    row("tests/of_scipy/ndimage/test_filters.py", "what all filters share is seen in them; and imports",
        "of_scipy/ndimage/__init__.py", "of_scipy/ndimage/borders.py"),
    row("tests/ode/test_solve.py", "imports: the solver is called by the name that it has", "ode/__init__.py"),
    row("tests/ode/test_methods.py", "order, and what is within a step, are asked of every one-step method alike",
        "ode/radau.py", "ode/runge_kutta.py"),
    row("tests/hosts/test_openmdao.py", "what needs the library stands in a file of its own, which the other calls",
        "hosts/_openmdao.py"),
    row("tests/graph/test_graph.py", "what a graph is asked for is asked of the graph; and names",
        "graph/__init__.py", "graph/evaluation.py", "graph/specs.py"),
    # ------------------------------------------------------------------------------------------------------ codegen
    row("tests/codegen/test_fourier.py", "which transforms there are, and what they compute, are asked in one place",
        "runtime/native/fourier.cpp"),
    row("tests/codegen/test_lowered.py", "how loops and branches are called is seen in lowered programs",
        "codegen/nested.py"),
    row("tests/codegen/test_loops.py", "a plan becomes a body, of which a function is written: both are seen in that",
        "codegen/bodies.py"),
    row("tests/higher/test_loops.py", "what is made of bodies is seen in the loops that have them",
        "higher/bodies.py"),
    row("tests/higher/test_loops.py", "what loops and branches compute natively is what they compute at all",
        "runtime/native/loops.cpp"),
    row("tests/codegen/test_lapack.py", "eigenvalues by rotations are asked where those of LAPACK are",
        "runtime/native/spectra.cpp"),
    row("tests/codegen/test_sorting.py", "which sorts there are, and their order, are asked in one place",
        "runtime/native/sorting.cpp"),
    row("tests/runtime/native/test_blas.py", "small factors and LAPACK's are one kernel",
        "runtime/native/factors.cpp"),
    row("tests/codegen/test_lower.py", "data: the calls that lowering returns, and the one function that makes them",
        "codegen/calls.py"),
    row(
        "tests/codegen/nests/test_emit.py",
        "one emitter in several files: whole nests are run and compared with NumPy, to the bit",
        "codegen/nests/chunks.py", "codegen/nests/facts.py", "codegen/nests/folds.py", "codegen/nests/loops.py",
        "codegen/nests/nest.py", "codegen/nests/panels.py", "codegen/nests/points.py", "codegen/nests/sums.py",
        "codegen/nests/transpose.py",
    ),
    row(
        "tests/codegen/vecmath/test_table.py",
        "one table compares every function with mpmath, for every dtype and kind of processor",
        "codegen/vecmath/__init__.py", "codegen/vecmath/angles.py", "codegen/vecmath/avx512.py",
        "codegen/vecmath/doubled.py", "codegen/vecmath/error_functions.py", "codegen/vecmath/exponentials.py",
        "codegen/vecmath/fast.py", "codegen/vecmath/logistic.py", "codegen/vecmath/powers.py",
        "codegen/vecmath/trigonometry.py", "runtime/native/angles.cpp",
    ),
    # ------------------------------------------------------------------------------------------------- the runtime
    row(
        "tests/runtime/native/test_executable.py",
        "an Executable is all that Python sees of them: its memory, its operands, its steps",
        "runtime/native/arena.cpp", "runtime/native/executor.cpp", "runtime/native/module.cpp",
        "runtime/native/operands.cpp",
    ),
    row(
        "tests/runtime/native/test_call.py",
        "a call compares arguments, structures and places with those of its entries",
        "runtime/native/signature.cpp",
    ),
    row("tests/tracing/native/test_steps.py", "a step is known, or not, by its key, whichever operation it is of",
        "tracing/native/keys.cpp", "tracing/native/values.cpp"),
    row("tests/codegen/test_copies.py", "the runtime's copies beside those of kernels", "runtime/native/copies.cpp"),
    row("tests/runtime/native/test_blas.py", "every test runs with the routines found in either way",
        "runtime/routines.py"),
]  # fmt: skip
