"""Campaigns on a Dask cluster of two workers."""

# ruff: noqa: PLC0415 - what needs the extra is imported where it is known to be there
from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any, Final

import pytest

from agentcore.oracle.campaign import worker
from agentcore.oracle.campaign.check import Campaign, Limits, Plan, campaign
from cli.commands import run
from oracle.driver_commands import TESTS

pytestmark = pytest.mark.skipif(
    find_spec("distributed") is None and not os.environ.get("CI"),
    reason="needs the extra `dask` (in CI it has to be there)",
)
ARGV: Final = (sys.executable, "-m", "liars.moody", "hook stopWhen=error", "tool error=wrong")


def told(done: Campaign) -> tuple[Any, ...]:
    """What must not depend on who did the work."""
    return done.ended, done.counts, done.replayed, done.findings, done.report.programs


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    from distributed import LocalCluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(TESTS), prepend=os.pathsep)
        # Python's own search for modules does not read it again.
        patch.syspath_prepend(str(TESTS))
        with LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", host="127.0.0.1"
        ) as cluster:
            yield cluster.scheduler_address


def plan(programs: int) -> Plan:
    limits = Limits(programs=programs, findings=9)
    return Plan(profile="ai-sdk-6/stream", argv=ARGV, limits=limits, shrink_seconds=0.0)


@pytest.mark.slow
def test_two_workers_of_a_cluster_find_what_one_process_finds(address: str) -> None:
    from agentcore.oracle.campaign.executors import cluster

    with cluster(address) as crew:
        assert crew.size == 2
        shared = campaign(plan(60), first=3, crew=crew)
    alone = campaign(plan(60), first=3)
    assert told(shared) == told(alone)
    assert len(shared.findings) > 1


@pytest.mark.slow
def test_drivers_of_workers_end_with_the_campaign(address: str) -> None:
    from distributed import Client

    from agentcore.oracle.campaign.executors import cluster

    with cluster(address) as crew:
        campaign(plan(55), first=0, crew=crew)
        with Client(address, set_as_default=False) as client:
            kept = client.run(_kept)
    assert sum(kept.values()) > 0
    with Client(address, set_as_default=False) as client:
        assert sum(client.run(_kept).values()) == 0


def _kept() -> int:
    return sum(map(len, worker._idle.values()))


def test_the_command_uses_the_workers_of_a_scheduler(address: str, tmp_path: Any) -> None:
    options = ("--no-database", "--save", str(tmp_path / "found.json"), "--shrink-seconds", "0")
    result = run(
        "check",
        *("--profile", "ai-sdk-6/stream", "--scheduler", address, "--seed", "3", "-n", "60", *options, "--"),
        *ARGV,
    )
    assert result.exit_code == 1
    assert "of the time in 2 processes." in result.stdout


def test_a_scheduler_that_is_not_there_is_told(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import dask

    monkeypatch.setattr(dask.config, "config", {**dask.config.config})
    with dask.config.set({"distributed.comm.timeouts.connect": "300ms"}):
        arguments = ("--scheduler", "tcp://127.0.0.1:9", "--no-database", "--save", str(tmp_path / "a"))
        result = run("check", "--profile", "ai-sdk-6/stream", *arguments, "--", *ARGV)
    assert result.exit_code == 2
    assert "127.0.0.1:9" in result.stderr


@pytest.mark.slow
def test_a_scheduler_without_workers_is_told() -> None:
    from distributed import LocalCluster

    from agentcore.oracle.campaign.executors import cluster

    with (
        LocalCluster(n_workers=0, dashboard_address=":0", host="127.0.0.1") as empty,
        pytest.raises(OSError, match="has no workers"),
        cluster(empty.scheduler_address),
    ):
        pass
