"""The guide's programs run, print what stands below them, and are typed; its service serves."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import httpx2
import pytest

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
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """The names of the page's program."""
    monkeypatch.setenv("CHATS", f"sqlite:///{tmp_path / 'chats.db'}")
    [(source, _)] = programs(GUIDE / "service.md")
    names: dict[str, object] = {"__name__": "chat"}
    exec(compile(source, "chat.py", "exec"), names)  # noqa: S102 - the guide's own
    return names


def events(response: httpx2.Response) -> list[str]:
    assert response.status_code == 200, response.text
    return [line.removeprefix("data: ") for line in response.text.split("\n\n") if line]


@pytest.mark.anyio
async def test_the_service_answers_as_its_page_says(service: dict[str, object]) -> None:
    app: object = service["app"]
    page = (GUIDE / "service.md").read_text("utf-8")
    async with SqlStore(os.environ["CHATS"]) as store:
        app.state.store = store  # type: ignore[attr-defined]
        transport = httpx2.ASGITransport(app=app)  # type: ignore[arg-type]
        async with httpx2.AsyncClient(transport=transport, base_url="http://chats") as client:
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
