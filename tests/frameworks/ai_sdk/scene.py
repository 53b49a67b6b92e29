"""Short runs of the compat mode with a scripted model, and what was seen in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from agentcore.frameworks.ai_sdk.emulation.loop import AiSdkLoop
from agentcore.frameworks.ai_sdk.emulation.settings import Hooks, Model, Settings, Tool
from agentcore.frameworks.ai_sdk.profiles import PROFILES
from agentcore.heap.views import Desk, View

STREAM: Final = "ai-sdk-6/stream"
GENERATE: Final = "ai-sdk-6/generate"
Part = dict[str, Any]


def says(text: str, **fields: Any) -> Part:
    return {"type": "text", "text": text, **fields}


def calls(call_id: str, tool: str = "look", **fields: Any) -> Part:
    return {"type": "tool-call", "toolCallId": call_id, "toolName": tool, "input": {"of": call_id}, **fields}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def user_list(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [says(text)]}


# Two steps with a call, then an answer.
SCRIPT: Final[Sequence[Sequence[Part]]] = (
    (says("first"), calls("c0")),
    (says("second"), calls("c1")),
    (says("third"),),
)


def look(given: Any, options: Any) -> Any:
    del given
    return {"found": options["toolCallId"]}


def approval(call_id: str, *, approved: bool, **fields: Any) -> list[dict[str, Any]]:
    """A history that ends with an answer to a request for approval."""
    request = {"type": "tool-approval-request", "approvalId": "asked", "toolCallId": call_id}
    answer = {"type": "tool-approval-response", "approvalId": "asked", "approved": approved, **fields}
    return [
        user("go on"),
        {"role": "assistant", "content": [calls(call_id), request]},
        {"role": "tool", "content": [answer]},
    ]


def live(near: View, value: Any) -> Any:
    """A new object of the heap that a hook holds on to."""
    return near.desk.view(near.desk.slot(value), ("kept",))


def dump(value: Any) -> str:
    return json.dumps(value, default=str)


class Scene:
    """One run: `run` plays it; the rest is what was seen, one entry a step."""

    def __init__(  # noqa: PLR0913 - a scene is told by what it is given
        self,
        path: str,
        *,
        messages: Sequence[Any] = (user_list("hello"),),
        script: Sequence[Sequence[Part]] = SCRIPT,
        tools: Mapping[str, Tool] | None = None,
        options: Mapping[str, Any] | None = None,
        system: Any = None,
        frozen: bool = False,
        max_steps: int = 20,
        desk: Desk | None = None,
        on_prompt: Callable[[Any], None] | None = None,
        on_parts: Callable[[Any], None] | None = None,
        **hooks: Callable[[Any], Any],
    ) -> None:
        self.script = script
        self.hooks = hooks
        self.on_prompt = on_prompt
        self.on_parts = on_parts
        self.prepared: list[Any] = []
        self.arrays: list[Any] = []
        self.requests: list[Any] = []
        self.models: list[str] = []
        self.reports: list[Any] = []
        settings = Settings(
            messages=messages,
            model=self.model("m"),
            tools={"look": Tool(execute=look)} if tools is None else tools,
            system=system,
            options=options or {},
            hooks=Hooks(**{**hooks, "prepare_step": self._prepare, "on_step_finish": self._finish}),
            max_steps=max_steps,
            frozen=frozen,
        )
        self.loop = AiSdkLoop(PROFILES[path], settings, desk)
        self.desk = self.loop.desk
        self.caller = self.desk.view(self.loop.caller)
        self.error: BaseException | None = None

    def model(self, model_id: str) -> Model:
        """A model that answers from the scene's script."""

        def answer(options: Any) -> Any:
            self.models.append(model_id)
            self.requests.append(options.thaw())
            if self.on_prompt is not None:
                self.on_prompt(options)
            return self.script[len(self.requests) - 1]

        return Model(id=model_id, answer=answer, on_parts=self.on_parts)

    def _prepare(self, given: Any) -> Any:
        self.prepared.append(given["messages"].thaw())
        self.arrays.append(given["messages"])
        hook = self.hooks.get("prepare_step")
        return None if hook is None else hook(given)

    def _finish(self, result: Any) -> None:
        self.reports.append(result["response"]["messages"].thaw())
        hook = self.hooks.get("on_step_finish")
        if hook is not None:
            hook(result)

    def run(self) -> Scene:
        self.error = self.loop.run().error
        return self

    @property
    def prompts(self) -> list[Any]:
        return [request["prompt"] for request in self.requests]

    @property
    def steps(self) -> Any:
        """The result's steps."""
        assert self.loop.outcome.steps is not None
        return self.desk.view(self.loop.outcome.steps)

    @property
    def failure(self) -> tuple[str, str]:
        """The error's name and text."""
        assert self.error is not None
        return getattr(self.error, "name", type(self.error).__name__), str(self.error)
