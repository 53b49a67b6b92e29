"""Random programs: processors in both places, at every step, with every op, most of which run to their end.

What a program looks like when minimal: an id alone, every field at its default. Every choice is arranged so
that the simplest one leads there (no before yes, few before many, plain before nested), which is what makes
shrunk examples readable. The schema does not drive it: an op has to be aimed at what a step will have, of
which the schema knows nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from agentcore.frameworks.mastra.making import TOOLS, Edges, Expected, Maker
from agentcore.frameworks.mastra.profiles import PROFILES, MastraProfile
from agentcore.frameworks.mastra.turns import Turns
from agentcore.kit.choices import Choices, slow_down

__all__ = ["random_program"]

Json: TypeAlias = dict[str, Any]
Op: TypeAlias = dict[str, Any]
_STEPS: Final = (2, 1, 3, 2, 3, 4)


def random_program(choices: Choices, program_id: str, profile: str) -> Json:
    """A program for a profile of the family."""
    return _Generator(choices, PROFILES[profile]).program(program_id)


class _Generator:
    def __init__(self, choices: Choices, profile: MastraProfile) -> None:
        self.choices = choices
        self.make = Maker(choices)
        self.turns = Turns(choices, self.make, clears=profile.clears_systems)

    def program(self, program_id: str) -> Json:
        choices = self.choices
        program: Json = {"id": program_id}
        if choices.chance(45):
            program["path"] = "stream"
        if choices.chance(75):
            program["messages"] = self.messages()
        if choices.chance(80):
            program["script"] = self.script()
        calls = any(part["type"] == "tool-call" for parts in program.get("script", []) for part in parts)
        if calls or choices.chance(10):
            program["tools"] = {name: self.tool() for name in TOOLS}
        self.systems(program)
        self.options(program)
        self.processors(program)
        self.models(program)
        if calls and choices.chance(25):
            slow_down(program["tools"], choices)
        self.reading(program)
        edges = Edges(choices, self.make)
        if choices.chance(20):
            edges.put(program)
        if choices.chance(8):
            edges.finish(program)
        return program

    # --- the conversation ---

    def messages(self) -> list[Any]:
        choices, make = self.choices, self.make
        messages: list[Any] = []
        if choices.chance(5):
            messages.append({"role": "system", "content": make.mark()})
        for _ in range(choices.sample((0, 0, 0, 1, 1, 2))):
            messages += [make.caller_message(), *make.answer_messages()]
        messages += [make.caller_message() for _ in range(choices.sample((1, 1, 1, 2)))]
        if choices.chance(4):
            messages += make.answer_messages()
        return messages[1:] if len(messages) > 1 and choices.chance(3) else messages

    def systems(self, program: Json) -> None:
        choices, make = self.choices, self.make
        if choices.chance(55):
            program["system"] = [make.system() for _ in range(choices.sample((1, 1, 2)))]
        if choices.chance(12):
            program["callSystem"] = make.caller_systems()
        if choices.chance(6):
            role = choices.sample(("user", "user", "assistant"))
            program["context"] = [{"role": role, "content": make.mark()}]

    # --- the model and its tools ---

    def script(self) -> list[list[Json]]:
        choices = self.choices
        count = choices.sample(_STEPS)
        script = [self.calling() for _ in range(count - 1)] + [self.talking()]
        if choices.chance(3):
            script[-1] = [{"type": "throw", "message": self.make.mark()}]
        return script

    def talking(self) -> list[Json]:
        choices = self.choices
        if choices.chance(4):
            return []
        reasoning = [{"type": "reasoning", "text": self.make.mark()}] if choices.chance(10) else []
        return [*reasoning, *(self.make.text_part() for _ in range(2 if choices.chance(8) else 1))]

    def calling(self) -> list[Json]:
        choices = self.choices
        parts = self.talking() if choices.chance(50) else []
        parts += [self.call() for _ in range(choices.sample((1, 1, 1, 2)))]
        return [*parts, self.make.text_part()] if choices.chance(8) else parts

    def call(self) -> Json:
        choices = self.choices
        name = "nobody" if choices.chance(2) else choices.sample(TOOLS)
        call_id = self.make.identity("c") if not choices.chance(2) else "again"
        return {"type": "tool-call", "toolCallId": call_id, "toolName": name, "input": self.make.payload()}

    def tool(self) -> Json:
        choices, make = self.choices, self.make
        spec: Json = {"output": make.output()}
        if choices.chance(8):
            spec = choices.sample(({"error": make.mark()}, {}))
        if choices.chance(8):
            spec["mutateInput"] = {"a": make.mark()}
        if choices.chance(10):
            spec["description"] = make.mark()
        return spec

    def models(self, program: Json) -> None:
        choices = self.choices
        if choices.chance(6):
            program["fallbackModels"] = ["second", "third"][: choices.integer(1, 2)]
            if choices.chance(40) and "script" in program:
                program["script"].insert(0, [{"type": "throw", "message": self.make.mark()}])
        if choices.chance(5):
            program["maxSteps"] = choices.integer(1, 3)
        if choices.chance(3):
            program["maxRetries"] = choices.integer(0, 1)

    # --- options ---

    def options(self, program: Json) -> None:
        choices, make = self.choices, self.make
        if choices.chance(35):
            program["providerOptions"] = {"x": {"k": make.mark()}}
        if choices.chance(30):
            program["modelSettings"] = {"temperature": 0.5, "stopSequences": [make.mark()]}
            if choices.chance(15):
                program["modelSettings"] |= choices.sample(_SETTINGS)
        if choices.chance(25):
            named = {"type": "tool", "toolName": TOOLS[0]}
            other = {"type": "tool", "toolName": "nobody"}
            program["toolChoice"] = choices.sample(("auto", named, "required", "none", named, other))
        if choices.chance(25):
            program["activeTools"] = choices.sample(([*TOOLS], [TOOLS[0]], [TOOLS[1]], []))

    # --- processors ---

    def processors(self, program: Json) -> None:
        choices = self.choices
        count = choices.sample((0, 1, 1, 1, 2, 2, 3))
        places = [choices.sample(("call", "ctor", "ctor")) for _ in range(count)]
        if choices.chance(75) and places:
            places = [places[0]] * count
        found = self.expected(program)
        if count:
            program["processors"] = [
                self.processor(f"p{number}", where, found) for number, where in enumerate(places, 1)
            ]
        if choices.chance(40 if count else 90):
            program["prepareStep"] = self.steps(found)
        if choices.chance(12):
            program["defaultPrepareStep"] = self.steps(found)
        if choices.chance(4):
            program["emptyCallProcessors"] = True

    def reading(self, program: Json) -> None:
        """Views and the request context. Drawn last, so that a seed gives the rest of its program as ever."""
        choices = self.choices
        turns = [processor.get("steps", {}) for processor in program.get("processors", [])]
        turns += [program.get(name, {}) for name in ("prepareStep", "defaultPrepareStep")]
        ops = [ops for by_step in turns for ops in by_step.values()]
        if ops and choices.chance(25):
            choices.sample(ops)[:0] = [choices.sample(_READING)(self.make)]
        if choices.chance(15):
            program["requestContext"] = {"k": self.make.mark()}

    def processor(self, name: str, where: str, found: Callable[[int], Expected]) -> Json:
        choices = self.choices
        made: Json = {"id": name} | ({"where": "ctor"} if where == "ctor" else {})
        if choices.chance(25):
            made["input"] = self.turns.input(found(0))
        if "input" not in made or choices.chance(60):
            made["steps"] = self.steps(found)
        return made

    def steps(self, found: Callable[[int], Expected]) -> dict[str, list[Op]]:
        """Ops for one or two of the steps, or for all of them."""
        choices = self.choices
        if choices.chance(20):
            return {"*": self.turns.step(found(0))}
        steps = sorted({choices.sample((0, 0, 1, 1, 2)) for _ in range(choices.sample((1, 1, 2)))})
        return {str(step): self.turns.step(found(step)) for step in steps}

    def expected(self, program: Json) -> Callable[[int], Expected]:
        """Estimates what a step will find."""
        messages = program.get("messages", ["hi"])
        systems = sum(isinstance(message, dict) and message["role"] == "system" for message in messages)

        def at(step: int) -> Expected:
            return Expected(
                messages=len(messages) - systems - sum(_is_result(message) for message in messages),
                answer=[kind for parts in program.get("script", [])[:step] for kind in _kinds(parts)],
                systems=systems + len(program.get("system", [])),
                steps=step,
                options={name: program[name] for name in _OPTIONS if name in program},
                tools="tools" in program,
            )

        return at


_VIEWS: Final = (
    *("all.db", "all.aiV5.model", "all.aiV5.ui", "all.aiV5.prompt"),
    *(
        f"{source}.{form}"
        for source in ("response", "input", "remembered")
        for form in ("db", "aiV5.model", "aiV5.ui")
    ),
)
_READING: Final[tuple[Callable[[Maker], Op], ...]] = (
    lambda make: {"op": "observe", "on": f"view:{make.choices.sample(_VIEWS)}", "as": "view"},
    lambda make: {
        "op": "set",
        "on": f"view:all.aiV5.{make.choices.sample(('model', 'prompt'))}",
        "at": [0, "content"],
        "value": make.mark(),
    },
    lambda _: {"op": "observe", "on": "requestContext", "as": "context"},
    lambda make: {"op": "set", "on": "requestContext", "at": ["k"], "value": make.mark()},
)
_SETTINGS: Final[tuple[Json, ...]] = (
    {"topK": 3, "seed": 7},
    {"maxOutputTokens": 100},
    {"headers": {"X-Name": "1"}},
    {"maxRetries": 0},
)
_OPTIONS: Final = ("providerOptions", "modelSettings", "toolChoice", "activeTools")


def _is_result(message: Any) -> bool:
    """Such a message is stored in the one that asked."""
    return isinstance(message, dict) and message["role"] == "tool"


def _kinds(parts: list[Json]) -> list[str]:
    kinds = (str(part["type"]) for part in parts)
    return ["tool-invocation" if kind == "tool-call" else kind for kind in kinds] + ["step-start"]
