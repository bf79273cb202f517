"""A real Dask cluster on this machine: the same table, also when one of its workers is killed."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

from palmette import batch, simulate
from palmette.jets import infer as infer_jets

pytest.importorskip("pyarrow")

CHUNKS = [np.arange(first, first + 5) for first in range(0, 100, 5)]


def slow_square(chunk):
    time.sleep(0.05)
    return {"number": chunk, "square": chunk**2}


@pytest.fixture(scope="module")
def distributed():
    """Imported here: that takes a second, and only the process that runs these tests needs it."""
    return pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster(distributed):
    dask = pytest.importorskip("dask")
    settings = {"distributed.scheduler.allowed-failures": 10, "distributed.worker.profile.enabled": False}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as made,
    ):
        yield made


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    return batch.run(slow_square, CHUNKS, tmp_path_factory.mktemp("serial")).table()


def test_a_client(distributed, cluster, serial, tmp_path):
    with distributed.Client(cluster) as client:
        assert batch.run(slow_square, CHUNKS, tmp_path, engine=client).table().equals(serial)
        assert client.status == "running"


def test_the_address_of_a_scheduler(cluster, serial, tmp_path):
    assert batch.run(slow_square, CHUNKS, tmp_path, engine=cluster.scheduler_address).table().equals(serial)


def test_a_worker_that_is_killed_changes_nothing(distributed, cluster, serial, tmp_path):
    with distributed.Client(cluster) as client:
        processes = list(client.run(os.getpid).values())
        killer = threading.Timer(0.3, os.kill, (processes[0], signal.SIGKILL))
        killer.start()
        results = batch.run(slow_square, CHUNKS, tmp_path, engine=client)
        killer.join()
        assert results.table().equals(serial)
        client.wait_for_workers(2, timeout=30)
        assert set(client.run(os.getpid).values()) != set(processes)


@pytest.mark.slow
def test_jets_on_a_cluster_are_the_same_table(distributed, cluster, tmp_path):
    jets = simulate.ginkgo(80, max_leaves=7, rng=0)
    options = {"rate": 1.5, "t_cut": 16.0, "searches": ["greedy"], "n_draws": 2, "chunk_seconds": 0.01}
    with distributed.Client(cluster) as client:
        found = infer_jets(jets, tmp_path, **options, engine=client)
    assert len(found.parts) > 1
    assert found.table().equals(infer_jets(jets, **options))
