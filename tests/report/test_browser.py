"""The report in a browser: `make test-browser` asks for these tests, and `make test` passes them over."""

import os
import shutil

import numpy as np
import pytest

import palmette as pal
from palmette import report

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(os.environ.get("PALMETTE_BROWSER") != "1", reason="asked for by `make test-browser`"),
]

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,1000",
)
HOSTILE = [
    "</script><img src=x onerror=alert(1)><script>window.broken=1</script>",
    '"><svg onload="window.broken=1">',
    "<img src=x onerror=window.broken=1>",
    "\u202eright to left",
    "L" * 300,
    "🦩\nflamingo",
    "javascript:window.broken=1",
]
GERMANIC = ["English", "Dutch", "German", "Danish", "Swedish"]


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver")
    from selenium.webdriver.chrome.service import Service

    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(chromedriver))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def numerals():
    data = pal.datasets.load_numerals()
    return data, pal.HierarchyPosterior(pal.models.Dasgupta(data.similarity, beta=4.0, labels=data.labels))


@pytest.fixture(scope="module")
def flat():
    data = pal.datasets.load_numerals()
    affinity = data.similarity - data.similarity[np.triu_indices(12, 1)].mean()
    return pal.PartitionPosterior(pal.models.CorrelationClusters(affinity, beta=20.0, labels=data.labels))


@pytest.fixture
def page(driver, numerals, tmp_path):
    data, post = numerals
    return Page(driver, report.write(post, tmp_path / "out.html", classes=data.classes))


class Page:
    """A report that is open, and what a person does with it."""

    def __init__(self, driver, path):
        self.driver = driver
        driver.get(path.as_uri())

    def all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def one(self, selector):
        return self.driver.find_element("css selector", selector)

    def cluster(self, *names):
        """The button of a cluster in the dendrogram that is shown."""
        buttons = [b for b in self.all("#tree-0 .cluster") if b.get_attribute("aria-label").startswith("Cluster of ")]
        return next(
            b for b in buttons if set(b.get_attribute("aria-label").rpartition(": ")[2].split(", ")) == set(names)
        )

    def rows(self):
        return [row for row in self.all("#table tr.row") if row.is_displayed()]

    def cells(self, selector):
        return [row.find_element("css selector", selector).text for row in self.rows()]

    def press(self, *keys):
        from selenium.webdriver import ActionChains

        actions = ActionChains(self.driver)
        for key in keys:
            actions.send_keys(key)
        actions.perform()

    def point_at(self, element):
        from selenium.webdriver import ActionChains

        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
        ActionChains(self.driver).move_to_element(element).perform()

    def focused(self):
        return self.driver.switch_to.active_element.get_attribute("aria-label") or ""

    def complaints(self):
        return self.driver.get_log("browser")


def shares(texts):
    return [float(text.strip("> %\xa0")) for text in texts]


def test_it_opens_without_a_complaint(page):
    assert page.complaints() == []
    assert page.driver.title == "Hierarchies of 12 leaves"
    assert len(page.rows()) == len(page.all("#table tr.row")) > 30


def test_pointing_at_a_cluster_shows_members_and_probability(page, numerals):
    page.point_at(page.cluster(*GERMANIC).find_element("css selector", "circle"))
    tip = page.one("#tip")
    assert tip.is_displayed()
    assert f"{100 * numerals[1].cluster_probability(GERMANIC):.1f}" in tip.text
    assert all(name in tip.text for name in GERMANIC)
    assert len(page.all("#tree-0 .leaf.on")) == 5


def test_choosing_a_cluster_shows_its_competing_splits(page, numerals):
    page.point_at(page.cluster(*GERMANIC).find_element("css selector", "circle"))
    page.cluster(*GERMANIC).find_element("css selector", "circle").click()
    shown = [item.text for item in page.all("#panel .rivals li")]
    for text, row in zip(shown, numerals[1].split_probabilities(GERMANIC)[:3], strict=False):
        assert shares([text.splitlines()[0]])[0] == pytest.approx(100 * row.probability, abs=0.06)
        assert all(name in text for name in GERMANIC)
    assert "in the best" in shown[0]
    assert page.cluster(*GERMANIC).get_attribute("aria-pressed") == "true"


def test_a_part_of_a_split_leads_on(page):
    page.point_at(page.cluster(*GERMANIC).find_element("css selector", "circle"))
    page.cluster(*GERMANIC).find_element("css selector", "circle").click()
    page.one("#panel .rivals button").click()
    assert page.one("#panel h3").text == "Cluster of 3 leaves"


def test_a_row_outside_the_best_opens_to_its_splits(page):
    row = next(row for row in page.rows() if row.find_element("css selector", ".best").text == "")
    button = row.find_element("css selector", ".open")
    page.point_at(button)
    button.click()
    assert button.get_attribute("aria-expanded") == "true"
    assert "How it is split" in page.one("#table tr.more:not([hidden])").text
    button.click()
    assert page.all("#table tr.more:not([hidden])") == []


def test_search_filters(page):
    page.one("#search").send_keys("english, dutch")
    found = page.cells(".open")
    assert 0 < len(found) < len(page.all("#table tr.row"))
    assert all("English" in text and "Dutch" in text for text in found)
    assert page.one("#found").text == f"{len(found)} of {len(page.all('#table tr.row'))} clusters"
    page.one("#search").clear()
    page.one("#search").send_keys("nobody")
    assert page.rows() == []


def test_headers_sort(page):
    size = page.one("#table th[data-key=size] button")
    page.point_at(size)
    size.click()
    sizes = [int(text) for text in page.cells(".size")]
    assert sizes == sorted(sizes, reverse=True)
    assert page.one("#table th[data-key=size]").get_attribute("aria-sort") == "descending"
    size.click()
    assert [int(text) for text in page.cells(".size")] == sorted(sizes)
    page.one("#table th[data-key=probability] button").click()
    listed = shares(page.cells(".share"))
    assert listed == sorted(listed, reverse=True)
    assert page.all("#table th[aria-sort]") == [page.one("#table th[data-key=probability]")]


def test_the_keyboard_is_enough(page):
    from selenium.webdriver import Keys

    root = page.one('#tree-0 .cluster[tabindex="0"]')
    page.driver.execute_script("document.querySelector('[data-tree=tree-1]').focus()")
    page.press(Keys.TAB)
    assert page.driver.switch_to.active_element == root
    page.press(Keys.ARROW_RIGHT)
    assert page.focused().startswith("Cluster of")
    assert page.focused() != root.get_attribute("aria-label")
    assert page.one("#tip").is_displayed()
    page.press(Keys.ENTER)
    assert page.one("#panel h3").text.removeprefix("Cluster of ") in page.focused()
    page.press(Keys.ARROW_LEFT)
    assert page.driver.switch_to.active_element == root
    page.press(Keys.ESCAPE)
    assert not page.one("#tip").is_displayed()


def test_the_consensus_can_be_shown(page):
    button = page.one("[data-tree=tree-1]")
    page.point_at(button)
    button.click()
    assert page.one("#tree-1").is_displayed()
    assert not page.one("#tree-0").is_displayed()
    assert button.get_attribute("aria-pressed") == "true"


def test_the_map_of_pairs_answers_to_pointer_and_keyboard(driver, flat, tmp_path):
    from selenium.webdriver import Keys

    page = Page(driver, report.write(flat, tmp_path / "out.html"))
    page.driver.execute_script("document.querySelector('#map').focus()")
    page.press(Keys.ARROW_RIGHT)
    first, second = (int(leaf.get_attribute("data-leaf")) for leaf in page.all("#map .leaf")[:2])
    tip = page.one("#tip")
    assert shares([tip.text.splitlines()[0].removesuffix(" together")])[0] == pytest.approx(
        100 * flat.coclustering()[first, second], abs=0.06
    )
    assert flat.labels[first] in tip.text
    page.point_at(page.one("#map .ground"))
    assert tip.is_displayed()
    page.point_at(page.one("#picture .chip"))
    page.one("#picture .chip").click()
    assert "Split in two" in page.one("#panel").text
    assert page.complaints() == []


@pytest.mark.parametrize("kind", ["hierarchies", "partitions"])
def test_hostile_labels_do_not_run(driver, kind, tmp_path):
    points = np.random.default_rng(1).normal(size=(len(HOSTILE), 2))
    if kind == "hierarchies":
        post = pal.HierarchyPosterior(pal.models.SumOfSquares(points, labels=HOSTILE))
    else:
        post = pal.PartitionPosterior(pal.models.CorrelationClusters(points @ points.T, labels=HOSTILE))
    page = Page(
        driver, report.write(post, tmp_path / "out.html", title=HOSTILE[0], classes=HOSTILE, command=HOSTILE[1])
    )
    for button in page.all("#table .open")[:8]:
        page.driver.execute_script("arguments[0].click()", button)
    page.driver.execute_script("for (const c of document.querySelectorAll('[data-cluster]')) c.focus()")
    page.point_at(page.one("#picture [data-cluster]"))
    assert page.driver.execute_script("return window.broken") is None
    assert page.all("img, iframe") == []
    assert HOSTILE[2] in page.one("#table").text
    assert page.complaints() == []  # an alert that is open would raise as well


@pytest.mark.parametrize("width", [360, 768])
def test_narrow_screens_need_no_sideways_scrolling(page, width):
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        assert page.driver.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
