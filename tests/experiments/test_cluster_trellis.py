"""The scripts run from the command line to their figures, and what they write is right."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest

matplotlib.use("agg")

import palmette as pal

FOLDER = Path(__file__).parents[2] / "experiments" / "cluster_trellis"
MODULES = (
    "common",
    "figure4",
    "figure6",
    "figure8",
    "figure8_grown",
    "histories",
    "large_jets",
    "plane_figure4",
    "plane_jets",
    "plane_table1",
    "samples",
    "sparse_jets",
    "sparse_jets_figures",
    "sparse_jets_runs",
    "table1",
    "transpose_expression",
)


def run(name, out, *arguments):
    """The script as a command; what it prints, and the files that it leaves."""
    command = [sys.executable, str(FOLDER / f"{name}.py"), "--out", str(out), *map(str, arguments)]
    environment = os.environ | {"PYTHONIOENCODING": "utf-8", "MPLBACKEND": "agg"}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, {path.name for path in out.iterdir()}


def call(script, out, capsys, *arguments):
    """The same within this process."""
    script.main(["--out", str(out), *map(str, arguments)])
    return capsys.readouterr().out, {path.name for path in out.iterdir()}


def write_table(path, each=6):
    """Three classes far apart, samples without a class like those of the first one, and a missing value."""
    rng = np.random.default_rng(0)
    groups = ["x", "y", "z", ""]
    centres = rng.normal(size=(3, 30))
    rows = []
    for row in range(4 * each):
        values = [f"{v:.4f}" for v in centres[row % 4 % 3] + rng.normal(scale=0.6, size=30)]
        values[row % 30] = "" if row == 5 else values[row % 30]
        rows.append([f"s {row}", groups[row % 4], *values])
    header = ["sample", "class", *(f"gene {k}" for k in range(30))]
    path.write_text("\n".join(",".join(row) for row in [header, *rows]) + "\n", encoding="utf-8")
    return path


# Figure 4.


@pytest.mark.parametrize("how", ["here", pytest.param("as a command", marks=pytest.mark.slow)])
def test_linkage_misses_the_optimum_on_the_ladder(how, load, tmp_path, capsys):
    out, arguments = tmp_path / "out", ("--numberings", 20)
    text, files = call(load("figure4"), out, capsys, *arguments) if how == "here" else run("figure4", out, *arguments)
    assert files == {"figure4.png", "figure4.txt"}
    costs = {line[:25].strip(): line.split()[3] for line in text.splitlines() if line.startswith("  scipy")}
    assert costs["scipy single linkage"] == costs["scipy complete linkage"] == "44.08"
    assert "optimum, full trellis   40.08" in text
    assert "There is one hierarchy of the lowest cost; the next cost is 40.12." in text


def test_the_costs_of_the_splits_add_up(load):
    figure4 = load("figure4")
    w = figure4.ladder()
    assert np.count_nonzero(w == 1.01) == 8
    assert np.count_nonzero(w == 1.0) == 12
    for method in figure4.METHODS:
        hierarchy = figure4.linked(w, method)
        parts = map(float, figure4.split_costs(w, hierarchy).values())
        assert sum(parts) == pytest.approx(figure4.cost(w, hierarchy))


# Figure 8.


def test_subtypes_without_data(load, tmp_path, capsys):
    text, files = call(load("figure8"), tmp_path / "out", capsys, "--shares", "0.01", "0.001")
    assert files == {"figure8.png", "figure8_grown.png", "figure8.txt"}
    data = pal.datasets.load_numerals()
    pairs = ~np.eye(12, dtype=bool)
    affinity = np.zeros((12, 12))
    affinity[pairs] = np.tan(np.pi / 2 * data.similarity[pairs])
    affinity[pairs] -= affinity[pairs].mean()
    post = pal.HierarchyPosterior(pal.models.Correlation(affinity, 20.0, labels=data.labels))
    assert f"log Z    {post.log_partition:.4f}\n" in text
    assert f"{-post.log_potential(post.map()) / 20:.4f}          0.0000" in text
    log_probs = np.array([log_prob for _, log_prob in post.best(200)])
    tied = int((log_probs > log_probs[0] - 1e-9).sum())
    assert f"{tied} of all 13,749,310,575 are" in text
    assert "(exact)" in text


@pytest.mark.slow
def test_subtypes_of_a_table(load, tmp_path, capsys):
    table = write_table(tmp_path / "table.csv")
    options = ["--data", table, "--each", 6, "--shares", "0.02", "--sweeps", 800, "--seed", 1, "--choices", 3]
    text, files = call(load("figure8"), tmp_path / "out", capsys, *options)
    assert files == {"figure8.png", "figure8_grown.png", "figure8.txt"}
    assert "leaves   8;" in text
    assert "leaves       24" in text
    assert "standard error" in text
    assert "with seeds 0 to 2, greedy misses" in text
    again, _ = call(load("figure8"), tmp_path / "again", capsys, *options)
    assert again == text


def test_samples_are_chosen_class_by_class_and_affinities_are_centred(load, tmp_path):
    samples_module = load("samples")
    path = write_table(tmp_path / "table.csv")
    samples = samples_module.samples_from(path, 2, seed=3)
    assert samples.classes == ["x"] * 2 + ["y"] * 2 + ["z"] * 2 + [samples_module.NO_CLASS] * 2
    assert len(set(samples.names)) == 8
    affinity = samples.affinity
    assert np.allclose(affinity, affinity.T)
    assert affinity.sum() == pytest.approx(0.0, abs=1e-9)
    assert (np.diag(affinity) == 0).all()
    _, _, values = samples_module.read_table(path)
    assert values[5, 5] == 0.0


def test_genes_by_samples_become_samples_by_genes(load, tmp_path, capsys):
    text = "\ta\tb\tc\nsubtype\tx\t\ty\nG1\t1.5\tNA\t-2\nG2\t0\t3\n"
    (tmp_path / "genes.txt").write_text(text, encoding="utf-8")
    script = load("transpose_expression")
    script.main([str(tmp_path / "genes.txt"), str(tmp_path / "samples.csv")])
    assert capsys.readouterr().out == "3 samples, 2 of them with a class; 2 genes, 2 values missing\n"
    names, classes, values = load("samples").read_table(tmp_path / "samples.csv")
    assert (names, classes[0], classes[2]) == (["a", "b", "c"], "x", "y")
    assert values.tolist() == [[1.5, 0.0], [0.0, 3.0], [-2.0, 0.0]]
    with pytest.raises(ValueError, match="gene 'G1' of sample 'a' is 'high', and no number"):
        script.transposed([["", "a"], ["", "x"], ["G1", "high"]])


def test_a_draw_with_positive_correlations_is_looked_for(load, tmp_path):
    module = load("samples")
    path = tmp_path / "table.csv"
    rows = ["s,c,g,h,i", "a,x,1,2,3", "b,x,3,2,1", "d,y,1,2,4", "e,y,5,2,1"]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    seed = module.positive_seed(path, 1, 0)
    assert module.samples_from(path, 1, seed).similarity.min() > 0
    assert all(module.samples_from(path, 1, other).similarity.min() <= 0 for other in range(seed))
    assert module.positive_seed(path, 2, 5) == 5  # all four are never alike


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sample,class\na,b\n", "2 columns"),
        ("s,c,g,h\na,b,1,2\nd,b,1\n", "'d' has 3 cells"),
        ("s,c,g,h\na,b,1,1\nd,b,1,2\n", "the same value for all genes"),
    ],
)
def test_what_is_wrong_with_a_table_is_said(load, tmp_path, capsys, text, message):
    path = tmp_path / "wrong.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit):
        load("figure8").main(["--data", str(path), "--out", str(tmp_path / "out")])
    assert message in capsys.readouterr().err


def test_below_one_split_the_posterior_is_that_of_the_full_trellis_conditioned(load, tmp_path):
    grown, samples_module = load("figure8_grown"), load("samples")
    samples = samples_module.samples_from(write_table(tmp_path / "table.csv"), 2, seed=3)
    model = pal.models.Correlation(samples.affinity, 0.3, labels=samples.names)
    full = pal.HierarchyPosterior(model)
    first = full.map().splits()[-1]
    known = grown.halves(samples, model, full.map())
    given = full.condition(require=[sorted(part) for part in first if len(part) > 1])
    assert known.log_partition == pytest.approx(given.log_partition)
    assert known.log_partition < full.log_partition
    assert model.log_potential(known.best) == pytest.approx(model.log_potential(full.map()))
    for row in full.cluster_probabilities(0.01):
        assert known.probability(row.members) == pytest.approx(given.cluster_probability(row.members), abs=1e-12)


def test_best_hierarchies_are_counted(load, tmp_path):
    grown = load("figure8_grown")
    attracting = pal.models.Correlation(np.ones((6, 6)) - np.eye(6), 1.0)
    assert grown.n_best(attracting, None) == pytest.approx(945)  # all of them
    trellis = pal.SparseTrellis.from_hierarchies(list(pal.HierarchyPosterior(attracting).sample(5, rng=0)))
    assert grown.n_best(attracting, trellis) == pytest.approx(trellis.count)


# Sparse trellises of jets.


def test_sparse_trellises_of_jets(load, tmp_path, capsys):
    options = ["--leaves", 6, "--test", 6, "--train", 30, "--table1", 5]
    text, files = call(load("sparse_jets"), tmp_path / "out", capsys, *options)
    pictures = {"figures_7_and_11.png", "log_partition.png", "figure12.png", "figure13.png"}
    assert files == pictures | {"sparse_jets.txt", "times.txt"}
    assert "the exact MAP is found on 6 of 6" in text
    assert "a trellis of beam search hierarchies, leaves by |p|, sparsity" in text


def test_the_same_seed_gives_the_same_text(load, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(load("sparse_jets_figures"), "draw_all", lambda *given: None)
    options = ["--leaves", 5, "--test", 2, "--train", 8, "--preset", "w", "--table1", 2]
    first, _ = call(load("sparse_jets"), tmp_path / "one", capsys, *options)
    assert call(load("sparse_jets"), tmp_path / "two", capsys, *options)[0] == first
    assert call(load("sparse_jets"), tmp_path / "three", capsys, *options, "--seed", 1)[0] != first


def test_orders_keep_the_likelihood_and_traversal_makes_intervals(load):
    runs = load("sparse_jets_runs")
    jets = runs.simulate(5, 1, leaves=7, seed=2)
    for event in jets.test:
        for source in runs.SOURCES:
            hierarchy = event.hierarchies[source]
            plain = pal.models.Ginkgo(event.momenta, **jets.law).log_potential(hierarchy)
            for order in runs.ORDERS:
                ranks = event.orders[source, order]
                moved = hierarchy.ranked(ranks)
                assert pal.models.Ginkgo(event.momenta[ranks], **jets.law).log_potential(moved) == pytest.approx(plain)
            assert all(max(cluster) - min(cluster) == len(cluster) - 1 for cluster in moved.clusters())
        assert (np.diff(np.linalg.norm(event.momenta[:, 1:], axis=1)) >= 0).all()


def test_the_true_hierarchy_keeps_its_particles(load):
    runs = load("sparse_jets_runs")
    (jet,) = pal.simulate.ginkgo(1, preset="qcd", min_leaves=6, max_leaves=6, rng=0)
    law = {"rate": 1.5, "t_cut": 16.0}
    event = runs.event(jet, law, np.random.default_rng(0))
    expected = pal.models.Ginkgo(jet.momenta, **law).log_potential(jet.hierarchy)
    assert pal.models.Ginkgo(event.momenta, **law).log_potential(event.hierarchies["simulator"]) == pytest.approx(
        expected
    )


def test_no_jet_is_both_tested_and_trained_on(load):
    jets = load("sparse_jets_runs").simulate(20, 30, leaves=5, seed=1)
    seen = {event.momenta.tobytes() for event in jets.train}
    assert len(seen) == 30
    assert seen.isdisjoint(event.momenta.tobytes() for event in jets.test)


def test_no_trellis_beats_the_full_one_and_more_hierarchies_never_hurt(load):
    runs = load("sparse_jets_runs")
    jets = runs.simulate(6, 20, leaves=6, seed=4)
    exact = runs.reference(jets)
    assert all((values <= 1e-9).all() for values in exact.others.values())
    points = runs.curves(jets, exact, [5, 20]).points
    for few, many in zip(points[::2], points[1::2], strict=True):
        assert (many.best <= 1e-9).all()
        assert (many.log_partition <= 1e-9).all()
        assert (few.best <= many.best + 1e-9).all()
        assert few.sparsity <= many.sparsity
    grown = runs.grow(jets, exact, 1e-3)
    assert np.allclose(grown.best, 0.0, atol=1e-9)
    assert grown.n_found == 6
    assert (grown.n_splits <= runs.all_splits(6)).all()


def test_the_first_trellis_of_a_sparsity_and_the_first_above_beam_search(load):
    runs = load("sparse_jets_runs")
    jets = runs.simulate(4, 60, leaves=5, seed=1)
    exact = runs.reference(jets)
    kind = ("simulator", "random")
    point = runs.at_sparsity(jets, exact, *kind, 0.2)
    assert jets.trellis(*kind, point.count).sparsity >= 0.2 > jets.trellis(*kind, point.count - 1).sparsity
    assert runs.at_sparsity(jets, exact, *kind, 2.0).count == 60
    first = runs.crossing(jets, exact, *kind)
    assert first.best.mean() > exact.goal or first.count == 60
    assert first.count == 1 or runs.run_point(jets, exact, *kind, first.count - 1).best.mean() <= exact.goal
    counts = range(1, 30)
    assert [runs.fewest(29, lambda k, least=least: k >= least) for least in counts] == list(counts)
    assert runs.fewest(29, lambda k: False) == 29


def test_claims_can_fail(load):
    runs, jets_script = load("sparse_jets_runs"), load("sparse_jets")
    jets = runs.simulate(4, 3, leaves=6, seed=4)
    exact = runs.reference(jets)
    grown = runs.grow(jets, exact, 1e-3)
    targets = [runs.run_point(jets, exact, source, "momentum", 3) for source in runs.SOURCES]
    every = runs.all_splits(6)
    assert (
        jets_script.report_claims(targets, exact, grown, every).count("DOES NOT HOLD") == 3
    )  # too few splits to spare
    assert jets_script.report_claims(targets, exact, grown, 100 * every).count("DOES NOT HOLD") == 2


# Many jets.


def test_the_likeliest_histories_of_many_jets(load, tmp_path, capsys):
    pytest.importorskip("pyarrow")
    text, files = call(load("table1"), tmp_path / "out", capsys, "--jets", 200)
    assert files == {"figure5.png", "table1.txt"}
    rows = [line.split() for line in text.splitlines() if line.startswith(("  MAP -", "  beam -"))]
    means, literal = ({" ".join(row[:3]): float(row[3]) for row in half} for half in (rows[:3], rows[3:]))
    assert literal["MAP - beam"] < 0.05 < literal["MAP - greedy"] < 1.0
    printed = {"MAP - beam": 0.4, "MAP - greedy": 1.5, "beam - greedy": 1.1}
    assert means.keys() == printed.keys()
    assert all(abs(means[name] - mean) < 0.3 for name, mean in printed.items())
    assert means["MAP - greedy"] == pytest.approx(means["MAP - beam"] + means["beam - greedy"], abs=0.002)


def test_draws_of_one_history_follow_the_exact_law(load, tmp_path, capsys):
    figure6 = load("figure6")
    text, files = call(figure6, tmp_path / "out", capsys, "--draws", 5000)
    assert files == {"figure6.png", "figure6.txt"}
    words = text.split("chi squared")[1].split()
    statistic, freedom = float(words[0]), float(words[2])
    assert statistic < freedom + 5.0 * np.sqrt(2.0 * freedom)
    probabilities = np.full(10, 0.1)
    assert figure6.chi_squared(probabilities, np.full(10, 100.0)) == (0.0, 9)
    assert figure6.chi_squared(probabilities, np.r_[1000.0, np.zeros(9)])[0] == pytest.approx(9000.0)


def test_large_jets_by_every_way(load, tmp_path, capsys):
    pytest.importorskip("pyarrow")
    options = ["--leaves", 6, "--jets", 2]
    text, files = call(load("large_jets"), tmp_path / "out", capsys, *options)
    assert files == {"large_jets.txt"}
    rows = {line.split(",")[1].split()[0]: line.split() for line in text.splitlines()[1:]}
    assert rows.keys() == {"sparse", "sampled", "exact", "greedy", "beam"}
    assert rows["exact"][3] == "0.00"


# Jets in a plane, the version of 2020.


def test_sums_over_trees_in_a_plane_are_those_of_all_histories(load):
    plane = load("plane_jets")
    law = plane.Law()
    uniform = pal.HierarchyPosterior(pal.models.Uniform(6))
    every = [hierarchy for hierarchy, _ in uniform.best(uniform.count)]
    for jet in plane.simulate(4, law, 6, 6, np.random.default_rng(1)):
        values = np.array([plane.log_likelihood(jet.momenta, hierarchy, law) for hierarchy in every])
        found = plane.exact(jet.momenta, law)
        assert found.log_partition == pytest.approx(np.logaddexp.reduce(values), abs=1e-9)
        assert found.best == pytest.approx(values.max(), abs=1e-9)
        assert plane.log_likelihood(jet.momenta, found.hierarchy, law) == pytest.approx(found.best, abs=1e-9)
        # A beam that is never full leaves nothing out.
        assert plane.beam(jet.momenta, law, 10**6) == pytest.approx(found.best, abs=1e-9)


def test_the_trellis_of_best_parts_is_a_posterior_and_its_map_a_history(load):
    plane = load("plane_jets")
    law = plane.Law()
    for jet in plane.simulate(5, law, 5, 8, np.random.default_rng(2)):
        found, model = plane.by_best_parts(jet.momenta, law)
        posterior = pal.HierarchyPosterior(model)
        assert posterior.log_partition == pytest.approx(found.log_partition, abs=1e-9)
        assert posterior.log_potential(posterior.map()) == pytest.approx(found.best, abs=1e-9)
        # The parts of its MAP are the best parts, so its log likelihood is the law's own.
        assert plane.log_likelihood(jet.momenta, found.hierarchy, law) == pytest.approx(found.best, abs=1e-9)
        assert plane.exact(jet.momenta, law).best >= found.best - 1e-9
        assert plane.beam(jet.momenta, law, 20) >= plane.beam(jet.momenta, law, 1)


def test_the_table_of_2020_and_its_draws(load, tmp_path, capsys):
    out = tmp_path / "out"
    text, files = call(load("plane_table1"), out, capsys, "--jets", 60)
    assert files == {"plane_figure3.png", "plane_table1.txt"}
    gaps = {line[:20].strip(): float(line.split()[3]) for line in text.splitlines() if line.startswith("  trellis - ")}
    assert gaps["trellis - beam"] == pytest.approx(2.7, abs=1.0)
    assert gaps["trellis - greedy"] == pytest.approx(5.9, abs=2.0)
    text, files = call(load("plane_figure4"), out, capsys, "--draws", 2000, "--jets", 2)
    assert {"plane_figure4.png", "plane_figure4.txt"} <= files
    assert "of 105" in text


def test_probabilities_of_the_simulator_are_calibrated_and_others_are_not(load):
    histories = load("histories")
    jets = pal.simulate.ginkgo(700, min_leaves=5, max_leaves=8, rng=1)
    right, wrong = (histories.calibrate(jets, likelihood) for likelihood in ("density", "symmetric"))
    assert right.chi_squared < 25.0  # by chance once in two hundred
    assert wrong.chi_squared > 27.0
    assert right.count.sum() == pytest.approx(wrong.count.sum(), rel=0.1)
    assert (right.observed <= 1.0).all()


@pytest.mark.slow
def test_a_table_and_a_picture_of_true_histories(load, tmp_path, capsys):
    pytest.importorskip("fastjet")
    text, files = call(load("histories"), tmp_path / "out", capsys, "--jets", 60)
    assert files == {"calibration.png", "histories.txt"}
    assert text.count("antikt") == 2
    assert "chi squared of the ten bins" in text


def test_residuals_of_independent_jets_have_the_expected_spread(load):
    histories = load("histories")
    rng = np.random.default_rng(0)
    probable = rng.random((4000, 10)) * np.arange(1, 11) / 10
    true = (rng.random((4000, 10)) < probable).astype(float)
    count = np.full(10, 4000.0)
    assert histories.summarised("x", count, probable, true).chi_squared < 30.0
    assert histories.summarised("x", count, probable * 0.9, true).chi_squared > 100.0
