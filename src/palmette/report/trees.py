"""Pictures of hierarchies for a page: a large one that answers to mouse and keyboard, small ones to compare."""

from collections.abc import Container
from dataclasses import dataclass

from palmette.drawing.places import drawn_rows, places_across, places_down, row_name
from palmette.hierarchy import Hierarchy
from palmette.report.classes import Classes
from palmette.report.levels import level
from palmette.report.listing import Leaves, Listing
from palmette.report.markup import Html, element, joined, shown_label, text_width
from palmette.report.numbers import percent

__all__ = ["MAX_ROWS", "drawn_clusters", "small_tree", "tree"]

MAX_ROWS = 160  # leaves up to which each has a row of its own
_WIDTH, _ROW, _TOP, _CHARACTER, _LONGEST = 760, 24, 14, 8.4, 28
_SMALL_WIDTH, _SMALL_ROW, _SMALL_CHARACTER, _SMALL_LONGEST = 300, 14, 6.2, 16
_SPOKEN = 12  # members that a screen reader is told


@dataclass(frozen=True)
class _Layout:
    """Where each drawn node of a hierarchy stands; every node draws the branch that leads to it."""

    hierarchy: Hierarchy
    rows: list[int]
    x: list[float]
    y: dict[int, float]
    stem: float  # length of the root's

    def leaves(self, node: int) -> Leaves:
        return frozenset(self.hierarchy.leaves_below(node).tolist())

    def branch(self, node: int) -> str:
        parent = self.hierarchy.parents[node]
        start = self.x[parent] if parent >= 0 else self.x[node] - self.stem
        path = f"M{start:.1f} {self.y[node]:.1f}H{self.x[node]:.1f}"
        if node in self.rows:
            return path
        children = self.hierarchy.children_of(node)
        return f"{path}M{self.x[node]:.1f} {self.y[children[0]]:.1f}V{self.y[children[-1]]:.1f}"

    def dot(self, node: int, radius: float) -> Html:
        return element("circle", cx=f"{self.x[node]:.1f}", cy=f"{self.y[node]:.1f}", r=radius)

    def words(self, node: int, text: str, right: float, down: float, kind: str | None = None) -> Html:
        return element("text", text, class_=kind, x=f"{self.x[node] + right:.1f}", y=f"{self.y[node] + down:.1f}")


def drawn_clusters(hierarchy: Hierarchy) -> list[Leaves]:
    """The clusters of two leaves or more that a picture of at most MAX_ROWS rows shows."""
    layout = _large(hierarchy, 0)
    return [layout.leaves(node) for node in sorted(layout.y) if node >= hierarchy.n_leaves]


def tree(hierarchy: Hierarchy, listing: Listing, classes: Classes, identity: str) -> Html:
    """The hierarchy with every cluster as a button: its support in colour and number, its members for a reader."""
    layout = _large(hierarchy, 16 if classes.names else 0)
    number_of = listing.number_of()
    body = [
        _leaf(layout, node, classes) if node < hierarchy.n_leaves else _cluster(layout, node, listing, number_of)
        for node in sorted(layout.y, reverse=True)
    ]
    return element(
        "svg",
        joined(body),
        id=identity,
        class_="tree",
        viewBox=f"0 0 {_WIDTH} {_ROW * len(layout.rows) + 2 * _TOP}",
        role="group",
        aria_label=f"A hierarchy of {hierarchy.n_leaves} leaves; each button is a cluster",
    )


def _large(hierarchy: Hierarchy, mark: float) -> _Layout:
    outline = hierarchy.outline
    rows = drawn_rows(outline, MAX_ROWS)
    widest = max(text_width(row_name(outline, node, _LONGEST)) for node in rows)
    x = places_across(outline.heights, 30, max(_WIDTH - 16 - mark - _CHARACTER * widest, _WIDTH / 3))
    return _Layout(hierarchy, rows, x, places_down(hierarchy.parents, rows, _TOP, _ROW), stem=16)


def _cluster(layout: _Layout, node: int, listing: Listing, number_of: dict[Leaves, int]) -> Html:
    leaves, parent = layout.leaves(node), int(layout.hierarchy.parents[node])
    number = number_of[leaves]
    probability = listing.clusters[number].probability
    path = layout.branch(node)
    return element(
        "g",
        element("path", class_="hit", d=path),
        element("path", class_="branch", d=path),
        _closed(layout, node) if node in layout.rows else None,
        layout.dot(node, 4.5),
        layout.words(node, _support(probability), -7, -5, "support") if parent >= 0 else None,
        class_=f"cluster {level(probability)}",
        role="button",
        tabindex="-1",
        data_cluster=str(number),
        data_parent=str(number_of[layout.leaves(parent)]) if parent >= 0 else "",
        data_y=f"{layout.y[node]:.1f}",
        aria_label=_spoken(layout, node, probability),
    )


def _leaf(layout: _Layout, node: int, classes: Classes) -> Html:
    label = layout.hierarchy.labels[node]
    text = joined([element("title", label), shown_label(label, _LONGEST)])
    return element(
        "g",
        element("path", class_="branch", d=layout.branch(node)),
        classes.mark(node, layout.x[node] + 12, layout.y[node]),
        layout.words(node, text, 23 if classes.names else 7, 4.5),
        class_="leaf",
        data_leaf=str(node),
    )


def _closed(layout: _Layout, node: int) -> Html:
    # A cluster that is too large to be opened: a triangle, and how many leaves there are.
    end, y = max(layout.x), layout.y[node]
    shape = f"M{layout.x[node]:.1f} {y:.1f}L{end:.1f} {y - 7:.1f}V{y + 7:.1f}Z"
    name = row_name(layout.hierarchy.outline, node, _LONGEST)
    words = layout.words(node, name, end - layout.x[node] + 7, 4.5, "more")
    return joined([element("path", class_="closed", d=shape), words])


def _support(probability: float) -> str:
    # Per cent, and never 100 for what is not certain.
    return "99+" if 0.995 <= probability < 1.0 else f"{100 * probability:.0f}"


def _spoken(layout: _Layout, node: int, probability: float) -> str:
    leaves = layout.hierarchy.leaves_below(node).tolist()
    names = ", ".join(shown_label(layout.hierarchy.labels[leaf], _LONGEST) for leaf in leaves[:_SPOKEN])
    more = f" and {len(leaves) - _SPOKEN} more" if len(leaves) > _SPOKEN else ""
    return f"Cluster of {len(leaves)} leaves, probability {percent(probability)}: {names}{more}"


def small_tree(hierarchy: Hierarchy, known: Container[Leaves], caption: str) -> Html:
    """The hierarchy in little, with the clusters that are not among the `known` ones marked."""
    layout = _small(hierarchy)
    body: list[Html] = []
    for node in sorted(layout.y, reverse=True):
        branch = element("path", class_="branch", d=layout.branch(node))
        if node < hierarchy.n_leaves:
            body += [branch, layout.words(node, shown_label(hierarchy.labels[node], _SMALL_LONGEST), 5, 3.5)]
        else:
            is_known = layout.leaves(node) in known
            body.append(branch if is_known else element("g", branch, layout.dot(node, 3), class_="new"))
    box = f"0 0 {_SMALL_WIDTH} {_SMALL_ROW * len(layout.rows) + 12}"
    return element("svg", joined(body), class_="small tree", viewBox=box, role="img", aria_label=caption)


def _small(hierarchy: Hierarchy) -> _Layout:
    rows = hierarchy.leaf_order.tolist()
    widest = max(text_width(shown_label(label, _SMALL_LONGEST)) for label in hierarchy.labels)
    x = places_across(hierarchy.heights, 12, _SMALL_WIDTH - 10 - _SMALL_CHARACTER * widest)
    return _Layout(hierarchy, rows, x, places_down(hierarchy.parents, rows, 6, _SMALL_ROW), stem=6)
