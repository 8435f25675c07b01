"""How the documentation is built: `make docs`."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from generated import commands_page, treaty_page  # noqa: E402

project = "Treaty"
author = "the authors of Treaty"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
smartquotes = False  # "--by" is an option, and not a dash
html_theme = "furo"
html_title = "Treaty"
autodoc_typehints = "description"
autodoc_member_order = "bysource"
autodoc_class_signature = "separated"


def examples_are_code(app, what, name, obj, options, lines):
    """Show what stands under Example: as code."""
    if "Example:" not in (line.strip() for line in lines):
        return
    place = next(i for i, line in enumerate(lines) if line.strip() == "Example:") + 1
    if lines[place].lstrip().startswith(">>>"):
        return
    indent = " " * (len(lines[place]) - len(lines[place].lstrip()))
    code = [f"    {line}" if line.strip() else line for line in lines[place:]]
    lines[place:] = [f"{indent}.. code-block:: python", "", *code]


def setup(app):
    """Write the pages that are generated from the code before anything is read."""
    app.connect("autodoc-process-docstring", examples_are_code, priority=400)
    reference = HERE / "reference"
    (reference / "treaty-toml.md").write_text(treaty_page(), encoding="utf-8")
    (reference / "commands.md").write_text(commands_page(), encoding="utf-8")


html_show_copyright = False
