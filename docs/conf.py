"""How Sphinx builds these pages: ``make docs``, or ``sphinx-build -W --keep-going docs docs/_build/html``.

Pages are Markdown that also reads well where the repository is browsed. Two things are adapted on the way: links that
lead out of this folder, and docstrings, which are written for readers of the code and not for Sphinx.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path.insert(0, str(ROOT / "src"))

from palmette import __version__  # noqa: E402

project = "palmette"
author = "The palmette developers"
copyright = author
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
exclude_patterns = ["_build", "search.md"]
root_doc = "index"

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["misc.highlighting_failure"]

autodoc_default_options = {
    "members": True,
    "inherited-members": True,
    "member-order": "bysource",
}
autodoc_mock_imports = [name for name in ("sklearn", "torch") if importlib.util.find_spec(name) is None]
autodoc_preserve_defaults = True
autodoc_type_aliases = {name: name for name in ("ArrayLike", "Floats", "Ints", "npt.ArrayLike")}
autodoc_typehints_format = "short"
autosummary_generate = False
numpydoc_show_class_members = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 96
add_module_names = False
toc_object_entries_show_parents = "hide"
default_role = "py:obj"

html_theme = "furo"
html_title = f"palmette {version}"
html_static_path = ["_static"]
html_css_files = ["palmette.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5f66", "color-brand-content": "#2f7f86"},
    "dark_css_variables": {"color-brand-primary": "#9cc9bf", "color-brand-content": "#7fbfb5"},
    "navigation_with_keys": True,
}

# Files of the repository that are pages of the site: what Sphinx reads in the place of a stub.
PAGES = {
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changes.md",
    "SECURITY.md": "project/security.md",
    "docs/search.md": "project/searches.md",  # Sphinx has a page of its own that is called search
    **{
        f"experiments/{path.parent.name}/README.md": f"project/{path.parent.name}.md"
        for path in ROOT.glob("experiments/*/README.md")
    },
}
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:|mailto:|#)([^)\s#]+)((?:#[^)\s]*)?)\)")
MARKUP = re.compile(r"\\|``.*?``|`[^`]*`|\*\*.+?\*\*|(?<![\w*])\*[^\s*](?:[^*]*[^\s*])?\*(?![\w*])|[|*]|_(?!\w)")


def read_page(app: Any, docname: str, source: list[str]) -> None:
    """A page as Sphinx should see it: stubs filled, links followed, and toctrees made of the links of an index."""
    stubs = {page.removesuffix(".md"): name for name, page in PAGES.items()}
    folder = (DOCS / docname).parent
    if docname in stubs:
        path = ROOT / stubs[docname]
        source[0], folder = path.read_text(encoding="utf-8"), path.parent
        app.env.note_dependency(str(path))
    source[0] = LINK.sub(lambda match: follow(match, folder, (DOCS / docname).parent), source[0])
    if docname.split("/")[-1] == "index":
        source[0] += "".join(toctree(part) for part in re.split(r"^## ", source[0], flags=re.MULTILINE))


def follow(match: re.Match[str], folder: Path, home: Path) -> str:
    """A link out of the documentation leads to the page made of that file; if there is none, the file is named."""
    text, target, anchor = match.groups()
    path = Path(os.path.normpath(folder / target))
    name = path.relative_to(ROOT).as_posix()
    for known in (name, f"{name}/README.md"):
        if known in PAGES:
            path = DOCS / PAGES[known]
    if path.is_relative_to(DOCS) and path.suffix == ".md":
        return f"[{text}]({os.path.relpath(path, home)}{anchor})"
    return f"`{name}`" if text.strip("`") == name else f"{text} (`{name}`)"


def toctree(section: str) -> str:
    """The pages that a section of an index links to, as an entry of the navigation with the section's name."""
    caption, _, text = section.partition("\n")
    links = [match for match in LINK.finditer(text) if match[2].endswith(".md")]
    pages = [f"{match[1]} <{match[2].removesuffix('.md')}>" for match in links]
    if caption.startswith("# ") or not pages:
        return ""
    return "\n".join(["", "", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```"])


def read_docstring(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """A docstring means what it says: |P|, x_i and a * are no markup, and what is indented is a formula."""
    lines[:] = as_restructured_text(lines)
    if what == "module":
        names = importlib.import_module(name).__all__
        lines += ["", ".. autosummary::", "   :nosignatures:", "", *(f"   {each}" for each in names), ""]


def as_restructured_text(lines: list[str]) -> list[str]:
    """The lines with formulas as literal blocks, and with what is no markup escaped elsewhere."""
    out: list[str] = []
    above, formula, code, after_blank, announced = 0, None, False, True, False
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if not line.strip():
            code, after_blank = False, True
            out.append("")
            continue
        code = code or line.lstrip().startswith(">>>")
        if formula is not None and indent < formula:
            formula = None
        if formula is None and out and after_blank and indent >= above + 4 and not code:
            formula = indent
            out += [] if announced else [" " * above + "::", ""]
        literal = code or formula is not None
        out.append(line if literal else MARKUP.sub(lambda m: m[0] if len(m[0]) > 1 else "\\" + m[0], line))
        above, after_blank = (above if formula is not None else indent), False
        announced = line.endswith("::")
    return out


def skip_foreign(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """What a class inherits from another library is documented there."""
    origin = getattr(thing, "fget", None) or getattr(thing, "func", None) or thing
    module = getattr(origin, "__module__", None) or getattr(getattr(origin, "__objclass__", None), "__module__", None)
    return True if isinstance(module, str) and not module.startswith("palmette") else None


def read_signature(
    app: Any, what: str, name: str, thing: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Names of types as the code has them."""
    return signature and short_types(signature), returned and short_types(returned)


def short_types(text: str) -> str:
    """What NumPy makes of ArrayLike and of arrays, put back."""
    text = re.sub(r"TypeAliasForwardRef\('(?:npt\.)?(\w+)'\)", r"\1", text)
    text = re.sub(r"~?\bnumpy\.(?:\w+\.)*(?=_Buffer|_Supports|_Nested|ndarray|dtype|float64|int|bool)", "", text)
    text = re.sub(r"~?(?:typing\.)?\bAny\b", "Any", text)
    text = re.sub(r"_Buffer \| _Supports.*?_NestedSequence\[complex \| bytes \| str\]", "ArrayLike", text)
    return re.sub(r"ndarray\[tuple\[Any, \.\.\.\], dtype\[(\w+)\]\]", r"ndarray[\1]", text)


def setup(app: Any) -> dict[str, bool]:
    """Connect the above."""
    app.connect("source-read", read_page)
    app.connect("autodoc-process-docstring", read_docstring, priority=400)
    app.connect("autodoc-process-signature", read_signature)
    app.connect("autodoc-skip-member", skip_foreign)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
