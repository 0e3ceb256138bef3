"""A real cluster of Dask's, on this machine, in the place of our own processes."""

from __future__ import annotations

import pytest

from tests.graph.search import evaluations
from tests.graph.search.evaluations import SPACE
from wengert.graph import search

distributed = pytest.importorskip("dask.distributed")


@pytest.mark.filterwarnings("ignore")  # its own affairs
def test_two_workers_of_a_cluster_find_the_same() -> None:
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        client.get_executor() as executor,
    ):
        found = search.search(
            SPACE, evaluations.bowl, evaluations=20, seed=4, workers=4, executor=executor, progress=False
        )
    alone = search.search(SPACE, evaluations.bowl, evaluations=20, seed=4, workers=1, progress=False)
    assert [(t.candidate, t.result) for t in found.trials] == [(t.candidate, t.result) for t in alone.trials]
