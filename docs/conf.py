"""The settings of the manual: `make docs` builds it into docs/_build/html."""

from __future__ import annotations

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # tools

project = "wengert"
author = "wengert developers"
version = release = version_of("wengert")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "tools.manual",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]

# Nothing is read from the network: names of other packages are shown, and not looked for.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!wengert\.).*")]

myst_enable_extensions = ["colon_fence", "deflist", "attrs_block"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # the text says what an argument is
autodoc_member_order = "bysource"
autosummary_generate = False  # tools/manual.py writes the pages
add_module_names = False
toc_object_entries_show_parents = "hide"

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "wengert"
html_static_path = ["_static"]
html_css_files = ["manual.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": [], "start": []}
html_theme_options = {
    "logo": {"text": "wengert"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navbar_end": ["theme-switcher"],
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "article_footer_items": ["reviewed"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
copyright = "wengert developers, BSD-3-Clause"
