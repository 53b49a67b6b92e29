"""Copies of the driver for the real package, each with one change in its text: a fault at one boundary."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import attrs


@attrs.frozen
class JsFault:
    """On `path`, the text `old` of the driver is `new` instead."""

    path: str
    old: str
    new: str


_PREPARE: Final = "return this.hook('prepareStep', argument);"
_CALLED: Final = "prepareStep: (argument) => this.prepareStep(argument),"
_ARGUMENT: Final = "const argument = { input, messages, output"
_FINISH: Final = "this.hook('onStepFinish', result);"


def _finish_with_clone_of(field: str) -> str:
    read = f"(target, key) => (key === '{field}' ? copy : target[key])"
    return (
        f"const copy = structuredClone(result.{field});"
        f" this.hook('onStepFinish', new Proxy(result, {{ get: {read} }}));"
    )


JS_FAULTS: Final[Mapping[str, JsFault]] = MappingProxyType(
    {
        "prepareStep gets clones": JsFault(
            "stream",
            _PREPARE,
            "return this.hook('prepareStep', { ...argument, messages: structuredClone(messages) });",
        ),
        "prepareStep gets messages copied one level": JsFault(
            "stream",
            _PREPARE,
            "messages.forEach((message, i) => { messages[i] = { ...message }; });"
            " return this.hook('prepareStep', argument);",
        ),
        "an override persists": JsFault(
            "stream",
            _CALLED,
            "prepareStep: (argument) => { const result = this.prepareStep(argument);"
            " this.override = result?.messages ?? this.override;"
            " return this.override ? { ...result, messages: this.override } : result; },",
        ),
        "a tool gets its input cloned": JsFault(
            "stream", _ARGUMENT, "const argument = { input: structuredClone(input), messages, output"
        ),
        "a tool gets its messages cloned": JsFault(
            "generate", _ARGUMENT, "const argument = { input, messages: structuredClone(messages), output"
        ),
        "a tool's output is cloned": JsFault(
            "stream", "return argument.output;", "return structuredClone(argument.output);"
        ),
        "onStepFinish gets its content cloned": JsFault("stream", _FINISH, _finish_with_clone_of("content")),
        "onStepFinish gets its report cloned": JsFault("stream", _FINISH, _finish_with_clone_of("response")),
        "the prompt is cloned": JsFault(
            "generate",
            "this.hook('model', options);",
            "this.hook('model', { ...options, prompt: structuredClone(options.prompt) });",
        ),
        "the caller's messages are cloned": JsFault(
            "generate", "messages: this.messages,", "messages: structuredClone(this.messages),"
        ),
    }
)


def copied_driver(installed: Path, folder: Path, fault: JsFault | None) -> Path:
    """A copy in `folder` of the driver that is `installed` beside its package, with the fault."""
    place = folder / installed.parent.name
    place.mkdir()
    (place / "node_modules").symlink_to(installed.parent / "node_modules")
    shutil.copy(installed.parent / "package.json", place)
    shutil.copy(installed, place)
    for shared in installed.parent.parent.glob("*.mjs"):
        shutil.copy(shared, folder)
    if fault is not None:
        _plant(fault, [*folder.glob("*.mjs"), place / installed.name])
    return place / installed.name


def _plant(fault: JsFault, modules: list[Path]) -> None:
    texts = {module: module.read_text("utf-8") for module in modules}
    [place] = (module for module, text in texts.items() if fault.old in text)
    assert texts[place].count(fault.old) == 1, f"more than one place to plant: {fault.old}"
    place.write_text(texts[place].replace(fault.old, fault.new), "utf-8")
