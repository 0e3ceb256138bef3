"""One step of training over a real cluster of Dask's, on this machine, with two workers."""

from __future__ import annotations

import numpy as np
import pytest

from tests.optimize.training import MODEL, X, Y, loss
from wengert import nn, optimize

distributed = pytest.importorskip("dask.distributed")


@pytest.mark.deep("a cluster is begun: 3 s")
@pytest.mark.filterwarnings("ignore")  # its own affairs
def test_two_workers_of_a_cluster_take_the_same_steps() -> None:
    params = MODEL.init(0, X)[0]
    alone = optimize.step(loss, optimize.adam(0.01), donate=False)
    p, state = params, alone.init(params)
    for _ in range(3):
        p, state, value = alone(p, state, X, Y)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        client.get_executor() as executor,
    ):
        split = optimize.step(loss, optimize.adam(0.01), executor=executor, parts=2)
        q, other = params, split.init(params)
        for _ in range(3):
            q, other, shared = split(q, other, X, Y)
    np.testing.assert_allclose(shared, value, rtol=1e-5)
    for a, b in zip(nn.paths(p).values(), nn.paths(q).values(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
