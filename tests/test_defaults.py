"""One answer to one question: functions, commands and clusterers take their limits from one record."""

from __future__ import annotations

import inspect
from importlib import import_module

import numpy as np
import pytest

import palmette as pal
from palmette.cli import palmette
from palmette.defaults import DEFAULTS, Defaults


def default_of(function, name):
    return inspect.signature(function).parameters[name].default


def option_of(command, name):
    found = palmette
    for word in command.split():
        found = found.get_command(None, word)
    return next(option.default for option in found.params if option.name == name)


def test_the_limits_are_those_of_the_record():
    assert default_of(pal.search.grow, "min_share") == DEFAULTS.min_share
    assert default_of(pal.search.posterior, "min_share") == DEFAULTS.min_share
    assert {default_of(door.infer, "exact_leaves") for door in (pal.batch, pal.jets)} == {DEFAULTS.batch_leaves}
    assert pal.models.UniformPartitions(3).exact_leaves == DEFAULTS.separable_leaves


def test_every_table_of_clusters_begins_at_the_same_probability():
    tables = [
        pal.HierarchyPosterior,
        pal.PartitionPosterior,
        pal.posterior.HierarchyMixture,
        pal.posterior.PartitionMixture,
        pal.Draws,
        pal.PartitionDraws,
        pal.sampling.SampledPosterior,
        pal.sampling.SampledPartitions,
        pal.coalescent.CoalescentDraws,
    ]
    found = {default_of(table.cluster_probabilities, "min_probability") for table in tables}
    found |= {default_of(pal.report.write, "min_probability"), option_of("hierarchies", "min_probability")}
    assert found == {DEFAULTS.min_probability}


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("jets.inference", "most_batch_leaves"),
        ("jets._sample", "refitted_leaves"),
        ("report.belief", "pictured_leaves"),
        ("cli.asking.bootstrap", "resampled_leaves"),
        ("cli.asking.bootstrap", "most_resampled_leaves"),
        ("cli.commands.coalescent", "most_particles"),
        ("cli.commands.ultrametric", "starts"),
        ("cli.reading.partition_models", "pseudo_count"),
        ("cli.reading.partition_models", "within"),
        ("sklearn.partitions", "pseudo_count"),
        ("cli.telling.summary", "min_probability"),
        ("cli.tour", "min_probability"),
        ("plot.n_clusters", "drawn_probability"),
        ("report.partitions", "drawn_probability"),
        ("evidence.compare", "evidence_tolerance"),
        ("jets.fitting", "evidence_tolerance"),
    ],
)
def test_whoever_has_no_signature_to_show_it_asks_the_record(module, name):
    read = import_module(f"palmette.{module}")
    assert read.DEFAULTS is DEFAULTS
    assert f"DEFAULTS.{name}" in inspect.getsource(read)


def test_clusterers_have_limits_of_their_own():
    sklearn = pytest.importorskip("palmette.sklearn")
    hierarchies, partitions = sklearn.TrellisClustering(), sklearn.PartitionTrellisClustering()
    assert hierarchies.max_leaves == partitions.max_leaves == DEFAULTS.fitted_leaves
    assert hierarchies.min_share == DEFAULTS.fitted_share


def test_one_way_leads_beyond_the_exact_limit():
    sklearn = pytest.importorskip("palmette.sklearn")
    found = {default_of(ask, "beyond") for ask in (pal.search.posterior, pal.batch.infer, pal.jets.infer)}
    found |= {option_of(command, "beyond") for command in ("hierarchies", "partitions", "jets infer")}
    found |= {sklearn.TrellisClustering().beyond, sklearn.PartitionTrellisClustering().beyond}
    assert found == {DEFAULTS.beyond}


def test_every_consensus_begins_at_the_same_probability():
    found = {
        default_of(answers.consensus, "threshold")
        for answers in (
            pal.HierarchyPosterior,
            pal.PartitionPosterior,
            pal.Draws,
            pal.sampling.SampledPosterior,
            pal.sampling.SampledPartitions,
            pal.coalescent.CoalescentDraws,
        )
    }
    assert found | {option_of("hierarchies", "threshold"), option_of("coalescent", "threshold")} == {DEFAULTS.consensus}


def test_particles_are_proposed_by_who_asks():
    sklearn = pytest.importorskip("palmette.sklearn")
    smc, rate_by_evidence = pal.coalescent.smc, pal.coalescent.rate_by_evidence
    assert default_of(smc, "proposal") == DEFAULTS.proposal
    assert default_of(rate_by_evidence, "proposal") == option_of("coalescent", "proposal") == DEFAULTS.quick_proposal
    assert sklearn.CoalescentClustering().proposal == DEFAULTS.fitted_proposal
    assert default_of(smc, "n_particles") == DEFAULTS.n_particles
    assert default_of(rate_by_evidence, "n_particles") == DEFAULTS.rate_particles
    assert default_of(smc, "n_runs") == option_of("coalescent", "runs") == DEFAULTS.particle_runs


def test_rows_vary_about_their_leaves_in_clusterers_alone():
    sklearn = pytest.importorskip("palmette.sklearn")
    covariance = pal.coalescent.sample_covariance
    found = {pal.coalescent.Brownian().leaf_variance, default_of(covariance, "leaf_variance")}
    assert found | {option_of("coalescent", "leaf_variance")} == {DEFAULTS.leaf_variance}
    assert sklearn.CoalescentClustering().leaf_variance == DEFAULTS.fitted_leaf_variance


def test_descents_begin_by_who_asks():
    clusterer = pytest.importorskip("palmette.sklearn").UltrametricClustering()
    assert default_of(pal.ultrametric.fit, "start") == clusterer.start == DEFAULTS.start
    assert option_of("ultrametric", "loss") == DEFAULTS.loss
    assert clusterer.loss == DEFAULTS.fitted_loss


def test_parameters_are_at_their_best_within_one_tolerance():
    assert default_of(pal.evidence.maximise, "tolerance") == DEFAULTS.evidence_tolerance


@pytest.mark.slow
def test_black_boxes_stop_earlier(monkeypatch):
    few = Defaults(separable_leaves=7, exact_leaves=6, function_leaves=5)
    monkeypatch.setattr(import_module("palmette.models.split_model"), "DEFAULTS", few)

    def nothing(left, right):  # one function, so that it is compiled once
        return 0.0

    for n in (5, 6, 7, 8):
        function = pal.models.SplitFunction(n, lambda left, right: np.zeros(len(left)))
        assert pal.search.posterior(function, progress=False).is_exact == (n <= 5)
        compiled = pal.models.CompiledSplitFunction(n, nothing)
        assert pal.search.posterior(compiled, beyond="sparse", progress=False).is_exact == (n <= 6)
        assert pal.search.posterior(pal.models.Uniform(n), beyond="sparse", progress=False).is_exact == (n <= 7)
    assert pal.search.posterior(function, exact_leaves=8, progress=False).is_exact
