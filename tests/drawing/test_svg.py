import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from random_hierarchies import any_text, caterpillar, hierarchies, random_merges

from palmette.hierarchy import Hierarchy
from palmette.interop import hierarchy_to_svg

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg, kind=None):
    return [node for node in ElementTree.fromstring(svg).iter(SVG + "text") if node.get("class") == kind]


def numbers(svg):
    return [float(x) for path in re.findall(r' d="([^"]*)"', svg) for x in re.findall(r"-?[0-9.]+", path)]


@given(hierarchies(labels=any_text, heights=True))
def test_any_hierarchy_becomes_well_formed_xml_with_a_row_per_leaf(h):
    svg = h._repr_svg_()
    assert len(texts(svg)) == h.n_leaves
    assert len(ElementTree.fromstring(svg).findall(SVG + "path")) == h.n_nodes - h.n_leaves
    assert all(0 <= number <= max(640, 18 * h.n_leaves + 24) for number in numbers(svg))


def test_labels_are_escaped_and_shown_in_full_on_hovering():
    label = "<script>alert('&')</script> and a tail that is too long to show\n\x00"
    svg = hierarchy_to_svg(Hierarchy.from_nested((label, "b")))
    assert "<script" not in svg
    assert texts(svg)[0].find(SVG + "title").text == label.replace("\x00", "\ufffd")
    assert texts(svg)[0].find(SVG + "title").tail == "<script>alert('&')</script> and…"


def test_rows_follow_the_leaf_order():
    svg = hierarchy_to_svg(Hierarchy.from_newick("(c,(b,a));"))
    shown = [node.find(SVG + "title").tail for node in texts(svg)]
    places = [float(node.get("y")) for node in texts(svg)]
    assert shown == ["c", "b", "a"]
    assert places == sorted(places)


def test_support_is_written_at_its_node():
    h = Hierarchy.from_newick("((a,b)0.95,(c,d));")
    assert [node.text for node in texts(hierarchy_to_svg(h), "support")] == ["0.95"]
    given_support = {frozenset({2, 3}): 1 / 3}
    assert [node.text for node in texts(hierarchy_to_svg(h, given_support), "support")] == ["0.333"]


def test_higher_nodes_stand_further_left():
    svg = hierarchy_to_svg(Hierarchy.from_merges([[0, 1], [3, 2]], heights=[1.0, 4.0]))
    low, high = (float(x) for x in re.findall(r'd="M([0-9.]+) ', svg))
    assert high == 20
    assert low > 400


@pytest.mark.parametrize("n", [201, 5_000])
def test_large_hierarchies_show_their_highest_merges_in_200_rows(n):
    h = Hierarchy.from_merges(random_merges(n, np.random.default_rng(0)), heights=np.arange(1, n))
    svg = hierarchy_to_svg(h)
    rows = texts(svg) + texts(svg, "more")
    assert len(rows) == 200
    hidden = sum(int(re.search(r"and (\d+) more", node.text)[1]) for node in texts(svg, "more"))
    assert hidden + 200 == n


def test_a_star_too_large_to_open_is_one_row():
    svg = hierarchy_to_svg(Hierarchy.from_clusters([], n=300))
    assert [node.text for node in texts(svg, "more")] == ["0 and 299 more"]


def test_a_deep_hierarchy_is_drawn():
    assert len(texts(hierarchy_to_svg(caterpillar(50_000)))) == 199


def test_styles_do_not_leak_into_the_page():
    style = re.search("<style>(.*)</style>", hierarchy_to_svg(Hierarchy.from_newick("(a,b);")))[1]
    rules = [rule for rule in style.split("}") if rule]
    assert all(rule.startswith(".palmette-hierarchy ") for rule in rules)


def test_width_and_rows_can_be_chosen():
    svg = hierarchy_to_svg(caterpillar(50), width=300, max_rows=10)
    assert ElementTree.fromstring(svg).get("width") == "300"
    assert len(texts(svg) + texts(svg, "more")) == 10


@pytest.mark.parametrize("options", [{"width": 10}, {"max_rows": 0}])
def test_pictures_without_room_are_refused(options):
    with pytest.raises(ValueError, match="width must be at least 160 and max_rows at least 1"):
        hierarchy_to_svg(caterpillar(3), **options)
