"""Models as objects that hooks can hold and return: what they answer is scripted by the caller."""

from __future__ import annotations

from functools import partial
from typing import Final

from agentcore.frameworks.ai_sdk.emulation.calls import called
from agentcore.frameworks.ai_sdk.emulation.record import Sent
from agentcore.frameworks.ai_sdk.emulation.settings import Model
from agentcore.heap.heap import Function, HeapTypeError, PatternCell, Ref, Value
from agentcore.heap.host_values import answer_parts
from agentcore.heap.js import PackageError, get, is_object
from agentcore.heap.views import Desk

_CALLS: Final = ("doGenerate", "doStream")


class Models:
    """Makes and calls the models of a run."""

    def __init__(self, desk: Desk, version: str, call: str) -> None:
        self.desk = desk
        self.version = version
        self.call = call
        self.store = desk.store

    def new(self, model: Model) -> Ref:
        """A model object."""
        return self.store.object(
            {
                "specificationVersion": self.version,
                "provider": "scripted",
                "modelId": model.id,
                "supportedUrls": self.store.object(
                    {"*/*": self.store.array([self.store.object({}, PatternCell)])}
                ),
                **{name: Function(name=name, call=partial(self._answer, model)) for name in _CALLS},
            }
        )

    def _answer(self, model: Model, options: Ref) -> Sent:
        self.desk.hook = "model"
        with self.desk.acting("model"):
            parts = answer_parts(self.desk, called(model.answer, self.desk.hand(options, ("model",))))
        refs, inputs = [], {}
        for part in parts:
            kept = {key: self.store.load(value) for key, value in part.items() if key != "input"}
            refs.append(self.store.object(kept))
            inputs[refs[-1].address] = part.get("input")
        reason = "tool-calls" if any(part["type"] == "tool-call" for part in parts) else "stop"
        sent = Sent(parts=self.store.array(refs), inputs=inputs, finish_reason=reason)
        if model.on_parts is not None:
            model.on_parts(self.desk.hand(sent.parts, ("model parts",)))
        return sent

    def resolved(self, model: Value) -> Ref:
        """The model that the package takes a value for.

        Raises:
            PackageError: if it takes it for none.
        """
        if not is_object(model):
            raise PackageError("AI_NoSuchModelError", "a model is an object here, not a name of a gateway's")
        if get(self.store, model, "specificationVersion") not in ("v2", "v3", self.version):
            raise PackageError("AI_UnsupportedModelVersionError", "Unsupported model version")
        return model  # type: ignore[return-value]

    def info(self, model: Ref) -> Ref:
        """What events and results tell of a model."""
        return self.store.object({key: get(self.store, model, key) for key in ("provider", "modelId")})

    def answered(self, model: Ref, options: Ref) -> Sent:
        """What the model answers to a call.

        Raises:
            HeapTypeError: if a hook took away what is called.
        """
        answer = get(self.store, model, self.call)
        if not isinstance(answer, Function) or answer.call is None:
            raise HeapTypeError(f"stepModel.{self.call} is not a function")
        return answer.call(options)  # type: ignore[no-any-return]
