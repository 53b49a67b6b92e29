"""Random programs: every hook, op, stage, origin and depth of the format, most of them running to their end.

What a program looks like when minimal: path `stream`, one user message with the text `#1`, a script of one
step that answers with one text, no system, tools, options or hooks. Every choice is arranged so that the
simplest one leads there (no before yes, few before many, plain before nested), which is what makes shrunk
examples readable. The schema does not drive it: any JSON is a message there, and a run with such a message
ends before its first step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Final

import attrs

from agentcore.frameworks.ai_sdk.edges import Edges, some_by_provider
from agentcore.frameworks.ai_sdk.writes import (
    ADDRESSES,
    BASE64,
    Maker,
    Rarities,
    approved,
    content,
    prompt,
    response,
    shortcuts,
)
from agentcore.kit.choices import Choices, RandomChoices, Weights, slow_down

__all__ = ["Size", "program_of_seed", "random_conversation", "random_program", "random_programs"]


Json = dict[str, Any]
_TOOLS: Final = ("look", "save")
_STAGES: Final = Weights({"all": 20, "add": 20, "replace": 20, "roles": 12, "slice": 13, "literal": 15})
_CONTENT_ITEMS: Final[tuple[Json, ...]] = (
    *({"type": "media", "data": data, "mediaType": "image/png"} for data in BASE64),
    *({"type": "image-url", "url": address} for address in ADDRESSES),
    *({"type": "file-url", "url": address} for address in ADDRESSES),
)


@attrs.frozen(kw_only=True)
class Size:
    """Numbers that a generator chooses from, the simplest first.

    `turns` are of the history before the last question, `steps` the model's answers, `calls` those of one
    answer. `failing_tools` and `repeated_ids` are percentages.
    """

    turns: Sequence[int] = (0, 0, 0, 1, 1, 2)
    steps: Sequence[int] = (1, 2, 2, 3, 3, 3, 4, 4, 5, 6)
    calls: Sequence[int] = (1, 1, 1, 2, 3)
    failing_tools: float = 0
    repeated_ids: float = 0.5


def program_of_seed(seed: int, path: str | None = None) -> Json:
    """The program that the seed stands for, its id naming the seed."""
    return random_program(RandomChoices(seed), id=f"seed-{seed}", path=path)


def random_programs(seeds: Iterable[int], path: str | None = None) -> Iterator[Json]:
    """The programs of the seeds, made one at a time."""
    return (program_of_seed(seed, path) for seed in seeds)


def random_program(
    choices: Choices,
    *,
    id: str,  # noqa: A002
    path: str | None = None,
    shown: Collection[str] = (),
) -> Json:
    """A program for the given path, or for either.

    `shown` are the names that a step hook is shown; those that only some versions have are written to, too.
    """
    return _Generator(choices, shown=shown).program(id, path or choices.sample(("stream", "generate")))


def random_conversation(choices: Choices, texts: Sequence[str] = (), size: Size | None = None) -> Json:
    """Returns `messages` that a run may be given, the `script` of its model, and its `tools`.

    Some of its texts begin with one of those given.
    """
    return _Generator(choices, texts=texts, size=size).conversation()


@attrs.define
class _Expected:
    """An estimate of what the run has made so far, by which random writes are aimed."""

    messages: list[Json]
    response: list[Json] = attrs.field(factory=list)
    steps: list[Json] = attrs.field(factory=list)


class _Generator:
    def __init__(
        self,
        choices: Choices,
        *,
        shown: Collection[str] = (),
        texts: Sequence[str] = (),
        size: Size | None = None,
    ) -> None:
        self.choices = choices
        self.size = size or Size()
        self.shown = frozenset(shown)
        self.make = Maker(choices, texts)
        self.rare = Rarities(choices, self.make, wanted=bool(self.shown))
        self.calls = 0
        self.hooks: dict[str, list[Any]] = {}

    def program(self, program_id: str, path: str) -> Json:
        choices = self.choices
        program: Json = {"id": program_id, "path": path, "messages": self.history()}
        self.make.kept["caller"] = program["messages"]
        program["script"] = self.script()
        calls = any(part["type"] == "tool-call" for step in program["script"] for part in step)
        if calls or choices.chance(20):
            program["tools"] = {name: self.tool() for name in _TOOLS}
        if choices.chance(15):
            program["system"] = self.system()
        if choices.chance(35):
            program["options"] = self.options()
        rare = self.rare.options()
        if rare:
            program["options"] = {**program.get("options", {}), **rare}
        if choices.chance(6):
            program["model"] = "first"
        if choices.chance(5):
            program["maxSteps"] = choices.integer(1, 4)
        if choices.chance(3):
            program["frozen"] = True
        self.write_hooks(program)
        if self.hooks:
            program["hooks"] = self.hooks
        self.finish(program, calls=calls)
        return program

    def finish(self, program: Json, *, calls: bool) -> None:
        """What is drawn last, so that a seed gives the rest as ever."""
        choices = self.choices
        if calls and choices.chance(50 if _at_once(program["script"]) else 5):
            slow_down(program["tools"], choices)
        if choices.chance(16 if self.shown else 12):
            Edges(choices, self.make, wanted=bool(self.shown)).put(program)
        if self.shown and choices.chance(25):
            some_by_provider(program["messages"], choices)

    def conversation(self) -> Json:
        # A model that says nothing at the end is no simpler to read, though it takes fewer choices.
        messages, script = self.messages(), self.script(silent=0)
        calls = [part for step in script for part in step if part["type"] == "tool-call"]
        asked = [part for each in messages for part in each["content"] if "toolCallId" in part]
        tools = {name: self.plain_tool() for name in _TOOLS} if calls or asked else {}
        return {"messages": messages, "script": script, "tools": tools}

    def plain_tool(self) -> Json:
        failing = self.choices.chance(self.size.failing_tools)
        return {"error": self.make.mark()} if failing else {"output": self.make.payload()}

    # --- the history ---

    def history(self) -> list[Any]:
        choices = self.choices
        messages = self.messages()
        if choices.chance(0.7):
            messages.append(choices.sample(({"role": "odd", "content": "x"}, {"role": "user"}, 7, None)))
        elif choices.chance(0.3):
            messages.clear()
        return messages

    def messages(self) -> list[Any]:
        choices = self.choices
        messages: list[Any] = []
        if choices.chance(4):
            messages.append({"role": "system", "content": self.make.mark()})
        for _ in range(choices.sample(self.size.turns)):
            messages += [self.user(), *self.answer()]
        messages.append(self.user())
        if choices.chance(12):
            messages += self.approvals()
        elif choices.chance(5):
            messages += self.answer()
        return messages

    def user(self) -> Json:
        choices, make = self.choices, self.make
        if not choices.chance(45):
            return self.optioned({"role": "user", "content": make.mark()}, 12)
        parts = [self.optioned(make.text_part(), 15)]
        if choices.chance(30):
            image: Json = {"type": "image", "image": choices.sample((*BASE64, *ADDRESSES))}
            parts.append(image | ({"mediaType": "image/png"} if choices.chance(60) else {}))
        if choices.chance(30):
            data = choices.sample((*BASE64, *ADDRESSES))
            file: Json = {"type": "file", "data": data, "mediaType": "text/plain"}
            parts.append(file | ({"filename": make.mark()} if choices.chance(40) else {}))
        if choices.chance(6):
            parts.append({"type": "text", "text": ""})
        return self.optioned({"role": "user", "content": parts}, 15)

    def optioned(self, value: Json, percent: float) -> Json:
        if self.choices.chance(percent):
            value["providerOptions"] = self.make.provider_options()
        return value

    def answer(self) -> list[Json]:
        """An assistant message of the history, with its tool results."""
        choices, make = self.choices, self.make
        if choices.chance(30):
            return [self.optioned({"role": "assistant", "content": make.mark()}, 12)]
        parts: list[Json] = []
        if choices.chance(25):
            parts.append(self.optioned({"type": "reasoning", "text": make.mark()}, 30))
        if choices.chance(60):
            parts.append(self.optioned(make.text_part(), 15))
        calls = [self.call_part() for _ in range(choices.sample((1, 1, 2, 0)))]
        message = self.optioned({"role": "assistant", "content": [*parts, *calls] or [make.text_part()]}, 12)
        if not calls:
            return [message]
        results = [self.result_part(call) for call in calls]
        if choices.chance(12):
            return [message, *({"role": "tool", "content": [result]} for result in results)]
        return [message, self.optioned({"role": "tool", "content": results}, 10)]

    def call_part(self) -> Json:
        call = {"type": "tool-call", "toolCallId": self.call_id(), "toolName": self.choices.sample(_TOOLS)}
        return self.optioned({**call, "input": self.make.payload()}, 15)

    def call_id(self) -> str:
        if self.calls == 0 or not self.choices.chance(self.size.repeated_ids):
            self.calls += 1
        return f"c{self.calls - 1}"

    def result_part(self, call: Json) -> Json:
        result = {"type": "tool-result", "toolCallId": call["toolCallId"], "toolName": call["toolName"]}
        return self.optioned({**result, "output": self.output()}, 15)

    def output(self) -> Json:
        choices, make = self.choices, self.make
        kind = choices.sample(
            ("json", "json", "text", "content", "error-text", "error-json", "execution-denied")
        )
        if kind == "execution-denied":
            return {"type": kind} | ({"reason": make.mark()} if choices.chance(50) else {})
        value: Any = make.mark()
        if kind == "content":
            item = {**choices.sample(_CONTENT_ITEMS)}
            value = [make.text_part(), item] if choices.chance(60) else [make.text_part()]
        elif kind.endswith("json"):
            value = make.payload() if choices.chance(85) else choices.sample((None, 0, [], "text"))
        return self.optioned({"type": kind, "value": value}, 6)

    def approvals(self) -> list[Json]:
        choices = self.choices
        calls = [self.call_part() for _ in range(choices.sample((1, 1, 2)))]
        asked = [
            {"type": "tool-approval-request", "approvalId": f"a{index}", "toolCallId": call["toolCallId"]}
            for index, call in enumerate(calls)
        ]
        answered: list[Json] = [self.approval(request["approvalId"]) for request in asked]
        if len(calls) > 1 and choices.chance(25):
            answered[0] = self.result_part(calls[0])
        return [{"role": "assistant", "content": [*calls, *asked]}, {"role": "tool", "content": answered}]

    def approval(self, approval_id: str) -> Json:
        choices = self.choices
        if choices.chance(3):
            approval_id = "a9"
        answer = {"type": "tool-approval-response", "approvalId": approval_id, "approved": choices.chance(60)}
        return answer | ({"reason": self.make.mark()} if choices.chance(40) else {})

    # --- the script and the tools ---

    def script(self, silent: float = 6) -> list[list[Json]]:
        choices = self.choices
        steps = choices.sample(self.size.steps)
        script = [self.calling_step() for _ in range(steps - 1)]
        last: list[Json] = [] if silent and choices.chance(silent) else [self.generated("text")]
        return [*script, self.spiced(last)]

    def calling_step(self) -> list[Json]:
        choices = self.choices
        parts: list[Json] = []
        if choices.chance(15):
            parts.append(self.generated("reasoning"))
        if choices.chance(30):
            parts.append(self.generated("text"))
        parts += [self.generated_call() for _ in range(choices.sample(self.size.calls))]
        return self.spiced(parts)

    def spiced(self, parts: list[Json]) -> list[Json]:
        choices, make = self.choices, self.make
        if choices.chance(5):
            parts.append({"type": "text", "text": ""})
        if choices.chance(4):
            parts.append({"type": "source", "sourceType": "url", "id": "s", "url": "https://example.com/"})
        if choices.chance(6):
            call_id = self.call_id()
            common = {"toolCallId": call_id, "toolName": "search"} | (
                {"dynamic": True} if choices.chance(70) else {}
            )
            call = {"type": "tool-call", **common, "input": make.payload(), "providerExecuted": True}
            result = {
                "type": "tool-result",
                "toolCallId": call_id,
                "toolName": "search",
                "result": make.payload(),
            }
            parts += [call, result | ({"isError": True} if choices.chance(20) else {})]
        return parts

    def generated(self, kind: str) -> Json:
        part: Json = {"type": kind, "text": self.make.mark()}
        return self.with_metadata(part)

    def with_metadata(self, part: Json) -> Json:
        if self.choices.chance(15):
            part["providerMetadata"] = self.make.provider_options()
        return part

    def generated_call(self) -> Json:
        name = "absent" if self.choices.chance(2) else self.choices.sample(_TOOLS)
        call = {
            "type": "tool-call",
            "toolCallId": self.call_id(),
            "toolName": self.rare.tool_name(name),
            "input": self.rare.input(self.make.payload()),
        }
        return self.with_metadata(call)

    def tool(self) -> Json:
        choices, make = self.choices, self.make
        plain = (make.mark(), 0, None, ["x", make.payload()], True)
        tool: Json = {"output": make.payload() if choices.chance(75) else choices.sample(plain)}
        if choices.chance(35):
            tool["returns"] = choices.sample(("shared", "input", "fresh"))
        if choices.chance(15):
            shown: Json = {"input": {"a": "x"}, "output": tool["output"]}
            if choices.chance(15):
                shown["messages"] = self.make.kept["caller"][:1] or [{}]
            tool["mutate"] = [self.make.write(shown) for _ in range(choices.integer(1, 2))]
        for field, percent in (("error", 5), ("needsApproval", 3), ("noExecute", 2)):
            if choices.chance(percent):
                tool[field] = make.mark() if field == "error" else True
        return tool

    # --- the call ---

    def system(self) -> Any:
        make = self.make
        message = self.optioned({"role": "system", "content": make.mark()}, 40)
        return self.choices.sample(
            (make.mark(), message, [message, {"role": "system", "content": make.mark()}])
        )

    def options(self) -> Json:
        choices, make = self.choices, self.make
        options: Json = {}
        if choices.chance(60):
            options["experimental_context"] = make.payload()
        if choices.chance(50):
            options["providerOptions"] = make.provider_options()
        if choices.chance(15):
            options["activeTools"] = self.active_tools()
        if choices.chance(15):
            options["toolChoice"] = self.tool_choice()
        if choices.chance(10):
            options["temperature"] = 0
        if "runtimeContext" in self.shown and choices.chance(60):
            options["runtimeContext"] = make.payload()
        if "toolsContext" in self.shown and choices.chance(40):
            options["toolsContext"] = {name: make.payload() for name in _TOOLS}
        return options

    def active_tools(self) -> list[str]:
        return self.choices.sample((["look"], [], ["look", "save"], ["save", "absent"]))

    def tool_choice(self) -> Any:
        return self.choices.sample(("auto", "required", "none", {"type": "tool", "toolName": "look"}))

    # --- the hooks ---

    def write_hooks(self, program: Json) -> None:
        """Hooks in the order in which a run calls them, so that what one keeps a later one can use."""
        choices = self.choices
        context = program.get("options", {}).get("experimental_context")
        messages = program["messages"]
        if not messages or not all(isinstance(message, dict) for message in messages):
            return
        expected = _Expected(messages, approved(messages))
        script, tools = program["script"], program.get("tools", {})
        percents = choices.sample((_FEW, _FEW, _MANY, _NONE))
        for index, parts in enumerate(script):
            shown = [*expected.messages, *expected.response]
            around = {"messages": shown, "steps": expected.steps, "experimental_context": context}
            self.hook("prepareStep", index, percents, around | self.shown_besides(expected, program))
            self.hook("onStepStart", index, percents, around)
            self.hook("model", index, percents, self.model_options(shown, program))
            made = response(parts, tools)
            called = next((part for part in parts if part["type"] == "tool-call"), None)
            if called is not None and made[1:]:
                output = tools.get(called["toolName"], {}).get("output")
                inside = {
                    "input": called["input"],
                    "output": output,
                    "messages": shown,
                    "experimental_context": context,
                }
                self.hook("execute", index, percents, inside)
            step: Json = {
                "content": content(parts, tools),
                "response": {"messages": [*expected.response, *made]},
            }
            self.hook("onStepFinish", index, percents, step | shortcuts(step["content"]))
            expected.steps = [*expected.steps, step]
            expected.response = [*expected.response, *made]
            last = index == len(script) - 1
            self.hook("onFinish" if last else "stopWhen", index, percents, {"steps": expected.steps})

    def shown_besides(self, expected: _Expected, program: Json) -> Json:
        """The arguments that only some versions pass to a step hook."""
        known = {
            "initialMessages": expected.messages,
            "responseMessages": expected.response,
            "runtimeContext": program.get("options", {}).get("runtimeContext"),
        }
        return {name: value for name, value in known.items() if name in self.shown}

    def model_options(self, shown: list[Json], program: Json) -> Json:
        options = program.get("options", {}).get("providerOptions")
        given: Json = {"prompt": prompt(program.get("system"), shown)}
        return given if options is None else given | {"providerOptions": options}

    def hook(self, name: str, step: int, percents: dict[str, float], argument: Json) -> None:
        choices, make = self.choices, self.make
        if not choices.chance(percents[name]):
            return
        argument = {field: value for field, value in argument.items() if value or field == "output"}
        ops = [make.write(argument) for _ in range(choices.sample((1, 1, 1, 2, 2, 3)))]
        ops += self.rare.ops(name)
        if name == "model" and choices.chance(20):
            ops.append(self.probe())
        if choices.chance(1):
            ops.append({"throw": make.mark()})
        if name == "prepareStep" and choices.chance(45):
            ops = [*(ops if choices.chance(45) else ()), self.result(argument["messages"])]
        entries = self.hooks.setdefault(name, [])
        entries += [None] * (step - len(entries))
        entries.append(ops)

    def probe(self) -> Json:
        """Keeps something of the model's options that no trace shows; a later message may carry a copy."""
        field, shape = self.choices.sample((("providerOptions", {"p": {}}), ("toolChoice", {"type": "auto"})))
        return {"keep": [field], "as": self.make.name(shape)}

    def result(self, messages: list[Json]) -> Json:
        choices, make = self.choices, self.make
        if choices.chance(6):
            return {"return": choices.sample((None, {}, {"messages": None}, {"temperature": 1}))}
        result: Json = {}
        if choices.chance(70):
            result["messages"] = [self.stage(messages) for _ in range(choices.sample((1, 1, 2, 0)))]
        for field, value in self.overrides():
            if choices.chance(14):
                result[field] = None if choices.chance(8) else value()
        result |= self.rare.overrides()
        op: Json = {"return": result}
        if choices.chance(25):
            op["keep"] = make.name(messages if "messages" in result else result or {"x": 1})
        return op

    def overrides(self) -> tuple[tuple[str, Callable[[], Any]], ...]:
        make = self.make
        later = (("instructions", make.mark), ("runtimeContext", make.payload))
        return (
            ("model", lambda: "second"),
            ("system", lambda: self.choices.sample((self.system(), ""))),
            ("activeTools", self.active_tools),
            ("toolChoice", self.tool_choice),
            ("providerOptions", self.merged_options),
            ("experimental_context", make.payload),
            *((name, value) for name, value in later if name in self.shown),
        )

    def merged_options(self) -> Json:
        """Provider options that meet the call's own at several depths, as objects, arrays and null."""
        make = self.make
        values = ({"b": make.mark()}, {"deep": {"e": make.mark()}}, None, [make.mark()], make.mark())
        return {"p": {"in": self.choices.sample(values), "list": [make.mark()]}} | (
            {"q": make.payload()} if self.choices.chance(30) else {}
        )

    def stage(self, messages: list[Json]) -> Any:
        choices, make = self.choices, self.make
        kind = _STAGES.draw(choices)
        if kind == "all":
            return choices.sample(("copy", "clone"))
        if kind == "add":
            added: Any = make.user_message()
            if make.kept and choices.chance(25):
                seen = {"p": {"seen": {"$clone": ["$" + choices.sample([*make.kept])]}}}
                added = {**added, "providerOptions": seen}
            return {choices.sample(("append", "prepend")): [added]}
        if kind == "replace":
            return self.replacement(messages)
        if kind == "roles":
            return self.role_filter()
        if kind == "slice":
            return {"slice": choices.sample(([0], [0, 1], [1], [-1], [-2], [0, -1], [-3, -1]))}
        return {"literal": [make.user_message()] if choices.chance(90) else [{"$ref": ["messages", 0]}]}

    def replacement(self, messages: list[Json]) -> Json:
        choices, make = self.choices, self.make
        index = choices.integer(0, len(messages) - 1)
        fields: Json = {"providerOptions": make.provider_options()}
        if messages[index].get("content") and choices.chance(60):
            fields = {"content": make.similar(messages[index]["content"], "content")}
        at = index - len(messages) if choices.chance(50) else index
        return {"replace": {"at": 99 if choices.chance(2) else at, "with": fields}}

    def role_filter(self) -> Json:
        some = (["assistant", "tool"], ["system"], ["tool"], ["assistant"])
        if self.choices.chance(50):
            return {"dropRoles": self.choices.sample(some)}
        return {
            "keepRoles": self.choices.sample(
                (["user"], ["user", "system"], ["user", "assistant", "tool"], ["tool"])
            )
        }


def _at_once(script: list[list[Json]]) -> bool:
    """True if a step calls several tools, so that their order can be observed."""
    return any(sum(part["type"] == "tool-call" for part in parts) > 1 for parts in script)


_NAMES: Final = ("prepareStep", "onStepStart", "model", "execute", "onStepFinish", "stopWhen", "onFinish")
_FEW: Final[dict[str, float]] = dict(zip(_NAMES, (25, 5, 8, 8, 12, 5, 6), strict=True))
_MANY: Final[dict[str, float]] = dict(zip(_NAMES, (55, 20, 25, 25, 35, 20, 30), strict=True))
_NONE: Final[dict[str, float]] = dict.fromkeys(_NAMES, 0)
