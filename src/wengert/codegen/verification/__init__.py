"""How kernels are verified (:mod:`wengert.codegen.verify`), a kind a file."""
