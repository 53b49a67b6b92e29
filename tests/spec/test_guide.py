"""The guide's programs run, print what stands below them, and are typed; its service serves."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import anyio
import httpx2
import pytest

from agentcore import Agent, ToolContext, tool
from agentcore.conversations.sql import SqlStore
from agentcore.oracle.spec.examples import blocks

ROOT: Final = Path(__file__).parents[2]
GUIDE: Final = ROOT / "spec" / "guide"
PAGES: Final = sorted(GUIDE.glob("*.md"))


def programs(page: Path) -> list[tuple[str, str | None]]:
    """The page's programs in Python, each with the text below it, if there is one."""
    found: list[tuple[str, str | None]] = []
    for block in blocks(page.read_text("utf-8")):
        if block.words == ("python",):
            found.append((block.text, None))
        elif block.words == ("text",) and found and found[-1][1] is None:
            found[-1] = (found[-1][0], block.text)
    return found


SHOWN: Final = [
    pytest.param(source, output, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, (source, output) in enumerate(programs(page), 1)
    if output is not None
]


@pytest.mark.parametrize(("source", "output"), SHOWN)
def test_a_program_prints_what_stands_below_it(source: str, output: str) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, "guide.py", "exec"), {"__name__": "__main__"})  # noqa: S102 - the guide's own
    assert printed.getvalue() == output


def test_each_page_is_listed_and_has_a_program() -> None:
    listed = set(re.findall(r"\]\(([a-z-]+\.md)\)", (GUIDE / "README.md").read_text("utf-8")))
    assert listed == {page.name for page in PAGES} - {"README.md"}
    assert all(programs(page) for page in PAGES if page.name != "README.md")


@pytest.mark.slow
def test_the_programs_are_typed(tmp_path: Path) -> None:
    for page in PAGES:
        for number, (source, _) in enumerate(programs(page), 1):
            (tmp_path / f"{page.stem.replace('-', '_')}_{number}.py").write_text(source, "utf-8")
    config = ROOT / "pyproject.toml"
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", config, *sorted(tmp_path.glob("*.py"))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout


# ---------------------------------------------------------------- the service


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names of the page's program."""
    monkeypatch.setenv("CHATS", f"sqlite:///{tmp_path / 'chats.db'}")
    [(source, _)] = programs(GUIDE / "service.md")
    names: dict[str, Any] = {"__name__": "chat"}
    exec(compile(source, "chat.py", "exec"), names)  # noqa: S102 - the guide's own
    return names


def events(response: httpx2.Response) -> list[str]:
    assert response.status_code == 200, response.text
    return [line.removeprefix("data: ") for line in response.text.split("\n\n") if line]


@contextlib.asynccontextmanager
async def served(service: dict[str, Any]) -> AsyncIterator[tuple[httpx2.AsyncClient, SqlStore]]:
    """The page's program, without a network."""
    app = service["app"]
    async with SqlStore(os.environ["CHATS"]) as store:
        app.state.store = store
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://chats") as client:
            yield client, store


@pytest.mark.anyio
async def test_the_service_answers_as_its_page_says(service: dict[str, Any]) -> None:
    page = (GUIDE / "service.md").read_text("utf-8")
    async with served(service) as (client, store):
        asked = events(await client.post("/chats/1/messages", json={"text": "Refund A7"}))
        told = events(await client.post("/chats/1/answers", json={"approval-c1": True}))
        record = (await client.get("/chats/1")).text
        for line in (*asked, *told, record):
            assert line in page
        assert (await client.post("/chats/1/answers", json={})).status_code == 409
        kept = await store.load("1")
    assert [len(turn.messages) for turn in kept.path] == [2, 3]
    assert kept.turn is not None
    assert not kept.turn.metadata


@pytest.mark.anyio
async def test_the_service_refuses_what_would_break_a_chat_that_waits(service: dict[str, Any]) -> None:
    async with served(service) as (client, store):
        await client.post("/chats/1/messages", json={"text": "Refund A7"})
        before = await store.load("1")
        late = await client.post("/chats/1/messages", json={"text": "And?"})
        assert late.status_code == 409
        assert [one["id"] for one in late.json()["asks"]] == ["approval-c1"]
        for wrong in ({}, {"approval-c1": True, "x": True}, {"x": True}):
            assert (await client.post("/chats/1/answers", json=wrong)).status_code == 422
        (refused,) = events(await client.post("/chats/1/answers", json={"approval-c1": "yes"}))
        assert json.loads(refused)["type"] == "refused"
        assert await store.load("1") == before
        told = events(await client.post("/chats/1/answers", json={"approval-c1": False}))
        assert json.loads(told[-1]) == {"type": "done"}


@pytest.mark.anyio
async def test_of_two_turns_at_once_the_second_lies_beside_the_first(service: dict[str, Any]) -> None:
    async with served(service) as (client, store):
        empty = await store.load("1")
        await client.post("/chats/1/messages", json={"text": "first"})
        first = await store.load("1")
        stream = service["agent"].stream("second", conversation=empty)
        response = service["answering"](store, "1", empty, stream)
        lines = [line async for line in response.body_iterator]
        both = await store.load("1")
    assert [json.loads(line.removeprefix("data: "))["type"] for line in lines] == ["beside"]
    assert (both.head, len(both.turns)) == (first.head, 2)


@pytest.mark.anyio
async def test_a_turn_that_was_cut_after_an_approval_goes_on_and_calls_the_tool_again(
    service: dict[str, Any],
) -> None:
    ids: list[str] = []

    @tool(needs_approval=True)
    async def refund(order: str, context: ToolContext[object]) -> str:
        """Refund."""
        ids.append(context.tool_call_id)
        if len(ids) == 1:
            await anyio.sleep(60)
        return order

    service["agent"] = Agent(service["model"], tools=[refund])
    async with served(service) as (client, store):
        await client.post("/chats/1/messages", json={"text": "Refund A7"})
        waiting = await store.load("1")
        run = service["unfinished"](waiting)
        stream = service["agent"].resume_stream(run, answers={"approval-c1": True}, conversation=waiting)
        with anyio.move_on_after(0.5):
            async for _ in service["answering"](store, "1", waiting, stream).body_iterator:
                pass
        assert ids == ["c1"]
        assert (await client.post("/chats/1/messages", json={"text": "And?"})).status_code == 409
        told = events(await client.post("/chats/1/answers", json={}))
        assert [json.loads(line)["type"] for line in told] == ["tool", "text", "done"]
        said = events(await client.post("/chats/1/messages", json={"text": "Thanks"}))
        kept = await store.load("1")
    assert ids == ["c1", "c1"]
    assert json.loads(said[-1])["type"] in ("done", "waits")
    results = [one for one in kept.record if one.message.role == "tool"]
    assert len(results) == 2  # the answer, and the result: once
