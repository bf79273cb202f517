"""HTML that cannot be broken by what people call their leaves: all text is escaped unless it is HTML already."""

import unicodedata
from collections.abc import Iterable, Sequence

from palmette.drawing.text import shown_name, xml_text

__all__ = ["Html", "cluster_name", "element", "joined", "name", "shown_label", "text_width"]


class Html(str):
    """Text that is HTML already. Everything else is escaped where it is put into HTML."""

    __slots__ = ()


def element(tag: str, *content: str | None, **attributes: str | float | bool | None) -> Html:
    """<tag attributes>content</tag>, with everything escaped that is not `Html`.

    An underscore at the end of a name is dropped and others become hyphens; None and False leave an attribute out.

    >>> element("p", "a < b", element("b", "bold"), class_="note", hidden=True)
    '<p class="note" hidden>a &lt; b<b>bold</b></p>'
    """
    head = "".join(_attribute(name, value) for name, value in attributes.items())
    return Html(f"<{tag}{head}>{joined(content)}</{tag}>")


def joined(content: tuple[str | None, ...] | list[str] | list[Html], between: str = "") -> Html:
    """Pieces of text and HTML in a row, None left out.

    >>> joined(["a & b", element("i", "c")], ", ")
    'a &amp; b, <i>c</i>'
    """
    pieces = (piece if isinstance(piece, Html) else xml_text(piece) for piece in content if piece is not None)
    return Html(xml_text(between).join(pieces))


def name(label: str, longest: int = 48) -> Html:
    r"""A label among other words: on one line, not too long, and keeping its direction of writing to itself.

    >>> name("a\n<b>"), name("a long one", 7)
    ('<bdi>a &lt;b&gt;</bdi>', '<bdi title="a long one">a long…</bdi>')
    """
    short = shown_label(label, longest)
    return element("bdi", short, title=label if short.endswith("…") else None)


def cluster_name(leaves: Iterable[int], labels: Sequence[str], most: int = 6) -> Html:
    """A cluster by the names of its members, the first few if there are many.

    >>> cluster_name({2, 0, 1}, ["a", "b", "c"], most=2)
    '<bdi>a</bdi>, <bdi>b</bdi> and 1 more'
    """
    members = sorted(leaves)
    shown = joined([name(labels[leaf]) for leaf in members[:most]], ", ")
    more = len(members) - most
    return joined((shown, f" and {more} more" if more > 0 else None))


def shown_label(label: str, longest: int) -> str:
    """A label on one line, cut after `longest` characters; the empty one is said to be so.

    >>> shown_label(" ", 10), shown_label("a long one", 7)
    ('(no name)', 'a long…')
    """
    return shown_name(label, longest) or "(no name)"


def text_width(text: str) -> int:
    """How many columns a text takes, about: wide letters (Chinese, emoji) take two.

    >>> text_width("ab"), text_width("木")
    (2, 2)
    """
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _attribute(attribute: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    written = attribute.rstrip("_").replace("_", "-")
    if value is True:
        return f" {written}"
    return f' {written}="{xml_text(value if isinstance(value, str) else f"{value:.6g}")}"'
