"""The picture of support against temperature."""

from __future__ import annotations

import io

import matplotlib
import numpy as np
import pytest

matplotlib.use("agg")
import matplotlib.pyplot as plt

import palmette as pal
from palmette import plot
from palmette.plot._axes import cluster_name
from palmette.plot.support_against_temperature import _spread
from palmette.temperature import SupportCurve, support_curve

DATA = pal.datasets.load_numerals()
MODEL = pal.models.Dasgupta(DATA.similarity[:8, :8], beta=6.0, labels=DATA.labels[:8])


@pytest.fixture(autouse=True)
def _nothing_is_left_behind():
    yield
    plt.close("all")


def curves_of(ax, found):
    return [line for line in ax.lines if len(line.get_xdata()) == len(found.betas)]


def test_every_cluster_has_a_line_and_its_name_at_the_end():
    found = support_curve(MODEL)
    ax = plot.support_against_temperature(MODEL)
    lines = curves_of(ax, found)
    values = sorted(np.asarray(line.get_ydata()).tolist() for line in lines)
    assert values == sorted(found.probabilities.T.tolist())
    assert {round(line.get_linewidth(), 1) for line in lines} == {1.0, 1.9}
    texts = [text.get_text() for text in ax.texts]
    assert len(texts) == len(found.clusters) + 1
    assert texts[-1] == "β = 6"
    assert "Danish Swedish" in texts
    assert ax.get_xscale() == "log"


def test_perplexities_are_where_they_belong():
    found = support_curve(MODEL)
    top = plot.support_against_temperature(found).child_axes[0]
    ticks = zip(top.get_xticks(), top.get_xticklabels(), strict=True)
    marks = {text.get_text().replace("10⁵", "100,000"): beta for beta, text in ticks}
    assert {"10", "100"} <= marks.keys()
    for text, beta in marks.items():
        entropy = pal.HierarchyPosterior(MODEL.with_beta(beta)).entropy
        assert np.exp(entropy) == pytest.approx(float(text.replace(",", "")), rel=0.05)


def test_names_do_not_overlap():
    ax = plot.support_against_temperature(pal.models.Dasgupta(DATA.similarity, labels=DATA.labels))
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) >= 12
    assert not any(box.overlaps(other) for at, box in enumerate(boxes) for other in boxes[:at])
    assert max(box.x1 for box in boxes) <= ax.figure.bbox.x1


def test_clusters_may_be_chosen_and_partitions_have_support_too():
    model = pal.models.CorrelationClusters(DATA.similarity[:6, :6] - 0.3, labels=["$", "_", "a", "b", "c", "d"])
    ax = plot.support_against_temperature(model, clusters=[["$", "_"], ["a"]], betas=[1.0, 2.0, 4.0])
    assert sorted(text.get_text() for text in ax.texts) == ["$ _", "a"]
    ax.figure.savefig(io.BytesIO())
    assert len(curves_of(plot.support_against_temperature(model, most=2), support_curve(model))) == 2


def test_lines_are_few_if_that_is_asked_for_and_given_axes_are_drawn_on():
    found = support_curve(MODEL)
    _, given = plt.subplots()
    ax = plot.support_against_temperature(found, most=4, ax=given)
    assert ax is given
    assert len(curves_of(ax, found)) == 4


def test_a_logarithmic_scale_needs_betas_above_zero():
    for betas in ([0.0, 1.0], [1.0]):
        with pytest.raises(ValueError, match="two or more betas, all above 0"):
            plot.support_against_temperature(MODEL, betas=betas)


def test_no_clusters_give_an_empty_picture():
    two = pal.models.SumOfSquares([[0.0], [1.0]])
    found = support_curve(two)
    assert isinstance(found, SupportCurve)
    assert found.probabilities.shape == (len(found.betas), 0)
    assert plot.support_against_temperature(found).texts[:] == []


def test_the_same_picture_twice_is_the_same_bytes():
    first, second = io.BytesIO(), io.BytesIO()
    for stream in (first, second):
        plot.support_against_temperature(MODEL, betas=np.geomspace(0.1, 50, 9)).figure.savefig(
            stream, format="png", dpi=50
        )
    assert first.getvalue() == second.getvalue()


def test_names_are_short_and_spread():
    assert cluster_name(["a", "b"]) == "a b"
    assert cluster_name([f"leaf {i}" for i in range(20)]) == "leaf 0 leaf 1 leaf 2 leaf 3 +16"
    places = _spread(np.array([1.0, 1.0, 1.0, 0.95, 0.1, 0.0]), 0.06)
    assert (np.diff(places) <= -0.06 + 1e-12).all()
    assert places[-2:].tolist() == [0.1, 0.0]
