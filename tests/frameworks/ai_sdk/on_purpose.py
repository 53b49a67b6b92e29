"""What the immutable core does otherwise than AI SDK 6 on purpose, as it shows in traces.

One function per Difference, of three kinds: changes of the profile that the core is compared with, changes of
the two traces, and programs that are not compared. Differences without a function here show only where
something is written in place.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final, TypeAlias

import attrs

from agentcore.frameworks.ai_sdk import immutable
from agentcore.frameworks.ai_sdk.family import COMPARISON
from agentcore.frameworks.ai_sdk.profiles import PROFILES, AiSdkProfile, Failure, ModelInfo
from agentcore.frameworks.ai_sdk.reference import Recording
from agentcore.kit import compare
from agentcore.messages.converters import parse_url
from agentcore.requirements.differences import Difference

Json: TypeAlias = dict[str, Any]
Pair: TypeAlias = tuple[Json, Json]
ProfileChange: TypeAlias = Callable[[AiSdkProfile], AiSdkProfile]
TraceChange: TypeAlias = Callable[[Json, Json, Json], Pair]

IN_PLACE: Final = ("set", "append", "clear", "delete", "freeze")
PATH_OPS: Final = ("keep", "$ref", "$clone")


# ---------------------------------------------------------------- programs


def without_writes(program: Json) -> Json:
    """The program without ops that write in place, or freeze."""
    changed = dict(program)
    if "hooks" in program:
        changed["hooks"] = {
            name: [_kept(ops) for ops in per_step] for name, per_step in program["hooks"].items()
        }
    if "tools" in program:
        changed["tools"] = {
            name: tool | ({"mutate": _kept(tool["mutate"])} if "mutate" in tool else {})
            for name, tool in program["tools"].items()
        }
    return changed


def _kept(ops: list[Json] | None) -> list[Json] | None:
    return ops and [op for op in ops if not any(verb in op for verb in IN_PLACE)]


def writes_its_own(program: Json) -> bool:
    """Whether some op writes what is the program's own: a tool's input or output, or what was kept."""
    tools = program.get("tools") or {}
    ops = [*_hook_ops(program), *(op for tool in tools.values() for op in tool.get("mutate") or ())]
    paths = [op[verb] for op in ops for verb in IN_PLACE if verb in op]
    return any(path[0] in ("input", "output") or path[0].startswith("$") for path in paths)


def _hook_ops(program: Json, *names: str) -> Iterator[Json]:
    hooks = program.get("hooks", {})
    for name in names or hooks:
        for ops in hooks.get(name, ()):
            yield from ops or ()


def _returned(program: Json, step: int, field: str) -> Any:
    """What `prepareStep` returns as a field in a step, or None."""
    per_step = program.get("hooks", {}).get("prepareStep", [])
    ops = (per_step[step] if step < len(per_step) else None) or ()
    returned = next((op["return"] for op in ops if "return" in op), None) or {}
    return returned.get(field)


def _calls(program: Json) -> Iterator[list[Json]]:
    for parts in program["script"]:
        yield [part for part in parts if part["type"] == "tool-call"]


# ---------------------------------------------------------------- changes of the profile


def approvals_as_stream(profile: AiSdkProfile) -> AiSdkProfile:
    """Only generateText names approvals in denials, puts the provider's last, and adds empty messages."""
    return attrs.evolve(
        profile, denial_names_approval=False, provider_answers_first=True, keeps_empty_results=False
    )


def content_as_generate(profile: AiSdkProfile) -> AiSdkProfile:
    """Only streamText records what is ready first first."""
    return attrs.evolve(profile, pace=None)


def failure_keeps_steps(profile: AiSdkProfile) -> AiSdkProfile:
    """Only generateText loses the steps of a run that fails."""
    return attrs.evolve(profile, failure=Failure.REPORTED)


def step_names_its_model(profile: AiSdkProfile) -> AiSdkProfile:
    """Only streamText records a step under a model that it did not call."""
    return attrs.evolve(
        profile,
        records_step_model=True,
        model_info_made=ModelInfo.STEP,
        response_model_of_info=False,
    )


def answers_bring_results(profile: AiSdkProfile) -> AiSdkProfile:
    """Only older releases of the package ask a model about an approved call without a result."""
    return attrs.evolve(profile, approvals_excuse_results=False)


PROFILE_CHANGES: Final[Mapping[Difference, ProfileChange]] = {
    Difference.ANSWERS_BRING_RESULTS: answers_bring_results,
    Difference.APPROVALS_AS_STREAM: approvals_as_stream,
    Difference.CONTENT_AS_GENERATE: content_as_generate,
    Difference.FAILURE_KEEPS_STEPS: failure_keeps_steps,
    Difference.STEP_NAMES_ITS_MODEL: step_names_its_model,
}


# ---------------------------------------------------------------- changes of the traces


def settles(_: Json, theirs: Json, ours: Json) -> Pair:
    """A failure once the model has answered leaves the package's result unsettled."""
    if theirs.get("hung"):
        theirs = {key: value for key, value in theirs.items() if key != "hung"}
        return theirs | {"final": None}, ours | {"final": None}
    return theirs, ours


def errors_are_text(_: Json, theirs: Json, ours: Json) -> Pair:
    """The package's content holds error objects, which a trace shows as name and message."""
    return theirs | {key: _as_text(theirs[key]) for key in ("steps", "final")}, ours


def _as_text(value: Any) -> Any:
    if isinstance(value, list):
        return [_as_text(item) for item in value]
    if not isinstance(value, dict):
        return value
    if [*value] == ["name", "message"]:
        return value["message"]
    return {key: _as_text(item) for key, item in value.items()}


def failed_run_does_not_finish(_: Json, theirs: Json, ours: Json) -> Pair:
    """Where the package finishes a failed run, an op of onFinish may have gone nowhere."""
    if theirs["error"] is None:
        return theirs, ours
    return theirs | {
        "opErrors": [text for text in theirs.get("opErrors", ()) if ", onFinish, " not in text]
    }, ours


def hook_failure_fails(program: Json, theirs: Json, ours: Json) -> Pair:
    """Where an observer throws the core's run is over, and the package's goes on."""
    throws = any("throw" in op for op in _hook_ops(program, "onStepStart", "onStepFinish", "onFinish"))
    return _cut(theirs, ours) if throws and _error_name(ours) == "Error" else (theirs, ours)


def overrides_checked(_: Json, theirs: Json, ours: Json) -> Pair:
    """What is refused as an override the package passes on or ignores."""
    refused = _error_name(ours) in ("WireError", "InvalidOverrideError")
    return _cut(theirs, ours) if refused else (theirs, ours)


def prompts_validated(_: Json, theirs: Json, ours: Json) -> Pair:
    """A prompt that is refused once the run has begun the package sends."""
    refused = _error_name(ours) == "AI_InvalidPromptError" and ours["steps"]
    return _cut(theirs, ours) if refused else (theirs, ours)


def urls_kept(_: Json, theirs: Json, ours: Json) -> Pair:
    """The package writes the address of a file as its URL parser does."""
    steps = [
        step | {"prompt": _with_hrefs(step["prompt"])} if "prompt" in step else step for step in ours["steps"]
    ]
    return theirs, ours | {"steps": steps}


def _with_hrefs(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_hrefs(item) for item in value]
    if not isinstance(value, dict):
        return value
    url = parse_url(value.get("data", "")) if value.get("type") == "file" else None
    return {key: _with_hrefs(item) for key, item in value.items()} | ({"data": url.href} if url else {})


def _error_name(trace: Json) -> Any:
    return (trace.get("error") or {}).get("name")


def _cut(theirs: Json, ours: Json) -> Pair:
    """Both traces as far as the core's goes."""
    if not ours["steps"]:
        return {"steps": [], "caller": theirs["caller"]}, {"steps": [], "caller": ours["caller"]}
    last = len(ours["steps"]) - 1
    ends = [trace["steps"][last] if last < len(trace["steps"]) else {} for trace in (theirs, ours)]
    reached = [key for key, value in ends[1].items() if value != []]
    cut = [
        {"steps": [*trace["steps"][:last], {key: end.get(key) for key in reached}], "caller": trace["caller"]}
        for trace, end in zip((theirs, ours), ends, strict=True)
    ]
    return cut[0], cut[1]


TRACE_CHANGES: Final[Mapping[str, tuple[Difference, TraceChange]]] = {
    "settles": (Difference.FAILURE_KEEPS_STEPS, settles),
    "errors_are_text": (Difference.ERRORS_ARE_TEXT, errors_are_text),
    "failed_run_does_not_finish": (Difference.FAILED_RUN_DOES_NOT_FINISH, failed_run_does_not_finish),
    "hook_failure_fails": (Difference.HOOK_FAILURE_FAILS, hook_failure_fails),
    "overrides_checked": (Difference.OVERRIDES_CHECKED, overrides_checked),
    "prompts_validated": (Difference.PROMPTS_VALIDATED, prompts_validated),
    "urls_kept": (Difference.URLS_KEPT, urls_kept),
}


# ---------------------------------------------------------------- programs that are not compared


def context_lasts_its_step(program: Json) -> bool:
    """A context is overridden, and some op looks at contexts or at whole steps, which hold them."""
    overridden = any(
        (op.get("return") or {}).get("experimental_context") is not None for op in _hook_ops(program)
    )
    return overridden and any(_looks_at_contexts(path) for path in _paths(program))


def _looks_at_contexts(path: list[Any]) -> bool:
    return "experimental_context" in path or path[0] == "steps"


def _paths(value: Any) -> Iterator[list[Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key in PATH_OPS and isinstance(item, list):
                yield item
            yield from _paths(item)
    elif isinstance(value, list):
        for item in value:
            yield from _paths(item)


def results_in_call_order(program: Json) -> bool:
    """An invalid call comes after one that can run."""
    for calls in _calls(program):
        answered = [call for call in calls if not call.get("providerExecuted") or _is_odd(call, program)]
        known = [call["toolName"] in program.get("tools", {}) for call in answered]
        if known != sorted(known):
            return True
    return False


def _is_odd(call: Json, program: Json) -> bool:
    """Whether the provider executes it, and the package takes it for an invalid one all the same."""
    known = call["toolName"] in program.get("tools", {}) or call.get("dynamic")
    return bool(call.get("providerExecuted") and not known)


def hidden_tool_is_an_error(program: Json) -> bool:
    """A tool is called in a step whose active tools leave it out."""
    tools = program.get("tools", {})
    for step, calls in enumerate(_calls(program)):
        active = _returned(program, step, "activeTools")
        active = program.get("options", {}).get("activeTools") if active is None else active
        if active is not None and any(call["toolName"] in {*tools} - {*active} for call in calls):
            return True
    return False


def tool_choice_enforced(program: Json) -> bool:
    """A step's tool choice forbids a call that its model makes, or requires one that it does not make."""
    if not program.get("tools"):
        return False
    every = program.get("options", {}).get("toolChoice")
    # One step more than the script has: the model answers nothing there.
    for step, calls in enumerate([*_calls(program), []]):
        own = _returned(program, step, "toolChoice")
        choice = every if own is None else own
        named = choice.get("toolName") if isinstance(choice, dict) else None
        names = [call["toolName"] for call in calls]
        if (choice == "none" and names) or (choice == "required" and not names):
            return True
        if named is not None and {*names} != {named}:
            return True
    return False


def loop_counts_by_call(program: Json) -> bool:
    """Client calls of a step stand beside a provider-executed one of no known tool."""
    return any(
        any(_is_odd(call, program) for call in calls)
        and not all(call.get("providerExecuted") for call in calls)
        for calls in _calls(program)
    )


def same_id_calls_kept(program: Json) -> bool:
    """Calls of one answer share an id."""
    ids = ([call["toolCallId"] for call in calls] for calls in _calls(program))
    return any(len({*step}) < len(step) for step in ids)


def steps_are_values(program: Json) -> bool:
    """The array of steps is kept, which is the package's own, and longer when it is looked at."""
    ops = _hook_ops(program, "prepareStep", "stopWhen", "onFinish")
    return any(op.get("keep") == ["steps"] for op in ops)


def nothing_is_null(program: Json) -> bool:
    """A tool returns nothing."""
    tools = program.get("tools", {}).values()
    return any(
        not {"output", "error", "noExecute"} & {*tool} and tool.get("returns") != "input" for tool in tools
    )


def system_messages_added(program: Json) -> bool:
    """A step hook returns messages with a new system message among them."""
    returned = (op["return"].get("messages") for op in _hook_ops(program) if "return" in op)
    return any(_has_system_message(messages) for messages in returned)


def _has_system_message(value: Any) -> bool:
    if isinstance(value, dict):
        return value.get("role") == "system" or any(map(_has_system_message, value.values()))
    return isinstance(value, list) and any(map(_has_system_message, value))


_MESSAGE_KEYS: Final = frozenset({"role", "content", "providerOptions"})


def unknown_fields_refused(program: Json) -> bool:
    """A message of the caller's has a field that messages do not have."""
    return any({*message} - _MESSAGE_KEYS for message in program["messages"] if isinstance(message, dict))


EXCLUDED: Final[Mapping[Difference, Callable[[Json], bool]]] = {
    Difference.CONTEXT_LASTS_ITS_STEP: context_lasts_its_step,
    Difference.RESULTS_IN_CALL_ORDER: results_in_call_order,
    Difference.HIDDEN_TOOL_IS_AN_ERROR: hidden_tool_is_an_error,
    Difference.LOOP_COUNTS_BY_CALL: loop_counts_by_call,
    Difference.NOTHING_IS_NULL: nothing_is_null,
    Difference.SAME_ID_CALLS_KEPT: same_id_calls_kept,
    Difference.STEPS_ARE_VALUES: steps_are_values,
    Difference.SYSTEM_MESSAGES_ADDED: system_messages_added,
    Difference.TOOL_CHOICE_ENFORCED: tool_choice_enforced,
    Difference.UNKNOWN_FIELDS_REFUSED: unknown_fields_refused,
}


# ---------------------------------------------------------------- comparison


def excluded(program: Json) -> bool:
    """Whether the traces of the program are not compared."""
    return any(applies(program) for applies in EXCLUDED.values())


def difference(program: Json, off: Collection[str] = ()) -> compare.Difference | None:
    """The first difference between the package's trace and the core's, but for what is on purpose.

    `off` names functions of this module that are not applied.
    """
    profile = PROFILES[f"ai-sdk-6/{program['path']}"]
    for profile_change in PROFILE_CHANGES.values():
        if profile_change.__name__ not in off:
            profile = profile_change(profile)
    theirs, ours = Recording(profile, program).trace(), immutable.trace(program)
    for name, (_, trace_change) in TRACE_CHANGES.items():
        if name not in off:
            theirs, ours = trace_change(program, theirs, ours)
    return compare.differences(theirs, ours, COMPARISON)
