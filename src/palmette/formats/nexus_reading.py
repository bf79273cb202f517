"""The commands of a Nexus text, one by one: where the trees of its TREES blocks are, and how their leaves are named.

What is read:

- TAXLABELS of TAXA blocks, TRANSLATE and TREE or UTREE of TREES blocks, in any number and in any case. Other commands
  and other blocks are skipped.
- *Leaves* are written as tokens of TRANSLATE or as labels; without TRANSLATE, as labels or numbers of TAXLABELS;
  without either, any token is a label. Capital and small letters differ.
- *Underscores* stay underscores, as in `palmette.formats.newick`. Only where TAXLABELS or TRANSLATE know
  ``'Homo sapiens'`` and no ``Homo_sapiens``, or the other way round, one stands for the other, as the standard has it.
- *Comments* in ``[]``, nested or not, may stand wherever white space may. ``[&W 1/3]`` before a tree is its weight;
  ``[&R]`` and ``[&U]``, or UTREE, say whether its root is meant. The annotations of BEAST and MrBayes, such as
  ``[&rate=0.1]``, are skipped.
- *Inner nodes* that are called by a number have it as support, also if it was meant as the number of the node.
- END may be missing: a file that a program is still writing can be read, if its last tree is complete.
"""

import re
import reprlib

from palmette.formats.newick import parse_newick
from palmette.formats.tokens import (
    NewickError,
    Token,
    after_blanks,
    quoted_at,
    split_tokens,
    tree_rooted,
    tree_weight,
    unexpected,
)
from palmette.formats.tree_reader import Naming, Statements, newick_fault, split_statements
from palmette.formats.tree_text import TreeText
from palmette.labels import leaf_index

__all__ = ["nexus_statements"]

_WORD = re.compile(r"#?[^\W\d_]*")
_NAME = re.compile(r"[^\s()\[\]:;,'=]+")


def nexus_statements(text: TreeText) -> Statements:
    """Where the trees of a Nexus text are, and how their leaves are named."""
    commands = _Commands(text)
    starts, stops, n_open = split_statements(text)
    problem = None
    try:
        for place in zip(starts, stops, n_open, strict=True):
            commands.read(*place)
        commands.finish(stops[-1] + 1 if stops else 0)
    except ValueError as found:  # to be raised after what may be wrong with the trees before it
        problem = found
    return commands.found._replace(problem=problem)


class _Commands:
    """What the commands so far have said."""

    def __init__(self, text: TreeText) -> None:
        self.text = text
        self.found = Statements([], [], [], [], [], {}, None, [])
        self.block = ""
        self.numbered: list[str] = []  # the labels of the last TAXA block
        self.taxa: dict[str, int] = {}  # those of all
        self.translation: dict[str, str] = {}
        self.named = False  # whether the trees to come share the last naming

    def read(self, start: int, stop: int, n_open: int) -> None:
        """The command between two semicolons."""
        command = self.text.part(start, stop + 1)
        try:
            keyword, at = _keyword(command)
            if keyword == "BEGIN":
                self.block = _name(command, after_blanks(command, at))[0].upper()
                self.translation, self.named = {}, False
            elif keyword in ("END", "ENDBLOCK"):
                self.block = ""
            elif (self.block, keyword) == ("TAXA", "TAXLABELS"):
                self._read_labels(_tokens_after(command, at))
            elif (self.block, keyword) == ("TREES", "TRANSLATE"):
                self._read_translation(_tokens_after(command, at))
            elif self._is_tree(keyword):
                self._read_tree(command, at, start, keyword)
                self.found.stops.append(stop)
                self.found.n_open.append(n_open)
        except NewickError as problem:
            raise newick_fault(self.text, start, problem) from None

    def finish(self, start: int) -> None:
        """What comes after the last semicolon: nothing but a heading."""
        rest = self.text.part(start, len(self.text.data))
        try:
            keyword, at = _keyword(rest)
            if self._is_tree(keyword):
                body = _tree_head(rest, at)[2]
                parse_newick(" " * body + rest[body:])
            if list(split_tokens(rest))[-1].position > at or keyword:
                unfinished = "the command that begins here does not end; expected ';'"
                raise NewickError(unfinished, after_blanks(rest, 0))
        except NewickError as problem:
            raise newick_fault(self.text, start, problem) from None

    def _is_tree(self, keyword: str) -> bool:
        return self.block == "TREES" and keyword in ("TREE", "UTREE")

    def _read_labels(self, tokens: list[Token]) -> None:
        places: dict[str, int] = {}
        for token in tokens[:-1]:
            _require_label(token)
            if token.text in places:
                raise NewickError(f"{reprlib.repr(token.text)} occurs twice in TAXLABELS", token.position)
            places[token.text] = token.position
        self.numbered = list(places)
        self.taxa = leaf_index(dict.fromkeys((*self.taxa, *places)))
        self.named = False

    def _read_translation(self, tokens: list[Token]) -> None:
        self.translation, self.named = {}, False
        labels: dict[str, str] = {}
        entry: list[Token] = []
        for token in tokens:
            if token.kind not in (",", ";"):
                _require_label(token)
                entry.append(token)
            elif entry:
                self._translate(entry, labels)
                entry = []

    def _translate(self, entry: list[Token], tokens: dict[str, str]) -> None:
        """Take in one token and its label; `tokens` holds those so far, by label."""
        if len(entry) != 2:
            words = " ".join(token.text for token in entry)
            problem = f"expected a token and its label, then ',', but found {reprlib.repr(words)} in TRANSLATE"
            raise NewickError(problem, entry[0].position)
        token, label = entry[0].text, self._taxon(entry[1])
        if token in self.translation:
            raise NewickError(f"token {reprlib.repr(token)} occurs twice in TRANSLATE", entry[0].position)
        if label in tokens:
            both = f"{reprlib.repr(tokens[label])} and {reprlib.repr(token)}"
            raise NewickError(f"{both} both stand for {reprlib.repr(label)} in TRANSLATE", entry[0].position)
        self.translation[token] = label
        tokens[label] = token

    def _taxon(self, token: Token) -> str:
        if not self.taxa:
            return token.text
        for label in (token.text, *_alike(token.text)):
            if label in self.taxa:
                return label
        raise NewickError(f"{reprlib.repr(token.text)} in TRANSLATE is not one of TAXLABELS", token.position)

    def _read_tree(self, command: str, at: int, start: int, keyword: str) -> None:
        name, weight, body = _tree_head(command, at)
        rooted = tree_rooted(command, body, after_blanks(command, body))
        if not self.named:
            self.found.namings[len(self.found.starts)] = self._naming()
            self.named = True
        self.found.starts.append(start + len(command[:body].encode("utf-8", "surrogatepass")))
        self.found.weights.append(weight)
        self.found.rooted.append(0 if keyword == "UTREE" and rooted < 0 else rooted)
        self.found.names.append(name)  # type: ignore[union-attr]  # in Nexus there are names

    def _naming(self) -> Naming | None:
        if not self.taxa and not self.translation:
            return None
        order = self.taxa or leaf_index(self.translation.values())
        labels = {**{label: label for label in order}, **self.translation}
        for label in order:
            for other in _alike(label):
                labels.setdefault(other, label)
        if self.translation:
            return Naming(labels, order, "a token of TRANSLATE, nor one of the labels")
        for number, label in enumerate(self.numbered, start=1):
            labels.setdefault(str(number), label)
        return Naming(labels, order, "one of TAXLABELS, nor the number of one")


def _tree_head(command: str, at: int) -> tuple[str, float, int]:
    """The name and the weight of a tree, and where in its command the tree begins, after TREE and `at` characters."""
    at = after_blanks(command, at)
    if command.startswith("*", at):
        at = after_blanks(command, at + 1)
    name, end = _name(command, at)
    equals = after_blanks(command, end)
    if not command.startswith("=", equals):
        found = command[equals : equals + 1]
        raise NewickError(f"expected '=' after the name of the tree but found {found!r}", equals)
    return name, tree_weight(command, end, after_blanks(command, equals + 1)), equals + 1


def _alike(label: str) -> tuple[str, str]:
    return label.replace(" ", "_"), label.replace("_", " ")


def _keyword(command: str) -> tuple[str, int]:
    """The word that a command begins with, in capitals, and where it ends."""
    at, word = 0, "#NEXUS"
    while word == "#NEXUS":
        at = after_blanks(command, at)
        found = _WORD.match(command, at)
        word, at = found[0].upper(), found.end()  # type: ignore[index, union-attr]  # it matches the empty text too
    return word, at


def _name(command: str, at: int) -> tuple[str, int]:
    """The name that begins at `at`, bare or quoted, and where it ends."""
    if command.startswith("'", at):
        return quoted_at(command, at)
    found = _NAME.match(command, at)
    if found is None:
        raise NewickError(f"expected a name but found {command[at : at + 1]!r}", at)
    return found[0], found.end()


def _tokens_after(command: str, at: int) -> list[Token]:
    return list(split_tokens(" " * at + command[at:]))[:-1]


def _require_label(token: Token) -> None:
    if token.kind not in ("label", "quoted"):
        raise unexpected(token, "a label")
