from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fftpack  # noqa: F401  # so that it is intercepted

X = np.array([0.5, -1.5, 2.25, 4.0])
TRANSFORMS = ("fft", "ifft", "rfft", "irfft", "dct", "idct", "dst", "idst")
OF_SEVERAL_AXES = ("fft2", "ifft2", "fftn", "ifftn", "dctn", "idctn", "dstn", "idstn")
OF_TWO_NUMBERS = ("sc_diff", "cs_diff", "cc_diff", "ss_diff")
OF_ONE_NUMBER = ("tilbert", "itilbert", "shift")
OF_NONE = ("diff", "hilbert", "ihilbert")


def one(name: str, *args: Any) -> tuple[str, list[Any]]:
    return f"scipy.fftpack.{name}", [((X.copy(), *args), {}), (("a", *args), {})]


CALLS: dict[str, list[Any]] = {
    **dict(one(name) for name in (*TRANSFORMS, *OF_NONE)),
    **{f"scipy.fftpack.{name}": [((np.ones((2, 3)),), {}), ((np.ones(3),), {})] for name in OF_SEVERAL_AXES},
    **dict(one(name, 0.5, 2.0) for name in OF_TWO_NUMBERS),
    **dict(one(name, 0.5) for name in OF_ONE_NUMBER),
}
