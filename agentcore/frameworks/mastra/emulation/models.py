"""Models of a run: the objects that stand for them, and calling them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from agentcore.frameworks.mastra.emulation.errors import MastraError
from agentcore.frameworks.mastra.emulation.settings import Model, Router
from agentcore.frameworks.mastra.profiles import MastraProfile
from agentcore.heap.heap import Ref, Store, Value
from agentcore.heap.host_values import answer_parts, unfit
from agentcore.heap.js import PackageError, get, text
from agentcore.heap.views import Desk, View

_PROVIDER: Final = "scripted"


@attrs.frozen
class Fallback:
    """One of an agent's models, with how often a failed call of it is made again."""

    model: Ref
    max_retries: int
    configured: bool


class Models:
    """The models that a run knows, by the objects that stand for them."""

    def __init__(self, desk: Desk, profile: MastraProfile) -> None:
        self.desk = desk
        self.profile = profile
        self.store: Store = desk.store
        self.known: dict[int, Model | Router] = {}

    def wrap(self, model: Model) -> Ref:
        """A new object for a model, as processors are given it."""
        version = model.version if model.version in self.profile.models else "v2"
        made = self.store.object(
            {"specificationVersion": version, "provider": _PROVIDER, "modelId": model.id}
        )
        self.known[made.address] = model
        return made

    def returned(self, value: Any, processor_id: str, step: Value) -> Ref:
        """The object for a model that a processor returned; an old one fails (rule mastra.old-model-refused).

        Raises:
            MastraError: for a model of a version that the loop cannot call.
            PackageError: for what is no model.
        """
        if isinstance(value, View) and value.ref.address in self.known:
            return value.ref
        if isinstance(value, str | Router):
            return self._routed(value if isinstance(value, str) else value.name)
        if not isinstance(value, Model):
            raise PackageError("Error", "Invalid model configuration provided")
        supported = self.profile.models
        if value.version not in supported and (value.version == "v1" or not self.profile.adapts_models):
            raise MastraError(
                "PROCESSOR_RETURNED_UNSUPPORTED_MODEL",
                f"Processor {processor_id} returned an unsupported model version {value.version} in step "
                f"{text(self.store, step)}. "
                f"Only {', '.join(supported)} models are supported in processInputStep.",
            )
        return self.wrap(value)

    def _routed(self, name: str) -> Ref:
        provider, slash, model = name.partition("/")
        if not slash:
            why = "but this ID doesn't appear to contain a provider"
            raise PackageError("Error", f"Attempted to parse provider/model from {name} {why}")
        made = self.store.object({"specificationVersion": "v2", "provider": provider, "modelId": model})
        self.known[made.address] = Router(name)
        return made

    def answered(self, model: Ref, options: Ref) -> list[Any]:
        """What a model answers: parts as plain JSON.

        Raises:
            Exception: what the model raises.
            PackageError: from a model of the router's, which has no key.
        """
        known = self.known[model.address]
        if isinstance(known, Router):
            key = f"process.env.{known.name.partition('/')[0].upper()}_API_KEY"
            raise PackageError("Error", f"Could not find API key {key} for model id {known.name}")
        with self.desk.acting("model"):
            parts = answer_parts(self.desk, known.answer(self.desk.hand(options, ("model",))))
            for index, part in enumerate(parts):
                _require_known(self.desk, part, index)
        return list(parts)

    def named(self, model: Value) -> str | None:
        """Provider and name of a model, None if it lacks one."""
        provider, own_id = get(self.store, model, "provider"), get(self.store, model, "modelId")
        return f"{text(self.store, provider)}/{text(self.store, own_id)}" if provider and own_id else None


def _require_known(desk: Desk, part: Mapping[str, Any], index: int) -> None:
    if part["type"] not in ("text", "reasoning", "tool-call"):
        raise desk.refuse(unfit(f"$[{index}].type", part["type"], "text, reasoning or tool-call"))
    for name in ("toolCallId", "toolName") if part["type"] == "tool-call" else ("text",):
        if not isinstance(part.get(name), str):
            raise desk.refuse(unfit(f"$[{index}].{name}", part.get(name), "a text"))
