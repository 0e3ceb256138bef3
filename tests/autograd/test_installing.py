"""``install()`` in processes of their own: which names are found, and what happens beside the real autograd."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path


def run(script: str, *folders: Path) -> str:
    """Run a script in a process of its own; returns what it printed."""
    lines = [f"import sys; sys.path[:0] = {[str(f) for f in folders]!r}", textwrap.dedent(script)]
    done = subprocess.run([sys.executable, "-W", "error", "-c", "\n".join(lines)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_packages_find_wengert_under_the_name_autograd() -> None:
    run("""
        import wengert.autograd
        wengert.autograd.install()
        wengert.autograd.install()
        import autograd, autograd.numpy as np, autograd.numpy.random as npr, autograd.scipy.stats.norm as norm
        import autograd.scipy.stats.multivariate_normal as mvn
        from autograd import grad, jacobian
        from autograd.extend import primitive, defvjp
        from autograd.numpy.numpy_boxes import ArrayBox
        from autograd.misc.optimizers import adam
        from autograd.scipy.special import gammaln
        import wengert.autograd.extend
        assert autograd is wengert.autograd and autograd.extend is wengert.autograd.extend
        assert autograd.__name__ == "wengert.autograd" and autograd.__spec__.name == "wengert.autograd"
        assert grad(norm.logpdf)(1.0) == -1.0
        assert grad(lambda x: mvn.logpdf(x, np.zeros(2), np.eye(2)))(np.ones(2)).tolist() == [-1.0, -1.0]
        try:
            import autograd.nothing
        except ModuleNotFoundError as error:
            assert error.name == "autograd.nothing"
        else:
            raise AssertionError
    """)


def test_autograd_itself_is_found_again_afterwards(tmp_path: Path) -> None:
    (tmp_path / "autograd").mkdir()
    (tmp_path / "autograd" / "__init__.py").write_text("is_real = True\n")
    run(
        """
        import wengert.autograd as ours
        with ours.installed():
            import autograd
            assert autograd is ours
        import autograd
        assert autograd.is_real
        try:
            ours.install()
        except ImportError as error:
            assert "install() first" in str(error)
        else:
            raise AssertionError
        ours.uninstall()
        """,
        tmp_path,
    )
