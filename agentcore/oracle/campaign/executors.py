"""Crews that do a campaign's work: this process, processes beside it, or those of a cluster.

A crew is given functions of `agentcore.oracle.campaign.worker` with their arguments, and gives futures for
them. What it is does not change what comes out.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import attrs

from agentcore.oracle.campaign import worker
from agentcore.oracle.campaign.stop_rules import arrived

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["Crew", "Promise", "alone", "cluster", "collect_seldom", "processes"]

T_co = TypeVar("T_co", covariant=True)


class Promise(Protocol[T_co]):
    """A crew's promise of a result: a future of `concurrent.futures`, or of Dask."""

    def result(self) -> T_co:
        """Waits for it. Raises what the work raised."""
        ...

    def cancel(self) -> Any:
        """Says that nobody waits for it."""
        ...


@attrs.frozen(kw_only=True)
class Crew:
    """Does `size` pieces of work at a time. After `dismiss` no more seeds and programs are run."""

    size: int
    submit: Callable[..., Promise[Any]]
    dismiss: Callable[[], None] = lambda: None


@contextmanager
def alone() -> Iterator[Crew]:
    """The work is done here, when it is asked for."""
    try:
        yield Crew(size=1, submit=_done)
    finally:
        worker.close_drivers()


def _done(function: Callable[..., T_co], *arguments: Any) -> Future[T_co]:
    promise: Future[T_co] = Future()
    promise.set_result(function(*arguments))
    return promise


# --- processes beside this one ------------------------------------------------------------------------------


@contextmanager
def processes(jobs: int) -> Iterator[Crew]:
    """So many processes of this Python. They are started anew, so a script needs its `__main__` guard.

    Each runs reference and driver, and both end with it; it ends with this process, however that ends.
    """
    # Spawned: a copy of a process with threads may come with their locks held.
    context = get_context("spawn")
    dismissed = context.Event()
    # Children of whoever uses this package are none of the jobs, and must not be killed with them.
    others = {*active_children()}
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(dismissed,)) as pool:
        try:
            yield Crew(size=jobs, submit=pool.submit, dismiss=dismissed.set)
        except BaseException:
            _kill(others)
            raise
        finally:
            dismissed.set()
            if arrived():
                _kill(others)
            pool.shutdown(cancel_futures=True)


def _kill(others: set[BaseProcess]) -> None:
    """Ends the jobs, whatever they are at; otherwise one that waits for a driver would be waited for."""
    for job in {*active_children()} - others:
        job.kill()


def _begin(dismissed: Event) -> None:  # pragma: no cover - in another process, where nothing is measured
    worker.watch(dismissed.is_set)
    # Both are for the one who waits for this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    atexit.register(worker.close_drivers)
    collect_seldom()


def _end_with_parent() -> None:  # pragma: no cover - as above
    parent = parent_process()
    if parent is not None:
        parent.join()
        worker.close_drivers()
        # Not by an exception: this is a thread, and the main one may be waiting for a driver for ever.
        os._exit(1)


# How a process that does nothing but run programs lets Python search for garbage.

# More containers than a program's run makes.
_SELDOM: Final = 200_000


def collect_seldom() -> None:
    """Runs leave nearly no cycles behind: searching for some within each would take a fifth of the time."""
    # What was imported lives as long as the process: it need not be searched again at each collection.
    gc.freeze()
    gc.set_threshold(_SELDOM)


# --- a cluster ----------------------------------------------------------------------------------------------


def _client(address: str) -> Client:
    # Here, because it is an extra, and not a small one.
    from distributed import Client  # noqa: PLC0415

    try:
        return Client(address, set_as_default=False)
    except OSError as error:
        raise OSError(f"{error}; start a scheduler there (`dask scheduler`), or give its address") from error


@contextmanager
def cluster(address: str) -> Iterator[Crew]:
    """The workers of the Dask scheduler at an address (`tcp://host:8786`); their drivers end in the end.

    Needs the extra `dask`. A worker imports this package, so it has to be installed there, in the same
    version; a target installs itself there. Workers with one thread each use the cores best: reference and
    comparison are Python.

    Raises:
        ImportError: without the extra.
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
