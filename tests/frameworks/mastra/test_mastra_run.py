"""Agents of Mastra written in Python, under a profile: what became of them, and who polluted what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs
import pytest

from agentcore.frameworks import mastra
from agentcore.frameworks.mastra import Finding, Model, Processor, Settings, Tool, Verdict
from agentcore.frameworks.mastra.emulation.loop import MastraLoop
from agentcore.heap.pollution import findings
from frameworks.mastra.stage import CALL, TWO_STEPS, at_step, stored, text

NOW, BEFORE = "mastra@1.71.0", "mastra@1.0.4"
EVERY: Final = pytest.mark.parametrize("profile", [NOW, BEFORE])
MESSAGE: Final = stored("u", "hi", createdAt="2000-01-01T00:00:00Z")
OPTIONS: Final = {"providerOptions": {"x": {"k": 1}}, "modelSettings": {"topP": 0.5, "stopSequences": ["a"]}}
Change = Callable[[Any], Any]


def settings(script: Sequence[Any] = TWO_STEPS, **more: Any) -> Settings:
    """A call with a tool between two answers."""
    answers = iter(script)
    return Settings(
        **{
            "model": Model("m", lambda _: next(answers)),
            "messages": [MESSAGE],
            "instructions": "be brief",
            "tools": {"look": Tool(execute=lambda _: {"seen": True}, description="looks")},
            "options": OPTIONS,
            **more,
        }
    )


def written(profile: str, change: Change, step: int = 0) -> Finding:
    """What becomes of the one write of a hook at a step."""
    (finding,) = mastra.run(profile, settings(prepare_step=at_step(step, change))).pollution
    return finding


# ---------------------------------------------------------------- runs


@EVERY
def test_a_call_has_what_its_caller_gets_and_what_it_leaves(profile: str) -> None:
    ran = mastra.run(profile, settings(([text("a"), CALL], [text("b")])))
    assert (ran.error, ran.tripwire, ran.finish_reason) == (None, None, "stop")
    assert (ran.text, ran.steps) == ("ab", ("a", "b"))
    assert [message["role"] for message in ran.response] == ["assistant", "tool", "assistant"]
    assert [message["role"] for message in ran.conversation] == ["user", "assistant"]
    assert [message["content"] for message in ran.system] == ["be brief"]
    assert ran.caller["providerOptions"] == OPTIONS["providerOptions"]
    assert [[message["role"] for message in prompt] for prompt in ran.prompts] == [
        ["system", "user"],
        ["system", "user", "assistant", "tool"],
    ]
    assert ran.profile is mastra.PROFILES[profile]
    assert ran.pollution == ()
    assert [moment.moment for moment in ran.snapshots] == ["prompt", "prompt", "end"]


@EVERY
def test_an_abort_and_an_error_are_in_the_result(profile: str) -> None:
    ran = mastra.run(profile, settings(prepare_step=at_step(1, lambda args: args.abort("enough"))))
    assert ran.tripwire is not None
    assert (ran.tripwire.reason, ran.error, ran.response) == ("enough", None, [])

    def fails(_: Any) -> Any:
        raise ValueError("broken")

    ran = mastra.run(profile, settings(call_processors=[Processor(id="p", process_input=fails)]))
    assert ran.error is not None
    assert ran.prompts == ()


def test_a_profile_of_ones_own_runs_as_its_fields_say() -> None:
    own = attrs.evolve(mastra.PROFILES[NOW], name="mine", no_choice_hides_tools=False)
    asked: list[bool] = []

    def answer(options: Any) -> list[Any]:
        asked.append("tools" in options)
        return []

    model = Model("m", answer)
    for profile in (NOW, own):
        ran = mastra.run(profile, settings(model=model, options={"toolChoice": "none"}))
        assert ran.error is None
    assert asked == [False, True]
    with pytest.raises(KeyError):
        mastra.run("mastra@0", settings())


def test_a_run_that_was_not_watched_has_no_findings() -> None:
    with pytest.raises(ValueError, match="not watched"):
        findings(MastraLoop(mastra.PROFILES[NOW], settings()))


# ---------------------------------------------------------------- who polluted what


@EVERY
def test_a_text_written_in_place_is_in_all_prompts_and_in_the_callers_message(profile: str) -> None:
    def change(args: Any) -> None:
        args["messages"][0]["content"]["parts"][0]["text"] = "written"

    found = written(profile, change)
    assert found.verdict is Verdict.POLLUTING
    assert found.reach == ("caller", "conversation", "later prompts")
    assert found.paths["caller"] == "caller.messages[0].content.parts[0].text"
    assert (found.prompts, found.first_seen) == ((0, 1), 1)
    assert (found.write.hook, found.write.step) == ("prepare-step", 0)


@EVERY
def test_a_message_pushed_in_place_is_in_all_prompts(profile: str) -> None:
    found = written(profile, lambda args: args["messages"].append(args["messages"][0]))
    assert found.reach == ("conversation", "later prompts")
    assert found.prompts == (0, 1)


@EVERY
def test_a_content_replaced_in_place_is_in_all_prompts(profile: str) -> None:
    content = {"format": 2, "parts": [text("new")]}
    found = written(profile, lambda args: args["messages"][0].update(content=content))
    assert found.reach == ("caller", "conversation", "later prompts")
    assert found.prompts == (0, 1)


@EVERY
def test_the_text_beside_the_parts_stays_and_is_in_no_prompt(profile: str) -> None:
    found = written(profile, lambda args: args["messages"][0]["content"].update(content="mirror"))
    assert found.reach == ("caller", "conversation")
    assert found.prompts == ()


@EVERY
def test_what_is_written_into_a_system_message_outlives_the_reset(profile: str) -> None:
    found = written(profile, lambda args: args["systemMessages"][0].update(content="written"))
    assert found.reach == ("system messages", "later prompts")
    assert found.prompts == (0, 1)


@pytest.mark.parametrize(("profile", "prompts"), [(NOW, (0,)), (BEFORE, ())])
def test_a_pushed_system_message_is_in_this_prompt_or_in_none(profile: str, prompts: tuple[int, ...]) -> None:
    extra = {"role": "system", "content": "x"}
    found = written(profile, lambda args: args["systemMessages"].append(extra))
    assert (found.verdict, found.prompts) == (Verdict.EPHEMERAL, prompts)


@EVERY
def test_provider_options_written_in_place_are_the_callers(profile: str) -> None:
    found = written(profile, lambda args: args["providerOptions"]["x"].update(k=2))
    assert found.reach == ("caller", "options of the call", "later prompts")
    assert found.paths["caller"] == "caller.providerOptions.x.k"


@pytest.mark.parametrize(
    ("profile", "reach"), [(NOW, ()), (BEFORE, ("options of the call", "later prompts"))]
)
def test_a_model_setting_is_this_steps_or_the_calls(profile: str, reach: tuple[str, ...]) -> None:
    found = written(profile, lambda args: args["modelSettings"].update(topP=0.1))
    assert (found.reach, found.prompts[0]) == (reach, 0)


@EVERY
def test_a_description_of_a_tool_is_told_from_then_on(profile: str) -> None:
    found = written(profile, lambda args: args["tools"]["look"].update(description="other"))
    assert found.reach == ("options of the call", "later prompts")


@EVERY
def test_what_a_tool_writes_into_its_input_reaches_nothing(profile: str) -> None:
    tool = Tool(execute=lambda given: given.update(a=2))
    (found,) = mastra.run(profile, settings(tools={"look": tool})).pollution
    assert (found.verdict, found.reach, found.prompts) == (Verdict.EPHEMERAL, (), ())


@EVERY
def test_an_answers_text_written_at_the_next_step_is_in_that_prompt(profile: str) -> None:
    def change(args: Any) -> None:
        part = next(part for part in args["messages"][-1]["content"]["parts"] if part["type"] == "text")
        part["text"] = "written"

    (found,) = mastra.run(
        profile, settings(([text("a"), CALL], [text("b")]), prepare_step=at_step(1, change))
    ).pollution
    assert "conversation" in found.reach
    assert found.prompts == (1,)
