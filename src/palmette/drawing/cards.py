"""What a notebook shows of an answer: its name, a few facts, and a table or a picture. Whatever is text is escaped."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from palmette.drawing.text import shown_name, xml_text

__all__ = ["Pictured", "card", "html_table", "named"]

_NAMED = 8  # labels of a list that are shown
_LONGEST = 400  # characters of a fact that are shown


class Pictured(Protocol):
    """A hierarchy or a partition."""

    def in_card(self) -> str:
        """A small picture or table of it, as HTML."""


def card(name: str, facts: Iterable[tuple[str, object]] = (), *below: Pictured | str | None) -> str:
    """A name, one row for each fact that is not None, and below them what is pictured, or HTML.

    >>> card("<Found>", [("bound", None)])
    '<div class="palmette-card"><strong>&lt;Found&gt;</strong></div>'
    """
    known = [(what, _fact(value)) for what, value in facts if value is not None]
    rows = "".join(f"<tr>{_cell('th', what)}{_cell('td', value)}</tr>" for what, value in known)
    table = f"<table><tbody>{rows}</tbody></table>" if rows else ""
    return f'<div class="palmette-card"><strong>{xml_text(name)}</strong>{table}{"".join(map(_html, below))}</div>'


def html_table(columns: Sequence[str], rows: Iterable[Sequence[str]], note: str = "") -> str:
    """Rows of text under the names of their columns, and a note on what is left out.

    >>> html_table([], [])
    '<table><thead><tr></tr></thead><tbody></tbody></table>'
    """
    head = "".join(_cell("th", name) for name in columns)
    body = "".join(f"<tr>{''.join(_cell('td', cell) for cell in row)}</tr>" for row in rows)
    caption = f'<caption style="caption-side:bottom">{xml_text(note)}</caption>' if note else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def named(labels: Sequence[str], most: int = _NAMED) -> str:
    """Labels in a row, the first of them if there are many.

    >>> named(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    more = f" and {len(labels) - most:,} more" if len(labels) > most else ""
    return ", ".join(shown_name(label) for label in labels[:most]) + more


def _cell(tag: str, text: str) -> str:
    # Notebooks put cells to the right, which is for numbers.
    return f'<{tag} style="text-align:left">{xml_text(text)}</{tag}>'


def _html(below: Pictured | str | None) -> str:
    if below is None or isinstance(below, str):
        return below or ""
    return below.in_card()


def _fact(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return shown_name(f"{value:.6g}" if isinstance(value, float) else str(value), _LONGEST)
