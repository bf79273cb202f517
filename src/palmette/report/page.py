"""The page itself: a template, its style and its script, and a policy that lets nothing else run."""

import base64
import hashlib
import json
import re
from importlib import resources
from typing import Any

from palmette.report.bootstrap import bootstrap_headers, bootstrap_note
from palmette.report.contents import Contents
from palmette.report.markup import Html, element

__all__ = ["data_block", "page"]

_SLOT = re.compile(r"\{\{(\w+)\}\}")


def page(contents: Contents, provenance: Html, title: str) -> str:
    """The whole file. Every slot of the template is filled once: what fills a slot is not looked into again."""
    style, script = _part("style.css"), _part("script.js")
    n = contents.listing.n_left_out
    left_out = f"{n:,} more clusters are as probable as was asked for; they are left out for their number."
    slots = {
        "policy": _policy(style, script),
        "title": element("title", title),
        "heading": element("h1", title),
        "style": style,
        "script": script,
        "data": data_block(contents.as_data()),
        "summary": contents.summary,
        "picture_heading": contents.heading,
        "picture": contents.picture,
        "bootstrap_headers": bootstrap_headers(contents.listing) or "",
        "bootstrap_note": bootstrap_note(contents.listing) or "",
        "left_out": element("p", left_out, class_="fine") if n else "",
        "alternatives": contents.alternatives,
        "provenance": provenance,
        "things": contents.things,
    }
    return _SLOT.sub(lambda match: slots[match[1]], _part("page.html"))


def data_block(data: dict[str, Any]) -> str:
    r"""JSON that no HTML reader can mistake for markup: all but plain ASCII is escaped, and so are <, > and &.

    >>> data_block({"label": "</script>"})
    '{"label":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _policy(style: str, script: str) -> str:
    # By digest: no other script or style runs, whatever gets into the page, and nothing is fetched.
    return (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _part(name: str) -> str:
    return resources.files("palmette.report").joinpath(name).read_text(encoding="utf-8")
