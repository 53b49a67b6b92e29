"""Rule oracle.agreed-before: what agreed once is not worked out again, and nothing else is taken for it."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from agentcore.kit.families import family_of
from agentcore.kit.program import Answer, program_to_line
from agentcore.oracle.campaign import worker
from agentcore.oracle.campaign.check import Campaign, Limits, Plan, campaign
from agentcore.oracle.campaign.verdicts import AGREED, Reference
from agentcore.oracle.drivers.driver import Driver
from agentcore.oracle.drivers.protocol import Asked, Plain, Spoken
from oracle.driver_commands import small

PROFILE: Final = "ai-sdk-6/stream"
COUNT: Final = 30


class InMemory(Driver):
    """Answers with the traces of the profile that its command line ends with, without a process."""

    def __init__(self, argv: Sequence[str], **settings: Any) -> None:
        super().__init__(argv, **settings)
        self._lines: deque[bytes] = deque()

    @property
    def pending(self) -> int:
        return len(self._lines)

    def start(self) -> None:
        """There is nothing to start."""

    def submit(self, program: Mapping[str, Any]) -> None:
        self._lines.append(program_to_line(program).encode())

    def receive(self, agreed: Callable[[bytes, bytes], bool] | None = None) -> Answer:
        line = self._lines.popleft()
        trace = family_of(self.argv[-1]).trace(json.loads(line), self.argv[-1])
        texts = (line, json.dumps(trace).encode())
        return Answer({}, texts, agreed=True) if agreed and agreed(*texts) else Answer(trace, texts)

    def close(self) -> None:
        self._lines.clear()


@pytest.fixture(autouse=True)
def _in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "Driver", InMemory)


def plan(file: Path | None, *, runs: str = PROFILE, **changes: Any) -> Plan:
    """A plan to hold this package, as a driver, to itself."""
    argv = (sys.executable, "-m", "agentcore", "trace", "--protocol", "--profile", runs)
    limits = Limits(programs=COUNT)
    made = Plan(
        profile=PROFILE, argv=argv, limits=limits, agreements=str(file) if file else None, shrink_seconds=0.0
    )
    return attrs.evolve(made, **changes)


@pytest.fixture
def references(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The programs that the reference ran."""
    ran: list[str] = []
    original = worker.reference_of

    def counted(profile: str) -> Reference:
        reference = original(profile)

        def run(program: dict[str, Any]) -> dict[str, Any]:
            ran.append(program["id"])
            return reference(program)

        return run

    monkeypatch.setattr(worker, "reference_of", counted)
    return ran


def ran(references: list[str], made: Plan, first: int = 0) -> tuple[Campaign, int]:
    """A campaign, and how many programs the reference ran for it."""
    before = len(references)
    return campaign(made, first=first), len(references) - before


def test_what_agreed_is_not_worked_out_again(tmp_path: Path, references: list[str]) -> None:
    made = plan(tmp_path / "new" / "agreed.sqlite")
    first, work = ran(references, made)
    assert (first.counts, work) == ({AGREED: COUNT}, COUNT)
    again, work = ran(references, made)
    assert (again.counts, again.verdict, work) == ({AGREED: COUNT}, "agreement", 0)
    # Seeds that it had before, and as many that it had not.
    beyond, work = ran(references, made, first=COUNT // 2)
    assert (beyond.counts, work) == ({AGREED: COUNT}, COUNT // 2)


def test_without_a_file_everything_is_worked_out(references: list[str]) -> None:
    for _ in range(2):
        assert ran(references, plan(None))[1] == COUNT


def test_another_answer_to_the_same_program_is_compared(tmp_path: Path, references: list[str]) -> None:
    file = tmp_path / "agreed.sqlite"
    ran(references, plan(file))
    other = plan(file, runs="ai-sdk-7/stream")
    found = [ran(references, other)[0] for _ in range(2)]
    assert [done.verdict for done in found] == ["disagreement", "disagreement"]
    assert found[0].counts == found[1].counts
    assert found[0].findings[0].program == found[1].findings[0].program


@pytest.mark.slow
@pytest.mark.parametrize(
    "change", [{"profile": "ai-sdk-6.0.326/stream"}, {"only": ("$.steps",)}, {"ignore": ("$.final",)}]
)
def test_what_agreed_under_another_plan_is_compared(
    tmp_path: Path, references: list[str], change: dict[str, Any]
) -> None:
    made = plan(tmp_path / "agreed.sqlite")
    ran(references, made)
    assert ran(references, attrs.evolve(made, **change))[1] > 0


@pytest.mark.slow
def test_another_release_of_this_package_compares_anew_and_keeps_only_its_own(
    tmp_path: Path, references: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = plan(tmp_path / "agreed.sqlite")
    ran(references, made)
    monkeypatch.setattr(worker, "_source_digest", lambda: "0123456789abcdef")
    assert ran(references, made)[1] == COUNT
    assert ran(references, made)[1] == 0
    connection = sqlite3.connect(tmp_path / "agreed.sqlite")
    assert connection.execute("select count(*) from agreed").fetchone() == (COUNT,)
    connection.close()


@pytest.mark.parametrize("text", ["this is no database, " * 200, None])
def test_a_file_that_cannot_be_used_costs_time_only(
    tmp_path: Path, references: list[str], text: str | None
) -> None:
    file = tmp_path / "agreed.sqlite"
    if text is None:
        file.mkdir()
    else:
        file.write_text(text, encoding="utf-8")
    for _ in range(2):
        done, work = ran(references, plan(file))
        assert (done.counts, work) == ({AGREED: COUNT}, COUNT)


def test_a_file_that_fails_in_between_costs_time_only(tmp_path: Path) -> None:
    known = worker.Agreements.opened(tmp_path / "agreed.sqlite", plan(None))
    known.add(b"program", b"trace")
    known.close()
    assert not known.has(b"program", b"trace")
    again = worker.Agreements.opened(tmp_path / "agreed.sqlite", plan(None))
    assert again.has(b"program", b"trace")
    assert not again.has(b"program", b"trac")
    again.close()


def test_an_answer_is_not_read_where_its_text_is_known() -> None:
    asked: list[tuple[bytes, bytes]] = []

    def agreed(program: bytes, trace: bytes) -> bool:
        asked.append((program, trace))
        return True

    with Driver(plan(None).argv) as driver:
        driver.submit(small())
        read = driver.receive()
        assert isinstance(read, Answer)
        assert read.trace["id"] == "a"
        driver.submit(small())
        known = driver.receive(agreed)
    assert known == Answer({})
    assert isinstance(known, Answer)
    assert known.agreed
    assert asked == [read.texts]


def test_the_text_of_a_trace_is_found_where_the_answer_is_the_one_that_is_due() -> None:
    asked = Asked(7, "a", b"{}")
    assert Plain().trace_text(b'{"id":"a"}', asked) == b'{"id":"a"}'
    for line in (b'{"seq":7,"trace":{"id":"a"}}', b'{ "seq": 7, "trace":{"id":"a"}}'):
        assert Spoken().trace_text(line, asked) == b'{"id":"a"}}'
    for line in (b'{"seq":8,"trace":{}}', b'{"trace":{},"seq":7}', b'{"seq":7,"unsupported":"x"}', b"[]"):
        assert Spoken().trace_text(line, asked) is None
