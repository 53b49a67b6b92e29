"""The player in a browser: stepping, comparing, the keyboard, speed, and that what is said is data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from agentcore.heap.player import Player
from agentcore.oracle.reports.explain import explain
from heap.browser import browser
from heap.test_player import PROGRAM

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Json = dict[str, Any]

WRITING: Final[Json] = {**PROGRAM, "id": "writing"}
# Markup, an end of a script, and what turns the direction of a line round.
HOSTILE: Final = "</script><script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>\u202eabc"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


Opens = Callable[..., "Page"]


@pytest.fixture
def opened(chromium: Browser, tmp_path: Path) -> Iterator[Opens]:
    """Opens a player; the test fails if its page asks for anything or raises."""
    asked: list[str] = []
    raised: list[str] = []
    contexts = []

    def opens(player: Player, **settings: Any) -> Page:
        file = tmp_path / "page.html"
        player.save(file)
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


def said(page: Page, run: int = 0) -> str:
    return page.locator(".says").nth(run).inner_text()


def places(page: Page) -> dict[str, tuple[str | None, str | None]]:
    boxes = page.locator(".object").all()
    rects = ((box, box.locator(".box")) for box in boxes)
    return {
        str(box.get_attribute("data-box")): (rect.get_attribute("x"), rect.get_attribute("y"))
        for box, rect in rects
    }


# ---------------------------------------------------------------- stepping


def test_steps_go_forth_and_back_and_every_box_keeps_its_place(opened: Opens) -> None:
    page = opened(explain(WRITING, "ai-sdk-6/stream").player())
    assert said(page) == "prepareStep gets 1 message."
    known: dict[str, Any] = places(page)
    for _ in range(int(page.locator(".slider").get_attribute("max") or 0) - 1):
        page.get_by_role("button", name="next", exact=True).click()
        now = places(page)
        assert {box: place for box, place in now.items() if known.get(box, place) != place} == {}
        known |= now
    assert said(page) == "The run has ended."
    assert len(known) > 20
    page.get_by_role("button", name="back", exact=True).click()
    assert said(page).startswith("onStepFinish gets")


def test_a_write_is_marked_at_its_slot_and_whom_it_reaches_is_named(opened: Opens) -> None:
    page = opened(explain(WRITING, "ai-sdk-6/stream").player())
    page.get_by_role("button", name="next write").click()
    assert said(page).startswith(
        'Write 1: prepareStep sets prepareStep.messages[0].content in place, from "hi"'
    )
    assert page.locator(".slot").count() == 1
    assert "one object: caller[0] = initial chain[0] = prepareStep.messages[0]" in page.inner_text(".story")
    assert "It reaches caller, initial chain, prepareStep." in page.inner_text(".story")
    assert page.locator(".object.now .letter").all_text_contents() == ["C", "I", "P"]
    page.get_by_role("button", name="next", exact=True).click()
    assert page.locator(".slot").count() == 0
    assert said(page) == "model gets 1 message. It shows write 1."
    # Three copies of the message on the way to the model carry it, and the message itself.
    assert page.locator(".object.carries").count() == 4


def test_the_prompt_is_shown_with_its_difference_and_its_cached_beginning(opened: Opens) -> None:
    page = opened(explain(WRITING, "ai-sdk-6/stream").player())
    assert "nothing is cached" in page.inner_text(".texts")
    # Nobody has been asked with it at the first moment of a step.
    assert "To come: the prompt of step 0" in page.inner_text(".texts")
    page.get_by_role("button", name="next write").click()
    page.get_by_role("button", name="next", exact=True).click()
    assert "To come" not in page.inner_text(".texts")
    assert "The prompt of step 0" in page.inner_text(".texts")
    page.get_by_role("button", name="next step").click()
    assert "1 of 3 messages" in page.inner_text(".texts")
    rows = page.locator(".prompt li")
    kinds = [row.get_attribute("class") for row in rows.all()]
    assert kinds == ["kept", "end", "new", "new"]
    assert '"text": "hi!"' in rows.nth(0).inner_text()


# ---------------------------------------------------------------- comparing


def test_two_runs_stand_side_by_side_with_their_moments_paired(opened: Opens) -> None:
    live, core = explain(WRITING, "ai-sdk-6/stream"), explain(WRITING, "immutable")
    page = opened(live.player(core))
    assert page.locator(".run h2").all_inner_texts() == ["ai-sdk-6/stream", "immutable"]
    assert [said(page, run) for run in (0, 1)] == [
        "prepareStep gets 1 message.",
        "prepare_step gets 1 message.",
    ]
    page.keyboard.press("ArrowRight")
    assert said(page, 0).startswith("Write 1: ")
    assert said(page, 1).startswith("prepare_step: op 0 at messages[0].content is refused: ")
    page.keyboard.press("End")
    assert said(page, 0) == "The run has ended."
    assert said(page, 1).startswith("Over by now: The run failed: ImmutableWriteError")
    left, right = (page.locator(".run").nth(run).bounding_box() for run in (0, 1))
    assert left is not None and right is not None  # noqa: PT018 - for the types
    assert (left["y"], left["x"] + left["width"] < right["x"]) == (right["y"], True)


def test_messages_that_only_one_of_two_prompts_has_are_marked(opened: Opens) -> None:
    pushing = {
        **WRITING,
        "hooks": {"prepareStep": [[{"append": ["messages"], "with": {"role": "user", "content": "more"}}]]},
    }
    six = explain(pushing, "ai-sdk-6/stream")
    seven = explain(pushing, "ai-sdk-7/stream")
    page = opened(six.player(seven))
    page.keyboard.press("s")
    assert page.locator(".run").nth(0).locator(".other").count() == 0
    only = page.locator(".run").nth(1).locator(".prompt .other").all_inner_texts()
    assert len(only) == 1
    assert "more" in only[0]


# ---------------------------------------------------------------- the keyboard


def test_the_keyboard_alone_suffices(opened: Opens) -> None:
    page = opened(explain(WRITING, "ai-sdk-6/stream").player())
    where = page.locator(".where")
    for key, position in (("End", 10), ("Home", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("w", 2), ("s", 7)):
        page.keyboard.press(key)
        assert where.inner_text().endswith(f"· {position} of 10"), key
    page.keyboard.press("Shift+S")
    assert where.inner_text() == "step 0 · 1 of 10"
    focused = []
    for _ in range(9):
        page.keyboard.press("Tab")
        focused.append(
            page.evaluate("document.activeElement.textContent.slice(0, 10) || document.activeElement.type")
        )
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid"
    assert focused[:7] == ["first", "back", "next", "last", "next write", "next step", "range"]
    # Not lost by a button that has nothing to do any more.
    page.get_by_role("button", name="last").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.textContent") == "last"
    assert page.locator(".slider").get_attribute("aria-valuetext") == "10 of 10, step 1, end"
    assert page.locator("[aria-live]").inner_text() == "step 1: The run has ended."
    assert page.locator("svg[role=img]").get_attribute("aria-label") == "The run has ended."


def test_a_moment_has_an_address(opened: Opens) -> None:
    page = opened(explain(WRITING, "ai-sdk-6/stream").player())
    page.keyboard.press("w")
    assert page.url.endswith("#moment=2")
    page.reload()
    assert said(page).startswith("Write 1: ")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_no_wider_than_the_window(opened: Opens, width: int, scheme: str) -> None:
    live, core = explain(WRITING, "ai-sdk-6/stream"), explain(WRITING, "immutable")
    page = opened(live.player(core), viewport={"width": width, "height": 844}, color_scheme=scheme)
    page.keyboard.press("w")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}[scheme]


# ---------------------------------------------------------------- long runs


@pytest.mark.slow
def test_a_step_of_a_run_of_fifty_steps_takes_less_than_a_tenth_of_a_second(opened: Opens) -> None:
    steps = 50
    call = {"type": "tool-call", "toolName": "look", "input": {"a": 1}}
    long = {
        **WRITING,
        "maxSteps": steps + 1,
        "script": [
            *(
                [{"type": "text", "text": f"step {n}"}, {**call, "toolCallId": f"c{n}"}]
                for n in range(steps - 1)
            ),
            [{"type": "text", "text": "done"}],
        ],
        "hooks": {"prepareStep": [[{"append": ["messages", 0, "content"], "with": "!"}]] * steps},
    }
    page = opened(explain(long, "ai-sdk-6/stream").player())
    moments = int(page.locator(".slider").get_attribute("max") or 0)
    assert moments == 5 * steps - 2 + steps + 1
    # What the page's thread works for a key: script, style and layout; others may be using the machine.
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def worked() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return float(next(each["value"] for each in metrics if each["name"] == "TaskDuration"))

    def played() -> list[float]:
        took = []
        page.reload()
        for _ in range(moments - 1):
            before = worked()
            page.keyboard.press("ArrowRight")
            page.evaluate("document.body.getBoundingClientRect().height")
            took.append(worked() - before)
        assert said(page) == "The run has ended."
        return took

    # Each step as it is seen first, on a page just loaded. What is slow only once in three loads is the
    # browser's own work, such as a collection of garbage.
    assert max(map(min, zip(played(), played(), played(), strict=True))) < 0.1
    assert page.locator(".object").count() < 200


# ---------------------------------------------------------------- what is said is data


@pytest.mark.slow
def test_what_a_program_says_is_shown_as_text_and_never_run(opened: Opens) -> None:
    hostile = {
        **WRITING,
        "id": HOSTILE,
        "messages": [{"role": "user", "content": HOSTILE}],
        "script": [
            [{"type": "tool-call", "toolCallId": HOSTILE, "toolName": "look", "input": {HOSTILE: HOSTILE}}],
            [{"type": "text", "text": HOSTILE}],
        ],
        "hooks": {
            "prepareStep": [[{"set": ["messages", 0, HOSTILE], "to": HOSTILE}], [{"throw": HOSTILE}]],
        },
    }
    page = opened(explain(hostile, "ai-sdk-6/stream").player(explain(hostile, "immutable")))
    for _ in range(20):
        assert page.evaluate("window.pwned") is None
        assert page.locator("img").count() == 0
        assert page.locator("body > script").count() == 2
        page.keyboard.press("ArrowRight")
    shown = page.inner_text("body")
    assert "</script><script>window.pwned = 1</script>" in shown
    assert "\u202e" not in shown
    assert "\\u202eabc" in shown


@pytest.mark.slow
def test_a_notebook_gets_the_page_in_a_frame_of_its_own(chromium: Browser) -> None:
    page = chromium.new_page()
    page.set_content(f"<body>{explain(WRITING, 'ai-sdk-6/stream')._repr_html_()}</body>")
    frame = page.frame_locator("iframe")
    frame.get_by_role("button", name="next write").click()
    assert frame.locator(".says").inner_text().startswith("Write 1: ")
    page.close()
