"""The commands, in typer's terms. typer is imported in :func:`build`, since wengert does without it elsewhere.

Exit codes: 0 if all went well, 1 if the user's function failed or something is wrong, 2 for a wrong call.
"""

import json
import linecache
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg
from wengert.report.command import work
from wengert.report.command.targets import TargetCall, UsageError, UserError, called, loaded, told
from wengert.report.tables import amount, seconds, table

FAILED, MISUSED = 1, 2

DEMO = """\
import numpy as np

x = np.linspace(-3, 3, 200)
true = np.array([1.0, -1.0, 0.6, 0.7, 1.2, 0.4])

def peak(height, place, width):
    return height * np.exp(-(((x - place) / width) ** 2))

def model(p):
    return peak(*p[:3]) + peak(*p[3:])

data = model(true) + 0.02 * np.random.default_rng(0).normal(size=x.size)

def loss(p):
    return np.mean((model(p) - data) ** 2)
"""


def build() -> Any:
    """Return the application."""
    import typer
    from rich.console import Console

    app = typer.Typer(
        name="wengert",
        help="Look into functions of NumPy code that wengert differentiates and compiles.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    caching = typer.Typer(help="The compiled kernels that are kept on disk.", no_args_is_help=True)
    app.add_typer(caching, name="cache")

    # The defaults of the commands' parameters, which typer reads.
    target_: Any = typer.Argument(..., metavar="FILE:FUNCTION", help="model.py:loss, or package.module:function.")
    args_: Any = typer.Option(None, "--args", help="The arguments in Python, with np and wg.")
    args_from_: Any = typer.Option(None, "--args-from", help="An .npz file; its names are parameters.")
    grad_: Any = typer.Option(False, "--grad", help="The gradient of the function, by its first argument.")
    json_: Any = typer.Option(False, "--json", help="Print JSON.")
    html_: Any = typer.Option(None, "--html", help="Write the report as one HTML file.")
    jit_: Any = typer.Option(False, "--jit", help="Compile it.")
    find_nans_: Any = typer.Option(False, "--find-nans", help="Name the line that makes a NaN.")
    time_: Any = typer.Option(0.5, "--time", min=0.0, help="Seconds for each form.")

    @contextmanager
    def told_errors() -> Iterator[None]:
        try:
            yield
        except UsageError as error:
            print(f"wengert: {error}", file=sys.stderr)
            raise typer.Exit(MISUSED) from None
        except UserError as error:
            print(error, file=sys.stderr)
            raise typer.Exit(FAILED) from None

    def prepared(target: str, args: str | None, args_from: Path | None, grad: bool = False) -> TargetCall:
        name = target.rpartition(":")[2]
        call = called(loaded(target), name, args, args_from)
        return call._replace(function=wg.grad(call.function), name=f"grad({name})") if grad else call

    @contextmanager
    def users_code() -> Iterator[None]:
        try:
            yield
        except Exception as error:  # whatever the user's function raises
            raise UserError(told(error)) from None

    def show_version(is_asked: bool) -> None:
        if is_asked:
            print(f"wengert {wg.__version__}")
            raise typer.Exit

    version_: Any = typer.Option(False, "--version", callback=show_version, is_eager=True, help="Print the version.")

    @app.callback()
    def main(version: bool = version_) -> None:
        pass

    @app.command()
    def explain(
        target: str = target_,
        args: str | None = args_,
        args_from: Path | None = args_from_,
        grad: bool = grad_,
        html: Path | None = html_,
        as_json: bool = json_,
    ) -> None:
        """Explain what a function becomes: lines, kernels, memory, guards, and what is slow."""
        with told_errors():
            call = prepared(target, args, args_from, grad)
            with users_code():
                explanation = wg.explain(call.function)(*call.args, **call.kwargs)
            if html is not None:
                whole(html, explanation.save)
            if as_json:
                print(explanation.json())
            elif html is None and sys.stdout.isatty():
                Console().print(explanation)
            elif html is None:
                print(explanation)
            else:
                print(f"wrote {html}")

    @app.command()
    def run(
        target: str = target_,
        args: str | None = args_,
        args_from: Path | None = args_from_,
        grad: bool = grad_,
        jit: bool = jit_,
        find_nans: bool = find_nans_,
        as_json: bool = json_,
    ) -> None:
        """Run a function, and print its result; or a script, `run script.py [args]`, whose solvers get derivatives."""
        with told_errors():
            call = prepared(target, args, args_from, grad)
            f: Any = call.function
            if jit or find_nans:  # which is found in programs
                f = wg.jit(find_nans=find_nans)(f)
            with users_code():
                result = f(*call.args, **call.kwargs)
            print(json.dumps(work.plain(result)) if as_json else result)

    @app.command()
    def bench(
        target: str = target_,
        args: str | None = args_,
        args_from: Path | None = args_from_,
        time: float = time_,
        as_json: bool = json_,
    ) -> None:
        """Time a function, its gradient, and both compiled, beside NumPy."""
        with told_errors():
            call = prepared(target, args, args_from)
            console = Console(stderr=True)
            with users_code(), console.status("timing") as status:
                found = work.bench(call, time, lambda form: status.update(f"timing {form}"))
            if as_json:
                print(json.dumps(found))
                return
            rows = [_row(row) for row in found["rows"]]
            print("\n".join(table((call.name, "first call", "least", "median", "times NumPy's"), rows)))

    @app.command()
    def doctor(as_json: bool = json_) -> None:
        """Look whether everything is right here; the exit code is 1 if something is wrong."""
        found = work.doctor()
        if as_json:
            print(json.dumps(found))
        else:
            rows = [("right" if r["is_right"] else "WRONG", r["what"], r["found"], r["instead"]) for r in found]
            print("\n".join(table(("", "what", "found", "what to do"), rows)))
        if not all(r["is_right"] for r in found):
            raise typer.Exit(FAILED)

    @app.command()
    def demo() -> None:
        """Fit a model with compiled gradients, and explain one of its steps."""
        demonstrate()

    @caching.command("show")
    def show(as_json: bool = json_) -> None:
        """Print the folder, how many kernels are in it, and their bytes."""
        found = work.cache()
        if as_json:
            print(json.dumps(found))
        elif found["folder"] is None:
            print("Compiled kernels are not kept: WENGERT_CACHE_DIR is empty.")
        else:
            print(f"{found['folder']}: {amount(found['entries'], 'kernel')}, {amount(found['bytes'], 'byte')}")

    @caching.command("clear")
    def clear(as_json: bool = json_) -> None:
        """Remove the kernels; they are compiled again when they are needed."""
        found = work.clear_cache()
        text = f"removed {amount(found['entries'], 'kernel')}, {amount(found['bytes'], 'byte')}"
        print(json.dumps(found) if as_json else text)

    return app


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    if "why_not" in row:
        return row["form"], "", "", "", row["why_not"]
    times = [seconds(row[k]) for k in ("first_s", "least_s", "median_s")]
    return row["form"], *times, f"{row['ratio']:.3g}"


def whole(path: Path, write: Any) -> None:
    """Have a file written whole or not at all: under another name, which then becomes its own."""
    temporary = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        write(temporary)
        temporary.replace(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        temporary.unlink(missing_ok=True)


def demonstrate() -> None:
    """Fit two peaks to data, and print the fit and the explanation of its gradient."""
    names: dict[str, Any] = {}
    linecache.cache["demo.py"] = (
        len(DEMO),
        None,
        list[str](DEMO.splitlines(True)),
        "demo.py",
    )  # so that reports show its lines
    exec(compile(DEMO, "demo.py", "exec"), names)
    step = wg.jit(wg.value_and_grad(names["loss"]))
    p = np.array([0.8, -0.7, 0.8, 0.8, 1.0, 0.6])
    print(DEMO)
    for k in range(2001):
        value, gradient = step(p)
        if k % 500 == 0:
            print(f"step {k:4d}  loss {value:.6f}")
        p = p - 0.3 * gradient
    print(f"\nfound {np.round(p, 2)}\nmeant {names['true']}\n")
    print(wg.explain(wg.grad(names["loss"]))(p))
