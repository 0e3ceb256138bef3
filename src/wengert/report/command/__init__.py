"""The command line ``wengert``: explain, run and bench a function of a file; the cache; whether all is well here."""

from __future__ import annotations

import sys

from wengert.report.command import scripts


def main() -> None:
    """Run the command line."""
    if sys.argv[1:2] == ["run"] and scripts.is_of_script(sys.argv[2:]):  # which needs neither of the two below
        scripts.run(sys.argv[2:])
        return
    try:
        import rich  # noqa: F401  # typer needs it for what it prints
        import typer  # noqa: F401
    except ImportError:
        print("The command line needs typer and rich: pip install wengert[cli]", file=sys.stderr)
        raise SystemExit(2) from None
    from wengert.report.command.app import build

    build()()
