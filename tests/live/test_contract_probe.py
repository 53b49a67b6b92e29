"""The probe on loops of one's own: what it finds of them, in Python and in JavaScript."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest

from agentcore.live import probe
from agentcore.live.adapter import Attached
from agentcore.live.contracts.measure import RULES
from agentcore.live.contracts.releases import CORE
from agentcore.live.contracts.table import Row, answers_of
from agentcore.live.places import Scene, Texts, Walk, write
from live.contracts import validate
from live.toy_loop import ADAPTER

LASTING: Final = ("this-prompt", "later-prompts", "later-runs")


def measured(adapter: Any, at: str | None = None) -> dict[str, Any]:
    return probe.measured(adapter, {"rules": RULES, "at": at, "path": "generate"}, lambda: None)


@pytest.fixture(scope="module")
def toy() -> dict[Row, Any]:
    return answers_of(measured(ADAPTER))


def cell(rows: dict[Row, Any], boundary: str, root: str, cells: str) -> tuple[str, ...]:
    answer = rows[Row("generate", boundary, root, *cells.split("."))]
    ((result, seen),) = answer
    assert result == "seen"
    return seen  # type: ignore[no-any-return]


@pytest.mark.slow
def test_the_list_of_a_loop_is_its_own_and_the_messages_are_the_callers(toy: dict[Row, Any]) -> None:
    assert cell(toy, "before_model", "messages", "..list.push") == (*LASTING, "result")
    assert cell(toy, "before_model", "messages", "caller.user.text.change") == (*LASTING, "caller", "result")
    assert cell(toy, "before_model", "messages", "run.tool.output.key") == (*LASTING, "result")


def test_what_is_passed_on_to_a_handler_is_for_this_prompt(toy: dict[Row, Any]) -> None:
    assert cell(toy, "around", "", "run..passed.change") == ("this-prompt",)
    assert cell(toy, "around", "", "..passed.push") == ("this-prompt",)


def test_what_a_handler_returns_is_seen_by_the_next_prompt_first(toy: dict[Row, Any]) -> None:
    after = ("next-prompt", "later-prompts", "later-runs", "result")
    assert cell(toy, "around", "result", "run.assistant.text.change") == after
    assert cell(toy, "after_model", "answer", "run.assistant.input.key") == after


def test_a_list_behind_a_handle_is_a_place_and_so_is_the_slot_of_one(toy: dict[Row, Any]) -> None:
    assert cell(toy, "with_handle", "handle", "..list.push") == (*LASTING, "result")
    assert cell(toy, "assigns", "state.messages", "..list.replace") == (*LASTING, "result")


class _Reaching(type(ADAPTER)):  # type: ignore[misc]
    """A loop that lets hooks say which messages are in the list, and judges only what the messages say."""

    boundaries: ClassVar = {
        "with_handle": replace(
            ADAPTER.boundaries["with_handle"],
            handles=lambda given: [*given["handle"].messages],
            reaches=lambda given: {"note": given["handle"].note, "own": given["handle"].messages},
        )
    }


def test_what_is_reached_has_names_and_each_is_written_where_it_is() -> None:
    rows = answers_of(measured(_Reaching()))
    assert cell(rows, "with_handle", "own", "..list.push") == (*LASTING, "result")
    assert cell(rows, "with_handle", "own", "caller.user.text.change") == (*LASTING, "caller", "result")
    assert {row.root for row in rows} == {"own"}


class _Adding(type(ADAPTER)):  # type: ignore[misc]
    """A loop that adds what its hook returns to the conversation."""

    boundaries: ClassVar = {
        "update": replace(ADAPTER.boundaries["assigns"], delta=True, outlets=lambda _: [])
    }

    def begin(self, session: Any, hook: Any, _: str, path: str) -> Any:
        def adding(state: Any) -> None:
            update = hook.call(state)
            if update is not None:
                state["messages"] = [*state["messages"], *update["messages"]]

        return super().begin(session, Attached(call=adding, is_async=False), "assigns", path)


def test_what_is_added_by_an_update_stays_in_the_conversation_whoever_had_it() -> None:
    rows = answers_of(measured(_Adding()))
    for owner in ("caller", "request", "run"):
        assert cell(rows, "update", "", f"{owner}..returned.change") == (*LASTING, "result")


class _Silent(type(ADAPTER)):  # type: ignore[misc]
    """A loop whose hook calls on without an argument."""

    boundaries: ClassVar = {
        "around": replace(ADAPTER.boundaries["around"], passive=lambda given: given["handler"]())
    }

    def begin(self, session: Any, hook: Any, at: str, path: str) -> Any:
        def silent(messages: Any, ask: Any) -> Any:
            return hook.call(messages, lambda: ask(messages))

        return super().begin(session, Attached(call=silent, is_async=False), at, path)


def test_a_hook_may_call_on_without_passing_anything() -> None:
    rows = answers_of(measured(_Silent()))
    assert cell(rows, "around", "request", "caller.user.text.change") == (*LASTING, "caller", "result")
    assert not [row for row in rows if row.place == "passed"]


def test_a_text_of_ours_is_edited_wherever_it_stands() -> None:
    message = {"role": "user", "plain": "caller-words-00", "content": ["caller-words-00", "caller-words-02"]}
    scene = Scene(RULES["mark"], Texts(RULES["conversation"]), [frozenset({"role", "content"})])
    first = next(each for each in Walk([("", [message])], scene, frozenset()).places if each.act == "change")
    assert write({"": [message]}, first, scene, frozenset(), own=True) is None
    marked = f"caller-words-00{RULES['mark']}"
    assert message == {"role": "user", "plain": marked, "content": [marked, "caller-words-02"]}


class _Copying(type(ADAPTER)):  # type: ignore[misc]
    """A loop whose hook gets messages that nobody else has, in tuples; their texts can't be written."""

    def begin(self, session: Any, hook: Any, at: str, path: str) -> Any:

        def copying(messages: Any) -> None:
            hook.call(tuple(json.loads(json.dumps(messages))))

        return super().begin(session, Attached(call=copying, is_async=False), at, path)


def test_a_write_to_a_copy_is_seen_by_nobody_and_one_to_a_tuple_is_refused() -> None:
    rows = answers_of(measured(_Copying(), "before_model"))
    assert cell(rows, "before_model", "messages", "caller.user.text.change") == ()
    assert rows[Row("generate", "before_model", "messages", "", "", "list", "push")] == (("refused", ()),)


class _Strict(type(ADAPTER)):  # type: ignore[misc]
    """A loop that accepts no message but its own."""

    def begin(self, session: Any, hook: Any, at: str, path: str) -> Any:
        ask = session.answer

        def answer(prompt: Any) -> Any:
            if any(len(each["content"]) > 2 for each in prompt if isinstance(each["content"], list)):
                raise ValueError("too much content")
            return ask(prompt)

        session.answer = answer
        return super().begin(session, hook, at, path)


def test_a_write_that_ends_the_run_is_an_answer_of_its_own() -> None:
    rows = measured(_Strict(), "before_model")["rows"]
    push = next(
        each for each in rows if (each["place"], each["act"], each["owner"]) == ("content", "push", "request")
    )
    assert [(each["result"], each["why"]) for each in push["answers"]] == [
        ("breaks", "ValueError: too much content")
    ]


class _Broken(type(ADAPTER)):  # type: ignore[misc]
    def begin(self, *_: Any) -> Any:
        raise RuntimeError("no such thing")


def test_what_cannot_be_run_is_not_known_rather_than_seen_by_nobody() -> None:
    found = measured(_Broken(), "before_model")
    assert found["rows"] == []
    (why,) = found["unmeasured"]
    assert why["why"] == "the run without a write ends with: RuntimeError: no such thing"


def test_the_conversation_is_the_same_in_each_run() -> None:
    before = json.dumps(RULES["conversation"])
    assert measured(ADAPTER, "after_model") == measured(ADAPTER, "after_model")
    assert json.dumps(RULES["conversation"]) == before


def test_an_object_that_is_reached_twice_is_two_places_of_one_target() -> None:
    texts = Texts(RULES["conversation"])
    message = {"role": "user", "content": ["caller-words-00"]}
    scene = Scene(RULES["mark"], texts, [frozenset({"role", "content"})])
    walk = Walk([("one", [message]), ("other", [message])], scene, frozenset())
    changes = [each for each in walk.places if each.act == "change"]
    assert [each.name for each in changes] == ["one[0].content[0]", "other[0].content[0]"]
    assert len({each.target for each in changes}) == 1


@pytest.mark.live
def test_the_javascript_core_measures_a_loop_by_the_same_rules(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs Node.js")
    package = tmp_path / "node_modules" / "toy"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"name": "toy", "version": "1.0.0", "main": "index.js"}')
    (package / "index.js").write_text("")
    framework = f"{CORE / 'adapters' / 'skeleton.js'}:adapter"
    job = {
        "framework": framework,
        "manifest": str(package / "package.json"),
        "rules": RULES,
        "at": None,
        "path": None,
    }
    script = (
        f"import {{ main }} from '{(CORE / 'src' / 'probe.js').as_uri()}'; "
        "await main((module) => import(module));"
    )
    command = [node, "--no-warnings", "--input-type=module", "--eval", script]
    done = subprocess.run(
        command, input=json.dumps(job), cwd=tmp_path, check=True, capture_output=True, text=True
    )
    found = json.loads(done.stdout)
    rows = answers_of(found)
    assert cell(rows, "beforeModel", "messages", "..list.push") == (*LASTING, "caller")
    assert cell(rows, "beforeModel", "messages", "..list.replace") == ()
    assert cell(rows, "beforeModel", "messages", "run.assistant.input.key") == (*LASTING, "caller", "steps")
    assert cell(rows, "beforeModel", "", "caller..returned.change") == ("this-prompt",)
    assert cell(rows, "afterTool", "result", "run.tool.output.key")[0] == "next-prompt"
    about = {
        "format": 1,
        "framework": "toy",
        "package": "toy",
        "lock": None,
        "probe": "x",
        "runtime": "Node.js",
    }
    validate({**about, **found})
