"""Chains of a few sweeps."""

from functools import partial

import pytest

import palmette as pal


@pytest.fixture
def few_sweeps(monkeypatch):
    """Two chains that begin after few sweeps, for what does not ask how good they are."""
    monkeypatch.setattr("palmette.sampling.cooling._PER_DECADE", 3)
    monkeypatch.setattr("palmette.sampling.cooling._QUENCH_SWEEPS", 10)
    monkeypatch.setattr("palmette.sampling.cooling.LOOKS", 5)
    monkeypatch.setattr("palmette.sampling.dispersal._CANDIDATES", 2)
    for sample in (pal.sampling.sample_hierarchies, pal.sampling.sample_partitions):
        name = f"palmette.search.sampled_posteriors.{sample.__name__}"
        monkeypatch.setattr(name, partial(sample, n_chains=2))
