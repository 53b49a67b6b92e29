"""Requests as pydantic-ai's settings and parameters."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, cast

from pydantic_ai import messages as theirs
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition as TheirToolDefinition

from agentcore.agent.models._pydantic_ai_prompt import PromptWriter
from agentcore.agent.models.base import ModelRequest, ToolDefinition
from agentcore.messages.values import JsonObject, thaw

__all__ = ["Call", "to_call"]

# Names of the AI SDK for what pydantic-ai calls otherwise.
_NAMES: Final = {"max_output_tokens": "max_tokens", "headers": "extra_headers"}
_OWN: Final = "pydantic_ai"
"""The provider options of this name are settings of pydantic-ai, by its own names."""


class Call(NamedTuple):
    """One call of a pydantic-ai model, and what of the request it leaves out."""

    messages: list[theirs.ModelMessage]
    settings: ModelSettings
    parameters: ModelRequestParameters
    warnings: tuple[str, ...]


def to_call(request: ModelRequest, model: Model) -> Call:
    """The call that the request is."""
    writer = PromptWriter(model.system)
    messages = writer.messages(request.prompt)
    warnings = writer.warnings
    settings = _settings(request, model, warnings)
    tools = [_tool(tool, model.system) for tool in request.tools or ()]
    if tools and request.tool_choice is not None:
        settings["tool_choice"] = _tool_choice(request.tool_choice)
    output = {} if request.response_format is None else _output(request.response_format, model, warnings)
    parameters = ModelRequestParameters(function_tools=tools, **output)
    return Call(messages, cast("ModelSettings", settings), parameters, tuple(warnings))


def _settings(request: ModelRequest, model: Model, warnings: list[str]) -> dict[str, Any]:
    known = _known_settings(model)
    given = {_NAMES.get(name, name): value for name, value in request.settings.items()}
    for name, value in _options(request.provider_options, model.system).items():
        setting = f"{model.system.replace('-', '_')}_{_snake(name)}"
        given[setting if setting in known else _snake(name)] = value
    given.update(_options(request.provider_options, _OWN))
    # Agents retry on their own, see LanguageModel.
    given["max_retries"] = 0
    settings: dict[str, Any] = {}
    for name, value in given.items():
        if name in known and name not in model.unsupported_settings:
            settings[name] = thaw(value)
        elif name != "max_retries":
            warnings.append(
                f"setting {name} was left out: {model.system} {model.model_name} has no such setting"
            )
    return settings


def _known_settings(model: Model) -> set[str]:
    # The library ignores settings that it does not know; each model's are typed dicts in its class's module.
    known = set(ModelSettings.__annotations__)
    for cls in type(model).__mro__:
        for name, value in vars(sys.modules.get(cls.__module__, object)).items():
            if name.endswith("ModelSettings"):
                known |= set(getattr(value, "__annotations__", ()))
    return known - {"tool_choice"}


def _options(options: JsonObject | None, provider: str) -> Mapping[str, Any]:
    return {} if options is None else _object(options.get(provider))


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def _tool(tool: ToolDefinition, provider: str) -> TheirToolDefinition:
    strict = _options(tool.provider_options, provider).get("strict")
    return TheirToolDefinition(
        name=tool.name,
        description=tool.description,
        parameters_json_schema=thaw(tool.input_schema),
        strict=strict if isinstance(strict, bool) else None,
    )


def _tool_choice(choice: JsonObject) -> str | list[str]:
    return [str(choice["toolName"])] if choice["type"] == "tool" else str(choice["type"])


def _output(wanted: JsonObject, model: Model, warnings: list[str]) -> dict[str, Any]:
    """Structured output: by the provider's own means if it has them, else by asking for it in the prompt."""
    schema = wanted.get("schema")
    native = schema is not None and model.profile.get("supports_json_schema_output", False)
    if schema is not None and not native:
        warnings.append("the response format was asked for in the prompt: the model takes no JSON schema")
    return {
        "output_mode": "native" if native else "prompted",
        "output_object": OutputObjectDefinition(
            json_schema={"type": "object"} if schema is None else thaw(schema),
            name=_text(wanted, "name"),
            description=_text(wanted, "description"),
            strict=wanted["strict"] if isinstance(wanted.get("strict"), bool) else None,  # type: ignore[arg-type]
        ),
    }


def _text(fields: Mapping[str, Any], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) else None


def header_values(settings: Mapping[str, Any]) -> Iterable[str]:
    """The values of the headers among the settings."""
    return [value for value in _object(settings.get("extra_headers")).values() if isinstance(value, str)]
