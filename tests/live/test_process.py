"""The ends that a worker can come to: a script of the shell stands for it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from agentcore.live.process import Ended, Worker, WorkerFailedError

BASH: Final = shutil.which("bash") or "bash"
BEGINS: Final = 'tell \'{"event": "begin", "index": 4, "pid": \'$$\'}\''
Told = list[dict[str, Any] | Ended]


@pytest.fixture
def told(tmp_path: Path) -> Callable[..., Told]:
    """Returns what a worker is seen to do that runs these lines after it has its job."""

    def run(*lines: str, limit: float = 20.0) -> Told:
        python = tmp_path / "python"
        head = f'#!{BASH}\nread -r job\ntell() {{ echo "$1" >&"$channel"; }}\nchannel=$2\n'
        python.write_text(head + "\n".join(lines) + "\n", "utf-8")
        python.chmod(0o700)
        worker = Worker(str(python), {"shard": 0, "project": str(tmp_path)}, tmp_path, limit)
        try:
            return [*worker.events("judged")]
        finally:
            worker.close()

    return run


@pytest.mark.parametrize(
    ("lines", "cause", "said"),
    [
        (("exit 3",), "exits", "the process ended with 3"),
        (("kill -9 $$",), "killed", "the process was ended by SIGKILL"),
        (("echo MemoryError >&2", "exit 1"), "out-of-memory", "the memory was used up"),
    ],
)
def test_a_process_that_ends_in_a_call_of_the_hook_says_how(
    told: Callable[..., Told], lines: tuple[str, ...], cause: str, said: str
) -> None:
    begin, ended = told(BEGINS, *lines)
    assert isinstance(begin, dict)
    assert ended == Ended(cause, said, 4)


def test_a_call_that_does_not_come_back_hangs(told: Callable[..., Told]) -> None:
    assert told(BEGINS, "exec sleep 60", limit=0.2)[-1] == Ended("hangs", "no answer within 0.2 seconds", 4)


def test_a_child_of_the_hook_that_comes_back_is_a_fork(told: Callable[..., Told]) -> None:
    child = 'tell \'{"event": "judged", "pid": 1}\''
    said = "the hook forked, and its child came back from the call"
    assert told(BEGINS, child, "exit 0")[-1] == Ended("forks", said, 4)


def test_what_a_hook_writes_to_the_channel_is_no_event(told: Callable[..., Told]) -> None:
    junk = ("tell 'no json'", "tell ''", "tell '[]'", 'tell \'{"event": "judged"}\'')
    judged = 'tell \'{"event": "judged", "pid": \'$$\'}\''
    found = told(BEGINS, *junk, judged, "exit 0")
    assert [each["event"] for each in found if isinstance(each, dict)] == ["begin", "judged"]


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (("exit 2",), "the worker ended with 2 before it began"),
        (("echo no such module >&2", "exit 2"), "no such module"),
        ((BEGINS, "echo Traceback: of the worker >&2", "exit 1"), "Traceback: of the worker"),
    ],
)
def test_a_worker_that_fails_by_itself_is_an_error_of_the_tool(
    told: Callable[..., Told], lines: tuple[str, ...], says: str
) -> None:
    with pytest.raises(WorkerFailedError, match=says):
        told(*lines)
