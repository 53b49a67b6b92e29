from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from agentcore.frameworks import ai_sdk
from agentcore.heap.heap import Store
from agentcore.heap.pictures import Picture, alias_graph, alias_graphs, curves, spread, timeline

SHARED = "#f4b183"
NEW = "#c6e0b4"
WRITTEN = "#c00000"


def played(profile: str = "ai-sdk-6/stream") -> ai_sdk.CompatRun:
    """Two steps; the hook writes a part into the first message at each."""
    script = [
        [{"type": "tool-call", "toolCallId": "c", "toolName": "look", "input": {"q": 1}}],
        [{"type": "text", "text": "done"}],
    ]
    asked: list[Any] = []

    def answer(options: Any) -> Any:
        asked.append(options)
        return script[len(asked) - 1]

    def hook(step: Any) -> None:
        step["messages"][0]["content"].append({"type": "text", "text": "be brief"})

    return ai_sdk.run(
        profile,
        ai_sdk.Settings(
            messages=[{"role": "user", "content": [{"type": "text", "text": "hello"}]}],
            model=ai_sdk.Model(id="m", answer=answer),
            tools={"look": ai_sdk.Tool(execute=lambda *_: "seen")},
            hooks=ai_sdk.Hooks(prepare_step=hook),
        ),
    )


def at(run: ai_sdk.CompatRun, moment: str, step: int) -> ai_sdk.Snapshot:
    return next(one for one in run.snapshots if (one.moment, one.step) == (moment, step))


def boxes(picture: Picture) -> dict[str, list[str]]:
    """The texts of a picture, in the order of the picture, by the colour of their boxes."""
    found: dict[str, list[str]] = {}
    # What is read here was drawn a moment before.
    for group in ET.fromstring(picture.svg).iter("{http://www.w3.org/2000/svg}g"):  # noqa: S314
        path = group.find("{*}g/{*}path")
        texts = [text.text or "" for text in group.iter("{http://www.w3.org/2000/svg}text")]
        style = "" if path is None else path.get("style", "")
        fill = re.search(r"fill: (#[0-9a-f]{6})", style)
        if group.get("id", "").startswith("text") and fill and texts:
            found.setdefault(fill[1], []).append(" / ".join(texts))
    return found


def test_what_caller_and_initial_chain_both_hold_is_coloured_as_shared() -> None:
    found = boxes(alias_graph(at(played(), "prompt", 0)))
    assert found[SHARED] == ["1 in a list", "user", "2 in a list", "text: hello", "text: be brief"]


def test_a_prompt_shares_no_message_with_the_chains() -> None:
    found = boxes(alias_graph(at(played(), "prompt", 1), ["response", "prompt"]))
    assert SHARED not in found


def test_written_cells_have_a_rim_and_a_line_in_the_legend() -> None:
    run = played()
    plain = alias_graph(at(run, "end", 1), ["caller"])
    marked = alias_graph(at(run, "end", 1), ["caller"], written=[run.pollution[0].write.address])
    assert WRITTEN not in plain.svg
    # The rim, the arrows that lead there with their labels, and the legend.
    assert marked.svg.count(WRITTEN) > 2
    noted = alias_graph(at(run, "end", 1), ["caller"], written={run.pollution[0].write.address: "by <hook>"})
    assert "by &lt;hook&gt;" in noted.svg
    assert "by &lt;hook&gt;" not in marked.svg


def test_arrows_have_the_keys_under_which_something_is_held() -> None:
    svg = alias_graph(at(played(), "prompt", 0), ["caller", "prompt"]).svg
    assert ">content</text>" in svg
    assert ">[0]</text>" in svg


def test_a_spread_shows_who_writes_and_who_sees_it_with_texts_as_texts() -> None:
    svg = spread(["hook <b>\nappend $a$"], {"caller": ["caller"], "result": ["final", "x" * 99]}).svg
    for text in ("hook &lt;b&gt;", "append $a$", "caller", "result", "final"):
        assert text in svg
    assert "x" * 99 not in svg


def test_a_picture_goes_as_deep_as_is_asked() -> None:
    found = boxes(alias_graph(at(played(), "prompt", 0), ["caller", "initial"], deepest=2))
    assert found[SHARED] == ["1 in a list", "user"]


def test_what_is_shared_below_the_levels_that_are_drawn_is_shared() -> None:
    heap = Store()
    inner = heap.object({"text": "deep"})
    held = {"near": inner, "far": heap.array([heap.object({"inner": inner})])}
    snapshot = ai_sdk.Snapshot("end", 0, held, heap.heap())
    found = boxes(alias_graph(snapshot, ["near", "far"], deepest=1))
    assert found[SHARED] == ["{text}: deep"]


def test_a_holder_may_be_a_field_of_one() -> None:
    heap = Store()
    messages = heap.load([{"role": "user"}])
    held = {"history": messages, "prompt": heap.object({"messages": messages})}
    snapshot = ai_sdk.Snapshot("prompt", 0, held, heap.heap())
    found = boxes(alias_graph(snapshot, ["history", "prompt.messages"]))
    assert found[SHARED] == ["1 in a list", "user"]
    with pytest.raises(KeyError, match="other"):
        alias_graph(snapshot, ["prompt.other"])


def test_a_holder_that_is_not_there_is_refused() -> None:
    with pytest.raises(KeyError, match="nobody"):
        alias_graph(at(played(), "prompt", 0), ["nobody"])


def test_a_timeline_shows_what_changed_and_what_is_new_at_each_step() -> None:
    found = boxes(timeline(played().prompts, "what the model saw"))
    assert found[SHARED] == ["user: hello / be brief / be brief"]
    assert found[NEW] == ["assistant: calls look", "tool: gets seen"]


def test_a_timeline_shows_every_kind_of_part_and_cuts_long_texts() -> None:
    parts = [
        {"type": "reasoning", "text": "hm"},
        {"type": "file", "data": "AA"},
        {"type": "tool-result", "output": 1},
        {"type": "text", "text": "long " * 20},
    ]
    (lines,) = boxes(timeline([[{"role": "user", "content": parts}]]))["#dddddd"]
    *short, cut = lines.split(" / ")
    assert short == ["user: hm", "file", "gets 1"]
    assert len(cut) == 38
    assert cut.endswith("…")


def test_a_timeline_shows_blocks_that_have_their_kind_as_their_key() -> None:
    blocks = [
        {"text": "hm"},
        {"toolUse": {"name": "look", "toolUseId": "c", "input": {}}},
        {"toolResult": {"toolUseId": "c", "content": [{"text": "seen"}, {"json": {}}]}},
        {"guardContent": {}},
    ]
    (lines,) = boxes(timeline([[{"role": "user", "content": blocks}]]))["#dddddd"]
    assert lines.split(" / ") == ["user: hm", "calls look", "gets seen, json", "guardContent"]


def test_a_timeline_of_nothing_and_of_empty_messages_is_drawn() -> None:
    assert boxes(timeline([[]])) == {}
    assert boxes(timeline([[{"role": "user", "content": []}]]))["#dddddd"] == ["user: (nothing)"]


@pytest.mark.slow
def test_the_same_run_gives_the_same_file_under_every_hash_seed(tmp_path: Path) -> None:
    here = Path(__file__).parent.parent
    code = (
        f"import sys; sys.path[:0] = [{str(here)!r}, {str(here.parent)!r}];"
        "from heap.test_pictures import *;"
        "alias_graph(at(played(), 'prompt', 1)).save(Path(sys.argv[1]))"
    )
    files = []
    for seed in ("1", "2"):
        files.append(tmp_path / f"{seed}.svg")
        subprocess.run([sys.executable, "-c", code, files[-1]], check=True, env={"PYTHONHASHSEED": seed})
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_notebook_is_shown_the_picture_itself() -> None:
    picture = timeline(played().prompts)
    assert picture._repr_svg_() == picture.svg


def test_a_run_keeps_what_each_holder_held_at_each_moment() -> None:
    run = played()
    assert [(one.moment, one.step) for one in run.snapshots] == [
        ("prompt", 0),
        ("finish", 0),
        ("prompt", 1),
        ("finish", 1),
        ("end", 1),
    ]
    texts = [[part["text"] for part in at(run, "prompt", n).plain("caller")[0]["content"]] for n in (0, 1)]
    assert texts == [["hello", "be brief"], ["hello", "be brief", "be brief"]]
    assert [len(prompt) for prompt in run.prompts] == [1, 3]


def test_curves_name_what_was_measured() -> None:
    svg = curves({"copies": {1: 2, 10: 20}, "shares": {1: 2, 10: 2}}, x="messages", y="us", title="cost").svg
    assert all(f">{text}</text>" in svg for text in ("copies", "shares", "messages", "us", "cost"))


def test_pictures_of_several_moments_need_one_and_count_what_they_leave_out() -> None:
    with pytest.raises(ValueError, match="no moment"):
        alias_graphs([])
    run = played()
    moments = [(at(run, "prompt", step), [one.write.address for one in run.pollution]) for step in (0, 1)]
    whole, small = alias_graphs(moments).svg, alias_graphs(moments, most=2).svg
    assert whole.count("prompt, step") == 2
    assert "are not drawn" not in whole
    assert "more are not drawn" in small
