"""The pages of the manual's reference, written from the docstrings, and the checks of the manual's build.

``docs/conf.py`` names this file as an extension of Sphinx. The public names of a package, and their groups with a
title each, are those of its ``__all__``: a name that is added there is in the manual.
"""

from __future__ import annotations

import importlib
import inspect
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

MODULES = {
    "wengert": "Derivatives, loops, programs",
    "wengert.nn": "Networks",
    "wengert.nn.random": "Random numbers of networks",
    "wengert.graph": "Graphs",
    "wengert.graph.search": "Searches of graphs",
    "wengert.ode": "Differential equations",
    "wengert.optimize": "Optimisers",
    "wengert.optimize.schedules": "Schedules of optimisers",
    "wengert.hosts.casadi": "Functions of CasADi",
    "wengert.hosts.jax": "Functions of JAX",
    "wengert.hosts.lmfit": "Jacobians for lmfit",
    "wengert.hosts.numba": "Functions of Numba",
    "wengert.hosts.openmdao": "Components of OpenMDAO",
    "wengert.hosts.pymc": "Functions of PyMC",
    "wengert.hosts.scipy": "Functions for SciPy's compiled code",
    "wengert.hosts.torch": "Functions of PyTorch",
    "wengert.hosts.pint": "Gradients with units",
    "wengert.tree": "Trees",
    "wengert.edit": "Looking into tapes, and changing them",
    "wengert.errors": "Errors and warnings",
    "wengert.config": "Switches",
    "wengert.ops": "Steps of tapes",
    "wengert.expect": "Checking arguments",
}
"""The modules whose public names are in the reference, in the order of the reference, each with its title."""

RETURNED = {
    "tapes and programs": ("wengert.runtime.jit.Jit", "wengert.runtime.program.Program"),
    "looking inside": ("wengert.runtime.look.Look",),
}
"""The classes of what functions of a group return: they are no public names, and what they have is public."""

BESIDE_ALL = {("wengert", "looking inside"): ("print",)}
"""Public names that ``from module import *`` leaves out, since they are those of Python's own functions, by group."""

ONE_PAGE = 40
"""How many names are shown on one page; of a module with more, each group has its page."""


# ------------------------------------------------------------------------------------------------- public names


_LIST = r"^__all__ = (\[.*?^\])"


def groups(module: ModuleType) -> dict[str, list[str]]:
    """Return the public names of a module under the titles that its ``__all__`` has as comments.

    Groups of one title are one. A module without ``__all__`` has one group, of what it defines itself.

    >>> import wengert.optimize
    >>> groups(wengert.optimize)["running them"]
    ['minimize', 'step']
    """
    source = inspect.getsource(module)
    listed = re.search(_LIST, source, re.MULTILINE | re.DOTALL)
    if listed is None:
        names = list(module.__all__) if hasattr(module, "__all__") else list(_defined(module, source))
        return {"": names}
    found: dict[str, list[str]] = {}
    title = ""
    for token in tokenize.generate_tokens(io.StringIO(listed[1] + "\n").readline):
        if token.type == tokenize.COMMENT and token.string != "# fmt: skip":
            title = token.string.removeprefix("#").strip()
        elif token.type == tokenize.STRING:
            found.setdefault(title, []).append(token.string.strip("\"'"))
    for (name, title), names in BESIDE_ALL.items():
        if name == module.__name__:
            found[title] += names
    return found


def _defined(module: ModuleType, source: str) -> Iterator[str]:
    """The names without an underscore that are assigned or defined at the left edge of the source."""
    for name in dict.fromkeys(re.findall(r"^(?:def |class |)([a-zA-Z]\w*)(?:\(|:| = )", source, re.MULTILINE)):
        thing = getattr(module, name, None)
        is_own = getattr(thing, "__module__", module.__name__) == module.__name__
        is_value = not callable(thing) and f"{name}: " in source
        if (is_own and callable(thing)) or is_value:
            yield name


# ---------------------------------------------------------------------------------------------- pages of the reference


def pages(reviewed: str) -> dict[str, str]:
    """Return the pages of the reference by their names: one a module, and one a group of a large module."""
    made: dict[str, str] = {}
    for name, title in MODULES.items():
        module = importlib.import_module(name)
        found = groups(module)
        parts = [f":reviewed: {reviewed}", "", *_headed(f"{title}: {name}", "="), f".. automodule:: {name}", ""]
        is_large = sum(map(len, found.values())) > ONE_PAGE
        if is_large:
            parts += ["Each group has a page:", "", ".. toctree::", "   :maxdepth: 1", ""]
            parts += [f"   {title.capitalize()} <{_page(name, title)}>" for title in found]
            parts += [""]
        for group, names in found.items():
            shown = [n for n in names if not _is_elsewhere(getattr(module, n))]
            body = [*_table(name, shown), *_entries(module, shown)]
            if is_large:
                for returned in RETURNED.get(group, ()) if name == "wengert" else ():
                    body += [f".. autoclass:: {returned}()", "   :members:", ""]
                page = [f":reviewed: {reviewed}", "", *_headed(f"{name}: {group}", "="), *body]
                made[_page(name, group)] = "\n".join(page)
                parts += [*_headed(group.capitalize(), "-"), *_table(name, shown)]
            else:
                parts += [*(_headed(group.capitalize(), "-") if group else []), *body]
        made[name] = "\n".join(parts)
    return made


def _is_elsewhere(thing: object) -> bool:
    """Whether it has no entry: a module without a page, or a table, of which the module's docstring tells."""
    return isinstance(thing, dict) or (isinstance(thing, ModuleType) and thing.__name__ not in MODULES)


def _page(module: str, group: str) -> str:
    return f"{module}-{re.sub(r'[^a-z]+', '-', group.lower()).strip('-')}"


def _headed(title: str, line: str) -> list[str]:
    return [title, line * len(title), ""]


def _table(module: str, names: list[str]) -> list[str]:
    return [
        f".. currentmodule:: {module}",
        "",
        ".. autosummary::",
        "   :nosignatures:",
        "",
        *[f"   {name}" for name in names],
        "",
    ]


def _entries(module: ModuleType, names: list[str]) -> Iterator[str]:
    for name in names:
        thing = getattr(module, name)
        full = f"{module.__name__}.{name}"
        if isinstance(thing, ModuleType):
            continue  # it has a page of its own, or is described by the functions of its own
        if isinstance(thing, type):
            yield from [f".. autoclass:: {full}", "   :members:", ""]
            if issubclass(thing, Warning | Exception):
                yield from [f"   :ref:`What to write instead <error-{name}>`", ""]
        elif callable(thing):
            yield from [f".. autofunction:: {full}", ""]
        else:
            yield from [f".. autodata:: {full}", ""]


def write_reference(app: Sphinx) -> None:
    """Write the pages of the reference where Sphinx finds them; one that is the same stays, and is not built again."""
    folder = Path(app.srcdir) / "reference" / "generated"
    folder.mkdir(exist_ok=True)
    reviewed = front_matter((Path(app.srcdir) / "reference" / "index.md").read_text(encoding="utf-8"))["reviewed"]
    made = pages(reviewed)
    for old in folder.glob("*.rst"):
        if old.stem not in made:
            old.unlink()
    for name, text in made.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def front_matter(page: str) -> dict[str, str]:
    """Return the fields between the two lines of dashes that a page begins with.

    >>> front_matter("---\\nreviewed: 2026-11-28\\n---\\n# Start")
    {'reviewed': '2026-11-28'}
    """
    if not page.startswith("---\n"):
        return {}
    fields = page.split("---\n", 2)[1]
    return {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in fields.splitlines())}


def front_lines(page: Path) -> list[str]:
    """Return the lines of a page before its title: who writes a page anew keeps the day of its review."""
    text = page.read_text(encoding="utf-8")
    return text[: text.index("# ")].splitlines()


# ------------------------------------------------------------------------------------------- docstrings as reST


def sections(lines: list[str]) -> list[str]:
    """Return a docstring in which the sections of NumPy's style are reST: a heading and, of parameters, a list.

    >>> print("\\n".join(sections(["Parameters", "----------", "x : a number,", "    not zero."])))
    .. rubric:: Parameters
    <BLANKLINE>
    **x**
        a number,
        not zero.
    """
    out: list[str] = []
    section = ""
    for line, under in zip(lines, [*lines[1:], ""], strict=False):
        if line and set(line) == {"-"} and len(line) >= 4:
            continue
        if line and under and set(under) == {"-"} and len(under) >= 4:
            section = line
            out += [f".. rubric:: {line}", ""]
            continue
        if section in ("Parameters", "Raises", "Attributes") and line and not line.startswith(" "):
            names, colon, text = line.partition(" : ")
            if colon or not line.endswith("."):
                out.append(", ".join(f"**{name.strip()}**" for name in names.split(",")))
                if colon:
                    out.append(f"    {text}")
                continue
        out.append(line)
    return out


def _on_docstring(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    lines[:] = escaped(sections(lines))


_MARKS = re.compile(  # the first group: what is meant as a mark
    r"(^ *\* |:[\w:]+:`[^`]+`|``.+?``|`[^`]+`_?|\*\*[^*]+\*\*|(?<![\w*])\*[A-Za-z][\w ,'-]*\*(?![\w*]))"
    r"|[*|]|(?<=\w)_(?!\w)",
    re.DOTALL | re.MULTILINE,
)


def escaped(lines: list[str]) -> list[str]:
    """Return a docstring in which stars, bars and underscores are themselves, where they do not mark a word or literal.

    >>> print(*escaped(["Return |x| of *one* shape [n, *rest], ``*args`` and x_"]))
    Return \\|x\\| of *one* shape [n, \\*rest], ``*args`` and x\\_
    """
    paragraphs = re.split(r"\n\s*\n", "\n".join(lines))
    out: list[str] = []
    for before, paragraph in zip(["", *paragraphs], paragraphs, strict=False):
        is_block = before.endswith("::") and paragraph.startswith(" ")
        if not is_block and not paragraph.lstrip().startswith((">>>", "..")):
            paragraph = _MARKS.sub(lambda mark: mark[1] or "\\" + mark[0], paragraph)
        out += [*paragraph.split("\n"), ""]
    return out


# --------------------------------------------------------------------------------------------------------- checks


def missing(documented: set[str]) -> list[str]:
    """Return the public names that are not among those that the manual has an entry for."""
    wanted: list[str] = []
    for name in MODULES:
        module = importlib.import_module(name)
        for names in groups(module).values():
            wanted += [f"{name}.{n}" for n in names if not _is_elsewhere(getattr(module, n))]
    return [name for name in wanted if name not in documented]


def _check(app: Sphinx, env: object) -> None:
    from sphinx.util import logging

    documented = set(app.env.domains["py"].data["objects"])
    for name in missing(documented):
        logging.getLogger(__name__).warning("the reference has no entry for %s", name)
    for page, fields in app.env.metadata.items():
        if not re.fullmatch(r"\d{4}-\d\d-\d\d", str(fields.get("reviewed", ""))):
            logging.getLogger(__name__).warning("the page does not say when it was reviewed", location=page)


def _on_source(app: Sphinx, docname: str, source: list[str]) -> None:
    """Drop the empty line that ends an example for doctest."""
    source[0] = source[0].replace("\n\n```\n", "\n```\n")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write_reference)
    app.connect("source-read", _on_source)
    app.connect("autodoc-process-docstring", _on_docstring)
    app.connect("env-check-consistency", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
