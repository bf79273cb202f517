"""What a report says is what the posterior says, in one file that nothing can break out of."""

import hashlib
import json
import re
from base64 import b64encode
from html.parser import HTMLParser

import numpy as np
import pytest

import palmette as pal
from palmette import report
from palmette.posterior import HierarchyMixture, PartitionMixture, from_trees
from palmette.report.numbers import amount, amount_of_log, percent, percent_of_log, plus_minus

HOSTILE = [
    "</script><img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "\u202eright to left\u202c\u200f",
    "L" * 300,
    "🦩 flamingo",
    "new\nline\ttab",
    "<!--",
    "{{script}}",
    "a & b; ' \" `",
    "\ud800 lone \x00 \u2028\u2029",
    "",
]
VOID = {"meta", "link", "input"}


class Page(HTMLParser):
    """Elements with their attributes and all text, and a check that every tag is closed."""

    def __init__(self, path):
        super().__init__()
        self.elements, self.words, self.open = [], [], []
        self.text = path.read_text(encoding="utf-8")
        self.feed(self.text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"script", "style"} & set(self.open):
            self.words.append(data)

    @property
    def data(self):
        return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', self.text)[1])

    def prose(self):
        return " ".join("".join(self.words).split())


def numerals():
    data = pal.datasets.load_numerals()
    return data, pal.HierarchyPosterior(pal.models.Dasgupta(data.similarity, beta=4.0, labels=data.labels))


def flat_numerals(**options):
    data = pal.datasets.load_numerals()
    affinity = data.similarity - data.similarity[np.triu_indices(12, 1)].mean()
    return pal.PartitionPosterior(pal.models.CorrelationClusters(affinity, beta=20.0, labels=data.labels), **options)


def hostile_models(labels):
    points = np.random.default_rng(1).normal(size=(len(labels), 2))
    affinity = 1 - ((points[:, None] - points) ** 2).sum(axis=2)
    return pal.models.SumOfSquares(points, labels=labels), pal.models.CorrelationClusters(affinity, labels=labels)


def hostile_posteriors():
    trees, groups = hostile_models(HOSTILE)
    return [pal.HierarchyPosterior(trees), pal.PartitionPosterior(groups)]


def test_the_data_block_holds_the_posteriors_numbers(tmp_path):
    data, post = numerals()
    page = Page(report.write(post, tmp_path / "out.html", classes=data.classes))
    block = page.data
    assert (block["kind"], tuple(block["labels"])) == ("hierarchies", data.labels)
    listed = {tuple(c["members"]): c for c in block["clusters"]}
    best = {tuple(sorted(cluster)) for cluster in post.map().clusters() if len(cluster) > 1}
    assert {members for members, c in listed.items() if c["in_best"]} == best
    expected = {
        tuple(sorted(data.labels.index(name) for name in row.members)): row.probability
        for row in post.cluster_probabilities(0.01)
    }
    assert {members: c["probability"] for members, c in listed.items() if len(members) < 12} == expected
    for members, cluster in listed.items():
        rows = post.split_probabilities(members)[: len(cluster["splits"])]
        assert cluster["splits"] == [[[data.labels.index(name) for name in row.left], row.probability] for row in rows]


def test_the_data_block_of_a_partition_holds_splits_joins_and_pairs(tmp_path):
    post = flat_numerals()
    block = Page(report.write(post, tmp_path / "out.html")).data
    together = post.coclustering()
    for i, row in enumerate(block["together"]):
        np.testing.assert_allclose(row, together[i, i + 1 :], atol=1e-5)
    for cluster in block["clusters"]:
        assert cluster["probability"] == post.cluster_probability(cluster["members"])
        rows = post.split_probabilities(cluster["members"])
        assert [share for _, share in cluster["splits"]] == [row.probability for row in rows[: len(cluster["splits"])]]
        for others, share in cluster["joins"]:
            assert share == post.cluster_probability([*cluster["members"], *others])


def test_a_mixture_is_reported_as_a_posterior_is(tmp_path):
    data, post = numerals()
    parts = [post, pal.HierarchyPosterior(pal.models.Dasgupta(data.similarity, 2.0, labels=data.labels))]
    mixture = HierarchyMixture(parts, [0.0, 0.0], [{"beta": part.model.beta} for part in parts])
    page = Page(report.write(mixture, tmp_path / "out.html"))
    for cluster in page.data["clusters"]:
        assert cluster["probability"] == pytest.approx(mixture.cluster_probability(cluster["members"]))
    assert "averaged over 2 posteriors" in page.prose()
    assert "beta = 2 (weight 0.500)" in page.prose()
    flat = PartitionMixture([flat_numerals(), flat_numerals()], [0.0, -1.0])
    assert Page(report.write(flat, tmp_path / "flat.html")).data["kind"] == "partitions"


@pytest.mark.parametrize("make", [lambda: numerals()[1], flat_numerals], ids=["hierarchies", "partitions"])
def test_the_same_input_gives_the_same_bytes(make, tmp_path):
    one = report.write(make(), tmp_path / "one.html", seed=3, command="palmette …")
    two = report.write(make(), tmp_path / "two.html", seed=3, command="palmette …")
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize("post", hostile_posteriors(), ids=["hierarchies", "partitions"])
def test_hostile_labels_stay_names(post, tmp_path):
    path = report.write(post, tmp_path / "out.html", classes=HOSTILE, title=HOSTILE[0], command=HOSTILE[1])
    page = Page(path)
    assert page.data["labels"] == HOSTILE
    assert not any(tag in ("img", "iframe", "object", "embed", "base", "form") for tag, _ in page.elements)
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert [tag for tag, _ in page.elements].count("script") == 2
    assert "\u2028" not in page.text.partition('id="data"')[2]
    assert "L" * 300 in page.text  # in full where it is asked for
    assert "(no name)" in page.text


def test_nothing_is_fetched_and_only_its_own_script_may_run(tmp_path):
    page = Page(report.write(numerals()[1], tmp_path / "out.html"))
    assert "://" not in page.text
    addresses = [v for _, attributes in page.elements for k, v in attributes.items() if k in ("src", "href")]
    assert addresses == ["data:,", "#clusters"]
    assert not any("style" in attributes for _, attributes in page.elements)
    policy = next(a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")
    for kind in ("script", "style"):
        source = re.search(rf"<{kind}>(.*?)</{kind}>", page.text, re.DOTALL)[1]
        digest = b64encode(hashlib.sha256(source.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


def test_the_summary_says_whether_to_trust(tmp_path):
    _, post = numerals()
    words = Page(report.write(post, tmp_path / "out.html")).prose()
    assert "No single hierarchy can be trusted at β = " in words
    assert "13.7\xa0billion" in words.replace(" billion", "\xa0billion")
    assert "These numbers are exact" in words
    points = [[0.0], [1.0], [50.0]]
    sure = pal.HierarchyPosterior(pal.models.SumOfSquares(points, labels=["a", "b", "c"]))
    words = Page(report.write(sure, tmp_path / "out.html")).prose()
    assert "One hierarchy has nearly all of the probability at β = 1." in words
    assert "Certain" not in words


def test_a_cost_is_shown_against_its_temperature(tmp_path):
    model = pal.models.SumOfSquares([[0.0], [1.0], [5.0], [9.0]], beta=0.3, labels=["a", "<b>", "c", "d"])
    text = report.write(pal.HierarchyPosterior(model), tmp_path / "out.html").read_text(encoding="utf-8")
    assert "These probabilities are given β." in text
    assert "The probability of clusters of the best one against β" in text
    assert "<b>," not in text.partition("<main>")[2].partition("These probabilities")[2].partition("<script")[0]
    sparse = pal.SparseTrellis.from_hierarchies([pal.search.greedy(model).hierarchy])
    chosen = report.write(pal.HierarchyPosterior(model, trellis=sparse), tmp_path / "out.html")
    assert "against β" not in chosen.read_text(encoding="utf-8")


def test_a_likelihood_says_first_whether_there_is_structure(tmp_path):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0, 0.1, (3, 2)), rng.normal(5, 0.1, (4, 2))])
    for post in (pal.evidence.posterior(pal.models.Contrasts(x)), pal.HierarchyPosterior(pal.models.Contrasts(x))):
        words = Page(report.write(post, tmp_path / "out.html")).prose()
        assert words.index("strongly prefer a hierarchy") < words.index("7 leaves have")
        assert "Certain" in words
        assert "given β" not in words


def test_a_sparse_trellis_and_a_sample_of_trees_say_what_they_are(tmp_path):
    data, post = numerals()
    draws = list(post.sample(20, rng=0))
    sparse = post.on(pal.SparseTrellis.from_hierarchies(draws))
    words = Page(report.write(sparse, tmp_path / "out.html")).prose()
    assert "conditional" in words
    assert "log Z is a lower bound" in words
    assert f"{len(sparse.trellis.left):,} splits" in words
    words = Page(report.write(from_trees(draws), tmp_path / "out.html", classes=data.classes)).prose()
    assert "come from a sample of trees" in words
    trellis = pal.PartitionTrellis.from_hierarchy(post.map())
    words = Page(report.write(flat_numerals(trellis=trellis), tmp_path / "out.html")).prose()
    assert "into chosen clusters" in words


def test_provenance_names_model_command_seed_and_data(tmp_path):
    data, post = numerals()
    table = tmp_path / "table.csv"
    table.write_bytes(b"a,b\n1,2\n")
    path = tmp_path / "out.html"
    words = Page(report.write(post, path, seed=7, command="palmette run", data=data.similarity)).prose()
    digest = hashlib.sha256(np.ascontiguousarray(data.similarity).tobytes()).hexdigest()
    for fact in (f"palmette {pal.__version__}", "Dasgupta", "β = 4", "palmette run", digest, "12 × 12 values"):
        assert fact in words
    words = Page(report.write(post, path, data=table)).prose()
    assert hashlib.sha256(table.read_bytes()).hexdigest() in words
    assert "Seed" not in words
    words = Page(report.write(post.condition(require=[["English", "Dutch"]]), path)).prose()
    assert "given 1 required and 0 forbidden clusters" in words


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_leaves_are_ordinary(n, tmp_path):
    points = np.arange(n, dtype=float)[:, None]
    for post in (
        pal.HierarchyPosterior(pal.models.SumOfSquares(points)),
        pal.PartitionPosterior(pal.models.CorrelationClusters(np.ones((n, n)))),
    ):
        page = Page(report.write(post, tmp_path / "out.html"))
        assert len(page.data["labels"]) == n


def test_many_leaves_make_a_small_file(tmp_path):
    rng = np.random.default_rng(0)
    model = pal.models.SumOfSquares(rng.normal(size=(400, 2)))
    greedy = pal.search.greedy(model).hierarchy
    other = pal.search.greedy(pal.models.SumOfSquares(rng.normal(size=(400, 2)))).hierarchy
    post = pal.HierarchyPosterior(model, trellis=pal.SparseTrellis.from_hierarchies([greedy, other]))
    path = report.write(post, tmp_path / "out.html")
    assert path.stat().st_size < 1_000_000
    assert len(Page(path).data["clusters"]) > 100


def test_conditions_and_alternatives_follow_the_options(tmp_path):
    _, post = numerals()
    few = Page(report.write(post, tmp_path / "out.html", n_alternatives=2, min_probability=0.9))
    assert sum(a.get("class") == "card" for _, a in few.elements) == 2
    shown = [c for c in few.data["clusters"] if c["probability"] < 0.9 and not c["in_best"]]
    assert all(c["probability"] > 0.5 for c in shown)  # those that the consensus draws
    none = Page(report.write(post, tmp_path / "out.html", n_alternatives=0))
    assert sum(a.get("class") == "card" for _, a in none.elements) == 0


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"classes": ["x"]}, ValueError, "1 classes were given for 12 leaves"),
        ({"classes": "x"}, TypeError, "one class per leaf"),
        ({"n_alternatives": -1}, ValueError, "at least 0"),
        ({"min_probability": 2}, ValueError, "from 0 to 1"),
        ({"data": np.array([None])}, TypeError, "array of numbers"),
        ({"data": "no such file"}, FileNotFoundError, "no such file"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(options, error, words, tmp_path):
    path = tmp_path / "out.html"
    with pytest.raises(error, match=words):
        report.write(numerals()[1], path, **options)
    assert not path.exists()


def test_only_posteriors_have_reports(tmp_path):
    with pytest.raises(TypeError, match="SampledPartitions or CoalescentDraws, not"):
        report.write(numerals()[0], tmp_path / "out.html")


def test_numbers_read_as_what_they_are():
    assert percent(1 - 1e-12) == ">\xa099.9\xa0%"
    assert percent(0.5) == "50.0\xa0%"
    assert percent_of_log(-np.inf) == "0\xa0%"
    assert percent_of_log(-1e6).startswith("3.")
    assert amount(999_999_999) == "1\xa0billion"
    assert amount_of_log(np.log(99.96)) == "100"


@pytest.mark.parametrize(
    ("sample", "make"),
    [(pal.sampling.sample_hierarchies, lambda: numerals()[1]), (pal.sampling.sample_partitions, flat_numerals)],
    ids=["hierarchies", "partitions"],
)
def test_a_sampled_posterior_opens_with_whether_its_chains_agree(sample, make, tmp_path):
    data = pal.datasets.load_numerals()
    sampled = sample(make().model, seconds=None, sweeps=30)
    short = report.write(sampled, tmp_path / "short.html").read_text(encoding="utf-8")
    assert "The chains do not agree: do not rely on these numbers." in short
    long = sampled.resume(seconds=None, sweeps=6000, precision=0.01)
    agreed = report.write(long, tmp_path / "long.html", classes=data.classes).read_text(encoding="utf-8")
    assert "The chains agree." in agreed
    for page in (short, agreed):
        assert "log Z" not in page
        words = page.partition("<main>")[2].partition("<script")[0]
        assert words.index("The chains") < words.index("largest R̂")
        assert "Certain" not in words
        assert "exact" not in words
        assert "log φ of 6 chains" in words
        assert '"error":' in page
    assert report.write(long, tmp_path / "again.html", classes=data.classes).read_text(encoding="utf-8") == agreed


def test_a_report_on_sampled_partitions_holds_their_numbers_with_errors(tmp_path):
    post = pal.sampling.sample_partitions(flat_numerals().model, seconds=None, sweeps=200)
    page = Page(report.write(post, tmp_path / "out.html"))
    block, (together, errors) = page.data, post.coclustering()
    for name, matrix in (("together", together), ("together_errors", errors)):
        for i, row in enumerate(block[name]):
            np.testing.assert_allclose(row, matrix[i, i + 1 :], atol=1e-5)
    for cluster in block["clusters"]:
        found = post.cluster_probability(cluster["members"])
        assert (cluster["probability"], cluster["error"]) == (found.value, found.standard_error)
        assert cluster["splits"] is None
        for others, share in cluster["joins"]:
            assert share == float(post.cluster_probability([*cluster["members"], *others]))
    best = {tuple(sorted(cluster)) for cluster in post.map().clusters()}
    assert {tuple(c["members"]) for c in block["clusters"] if c["in_best"]} == best
    shares, spread = post.n_clusters_probabilities()
    k = int(shares.argmax())
    assert f"{k}{percent(shares[k])}{plus_minus(spread[k])}".replace("\xa0", " ") in page.prose()
    assert "it is not known how probable a whole partition is" in page.prose()


def test_hostile_labels_stay_names_also_where_chains_name_them(tmp_path):
    labels = [label for label in HOSTILE if "\ud800" not in label]  # a chain's fingerprint is made of UTF-8
    samplers = pal.sampling.sample_hierarchies, pal.sampling.sample_partitions
    for model, sample in zip(hostile_models(labels), samplers, strict=True):
        sampled = sample(model, seconds=None, sweeps=16)
        assert not sampled.verdict.agree
        page = Page(report.write(sampled, tmp_path / "out.html", classes=labels))
        assert page.data["labels"] == labels
        assert not any(tag in ("img", "iframe", "object", "embed", "base", "form") for tag, _ in page.elements)
        assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)


@pytest.mark.parametrize(("n", "has_map"), [(80, True), (81, False)])
def test_a_page_points_at_a_map_only_if_there_is_one(n, has_map, tmp_path):
    points = np.random.default_rng(0).normal(size=(n, 2))
    similarity = pal.similarity.centred(pal.similarity.of_points(points))
    trellis = pal.PartitionTrellis.from_hierarchy(pal.similarity.linkages(similarity)[0])
    post = pal.PartitionPosterior(pal.models.CorrelationClusters(similarity, beta=5.0), trellis=trellis)
    page = Page(report.write(post, tmp_path / "out.html"))
    assert any(attributes.get("id") == "map" for _, attributes in page.elements) == has_map
    assert ("Point at the map to compare two leaves; choose a cluster" in page.prose()) == has_map
    assert ("Choose a cluster to see how it could be split" in page.prose()) != has_map
    assert ("too many for a map of all pairs" in page.prose()) != has_map


def test_hierarchies_are_drawn_at_the_heights_of_the_model_or_by_their_shape(tmp_path):
    post = pal.HierarchyPosterior(pal.models.SumOfSquares([[0.0], [0.1], [5.0], [6.0], [20.0]]))
    scaled, plain = (
        Page(report.write(post, tmp_path / f"{heights}.html", n_alternatives=1, heights=heights))
        for heights in (True, False)
    )
    assert scaled.data == plain.data
    assert "Branches are to scale" in scaled.prose()
    assert "Branches are to scale" not in plain.prose()
    best = post.map()
    for page, heights in ((scaled, post.model.heights(best)), (plain, best.heights)):
        dots = [float(given["cx"]) for tag, given in page.elements if tag == "circle" and given["r"] == "4.5"]
        found = np.sort(dots[: best.n_leaves - 1])  # the consensus comes later
        below = heights[-1] - np.sort(heights[best.n_leaves :])[::-1]  # the root
        np.testing.assert_allclose((found - found[0]) / (found[-1] - found[0]), below / below[-1], atol=1e-3)
