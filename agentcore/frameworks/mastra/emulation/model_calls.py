"""Models of a run: the objects that stand for them, what is checked of them, and calling them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import attrs

from agentcore.frameworks.mastra.emulation.errors import MastraError
from agentcore.frameworks.mastra.emulation.forms import has
from agentcore.frameworks.mastra.emulation.settings import Model, Router
from agentcore.frameworks.mastra.profiles import MastraProfile
from agentcore.heap.heap import UNDEFINED, HeapTypeError, Ref, Store, Value
from agentcore.heap.js import PackageError, fields, get, is_array, is_nullish, text
from agentcore.heap.loading import answer_parts, unfit
from agentcore.heap.views import Desk, View

_PROVIDER: Final = "scripted"
_SAMPLING: Final = ("temperature", "topP", "topK")
# How the providers of a family's models begin, and the names of its models; the first that fits counts.
_FAMILIES: Final = tuple(
    (family, re.compile(rf"({begins})($|[.-])", re.IGNORECASE), re.compile(f"({begins})[/:]", re.IGNORECASE))
    for family, begins in (
        ("anthropic", "anthropic"),
        ("openai", "openai|azure"),
        ("google", "google|vertex"),
    )
)
_GEMINI: Final = re.compile("gemini-([0-9]+)", re.IGNORECASE)
_GEMINI_ENDS_WITH_THE_USER: Final = 3
_ROUTED: Final = ("openai", "anthropic")
_LIMITS: Final = ("totalMs", "stepMs", "firstChunkMs")
_NO_MODEL: Final = "Invalid model configuration provided"


class NoKeyError(PackageError):
    """A model of the router's has no key: it answers with this error, and no other model is asked."""


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
            {
                "specificationVersion": version,
                "provider": _PROVIDER,
                "modelId": model.id,
                "supportedUrls": self.store.object({}),
            }
        )
        self.known[made.address] = model
        return made

    def returned(self, value: Any, processor_id: str, step: Value) -> Ref:
        """The object for a model that a processor returned; an old one fails (rule mastra.old-model-refused).

        Raises:
            MastraError: for a model of a version that the loop cannot call.
            PackageError: for what is no model.
        """
        if isinstance(value, str | Router):
            return self._routed(value if isinstance(value, str) else value.name)
        if not isinstance(value, Model):
            return self._object(value, processor_id, step)
        known = value.version in self.profile.models
        if not known and (value.version == "v1" or not self.profile.adapts_models):
            raise self._refused(value.version, processor_id, step)
        return self.wrap(value)

    def _object(self, value: Any, processor_id: str, step: Value) -> Ref:
        """The object itself, if it is of a model that can still be called: a hook may have written it."""
        model: Value = self.desk.slot(value) if isinstance(value, View | Mapping) else value
        if not isinstance(model, Ref) or is_array(self.store, model):
            raise PackageError("Error", _NO_MODEL)
        own = model.address in self.known
        if own or has(self.store, model, "specificationVersion"):
            version = get(self.store, model, "specificationVersion")
            if not self._can_be_called(version):
                raise self._refused(text(self.store, version), processor_id, step)
        elif not _is_configured(self.store, model):
            raise PackageError("Error", _NO_MODEL)
        if not own:
            raise self.desk.leave_out("a model given as an object of JSON", "return a Model, or its name")
        return model

    def _refused(self, version: str, processor_id: str, step: Value) -> MastraError:
        return MastraError(
            "PROCESSOR_RETURNED_UNSUPPORTED_MODEL",
            f"Processor {processor_id} returned an unsupported model version {version} in step "
            f"{text(self.store, step)}. "
            f"Only {', '.join(self.profile.models)} models are supported in processInputStep.",
        )

    def _can_be_called(self, version: Value) -> bool:
        return isinstance(version, str) and version in self.profile.models

    def check_version(self, model: Value) -> None:
        """Checks that a model is still of a version that the loop can call: a hook may have written it.

        Raises:
            PackageError: if it is not.
        """
        version = get(self.store, model, "specificationVersion")
        if not self._can_be_called(version):
            known = ", ".join(self.profile.models)
            told = f"Unsupported model version: {text(self.store, version)}. Supported versions: {known}"
            raise PackageError("Error", told)

    def _family(self, model: Value) -> str | None:
        """Whose models the package takes a model for, by its provider and its name; None for others."""
        provider, own_id = (get(self.store, model, name) for name in ("provider", "modelId"))
        for family, by_provider, by_id in _FAMILIES:
            if isinstance(provider, str) and by_provider.match(provider):
                return family
            if isinstance(own_id, str) and by_id.match(own_id):
                return family
        return None

    def ends_with_the_user(self, model: Value) -> bool:
        """True if the package has a conversation end with the user for a model, whatever it is asked for."""
        if not self.profile.knows_providers or self._family(model) != "google":
            return False
        own_id = get(self.store, model, "modelId")
        release = _GEMINI.search(own_id) if isinstance(own_id, str) else None
        return release is None or int(release[1]) >= _GEMINI_ENDS_WITH_THE_USER

    def check_settings(self, model: Value, settings: Value) -> None:
        """Checks that no setting is one that the package sends to some models only.

        Raises:
            NotEmulatedError: for one of another provider's than the scripted models have.
        """
        own = fields(self.store, settings)
        named = f"{get(self.store, model, 'provider')}/{text(self.store, get(self.store, model, 'modelId'))}"
        known = named.startswith(f"{_PROVIDER}/") and named.count("/") == 1
        for name in _SAMPLING if self.profile.knows_providers and not known else ():
            if name in own:
                raise self.desk.leave_out(f"the setting {name} of the model {named}", "leave its provider")

    def check_provider(self, model: Value) -> None:
        """Checks that a model's provider is still a text, which the package looks into.

        Raises:
            HeapTypeError: if it is not.
        """
        provider = get(self.store, model, "provider")
        if isinstance(provider, str):
            return
        if is_nullish(provider):
            raise HeapTypeError(f"Cannot read properties of {text(self.store, provider)} (reading 'split')")
        raise HeapTypeError("model.provider.split is not a function")

    def check_timeout(self, settings: Value) -> None:
        """Checks the time limits of model calls, which none exceeds while the clock stands still.

        Raises:
            HeapTypeError: for what is no object of positive numbers.
        """
        checked = self.profile.checks_timeout and not is_nullish(settings)
        timeout: Value = get(self.store, settings, "timeout") if checked else UNDEFINED
        if timeout is UNDEFINED:
            return
        if not isinstance(timeout, Ref) or is_array(self.store, timeout):
            named = "an object with optional `totalMs`, `stepMs`, and `firstChunkMs` properties"
            raise HeapTypeError(f"`modelSettings.timeout` must be {named}.")
        for name in _LIMITS:
            limit = get(self.store, timeout, name)
            counts = isinstance(limit, int | float) and not isinstance(limit, bool) and limit > 0
            if limit is not UNDEFINED and not counts:
                told = f"`modelSettings.timeout.{name}` must be a positive, finite number of milliseconds."
                raise HeapTypeError(told)

    def _routed(self, name: str) -> Ref:
        provider, _, model = name.partition("/")
        if not (provider and model):
            why = "but this ID doesn't appear to contain a provider"
            raise PackageError("Error", f"Attempted to parse provider/model from {name} {why}")
        made = self.store.object({"specificationVersion": "v2", "provider": provider, "modelId": model})
        self.known[made.address] = Router(name)
        return made

    def call_model(self, model: Ref, options: Ref) -> list[Any]:
        """Calls a model; returns what it answers: parts as plain JSON.

        Raises:
            Exception: what the model raises.
            NoKeyError: from a model of the router's, which has no key.
        """
        known = self.known[model.address]
        if isinstance(known, Router):
            provider = known.name.partition("/")[0]
            if provider not in _ROUTED:
                raise self.desk.leave_out(f"the provider {provider}", f"take one of {', '.join(_ROUTED)}")
            key = f"process.env.{provider.upper()}_API_KEY"
            raise NoKeyError("Error", f"Could not find API key {key} for model id {known.name}")
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


def _is_configured(store: Store, model: Ref) -> bool:
    """Whether an object names a model for the package to find."""
    named = has(store, model, "id") or all(has(store, model, name) for name in ("providerId", "modelId"))
    return named and not has(store, model, "model")
