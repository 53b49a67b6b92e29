"""How programs of the middleware format are made smaller: fewer invocations and calls, then fewer ops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from agentcore.frameworks.strands.program import handlers_of
from agentcore.kit.families import Shrinking
from agentcore.kit.places import Place, has, put, without
from agentcore.kit.shrink import Smallest, entries_out, windows_out

__all__ = ["SHRINKING"]

Json: TypeAlias = dict[str, Any]
_LISTS: Final = frozenset({"messages", "args"})


def _calls_and_ops(program: Json) -> tuple[int, int]:
    entries = [entry for entry in program.get("script", ()) if isinstance(entry, dict)]
    edits = [entry.get("mutate", ()) for entry in entries]
    edits += [tool.get("mutateInput", ()) for tool in program.get("tools", {}).values()]
    ops = sum(len(ops) for _, _, ops in handlers_of(program)) + sum(map(len, edits))
    return len(program.get("inputs", ())) + len(program.get("script", ())), ops


# --- edits --------------------------------------------------------------------------------------------------


def _handlers(smallest: Smallest) -> Iterator[Json]:
    """Whole handlers; then their ops by themselves, without what says when."""
    for field in ("middleware", "hooks"):
        yield from entries_out(smallest, field)
    yield from _without_when(smallest)


def _without_when(smallest: Smallest) -> Iterator[Json]:
    for field in ("middleware", "hooks"):
        for index, handler in enumerate(smallest().get(field, ())):
            for number in range(len(handler.get("ops", ()))):
                place = (field, index, "ops", number, "when")
                for edit in (without, _at_first):
                    if has(smallest(), place):
                        yield edit(smallest(), place)


def _at_first(program: Json, place: Place) -> Json:
    found: Json = put(program, place, 0)
    return found


def _one_input(smallest: Smallest) -> Iterator[Json]:
    for given in smallest().get("inputs", ()):
        program = {key: value for key, value in smallest().items() if key != "inputs"}
        yield program
        yield {**program, "input": given}


def _said_shorter(smallest: Smallest) -> Iterator[Json]:
    """A prompt and an input of one text as the text itself; a model's answer as its blocks."""
    for field in ("system", "input"):
        match smallest().get(field):
            case [{"text": str(text)}, *_]:
                yield {**smallest(), field: text}
    for index, entry in enumerate(smallest().get("script", ())):
        if isinstance(entry, dict) and has(smallest(), ("script", index)):
            yield put(smallest(), ("script", index), entry.get("blocks", []))


def _calls(smallest: Smallest) -> Iterator[Json]:
    """Calls of the model, with handlers that wait for a later entry waiting for one less."""
    for shorter in entries_out(smallest, "script"):
        yield shorter
        yield _earlier(shorter)


def _earlier(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sooner(child) if key == "when" else _earlier(child) for key, child in value.items()}
    return [_earlier(child) for child in value] if isinstance(value, list) else value


def _sooner(when: Any) -> Any:
    return max(when - 1, 0) if isinstance(when, int) else [max(entry - 1, 0) for entry in when]


def _history(smallest: Smallest) -> Iterator[Json]:
    yield from windows_out(smallest, "messages", roots=_LISTS, within=frozenset({"middleware", "hooks"}))


SHRINKING: Final = Shrinking(
    required=frozenset({"id"}),
    names=frozenset({"id", "toolUseId", "name", "role", "op", "on", "stage", "phase"}),
    measure=_calls_and_ops,
    edits=(_handlers, _one_input, _calls, _history, _said_shorter),
)
