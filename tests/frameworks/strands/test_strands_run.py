"""Strands agents written in Python, under a profile: what became of them, and who polluted what."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from itertools import groupby
from typing import Any, Final

import pytest

from agentcore.frameworks import strands
from agentcore.frameworks.strands import Finding, Hook, Middleware, Model, Said, Settings, Tool, Verdict
from agentcore.frameworks.strands.emulation.loop import StrandsLoop
from agentcore.frameworks.strands.profiles import PROFILES
from agentcore.heap.heap import Store
from agentcore.heap.pollution import findings
from agentcore.heap.views import Desk
from frameworks.strands.strands_scene import BEFORE, EVERY, NOW, PYTHON, says

Handler = Callable[..., Any]
USE: Final = {"toolUse": {"name": "look", "toolUseId": "u1", "input": {"q": {"n": 1}}}}


def settings(*middleware: Middleware, **more: Any) -> Settings:
    """Two calls of the model, with a tool between them."""
    return Settings(
        **{
            "model": Model.scripted([USE], says("done")),
            "inputs": ["go"],
            "tools": {"look": Tool(run=lambda _use, _state: {"seen": True})},
            "middleware": middleware,
            **more,
        }
    )


def wrapped(stage: Any, before: Handler) -> Middleware:
    """A wrap handler that does something to its context and goes on."""

    def call(context: Any, following: Any) -> Generator[Any, None, Any]:
        before(context)
        return (yield from following(context))

    return Middleware(stage=stage, call=call)


def remind(context: Any) -> None:
    context["messages"][-1]["content"].append({"text": "remember"})


def only(ran: strands.StrandsRun) -> Finding:
    (finding,) = ran.pollution
    return finding


# ---------------------------------------------------------------- runs


@EVERY
def test_a_run_has_results_and_what_the_agent_and_the_caller_are_left_with(profile: str) -> None:
    ran = strands.run(
        profile,
        settings(
            system="be good",
            messages=[{"role": "user", "content": says("a")}, {"role": "assistant", "content": says("b")}],
            invocation_state={"mine": 1},
            model_state={"m": 1},
        ),
    )
    (result,) = ran.results
    assert not isinstance(result, Exception)
    assert result["stopReason"] == "endTurn"
    assert result["lastMessage"]["content"] == says("done")
    assert [message["role"] for message in ran.history[2:]] == ["user", "assistant", "user", "assistant"]
    assert ran.history[4]["content"][0]["toolResult"]["content"] == [{"json": {"seen": True}}]
    assert ran.model_state == {"m": 1}
    assert ran.caller["invocationState"]["mine"] == 1
    assert len(ran.prompts) == 2
    assert ran.prompts[0]["messages"][-1]["content"] == says("go")
    assert ran.profile is PROFILES[profile]
    assert ran.pollution == ()


def test_an_error_is_the_result_and_the_next_input_is_answered() -> None:
    def fails(_: Any) -> Any:
        raise KeyError("broken")

    answers: Iterator[Handler] = iter([fails, lambda _: says("fine")])

    def answer(request: Any) -> Any:
        return next(answers)(request)

    model = Model(answer=answer)
    failed, answered = strands.run(NOW, settings(model=model, inputs=["a", "b"])).results
    assert str(failed) == "'broken'"
    assert not isinstance(answered, Exception)
    assert answered["lastMessage"]["content"] == says("fine")


def test_a_profile_of_ones_own_is_run_as_it_is() -> None:
    assert strands.run(PROFILES[BEFORE], settings()).profile is PROFILES[BEFORE]
    with pytest.raises(KeyError):
        strands.run("strands-ts@0", settings())


@EVERY
def test_handlers_may_give_plain_contexts_and_results(profile: str) -> None:
    asked = Middleware(
        stage="model",
        phase="input",
        call=lambda context: {**context, "messages": [{"role": "user", "content": says("other")}]},
    )
    short = Middleware(
        stage="model", phase="output", call=lambda result: {**result, "stopReason": "stopSequence"}
    )
    ran = strands.run(profile, settings(asked, short))
    assert [call["messages"][0]["content"] for call in ran.prompts] == [says("other")]
    assert ran.results[0]["stopReason"] == "stopSequence"  # type: ignore[index]  # it is no error


@EVERY
def test_a_handler_may_make_a_result_or_catch_an_error(profile: str) -> None:
    def careful(context: Any, following: Any) -> Generator[Any, None, Any]:
        try:
            return (yield from following(context))
        except ValueError as error:
            return {"message": {"role": "assistant", "content": says(str(error))}, "stopReason": "endTurn"}

    def broken(_context: Any, _following: Any) -> Generator[Any, None, Any]:
        yield from ()
        raise ValueError("saved")

    handlers = [Middleware(stage="model", call=careful), Middleware(stage="model", call=broken)]
    ran = strands.run(profile, settings(*handlers))
    assert ran.history[-1]["content"] == says("saved")


@EVERY
def test_a_model_may_say_why_it_stopped_and_fail_afterwards(profile: str) -> None:
    model = Model.scripted(Said(blocks=says("a"), stop_reason="stopSequence"))
    assert strands.run(profile, settings(model=model)).results[0]["stopReason"] == "stopSequence"  # type: ignore[index]
    late = Model.scripted(Said(blocks=says("a"), error=ValueError("late")))
    assert str(strands.run(profile, settings(model=late)).results[0]) == "late"


@EVERY
@pytest.mark.parametrize(
    ("output", "result"),
    [
        ("text", {"status": "success", "content": says("text")}),
        ({"content": says("x"), "status": "error"}, {"status": "error", "content": says("x")}),
        ({"content": says("x")}, {"status": "success", "content": says("x")}),
        ({"content": "x"}, {"status": "success", "content": [{"json": {"content": "x"}}]}),
        (None, {"status": "success", "content": [{"json": None}]}),
    ],
)
def test_what_a_tool_gives_is_made_a_result(profile: str, output: Any, result: Any) -> None:
    ran = strands.run(profile, settings(tools={"look": Tool(run=lambda _use, _state: output)}))
    assert ran.history[2]["content"][0]["toolResult"] == {"toolUseId": "u1", **result}


@EVERY
def test_what_a_model_or_a_tool_holds_on_to_is_not_the_agents(profile: str) -> None:
    kept: dict[str, Any] = {"content": [{"json": {"a": 1}}]}
    said: list[Any] = [{"text": "said"}, USE]

    def spoil(_: Any) -> None:
        kept["content"][0]["json"]["a"] = "changed"
        said[0]["text"] = "changed"

    tools = {"look": Tool(run=lambda _use, _state: kept)}
    model = Model.scripted(said, says("done"))
    ran = strands.run(profile, settings(model=model, tools=tools, hooks=[Hook("afterTools", spoil)]))
    assert ran.history[1]["content"][0] == {"text": "said"}
    assert ran.history[2]["content"][0]["toolResult"]["content"] == [{"json": {"a": 1}}]


@EVERY
def test_hooks_retry_and_cancel_by_setting_a_field(profile: str) -> None:
    seen = []

    def again(event: Any) -> None:
        seen.append(event["stopReason"])
        if len(seen) == 1:
            event["retry"] = True

    def deny(event: Any) -> None:
        event["cancel"] = "not this one"

    hooks = [Hook("afterModel", again), Hook("beforeTools", deny)]
    model = Model.scripted(says("no"), [USE], says("done"))
    ran = strands.run(profile, settings(model=model, hooks=hooks))
    assert seen == ["endTurn", "toolUse", "endTurn"]
    assert ran.history[2]["content"][0]["toolResult"]["content"] == says("not this one")


@EVERY
def test_structured_output_is_what_its_validator_gives(profile: str) -> None:
    def upper(value: Any) -> Any:
        if "name" not in value:
            raise strands.InvalidOutputError("a name is missing")
        return {"name": value["name"].upper()}

    wanted = strands.StructuredOutput(input_schema={"type": "object"}, validate=upper, name="answer")
    uses = [
        {"toolUse": {"name": "answer", "toolUseId": f"s{n}", "input": given}}
        for n, given in enumerate([{}, {"name": "x"}])
    ]
    ran = strands.run(profile, settings(model=Model.scripted([uses[0]], [uses[1]]), structured_output=wanted))
    assert ran.results[0]["structuredOutput"] == {"name": "X"}  # type: ignore[index]  # it is no error
    assert ran.history[2]["content"][0]["toolResult"]["content"] == says("a name is missing")


# ---------------------------------------------------------------- pollution


@pytest.mark.parametrize(
    ("profile", "verdict", "reach"),
    [
        (BEFORE, Verdict.POLLUTING, ("history", "later prompts")),
        (NOW, Verdict.EPHEMERAL, ()),
        (PYTHON, Verdict.EPHEMERAL, ()),
    ],
)
def test_a_reminder_pollutes_the_history_only_before(
    profile: str, verdict: Verdict, reach: tuple[str, ...]
) -> None:
    def once(context: Any) -> None:
        if len(context["messages"]) == 1:
            remind(context)

    finding = only(strands.run(profile, settings(wrapped("model", once))))
    assert finding.verdict is verdict
    assert finding.reach == reach
    assert finding.write.hook == "mw0:model.wrap"
    assert finding.write.step == 0
    assert finding.prompts == ((0, 1) if reach else (0,))


def test_guarded_content_of_a_system_prompt_is_polluted_even_now() -> None:
    guarded = {"guardContent": {"text": {"text": "careful", "qualifiers": ["query"]}}}

    def leak(context: Any) -> None:
        if len(context["messages"]) == 1:
            context["system"][0]["guardContent"]["text"]["qualifiers"].append("leak")

    finding = only(strands.run(NOW, settings(wrapped("model", leak), system=[guarded])))
    assert finding.reach == ("caller", "system prompt", "later prompts")
    assert finding.paths["system prompt"] == "system prompt[0].guardContent.text.qualifiers[1]"
    clean = only(strands.run(PYTHON, settings(wrapped("model", leak), system=[guarded])))
    assert clean.verdict is Verdict.EPHEMERAL


@pytest.mark.parametrize(("profile", "leaks"), [(BEFORE, True), (NOW, False), (PYTHON, True)])
def test_the_tool_stages_input_is_polluted_where_it_is_live(profile: str, leaks: bool) -> None:
    def change(context: Any) -> None:
        context["toolUse"]["input"]["q"]["n"] = 2

    finding = only(strands.run(profile, settings(wrapped("tool", change))))
    assert (finding.verdict is Verdict.POLLUTING) is leaks
    assert finding.first_seen == (1 if leaks else None)


@EVERY
def test_a_write_to_the_shared_state_is_the_callers_everywhere(profile: str) -> None:
    def note(_use: Any, state: Any) -> str:
        state["noted"] = True
        return "seen"

    ran = strands.run(profile, settings(tools={"look": Tool(run=note)}, invocation_state={"mine": 1}))
    finding = only(ran)
    assert finding.write.hook == "tool:look"
    assert "caller" in finding.reach


@EVERY
def test_a_write_to_a_result_is_in_the_history_and_the_results(profile: str) -> None:
    def censor(result: Any) -> None:
        result["lastMessage"]["content"][0]["text"] = "***"

    censoring = Middleware(stage="stream", phase="output", call=censor, name="censor")
    finding = only(strands.run(profile, settings(censoring)))
    assert finding.write.hook == "censor"
    assert {"history", "results"} <= set(finding.reach)


def test_writes_are_entered_under_the_name_of_the_handler_that_made_them() -> None:
    def late(context: Any, following: Any) -> Generator[Any, None, Any]:
        context["messages"][0]["role"] = "user"
        result = yield from following(context)
        context["messages"][0]["role"] = "user"
        return result

    def between(context: Any, following: Any) -> Generator[Any, None, Any]:
        steps = following(context)
        while True:
            try:
                item = next(steps)
            except StopIteration as end:
                return end.value
            context["messages"][0]["role"] = "user"
            yield item
            context["messages"][0]["role"] = "user"

    names = ["outer", "streaming", "inner"]
    handlers = [
        Middleware(stage="model", call=call, name=name)
        for name, call in zip(names, [late, between, late], strict=True)
    ]
    model = Model.scripted(says("one"))
    hooks = [Hook("contentBlock", lambda event: event["block"].update({"text": "two"}))]
    ran = strands.run(NOW, settings(*handlers, model=model, hooks=hooks))
    writers = [name for name, _ in groupby(finding.write.hook for finding in ran.pollution)]
    streamed = ["streaming", "hook:contentBlock", "streaming"]
    assert writers == ["outer", "inner", *streamed, "inner", "outer"]


def test_a_step_is_a_cycle_and_an_invocation_begins_one() -> None:
    steps = []
    desk = Desk(Store())
    hooks = [Hook("beforeModel", lambda _: steps.append(desk.step))]
    loop = StrandsLoop(PROFILES[NOW], settings(hooks=hooks, inputs=["a", "b"]), desk)
    loop.run()
    assert steps == [0, 1, 2]
    assert loop.snapshots == []


def test_a_run_that_was_not_watched_has_no_report() -> None:
    loop = StrandsLoop(PROFILES[NOW], settings())
    loop.run()
    with pytest.raises(ValueError, match="not watched"):
        findings(loop)
