"""The page of a report in a browser: stepping, both sides, keyboard, widths, and what is said is data."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agentcore.live.page import player_of
from heap.browser import browser
from live.played import hostile, marks_late, report_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Json = dict[str, Any]
Opens = Callable[..., "Page"]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def report() -> Json:
    """Two findings: a write that reaches a prompt, and one that reaches the caller alone."""
    one, other = report_of(marks_late), report_of("pollutes")
    return {**one, "findings": [*one["findings"], *other["findings"]]}


@pytest.fixture
def opened(chromium: Browser, tmp_path: Path) -> Iterator[Opens]:
    """Opens the page of a report; the test fails if the page asks for anything or raises."""
    asked: list[str] = []
    raised: list[str] = []
    contexts = []

    def opens(report: Json, **settings: Any) -> Page:
        file = tmp_path / "page.html"
        player_of(report).save(file)
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}} | settings)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: raised.append(str(error)))
        page.on("console", lambda message: raised.append(message.text))
        page.goto(file.as_uri())
        return page

    yield opens
    for context in contexts:
        context.close()
    assert [url for url in asked if not url.startswith("file:") or "page.html" not in url] == []
    assert raised == []


def said(page: Page) -> list[str]:
    return page.locator(".says").all_inner_texts()


def test_both_runs_are_stepped_through_side_by_side(opened: Opens, report: Json) -> None:
    page = opened(report)
    assert page.locator(".run h2").all_inner_texts() == ["live", "as a value"]
    left, right = (page.locator(".run").nth(run).bounding_box() for run in (0, 1))
    assert left is not None and right is not None  # noqa: PT018 - for the types
    assert (left["y"], left["x"] + left["width"] < right["x"]) == (right["y"], True)
    assert said(page) == ["marks_late gets 1 message."] * 2
    page.get_by_role("button", name="next", exact=True).click()
    assert said(page) == ["The model is asked with 1 message."] * 2
    page.get_by_role("button", name="last").click()
    assert said(page) == ["The run has ended."] * 2
    page.get_by_role("button", name="back", exact=True).click()
    assert all(each.startswith("The model is asked with") for each in said(page))


def test_the_write_is_marked_and_so_is_what_the_other_side_has_not(opened: Opens, report: Json) -> None:
    page = opened(report)
    page.get_by_role("button", name="next write").click()
    live, value = (page.locator(".run").nth(run) for run in (0, 1))
    assert said(page)[0].startswith("marks_late writes in place: messages[0].content[0].text, from ")
    assert said(page)[1].startswith("marks_late writes in its copy: ")
    assert "it reaches the prompt of step 1, the result, the caller's messages." in live.inner_text()
    assert live.locator(".texts li.new mark").first.inner_text() == "!"
    # The prompt of the step: one message that the other run has not, and no beginning that stays cached.
    assert "0 of 3 messages" in live.locator(".texts").inner_text()
    assert "1 of 3 messages" in value.locator(".texts").inner_text()
    (row,) = live.locator(".prompt li.other").all()
    assert row.locator("mark").inner_text() == "!"
    assert "≠" in row.locator(".sign").inner_text()
    assert "the cached beginning ends here" in value.locator(".prompt").inner_text()
    page.keyboard.press("End")
    # In the caller's messages, and in the result.
    rows = live.locator(".handed li.other mark").all_inner_texts()
    assert rows == ["!", "!"]


def test_each_finding_has_its_place_its_mend_and_its_runs(opened: Opens, report: Json) -> None:
    page = opened(report)
    options = page.locator("#scene option").all_inner_texts()
    assert options == ["fault: write messages[0].content[0].text"] * 2
    first, second = report["findings"]
    assert first["message"] in page.locator(".about").inner_text()
    page.select_option("#scene", "1")
    told = page.locator(".about").inner_text()
    assert second["message"] in told
    assert second["remedy"] in told
    assert re.search(rf"toy_hooks\.py:{second['line']['line']}", told)
    assert said(page) == ["pollutes gets 1 message."] * 2
    page.locator(".about summary").click()
    assert page.locator(".about pre").inner_text().strip() == second["test"].strip()


def test_the_keyboard_alone_suffices(opened: Opens, report: Json) -> None:
    page = opened(report)
    where = page.locator(".where")
    # Handed, asked; then handed, written, asked; the end.
    for key, position in (
        ("End", 6),
        ("Home", 1),
        ("ArrowRight", 2),
        ("ArrowLeft", 1),
        ("w", 4),
        ("Shift+S", 3),
    ):
        page.keyboard.press(key)
        assert where.inner_text().endswith(f"· {position} of 6"), key
    focused = []
    for _ in range(9):
        page.keyboard.press("Tab")
        focused.append(page.evaluate("document.activeElement.textContent.slice(0, 10)"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert focused[1:8] == ["a test to ", "first", "back", "next", "last", "next write", "next step"]
    assert "step 1" in page.locator("[aria-live]").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_no_wider_than_the_window(opened: Opens, report: Json, width: int, scheme: str) -> None:
    page = opened(report, viewport={"width": width, "height": 844}, color_scheme=scheme)
    for key in ("w", "End"):
        page.keyboard.press(key)
        page.locator(".about details").evaluate("details => (details.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    tops = [page.locator(".run").nth(run).bounding_box() for run in (0, 1)]
    assert tops[0] is not None and tops[1] is not None  # noqa: PT018 - for the types
    assert (tops[0]["y"] < tops[1]["y"]) == (width < 800)


@pytest.mark.slow
def test_what_hooks_and_frameworks_say_is_shown_as_text(opened: Opens, report: Json) -> None:
    page = opened(hostile(report))
    for scene in ("0", "1"):
        page.select_option("#scene", scene)
        page.locator("h1").click()
        for _ in range(6):
            assert page.evaluate("window.pwned") is None
            assert page.locator("img").count() == 0
            assert page.locator("body > script").count() == 2
            page.keyboard.press("ArrowRight")
    shown = page.inner_text("body")
    assert "</script><script>window.pwned = 1</script>" in shown
    assert "\u202e" not in shown
    assert "\\u202eabc" in shown


@pytest.mark.slow
def test_a_clean_hook_has_a_page_without_moments(opened: Opens) -> None:
    page = opened(report_of("clean"))
    assert "No difference was found" in page.locator(".about").inner_text()
    assert page.locator(".bar").is_visible() is False
    assert page.locator(".run").count() == 0
    page.keyboard.press("ArrowRight")
