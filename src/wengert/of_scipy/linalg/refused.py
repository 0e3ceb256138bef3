"""Functions of ``scipy.linalg`` that are not traced, and what to write instead."""

from __future__ import annotations

from typing import Any

from wengert.tracing.arguments import unsupported
from wengert.tracing.interception.intercept import intercepts

REFUSED = {
    "qz": "eig(a, b) for generalised eigenvalues, schur for one matrix",
    "ordqz": "eig(a, b) for generalised eigenvalues, schur for one matrix",
    "cossin": "svd of the blocks",
    "qr_delete": "qr of the matrix without these rows or columns",
    "qr_insert": "qr of the matrix with these rows or columns",
    "qr_update": "qr of a + u vᴴ",
    "clarkson_woodruff_transform": "S @ a, with S = clarkson_woodruff_transform(np.eye(len(a)), sketch_size, rng)",
}


def _refuse(name: str, instead: str) -> None:
    def refused(*args: object, **kwargs: object) -> Any:
        raise unsupported(f"scipy.linalg.{name} is not traced: nobody has written its derivative", instead)

    intercepts(f"scipy.linalg:{name}")(refused)


for _name, _instead in REFUSED.items():
    _refuse(_name, _instead)
