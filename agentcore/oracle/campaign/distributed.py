"""The work of a campaign on the workers of a Dask cluster. Needs the extra `dask`.

A worker imports this package, so it has to be installed there, in the same version; a target installs itself
there. Workers with one thread each use the cores best: reference and comparison are Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from distributed import Client

from agentcore.oracle.campaign import worker
from agentcore.oracle.campaign.executors import Crew, Promise

__all__ = ["cluster"]


def _client(address: str) -> Client:
    try:
        return Client(address, set_as_default=False)
    except OSError as error:
        raise OSError(f"{error}; start a scheduler there (`dask scheduler`), or give its address") from error


@contextmanager
def cluster(address: str) -> Iterator[Crew]:
    """The workers of the scheduler at an address (`tcp://host:8786`); their drivers end in the end.

    Raises:
        OSError: where there is no scheduler, or it has no worker.
    """
    with _client(address) as client:
        size = sum(client.nthreads().values())
        if not size:
            raise OSError(f"the scheduler at {address} has no workers; start some: dask worker {address}")

        def submit(function: Callable[..., Any], *arguments: Any) -> Promise[Any]:
            # Not pure: the same work is done again where it is asked for again.
            promise: Promise[Any] = client.submit(function, *arguments, pure=False)
            return promise

        try:
            yield Crew(size=size, submit=submit)
        finally:
            client.run(worker.close_drivers)
