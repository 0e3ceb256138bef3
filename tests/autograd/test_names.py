"""Every public name of autograd 1.9 has its place here, or a reason why not."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

import wengert.autograd

NAMES = {
    "": "checkpoint deriv dict elementwise_grad grad grad_and_aux grad_named hessian hessian_tensor_product"
    " hessian_vector_product holomorphic_grad isinstance jacobian list make_ggnvp make_hvp make_jvp make_vjp"
    " multigrad_dict primitive tensor_jacobian_product tuple type value_and_grad vector_jacobian_product",
    "builtins": "isinstance type tuple list dict SequenceBox DictBox make_sequence ContainerVSpace SequenceVSpace"
    " ListVSpace TupleVSpace DictVSpace NamedTupleVSpace",
    "core": "make_vjp make_jvp VJPNode JVPNode primitive_vjps primitive_jvps defvjp_argnums defvjp_argnum defvjp"
    " defjvp_argnums defjvp_argnum defjvp def_linear VSpace vspace SparseObject primitive Box getval isbox",
    "differential_operators": "make_vjp make_jvp grad elementwise_grad deriv jacobian holomorphic_grad grad_named"
    " hessian make_hvp hessian_tensor_product hessian_vector_product tensor_jacobian_product vector_jacobian_product"
    " make_jvp_reversemode make_ggnvp value_and_grad grad_and_aux multigrad_dict checkpoint",
    "extend": "JVPNode SparseObject VJPNode VSpace def_linear defjvp defjvp_argnum defjvp_argnums defvjp defvjp_argnum"
    " defvjp_argnums vspace Box notrace_primitive primitive register_notrace",
    "misc": "flatten const_graph",
    "misc.fixed_points": "fixed_point",
    "misc.flatten": "flatten flatten_func",
    "misc.optimizers": "sgd rmsprop adam",
    "misc.tracers": "const_graph full_graph",
    "numpy": "where array concatenate fft linalg random metadata make_diagonal",
    "numpy.fft": "fft ifft fft2 ifft2 fftn ifftn rfft irfft rfft2 irfft2 rfftn irfftn fftshift ifftshift",
    "numpy.linalg": "cholesky det eig eigh inv norm pinv slogdet solve svd T",
    "numpy.numpy_boxes": "ArrayBox",
    "numpy.numpy_vjps": "unbroadcast unbroadcast_f match_complex repeat_to_match_shape balanced_eq replace_zero",
    "numpy.numpy_vspaces": "ArrayVSpace ComplexArrayVSpace",
    "numpy.numpy_wrapper": "wrap_namespace concatenate_args array_from_args make_diagonal metadata parse_einsum_input",
    "numpy.random": "randn rand normal seed RandomState",
    "scipy.integrate": "odeint",
    "scipy.linalg": "sqrtm solve_triangular solve_banded solve_sylvester",
    "scipy.signal": "convolve",
    "scipy.special": "beta betainc betaln polygamma psi digamma gamma gammaln gammainc gammaincc gammasgn rgamma"
    " multigammaln j0 y0 j1 y1 jn yn i0 i1 iv ive erf erfc erfinv erfcinv logit expit logsumexp",
    "scipy.stats.beta": "cdf logpdf pdf",
    "scipy.stats.chi2": "cdf logpdf pdf",
    "scipy.stats.dirichlet": "rvs pdf logpdf",
    "scipy.stats.gamma": "cdf logpdf pdf",
    "scipy.stats.multivariate_normal": "pdf logpdf entropy",
    "scipy.stats.norm": "pdf cdf sf logpdf logcdf logsf",
    "scipy.stats.poisson": "cdf logpmf pmf",
    "scipy.stats.t": "pdf cdf logpdf logcdf",
    "test_util": "scalar_close make_numerical_jvp check_vjp check_jvp check_equivalent check_grads combo_check",
    "tracer": "primitive register_notrace notrace_primitives notrace_primitive Box isbox getval",
    "util": "subvals subval func quick_grad_check",
    "wrap_util": "unary_to_nary wraps get_name get_doc",
}

LEFT_OUT = {
    "core": {
        "backward_pass": "a tape is transformed; there is no walk over nodes",
        "add_outgrads": "as backward_pass",
        "sum_outgrads": "as backward_pass",
        "sparse_add": "as backward_pass",
    },
    "tracer": {
        "trace": "wengert.trace returns a tape, whose steps are not objects that a class makes",
        "Node": "the steps of a tape are of one class",
        "new_box": "as Node",
        "TraceStack": "as Node",
        "find_top_boxed_args": "as Node",
        "trace_primitives_map": "NumPy's functions are traced as they are",
    },
    "builtins": {
        "container_take": "a container of traced values is Python's own",
        "container_untake": "as container_take",
        "sequence_extend_left": "as container_take",
        "sequence_extend_right": "as container_take",
    },
    "util": {"toposort": "as core.backward_pass"},
    "misc.tracers": {"ConstGraphNode": "as tracer.Node", "FullGraphNode": "as tracer.Node"},
}


@pytest.mark.parametrize("module", NAMES)
def test_the_names_are_there(module: str) -> None:
    found = import_module(f"wengert.autograd.{module}".rstrip("."))
    assert [name for name in NAMES[module].split() if not hasattr(found, name)] == []


@pytest.mark.parametrize("module", LEFT_OUT)
def test_what_is_left_out_is_not_there(module: str) -> None:
    found = import_module(f"wengert.autograd.{module}")
    assert [name for name in LEFT_OUT[module] if hasattr(found, name)] == []


def test_it_is_thin() -> None:
    """Lines of code, without docstrings, comments and empty lines."""
    total = 0
    for path in Path(wengert.autograd.__file__).parent.rglob("*.py"):
        tree = ast.parse(path.read_text())
        docs: set[int] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
                docs |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
        lines = enumerate(path.read_text().splitlines(), 1)
        total += sum(bool(line.strip()) and not line.strip().startswith("#") and k not in docs for k, line in lines)
    assert total <= 700
