"""How programs of the processors' format are made smaller: fewer steps, then fewer ops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from agentcore.frameworks.mastra.wellformed import every_op, is_well_formed
from agentcore.kit.families import Shrinking
from agentcore.kit.places import Place, at, has, put, without
from agentcore.kit.shrink import Smallest, script_cut

__all__ = ["SHRINKING"]

Json: TypeAlias = dict[str, Any]
_DONE: Final = ({"type": "text", "text": "y"},)
_PREPARING: Final = ("prepareStep", "defaultPrepareStep")
_EVERY: Final = "*"


def _steps_and_ops(program: Json) -> tuple[int, int]:
    return len(program.get("script", [])), sum(1 for _ in every_op(program))


def _turns(program: Json) -> list[Place]:
    """The places of all ops by step."""
    processors = range(len(program.get("processors", [])))
    found: list[Place] = [("processors", index, "steps") for index in processors]
    return [place for place in (*found, *((name,) for name in _PREPARING)) if has(program, place)]


# --- edits --------------------------------------------------------------------------------------------------


def _script(smallest: Smallest) -> Iterator[Json]:
    """A shorter script, with the ops of later steps or without."""
    yield from script_cut(smallest, [*_DONE], least=0, without_step=_without_step)


def _without_step(program: Json, index: int) -> Json:
    """The ops of later steps move up with their steps."""
    shorter = {**program, "script": [*program["script"][:index], *program["script"][index + 1 :]]}
    for place in _turns(shorter):
        steps = at(shorter, place)
        moved = {_earlier(step) if _is_after(step, index) else step: ops for step, ops in steps.items()}
        shorter = put(shorter, place, moved)
    return shorter


def _is_after(step: str, index: int) -> bool:
    return step != _EVERY and int(step) > index


def _earlier(step: str) -> str:
    return str(int(step) - 1)


def _ops_by_step(smallest: Smallest) -> Iterator[Json]:
    """Ops for one step rather than for all, and for an earlier one."""
    for place in _turns(smallest()):
        for step in [*at(smallest(), place)]:
            steps = at(smallest(), place) if has(smallest(), place) else {}
            if step in steps:
                yield without(smallest(), (*place, step))
                yield from _moved(smallest(), place, step)


def _moved(program: Json, place: Place, step: str) -> Iterator[Json]:
    steps = at(program, place)
    if step not in steps or step == "0":
        return
    rest = {name: ops for name, ops in steps.items() if name != step}
    targets = ("0", "1") if step == _EVERY else ("0", _earlier(step))
    yield from (
        put(program, place, {target: steps[step], **rest}) for target in targets if target not in rest
    )


def _one_place(smallest: Smallest) -> Iterator[Json]:
    """A processor's ops as prepareStep's, which needs no name."""
    for index in range(len(smallest().get("processors", []))):
        program = smallest()
        if "prepareStep" not in program and has(program, ("processors", index, "steps")):
            steps = at(program, ("processors", index, "steps"))
            yield {**without(program, ("processors", index)), "prepareStep": steps}


SHRINKING: Final = Shrinking(
    required=frozenset({"id"}),
    names=frozenset({"id", "toolCallId", "toolName", "op"}),
    measure=_steps_and_ops,
    edits=(_script, _ops_by_step, _one_place),
    within=is_well_formed,
)
