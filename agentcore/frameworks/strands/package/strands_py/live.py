"""The SDK's contexts, results and events, their fields by their names in programs, and who holds them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import places
from places import MISSING, Place
from strands.hooks import events as hook_events
from strands.types.events import ToolResultEvent

if TYPE_CHECKING:
    from run import Run

Json = dict[str, Any]


class Live(places.Shape):
    """The named fields of a live object: `(shape, get, put)` each; one without `put` stays what it is."""

    def __init__(
        self, fields: dict[str, tuple[places.Shape, Callable[[], Any], Callable[[Any], None] | None]]
    ) -> None:
        self.fields = fields

    def step(self, native: Any, key: Any) -> Place | None:
        del native
        if key not in self.fields:
            return None
        shape, get, put = self.fields[key]
        return Place(shape, get(), put, None, put)


def live(fields: dict[str, Any]) -> Place:
    return Place(Live(fields), fields)


def attribute(shape: places.Shape, holder: Any, name: str) -> tuple[Any, Any, Any]:
    def get() -> Any:
        value = getattr(holder, name)
        return MISSING if value is None and shape is not places.SYSTEM else value

    return shape, get, lambda value: setattr(holder, name, value)


def constant(shape: places.Shape, value: Any) -> tuple[Any, Any, Any]:
    return shape, lambda: value, None


def context_root(stage: str, context: Any) -> Place:
    state = {"invocationState": attribute(places.STATE, context, "invocation_state")}
    if stage == "model":
        return live(
            {
                "messages": attribute(places.MESSAGES, context, "messages"),
                "system": attribute(places.SYSTEM, context, "system_prompt"),
                "toolSpecs": attribute(places.SPECS, context, "tool_specs"),
                "toolChoice": attribute(places.DICTIONARY, context, "tool_choice"),
                **state,
            }
        )
    if stage == "tool":
        return live({"toolUse": attribute(places.TOOL_USE, context, "tool_use"), **state})
    return live({"args": attribute(places.MESSAGES, context, "messages"), **state})


class Held:
    """The result event of a stage. Its fields are replaced as the SDK asks for: by another event."""

    def __init__(self, stage: str, event: Any) -> None:
        self.stage = stage
        self.event = event

    def root(self) -> Place:
        if self.stage == "tool":
            put = lambda value: self._put(ToolResultEvent(value, self.event.exception))  # noqa: E731
            return live({"toolResult": (places.TOOL_RESULT, lambda: self.event.tool_result, put)})
        name = "message" if self.stage == "model" else "lastMessage"
        return live(
            {
                name: (places.MESSAGE, lambda: self.event["stop"][1], lambda value: self._stop(1, value)),
                "stopReason": (
                    places.STOP_REASON,
                    lambda: self.event["stop"][0],
                    lambda value: self._stop(0, value),
                ),
            }
        )

    def _put(self, event: Any) -> None:
        self.event = event

    def _stop(self, index: int, value: Any) -> None:
        parts = list(self.event["stop"])
        parts[index] = value
        self.event = type(self.event)(*parts)


def event_root(on: str, event: Any) -> Place:
    """The fields of a hook's event by their names in programs."""
    fields: dict[str, Any] = {}
    if on in {"messageAdded", "beforeTools", "afterTools"}:
        fields["message"] = constant(places.MESSAGE, event.message)
    if on == "afterModel" and event.stop_response is not None:
        fields["message"] = constant(places.MESSAGE, event.stop_response.message)
        fields["stopReason"] = constant(places.STOP_REASON, event.stop_response.stop_reason)
    if on == "beforeTool":
        fields["toolUse"] = attribute(places.TOOL_USE, event, "tool_use")
    if on == "afterTool":
        fields["toolUse"] = constant(places.TOOL_USE, event.tool_use)
        fields["toolResult"] = attribute(places.TOOL_RESULT, event, "result")
    if on != "messageAdded":
        fields["invocationState"] = constant(places.STATE, event.invocation_state)
    return live(fields)


EVENTS = {
    "beforeInvocation": hook_events.BeforeInvocationEvent,
    "afterInvocation": hook_events.AfterInvocationEvent,
    "messageAdded": hook_events.MessageAddedEvent,
    "beforeModel": hook_events.BeforeModelCallEvent,
    "afterModel": hook_events.AfterModelCallEvent,
    "beforeTools": hook_events.BeforeToolsEvent,
    "afterTools": hook_events.AfterToolsEvent,
    "beforeTool": hook_events.BeforeToolCallEvent,
    "afterTool": hook_events.AfterToolCallEvent,
}


# ---------------------------------------------------------------- who holds what


def held(run: Run) -> dict[int, Any]:
    """All objects of the agent and of the caller, by their id()."""
    agent = run.agent
    found: dict[int, Any] = {}
    for shape, native in [
        (places.MESSAGES, agent.messages),
        (places.SYSTEM, agent._system_prompt_content),
        (places.SPECS, run.own_specs()),
        (places.JSON, agent._model_state),
        (places.MESSAGES, run.messages),
        (places.SYSTEM, run.system),
        *((places.INPUT, given) for given in run.inputs),
        (places.STATE, run.state),
    ]:
        found.update(places.objects_of(Place(shape, native), []))
    return found


def identity(run: Run, root: Place) -> Json:
    """Of every field of a context or a result whether it is one of these objects, or holds some."""
    known = held(run)
    return {name: _held_in(name, root.shape.step(root.native, name), known) for name in root.native}


def _held_in(name: str, place: Place | None, known: dict[int, Any]) -> Json:
    native = MISSING if place is None else place.native
    if native is MISSING or (native is None and name == "system"):
        return {"mode": "absent"}
    if not isinstance(native, (dict, list)):
        return {"mode": "value"}
    # Nothing outside the loop holds the tool choice that it forces.
    if name == "toolChoice":
        return {"mode": "unknown"}
    if id(native) in known:
        return {"mode": "share"}
    paths = [path for path, _ in places.shared(place, [name], known)]
    return {"mode": "shallow", "paths": paths} if paths else {"mode": "deep"}


def aliases(run: Run, outcomes: list[Any]) -> Json:
    """Which objects of one are objects of the other."""
    history = Place(places.MESSAGES, run.agent.messages)
    known = places.objects_of(history, [])
    inputs: dict[int, Any] = {}
    for index, given in enumerate(run.inputs):
        inputs = places.objects_of(Place(places.INPUT, given), [index]) | inputs
    last = [
        pair
        for index, outcome in enumerate(outcomes)
        if not isinstance(outcome, Exception)
        for pair in places.shared(Place(places.MESSAGE, outcome.message), [index], known)
    ]
    config = places.objects_of(Place(places.MESSAGES, run.messages), [])
    return {
        "historyAndConfig": places.shared(history, [], config),
        "historyAndInput": places.shared(history, [], inputs),
        "resultAndHistory": last,
        "resultStateAndCaller": [],
    }
