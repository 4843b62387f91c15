"""A join on the workers of a scheduler: the same bytes as here, and clear words where the cluster cannot do it."""

from __future__ import annotations

import logging
import socket
import threading
from pathlib import Path

import numpy as np
import pytest
from dask_processes import dask_processes, end, wait_until

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.installed import version
from simjudge.core.object_tables import Objects, Predictions
from simjudge.judging import join_cluster
from simjudge.judging.join_cluster import join_runner
from simjudge.method.algorithm import compare_pairs
from simjudge.method.bootstrap import UnitNumbers
from simjudge.method.join_parts import compare_part, run_parts
from simjudge.method.method import Method
from simjudge.method.patches import object_contexts
from simjudge.method.pool import ClassPair, Samples
from simjudge.questions.compare.result import compare

distributed = pytest.importorskip("distributed")

SETTINGS = {"patch": (24, 24), "theta": 0.4, "draws": 20}


def made(seed, count=240):
    random = np.random.default_rng(seed)
    corner = random.uniform(0, 60, (count, 2))
    box = np.concatenate([corner, corner + random.uniform(8, 16, (count, 2))], axis=1)
    objects = Objects.build(np.arange(count) // 4, random.integers(0, 2, count), box)
    found = box + random.normal(0, 1, box.shape)
    predictions = Predictions.build(objects.frame, objects.class_id, found, np.full(count, 0.9))
    return FrameSet.build(f"made{seed}", [[80, 80]] * (count // 4), objects).with_predictions(predictions)


@pytest.fixture(scope="module")
def address():
    """A scheduler with two workers of one thread each, reached over TCP."""
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        protocol="tcp://",
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL,
    ) as cluster:
        yield cluster.scheduler_address


def test_the_same_bytes_as_without_a_cluster(address, tmp_path, monkeypatch):
    monkeypatch.setattr("simjudge.method.join_parts.FEWEST_ROWS", 10)
    monkeypatch.setattr("simjudge.method.similarity_join.BLOCK_ITEMS", 500)
    compare(made(1), made(2), tmp_path / "here", **SETTINGS)
    told = []
    compare(made(1), made(2), tmp_path / "there", scheduler=address, share=tmp_path / "s", log=told.append, **SETTINGS)
    for name in ("result.json", "contexts.parquet"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()
    assert not list((tmp_path / "s").iterdir())
    assert f"2 workers with 2 threads at {address}" in told


def test_draws_in_batches_and_an_address_of_fsspec(address, monkeypatch):
    monkeypatch.setattr("simjudge.method.bootstrap.BATCH_BYTES", 4 * 7 * 120)
    share = "memory://simjudge-test"
    here = compare(made(1), made(2), **SETTINGS).content
    there = compare(made(1), made(2), scheduler=address, share=share, **SETTINGS).content
    assert here == there
    assert here["overall"]["draws"] == 20


def test_what_is_shared_is_read_as_it_was_written(tmp_path):
    rows, method, plans = np.arange(100), Method(patch=(24, 24)), []
    samples = Samples(object_contexts(made(3), method, rows), rows / 100, UnitNumbers(rows // 4))

    def kept(plan, parts):
        plans.append((plan, parts))
        return run_parts(plan, parts)

    compare_pairs([ClassPair(samples, samples)], method, run=kept)
    [(plan, parts)] = plans
    with join_cluster._shared_plan(plan, str(tmp_path)) as place:
        read = join_cluster._read_plan(place)
    assert not Path(place).exists()
    assert read.tree.planes.words.flags.writeable
    for part in parts:
        [one], [other] = compare_part(plan, part).pairs, compare_part(read, part).pairs
        np.testing.assert_array_equal(one.w1, other.w1)
        np.testing.assert_array_equal(one.overlap, other.overlap)


@pytest.mark.parametrize(
    ("scheduler", "share", "error", "said"),
    [
        ("tcp://127.0.0.1:1", None, SimjudgeError, "no Dask scheduler answers there"),
        ("nonsense://x", None, SimjudgeError, "no Dask scheduler answers there"),
        (None, "/somewhere", UsageError, "give --scheduler too"),
    ],
)
def test_words_for_what_cannot_be(scheduler, share, error, said, monkeypatch):
    monkeypatch.setattr("simjudge.judging.join_cluster._CONNECT_SECONDS", 1)
    with pytest.raises(error, match=said), join_runner(scheduler, share, print):
        pass


@pytest.mark.timeout(30)
def test_a_port_that_listens_and_says_nothing_is_given_up(monkeypatch):
    monkeypatch.setattr("simjudge.judging.join_cluster._CONNECT_SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(SimjudgeError, match="no Dask scheduler answers there"), join_runner(address, None, print):
            pass


def test_a_share_that_cannot_be_written(address, tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(SimjudgeError, match=r"--share .*file: cannot make a folder there"):
        compare(made(1), made(2), scheduler=address, share=tmp_path / "file", **SETTINGS)


def test_a_share_that_the_workers_do_not_see(address, monkeypatch):
    read = join_cluster._read_plan
    monkeypatch.setattr(join_cluster, "_read_plan", lambda place: read(place.replace("join-", "elsewhere-")))
    with pytest.raises(SimjudgeError, match=r"a worker cannot see this folder.*--share"):
        compare(made(1), made(2), scheduler=address, **SETTINGS)


def test_workers_of_another_version_are_refused(address, monkeypatch):
    monkeypatch.setattr(distributed.Client, "run", lambda *_: {"tcp://w": "0.0.1"})
    expected = rf"worker tcp://w has simjudge 0.0.1, this is {version()}"
    with pytest.raises(SimjudgeError, match=expected), join_runner(address, None, print):
        pass


def test_a_worker_of_another_version_that_comes_later_is_refused(address, monkeypatch):
    read = join_cluster._read_plan

    def read_by_another(place):
        monkeypatch.setattr(join_cluster, "version", lambda: "0.0.1")
        return read(place)

    monkeypatch.setattr(join_cluster, "_read_plan", read_by_another)
    with pytest.raises(SimjudgeError, match=rf"a worker has simjudge 0\.0\.1, the comparison {version()}; install"):
        compare(made(1), made(2), scheduler=address, **SETTINGS)


@pytest.mark.parametrize(
    "what", [pytest.param("worker", marks=pytest.mark.slow), pytest.param("all", marks=pytest.mark.long)]
)
def test_a_worker_that_dies_and_a_cluster_that_goes_away(what, tmp_path, monkeypatch):
    monkeypatch.setattr("simjudge.method.join_parts.FEWEST_ROWS", 10)
    with dask_processes(tmp_path) as cluster:
        first, second = cluster.worker("a"), cluster.worker("b")
        dying = [first] if what == "worker" else [first, second, cluster.scheduler]

        def end_some():
            wait_until(lambda: list(tmp_path.glob("s/join-*/plan.pickle")), cluster.scheduler)
            for process in dying:
                end(process)

        ending = threading.Thread(target=end_some)
        ending.start()
        arguments = {"scheduler": cluster.address, "share": tmp_path / "s", **SETTINGS}
        if what == "worker":
            assert compare(made(1), made(2), **arguments).content == compare(made(1), made(2), **SETTINGS).content
        else:
            with pytest.raises(SimjudgeError, match="cluster is gone"):
                compare(made(1), made(2), **arguments)
        ending.join()
    assert not list((tmp_path / "s").iterdir())
