"""Labels in pictures: on one line, not too long, and as text that XML takes."""

import re
from html import escape

__all__ = ["LONGEST", "shown_name", "xml_text"]

LONGEST = 32  # characters of a label that are shown; hovering shows all
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def shown_name(label: str, longest: int = LONGEST) -> str:
    """A label on one line, cut after `longest` characters.

    >>> shown_name("a label that goes on", 10)
    'a label t…'
    """
    line = " ".join(label.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def xml_text(text: str) -> str:
    """Text that any XML reader takes: escaped, and without the characters that XML forbids.

    >>> xml_text("a < b")
    'a &lt; b'
    """
    return escape(_NOT_XML.sub("\ufffd", text))
